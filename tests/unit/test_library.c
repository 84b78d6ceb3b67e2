/* Unit tests of library: where the libraries for the target are looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/library.h"

static char folder[64];

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fclose(file);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/clarinet-test-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    unsetenv("CLARINET_LIBRARY");
    return rmdir(folder);
}

static void variable_may_name_the_file(void **state)
{
    char file[128];
    buffer path = BUFFER_EMPTY;
    error e;

    (void)state;
    snprintf(file, sizeof file, "%s/other.so", folder);
    make_file(file);
    setenv("CLARINET_LIBRARY", file, 1);
    assert_int_equal(library_find(LIBRARY_AGENT, &path, &e), 0);
    assert_string_equal(buffer_text(&path), file);
    buffer_clear(&path);
    assert_int_equal(library_find(LIBRARY_INSTRUMENT, &path, &e), ERROR_NOT_FOUND);
    assert_int_equal(path.length, 0);
    unlink(file);
    buffer_free(&path);
}

static void variable_may_name_the_folder(void **state)
{
    char file[128];
    buffer path = BUFFER_EMPTY;
    error e;

    (void)state;
    snprintf(file, sizeof file, "%s/%s", folder, LIBRARY_INSTRUMENT);
    make_file(file);
    setenv("CLARINET_LIBRARY", folder, 1);
    assert_int_equal(library_find(LIBRARY_INSTRUMENT, &path, &e), 0);
    assert_string_equal(buffer_text(&path), file);
    assert_int_equal(library_find(LIBRARY_AGENT, &path, &e), ERROR_NOT_FOUND);
    assert_non_null(strstr(e.message, folder));
    assert_true(e.advice[0] != '\0');
    unlink(file);
    buffer_free(&path);
}

static void missing_library_names_the_places(void **state)
{
    buffer path = BUFFER_EMPTY;
    error e;

    (void)state;
    unsetenv("CLARINET_LIBRARY");
    assert_int_equal(library_find("libnobody.so", &path, &e), ERROR_NOT_FOUND);
    assert_non_null(strstr(e.message, "../lib/clarinet"));
    buffer_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variable_may_name_the_file),
        cmocka_unit_test(variable_may_name_the_folder),
        cmocka_unit_test(missing_library_names_the_places),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
