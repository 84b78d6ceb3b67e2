/*
 * nettrace: the stream and its objects; see nettrace.h.
 *
 * The stream is `Nettrace`, a length and `!FastSerialization.1`, then objects, then one null tag.
 * An object is: tag 5, its type (tag 5, tag 1, version, least reader version, name, tag 6), its
 * content and tag 6. The content of a block is a u32 size, padding to 4 bytes of the stream, and
 * the bytes. Only whole objects are taken; what is not yet whole waits in `input`.
 */
#include "diagnostics/nettrace.h"

#include <string.h>

#include "base/memory.h"
#include "diagnostics/nettrace_private.h"

enum {
    TAG_NULL = 1,
    TAG_BEGIN = 5,
    TAG_END = 6,
    NAME_LIMIT = 64,
    BLOCK_LIMIT = 64 << 20,
    NEWEST_VERSION = 4,
};

/* NEED_MORE is no error: the object is not whole yet. */
enum { NEED_MORE = 1 };

static const char HEAD[] = "Nettrace\x14\0\0\0!FastSerialization.1";

static int take_head(nettrace *parser, size_t *taken, error *e);
static int take_object(nettrace *parser, size_t *taken, error *e);

nettrace *nettrace_create(const nettrace_sink *sink)
{
    nettrace *parser = memory_allocate_array(1, sizeof *parser);

    if (parser == NULL)
        return NULL;
    parser->sink = *sink;
    table_u64_init(&parser->metadata_index);
    table_u64_init(&parser->stack_index);
    table_u64_init(&parser->sequence);
    return parser;
}

void nettrace_free(nettrace *parser)
{
    if (parser == NULL)
        return;
    nettrace_free_metadata(parser);
    buffer_free(&parser->input);
    buffer_free(&parser->stacks);
    table_u64_free(&parser->metadata_index);
    table_u64_free(&parser->stack_index);
    table_u64_free(&parser->sequence);
    memory_free(parser);
}

bool nettrace_at_end(const nettrace *parser)
{
    return parser->ended;
}

int nettrace_feed(nettrace *parser, const void *bytes, size_t length, error *e)
{
    size_t begin = 0;
    int code = 0;

    if (parser->failed != 0)
        return error_set(e, parser->failed, "the event stream was broken before");
    if (parser->ended)
        return 0; /* what follows the end is not ours */
    buffer_append(&parser->input, bytes, length);
    if (buffer_failed(&parser->input)) {
        parser->failed = ERROR_MEMORY;
        return error_set(e, ERROR_MEMORY, "no memory for the event stream");
    }
    while (code == 0 && !parser->ended && begin < parser->input.length) {
        buffer whole = parser->input;
        size_t taken = 0;

        /* The takers see the stream from the next object on. */
        parser->input.data += begin;
        parser->input.length -= begin;
        code = parser->started ? take_object(parser, &taken, e) : take_head(parser, &taken, e);
        parser->input = whole;
        begin += taken;
        parser->position += taken;
    }
    if (begin > 0) {
        memmove(parser->input.data, parser->input.data + begin, parser->input.length - begin);
        parser->input.length -= begin;
    }
    if (code == NEED_MORE)
        code = 0;
    parser->failed = code;
    return code;
}

static int take_head(nettrace *parser, size_t *taken, error *e)
{
    size_t length = sizeof HEAD - 1;
    size_t there = parser->input.length < length ? parser->input.length : length;

    if (memcmp(parser->input.data, HEAD, there) != 0)
        return error_set(e, ERROR_CORRUPT, "this is not an event stream of a .NET runtime");
    if (there < length)
        return NEED_MORE;
    parser->started = true;
    *taken = length;
    return 0;
}

static int take_trace(nettrace *parser, reader *r, error *e)
{
    nettrace_trace *trace = &parser->trace;

    for (size_t i = 0; i < 8; i++)
        trace->start_time[i] = reader_u16(r);
    trace->start_ticks = reader_u64(r);
    trace->ticks_per_second = reader_u64(r);
    trace->pointer_size = reader_u32(r);
    trace->process_id = reader_u32(r);
    trace->processors = reader_u32(r);
    trace->sampling_ns = reader_u32(r);
    if (reader_failed(r))
        return NEED_MORE;
    if ((trace->pointer_size != 4 && trace->pointer_size != 8) || trace->ticks_per_second == 0)
        return error_set(e, ERROR_CORRUPT, "the event stream's description of itself is broken");
    return 0;
}

/* The content of a block; *block is only set when it is whole. */
static int take_content(const nettrace *parser, reader *r, reader *block, error *e)
{
    size_t size = reader_u32(r);
    const uint8_t *bytes;

    if (reader_failed(r))
        return NEED_MORE;
    if (size > BLOCK_LIMIT)
        return error_set(e, ERROR_CORRUPT, "a block of the event stream claims %zu bytes", size);
    reader_skip(r, (size_t)(-(parser->position + reader_offset(r)) & 3));
    bytes = reader_bytes(r, size);
    if (bytes == NULL)
        return NEED_MORE;
    *block = reader_of(bytes, size);
    return 0;
}

static int take_block(nettrace *parser, const char *name, reader block, error *e)
{
    if (!parser->has_trace)
        return error_set(e, ERROR_CORRUPT, "the event stream does not begin with its description");
    if (strcmp(name, "EventBlock") == 0)
        return nettrace_take_events(parser, block, false, e);
    if (strcmp(name, "MetadataBlock") == 0)
        return nettrace_take_events(parser, block, true, e);
    if (strcmp(name, "StackBlock") == 0)
        return nettrace_take_stacks(parser, block, e);
    if (strcmp(name, "SPBlock") == 0)
        return nettrace_take_sequence_point(parser, block, e);
    return 0; /* a kind of block that came later: skipped */
}

/* Reads the type of an object; name has NAME_LIMIT bytes. */
static int take_type(reader *r, char *name, error *e)
{
    const uint8_t *text;
    uint32_t least_reader, length;
    uint8_t begin = reader_u8(r), null = reader_u8(r), end;

    reader_u32(r); /* version */
    least_reader = reader_u32(r);
    length = reader_u32(r);
    if (reader_failed(r))
        return NEED_MORE;
    if (begin != TAG_BEGIN || null != TAG_NULL || length == 0 || length >= NAME_LIMIT)
        return error_set(e, ERROR_CORRUPT, "the event stream is broken: no object begins here");
    text = reader_bytes(r, length);
    end = reader_u8(r);
    if (reader_failed(r))
        return NEED_MORE;
    if (end != TAG_END)
        return error_set(e, ERROR_CORRUPT, "the event stream is broken: a type does not end");
    if (least_reader > NEWEST_VERSION)
        return error_set(e, ERROR_UNSUPPORTED,
                         "the event stream needs a reader of version %u, this is version %d",
                         least_reader, NEWEST_VERSION);
    memcpy(name, text, length);
    name[length] = '\0';
    return 0;
}

static int take_object(nettrace *parser, size_t *taken, error *e)
{
    reader r = reader_of(parser->input.data, parser->input.length);
    reader block = reader_of(NULL, 0);
    uint8_t tag = reader_u8(&r);
    char name[NAME_LIMIT];
    bool is_trace;
    int code;

    if (tag == TAG_NULL) {
        parser->ended = true;
        *taken = 1;
        return 0;
    }
    if (tag != TAG_BEGIN)
        return error_set(e, ERROR_CORRUPT, "the event stream is broken: tag %u at byte %llu", tag,
                         (unsigned long long)parser->position);
    if ((code = take_type(&r, name, e)) != 0)
        return code;
    is_trace = strcmp(name, "Trace") == 0;
    code = is_trace ? take_trace(parser, &r, e) : take_content(parser, &r, &block, e);
    if (code != 0)
        return code;
    tag = reader_u8(&r);
    if (reader_failed(&r))
        return NEED_MORE;
    if (tag != TAG_END)
        return error_set(e, ERROR_CORRUPT, "the event stream is broken: %s does not end", name);
    *taken = reader_offset(&r);
    if (!is_trace)
        return take_block(parser, name, block, e);
    parser->has_trace = true;
    if (parser->sink.trace != NULL)
        parser->sink.trace(parser->sink.context, &parser->trace);
    return 0;
}
