/* nettrace_metadata: what the events of a stream are: provider, name, fields. See nettrace.h. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "diagnostics/nettrace_private.h"

enum {
    FIELDS_LIMIT = 1024,
    DEPTH_LIMIT = 8,
    METADATA_LIMIT = 65536,
    TAG_OPCODE = 1,
    TAG_FIELDS_2 = 2
};

static void free_one(nettrace_metadata *metadata)
{
    for (size_t i = 0; i < metadata->field_count; i++)
        memory_free(metadata->fields[i].name);
    memory_free(metadata->fields);
    memory_free(metadata->provider);
    memory_free(metadata->name);
    memory_free(metadata);
}

void nettrace_free_metadata(nettrace *parser)
{
    for (size_t i = 0; i < parser->metadata_count; i++)
        free_one(parser->metadata[i]);
    memory_free(parser->metadata);
}

const nettrace_metadata *nettrace_find_metadata(const nettrace *parser, uint32_t id)
{
    uint64_t index;

    return table_u64_get(&parser->metadata_index, id, &index) ? parser->metadata[index] : NULL;
}

/* UTF-16 up to a zero; NULL when there is no memory or no zero (then the reader has failed). */
static char *read_text(reader *r)
{
    const uint8_t *begin = r->position;
    buffer text = BUFFER_EMPTY;
    size_t units = 0;

    while (reader_u16(r) != 0)
        units++;
    if (reader_failed(r))
        return NULL;
    buffer_append_text(&text, "");
    text_append_utf16_bytes(&text, begin, units);
    return text.data == NULL ? memory_copy_text("") : buffer_take_text(&text);
}

/* Fields come as a count, then each: type, for an object its own fields, and the name. */
static bool read_fields(reader *r, nettrace_metadata *metadata, uint32_t depth)
{
    uint32_t count = reader_u32(r);

    if (depth > DEPTH_LIMIT)
        return false;
    for (uint32_t i = 0; i < count && !reader_failed(r); i++) {
        nettrace_field *grown;
        size_t index = metadata->field_count;
        uint32_t type = reader_u32(r);

        if (reader_failed(r) || index >= FIELDS_LIMIT)
            return false;
        grown = memory_resize(metadata->fields, (index + 1) * sizeof *grown);
        if (grown == NULL)
            return false;
        metadata->fields = grown;
        metadata->fields[index] = (nettrace_field){type, depth, NULL};
        metadata->field_count++;
        if (type == NETTRACE_OBJECT && !read_fields(r, metadata, depth + 1))
            return false;
        metadata->fields[index].name = read_text(r);
        if (metadata->fields[index].name == NULL)
            return false;
    }
    return !reader_failed(r);
}

/* What may follow the fields: sizes and kinds; unknown kinds are skipped. */
static void read_tags(reader *r, nettrace_metadata *metadata)
{
    while (reader_left(r) >= 5) {
        size_t length = reader_u32(r);
        uint8_t kind = reader_u8(r);
        const uint8_t *bytes = reader_bytes(r, length);

        if (bytes == NULL)
            return;
        if (kind == TAG_OPCODE && length >= 1)
            metadata->opcode = bytes[0];
    }
}

static bool add(nettrace *parser, nettrace_metadata *metadata)
{
    nettrace_metadata **grown;
    size_t count = parser->metadata_count;

    if (count >= METADATA_LIMIT)
        return false;
    if ((count & (count - 1)) == 0) {
        grown = memory_resize(parser->metadata, (count == 0 ? 1 : count * 2) * sizeof *grown);
        if (grown == NULL)
            return false;
        parser->metadata = grown;
    }
    if (!table_u64_put(&parser->metadata_index, metadata->id, count))
        return false;
    parser->metadata[parser->metadata_count++] = metadata;
    return true;
}

int nettrace_take_metadata(nettrace *parser, reader payload, error *e)
{
    nettrace_metadata *metadata = memory_allocate_array(1, sizeof *metadata);
    reader *r = &payload;

    if (metadata == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the event stream");
    metadata->id = reader_u32(r);
    metadata->provider = read_text(r);
    metadata->event_id = reader_u32(r);
    metadata->name = read_text(r);
    metadata->keywords = reader_u64(r);
    metadata->version = reader_u32(r);
    metadata->level = reader_u32(r);
    if (reader_failed(r) || metadata->id == 0 || metadata->provider == NULL ||
        metadata->name == NULL || !read_fields(r, metadata, 0)) {
        free_one(metadata);
        return error_set(e, ERROR_CORRUPT, "the description of an event kind is broken");
    }
    read_tags(r, metadata);
    if (!add(parser, metadata)) {
        free_one(metadata);
        return error_set(e, ERROR_LIMIT, "the event stream has too many kinds of events");
    }
    return 0;
}
