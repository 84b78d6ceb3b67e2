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

#include "analysis/model.h"
#include "base/reader.h"
#include "diagnostics/import.h"
#include "diagnostics/nettrace.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file_of_8),
        cmocka_unit_test(reads_a_file_of_10),
        cmocka_unit_test(uses_what_is_there_of_a_cut_file),
        cmocka_unit_test(refuses_what_is_no_event_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
