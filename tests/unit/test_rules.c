/* The rules of the instrumentation agent against tests/cases: filter, XML, versions, points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "rules/attributes.h"
#include "rules/configuration.h"
#include "rules/filter.h"
#include "rules/points.h"
#include "rules/variables.h"
#include "rules/xml.h"
#include "support/cases.h"

static filter_names names_of(char *text, char **store)
{
    return (filter_names){(const char *const *)store, cases_cut(text, ",", store, 8)};
}

static void filter_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "filter.txt");
    while (cases_next(&c, lines, 2)) {
        filter_facts f = {.is_core_clr = true,
                          .process_path = "/usr/bin/app",
                          .parent_path = ".",
                          .command_line = "",
                          .pool = "",
                          .function_mode = true,
                          .agent_enabled = true,
                          .pool_default = true};
        char *stores[4][8];
        char *pieces[16];
        char answer[128];
        char shown[512];
        filter_decision d;
        size_t n;

        snprintf(shown, sizeof shown, "%s", lines[0]);
        n = strstr(lines[0], "| dotnet run") != NULL ? 1 : 0; /* a pipe sign inside a command */
        if (n == 1)
            pieces[0] = lines[0];
        else
            n = cases_cut(lines[0], " | ", pieces, 16);
        for (size_t i = 0; i < n; i++) {
            char *value = strchr(pieces[i], '=');

            assert_non_null(value);
            *value++ = '\0';
            if (strcmp(pieces[i], "cmd") == 0)
                f.command_line = value;
            else if (strcmp(pieces[i], "path") == 0)
                f.process_path = value;
            else if (strcmp(pieces[i], "parent") == 0)
                f.parent_path = value;
            else if (strcmp(pieces[i], "pool") == 0)
                f.pool = value;
            else if (strcmp(pieces[i], "runtime") == 0)
                f.is_core_clr = strcmp(value, "core") == 0;
            else if (strcmp(pieces[i], "force") == 0)
                f.forced = true;
            else if (strcmp(pieces[i], "disabled") == 0)
                f.agent_enabled = false;
            else if (strcmp(pieces[i], "local") == 0)
                f.local_agent_enabled = true;
            else if (strcmp(pieces[i], "app") == 0)
                f.application_set = true, f.application_enabled = strcmp(value, "true") == 0;
            else if (strcmp(pieces[i], "worker") == 0)
                f.worker_runtime = value;
            else if (strcmp(pieces[i], "nomode") == 0)
                f.function_mode = false;
            else if (strcmp(pieces[i], "default") == 0)
                f.pool_default = false;
            else if (strcmp(pieces[i], "exclude") == 0)
                f.excluded = names_of(value, stores[0]);
            else if (strcmp(pieces[i], "include") == 0)
                f.included = names_of(value, stores[1]);
            else if (strcmp(pieces[i], "deny") == 0)
                f.pools_denied = names_of(value, stores[2]);
            else if (strcmp(pieces[i], "allow") == 0)
                f.pools_allowed = names_of(value, stores[3]);
            else
                fail_msg("unknown key %s", pieces[i]);
        }
        d = filter_decide(&f);
        snprintf(answer, sizeof answer, "%s %s", d.instrument ? "yes" : "no", d.rule);
        if (strcmp(answer, lines[1]) != 0)
            fail_msg("%s: expected %s, got %s", shown, lines[1], answer);
        assert_true(strlen(d.reason) > 0);
        count++;
    }
    print_message("%zu filter cases\n", count);
    assert_true(count >= 80);
    cases_close(&c);
}

static void show_tree(buffer *out, const xml_element *element)
{
    for (const xml_element *e = element; e != NULL; e = e->next) {
        if (e != element)
            buffer_append_char(out, ' ');
        buffer_append_text(out, e->name);
        for (const xml_attribute *a = e->attributes; a != NULL; a = a->next)
            buffer_format(out, "%s%s=%s", a == e->attributes ? "[" : ",", a->name, a->value);
        if (e->attributes != NULL)
            buffer_append_char(out, ']');
        if (e->children != NULL) {
            buffer_append_char(out, '(');
            show_tree(out, e->children);
            buffer_append_char(out, ')');
        }
    }
}

static void unescape_lines(char *text)
{
    char *p;

    while ((p = strstr(text, "\\n")) != NULL) {
        *p = '\n';
        memmove(p + 1, p + 2, strlen(p + 2) + 1);
    }
}

static void xml_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "xml.txt");
    while (cases_next(&c, lines, 2)) {
        xml_document *document;
        error e;

        unescape_lines(lines[0]);
        if (lines[1][0] == '!') {
            unsigned line;
            unsigned column;
            int used;
            char place[64];

            assert_int_equal(sscanf(lines[1], "! %u:%u %n", &line, &column, &used), 2);
            assert_int_equal(xml_parse(lines[0], strlen(lines[0]), &document, &e), ERROR_CORRUPT);
            assert_null(document);
            snprintf(place, sizeof place, "line %u, column %u: ", line, column);
            if (!text_starts_with(e.message, place) || strstr(e.message, lines[1] + used) == NULL)
                fail_msg("%s: expected %s, got %s", lines[0], lines[1], e.message);
        } else {
            buffer tree = BUFFER_EMPTY;

            if (xml_parse(lines[0], strlen(lines[0]), &document, &e) != 0)
                fail_msg("%s: %s", lines[0], e.message);
            show_tree(&tree, xml_root(document));
            assert_string_equal(buffer_text(&tree), lines[1]);
            buffer_free(&tree);
            xml_free(document);
        }
        count++;
    }
    print_message("%zu XML cases\n", count);
    assert_true(count >= 35);
    cases_close(&c);
}

static void xml_accepts_mark_and_nothing_and_refuses_depth(void **state)
{
    xml_document *document;
    buffer deep = BUFFER_EMPTY;
    error e;

    (void)state;
    assert_int_equal(xml_parse("\xEF\xBB\xBF<a/>", 7, &document, &e), 0);
    assert_string_equal(xml_root(document)->name, "a");
    xml_free(document);
    assert_int_equal(xml_parse("  ", 2, &document, &e), 0);
    assert_null(xml_root(document));
    xml_free(document);
    for (int i = 0; i < 100000; i++)
        buffer_append_text(&deep, "<a>");
    assert_int_equal(xml_parse(deep.data, deep.length, &document, &e), ERROR_CORRUPT);
    assert_non_null(strstr(e.message, "too deeply"));
    buffer_free(&deep);
}

static void version_cases(void **state)
{
    cases c;
    char *lines[2];

    (void)state;
    cases_open(&c, "version.txt");
    while (cases_next(&c, lines, 2)) {
        char shown[64] = "none";
        version v;

        if (version_parse(lines[0], &v))
            snprintf(shown, sizeof shown, "%u.%u.%u.%u", v.part[0], v.part[1], v.part[2],
                     v.part[3]);
        if (strcmp(shown, lines[1]) != 0)
            fail_msg("\"%s\": expected %s, got %s", lines[0], lines[1], shown);
    }
    cases_close(&c);
}

static void show_point(buffer *out, const point *p)
{
    const char *factory = text_ends_with(p->factory, ".DefaultTracerFactory") ? "F" : p->factory;

    buffer_format(out, "%s%s|%s|%s|%s|0x%x|%s|%s", out->length == 0 ? "" : " ;; ", p->assembly,
                  p->class_name, p->method, p->parameters == NULL ? "-" : p->parameters,
                  p->arguments, factory, p->metric);
}

static void keep_sentence(void *context, bool is_error, const char *sentence)
{
    (void)is_error;
    snprintf(context, 1024, "%s", sentence);
}

static void json_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "points_json.txt");
    while (cases_next(&c, lines, 2)) {
        char said[1024] = "";
        buffer shown = BUFFER_EMPTY;
        points *set = points_new((points_log){keep_sentence, said});

        unescape_lines(lines[0]);
        assert_int_equal(points_add_file(set, "x.json", lines[0], strlen(lines[0]), NULL, NULL), 0);
        assert_int_equal(points_finish(set, NULL), 0);
        for (size_t i = 0; i < points_count(set); i++)
            show_point(&shown, points_at(set, i));
        if (points_invalid_files(set) != 0)
            buffer_format(&shown, "! %s", strstr(said, "line"));
        else if (points_count(set) == 0)
            buffer_append_text(&shown, "none");
        if (strcmp(buffer_text(&shown), lines[1]) != 0)
            fail_msg("%s: expected %s, got %s", lines[0], lines[1], buffer_text(&shown));
        points_free(set);
        buffer_free(&shown);
        count++;
    }
    print_message("%zu cases of points in JSON\n", count);
    assert_true(count >= 25);
    cases_close(&c);
}

static void shims_of_files(void **state)
{
    static const char FIRST[] =
        "<extension shim=\"one/A.dll\"><instrumentation><tracerFactory><match "
        "assemblyName=\"*\" className=\"c\"><exactMethodMatcher "
        "methodName=\"m\"/></match></tracerFactory></instrumentation>"
        "</extension>";
    static const char SAME[] = "{\"shim\": \"/x/one/A.dll\", \"points\": [{\"assembly\": \"a\", "
                               "\"class\": \"c\", \"method\": \"m\"}]}";
    char said[1024] = "";
    points *set = points_new((points_log){keep_sentence, said});
    version v = {{1, 0, 0, 0}};
    const points_shim *shim;

    (void)state;
    points_add_file(set, "/x/first.xml", FIRST, strlen(FIRST), NULL, NULL);
    points_add_file(set, "/x/y/same.json", SAME, strlen(SAME), NULL, NULL);
    for (int i = 1; i < POINTS_MOST_SHIMS; i++) { /* the last one is one too many */
        char text[128];
        int length =
            snprintf(text, sizeof text, "{\"shim\": \"C:\\\\n%d.dll\", \"points\": []}", i);

        assert_int_equal(points_invalid_files(set), 0);
        points_add_file(set, "/x/more.json", text, (size_t)length, NULL, NULL);
    }
    assert_int_equal(points_invalid_files(set), 1);
    assert_non_null(strstr(said, "there are already 8 shims"));
    assert_int_equal(points_finish(set, NULL), 0);
    assert_int_equal(points_shim_count(set), POINTS_MOST_SHIMS - 1);
    shim = points_shim_at(set, 0);
    assert_string_equal(shim->path, "/x/one/A.dll");
    assert_string_equal(shim->assembly, "A");
    assert_null(shim->type);
    assert_string_equal(points_shim_at(set, 1)->path, "C:\\n1.dll");
    assert_string_equal(points_shim_at(set, 1)->assembly, "n1");
    assert_ptr_equal(points_find(set, shim, "a", v, "c", "m", "", NULL), points_at(set, 1));
    assert_ptr_equal(points_find(set, shim, "b", v, "c", "m", "", NULL), points_at(set, 0));
    assert_null(points_find(set, NULL, "a", v, "c", "m", "", NULL));
    assert_null(points_find(set, shim, "A", v, "c", "m", "", NULL)); /* its own library */
    points_free(set);
}

static void point_cases(void **state)
{
    cases c;
    char *lines[2];

    (void)state;
    cases_open(&c, "points.txt");
    while (cases_next(&c, lines, 2)) {
        char *body = strstr(lines[0], "M(");
        bool with_parameters = body == NULL;
        buffer xml = BUFFER_EMPTY;
        buffer shown = BUFFER_EMPTY;
        points *set = points_new((points_log){NULL, NULL});
        char *comma;
        char *second;
        char shape[512];

        snprintf(shape, sizeof shape, "%s", lines[0]);
        if (with_parameters)
            body = strstr(lines[0], "P(");
        assert_non_null(body);
        *body = '\0';
        body += 2;
        body[strlen(body) - 1] = '\0';
        comma = strchr(body, ',');
        *comma++ = '\0';
        second = with_parameters ? strchr(comma, ',') : NULL;
        if (second != NULL)
            *second++ = '\0';
        buffer_format(&xml,
                      "<extension><instrumentation><tracerFactory %s><match assemblyName=\"%s\" "
                      "className=\"%s\"><exactMethodMatcher methodName=\"m\"",
                      lines[0], body, comma);
        if (second != NULL)
            buffer_format(&xml, " parameters=\"%s\"", second);
        buffer_append_text(&xml, "/></match></tracerFactory></instrumentation></extension>");
        assert_int_equal(points_add_file(set, "x.xml", xml.data, xml.length, NULL, NULL), 0);
        assert_int_equal(points_finish(set, NULL), 0);
        for (size_t i = 0; i < points_count(set); i++)
            show_point(&shown, points_at(set, i));
        if (points_invalid_files(set) != 0)
            buffer_append_text(&shown, "invalid");
        else if (points_count(set) == 0)
            buffer_append_text(&shown, "none");
        if (strcmp(buffer_text(&shown), lines[1]) != 0)
            fail_msg("%s: expected %s, got %s", shape, lines[1], buffer_text(&shown));
        points_free(set);
        buffer_free(&xml);
        buffer_free(&shown);
    }
    cases_close(&c);
}

static void lookup_cases(void **state)
{
    cases c;
    char *lines[3];

    (void)state;
    cases_open(&c, "lookup.txt");
    while (cases_next(&c, lines, 3)) {
        points *set = points_new((points_log){NULL, NULL});
        char *rows[8];
        char *f[8];
        char shape[512];
        const point *found;
        version v;
        size_t n;

        snprintf(shape, sizeof shape, "%s / %s", lines[0], lines[1]);
        n = cases_cut(lines[0], " ;; ", rows, 8);
        for (size_t i = 0; i < n; i++) {
            buffer xml = BUFFER_EMPTY;

            assert_int_equal(cases_cut(rows[i], "|", f, 8), 6);
            buffer_format(&xml,
                          "<extension><instrumentation><tracerFactory><match assemblyName='%s' "
                          "className='%s'",
                          f[0], f[1]);
            if (f[4][0] != '\0')
                buffer_format(&xml, " minVersion='%s'", f[4]);
            if (f[5][0] != '\0')
                buffer_format(&xml, " maxVersion='%s'", f[5]);
            buffer_format(&xml, "><exactMethodMatcher methodName='%s'", f[2]);
            if (strcmp(f[3], "-") != 0)
                buffer_format(&xml, " parameters='%s'", f[3]);
            buffer_append_text(&xml, "/></match></tracerFactory></instrumentation></extension>");
            assert_int_equal(points_add_file(set, "x.xml", xml.data, xml.length, NULL, NULL), 0);
            buffer_free(&xml);
        }
        assert_int_equal(points_finish(set, NULL), 0);
        assert_int_equal(cases_cut(lines[1], "|", f, 8), 5);
        assert_true(version_parse(f[1], &v));
        found = points_find(set, NULL, f[0], v, f[2], f[3], f[4], NULL);
        n = 0;
        for (size_t i = 0; i < points_count(set); i++) {
            if (points_at(set, i) == found)
                n = i + 1;
        }
        if (n != (size_t)atoi(lines[2]))
            fail_msg("%s: expected %s, got %zu", shape, lines[2], n);
        if (found != NULL) {
            assert_true(points_know_assembly(set, f[0]));
            assert_true(points_know_method(set, f[0], f[3]));
        }
        points_free(set);
    }
    cases_close(&c);
}

typedef struct {
    const char *const *pairs; /* name, value, …, NULL */
} fake_environment;

static const char *fake_get(void *context, const char *name)
{
    const fake_environment *f = context;

    for (size_t i = 0; f->pairs[i] != NULL; i += 2) {
        if (strcmp(f->pairs[i], name) == 0)
            return f->pairs[i + 1];
    }
    return NULL;
}

static void spellings_and_their_order(void **state)
{
    static const char *const PAIRS[] = {"NEWRELIC_LOG_LEVEL",
                                        "debug",
                                        "NEW_RELIC_LOG_LEVEL",
                                        "error",
                                        "CORECLR_NEWRELIC_HOME",
                                        "/old",
                                        "NEW_RELIC_LOG_CONSOLE",
                                        "TRUE",
                                        "NEW_RELIC_LOG_ENABLED",
                                        "yes",
                                        "NEW_RELIC_PROFILER_FORCE_PROFILING",
                                        "0",
                                        "APP_POOL_ID",
                                        "",
                                        "ASPNETCORE_IIS_APP_POOL_ID",
                                        "pool",
                                        NULL};
    fake_environment fake = {PAIRS};
    variables v = {fake_get, &fake, false};

    (void)state;
    assert_string_equal(variables_get(&v, VARIABLE_LOG_LEVEL), "error");
    assert_string_equal(variables_get(&v, VARIABLE_HOME), "/old");
    assert_non_null(variables_get(&v, VARIABLE_FORCE));
    assert_int_equal(variables_bool(&v, VARIABLE_LOG_CONSOLE), BOOL_TRUE);
    assert_int_equal(variables_bool(&v, VARIABLE_LOG_ENABLED), BOOL_UNSET);
    assert_string_equal(variables_get(&v, VARIABLE_POOL), "");
    v.empty_is_unset = true;
    assert_string_equal(variables_get(&v, VARIABLE_POOL), "pool");
}

static const char GLOBAL[] =
    "<configuration agentEnabled='true'><log level='finest' console='TRUE'/>"
    "<instrumentation><applications><application name='a'/><application name='b' include='False'/>"
    "<application/></applications><rules><ignore assemblyName='As' className='Cl'/>"
    "<ignore assemblyName='Whole'/><ignore className='dropped'/></rules></instrumentation>"
    "<applicationPools><defaultBehavior instrument='false'/>"
    "<applicationPool name='yes' instrument='true'/><applicationPool name='no' instrument='x'/>"
    "<applicationPool name='half'/></applicationPools></configuration>";

static configuration_file file_of(const char *text, const char *path)
{
    return (configuration_file){text, text == NULL ? 0 : strlen(text), path};
}

static int read_both(configuration *c, const char *global, const char *local,
                     const char *const *pairs, error *e)
{
    static const char *const NONE[] = {NULL};
    fake_environment fake = {pairs == NULL ? NONE : pairs};
    variables v = {fake_get, &fake, false};

    return configuration_read(c, file_of(global, "global"), file_of(local, "local"), &v, e);
}

static void configuration_reads_every_part(void **state)
{
    configuration c;
    error e;

    (void)state;
    assert_int_equal(read_both(&c, GLOBAL, NULL, NULL, &e), 0);
    assert_true(c.agent_enabled && !c.local_agent_enabled);
    assert_int_equal(c.level, LEVEL_TRACE);
    assert_true(c.console && c.log_enabled && !c.pool_default);
    assert_int_equal(c.included.count, 1);
    assert_string_equal(c.included.items[0], "a");
    assert_int_equal(c.excluded.count, 1);
    assert_string_equal(c.excluded.items[0], "b");
    assert_int_equal(c.pools_allowed.count, 1);
    assert_int_equal(c.pools_denied.count, 1);
    assert_int_equal(c.warnings.count, 1);
    assert_int_equal(c.ignored_count, 2);
    assert_true(configuration_is_ignored(&c, "as", "CL"));
    assert_false(configuration_is_ignored(&c, "as", "other"));
    assert_true(configuration_is_ignored(&c, "WHOLE", "x"));
    configuration_free(&c);
}

static void local_file_replaces_all_but_agent_enabled(void **state)
{
    configuration c;
    error e;

    (void)state;
    assert_int_equal(read_both(&c, GLOBAL, "<configuration agentEnabled='false'/>", NULL, &e), 0);
    assert_false(c.agent_enabled);
    assert_int_equal(c.level, LEVEL_INFO);
    assert_int_equal(c.included.count, 0);
    configuration_free(&c);
    assert_int_equal(read_both(&c, GLOBAL, "<broken", NULL, &e), 0);
    assert_int_equal(c.level, LEVEL_TRACE);
    assert_non_null(strstr(c.warnings.items[0], "local: line 1, column 1"));
    configuration_free(&c);
    assert_int_equal(read_both(&c, GLOBAL, "<other/>", NULL, &e), 0);
    assert_int_equal(c.level, LEVEL_TRACE);
    configuration_free(&c);
}

static void unusable_global_file_is_an_error(void **state)
{
    configuration c;
    error e;

    (void)state;
    assert_int_equal(read_both(&c, "<configuration", NULL, NULL, &e), ERROR_CORRUPT);
    assert_non_null(strstr(e.message, "global: line 1"));
    assert_int_equal(read_both(&c, "<x/>", NULL, NULL, &e), ERROR_CORRUPT);
}

static void environment_wins_over_the_file(void **state)
{
    static const char *const PAIRS[] = {"NEW_RELIC_LOG_LEVEL",
                                        "unknown",
                                        "NEW_RELIC_LOG_CONSOLE",
                                        "0",
                                        "NEW_RELIC_LOG_ENABLED",
                                        "false",
                                        "NEW_RELIC_INCLUDED_APPLICATION_NAMES",
                                        "x, y,",
                                        "NEW_RELIC_EXCLUDED_APPLICATION_NAMES",
                                        "",
                                        NULL};
    configuration c;
    error e;

    (void)state;
    assert_int_equal(read_both(&c, GLOBAL, NULL, PAIRS, &e), 0);
    assert_int_equal(c.level, LEVEL_INFO);
    assert_true(!c.console && !c.log_enabled);
    assert_int_equal(c.included.count, 2);
    assert_string_equal(c.included.items[1], " y");
    assert_int_equal(c.excluded.count, 0);
    configuration_free(&c);
}

static void application_file_may_set_the_agent(void **state)
{
    bool is_set;
    bool enabled;
    error e;

    (void)state;
    assert_int_equal(configuration_read_application(
                         file_of("<configuration><appSettings><add key='newrelic.agentenabled' "
                                 "value='True'/></appSettings></configuration>",
                                 "app"),
                         &is_set, &enabled, &e),
                     0);
    assert_true(is_set && enabled);
    assert_int_equal(
        configuration_read_application(file_of("<configuration/>", "app"), &is_set, &enabled, &e),
        0);
    assert_true(!is_set && !enabled);
    assert_int_equal(configuration_read_application(file_of("<a", "app"), &is_set, &enabled, &e),
                     ERROR_CORRUPT);
}

static void collect(void *context, bool is_error, const char *sentence)
{
    (void)is_error;
    buffer_format(context, "%s\n", sentence);
}

static void retired_broken_and_serverless_files(void **state)
{
    buffer log = BUFFER_EMPTY;
    points *set = points_new((points_log){collect, &log});
    error e;

    (void)state;
    points_add_file(set, "/x/newrelic.providers.wrapper.asp35.instrumentation.XML", "<", 1, NULL,
                    &e);
    assert_int_equal(points_invalid_files(set), 0);
    points_add_file(set, "/x/broken.xml", "<extension>\n <a b=>", 19, NULL, &e);
    assert_int_equal(points_invalid_files(set), 1);
    assert_non_null(strstr(buffer_text(&log), "/x/broken.xml is invalid and is skipped: line 2"));
    assert_int_equal(points_add_serverless(set, "only::two", &e), ERROR_USAGE);
    assert_int_equal(points_add_serverless(set, "a::b::c", &e), 0);
    assert_int_equal(points_add_serverless(set, "d::e::f", &e), 0);
    assert_int_equal(points_count(set), 1);
    assert_int_equal(points_at(set, 0)->arguments, 0);
    points_free(set);
    buffer_free(&log);
}

static void command_line_cases(void **state)
{
    cases c;
    char *lines[2];

    (void)state;
    cases_open(&c, "command_line.txt");
    while (cases_next(&c, lines, 2)) {
        char *arguments[8];
        buffer b = BUFFER_EMPTY;
        size_t n = cases_cut(lines[0], " ;; ", arguments, 8);

        buffer_append_char(&b, '[');
        filter_append_command_line(&b, (const char *const *)arguments, n);
        buffer_append_char(&b, ']');
        assert_string_equal(buffer_text(&b), lines[1]);
        buffer_free(&b);
    }
    cases_close(&c);
}

static void attribute_cases(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "attributes.txt");
    while (cases_next(&c, lines, 2)) {
        char *value = strchr(lines[0], ' ');
        char shown[32];

        assert_non_null(value);
        *value++ = '\0';
        if (strcmp(lines[0], "assembly") == 0) {
            assert_string_equal(attributes_are_searched(value) ? "searched" : "passed over",
                                lines[1]);
        } else {
            uint8_t bytes[32];
            size_t n = 0;

            for (char *end; *value != '-' && *value != '\0'; value = end) {
                bytes[n++] = (uint8_t)strtoul(value, &end, 16);
                while (*end == ' ')
                    end++;
            }
            snprintf(shown, sizeof shown, "0x%x",
                     attributes_transaction_bits(n == 0 ? NULL : bytes, n));
            assert_string_equal(shown, lines[1]);
        }
        count++;
    }
    assert_true(count >= 12);
    cases_close(&c);
}

static void pool_of_a_command_line(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    assert_true(filter_pool_of_command_line("w3wp.exe -ap \"Shop pool\" -v 4", &b));
    assert_string_equal(buffer_text(&b), "Shop pool");
    buffer_clear(&b);
    assert_true(filter_pool_of_command_line("w3wp.exe -AP shop", &b));
    assert_string_equal(buffer_text(&b), "shop");
    assert_false(filter_pool_of_command_line("w3wp.exe -ap", &b));
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_cases),
        cmocka_unit_test(xml_cases),
        cmocka_unit_test(xml_accepts_mark_and_nothing_and_refuses_depth),
        cmocka_unit_test(version_cases),
        cmocka_unit_test(point_cases),
        cmocka_unit_test(json_cases),
        cmocka_unit_test(shims_of_files),
        cmocka_unit_test(lookup_cases),
        cmocka_unit_test(spellings_and_their_order),
        cmocka_unit_test(configuration_reads_every_part),
        cmocka_unit_test(local_file_replaces_all_but_agent_enabled),
        cmocka_unit_test(unusable_global_file_is_an_error),
        cmocka_unit_test(environment_wins_over_the_file),
        cmocka_unit_test(application_file_may_set_the_agent),
        cmocka_unit_test(retired_broken_and_serverless_files),
        cmocka_unit_test(command_line_cases),
        cmocka_unit_test(attribute_cases),
        cmocka_unit_test(pool_of_a_command_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
