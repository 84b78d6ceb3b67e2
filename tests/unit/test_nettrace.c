/* Unit tests of the event stream's reader, on a stream that is written here byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "diagnostics/nettrace.h"

/* --- a writer --- */

static void append_head(buffer *out)
{
    buffer_append(out, "Nettrace\x14\0\0\0!FastSerialization.1", 32);
}

static void append_type(buffer *out, const char *name, uint32_t least_reader)
{
    buffer_append(out, "\5\5\1", 3);
    buffer_append_u32(out, 4);
    buffer_append_u32(out, least_reader);
    buffer_append_u32(out, (uint32_t)strlen(name));
    buffer_append_text(out, name);
    buffer_append_u8(out, 6);
}

static void append_trace(buffer *out)
{
    append_type(out, "Trace", 4);
    for (uint16_t i = 0; i < 8; i++)
        buffer_append_u16(out, i);
    buffer_append_u64(out, 1000);
    buffer_append_u64(out, 1000000000);
    buffer_append_u32(out, 8);
    buffer_append_u32(out, 4711);
    buffer_append_u32(out, 2);
    buffer_append_u32(out, 0);
    buffer_append_u8(out, 6);
}

static void append_block(buffer *out, const char *name, const buffer *content)
{
    append_type(out, name, 2);
    buffer_append_u32(out, (uint32_t)content->length);
    buffer_append_fill(out, 0, -out->length & 3);
    buffer_append(out, content->data, content->length);
    buffer_append_u8(out, 6);
}

static void append_utf16(buffer *out, const char *text)
{
    text_append_utf8_as_utf16(out, text, strlen(text));
    buffer_append_u16(out, 0);
}

static void append_block_head(buffer *out, bool compressed)
{
    buffer_append_u16(out, 20);
    buffer_append_u16(out, compressed);
    buffer_append_u64(out, 1000);
    buffer_append_u64(out, 2000);
}

/* Kind 7: provider "Shop", event 3 "Sold", fields (int Count, { string Name } Item), opcode 9. */
static void append_metadata_block(buffer *out)
{
    buffer content = BUFFER_EMPTY, payload = BUFFER_EMPTY;

    buffer_append_u32(&payload, 7);
    append_utf16(&payload, "Shop");
    buffer_append_u32(&payload, 3);
    append_utf16(&payload, "Sold");
    buffer_append_u64(&payload, 0x8000);
    buffer_append_u32(&payload, 1);
    buffer_append_u32(&payload, 4);
    buffer_append_u32(&payload, 2);
    buffer_append_u32(&payload, NETTRACE_I32);
    append_utf16(&payload, "Count");
    buffer_append_u32(&payload, NETTRACE_OBJECT);
    buffer_append_u32(&payload, 1);
    buffer_append_u32(&payload, NETTRACE_STRING);
    append_utf16(&payload, "Name");
    append_utf16(&payload, "Item");
    buffer_append_u32(&payload, 1);
    buffer_append_u8(&payload, 1);
    buffer_append_u8(&payload, 9);
    append_block_head(&content, true);
    buffer_append_u8(&content, 0x80); /* kind 0: metadata itself */
    buffer_append_varint(&content, 5);
    buffer_append_varint(&content, payload.length);
    buffer_append(&content, payload.data, payload.length);
    append_block(out, "MetadataBlock", &content);
    buffer_free(&content);
    buffer_free(&payload);
}

static void append_stack_block(buffer *out)
{
    buffer content = BUFFER_EMPTY;

    buffer_append_u32(&content, 1);
    buffer_append_u32(&content, 2);
    buffer_append_u32(&content, 16);
    buffer_append_u64(&content, 0x1111);
    buffer_append_u64(&content, 0x2222);
    buffer_append_u32(&content, 0);
    append_block(out, "StackBlock", &content);
    buffer_free(&content);
}

/* Three events: two of thread 50 (numbers 1 and 2), one of thread 60 (number 4: three lost). */
static void append_event_block(buffer *out)
{
    buffer content = BUFFER_EMPTY;

    append_block_head(&content, true);
    buffer_append_u8(&content, 1 | 2 | 4 | 8 | 16 | 128);
    buffer_append_varint(&content, 7);  /* kind */
    buffer_append_varint(&content, 0);  /* sequence number, less one */
    buffer_append_varint(&content, 50); /* captured by */
    buffer_append_varint(&content, 1);  /* processor */
    buffer_append_varint(&content, 50); /* thread */
    buffer_append_varint(&content, 1);  /* stack */
    buffer_append_varint(&content, 1500);
    buffer_append_fill(&content, 0xab, 16);
    buffer_append_varint(&content, 4);
    buffer_append_u32(&content, 42);
    buffer_append_u8(&content, 0); /* all as before */
    buffer_append_varint(&content, 10);
    buffer_append_u32(&content, 43);
    buffer_append_u8(&content, 2 | 4 | 8 | 128);
    buffer_append_varint(&content, 1);
    buffer_append_varint(&content, 60);
    buffer_append_varint(&content, 0);
    buffer_append_varint(&content, 60);
    buffer_append_varint(&content, 2);
    buffer_append_varint(&content, 5);
    buffer_append_varint(&content, 0);
    append_block(out, "EventBlock", &content);
    buffer_free(&content);
}

/* An event with a whole header, as written when headers are not compressed. */
static void append_plain_block(buffer *out)
{
    buffer content = BUFFER_EMPTY;

    append_block_head(&content, false);
    buffer_append_u32(&content, 87);
    buffer_append_u32(&content, 0x80000007);
    buffer_append_u32(&content, 3);
    buffer_append_u64(&content, 50);
    buffer_append_u64(&content, 50);
    buffer_append_u32(&content, 0);
    buffer_append_u32(&content, 0);
    buffer_append_u64(&content, 1600);
    buffer_append_fill(&content, 0, 32);
    buffer_append_u32(&content, 3);
    buffer_append_text(&content, "abc");
    buffer_append_fill(&content, 0, -content.length & 3);
    append_block(out, "EventBlock", &content);
    buffer_free(&content);
}

/* Thread 50 has written 5 events by now, of which 3 came. */
static void append_sequence_point(buffer *out)
{
    buffer content = BUFFER_EMPTY;

    buffer_append_u64(&content, 1700);
    buffer_append_u32(&content, 1);
    buffer_append_u64(&content, 50);
    buffer_append_u32(&content, 5);
    append_block(out, "SPBlock", &content);
    buffer_free(&content);
}

static void append_stream(buffer *out)
{
    buffer unknown = BUFFER_EMPTY;

    append_head(out);
    append_trace(out);
    append_metadata_block(out);
    append_stack_block(out);
    append_event_block(out);
    buffer_append_text(&unknown, "whatever");
    append_block(out, "FutureBlock", &unknown);
    append_plain_block(out);
    append_sequence_point(out);
    buffer_append_u8(out, 1);
    buffer_free(&unknown);
}

/* --- a sink that writes down what it gets --- */

static void on_trace(void *context, const nettrace_trace *trace)
{
    buffer_format(context, "trace %u %u\n", trace->process_id, trace->pointer_size);
}

static void on_event(void *context, const nettrace_event *event)
{
    buffer_format(context,
                  "%s/%u %s at %llu by %llu on %u, stack %zu, payload %zu, activity %02x\n",
                  event->metadata->provider, event->metadata->event_id, event->metadata->name,
                  (unsigned long long)event->ticks, (unsigned long long)event->thread_id,
                  event->processor, event->stack_count, event->payload_length, event->activity[0]);
    for (size_t i = 0; event->ticks == 1500 && i < event->metadata->field_count; i++)
        buffer_format(context, "field %u %u %s\n", event->metadata->fields[i].type,
                      event->metadata->fields[i].depth, event->metadata->fields[i].name);
}

static void on_dropped(void *context, uint64_t thread, uint64_t count)
{
    buffer_format(context, "dropped %llu of %llu\n", (unsigned long long)count,
                  (unsigned long long)thread);
}

static void on_point(void *context, uint64_t ticks)
{
    buffer_format(context, "point %llu\n", (unsigned long long)ticks);
}

static const char EXPECTED[] = "trace 4711 8\n"
                               "Shop/3 Sold at 1500 by 50 on 1, stack 2, payload 4, activity ab\n"
                               "field 9 0 Count\n"
                               "field 1 0 Item\n"
                               "field 18 1 Name\n"
                               "Shop/3 Sold at 1510 by 50 on 1, stack 2, payload 4, activity ab\n"
                               "dropped 3 of 60\n"
                               "Shop/3 Sold at 1515 by 60 on 0, stack 0, payload 0, activity ab\n"
                               "Shop/3 Sold at 1600 by 50 on 0, stack 0, payload 3, activity 00\n"
                               "dropped 2 of 50\n"
                               "point 1700\n";

static nettrace *parser_into(buffer *log)
{
    nettrace_sink sink = {on_trace, on_event, on_dropped, on_point, log};
    nettrace *parser = nettrace_create(&sink);

    assert_non_null(parser);
    return parser;
}

static void stream_is_read_in_pieces_of_any_size(void **state)
{
    static const size_t PIECES[] = {1, 2, 3, 7, 64, 100000};
    buffer stream = BUFFER_EMPTY;

    (void)state;
    append_stream(&stream);
    for (size_t p = 0; p < sizeof PIECES / sizeof *PIECES; p++) {
        buffer log = BUFFER_EMPTY;
        nettrace *parser = parser_into(&log);
        error e;

        for (size_t at = 0; at < stream.length; at += PIECES[p]) {
            size_t length = stream.length - at < PIECES[p] ? stream.length - at : PIECES[p];

            assert_false(nettrace_at_end(parser));
            assert_int_equal(nettrace_feed(parser, stream.data + at, length, &e), 0);
        }
        assert_true(nettrace_at_end(parser));
        assert_string_equal(buffer_text(&log), EXPECTED);
        nettrace_free(parser);
        buffer_free(&log);
    }
    buffer_free(&stream);
}

static void broken_streams_end_in_an_error(void **state)
{
    buffer head = BUFFER_EMPTY, stream = BUFFER_EMPTY, log = BUFFER_EMPTY;
    nettrace *parser;
    error e;

    (void)state;
    parser = parser_into(&log);
    assert_int_equal(nettrace_feed(parser, "Nettrbce", 8, &e), ERROR_CORRUPT);
    assert_int_equal(nettrace_feed(parser, "", 0, &e), ERROR_CORRUPT); /* and stays so */
    nettrace_free(parser);

    append_head(&head);
    buffer_append(&stream, head.data, head.length);
    buffer_append_u8(&stream, 9);
    parser = parser_into(&log);
    assert_int_equal(nettrace_feed(parser, stream.data, stream.length, &e), ERROR_CORRUPT);
    nettrace_free(parser);

    buffer_clear(&stream);
    buffer_append(&stream, head.data, head.length);
    append_type(&stream, "Trace", 5);
    parser = parser_into(&log);
    assert_int_equal(nettrace_feed(parser, stream.data, stream.length, &e), ERROR_UNSUPPORTED);
    nettrace_free(parser);

    buffer_clear(&stream);
    buffer_append(&stream, head.data, head.length);
    append_event_block(&stream); /* before the trace object */
    parser = parser_into(&log);
    assert_int_equal(nettrace_feed(parser, stream.data, stream.length, &e), ERROR_CORRUPT);
    nettrace_free(parser);

    buffer_clear(&stream);
    buffer_append(&stream, head.data, head.length);
    append_trace(&stream);
    append_event_block(&stream); /* of a kind nobody described */
    parser = parser_into(&log);
    assert_int_equal(nettrace_feed(parser, stream.data, stream.length, &e), ERROR_CORRUPT);
    assert_non_null(strstr(e.message, "unknown kind 7"));
    nettrace_free(parser);

    buffer_clear(&stream);
    buffer_append(&stream, head.data, head.length);
    append_trace(&stream);
    append_type(&stream, "EventBlock", 2);
    buffer_append_u32(&stream, 0x7fffffff);
    parser = parser_into(&log);
    assert_int_equal(nettrace_feed(parser, stream.data, stream.length, &e), ERROR_CORRUPT);
    nettrace_free(parser);
    buffer_free(&head);
    buffer_free(&stream);
    buffer_free(&log);
}

/* Any one byte changed: an error or other events, never a crash (run with the sanitizers). */
static void damaged_streams_never_hurt(void **state)
{
    buffer stream = BUFFER_EMPTY, log = BUFFER_EMPTY;

    (void)state;
    append_stream(&stream);
    for (size_t at = 0; at < stream.length; at++) {
        for (unsigned change = 1; change < 256; change <<= 1) {
            nettrace *parser = parser_into(&log);

            stream.data[at] ^= (uint8_t)change;
            nettrace_feed(parser, stream.data, stream.length, NULL);
            stream.data[at] ^= (uint8_t)change;
            nettrace_free(parser);
            buffer_clear(&log);
        }
    }
    buffer_free(&stream);
    buffer_free(&log);
}

/* --- every allocation in turn fails --- */

static unsigned allocations_left;

static void *failing_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    return realloc(pointer, size);
}

static void lack_of_memory_is_an_error(void **state)
{
    const memory_backend backend = {failing_resize, NULL};
    nettrace_sink sink = {NULL, NULL, NULL, NULL, NULL};
    buffer stream = BUFFER_EMPTY;
    int code = ERROR_MEMORY;

    (void)state;
    append_stream(&stream);
    for (unsigned n = 0; code != 0; n++) {
        nettrace *parser;

        allocations_left = n;
        memory_use(&backend);
        parser = nettrace_create(&sink);
        code =
            parser == NULL ? ERROR_MEMORY : nettrace_feed(parser, stream.data, stream.length, NULL);
        nettrace_free(parser);
        memory_use(NULL);
        assert_true(n < 200);
        assert_true(code <= 0);
    }
    assert_int_equal(code, 0);
    buffer_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_is_read_in_pieces_of_any_size),
        cmocka_unit_test(broken_streams_end_in_an_error),
        cmocka_unit_test(damaged_streams_never_hurt),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
