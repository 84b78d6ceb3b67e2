/* outside_walk: see outside_walk.h. */
#include "session/outside_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "diagnostics/procfs.h"
#include "recording/encode.h"
#include "session/outside_methods.h"
#include "stackwalk/shape.h"

enum { DEEPEST = 512, LIBRARIES = 512, MAPS_LIMIT = 64 << 20 };

typedef struct {
    uint64_t base, end;
    uint64_t module;
    image image;
    cfi table;
    bool has_table;
} library;

struct outside_walker {
    peek_process process;
    peek memory;
    peek_pages pages;
    peek files; /* code and tables: does not change */
    regions map;
    symbols *names;
    outside_methods compiled; /* at run time */
    library libraries[LIBRARIES];
    size_t library_count;
    table_text strings;
    table_text modules; /* of dlls, by path */
    table_text methods; /* by module and name */
    table_u64 frames;   /* by address of the function */
    table_u64 stacks;   /* by parent and frame */
    uint64_t next_module, next_frame;
    outside_definitions defined;
};

/* What an address is, and how its frame ends. */
typedef struct {
    uint64_t frame; /* id; 0 = unknown code */
    stackwalk_rule rule;
} spot;

/* Without the map; `memory` NULL = the process's. */
static outside_walker *make_walker(int process, const peek *memory, const char *root, error *e)
{
    outside_walker *w = memory_allocate_array(1, sizeof *w);

    if (w == NULL) {
        error_set(e, ERROR_MEMORY, "no memory to walk stacks");
        return NULL;
    }
    w->process = (peek_process){process, -1};
    w->memory = memory != NULL ? *memory : (peek){peek_process_read, &w->process};
    peek_pages_init(&w->pages, &w->memory);
    w->files = (peek){peek_pages_read, &w->pages};
    table_text_init(&w->strings);
    table_text_init(&w->modules);
    table_text_init(&w->methods);
    table_u64_init(&w->frames);
    table_u64_init(&w->stacks);
    w->next_module = w->next_frame = 1;
    w->names = symbols_open(root);
    if (w->names == NULL) {
        error_set(e, ERROR_MEMORY, "no memory for names");
        outside_walker_close(w);
        return NULL;
    }
    return w;
}

outside_walker *outside_walker_open(int process, const char *root, error *e)
{
    outside_walker *w = make_walker(process, NULL, root, e);
    buffer text = BUFFER_EMPTY;

    if (w != NULL && (procfs_read(process, "maps", MAPS_LIMIT, &text) != 0 || text.length == 0 ||
                      !regions_parse(&w->map, (const char *)text.data, text.length))) {
        error_set(e, ERROR_PERMISSION, "the memory map of process %d cannot be read", process);
        outside_walker_close(w);
        w = NULL;
    }
    if (w != NULL)
        outside_methods_open(&w->compiled, &w->files, &w->map);
    buffer_free(&text);
    return w;
}

outside_walker *outside_walker_open_memory(const peek *memory, const buffer *map, const char *root,
                                           error *e)
{
    outside_walker *w = make_walker(0, memory, root, e);

    if (w != NULL && !regions_parse(&w->map, (const char *)map->data, map->length)) {
        error_set(e, ERROR_MEMORY, "no memory for the memory map");
        outside_walker_close(w);
        w = NULL;
    }
    if (w != NULL)
        outside_methods_open(&w->compiled, &w->files, &w->map);
    return w;
}

void outside_walker_close(outside_walker *w)
{
    outside_definitions *d = &w->defined;

    for (size_t i = 0; i < w->library_count; i++)
        cfi_close(&w->libraries[i].table);
    if (w->names != NULL)
        symbols_close(w->names);
    regions_free(&w->map);
    table_text_free(&w->strings);
    table_text_free(&w->modules);
    table_text_free(&w->methods);
    table_u64_free(&w->frames);
    table_u64_free(&w->stacks);
    buffer_free(&d->strings);
    buffer_free(&d->modules);
    buffer_free(&d->methods);
    buffer_free(&d->frames);
    buffer_free(&d->stacks);
    memory_free(w);
}

const outside_definitions *outside_walker_definitions(const outside_walker *w)
{
    return &w->defined;
}

/* ---- definitions ---- */

uint64_t outside_string(outside_walker *w, const char *text)
{
    buffer clean = BUFFER_EMPTY;
    uint64_t *id, answer = 0;

    if (text[0] == '\0')
        return 0;
    text_append_cleaned(&clean, text, strlen(text));
    id = table_text_at(&w->strings, buffer_text(&clean), clean.length, 0);
    if (id != NULL && *id == 0) {
        *id = w->strings.count;
        recording_put_string(&w->defined.strings, *id, buffer_text(&clean), clean.length);
    }
    if (id != NULL)
        answer = *id;
    buffer_free(&clean);
    return answer;
}

static uint64_t add_module(outside_walker *w, uint64_t kind, const char *path, const image *i)
{
    const char *slash = strrchr(path, '/');
    recording_module made = {.id = w->next_module++, .kind = kind, .identity = (const uint8_t *)""};

    made.path = outside_string(w, path);
    made.name = outside_string(w, slash != NULL ? slash + 1 : path);
    if (i != NULL) {
        made.identity = i->build_id;
        made.identity_length = i->build_id_length;
        made.base = i->base;
        made.size = i->size;
    }
    recording_put_module(&w->defined.modules, &made);
    return made.id;
}

static uint64_t module_of_dll(outside_walker *w, const char *path)
{
    uint64_t *id = table_text_at(&w->modules, path, strlen(path), 0);

    if (id == NULL)
        return 0;
    if (*id == 0)
        *id = add_module(w, RECORDING_MODULE_MANAGED, path, NULL);
    return *id;
}

/* The frame of the function at `start`, made the first time; the caller then puts it. */
static uint64_t frame_at(outside_walker *w, uint64_t start, bool *is_new)
{
    uint64_t *id = table_u64_at(&w->frames, start, 0);

    *is_new = id != NULL && *id == 0;
    if (*is_new)
        *id = w->next_frame++;
    return id == NULL ? 0 : *id;
}

static uint64_t native_frame(outside_walker *w, const library *l, uint64_t start)
{
    bool is_new;
    uint64_t id = frame_at(w, start, &is_new);

    if (is_new)
        recording_put_frame(&w->defined.frames, id, RECORDING_FRAME_NATIVE, l->module,
                            start - l->image.bias);
    return id;
}

static uint64_t managed_frame(outside_walker *w, uint64_t start, const char *dll, uint32_t token,
                              const char *name)
{
    recording_method method = {.token = token};
    bool is_new;
    uint64_t id = frame_at(w, start, &is_new);

    if (is_new) {
        method.id = id; /* a method a frame */
        method.module = dll == NULL ? 0 : module_of_dll(w, dll);
        method.name = outside_string(w, name);
        recording_put_method(&w->defined.methods, &method);
        recording_put_frame(&w->defined.frames, id, RECORDING_FRAME_MANAGED, method.id, 0);
    }
    return id;
}

static uint64_t note_frame(outside_walker *w, const char *text)
{
    bool is_new;
    uint64_t id = frame_at(w, 1, &is_new); /* no code is there */

    if (is_new)
        recording_put_frame(&w->defined.frames, id, RECORDING_FRAME_SYNTHETIC,
                            outside_string(w, text), 0);
    return id;
}

/* ---- one address ---- */

static const library *find_library(outside_walker *w, const region *item)
{
    library *made = &w->libraries[w->library_count];

    for (size_t i = 0; i < w->library_count; i++)
        if (item->start >= w->libraries[i].base && item->start < w->libraries[i].end)
            return &w->libraries[i];
    memset(made, 0, sizeof *made);
    if (w->library_count == LIBRARIES - 1 ||
        !regions_find_image(&w->map, item, &made->base, &made->end) ||
        !image_open(&made->image, &w->files, made->base))
        return NULL;
    made->module =
        add_module(w, RECORDING_MODULE_NATIVE, regions_path(&w->map, item), &made->image);
    made->has_table =
        made->image.eh_header != 0 && cfi_open(&made->table, &w->files, made->image.eh_header);
    w->library_count++;
    return made;
}

static void describe_native(outside_walker *w, const library *l, uint64_t inside, bool leaf,
                            spot *out)
{
    uint64_t start = inside, end;

    if (l->has_table && cfi_find_rule(&l->table, inside, &out->rule)) {
        if (!cfi_find_range(&l->table, inside, &start, &end))
            start = inside;
    } else {
        out->rule = stackwalk_rule_of_frame_pointer();
        if (leaf)
            out->rule.kind = STACKWALK_RULE_STUB;
    }
    out->frame = native_frame(w, l, start);
}

/* As exact as for a function whose beginning and end are known. */
static stackwalk_rule rule_of_function(outside_walker *w, uint64_t start, uint64_t end,
                                       uint64_t address, bool leaf)
{
    enum { BEFORE = 8 };
    uint8_t code[SHAPE_PROLOGUE_BYTES], tail[SHAPE_TAIL_BYTES];
    uint64_t offset = address - start;
    size_t length = end - start < sizeof code ? (size_t)(end - start) : sizeof code;
    size_t before = offset < BEFORE ? (size_t)offset : BEFORE;
    size_t tail_length = before + (size_t)(end - address);
    shape s;

    if (!peek_read(&w->files, start, code, length))
        return stackwalk_rule_of_frame_pointer();
    s = shape_of(code, length);
    if (offset < s.prologue)
        return shape_rule_in_prologue(code, length, (size_t)offset);
    if (tail_length > sizeof tail)
        tail_length = sizeof tail;
    if (!leaf || !peek_read(&w->files, address - before, tail, tail_length))
        return s.body;
    return shape_rule_of_leaf(&s, tail, before, tail_length, offset, end - address);
}

/* Code that was compiled at run time. */
static void describe_compiled(outside_walker *w, uint64_t address, bool leaf, spot *out)
{
    uint64_t inside = leaf ? address : address - 1;
    const char *known = NULL;
    outside_method method;
    char name[240];

    if (!outside_methods_find(&w->compiled, inside, &method)) {
        snprintf(name, sizeof name, "(managed code) 0x%llx", (unsigned long long)inside);
        out->frame = managed_frame(w, inside, NULL, 0, name);
        return;
    }
    out->rule = rule_of_function(w, method.start, method.end, address, leaf);
    if (method.path[0] != '\0')
        known = symbols_method_name(w->names, method.path, method.token);
    else if (method.name[0] != '\0')
        known = method.name;
    if (known == NULL)
        snprintf(name, sizeof name, "(managed code) 0x%llx", (unsigned long long)method.start);
    else
        snprintf(name, sizeof name, "%s", known);
    out->frame = managed_frame(w, method.start, method.path[0] == '\0' ? NULL : method.path,
                               method.token, name);
}

static void describe_managed(outside_walker *w, const region *item, uint64_t address, bool leaf,
                             spot *out)
{
    uint64_t inside = leaf ? address : address - 1, moved = item->start - item->offset;
    const char *path = regions_path(&w->map, item);
    const char *slash = strrchr(path, '/');
    symbols_code code;
    char name[200];

    out->rule = stackwalk_rule_of_frame_pointer();
    if (leaf)
        out->rule.kind = STACKWALK_RULE_STUB;
    if (!text_ends_with(path, ".dll")) {
        describe_compiled(w, address, leaf, out);
    } else if (symbols_precompiled(w->names, path, inside - moved, &code) && code.name != NULL) {
        out->rule = rule_of_function(w, code.start + moved, code.end + moved, address, leaf);
        out->frame = managed_frame(w, code.start + moved, path, code.token, code.name);
    } else {
        if (code.end != 0)
            out->rule = rule_of_function(w, code.start + moved, code.end + moved, address, leaf);
        snprintf(name, sizeof name, "%.120s+0x%llx", slash == NULL ? path : slash + 1,
                 (unsigned long long)(inside - moved));
        out->frame = managed_frame(w, inside, path, 0, name);
    }
}

static void describe(outside_walker *w, uint64_t address, bool leaf, spot *out)
{
    uint64_t inside = leaf ? address : address - 1;
    const region *item = regions_find(&w->map, inside);
    const library *l;

    memset(out, 0, sizeof *out);
    if (item == NULL || !item->executable)
        return;
    l = find_library(w, item);
    if (l != NULL)
        describe_native(w, l, inside, leaf, out);
    else
        describe_managed(w, item, address, leaf, out);
}

/* ---- the walk ---- */

static bool is_code(void *context, uint64_t address)
{
    outside_walker *w = context;
    const region *item = regions_find(&w->map, address);

    return item != NULL && item->executable;
}

static uint64_t stack_on(outside_walker *w, uint64_t parent, uint64_t frame)
{
    uint64_t *id = table_u64_at(&w->stacks, parent << 32 | frame, 0);

    if (id == NULL)
        return parent;
    if (*id == 0) {
        *id = w->stacks.count;
        recording_put_stack(&w->defined.stacks, *id, parent, frame);
    }
    return *id;
}

uint64_t outside_walk(outside_walker *w, const outside_thread *thread)
{
    peek_copy copy = {thread->registers.value[STACKWALK_RSP], thread->stack, thread->copied};
    peek stack = {peek_copy_read, &copy};
    stackwalk_code known = {is_code, w};
    stackwalk_registers r = thread->registers;
    stackwalk_end end = STACKWALK_GOES_ON;
    uint64_t frames[DEEPEST], parent = 0;
    bool leaf = true;
    size_t count = 0;

    while (end == STACKWALK_GOES_ON && count < DEEPEST) {
        spot here;

        describe(w, r.value[STACKWALK_RIP], leaf, &here);
        if (here.frame == 0) {
            end = STACKWALK_UNKNOWN_CODE;
            break;
        }
        frames[count++] = here.frame;
        leaf = here.rule.kind == STACKWALK_RULE_SIGNAL;
        end = stackwalk_step(&r, &here.rule, &stack, &known);
    }
    if (count != 0 && end != STACKWALK_COMPLETE)
        parent = stack_on(w, 0, note_frame(w, "(incomplete)"));
    while (count > 0)
        parent = stack_on(w, parent, frames[--count]);
    return parent;
}
