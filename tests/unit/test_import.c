/* Unit tests of the import of event files, on files that dotnet-trace wrote of the sample
 * GcPressure on 8.0 and 10.0 (its paths were changed). What the rows say is compared with a plain
 * count of the events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "analysis/heap.h"
#include "analysis/heap_growth.h"
#include "base/reader.h"
#include "diagnostics/import.h"
#include "diagnostics/import_private.h"
#include "diagnostics/nettrace.h"
#include "recording/tables.h"

typedef struct {
    size_t collections;
    size_t pauses;
    size_t managed;
} counts;

static void read_packed(const char *name, buffer *out)
{
    char path[512];
    char piece[8192];
    gzFile file;
    int got;

    snprintf(path, sizeof path, "%s/tests/unit/data/%s", TEST_SOURCE_DIR, name);
    file = gzopen(path, "rb");
    assert_non_null(file);
    while ((got = gzread(file, piece, sizeof piece)) > 0)
        buffer_append(out, piece, (size_t)got);
    assert_int_equal(gzclose(file), Z_OK);
    assert_true(out->length > 100000);
}

static void count_event(void *context, const nettrace_event *event)
{
    counts *c = context;
    reader r = reader_of(event->payload, event->payload_length);

    if (strcmp(event->metadata->provider, "Microsoft-Windows-DotNETRuntime") == 0) {
        c->collections += event->metadata->event_id == 1;
        c->pauses += event->metadata->event_id == 9 && reader_u32(&r) != 0;
    } else if (strcmp(event->metadata->provider, "Microsoft-DotNETCore-SampleProfiler") == 0) {
        c->managed += reader_u32(&r) == 2;
    }
}

/* Imports the first `length` bytes in pieces of `piece`. */
static int load(const buffer *bytes, size_t length, size_t piece, bool *is_whole, model *m)
{
    event_import *i = import_create();
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    error e = {0};
    int code;

    assert_non_null(i);
    for (size_t at = 0; at < length; at += piece)
        assert_int_equal(
            import_feed(i, bytes->data + at, length - at < piece ? length - at : piece, &e), 0);
    *is_whole = import_is_whole(i);
    code = import_finish(i, &out, &e);
    if (code == 0) {
        assert_int_equal(recording_file_open_bytes(out.data, out.length, &file, &e), 0);
        assert_int_equal(model_load(file, 0, m, &e), 0);
        recording_file_close(file);
        assert_string_equal(m->cut, "");
        assert_int_equal(m->damaged_chunks, 0);
    }
    buffer_free(&out);
    import_free(i);
    return code;
}

static size_t rows_of(const model *m, const char *table, const char *profiler)
{
    const model_table *found = model_find_table(m, &m->processes[0], table, profiler);

    return found == NULL ? 0 : found->rows;
}

static bool has_function(const model *m, const char *name, const char *module)
{
    const model_process *p = &m->processes[0];

    for (size_t i = 1; i < p->function_count; i++)
        if (strcmp(model_text(m, p->functions[i].name), name) == 0 &&
            strcmp(model_text(m, p->modules[p->functions[i].module].name), module) == 0)
            return true;
    return false;
}

static void check_file(const char *name, const char *version)
{
    buffer bytes = BUFFER_EMPTY;
    counts c = {0};
    nettrace_sink sink = {.event = count_event, .context = &c};
    nettrace *parser = nettrace_create(&sink);
    bool is_whole;
    model m;

    read_packed(name, &bytes);
    assert_int_equal(nettrace_feed(parser, bytes.data, bytes.length, NULL), 0);
    nettrace_free(parser);
    assert_int_equal(load(&bytes, bytes.length, 5000, &is_whole, &m), 0);
    assert_true(is_whole);
    assert_int_equal(m.unknown_references, 0);
    assert_int_equal(m.process_count, 1);
    assert_string_equal(model_text(&m, m.processes[0].name), "GcPressure");
    assert_string_equal(model_info_value(&m, &m.processes[0], "runtime_version"), version);
    assert_true(c.collections > 10 && c.pauses >= c.collections && c.managed > 0);
    assert_int_equal(rows_of(&m, "collections", "gc"), c.collections);
    assert_int_equal(rows_of(&m, "pauses", "pauses"), c.pauses);
    assert_int_equal(rows_of(&m, "samples", "cpu"), c.managed);
    assert_true(rows_of(&m, "samples", "wall") > c.managed);
    assert_true(has_function(&m, "GcPressure.Program.Main", "GcPressure"));
    assert_true(has_function(&m, "GcPressure.Forcer.CollectAll", "GcPressure"));
    model_free(&m);
    buffer_free(&bytes);
}

static void reads_a_file_of_8(void **state)
{
    (void)state;
    check_file("dotnet-trace-8.0.nettrace.gz", "8.0.33");
}

static void reads_a_file_of_10(void **state)
{
    (void)state;
    check_file("dotnet-trace-10.0.nettrace.gz", "10.0.14");
}

/* A heap dump that was asked for with the keywords 0x1d80001, of LeakyCache with 20 entries. */
static void check_heap(const char *name, size_t objects, uint64_t bytes_of_all)
{
    buffer bytes = BUFFER_EMPTY, way = BUFFER_EMPTY;
    size_t stacks = 0;
    bool is_whole;
    error e = {0};
    model m;
    heap h;

    read_packed(name, &bytes);
    assert_int_equal(load(&bytes, bytes.length, 5000, &is_whole, &m), 0);
    assert_true(is_whole);
    assert_non_null(heap_find(&m));
    assert_int_equal(heap_build(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(h.objects, objects);
    assert_int_equal(h.bytes, bytes_of_all);
    assert_int_equal(h.unknown_references, 0);
    assert_int_equal(h.in_generation[MODEL_HEAP_NOT_KNOWN], 0);
    for (uint32_t i = 0; i < h.type_count; i++) {
        if (strcmp(heap_type_name(&h, i), "LeakyCache.Entry") == 0) {
            assert_int_equal(h.types[i].count, 20);
            assert_int_equal(h.types[i].retained, 20 * (32 + 124));
            assert_int_equal(h.types[i].in_generation[1], 20 * 32);
        }
    }
    assert_int_equal(heap_growth_way(&(heap_growth){0}, &h, "LeakyCache.Entry", &way, &e), 0);
    assert_string_equal(buffer_text(&way),
                        "static field Entries -> System.Collections.Generic.List<LeakyCache.Entry>"
                        " -> LeakyCache.Entry[] -> LeakyCache.Entry");
    for (size_t i = 0; i < h.holder_count; i++) {
        buffer_clear(&way);
        heap_root_text(&h, h.holders[i].root, &way);
        stacks += strcmp(buffer_text(&way), "stack of Clarinet.Samples.Patient.WaitForEnd") == 0;
    }
    assert_true(stacks > 0);
    buffer_free(&way);
    heap_free(&h);
    model_free(&m);
    buffer_free(&bytes);
}

static void reads_a_heap_dump_of_8(void **state)
{
    (void)state;
    check_heap("heap-8.0.nettrace.gz", 390, 80524);
}

static void reads_a_heap_dump_of_10(void **state)
{
    (void)state;
    check_heap("heap-10.0.nettrace.gz", 364, 70214);
}

/* The event with all nodes is number 0; as number 1 it has lost one before it. */
static void a_lost_event_of_a_heap_dump_is_said(void **state)
{
    static const uint8_t NODES[8] = {0, 0, 0, 0, 364 & 0xff, 364 >> 8, 0, 0};
    buffer bytes = BUFFER_EMPTY;
    uint8_t *found;
    bool is_whole;
    error e = {0};
    model m;
    heap h;

    (void)state;
    read_packed("heap-10.0.nettrace.gz", &bytes);
    found = memmem(bytes.data, bytes.length, NODES, sizeof NODES);
    assert_non_null(found);
    found[0] = 1;
    assert_int_equal(load(&bytes, bytes.length, 5000, &is_whole, &m), 0);
    assert_int_equal(heap_build(&m, heap_find(&m), &h, &e), ERROR_CORRUPT);
    assert_non_null(strstr(e.message, "events of it were lost"));
    model_free(&m);
    buffer_free(&bytes);
}

static void uses_what_is_there_of_a_cut_file(void **state)
{
    buffer bytes = BUFFER_EMPTY;
    size_t most = 0;
    bool is_whole;
    model m;

    (void)state;
    read_packed("dotnet-trace-10.0.nettrace.gz", &bytes);
    for (size_t length = 0; length < bytes.length; length += 12347) {
        if (load(&bytes, length, bytes.length, &is_whole, &m) != 0) {
            assert_true(length < 200); /* before the stream's description of itself */
            continue;
        }
        assert_false(is_whole);
        assert_true(rows_of(&m, "collections", "gc") >= most);
        most = rows_of(&m, "collections", "gc");
        model_free(&m);
    }
    assert_true(most > 0);
    buffer_free(&bytes);
}

static void refuses_what_is_no_event_file(void **state)
{
    event_import *i = import_create();
    buffer out = BUFFER_EMPTY;
    error e = {0};

    (void)state;
    assert_int_equal(import_feed(i, "CLARINET", 8, &e), ERROR_CORRUPT);
    assert_int_equal(import_finish(i, &out, &e), ERROR_CORRUPT);
    import_free(i);
    buffer_free(&out);
    assert_false(import_is_event_file(TEST_SOURCE_DIR "/README.md"));
    assert_false(import_is_event_file("/proc/nonexistent"));
}

/* The kinds of the chunks, a letter each. */
static const char *kinds_of(const buffer *chunks, char text[8])
{
    recording_chunk chunk;
    size_t count = 0;

    for (size_t at = 0; count < 7 && recording_take_chunk(chunks->data + at, chunks->length - at,
                                                          &chunk) == RECORDING_CHUNK_WHOLE;
         at += chunk.whole)
        text[count++] = chunk.kind == RECORDING_TABLE    ? 'T'
                        : chunk.kind == RECORDING_STRING ? 'S'
                        : chunk.kind == RECORDING_ROWS   ? 'R'
                                                         : '?';
    text[count] = '\0';
    return text;
}

static void counters_are_shown_as_they_come(void **state)
{
    enum { TABLES_COUNTERS(TABLES_CELL) COLUMNS };

    (void)state;
    for (int forget = 0; forget <= 1; forget++) {
        event_import *i = import_create();
        const buffer *kept = &i->tables[IMPORT_COUNTERS].out;
        buffer out = BUFFER_EMPTY;
        char kinds[8];

        import_append_new_counters(i, forget != 0, &out);
        assert_string_equal(kinds_of(&out, kinds), "T");
        for (uint64_t time = 1; time <= 3; time++) {
            uint64_t cells[COLUMNS] = {[TIME] = time, [NAME] = import_string(&i->names, "a", 1)};

            import_put_row(i, IMPORT_COUNTERS, cells);
            buffer_clear(&out);
            import_append_new_counters(i, forget != 0, &out);
            assert_string_equal(kinds_of(&out, kinds), time == 1 ? "SR" : "R");
        }
        buffer_clear(&out);
        import_append_new_counters(i, forget != 0, &out);
        assert_int_equal(out.length, 0);
        assert_int_equal(kept->length == 0, forget != 0);
        buffer_free(&out);
        import_free(i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file_of_8),
        cmocka_unit_test(counters_are_shown_as_they_come),
        cmocka_unit_test(reads_a_file_of_10),
        cmocka_unit_test(reads_a_heap_dump_of_8),
        cmocka_unit_test(reads_a_heap_dump_of_10),
        cmocka_unit_test(a_lost_event_of_a_heap_dump_is_said),
        cmocka_unit_test(uses_what_is_there_of_a_cut_file),
        cmocka_unit_test(refuses_what_is_no_event_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
