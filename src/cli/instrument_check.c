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
#include "cli/instrument_tails.h"
#include "metadata/assembly.h"
#include "rules/points.h"
#include "rules/shape.h"

typedef struct {
    size_t warnings;
    buffer text;
    bool has_error; /* among them */
} check_log;

static void take_warning(void *context, bool is_error, const char *sentence)
{
    check_log *log = context;

    log->has_error = log->has_error || is_error;
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

/* The assembly that points are held against. */
typedef struct {
    assembly file;
    tails *tails;
} checked;

typedef struct {
    size_t carried; /* methods that would be instrumented */
    size_t refused;
    buffer reason;      /* of the first that is refused */
    size_t by_tails;    /* of the refused, those that come back by `tail.` calls */
    buffer first_tails; /* and their first */
} matches;

/* Counts a method of the point. */
static void count_method(const checked *c, const point *p, uint32_t row, const char *type,
                         const char *parameters, buffer *reason, matches *found)
{
    const char *name =
        metadata_cell_string(&c->file.tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);
    bool by_tails =
        reason->length == 0 && tails_come_back(c->tails, (uint32_t)METADATA_METHOD_DEF << 24 | row,
                                               point_is_any(p->method));

    if (by_tails) {
        buffer_append_text(reason, TAILS_REFUSAL);
        if (found->by_tails++ == 0)
            buffer_format(&found->first_tails, "%s.%s(%s)", type, name, parameters);
    }
    if (reason->length == 0)
        found->carried++;
    else if (found->refused++ == 0)
        buffer_format(&found->reason, "%s.%s(%s): %s", type, name, parameters, buffer_text(reason));
}

static void look_at_method(const checked *c, const points *set, const point *p, version v,
                           uint32_t row, const char *name, matches *found)
{
    const assembly *a = &c->file;
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
    if (cil_signature_read_method(&s, span.data, span.length, NULL) == 0) {
        cil_signature_parameters_text(&s, &full, &parameters);
        cil_signature_parameters_text(&s, &inner, &alternative);
        if (points_find(set, p->shim, assembly_name(a), v, buffer_text(&type), name,
                        buffer_text(&parameters), buffer_text(&alternative)) == p) {
            append_refusal(a, row, name, &s, &reason);
            count_method(c, p, row, buffer_text(&type), buffer_text(&parameters), &reason, found);
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
static void find_matches(const checked *c, const points *set, const point *p, matches *found)
{
    const metadata *m = &c->file.tables;
    version v = {{0, 0, 0, 0}};

    for (int i = 0; i < 4; i++)
        v.part[i] = (uint16_t)metadata_cell(m, METADATA_ASSEMBLY, 1, (unsigned)(1 + i));
    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_METHOD_DEF); row++) {
        const char *name = metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);

        if (point_is_any(p->method) || strcmp(name, p->method) == 0)
            look_at_method(c, set, p, v, row, name, found);
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
static bool print_matches(const checked *c, const points *set, const point *p)
{
    matches found = {0, 0, BUFFER_EMPTY, 0, BUFFER_EMPTY};
    bool useless;

    find_matches(c, set, p, &found);
    useless = found.carried == 0;
    if (!useless)
        printf("  %zu method%s", found.carried, found.carried == 1 ? "" : "s");
    if (found.refused != 0)
        printf("%s%zu LEFT ALONE: %s%s", useless ? "  " : ", ", found.refused,
               found.refused == 1 ? "" : "the first is ", buffer_text(&found.reason));
    else if (useless && !point_is_any(p->assembly))
        printf("  NEVER MATCHES in this assembly%s",
               is_property(&c->file, p->method) ? ": properties are not instrumented" : "");
    if (found.by_tails != 0 && found.refused > 1)
        printf("; %zu of them for `tail.` calls that come back: %s%s", found.by_tails,
               found.by_tails == 1 ? "" : "the first is ", buffer_text(&found.first_tails));
    buffer_free(&found.reason);
    buffer_free(&found.first_tails);
    return useless && !point_is_any(p->assembly);
}

/* Prints every point; returns how many are of no use. */
static size_t print_points(const points *set, const checked *c)
{
    size_t useless = 0;

    for (size_t i = 0; i < points_count(set); i++) {
        const point *p = points_at(set, i);

        print_point(p);
        if (c != NULL &&
            (point_is_any(p->assembly) || text_equal(p->assembly, assembly_name(&c->file)))) {
            useless += print_matches(c, set, p);
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
static int check_home(const home_folders *folders, const variables *environment, const checked *c,
                      bool *bad, error *e)
{
    check_log log = {0, BUFFER_EMPTY, false};
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
        if (print_points(set, c) != 0 || log.has_error)
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
    checked c;
    error e;
    int code = 0;

    memset(&c, 0, sizeof c);
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
            code = assembly_open(&c.file, bytes.data, bytes.length, &e);
        if (code == 0 && (c.tails = instrument_tails_read(&c.file, &e)) == NULL)
            code = e.code;
        if (code != 0)
            error_prefix(&e, "%s", file);
    }
    if (code == 0)
        code = check_home(&folders, environment, file != NULL ? &c : NULL, &bad, &e);
    tails_free(c.tails);
    buffer_free(&bytes);
    if (code != 0)
        return cli_fail(&e);
    return bad ? CLI_FAILED : CLI_DONE;
}
