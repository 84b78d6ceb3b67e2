/* Unit tests of room: a snapshot that does not fit is refused with the facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/heap.h"
#include "analysis/room.h"
#include "base/memory.h"
#include "diagnostics/heap_writer.h"

enum { OBJECTS = 50000, SMALL = 1 << 20, GIVEN = 256 << 20 };

/* A chain of objects; a model with its graph needs some megabytes. */
static void make_recording(buffer *out)
{
    heap_writer w;

    heap_writer_init(&w);
    assert_int_equal(heap_writer_add_type(&w, 0, 0, 0), 0);
    for (uint64_t i = 1; i <= OBJECTS; i++) {
        uint64_t next = (i + 1) * 32;

        heap_writer_put_object(
            &w, &(heap_writer_object){
                    .address = i * 32, .size = 32, .targets = &next, .count = i < OBJECTS});
    }
    heap_writer_put_root(&w, RECORDING_ROOT_HANDLE, 0, 32, 1, "", 0);
    recording_put_file_header(out);
    heap_writer_finish(&w, 1, 0, "", out);
    assert_false(w.failed || buffer_failed(out));
    heap_writer_free(&w);
}

static int load(const buffer *bytes, uint64_t limit, model *m, error *e)
{
    recording_file *file = NULL;
    int code;

    error_clear(e);
    assert_int_equal(recording_file_open_bytes(bytes->data, bytes->length, &file, e), 0);
    code = model_load(file, limit, m, e);
    recording_file_close(file);
    return code;
}

static void says_what_is_needed(void **state)
{
    char wanted[200];
    buffer bytes = BUFFER_EMPTY;
    const heap *h, *again;
    model m;
    error e;

    (void)state;
    make_recording(&bytes);
    assert_int_equal(load(&bytes, SMALL, &m, &e), ERROR_MEMORY);
    snprintf(wanted, sizeof wanted,
             "a snapshot of %d objects and %d references needs about %llu MiB of memory", OBJECTS,
             OBJECTS - 1, (unsigned long long)(room_for_heap(OBJECTS, OBJECTS - 1) >> 20) + 1);
    assert_non_null(strstr(e.message, wanted));
    assert_true(e.advice[0] != '\0');
    assert_int_equal(load(&bytes, 0, &m, &e), 0);
    assert_int_equal(heap_shared(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(h->objects, OBJECTS);
    assert_int_equal(heap_shared(&m, heap_find(&m), &again, &e), 0);
    assert_ptr_equal(h, again);
    model_free(&m);
    buffer_free(&bytes);
}

/* Allocations of the analysis fail one after the other: always the same words, nothing leaks. */
static size_t left_to_allow;

static void *resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (left_to_allow == 0)
        return NULL;
    left_to_allow--;
    return realloc(pointer, size);
}

static void every_failure_says_it(void **state)
{
    static const memory_backend FAILING = {resize, NULL};
    buffer bytes = BUFFER_EMPTY;
    size_t failures = 0;
    model m;
    error e;
    heap h;
    int code = ERROR_MEMORY;

    (void)state;
    make_recording(&bytes);
    assert_int_equal(load(&bytes, 0, &m, &e), 0);
    while (code != 0) {
        error_clear(&e);
        left_to_allow = failures;
        memory_use(&FAILING);
        code = heap_build(&m, heap_find(&m), &h, &e);
        memory_use(NULL);
        if (code == 0)
            break;
        failures++;
        assert_int_equal(code, ERROR_MEMORY);
        assert_non_null(strstr(e.message, "needs about"));
    }
    assert_true(failures > 10);
    heap_free(&h);
    model_free(&m);
    buffer_free(&bytes);
}

static void knows_the_limit_of_addresses(void **state)
{
    struct rlimit before, small;
    uint64_t left, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    (void)state;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    assert_true(room_left() > 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    small = before;
    small.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + GIVEN;
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    left = room_left();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(left <= GIVEN + (GIVEN >> 2)); /* something may have been given back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_needed),
        cmocka_unit_test(every_failure_says_it),
        cmocka_unit_test(knows_the_limit_of_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
