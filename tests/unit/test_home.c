/* Configuration, home folder and log of the instrumentation agent against tests/cases. */
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

#include "base/os.h"
#include "base/text.h"
#include "instrumentation/journal.h"
#include "rules/configuration.h"
#include "rules/home.h"
#include "rules/process.h"
#include "support/cases.h"

enum { MOST_FILES = 16, MOST_VARIABLES = 16 };

static const char *const LEVELS[] = {"Trace", "Debug", "Info", "Warn", "Error"};

/* ---- an environment and a file system of the case's own ---- */

typedef struct {
    char *names[MOST_VARIABLES];
    char *values[MOST_VARIABLES];
    size_t count;
} environment;

static const char *get(void *context, const char *name)
{
    environment *e = context;

    for (size_t i = 0; i < e->count; i++) {
        if (strcmp(e->names[i], name) == 0)
            return e->values[i];
    }
    return NULL;
}

/* "NAME=value NAME=value", in place. */
static void take_environment(environment *e, char *text)
{
    char *pieces[MOST_VARIABLES];
    size_t n = cases_cut(text, " ", pieces, MOST_VARIABLES);

    e->count = 0;
    for (size_t i = 0; i < n; i++) {
        char *equals = strchr(pieces[i], '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        e->names[e->count] = pieces[i];
        e->values[e->count++] = equals + 1;
    }
}

static struct {
    char *paths[MOST_FILES];
    char *contents[MOST_FILES];
    size_t count;
} disk;

static int find_file(const char *path)
{
    for (size_t i = 0; i < disk.count; i++) {
        if (strcmp(disk.paths[i], path) == 0)
            return (int)i;
    }
    return -1;
}

static bool file_exists(const char *path)
{
    return find_file(path) >= 0;
}

static void append_content(buffer *out, const char *content)
{
    char assembly[64];
    char name[64];
    char method[64];

    if (strcmp(content, "config") == 0)
        buffer_append_text(out, "<configuration/>");
    else if (sscanf(content, "{%63s %63s %63[^}]}", assembly, name, method) == 3)
        buffer_format(out,
                      "<extension><instrumentation><tracerFactory><match assemblyName='%s' "
                      "className='%s'><exactMethodMatcher methodName='%s'/></match></tracerFactory>"
                      "</instrumentation></extension>",
                      assembly, name, method);
    else
        buffer_append_text(out, content);
}

static int read_file(const char *path, buffer *out, error *e)
{
    int at = find_file(path);

    if (at < 0)
        return error_set(e, ERROR_NOT_FOUND, "%s does not exist", path);
    if (strcmp(disk.contents[at], "{unreadable}") == 0)
        return error_set(e, ERROR_IO, "%s can't be read", path);
    append_content(out, disk.contents[at]);
    return 0;
}

static bool list_folder(const char *path, void (*each)(void *context, const char *name),
                        void *context)
{
    size_t length = strlen(path);
    bool found = false;

    for (size_t i = 0; i < disk.count; i++) {
        if (strncmp(disk.paths[i], path, length) != 0 || disk.paths[i][length] != '/')
            continue;
        found = true;
        if (strchr(disk.paths[i] + length + 1, '/') == NULL)
            each(context, disk.paths[i] + length + 1);
    }
    return found;
}

static const home_files FILES = {file_exists, read_file, list_folder, '/'};

/* ---- configuration ---- */

/* `c` as an element's name becomes `configuration`. */
static void append_configuration(buffer *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        bool begins = *p == '<' && (p[1] == 'c' || p[1] == 'C');
        bool ends = *p == '<' && p[1] == '/' && p[2] == 'c';
        char next = begins ? p[2] : ends ? p[3] : 'x';

        if ((begins || ends) && (next == ' ' || next == '/' || next == '>' || next == '\0')) {
            buffer_append_text(out, begins ? (p[1] == 'C' ? "<CONFIGURATION" : "<configuration")
                                           : "</configuration");
            p += begins ? 1 : 2;
        } else {
            buffer_append_char(out, *p);
        }
    }
}

static void show_list(buffer *out, const char *name, const configuration_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        buffer_format(out, "%s%s%s%s", i == 0 ? " " : "", i == 0 ? name : "", i == 0 ? "=" : ",",
                      list->items[i]);
}

static void show_configuration(buffer *out, const configuration *c)
{
    buffer_append_text(out, c->agent_enabled ? "" : " enabled=no");
    buffer_append_text(out, c->local_agent_enabled ? " local=yes" : "");
    if (c->level != LEVEL_INFO)
        buffer_format(out, " level=%s", LEVELS[c->level]);
    buffer_append_text(out, c->console ? " console=yes" : "");
    buffer_append_text(out, c->log_enabled ? "" : " log=no");
    show_list(out, "include", &c->included);
    show_list(out, "exclude", &c->excluded);
    show_list(out, "allow", &c->pools_allowed);
    show_list(out, "deny", &c->pools_denied);
    buffer_append_text(out, c->pool_default ? "" : " default=no");
    for (size_t i = 0; i < c->ignored_count; i++)
        buffer_format(out, "%s%s%s%s", i == 0 ? " ignore=" : ",", c->ignored[i].assembly,
                      c->ignored[i].class_name == NULL ? "" : "/",
                      c->ignored[i].class_name == NULL ? "" : c->ignored[i].class_name);
    if (c->warnings.count != 0)
        buffer_format(out, " warnings=%zu", c->warnings.count);
}

static bool is_expected(const char *shown, const char *expected)
{
    if (text_starts_with(expected, "error "))
        return text_starts_with(shown, "error ") && strstr(shown, expected + 6) != NULL;
    return strcmp(shown, expected) == 0;
}

static void configuration_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "configuration.txt");
    while (cases_next(&c, lines, 2)) {
        char copy[1024];
        char *pieces[3];
        environment names;
        variables v = {get, &names, false};
        buffer global = BUFFER_EMPTY;
        buffer local = BUFFER_EMPTY;
        buffer shown = BUFFER_EMPTY;
        configuration read;
        error e;
        bool has_local;

        snprintf(copy, sizeof copy, "%s", lines[0]);
        assert_int_equal(cases_cut(lines[0], " ;; ", pieces, 3), 3);
        append_configuration(&global, pieces[0]);
        append_configuration(&local, pieces[1]);
        take_environment(&names, pieces[2]);
        has_local = strcmp(pieces[1], "-") != 0;
        error_clear(&e);
        if (configuration_read(
                &read, (configuration_file){buffer_text(&global), global.length, "global"},
                (configuration_file){has_local ? buffer_text(&local) : NULL, local.length, "local"},
                &v, &e) != 0) {
            buffer_format(&shown, " error %s", e.message);
        } else {
            show_configuration(&shown, &read);
            configuration_free(&read);
        }
        if (!is_expected(shown.length == 0 ? "same" : buffer_text(&shown) + 1, lines[1]))
            fail_msg("%s:\nexpected %s\ngot     %s", copy, lines[1], buffer_text(&shown));
        buffer_free(&global);
        buffer_free(&local);
        buffer_free(&shown);
        count++;
    }
    print_message("%zu configuration cases\n", count);
    assert_true(count >= 35);
    cases_close(&c);
}

/* ---- home ---- */

typedef struct {
    size_t warnings;
    size_t errors;
} said;

static void count_warning(void *context, bool is_error, const char *sentence)
{
    said *s = context;

    (void)sentence;
    s->warnings += !is_error;
    s->errors += is_error;
}

static int show_home(const home_folders *folders, const variables *v, buffer *out, error *e)
{
    configuration settings;
    buffer agent = BUFFER_EMPTY;
    said heard = {0, 0};
    points *set = NULL;
    int code = home_read_configuration(folders, v, &settings, e);

    if (code != 0)
        return code;
    code = home_read_points(folders, v, &settings, NULL, 0, (points_log){count_warning, &heard},
                            &set, e);
    if (code == 0) {
        home_check_shims(folders, NULL, set, (points_log){count_warning, &heard});
        if (home_find_agent(folders, &agent, NULL) == 0)
            buffer_append_text(out, buffer_text(&agent));
        else
            buffer_append_text(out, points_need_agent(set) ? "none" : "not needed");
        buffer_append_text(out, " |");
        for (size_t i = 0; i < points_count(set); i++) {
            const point *p = points_at(set, i);

            buffer_format(out, " %s.%s.%s", p->assembly, p->class_name, p->method);
        }
        buffer_format(out, " | %zu | %zu", points_invalid_files(set), heard.warnings);
        if (heard.errors != 0)
            buffer_format(out, " | %zu", heard.errors);
    }
    points_free(set);
    configuration_free(&settings);
    buffer_free(&agent);
    return code;
}

/* "path=content ;; path=content", in place. */
static void take_files(char *text)
{
    disk.count = cases_cut(text, " ;; ", disk.paths, MOST_FILES);
    for (size_t i = 0; i < disk.count; i++) {
        disk.contents[i] = strchr(disk.paths[i], '=');
        assert_non_null(disk.contents[i]);
        *disk.contents[i]++ = '\0';
    }
}

static void home_cases(void **state)
{
    cases c;
    char *lines[3];
    size_t count = 0;

    (void)state;
    cases_open(&c, "home.txt");
    while (cases_next(&c, lines, 3)) {
        char copy[1024];
        environment names;
        variables v = {get, &names, false};
        home_folders folders;
        buffer shown = BUFFER_EMPTY;
        error e;

        snprintf(copy, sizeof copy, "%s / %s", lines[0], lines[1]);
        take_files(lines[0]);
        take_environment(&names, lines[1]);
        error_clear(&e);
        home_find(&folders, &FILES, &v, get(&names, "runtime") == NULL);
        if (show_home(&folders, &v, &shown, &e) != 0)
            buffer_format(&shown, "error %s", e.message);
        if (!is_expected(buffer_text(&shown), lines[2]))
            fail_msg("%s:\nexpected %s\ngot      %s", copy, lines[2], buffer_text(&shown));
        buffer_free(&shown);
        count++;
    }
    print_message("%zu home cases\n", count);
    assert_true(count >= 30);
    cases_close(&c);
}

/* ---- a process ---- */

/* Facts as in filter.txt, of which this needs four. */
static bool take_process(process_facts *facts, char *text)
{
    char *pieces[4];
    size_t n = cases_cut(text, " | ", pieces, 4);
    bool is_core_clr = true;

    *facts = (process_facts){"/usr/bin/app", ".", ""};
    for (size_t i = 0; i < n; i++) {
        if (strncmp(pieces[i], "path=", 5) == 0)
            facts->path = pieces[i] + 5;
        else if (strncmp(pieces[i], "parent=", 7) == 0)
            facts->parent_path = pieces[i] + 7;
        else if (strncmp(pieces[i], "cmd=", 4) == 0)
            facts->command_line = pieces[i] + 4;
        else if (strcmp(pieces[i], "runtime=framework") == 0)
            is_core_clr = false;
        else
            fail_msg("unknown fact %s", pieces[i]);
    }
    return is_core_clr;
}

static void process_cases(void **state)
{
    cases c;
    char *lines[4];
    size_t count = 0;

    (void)state;
    cases_open(&c, "process.txt");
    while (cases_next(&c, lines, 4)) {
        char copy[1024];
        char answer[1024];
        environment names;
        variables v = {get, &names, false};
        configuration settings;
        filter_decision decision;
        process_facts facts;
        home_folders folders;
        error e;
        bool is_core_clr;

        snprintf(copy, sizeof copy, "%s / %s / %s", lines[0], lines[1], lines[2]);
        is_core_clr = take_process(&facts, lines[0]);
        take_files(lines[1]);
        take_environment(&names, lines[2]);
        error_clear(&e);
        home_find(&folders, &FILES, &v, is_core_clr);
        assert_int_equal(home_read_configuration(&folders, &v, &settings, &e), 0);
        if (process_decide(&facts, &folders, &v, &settings, &decision, &e) != 0)
            snprintf(answer, sizeof answer, "error %s", e.message);
        else
            snprintf(answer, sizeof answer, "%s %s", decision.instrument ? "yes" : "no",
                     decision.rule);
        if (!is_expected(answer, lines[3]))
            fail_msg("%s:\nexpected %s\ngot      %s", copy, lines[3], answer);
        configuration_free(&settings);
        count++;
    }
    print_message("%zu process cases\n", count);
    assert_true(count >= 20);
    cases_close(&c);
}

/* ---- log ---- */

static void journal_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "journal.txt");
    while (cases_next(&c, lines, 2)) {
        char *pieces[3];
        environment names;
        variables v = {get, &names, false};
        buffer path = BUFFER_EMPTY;
        bool has_home;

        assert_int_equal(cases_cut(lines[0], " | ", pieces, 3), 3);
        take_environment(&names, pieces[2]);
        has_home = strcmp(pieces[0], "-") != 0;
        if (!journal_append_path(&path, &v, has_home ? pieces[0] : NULL, 42, pieces[1][0]))
            buffer_append_text(&path, "none");
        assert_string_equal(buffer_text(&path), lines[1]);
        buffer_free(&path);
        count++;
    }
    print_message("%zu log cases\n", count);
    assert_true(count >= 12);
    cases_close(&c);
}

static void level_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "levels.txt");
    while (cases_next(&c, lines, 2)) {
        char *pieces[3];
        char copy[256];
        char shown[64];
        environment names;
        variables v = {get, &names, false};
        configuration settings = {.log_enabled = false}; /* no file is opened */
        journal j;

        snprintf(copy, sizeof copy, "%s", lines[0]);
        assert_int_equal(cases_cut(lines[0], " | ", pieces, 3), 3);
        for (int level = LEVEL_TRACE; level <= LEVEL_ERROR; level++) {
            if (text_equal_ignoring_case(pieces[0], LEVELS[level]))
                settings.level = level;
        }
        settings.console = strcmp(pieces[1], "console") == 0;
        take_environment(&names, pieces[2]);
        memset(&j, 0, sizeof j);
        journal_open(&j, &settings, &v, NULL);
        snprintf(shown, sizeof shown, "%s%s", LEVELS[journal_level(&j)],
                 journal_is_clamped(&j) ? " clamped" : "");
        if (strcmp(shown, lines[1]) != 0)
            fail_msg("%s: expected %s, got %s", copy, lines[1], shown);
        journal_close(&j);
        count++;
    }
    assert_true(count >= 12);
    cases_close(&c);
}

/* The log, the folder of the logs and the folder around it. */
static void remove_log(buffer *path, const char *folder)
{
    unlink(buffer_text(path));
    strrchr((char *)path->data, '/')[0] = '\0';
    rmdir(buffer_text(path));
    rmdir(folder);
    buffer_free(path);
}

/* 6.6: the console in the file's place, and back: a reload may ask for either. */
static void lines_go_where_the_settings_say(void **state)
{
    char folder[] = "/tmp/clarinet-journal-XXXXXX";
    configuration settings = {.level = LEVEL_INFO, .log_enabled = true, .console = true};
    environment names = {.count = 0};
    variables v = {get, &names, false};
    buffer path = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    journal j;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(journal_append_path(&path, &v, folder, (uint32_t)getpid(), '/'));
    memset(&j, 0, sizeof j);
    journal_write(&j, LEVEL_ERROR, "before it is open");
    journal_open(&j, &settings, &v, folder);
    assert_int_not_equal(access(buffer_text(&path), F_OK), 0); /* the console needs no file */
    settings.console = false;
    journal_configure(&j, &settings, &v, folder);
    journal_write(&j, LEVEL_INFO, "first");
    journal_write(&j, LEVEL_DEBUG, "too low");
    settings.log_enabled = false;
    journal_configure(&j, &settings, &v, folder);
    journal_write(&j, LEVEL_ERROR, "switched off");
    settings.log_enabled = true;
    journal_configure(&j, &settings, &v, folder);
    journal_write(&j, LEVEL_WARN, "second");
    journal_close(&j);
    journal_write(&j, LEVEL_ERROR, "after its end");
    assert_int_equal(os_read_file(buffer_text(&path), 0, &text, NULL), 0);
    assert_non_null(strstr(buffer_text(&text), " first\n[Warn ] "));
    assert_true(text_ends_with(buffer_text(&text), " second\n"));
    assert_null(strstr(buffer_text(&text), "off"));
    remove_log(&path, folder);
    buffer_free(&text);
}

/* 6.2: a line stays one line, whatever a file is called that it tells of. */
static void foreign_names_do_not_split_a_line(void **state)
{
    static const struct {
        const char *name;
        const char *shown;
    } CASES[] = {
        {"a\nb.xml", "a\\nb.xml"},
        {"a\r\n[Error] 2026-01-01 00:00:00 forged", "a\\r\\n[Error] 2026-01-01 00:00:00 forged"},
        {"tab\there", "tab\\there"},
        {"\x1b[31mred\x7f", "\\u001b[31mred\\u007f"},
        {"next\xc2\x85line", "next\\u0085line"},
        {"Grüße 日本 \\n", "Grüße 日本 \\n"},
        {"cut \xc2", "cut \xc2"},
        {"", ""},
    };
    char folder[] = "/tmp/clarinet-journal-XXXXXX";
    configuration settings = {.level = LEVEL_INFO, .log_enabled = true};
    environment names = {.count = 0};
    variables v = {get, &names, false};
    buffer path = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    buffer expected = BUFFER_EMPTY;
    char longest[3000];
    char *rest;
    journal j;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(journal_append_path(&path, &v, folder, (uint32_t)getpid(), '/'));
    memset(&j, 0, sizeof j);
    journal_open(&j, &settings, &v, folder);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        journal_write(&j, LEVEL_INFO, "<%s>", CASES[i].name);
    for (size_t length = 1; length < sizeof longest; length += 499) {
        memset(longest, '\x01', length);
        longest[length] = '\0';
        journal_write(&j, LEVEL_WARN, "%s", longest);
    }
    journal_close(&j);
    assert_int_equal(os_read_file(buffer_text(&path), 0, &text, NULL), 0);
    rest = (char *)text.data;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        buffer_clear(&expected);
        buffer_format(&expected, "<%s>", CASES[i].shown);
        assert_string_equal(strsep(&rest, "\n") + strlen("[Info ] 2026-01-01 00:00:00 "),
                            buffer_text(&expected));
    }
    for (size_t length = 1; length < sizeof longest; length += 499)
        assert_int_equal(strlen(strsep(&rest, "\n")), 28 + 6 * length);
    assert_string_equal(rest, "");
    remove_log(&path, folder);
    buffer_free(&text);
    buffer_free(&expected);
}

/* 6.5: console and Azure functions never log below Info; the level comes back with the console. */
static void levels_are_clamped_at_each_call(void **state)
{
    journal j;

    (void)state;
    memset(&j, 0, sizeof j);
    for (int level = LEVEL_TRACE; level <= LEVEL_ERROR; level++) {
        j.level = level;
        j.console = true;
        assert_int_equal(journal_level(&j), level < LEVEL_INFO ? LEVEL_INFO : level);
        assert_int_equal(journal_is_clamped(&j), level < LEVEL_INFO);
        j.console = false;
        assert_int_equal(journal_level(&j), level);
        j.is_function = true;
        assert_int_equal(journal_level(&j), level < LEVEL_INFO ? LEVEL_INFO : level);
        j.is_function = false;
        assert_int_equal(strlen(journal_level_name(level)), 5);
    }
}

/* Somebody made a pipe where a file is meant, and nobody writes into it. */
static void a_pipe_in_a_files_place_holds_nobody(void **state)
{
    char folder[] = "/tmp/clarinet-pipe-XXXXXX";
    char path[64];
    buffer text = BUFFER_EMPTY;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.xml", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(os_read_file(path, 0, &text, NULL), 0);
    assert_int_equal(text.length, 0);
    unlink(path);
    rmdir(folder);
    buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configuration_cases),
        cmocka_unit_test(home_cases),
        cmocka_unit_test(process_cases),
        cmocka_unit_test(a_pipe_in_a_files_place_holds_nobody),
        cmocka_unit_test(journal_cases),
        cmocka_unit_test(level_cases),
        cmocka_unit_test(lines_go_where_the_settings_say),
        cmocka_unit_test(foreign_names_do_not_split_a_line),
        cmocka_unit_test(levels_are_clamped_at_each_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
