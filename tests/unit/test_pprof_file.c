/* Unit tests of reading pprof's profiles, on one that protoc wrote: a native program `worker` with
 * two values for each sample, a location of two lines, one without, a sample below zero and one
 * that has too few values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/model.h"
#include "analysis/profile.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/pprof_file.h"

static const char FILE_NAME[] = TEST_SOURCE_DIR "/tests/unit/data/worker.pb.gz";

static int load_bytes(const void *bytes, size_t length, char note[160], model *m, error *e)
{
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    int code = pprof_file_import_bytes(bytes, length, "worker.pb.gz", &out, note, 160, e);

    if (code == 0) {
        assert_int_equal(recording_file_open_bytes(out.data, out.length, &file, e), 0);
        assert_int_equal(model_load(file, 0, m, e), 0);
        recording_file_close(file);
        assert_string_equal(m->cut, "");
        assert_int_equal(m->damaged_chunks, 0);
    }
    buffer_free(&out);
    return code;
}

/* "root;…;leaf" of a row. */
static void spell(const model *m, const model_process *p, uint32_t stack, char *out, size_t size)
{
    const char *name;
    size_t length;

    if (stack == 0)
        return;
    spell(m, p, p->stack_parents[stack], out, size);
    name = model_text(m, p->functions[p->frames[p->stack_frames[stack]].function].name);
    length = strlen(out);
    snprintf(out + length, size - length, "%s%s", length == 0 ? "" : ";", name);
}

static void test_has_every_value_as_a_profile(void **state)
{
    static const struct {
        const char *stack;
        uint64_t cpu, samples;
    } ROWS[] = {{"main.main;main.work;main.work;main.hash", 30000000, 3},
                {"main.main;main.work", 10000000, 1},
                {"main.main;[worker]", 20000000, 2},
                {"main.main", 0, 1}};
    buffer bytes = BUFFER_EMPTY;
    profile cpu, samples;
    char note[160];
    model m;

    (void)state;
    assert_true(pprof_file_is(FILE_NAME));
    assert_int_equal(os_read_file(FILE_NAME, 1 << 20, &bytes, NULL), 0);
    assert_int_equal(load_bytes(bytes.data, bytes.length, note, &m, NULL), 0);
    assert_non_null(strstr(note, "1 values below 0 and 1 samples"));
    assert_int_equal(m.process_count, 1);
    assert_string_equal(model_text(&m, m.processes[0].name), "worker.pb.gz");
    assert_int_equal(m.processes[0].duration_ns, 1000000000);
    assert_int_equal(m.processes[0].origin_unix_ns, 1700000000000000000);
    assert_true(profile_find(&m, &m.processes[0], NULL, &cpu));
    assert_string_equal(model_text(&m, cpu.table->profiler), "cpu");
    assert_string_equal(cpu.unit, "ns");
    assert_true(profile_find(&m, &m.processes[0], "samples", &samples));
    assert_string_equal(samples.unit, "count");
    assert_int_equal(cpu.table->rows, 3);
    assert_int_equal(samples.table->rows, 4);
    for (size_t row = 0; row < 4; row++) {
        char text[200] = "";

        spell(&m, samples.process, profile_row_stack(&samples, row), text, sizeof text);
        assert_string_equal(text, ROWS[row].stack);
        assert_int_equal(profile_row_weight(&samples, row), ROWS[row].samples);
        if (ROWS[row].cpu != 0)
            assert_int_equal(profile_row_weight(&cpu, row), ROWS[row].cpu);
    }
    model_free(&m);
    buffer_free(&bytes);
}

static void test_has_lines_and_threads(void **state)
{
    buffer bytes = BUFFER_EMPTY;
    const model_process *p;
    profile cpu;
    const model_frame *leaf;
    char note[160];
    model m;

    (void)state;
    assert_int_equal(os_read_file(FILE_NAME, 1 << 20, &bytes, NULL), 0);
    assert_int_equal(load_bytes(bytes.data, bytes.length, note, &m, NULL), 0);
    p = &m.processes[0];
    assert_true(profile_find(&m, p, "cpu", &cpu));
    leaf = &p->frames[p->stack_frames[profile_row_stack(&cpu, 0)]];
    assert_string_equal(model_text(&m, leaf->file), "/src/work.go");
    assert_int_equal(leaf->line, 12);
    assert_int_equal(p->threads[cpu.thread->u32[0]].os_id, 77);
    assert_string_equal(model_text(&m, p->threads[cpu.thread->u32[0]].name), "loader");
    assert_int_equal(cpu.thread->u32[1], 0);
    model_free(&m);
    buffer_free(&bytes);
}

/* However it is cut, and whichever byte is wrong: an answer, and a message when it is no. */
static void test_withstands_broken_files(void **state)
{
    static const char PLAIN[] = TEST_SOURCE_DIR "/tests/fuzz/corpus/pprof/worker.pb";
    const char *const names[] = {FILE_NAME, PLAIN};
    size_t refused = 0;

    (void)state;
    assert_true(pprof_file_is(PLAIN));
    assert_false(pprof_file_is(TEST_SOURCE_DIR "/README.md"));
    for (size_t k = 0; k < 2; k++) {
        buffer bytes = BUFFER_EMPTY;
        char note[160];
        model m;

        assert_int_equal(os_read_file(names[k], 1 << 20, &bytes, NULL), 0);
        for (size_t i = 0; i < 2 * bytes.length; i++) {
            size_t length = i < bytes.length ? i : bytes.length;
            uint8_t kept = bytes.data[i % bytes.length];
            error e;

            error_clear(&e);
            if (i >= bytes.length)
                bytes.data[i % bytes.length] ^= 0xFF;
            if (load_bytes(bytes.data, length, note, &m, &e) == 0) {
                model_free(&m);
            } else {
                refused++;
                assert_true(e.message[0] != '\0');
            }
            bytes.data[i % bytes.length] = kept;
        }
        buffer_free(&bytes);
    }
    assert_true(refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_has_every_value_as_a_profile),
        cmocka_unit_test(test_has_lines_and_threads),
        cmocka_unit_test(test_withstands_broken_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
