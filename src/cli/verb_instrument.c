/*
 * clarinet instrument run|explain|check|compare: the companion of libclarinet_instrument.so. It
 * reads the same files with the same code and says what the agent would do.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/instrument_compare.h"
#include "cli/instrument_run.h"
#include "metadata/assembly.h"
#include "report/json.h"
#include "rules/home.h"
#include "rules/points.h"
#include "rules/process.h"

/* ---- files and variables of this machine ---- */

static bool file_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

static int read_file(const char *path, buffer *out, error *e)
{
    return os_read_file(path, 0, out, e);
}

static bool list_folder(const char *path, void (*each)(void *context, const char *name),
                        void *context)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    if (folder == NULL)
        return false;
    while ((entry = readdir(folder)) != NULL)
        each(context, entry->d_name);
    closedir(folder);
    return true;
}

static const home_files FILES = {file_exists, read_file, list_folder, '/'};

static const char *variable_value(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static const variables ENVIRONMENT = {variable_value, NULL, false};

/* ---- explain ---- */

/* The file that a shell would run for this word. */
static void append_program_path(buffer *out, const char *word)
{
    const char *path = getenv("PATH");
    char real[4096];
    buffer candidate = BUFFER_EMPTY;

    if (strchr(word, '/') != NULL || path == NULL) {
        buffer_append_text(out, realpath(word, real) != NULL ? real : word);
        return;
    }
    while (out->length == 0 && *path != '\0') {
        size_t length = strcspn(path, ":");

        buffer_clear(&candidate);
        buffer_append(&candidate, path, length);
        buffer_format(&candidate, "/%s", word);
        if (access(buffer_text(&candidate), X_OK) == 0 &&
            realpath(buffer_text(&candidate), real) != NULL)
            buffer_append_text(out, real);
        path += length + (path[length] == ':');
    }
    if (out->length == 0)
        buffer_append_text(out, word);
    buffer_free(&candidate);
}

static int decide(char **command, int count, const home_folders *folders,
                  const configuration *settings, filter_decision *decision, error *e)
{
    buffer path = BUFFER_EMPTY;
    buffer line = BUFFER_EMPTY;
    process_facts process;
    int code;

    append_program_path(&path, command[0]);
    filter_append_command_line(&line, (const char *const *)command, (size_t)count);
    process = (process_facts){buffer_text(&path), ".", buffer_text(&line)};
    code = process_decide(&process, folders, &ENVIRONMENT, settings, decision, e);
    buffer_free(&path);
    buffer_free(&line);
    return code;
}

static int explain(int argc, char **argv)
{
    home_folders folders;
    configuration settings;
    filter_decision decision;
    bool as_json = false;
    bool has_settings = false;
    int first = 1;
    error e;

    for (; first < argc && strcmp(argv[first], "--") != 0; first++) {
        if (strcmp(argv[first], "--json") != 0)
            break;
        as_json = true;
    }
    if (first >= argc || strcmp(argv[first], "--") != 0 || first + 1 >= argc) {
        error_set(&e, ERROR_USAGE, "explain needs a command");
        error_advise(&e, "clarinet instrument explain -- dotnet app.dll");
        return cli_fail(&e);
    }
    home_find(&folders, &FILES, &ENVIRONMENT, true);
    if (folders.home != NULL) {
        if (home_read_configuration(&folders, &ENVIRONMENT, &settings, &e) != 0)
            return cli_fail(&e);
        has_settings = true;
    }
    if (decide(argv + first + 1, argc - first - 1, &folders, has_settings ? &settings : NULL,
               &decision, &e) != 0)
        return cli_fail(&e);
    if (as_json) {
        sink out;
        json j;

        sink_init(&out, STDOUT_FILENO);
        json_init(&j, &out);
        json_begin_object(&j);
        json_put_bool(&j, "instrument", decision.instrument);
        json_put_text(&j, "rule", decision.rule);
        json_put_text(&j, "reason", decision.reason);
        json_end_object(&j);
        sink_text(&out, "\n");
        json_free(&j);
        sink_finish(&out, NULL);
        sink_free(&out);
    } else {
        printf("%s: %s (rule %s)\n",
               decision.instrument ? "would be instrumented" : "would not be instrumented",
               decision.reason, decision.rule);
        if (!has_settings)
            printf("no home folder is set: the lists of newrelic.config were not looked at\n");
    }
    if (has_settings)
        configuration_free(&settings);
    return CLI_DONE;
}

/* ---- check ---- */

typedef struct {
    size_t warnings;
    buffer text;
} check_log;

static void take_warning(void *context, bool is_error, const char *sentence)
{
    check_log *log = context;

    (void)is_error;
    log->warnings++;
    buffer_format(&log->text, "%s\n", sentence);
}

/* Nested types by their inner name only, as older files spell them. */
static void name_inner_type(void *context, uint32_t token, buffer *out)
{
    buffer name = BUFFER_EMPTY;
    const char *plus;

    assembly_type_name(context, token, &name);
    plus = strrchr(buffer_text(&name), '+');
    buffer_append_text(out, plus == NULL ? buffer_text(&name) : plus + 1);
    buffer_free(&name);
}

static void append_parameters(const assembly *a, uint32_t token, buffer *parameters,
                              buffer *alternative)
{
    cil_type_namer full = assembly_namer(a, false);
    cil_type_namer inner = {name_inner_type, (void *)(uintptr_t)a, false};
    metadata_span span = assembly_signature(a, token);
    cil_signature s;

    cil_signature_init(&s);
    if (cil_signature_read(&s, span.data, span.length, NULL) == 0) {
        cil_signature_parameters_text(&s, &full, parameters);
        cil_signature_parameters_text(&s, &inner, alternative);
    }
    cil_signature_free(&s);
}

/* How many methods of the assembly a point names; 0 = it would never match. */
static size_t count_matches(const assembly *a, const points *set, const point *p)
{
    const metadata *m = &a->tables;
    version v = {{0, 0, 0, 0}};
    size_t count = 0;

    for (int i = 0; i < 4; i++)
        v.part[i] = (uint16_t)metadata_cell(m, METADATA_ASSEMBLY, 1, (unsigned)(1 + i));
    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_METHOD_DEF); row++) {
        uint32_t token = (uint32_t)METADATA_METHOD_DEF << 24 | row;
        buffer type = BUFFER_EMPTY;
        buffer parameters = BUFFER_EMPTY;
        buffer alternative = BUFFER_EMPTY;

        const char *name = metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);

        if (!point_is_any(p->method) && strcmp(name, p->method) != 0)
            continue;
        assembly_type_name(a, (uint32_t)METADATA_TYPE_DEF << 24 | assembly_method_type(a, row),
                           &type);
        append_parameters(a, token, &parameters, &alternative);
        if (points_find(set, p->shim, assembly_name(a), v, buffer_text(&type), name,
                        buffer_text(&parameters), buffer_text(&alternative)) == p)
            count++;
        buffer_free(&type);
        buffer_free(&parameters);
        buffer_free(&alternative);
    }
    return count;
}

static size_t print_points(const points *set, const assembly *a)
{
    size_t unmatched = 0;

    for (size_t i = 0; i < points_count(set); i++) {
        const point *p = points_at(set, i);

        printf("[%s]%s::%s%s%s%s", p->assembly, p->class_name, p->method,
               p->parameters == NULL ? "" : "(", p->parameters == NULL ? "" : p->parameters,
               p->parameters == NULL ? "" : ")");
        if (p->has_minimum)
            printf(" from %u.%u.%u.%u", p->minimum.part[0], p->minimum.part[1], p->minimum.part[2],
                   p->minimum.part[3]);
        if (p->has_maximum)
            printf(" below %u.%u.%u.%u", p->maximum.part[0], p->maximum.part[1], p->maximum.part[2],
                   p->maximum.part[3]);
        printf("  0x%08x  %s:%u", p->arguments, p->file, p->line);
        if (p->shim != NULL)
            printf("  for %s", p->shim->assembly);
        if (a != NULL && text_equal(p->assembly, assembly_name(a))) {
            size_t count = count_matches(a, set, p);

            if (count == 0) {
                unmatched++;
                printf("  NEVER MATCHES in this assembly");
            } else {
                printf("  %zu method%s", count, count == 1 ? "" : "s");
            }
        }
        printf("\n");
    }
    return unmatched;
}

/* Reads and prints; *bad tells whether something is wrong with the folder. */
static int check_home(const char *home, const assembly *a, bool *bad, error *e)
{
    home_folders folders = {&FILES, home, NULL, "", true};
    check_log log = {0, BUFFER_EMPTY};
    buffer agent = BUFFER_EMPTY;
    configuration settings;
    points *set = NULL;
    size_t unmatched;
    int code = home_read_configuration(&folders, &ENVIRONMENT, &settings, e);

    if (code != 0)
        return code;
    for (size_t i = 0; i < settings.warnings.count; i++)
        take_warning(&log, false, settings.warnings.items[i]);
    code = home_read_points(&folders, &ENVIRONMENT, &settings, NULL, 0,
                            (points_log){take_warning, &log}, &set, e);
    if (code == 0 && points_need_agent(set) && home_find_agent(&folders, &agent, e) != 0)
        take_warning(&log, true, e->message);
    if (code == 0) {
        unmatched = print_points(set, a);
        printf("%zu instrumentation points, %zu invalid files\n", points_count(set),
               points_invalid_files(set));
        if (log.warnings != 0)
            printf("\n%zu warning%s:\n%s", log.warnings, log.warnings == 1 ? "" : "s",
                   buffer_text(&log.text));
        *bad = points_invalid_files(set) != 0 || unmatched != 0;
    }
    points_free(set);
    configuration_free(&settings);
    buffer_free(&agent);
    buffer_free(&log.text);
    return code;
}

static int check(int argc, char **argv)
{
    const char *home = NULL;
    const char *file = NULL;
    buffer bytes = BUFFER_EMPTY;
    bool bad = false;
    assembly a;
    error e;
    int code = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--assembly") == 0 && i + 1 < argc)
            file = argv[++i];
        else if (home == NULL && argv[i][0] != '-')
            home = argv[i];
        else
            code = error_set(&e, ERROR_USAGE, "check does not know '%s'", argv[i]);
    }
    if (code == 0 && home == NULL) {
        error_set(&e, ERROR_USAGE, "check needs the home folder of the instrumentation agent");
        code = error_advise(&e, "clarinet instrument check DIR [--assembly FILE]");
    }
    if (code == 0 && file != NULL) {
        code = os_read_file(file, 0, &bytes, &e);
        if (code == 0)
            code = assembly_open(&a, bytes.data, bytes.length, &e);
    }
    if (code == 0)
        code = check_home(home, file != NULL ? &a : NULL, &bad, &e);
    buffer_free(&bytes);
    if (code != 0)
        return cli_fail(&e);
    return bad ? CLI_FAILED : CLI_DONE;
}

int verb_instrument(int argc, char **argv)
{
    error e;

    if (argc >= 2 && strcmp(argv[1], "explain") == 0)
        return explain(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "check") == 0)
        return check(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "compare") == 0)
        return instrument_compare(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "run") == 0)
        return instrument_run(argc - 1, argv + 1, &FILES, &ENVIRONMENT);
    error_set(&e, ERROR_USAGE,
              argc < 2 ? "instrument needs to be told what to do"
                       : "instrument can run, explain, check and compare");
    error_advise(&e, "clarinet instrument --help");
    return cli_fail(&e);
}
