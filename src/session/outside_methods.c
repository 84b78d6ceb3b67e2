/* outside_methods: see outside_methods.h. */
#include "session/outside_methods.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

enum {
    PAGE = 4096,
    STEP = 64,
    LONGEST_DESCRIPTOR = 256 << 10,
    LARGEST_CODE = 512 << 10, /* of one method, that is gone back through */
    MOST_PARTS = 512,         /* of one method: its body and its handlers */
    PATH_LENGTH = 500,
    NAME_LENGTH = 190,
    PART_SIZE = 12, /* begin, end, unwind data */
    KIND_MASK = 7,
    KIND_DYNAMIC = 7,
};

static const char BEGINNING[] = "{\"version\":";

/* ---- the descriptor ---- */

/* A field is a number, or a number and its type. */
static bool get_field(const json_t *types, const char *type, const char *field, uint32_t *out)
{
    const json_t *value = json_object_get(json_object_get(types, type), field);

    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > 1 << 16)
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

/* A global is ["0xc", "uint8"]. */
static bool get_global(const json_t *globals, const char *name, uint32_t *out)
{
    const char *text = json_string_value(json_array_get(json_object_get(globals, name), 0));
    char *end;

    if (text == NULL)
        return false;
    *out = (uint32_t)strtoul(text, &end, 0);
    return *end == '\0';
}

static bool read_layout(const json_t *descriptor, outside_layout *l)
{
    const json_t *types = json_object_get(descriptor, "types");
    const json_t *globals = json_object_get(descriptor, "globals");
    /* 9.0 does not say these; they are the same, and checked by what they lead to. */
    static const outside_layout USUAL = {
        .header_method = 24, .header_count = 32, .header_table = 36};

    *l = USUAL;
    get_field(types, "RealCodeHeader", "MethodDesc", &l->header_method);
    get_field(types, "RealCodeHeader", "NumUnwindInfos", &l->header_count);
    get_field(types, "RealCodeHeader", "UnwindInfos", &l->header_table);
    return get_field(types, "MethodDesc", "ChunkIndex", &l->chunk_index) &&
           get_field(types, "MethodDesc", "Flags3AndTokenRemainder", &l->remainder) &&
           get_field(types, "MethodDesc", "Flags", &l->flags) &&
           get_field(types, "MethodDescChunk", "!", &l->chunk_size) &&
           get_field(types, "MethodDescChunk", "MethodTable", &l->chunk_class) &&
           get_field(types, "MethodDescChunk", "FlagsAndTokenRange", &l->chunk_token) &&
           get_field(types, "MethodTable", "Module", &l->class_module) &&
           get_field(types, "MethodTable", "EEClassOrCanonMT", &l->class_details) &&
           get_field(types, "EEClass", "MethodTable", &l->details_class) &&
           get_field(types, "Module", "Path", &l->module_path) &&
           get_field(types, "DynamicMethodDesc", "MethodName", &l->dynamic_name) &&
           get_global(globals, "MethodDescAlignment", &l->alignment) &&
           get_global(globals, "MethodDescTokenRemainderBitCount", &l->token_bits) &&
           l->token_bits > 0 && l->token_bits < 16;
}

/* The text from here to its zero. */
static bool read_descriptor(outside_methods *m, uint64_t address)
{
    char *bytes = memory_allocate(LONGEST_DESCRIPTOR);
    size_t length = 0;
    bool good = false;

    while (bytes != NULL && length + STEP <= LONGEST_DESCRIPTOR &&
           peek_read(&m->memory, address + length, bytes + length, STEP)) {
        const char *end = memchr(bytes + length, 0, STEP);

        if (end != NULL) {
            json_t *descriptor = json_loadb(bytes, (size_t)(end - bytes), 0, NULL);

            good = descriptor != NULL && read_layout(descriptor, &m->layout);
            json_decref(descriptor);
            break;
        }
        length += STEP;
    }
    memory_free(bytes);
    return good;
}

static bool search_region(outside_methods *m, const region *r)
{
    enum { LENGTH = sizeof BEGINNING - 1 };
    uint8_t window[LENGTH + PAGE] = {0}; /* the end of the page before, and a page */

    for (uint64_t at = r->start; at < r->end; at += PAGE) {
        const uint8_t *found = window, *end = window + sizeof window;

        memcpy(window, window + PAGE, LENGTH);
        if (!peek_read(&m->memory, at, window + LENGTH, PAGE))
            memset(window + LENGTH, 0, PAGE);
        while ((found = memmem(found, (size_t)(end - found), BEGINNING, LENGTH)) != NULL) {
            if (read_descriptor(m, at + (uint64_t)(found - window) - LENGTH))
                return true;
            found++;
        }
    }
    return false;
}

/* The descriptor's text, not what points to it: a core dump may have left that out, and the file
 * has it without the addresses. */
void outside_methods_open(outside_methods *m, const peek *memory, const regions *map)
{
    memset(m, 0, sizeof *m);
    m->memory = *memory;
    m->map = map;
    for (size_t i = 0; i < map->count && !m->is_usable; i++)
        if (text_ends_with(regions_path(map, &map->items[i]), "/libcoreclr.so"))
            m->is_usable = search_region(m, &map->items[i]);
}

/* ---- from a word to a method ---- */

static bool get_pointer(const outside_methods *m, uint64_t address, uint64_t *out)
{
    return peek_read(&m->memory, address, out, sizeof *out) && *out != 0;
}

static bool get_short(const outside_methods *m, uint64_t address, uint16_t *out)
{
    return peek_read(&m->memory, address, out, sizeof *out);
}

/* The class leads to details, of its own or of the class it is an instance of, and these lead back
 * to one with the same details. */
static bool is_class(const outside_methods *m, uint64_t class_id)
{
    uint64_t details, back, again;

    if (!get_pointer(m, class_id + m->layout.class_details, &details))
        return false;
    if ((details & 1) != 0) { /* the class that it shares code with */
        if (!get_pointer(m, (details & ~UINT64_C(1)) + m->layout.class_details, &details))
            return false;
    }
    return get_pointer(m, details + m->layout.details_class, &back) &&
           get_pointer(m, back + m->layout.class_details, &again) && again == details;
}

/* A method, by the chunk it is in. */
static bool read_method(const outside_methods *m, uint64_t method, uint64_t *class_id,
                        uint32_t *token)
{
    const outside_layout *l = &m->layout;
    uint16_t remainder, range;
    uint8_t index;
    uint64_t chunk;

    if ((method & 7) != 0 || !peek_read(&m->memory, method + l->chunk_index, &index, 1))
        return false;
    chunk = method - l->chunk_size - (uint64_t)index * l->alignment;
    if (!get_pointer(m, chunk + l->chunk_class, class_id) || (*class_id & 7) != 0 ||
        !get_short(m, chunk + l->chunk_token, &range) ||
        !get_short(m, method + l->remainder, &remainder) || !is_class(m, *class_id))
        return false;
    *token = (uint32_t)(range & ((1u << (24 - l->token_bits)) - 1)) << l->token_bits |
             (remainder & ((1u << l->token_bits) - 1));
    *token = *token == 0 ? 0 : 0x06000000 | *token;
    return true;
}

/* Where the code that begins at `start` ends: its parts follow each other. */
static bool read_end(const outside_methods *m, uint64_t header, uint64_t start, uint64_t *end)
{
    uint32_t count = 0, first = 0, part[PART_SIZE / 4];

    if (!peek_read(&m->memory, header + m->layout.header_count, &count, sizeof count) ||
        count == 0 || count > MOST_PARTS)
        return false;
    *end = start;
    for (uint32_t i = 0; i < count; i++) {
        if (!peek_read(&m->memory, header + m->layout.header_table + (uint64_t)i * PART_SIZE, part,
                       sizeof part) ||
            part[1] <= part[0])
            return false;
        if (i == 0)
            first = part[0];
        if (part[0] < first || part[1] - first > LARGEST_CODE)
            return false;
        if (start + (part[1] - first) > *end)
            *end = start + (part[1] - first);
    }
    return true;
}

/* ---- names ---- */

static void read_path(const outside_methods *m, uint64_t class_id, char *out, size_t room)
{
    uint64_t module, text;
    uint16_t units[PATH_LENGTH];
    buffer path = BUFFER_EMPTY;
    size_t count = 0;

    out[0] = '\0';
    if (!get_pointer(m, class_id + m->layout.class_module, &module) ||
        !get_pointer(m, module + m->layout.module_path, &text))
        return;
    while (count < PATH_LENGTH && get_short(m, text + 2 * count, &units[count]) &&
           units[count] != 0)
        count++;
    if (count == PATH_LENGTH)
        return;
    text_append_utf16(&path, units, count);
    if (!buffer_failed(&path) && path.length < room)
        memcpy(out, buffer_text(&path), path.length + 1);
    buffer_free(&path);
}

static void read_dynamic_name(const outside_methods *m, uint64_t method, char *out)
{
    uint64_t text;
    size_t used = 0;

    out[0] = '\0';
    if (!get_pointer(m, method + m->layout.dynamic_name, &text))
        return;
    while (used < NAME_LENGTH && peek_read(&m->memory, text + used, &out[used], 1) &&
           out[used] >= ' ')
        used++;
    out[used] = '\0';
}

static bool describe(const outside_methods *m, uint64_t header, outside_method *out)
{
    uint64_t method, class_id;
    uint16_t flags;

    if (!get_pointer(m, header + m->layout.header_method, &method) ||
        !read_method(m, method, &class_id, &out->token) ||
        !get_short(m, method + m->layout.flags, &flags))
        return false;
    out->path[0] = out->name[0] = '\0';
    if ((flags & KIND_MASK) == KIND_DYNAMIC) {
        out->token = 0;
        read_dynamic_name(m, method, out->name);
    } else {
        read_path(m, class_id, out->path, sizeof out->path);
    }
    return true;
}

bool outside_methods_find(const outside_methods *m, uint64_t address, outside_method *out)
{
    uint64_t start = address & ~UINT64_C(7);
    const region *code = m->is_usable ? regions_find(m->map, address) : NULL;

    if (code == NULL)
        return false;
    for (; start >= code->start + 8 && address - start < LARGEST_CODE; start -= 8) {
        uint64_t header, method, class_id;
        uint32_t token;

        if (!get_pointer(m, start - 8, &header) || (header & 7) != 0 ||
            regions_find(m->map, header) == NULL ||
            !get_pointer(m, header + m->layout.header_method, &method) ||
            !read_method(m, method, &class_id, &token) || !read_end(m, header, start, &out->end))
            continue;
        out->start = start;
        return address < out->end && describe(m, header, out);
    }
    return false;
}
