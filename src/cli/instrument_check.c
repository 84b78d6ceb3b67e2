/*
 * instrument_check: see instrument_check.h. Matching is rules/points, and whether a method can
 * carry the code is rules/shape: both are the agent's own.
 */
#include "cli/instrument_check.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "cil/body.h"
#include "cli/cli.h"
#include "metadata/assembly.h"
#include "rules/points.h"
#include "rules/shape.h"

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

/* ---- one method ---- */

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

static bool is_value_type(const assembly *a, uint32_t type_row)
{
    uint32_t extends =
        metadata_token(&a->tables, METADATA_TYPE_DEF, type_row, METADATA_TYPE_DEF_EXTENDS);
    buffer name = BUFFER_EMPTY;
    bool is_value;

    if (extends != 0)
        assembly_type_name(a, extends, &name);
    is_value = text_equal(buffer_text(&name), "System.ValueType") ||
               text_equal(buffer_text(&name), "System.Enum");
    buffer_free(&name);
    return is_value;
}

/* Why the agent leaves the method alone; nothing when it does not. */
static void append_refusal(const assembly *a, uint32_t row, const char *name,
                           const cil_signature *signature, buffer *out)
{
    const metadata *m = &a->tables;
    uint32_t type = assembly_method_type(a, row);
    shape s = {name,
               metadata_cell(m, METADATA_METHOD_DEF, row, METADATA_METHOD_FLAGS),
               metadata_cell(m, METADATA_METHOD_DEF, row, METADATA_METHOD_IMPL_FLAGS),
               metadata_cell(m, METADATA_TYPE_DEF, type, METADATA_TYPE_DEF_FLAGS),
               is_value_type(a, type),
               signature};
    const char *refusal = shape_without_code(&s);
    pe_span code;
    cil_body body;
    error e;

    if (refusal == NULL)
        refusal = shape_refusal(&s);
    if (refusal != NULL) {
        buffer_append_text(out, refusal);
        return;
    }
    error_clear(&e);
    cil_body_init(&body);
    code = assembly_body(a, row);
    if (code.data == NULL)
        buffer_append_text(out, "it has no code");
    else if (cil_decode(&body, code.data, code.length, &e) != 0)
        buffer_append_text(out, e.message);
    else if (shape_body_refusal(&body) != NULL)
        buffer_append_text(out, shape_body_refusal(&body));
    cil_body_free(&body);
}

typedef struct {
    size_t carried; /* methods that would be instrumented */
    size_t refused;
    buffer reason; /* of the first that is refused */
} matches;

static void look_at_method(const assembly *a, const points *set, const point *p, version v,
                           uint32_t row, const char *name, matches *found)
{
    metadata_span span = assembly_signature(a, (uint32_t)METADATA_METHOD_DEF << 24 | row);
    cil_type_namer full = assembly_namer(a, false);
    cil_type_namer inner = {name_inner_type, (void *)(uintptr_t)a, false};
    buffer type = BUFFER_EMPTY;
    buffer parameters = BUFFER_EMPTY;
    buffer alternative = BUFFER_EMPTY;
    buffer reason = BUFFER_EMPTY;
    cil_signature s;

    cil_signature_init(&s);
    assembly_type_name(a, (uint32_t)METADATA_TYPE_DEF << 24 | assembly_method_type(a, row), &type);
    if (cil_signature_read(&s, span.data, span.length, NULL) == 0) {
        cil_signature_parameters_text(&s, &full, &parameters);
        cil_signature_parameters_text(&s, &inner, &alternative);
        if (points_find(set, p->shim, assembly_name(a), v, buffer_text(&type), name,
                        buffer_text(&parameters), buffer_text(&alternative)) == p) {
            append_refusal(a, row, name, &s, &reason);
            if (reason.length == 0)
                found->carried++;
            else if (found->refused++ == 0)
                buffer_format(&found->reason, "%s.%s(%s): %s", buffer_text(&type), name,
                              buffer_text(&parameters), buffer_text(&reason));
        }
    }
    cil_signature_free(&s);
    buffer_free(&type);
    buffer_free(&parameters);
    buffer_free(&alternative);
    buffer_free(&reason);
}

/* ---- one point ---- */

/* The methods of the assembly that a point names. */
static void find_matches(const assembly *a, const points *set, const point *p, matches *found)
{
    const metadata *m = &a->tables;
    version v = {{0, 0, 0, 0}};

    for (int i = 0; i < 4; i++)
        v.part[i] = (uint16_t)metadata_cell(m, METADATA_ASSEMBLY, 1, (unsigned)(1 + i));
    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_METHOD_DEF); row++) {
        const char *name = metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);

        if (point_is_any(p->method) || strcmp(name, p->method) == 0)
            look_at_method(a, set, p, v, row, name, found);
    }
}

/* Is there a property of the name that the point takes for a method's? */
static bool is_property(const assembly *a, const char *name)
{
    const metadata *m = &a->tables;

    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_METHOD_DEF); row++) {
        const char *method =
            metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);

        if ((text_starts_with(method, "get_") || text_starts_with(method, "set_")) &&
            strcmp(method + 4, name) == 0)
            return true;
    }
    return false;
}

static void print_point(const point *p)
{
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
}

/* What becomes of the point in the assembly; true when it is of no use there. */
static bool print_matches(const assembly *a, const points *set, const point *p)
{
    matches found = {0, 0, BUFFER_EMPTY};
    bool useless;

    find_matches(a, set, p, &found);
    useless = found.carried == 0;
    if (!useless)
        printf("  %zu method%s", found.carried, found.carried == 1 ? "" : "s");
    if (found.refused != 0)
        printf("%s%zu LEFT ALONE: %s%s", useless ? "  " : ", ", found.refused,
               found.refused == 1 ? "" : "the first is ", buffer_text(&found.reason));
    else if (useless && !point_is_any(p->assembly))
        printf("  NEVER MATCHES in this assembly%s",
               is_property(a, p->method) ? ": properties are not instrumented" : "");
    buffer_free(&found.reason);
    return useless && !point_is_any(p->assembly);
}

/* Prints every point; returns how many are of no use. */
static size_t print_points(const points *set, const assembly *a)
{
    size_t useless = 0;

    for (size_t i = 0; i < points_count(set); i++) {
        const point *p = points_at(set, i);

        print_point(p);
        if (a != NULL && (point_is_any(p->assembly) || text_equal(p->assembly, assembly_name(a)))) {
            useless += print_matches(a, set, p);
        } else if (point_names_file(p)) {
            useless++;
            printf("  NEVER MATCHES: the name of a file, not of an assembly");
        }
        printf("\n");
    }
    return useless;
}

/* ---- a home folder ---- */

/* Reads and prints; *bad tells whether something is wrong with the folder. */
static int check_home(const home_folders *folders, const variables *environment, const assembly *a,
                      bool *bad, error *e)
{
    check_log log = {0, BUFFER_EMPTY};
    points_log to = {take_warning, &log};
    buffer agent = BUFFER_EMPTY;
    configuration settings;
    points *set = NULL;
    int code = home_read_configuration(folders, environment, &settings, e);

    if (code != 0)
        return code;
    for (size_t i = 0; i < settings.warnings.count; i++)
        take_warning(&log, false, settings.warnings.items[i]);
    code = home_read_points(folders, environment, &settings, NULL, 0, to, &set, e);
    if (code == 0) {
        *bad = points_invalid_files(set) != 0;
        if (points_need_agent(set) && home_find_agent(folders, &agent, e) != 0) {
            take_warning(&log, true, e->message);
            *bad = true;
        }
        if (home_check_shims(folders, buffer_text(&agent), set, to) != 0)
            *bad = true;
        if (print_points(set, a) != 0)
            *bad = true;
        printf("%zu instrumentation point%s, %zu invalid file%s\n", points_count(set),
               points_count(set) == 1 ? "" : "s", points_invalid_files(set),
               points_invalid_files(set) == 1 ? "" : "s");
        if (log.warnings != 0)
            printf("\n%zu warning%s:\n%s", log.warnings, log.warnings == 1 ? "" : "s",
                   buffer_text(&log.text));
    }
    points_free(set);
    configuration_free(&settings);
    buffer_free(&agent);
    buffer_free(&log.text);
    return code;
}

int instrument_check(int argc, char **argv, const home_files *files, const variables *environment)
{
    home_folders folders = {files, NULL, NULL, "", true};
    const char *file = NULL;
    buffer bytes = BUFFER_EMPTY;
    bool bad = false;
    assembly a;
    error e;
    int code = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--assembly") == 0 && i + 1 < argc)
            file = argv[++i];
        else if (strcmp(argv[i], "--assembly") == 0)
            code = error_set(&e, ERROR_USAGE, "--assembly needs a file");
        else if (folders.home == NULL && argv[i][0] != '-')
            folders.home = argv[i];
        else
            code = error_set(&e, ERROR_USAGE, "check does not know '%s'", argv[i]);
    }
    if (code == 0 && folders.home == NULL) {
        error_set(&e, ERROR_USAGE, "check needs the home folder of the instrumentation agent");
        code = error_advise(&e, "clarinet instrument check DIR [--assembly FILE]");
    }
    if (code == 0 && file != NULL) {
        code = os_read_file(file, 0, &bytes, &e);
        if (code == 0)
            code = assembly_open(&a, bytes.data, bytes.length, &e);
        if (code != 0)
            error_prefix(&e, "%s", file);
    }
    if (code == 0)
        code = check_home(&folders, environment, file != NULL ? &a : NULL, &bad, &e);
    buffer_free(&bytes);
    if (code != 0)
        return cli_fail(&e);
    return bad ? CLI_FAILED : CLI_DONE;
}
