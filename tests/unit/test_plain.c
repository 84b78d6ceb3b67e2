/* Unit tests of what a terminal or a page must not obey: names that a program chose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/plain.h"
#include "cli/threads_show.h"
#include "recording/encode.h"
#include "recording/file.h"
#include "recording/tables.h"

enum { TABLES_THREADS(TABLES_CELL) COLUMNS };
static const recording_column THREAD_COLUMNS[COLUMNS] = {TABLES_THREADS(TABLES_COLUMN)};
static const recording_table THREADS = {"threads", "threads", THREAD_COLUMNS, COLUMNS};
static const recording_column LOOK_COLUMNS[] = {{RECORDING_TIME, "time", ""},
                                                {RECORDING_U64, "look", ""}};
static const recording_table LOOKS = {"looks", "threads", LOOK_COLUMNS, 2};

static const char METHOD[] = "Shop.\033]0;x\a.Run\xc2\x9b"
                             "31m\xe2\x80\xae\n```\n<b>";

static void control_characters_are_replaced(void **state)
{
    static const char *const CASES[][2] = {
        {"plain \xc3\xa4 \xe2\x80\xa6", "plain \xc3\xa4 \xe2\x80\xa6"},
        {"\033[2J\n\x7f", "?[2J??"},
        {"a\xc2\x9b"
         "b\xe2\x80\xa8"
         "c\xe2\x81\xa7",
         "a?b?c?"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        buffer appended = BUFFER_EMPTY;
        char put[64] = "";
        FILE *out = fmemopen(put, sizeof put, "w");

        assert_non_null(out);
        plain_put(out, CASES[i][0]);
        fclose(out);
        assert_string_equal(put, CASES[i][1]);
        plain_append(&appended, CASES[i][0]);
        assert_string_equal(buffer_text(&appended), CASES[i][1]);
        strcpy(put, CASES[i][0]);
        plain_clean(put, false);
        assert_string_equal(put, CASES[i][1]);
        buffer_free(&appended);
    }
}

static void load(model *m)
{
    uint64_t cells[COLUMNS] = {
        [TIME] = 1, [THREAD] = 100, [MANAGED_ID] = 1, [STACK] = 1, [LOOK] = 1, [NATIVE] = 0x1000};
    recording_file *file = NULL;
    recording_rows rows;
    buffer b = BUFFER_EMPTY;
    size_t chunk;

    recording_put_file_header(&b);
    chunk = recording_begin_chunk(&b, RECORDING_STRING, 0);
    recording_put_string(&b, 1, METHOD, sizeof METHOD - 1);
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_METHOD, 0);
    recording_put_method(&b, &(recording_method){.id = 1, .name = 1});
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_FRAME, 0);
    recording_put_frame(&b, 1, RECORDING_FRAME_MANAGED, 1, 0);
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_STACK, 0);
    recording_put_stack(&b, 1, 0, 1);
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &THREADS);
    recording_put_table(&b, 2, &LOOKS);
    recording_end_chunk(&b, chunk);
    recording_rows_begin(&rows, &b, 0, 2, &LOOKS);
    recording_rows_put_row(&rows, (uint64_t[]){1, 1});
    recording_rows_end(&rows);
    recording_rows_begin(&rows, &b, 0, 1, &THREADS);
    recording_rows_put_row(&rows, cells);
    recording_rows_end(&rows);
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
}

/* What is printed in this format. */
static void show(const threads_view *view, threads_show_format format, char *text, size_t size)
{
    threads_show_options options = {.format = format};
    FILE *file = tmpfile();
    int before = dup(STDOUT_FILENO);
    size_t length;

    assert_non_null(file);
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    threads_show(view, &options);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
}

static void names_of_methods_do_not_steer(void **state)
{
    static const threads_show_format FORMATS[] = {THREADS_SHOW_WORDS, THREADS_SHOW_MARKDOWN,
                                                  THREADS_SHOW_HTML};
    threads_view view;
    model m;
    char text[4096];

    (void)state;
    load(&m);
    assert_int_equal(threads_make(&m, &m.processes[0], &view, NULL), 0);
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        show(&view, FORMATS[i], text, sizeof text);
        assert_non_null(strstr(text, "Shop."));
        for (const char *c = text; *c != '\0'; c++)
            assert_true(*c == '\n' || (unsigned char)*c >= ' ');
        assert_null(strstr(text, "\xc2\x9b"));
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_int_equal(strstr(text, "<b>") == NULL, FORMATS[i] == THREADS_SHOW_HTML);
        /* three would end the block that it stands in */
        if (FORMATS[i] == THREADS_SHOW_MARKDOWN)
            assert_non_null(strstr(text, "````\n"));
    }
    threads_free(&view);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(names_of_methods_do_not_steer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
