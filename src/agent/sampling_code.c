/* sampling_code: see sampling_code.h. */
#include "agent/sampling_code.h"

#include <stdlib.h>
#include <string.h>

#include "agent/gone.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/encode.h"
#include "stackwalk/shape.h"

enum {
    MAXIMUM_ADDRESSES = 80000,   /* then everything is worked out anew */
    MAP_PAUSE_MS = 10,           /* between two readings of the memory map … */
    MAP_LONGEST_PAUSE_MS = 1000, /* … when the last ones found nothing */
};

static void set_up(sampling_code *s, agent *a)
{
    const char *walker = getenv("CLARINET_WALKER");

    s->agent = a;
    s->frame_pointers = walker != NULL && strcmp(walker, "fp") == 0;
    s->process.process = os_process_id();
    s->process.descriptor = -1;
    s->memory.read = peek_process_read;
    s->memory.context = &s->process;
    peek_pages_init(&s->pages, &s->memory);
    s->files = (peek){peek_pages_read, &s->pages};
    s->map_pause_ms = MAP_PAUSE_MS;
}

static void forget_addresses(sampling_code *s)
{
    memory_free(s->addresses);
    s->addresses = NULL;
    s->address_count = s->address_capacity = 0;
}

sampling_code *sampling_code_open(agent *a)
{
    if (a->code == NULL) {
        a->code = memory_allocate_array(1, sizeof *a->code);
        if (a->code == NULL)
            return NULL;
        set_up(a->code, a);
    }
    a->code->users++;
    return a->code;
}

void sampling_code_close(agent *a)
{
    sampling_code *s = a->code;

    if (s == NULL || --s->users != 0)
        return;
    a->code = NULL;
    for (size_t i = 0; i < s->library_count; i++)
        cfi_close(&s->libraries[i].table);
    memory_free(s->libraries);
    memory_free(s->addresses);
    regions_free(&s->map);
    memory_free(s);
}

/* ---- the memory map and libraries ---- */

/* Whether a library is still where it was. */
static bool is_still_there(const sampling_code *s, const sampling_library *l)
{
    const region *item = regions_find(&s->map, l->base);

    return item != NULL && item->start == l->base && item->inode == l->inode;
}

static void forget_closed_libraries(sampling_code *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->library_count; i++) {
        if (is_still_there(s, &s->libraries[i]))
            s->libraries[kept++] = s->libraries[i];
        else
            cfi_close(&s->libraries[i].table);
    }
    if (kept != s->library_count)
        forget_addresses(s);
    s->library_count = kept;
}

/* Reads the map again, but not too often; false when it was read just now. */
static bool read_map(sampling_code *s)
{
    uint64_t now = os_monotonic_ns();
    buffer text = BUFFER_EMPTY;
    regions map;
    bool done = false;

    if (s->map_ns != 0 && now - s->map_ns < (uint64_t)s->map_pause_ms * 1000000)
        return false;
    s->map_ns = now;
    if (os_read_file("/proc/self/maps", 0, &text, NULL) == 0 &&
        regions_parse(&map, (const char *)text.data, text.length)) {
        regions_free(&s->map);
        s->map = map;
        peek_pages_forget(&s->pages);
        forget_closed_libraries(s);
        done = true;
    }
    buffer_free(&text);
    return done;
}

static const region *find_region(sampling_code *s, uint64_t address)
{
    const region *item = regions_find(&s->map, address);

    if ((item == NULL || !item->executable) && read_map(s)) {
        item = regions_find(&s->map, address);
        /* Addresses that are nowhere must not make us read the map all the time. */
        if (item != NULL && item->executable)
            s->map_pause_ms = MAP_PAUSE_MS;
        else if (s->map_pause_ms < MAP_LONGEST_PAUSE_MS)
            s->map_pause_ms *= 2;
    }
    return item != NULL && item->executable ? item : NULL;
}

static sampling_library *known_library(const sampling_code *s, uint64_t address)
{
    for (size_t i = 0; i < s->library_count; i++) {
        if (address >= s->libraries[i].base && address < s->libraries[i].end)
            return &s->libraries[i];
    }
    return NULL;
}

static uint32_t add_module(sampling_code *s, const sampling_library *l, const char *path)
{
    names *n = &s->agent->names;
    const char *slash = strrchr(path, '/');
    names_module made = {.kind = RECORDING_MODULE_NATIVE, .base = l->base, .size = l->image.size};
    buffer clean = BUFFER_EMPTY;

    text_append_cleaned(&clean, path, strlen(path));
    made.path = names_intern(n, buffer_text(&clean), clean.length);
    made.name = names_intern_text(n, slash != NULL ? slash + 1 : path);
    made.identity_length = (uint32_t)l->image.build_id_length;
    if (made.identity_length > sizeof made.identity)
        made.identity_length = sizeof made.identity;
    memcpy(made.identity, l->image.build_id, made.identity_length);
    buffer_free(&clean);
    return names_add_module(n, &made);
}

/* The library around an executable region; NULL when it is no ELF image. */
static sampling_library *find_library(sampling_code *s, const region *item)
{
    sampling_library made, *bigger;
    const clr_info *info = &s->agent->info;
    /* An object of the runtime: it may be a library, or linked into the program. */
    uint64_t runtime = info->com != NULL ? *(const uintptr_t *)(const void *)info->com : 0;
    const char *path;

    memset(&made, 0, sizeof made);
    if (!regions_find_image(&s->map, item, &made.base, &made.end) ||
        !image_open(&made.image, &s->files, made.base))
        return NULL;
    if (s->library_count == s->library_capacity) {
        size_t capacity = s->library_capacity == 0 ? 64 : s->library_capacity * 2;

        bigger = memory_resize(s->libraries, capacity * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        s->libraries = bigger;
        s->library_capacity = capacity;
    }
    path = regions_path(&s->map, item);
    made.inode = item->inode;
    made.is_compiler = strstr(path, "libclrjit") != NULL;
    made.is_runtime = runtime - made.base < made.end - made.base;
    made.module = add_module(s, &made, path);
    made.has_table =
        made.image.eh_header != 0 && cfi_open(&made.table, &s->files, made.image.eh_header);
    s->libraries[s->library_count] = made;
    return &s->libraries[s->library_count++];
}

bool sampling_code_is_code(void *context, uint64_t address)
{
    sampling_code *s = context;
    FunctionID function = 0;

    if (address < 4096 || address >> 47 != 0)
        return false;
    if (known_library(s, address) != NULL || find_region(s, address) != NULL)
        return true;
    if (!agent_enter_runtime(s->agent) || !gone_ask_code((uintptr_t)address))
        return false;
    clr_info_get_function_from_ip(&s->agent->info, (const uint8_t *)(uintptr_t)address, &function);
    gone_answered();
    return function != 0;
}

/* ---- one address ---- */

/*
 * To stop a thread, the runtime may replace a return address on its stack by that of a helper that
 * is then returned to, not called. The helper first pushes a word to make room for the true return
 * address, and its unwind table counts that word as one too many. It is the only function of the
 * library that begins with these pushes (rax, rbp, rbx, r15 to r12; the same on 8.0 to 10.0).
 */
static bool is_hijack_helper(sampling_code *s, uint64_t start)
{
    uint8_t bytes[11];

    return peek_read(&s->files, start, bytes, sizeof bytes) &&
           memcmp(bytes, "\x50\x55\x53\x41\x57\x41\x56\x41\x55\x41\x54", sizeof bytes) == 0;
}

static void describe_native(sampling_code *s, const sampling_library *l, uint64_t address,
                            bool leaf, sampling_address *out)
{
    uint64_t inside = leaf ? address : address - 1, start, end;
    uint8_t bytes[4];

    out->place = SAMPLING_NATIVE;
    out->in_compiler = l->is_compiler;
    out->in_runtime = l->is_runtime;
    if (!leaf && is_hijack_helper(s, address)) {
        /* A replaced return address: the method it stood for is lost, its caller is not. */
        out->place = SAMPLING_STUB;
        out->rule = stackwalk_rule_of_frame_pointer();
        return;
    }
    if (l->has_table && cfi_find_rule(&l->table, inside, &out->rule)) {
        /* A function shows as one frame, not as one per instruction. */
        if (cfi_find_range(&l->table, inside, &start, &end)) {
            if (inside > start && out->rule.base == STACKWALK_RSP && is_hijack_helper(s, start)) {
                out->rule.cfa_offset -= 8;
                out->stopped = true;
            }
            inside = start;
        }
    } else {
        out->rule = stackwalk_rule_of_frame_pointer();
        if (leaf)
            out->rule.kind = STACKWALK_RULE_STUB;
    }
    out->frame = names_frame_native(&s->agent->names, l->module, inside - l->image.bias);
    /* A restarted call stands on the instruction, an interrupted one behind it. */
    out->at_system_call =
        leaf && peek_read(&s->files, address - 2, bytes, 4) &&
        (memcmp(bytes, "\x0f\x05", 2) == 0 || memcmp(bytes + 2, "\x0f\x05", 2) == 0);
}

static void find_return(sampling_code *s, compiled_piece *piece)
{
    uint8_t code[512];

    for (uint64_t at = 0; at < piece->size; at += sizeof code - SHAPE_RETURN_BYTES) {
        uint64_t left = piece->size - at;
        size_t length = left < sizeof code ? (size_t)left : sizeof code;

        if (!peek_read(&s->memory, piece->start + at, code, length) ||
            shape_find_return(&piece->shape, code, length))
            return;
    }
}

static stackwalk_rule managed_rule(sampling_code *s, uint64_t address, bool leaf,
                                   compiled_piece *piece)
{
    enum { BEFORE = 8 };
    uint8_t code[SHAPE_PROLOGUE_BYTES], tail[SHAPE_TAIL_BYTES];
    uint64_t offset = address - piece->start;
    size_t length = piece->size < sizeof code ? (size_t)piece->size : sizeof code;
    size_t before = offset < BEFORE ? (size_t)offset : BEFORE;
    size_t tail_length = before + (size_t)(piece->size - offset);
    bool have_code = !piece->has_shape || offset < piece->shape.prologue;

    if (have_code && !peek_read(&s->memory, piece->start, code, length))
        return stackwalk_rule_of_frame_pointer();
    if (!piece->has_shape) {
        piece->shape = shape_of(code, length);
        piece->has_shape = true;
        if (piece->shape.kind == SHAPE_OSR)
            find_return(s, piece);
    }
    if (offset < piece->shape.prologue)
        return shape_rule_in_prologue(code, length, (size_t)offset);
    if (tail_length > sizeof tail)
        tail_length = sizeof tail;
    if (!leaf || !peek_read(&s->memory, address - before, tail, tail_length))
        return piece->shape.body;
    return shape_rule_of_leaf(&piece->shape, tail, before, tail_length, offset,
                              piece->size - offset);
}

const char *sampling_code_name(const names *n, uint32_t frame)
{
    const names_frame *f = names_get_frame(n, frame);
    const names_method *m =
        f != NULL && f->kind == RECORDING_FRAME_MANAGED ? names_get_method(n, f->a) : NULL;
    const names_string *name = m != NULL ? names_get_string(n, m->name) : NULL;

    return name != NULL ? name->text : "";
}

/* Task's and ValueTask's boxes: AsyncTaskMethodBuilder<T>.AsyncStateMachineBox<S>; ValueTask's when
 * it is pooled: PoolingAsyncValueTaskMethodBuilder<T>.StateMachineBox<S>. */
static void describe_async(const names *n, sampling_address *out)
{
    const char *name = sampling_code_name(n, out->frame);

    out->in_box = text_starts_with(name, "System.Runtime.CompilerServices.") &&
                  strstr(name, "StateMachineBox<") != NULL;
    out->resumes =
        text_starts_with(name, "System.Threading.ExecutionContext.Run") ||
        text_equal(name, "System.Threading.Tasks.AwaitTaskContinuation.RunOrScheduleAction") ||
        text_equal(name, "System.Threading.ThreadPoolWorkQueue.Dispatch");
}

static bool ask_about(sampling_code *s, uint64_t address, bool leaf, sampling_address *out)
{
    uint64_t inside = leaf ? address : address - 1;
    compiled_piece *piece;
    FunctionID function;

    function = compiled_find(&s->agent->names.code, (uintptr_t)inside, &piece);
    if (function == 0)
        return false;
    out->place = SAMPLING_MANAGED;
    out->frame = names_frame_in(&s->agent->names, function, piece, (uintptr_t)inside);
    describe_async(&s->agent->names, out);
    /* Marshalling stubs have no code range; they keep rbp. */
    out->rule =
        piece != NULL ? managed_rule(s, address, leaf, piece) : stackwalk_rule_of_frame_pointer();
    return true;
}

/* false: no managed method is there. */
static bool describe_managed(sampling_code *s, uint64_t address, bool leaf, sampling_address *out)
{
    uintptr_t inside = (uintptr_t)(leaf ? address : address - 1);
    compiled_piece piece = {.has_shape = true};
    gone_method was;
    bool found = false;

    if (!agent_enter_runtime(s->agent) || !names_may_ask(&s->agent->names))
        return false;
    if (names_ask_code(&s->agent->names, inside)) {
        found = ask_about(s, address, leaf, out);
        names_answered(&s->agent->names);
    } else if (gone_code_was(inside, &was)) {
        piece.start = was.start;
        piece.size = was.size;
        piece.shape = was.shape;
        out->place = SAMPLING_MANAGED;
        out->frame = names_frame_made(&s->agent->names, was.name, was.parameters, was.module);
        out->rule = managed_rule(s, address, leaf, &piece);
        found = true;
    }
    return found;
}

static void describe(sampling_code *s, uint64_t address, bool leaf, sampling_address *out)
{
    uint64_t inside = leaf ? address : address - 1;
    const sampling_library *l = known_library(s, inside);
    const region *item;

    memset(out, 0, sizeof *out);
    if (l == NULL && !describe_managed(s, address, leaf, out)) {
        item = find_region(s, inside);
        l = item != NULL ? find_library(s, item) : NULL;
        if (item != NULL && l == NULL) {
            out->place = SAMPLING_STUB;
            out->rule.kind = STACKWALK_RULE_STUB;
            if (!leaf)
                out->rule = stackwalk_rule_of_frame_pointer();
        }
    }
    if (l != NULL)
        describe_native(s, l, address, leaf, out);
    if (s->frame_pointers && out->place != SAMPLING_UNKNOWN &&
        out->rule.kind != STACKWALK_RULE_START)
        out->rule = stackwalk_rule_of_frame_pointer();
}

/* Where a key is or would be kept. */
static sampling_address *place_of(sampling_address *table, size_t capacity, uint64_t key)
{
    size_t at = (size_t)table_hash_u64(key) & (capacity - 1);

    while (table[at].key != 0 && table[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &table[at];
}

static bool make_room(sampling_code *s)
{
    size_t capacity = s->address_capacity == 0 ? 4096 : s->address_capacity * 2;
    sampling_address *bigger;

    if (s->address_count >= MAXIMUM_ADDRESSES)
        forget_addresses(s);
    if (s->address_capacity != 0 && (s->address_count + 1) * 3 <= s->address_capacity * 2)
        return true;
    bigger = memory_allocate_array(capacity, sizeof *bigger);
    if (bigger == NULL)
        return false;
    for (size_t i = 0; i < s->address_capacity; i++) {
        if (s->addresses[i].key != 0)
            *place_of(bigger, capacity, s->addresses[i].key) = s->addresses[i];
    }
    memory_free(s->addresses);
    s->addresses = bigger;
    s->address_capacity = capacity;
    return true;
}

const sampling_address *sampling_code_at(sampling_code *s, uint64_t address, bool leaf)
{
    uint64_t key = address * 2 + leaf;
    sampling_address *place;

    if (s->unloads != s->agent->unloads_met || s->gone_blocks != gone_blocks()) {
        /* a module or a method has gone, and other code may have its addresses */
        s->unloads = s->agent->unloads_met;
        s->gone_blocks = gone_blocks();
        forget_addresses(s);
    }
    if (s->address_capacity != 0) {
        place = place_of(s->addresses, s->address_capacity, key);
        if (place->key == key && key != 0)
            return place;
    }
    describe(s, address, leaf, &s->nowhere);
    /* What is unknown is not kept: the map may know it next time. Nor what may be other code then.
     */
    if (s->nowhere.place == SAMPLING_UNKNOWN || key == 0 ||
        (s->nowhere.place == SAMPLING_MANAGED && gone_is_near((uintptr_t)address)) || !make_room(s))
        return &s->nowhere;
    s->nowhere.key = key;
    place = place_of(s->addresses, s->address_capacity, key);
    *place = s->nowhere;
    s->address_count++;
    return place;
}
