/*
 * import_names: names and stacks of an imported event file; see import.h.
 *
 * A stack is a chain of nodes from the outermost frame, each made once; a frame is a code address.
 * The runtime tells where a method's code lies when it is compiled and, of all others, at the end
 * of its session, so addresses are looked up when everything is read. Where two methods had the
 * same address one after the other, the one told last counts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clarinet/names.h"
#include "diagnostics/import_private.h"

enum {
    CHUNK = 1 << 20,
    MOST_TEXT = 4096, /* bytes of a name */
    MOST_FRAMES = 4096,
    FLAG_DYNAMIC = 1,
    FLAG_COMPILED = 8,
    ID_DESCRIBED = 1, /* in the tables of ids, beside the id itself */
    ID_SHIFT = 1,
};

size_t import_begin_record(import_chunks *c, recording_kind kind)
{
    if (c->is_open && recording_chunk_length(&c->out, c->chunk) > CHUNK) {
        recording_end_chunk(&c->out, c->chunk);
        c->is_open = false;
    }
    if (!c->is_open)
        c->chunk = recording_begin_chunk(&c->out, kind, 0);
    c->is_open = true;
    return c->chunk;
}

void import_end_chunk(import_chunks *c)
{
    if (c->is_open)
        recording_end_chunk(&c->out, c->chunk);
    c->is_open = false;
}

void import_write_chunks(import_names *n, import_chunks *c, buffer *out)
{
    import_end_chunk(c);
    n->failed =
        n->failed || buffer_failed(&c->out) || buffer_failed(&n->maps) || buffer_failed(&n->nodes);
    buffer_append(out, c->out.data, c->out.length);
    buffer_free(&c->out);
}

void import_read_text(reader *r, buffer *out)
{
    const uint8_t *begin = r->position;
    size_t units = 0;

    buffer_clear(out);
    while (reader_u16(r) != 0)
        units++;
    if (!reader_failed(r))
        text_append_utf16_bytes(out, begin, units < MOST_TEXT ? units : MOST_TEXT);
}

/* So that a text is found by its id; false without memory. */
static bool keep_text(import_names *n, const uint64_t *id)
{
    const char *slot = (const char *)id - offsetof(table_text_slot, value);

    if (*id > n->string_capacity) {
        size_t capacity = n->string_capacity * 2 + 256;
        const char **grown = memory_resize(n->string_texts, capacity * sizeof *grown);

        if (grown == NULL)
            return false;
        n->string_texts = grown;
        n->string_capacity = capacity;
    }
    n->string_texts[*id - 1] = ((const table_text_slot *)(const void *)slot)->key;
    return true;
}

uint32_t import_string(import_names *n, const char *text, size_t length)
{
    uint64_t *id;

    if (length == 0)
        return 0;
    id = table_text_at(&n->string_ids, text, length, 0);
    if (id == NULL) {
        n->failed = true;
        return 0;
    }
    if (*id == 0) {
        *id = n->string_ids.count;
        n->failed = !keep_text(n, id) || n->failed;
        import_begin_record(&n->strings, RECORDING_STRING);
        recording_put_string(&n->strings.out, *id, text, length);
    }
    return (uint32_t)*id;
}

static uint32_t string_of(import_names *n, const buffer *text)
{
    n->failed = n->failed || buffer_failed(text);
    return import_string(n, buffer_text(text), text->length);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *back = strrchr(path, '\\');

    if (back != NULL && (slash == NULL || back > slash))
        slash = back;
    return slash == NULL ? path : slash + 1;
}

/* Our id of the runtime's module or method. Methods may be told before their module, so an id is
 * given out before it is described: *is_new, where asked for, when it is described now. */
static uint32_t id_of(import_names *n, table_u64 *ids, uint32_t *count, uint64_t key, bool *is_new)
{
    uint64_t *id = table_u64_at(ids, key, 0);

    if (is_new != NULL)
        *is_new = false;
    if (id == NULL) {
        n->failed = true;
        return 0;
    }
    if (*id == 0)
        *id = (uint64_t)++ * count << ID_SHIFT;
    if (is_new != NULL && (*id & ID_DESCRIBED) == 0) {
        *is_new = true;
        *id |= ID_DESCRIBED;
    }
    return (uint32_t)(*id >> ID_SHIFT);
}

void import_take_module(import_names *n, reader payload)
{
    recording_module module = {.kind = RECORDING_MODULE_MANAGED};
    uint64_t key = reader_u64(&payload);
    const char *name;
    size_t length;
    bool is_new;

    reader_u64(&payload); /* assembly */
    reader_u32(&payload); /* flags */
    reader_u32(&payload);
    import_read_text(&payload, &n->text);
    if (reader_failed(&payload))
        return;
    module.id = id_of(n, &n->module_ids, &n->module_count, key, &is_new);
    if (!is_new)
        return;
    module.path = string_of(n, &n->text);
    name = base_name(buffer_text(&n->text));
    length = strlen(name);
    if (text_ends_with(name, ".dll") || text_ends_with(name, ".exe"))
        length -= 4;
    module.name = import_string(n, name, length);
    n->failed = !table_u64_put(&n->module_names, key, module.name) || n->failed;
    if (n->text.length == 0)
        module.kind = RECORDING_MODULE_NO_FILE;
    import_begin_record(&n->modules, RECORDING_MODULE);
    recording_put_module(&n->modules.out, &module);
}

const char *import_string_text(const import_names *n, uint32_t string)
{
    return string == 0 || string > n->string_ids.count || n->failed ? ""
                                                                    : n->string_texts[string - 1];
}

uint32_t import_module_name(const import_names *n, uint64_t key)
{
    uint64_t name = 0;

    table_u64_get(&n->module_names, key, &name);
    return (uint32_t)name;
}

uint32_t import_method(const import_names *n, uint64_t key)
{
    uint64_t id = 0;

    table_u64_get(&n->method_ids, key, &id);
    return (id & ID_DESCRIBED) != 0 ? (uint32_t)(id >> ID_SHIFT) : 0;
}

static void add_code(import_names *n, uint64_t start, uint64_t size, uint32_t method)
{
    if (n->code_count == n->code_capacity) {
        size_t wish = n->code_capacity * 2 + 1024;
        import_code *grown = memory_resize(n->code, wish * sizeof *grown);

        if (grown == NULL) {
            n->failed = true;
            return;
        }
        n->code = grown;
        n->code_capacity = wish;
    }
    n->code[n->code_count++] = (import_code){.start = start, .size = size, .method = method};
}

/* Method, ReJIT id, extent, count, IL offsets, places in the code. */
void import_take_map(import_names *n, reader payload)
{
    uint64_t method = reader_u64(&payload);
    uint32_t count;

    reader_u64(&payload);
    reader_u8(&payload);
    count = reader_u16(&payload);
    n->map_method = 0;
    if (reader_failed(&payload) || reader_left(&payload) < (size_t)count * 8)
        return;
    n->map_method = method;
    n->map = n->maps.length;
    n->map_count = count;
    buffer_append(&n->maps, payload.position, (size_t)count * 8);
}

/* IL offset + 1 of a place in code, 0 = not known. */
static uint64_t il_at(const import_names *n, const import_code *code, uint64_t place)
{
    reader il = reader_of(n->maps.data + code->map, (size_t)code->map_count * 4);
    reader native = reader_of(n->maps.data + code->map + (size_t)code->map_count * 4,
                              (size_t)code->map_count * 4);
    uint64_t best = 0;
    uint32_t found = UINT32_MAX;

    for (uint32_t k = 0; k < code->map_count; k++) {
        uint32_t offset = reader_u32(&il);
        uint32_t at = reader_u32(&native);

        /* the last numbers are no offsets: no mapping, prolog, epilog */
        if (at <= place && at >= best && offset < UINT32_MAX - 2) {
            best = at;
            found = offset;
        }
    }
    return found == UINT32_MAX ? 0 : (uint64_t)found + 1;
}

/* "Shop.Cache`1[System.__Canon]" and "Get" as a C# person writes it. The runtime's word for code
 * that types share says nothing, so type arguments are left out: Shop.Cache<>.Get. */
static uint32_t spell_method(import_names *n, reader *r)
{
    char *bracket;

    import_read_text(r, &n->text);
    bracket = n->text.length == 0 ? NULL : strchr((char *)n->text.data, '[');
    if (bracket != NULL)
        *bracket = '\0';
    buffer_clear(&n->spelled);
    import_read_text(r, &n->method);
    if (!reader_failed(r) && !buffer_failed(&n->text) && !buffer_failed(&n->method))
        clr_name_append_method(&n->spelled, buffer_text(&n->text), NULL, 0, buffer_text(&n->method),
                               NULL, 0);
    return reader_failed(r) ? 0 : string_of(n, &n->spelled);
}

uint32_t import_take_method(import_names *n, reader payload)
{
    recording_method method = {0};
    uint64_t key = reader_u64(&payload);
    uint64_t module = reader_u64(&payload);
    uint64_t start = reader_u64(&payload);
    uint32_t size = reader_u32(&payload);
    uint32_t flags;
    bool is_new;

    method.token = reader_u32(&payload);
    flags = reader_u32(&payload);
    if (reader_failed(&payload))
        return 0;
    /* The place of a method made at run time may be used again for another one. */
    method.id = id_of(n, &n->method_ids, &n->method_count,
                      (flags & FLAG_DYNAMIC) != 0 ? start ^ 1 : key, &is_new);
    if (is_new) {
        method.name = spell_method(n, &payload);
        if (text_equal(buffer_text(&n->text), "System.Runtime.EH") &&
            !table_u64_put(&n->dispatching, method.id, 1))
            n->failed = true;
        method.module = id_of(n, &n->module_ids, &n->module_count, module, NULL);
        if ((flags & FLAG_DYNAMIC) != 0)
            method.flags |= RECORDING_METHOD_DYNAMIC;
        else if ((flags & FLAG_COMPILED) == 0)
            method.flags |= RECORDING_METHOD_PRECOMPILED;
        import_begin_record(&n->methods, RECORDING_METHOD);
        recording_put_method(&n->methods.out, &method);
    }
    add_code(n, start, size, (uint32_t)method.id);
    if (n->map_method == key && key != 0 && !n->failed) {
        n->code[n->code_count - 1].map = n->map;
        n->code[n->code_count - 1].map_count = n->map_count;
    }
    n->map_method = 0;
    return (uint32_t)method.id;
}

static uint32_t frame_of(import_names *n, uint64_t address)
{
    uint64_t *id = table_u64_at(&n->address_ids, address, 0);

    if (id != NULL && *id != 0)
        return (uint32_t)*id;
    if (id != NULL && n->address_count == n->address_capacity) {
        size_t wish = n->address_capacity * 2 + 1024;
        uint64_t *grown = memory_resize(n->addresses, wish * sizeof *grown);

        if (grown != NULL) {
            n->addresses = grown;
            n->address_capacity = wish;
        } else {
            id = NULL;
        }
    }
    if (id == NULL) {
        n->failed = true;
        return 0;
    }
    n->addresses[n->address_count++] = address;
    *id = n->address_count;
    return (uint32_t)*id;
}

uint32_t import_stack(import_names *n, const uint8_t *stack, size_t count, size_t pointer_size)
{
    uint32_t node = 0;
    size_t first = count > MOST_FRAMES ? count - MOST_FRAMES : 0;

    for (size_t i = count; i > first && !n->failed; i--) {
        reader r = reader_of(stack + (i - 1) * pointer_size, pointer_size);
        uint32_t frame = frame_of(n, pointer_size == 8 ? reader_u64(&r) : reader_u32(&r));
        uint64_t *id = table_u64_at(&n->stack_ids, (uint64_t)node << 32 | frame, 0);

        if (id == NULL) {
            n->failed = true;
            return 0;
        }
        if (*id == 0) {
            *id = ++n->stack_count;
            import_begin_record(&n->stacks, RECORDING_STACK);
            recording_put_stack(&n->stacks.out, *id, node, frame);
            buffer_append_u32(&n->nodes, node);
            buffer_append_u32(&n->nodes, frame);
        }
        node = (uint32_t)*id;
    }
    return node;
}

static int compare_code(const void *a, const void *b)
{
    const import_code *x = a;
    const import_code *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->method != y->method)
        return x->method < y->method ? -1 : 1;
    return x->map_count < y->map_count ? -1 : x->map_count > y->map_count;
}

/* A frame's address is where it goes on: that may be right behind its method's last byte. */
static const import_code *code_at(const import_names *n, uint64_t address)
{
    size_t low = 0;
    size_t high = n->code_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (n->code[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - n->code[low - 1].start > n->code[low - 1].size)
        return NULL;
    return &n->code[low - 1];
}

void import_sort_code(import_names *n)
{
    if (n->code_count > 1)
        qsort(n->code, n->code_count, sizeof *n->code, compare_code);
}

uint64_t import_trim_stack(const import_names *n, uint64_t stack)
{
    uint64_t node = stack;
    uint64_t ignored;

    while (node != 0 && node <= n->nodes.length / 8) {
        reader r = reader_of(n->nodes.data + (node - 1) * 8, 8);
        uint32_t parent = reader_u32(&r);
        const import_code *code = code_at(n, n->addresses[reader_u32(&r) - 1]);

        if (code == NULL || !table_u64_get(&n->dispatching, code->method, &ignored))
            return node;
        node = parent;
    }
    return stack;
}

static void write_frames(import_names *n, uint32_t unknown, buffer *out)
{
    import_chunks frames = {.is_open = false};

    for (size_t i = 0; i < n->address_count; i++) {
        const import_code *code = code_at(n, n->addresses[i]);
        uint64_t place = code == NULL ? 0 : n->addresses[i] - code->start;

        import_begin_record(&frames, RECORDING_FRAME);
        if (code != NULL) /* what was called lies before where it goes on */
            recording_put_frame(&frames.out, i + 1, RECORDING_FRAME_MANAGED, code->method,
                                il_at(n, code, place == 0 ? 0 : place - 1));
        else
            recording_put_frame(&frames.out, i + 1, RECORDING_FRAME_SYNTHETIC, unknown, 0);
    }
    import_write_chunks(n, &frames, out);
}

void import_write_names(import_names *n, buffer *out)
{
    uint32_t unknown = import_string(n, "(unknown)", strlen("(unknown)"));

    import_write_chunks(n, &n->strings, out);
    import_write_chunks(n, &n->modules, out);
    import_write_chunks(n, &n->methods, out);
    write_frames(n, unknown, out);
    import_write_chunks(n, &n->stacks, out);
}

void import_free_names(import_names *n)
{
    import_chunks *chunks[] = {&n->strings, &n->modules, &n->methods, &n->stacks};

    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
        buffer_free(&chunks[i]->out);
    table_text_free(&n->string_ids);
    memory_free(n->string_texts);
    table_u64_free(&n->module_ids);
    table_u64_free(&n->module_names);
    table_u64_free(&n->method_ids);
    table_u64_free(&n->address_ids);
    table_u64_free(&n->stack_ids);
    memory_free(n->code);
    memory_free(n->addresses);
    buffer_free(&n->maps);
    buffer_free(&n->nodes);
    table_u64_free(&n->dispatching);
    buffer_free(&n->text);
    buffer_free(&n->method);
    buffer_free(&n->spelled);
}
