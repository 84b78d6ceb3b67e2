/*
 * points_file: what one extension file says, XML or JSON (which comes as the same tree). Points are
 * handed over in document order; everything of them is copied into the set.
 */
#include "rules/points_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "rules/points_json.h"
#include "rules/xml.h"

const char POINTS_DEFAULT_FACTORY[] = "NewRelic.Agent.Core.Tracer.Factories.DefaultTracerFactory";
static const char LAMBDA_FACTORY[] = "NewRelic.Providers.Wrapper.AwsLambda.HandlerMethod";

typedef struct {
    points *set;
    const char *path; /* owned by the set */
    const configuration *ignored;
    error *error;
    const char *factory;
    const char *metric;
    uint32_t arguments;
    const points_shim *shim;
    bool number_failed;
} loader;

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
}

static const char *keep_text(points *set, const char *text)
{
    return points_keep(set, text, strlen(text));
}

/* "void" and "" mean no parameters; white space never counts. */
static const char *keep_parameters(points *set, const char *text)
{
    buffer clean = BUFFER_EMPTY;
    const char *kept;

    for (const char *p = text; *p != '\0'; p++) {
        if (*p != ' ' && !(*p >= '\t' && *p <= '\r'))
            buffer_append_char(&clean, *p);
    }
    if (text_equal_ignoring_case(buffer_text(&clean), "void"))
        buffer_clear(&clean);
    kept = buffer_failed(&clean) ? NULL : points_keep(set, buffer_text(&clean), clean.length);
    buffer_free(&clean);
    return kept;
}

/* ---- the 32 tracer bits ---- */

/* A number as strtol reads it: blanks before and junk behind are allowed, no digit is not. */
static uint32_t number_of(loader *l, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text)
        l->number_failed = true;
    return (uint32_t)value;
}

static bool is_absent_or_true(const char *value)
{
    return value == NULL || text_equal_ignoring_case(value, "true");
}

static uint32_t arguments_of(loader *l, const xml_element *factory)
{
    const char *metric_name = xml_attribute_value(factory, "metricName");
    const char *metric = xml_attribute_value(factory, "metric");
    const char *level = xml_attribute_value(factory, "level");
    const char *priority = xml_attribute_value(factory, "transactionNamingPriority");
    uint32_t bits = 0;

    if (priority != NULL)
        bits |= (number_of(l, priority) & 7) << 24;
    if (level != NULL)
        bits |= (number_of(l, level) & 7) << 16;
    if (metric_name != NULL && text_equal_ignoring_case(metric_name, "instance"))
        bits |= 1u << 15;
    if (metric_name != NULL && metric_name[0] != '\0')
        bits |= 1u << 14;
    if (is_absent_or_true(xml_attribute_value(factory, "suppressRecursiveCalls")))
        bits |= 1u << 13;
    if (metric == NULL || text_equal_ignoring_case(metric, "scoped") ||
        text_equal_ignoring_case(metric, "both"))
        bits |= 1u << 12;
    if (metric != NULL &&
        (text_equal_ignoring_case(metric, "unscoped") || text_equal_ignoring_case(metric, "both")))
        bits |= 1u << 11;
    if (is_absent_or_true(xml_attribute_value(factory, "transactionTraceSegment")))
        bits |= 1u << 10;
    return bits;
}

/* ---- one file ---- */

static void read_limit(loader *l, const xml_element *match, const char *name, bool *has,
                       version *limit)
{
    const char *text = xml_attribute_value(match, name);

    *has = false;
    if (text == NULL)
        return;
    if (!version_parse(text, limit))
        points_warn(l->set, "%s, line %u: %s \"%s\" is no version; there is no limit", l->path,
                    match->line, name, text);
    else
        *has = !version_is_zero(*limit);
}

/* Both names are kept already. */
static int add_method(loader *l, const xml_element *match, const xml_element *matcher,
                      const char *assembly, const char *class_name)
{
    const char *method = xml_attribute_value(matcher, "methodName");
    const char *parameters = xml_attribute_value(matcher, "parameters");
    point p = {.assembly = assembly,
               .class_name = class_name,
               .factory = l->factory,
               .metric = l->metric,
               .arguments = l->arguments,
               .shim = l->shim,
               .file = l->path,
               .line = matcher->line};

    if (method == NULL) {
        points_warn(l->set, "%s, line %u: an exactMethodMatcher needs a methodName; it is skipped",
                    l->path, matcher->line);
        return 0;
    }
    if (l->ignored != NULL && configuration_is_ignored(l->ignored, assembly, class_name))
        return 0;
    p.method = keep_text(l->set, method);
    p.parameters = parameters == NULL ? NULL : keep_parameters(l->set, parameters);
    read_limit(l, match, "minVersion", &p.has_minimum, &p.minimum);
    read_limit(l, match, "maxVersion", &p.has_maximum, &p.maximum);
    if ((parameters != NULL && p.parameters == NULL) || !points_add(l->set, &p))
        return no_memory(l->error);
    return 0;
}

/* The length of the first class name: up to a comma outside of <…> and […]. */
static size_t class_length(const char *text)
{
    int depth = 0;
    size_t n = 0;

    for (; text[n] != '\0'; n++) {
        if (text[n] == '<' || text[n] == '[')
            depth++;
        else if ((text[n] == '>' || text[n] == ']') && depth > 0)
            depth--;
        else if (text[n] == ',' && depth == 0)
            break;
    }
    return n;
}

static int add_match(loader *l, const xml_element *match)
{
    const char *assembly = xml_attribute_value(match, "assemblyName");
    const char *classes = xml_attribute_value(match, "className");
    int code = 0;

    if (assembly == NULL || classes == NULL) {
        points_warn(l->set, "%s, line %u: a match needs assemblyName and className; it is skipped",
                    l->path, match->line);
        return 0;
    }
    if (text_equal(assembly, "mscorlib") || text_equal(assembly, "System.Private.CoreLib")) {
        points_warn(l->set,
                    "%s, line %u: methods of %s can't be instrumented; the match is skipped",
                    l->path, match->line, assembly);
        return 0;
    }
    assembly = keep_text(l->set, assembly);
    while (code == 0) {
        size_t length = class_length(classes);
        const char *name = points_keep(l->set, classes, length);
        const xml_element *m = xml_find(match->children, "exactMethodMatcher");

        if (name == NULL || assembly == NULL)
            return no_memory(l->error);
        for (; m != NULL && code == 0; m = xml_find_next(m, "exactMethodMatcher"))
            code = add_method(l, match, m, assembly, name);
        if (classes[length] == '\0')
            break;
        classes += length + 1;
    }
    return code;
}

static int add_factory(loader *l, const xml_element *factory)
{
    const char *enabled = xml_attribute_value(factory, "enabled");
    const char *name = xml_attribute_value(factory, "name");
    const char *metric = xml_attribute_value(factory, "metricName");
    const xml_element *match = xml_find(factory->children, "match");
    int code = 0;

    if (enabled != NULL && text_equal_ignoring_case(enabled, "false"))
        return 0;
    if (name == NULL || name[0] == '\0')
        name = POINTS_DEFAULT_FACTORY;
    l->factory = keep_text(l->set, name);
    l->metric = keep_text(l->set, metric == NULL ? "" : metric);
    if (l->factory == NULL || l->metric == NULL)
        return no_memory(l->error);
    l->arguments = arguments_of(l, factory);
    if (l->number_failed) {
        points_warn(l->set, "%s, line %u: level and transactionNamingPriority must be numbers",
                    l->path, factory->line);
        return 0;
    }
    for (; match != NULL && code == 0; match = xml_find_next(match, "match"))
        code = add_match(l, match);
    return code;
}

static bool is_retired(const char *path)
{
    static const char *const NAMES[] = {
        "NewRelic.Providers.Wrapper.Logging.Instrumentation.xml",
        "NewRelic.Providers.Wrapper.CastleMonoRail2.Instrumentation.xml",
        "NewRelic.Providers.Wrapper.Asp35.Instrumentation.xml"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        size_t length = strlen(NAMES[i]);
        size_t whole = strlen(path);

        for (size_t at = 0; at + length <= whole; at++) {
            char piece[96];

            memcpy(piece, path + at, length);
            piece[length] = '\0';
            if (text_equal_ignoring_case(piece, NAMES[i]))
                return true;
        }
    }
    return false;
}

/* ---- the shim of a file ---- */

/* A relative path begins at the file that says it. */
static const char *keep_shim_path(points *set, const char *file, const char *path)
{
    size_t folder = strlen(file);
    buffer whole = BUFFER_EMPTY;
    const char *kept;

    while (folder > 0 && file[folder - 1] != '/' && file[folder - 1] != '\\')
        folder--;
    if (path[0] != '/' && path[0] != '\\' && path[0] != '\0' && path[1] != ':')
        buffer_append(&whole, file, folder);
    buffer_append_text(&whole, path);
    kept = buffer_failed(&whole) ? NULL : points_keep(set, buffer_text(&whole), whole.length);
    buffer_free(&whole);
    return kept;
}

/* ERROR_LIMIT: one too many. */
static int read_shim(loader *l, const xml_element *extension)
{
    const char *path = extension == NULL ? NULL : xml_attribute_value(extension, "shim");
    int code;

    if (path == NULL)
        return 0;
    path = keep_shim_path(l->set, l->path, path);
    code = path == NULL ? ERROR_MEMORY
                        : points_add_shim(l->set, path, xml_attribute_value(extension, "shimType"),
                                          &l->shim);
    return code == ERROR_MEMORY ? no_memory(l->error) : code;
}

int points_add_file(points *set, const char *path, const void *bytes, size_t length,
                    const configuration *ignored, error *e)
{
    loader l = {set, NULL, ignored, e, NULL, NULL, 0, NULL, false};
    const xml_element *instrumentation;
    const xml_element *factory;
    xml_document *document;
    error problem;
    int code;

    if (is_retired(path)) {
        points_warn(set, "%s is retired and is skipped", path);
        return 0;
    }
    l.path = keep_text(set, path);
    if (l.path == NULL)
        return no_memory(e);
    code = text_ends_with(path, ".json") ? points_json_parse(bytes, length, &document, &problem)
                                         : xml_parse(bytes, length, &document, &problem);
    if (code == ERROR_MEMORY)
        return no_memory(e);
    if (code != 0) {
        points_warn(set, "%s is invalid and is skipped: %s", path, problem.message);
        points_count_invalid(set);
        return 0;
    }
    instrumentation = xml_path(xml_root(document), "extension", "instrumentation", NULL);
    if (instrumentation == NULL)
        points_warn(set, "%s has no extension/instrumentation element", path);
    factory = instrumentation == NULL ? NULL : xml_find(instrumentation->children, "tracerFactory");
    code = read_shim(&l, xml_path(xml_root(document), "extension", NULL));
    if (code == ERROR_LIMIT) {
        points_warn(set, "%s is invalid and is skipped: there are already %d shims", path,
                    POINTS_MOST_SHIMS);
        points_count_invalid(set);
        factory = NULL;
        code = 0;
    }
    for (; factory != NULL && code == 0 && !l.number_failed;
         factory = xml_find_next(factory, "tracerFactory"))
        code = add_factory(&l, factory);
    if (l.number_failed) {
        points_warn(set, "%s is invalid from there on", path);
        points_count_invalid(set);
    }
    xml_free(document);
    return code;
}

int points_add_serverless(points *set, const char *handler, error *e)
{
    const char *second = strstr(handler, "::");
    const char *third = second == NULL ? NULL : strstr(second + 2, "::");
    point p = {.factory = LAMBDA_FACTORY, .metric = "", .file = "(environment)"};

    for (size_t i = 0; i < points_count(set); i++) {
        if (text_equal(points_at(set, i)->factory, LAMBDA_FACTORY))
            return 0;
    }
    if (third == NULL || strstr(third + 2, "::") != NULL) {
        points_warn(set, "\"%s\" is not of the form assembly::class::method", handler);
        return ERROR_USAGE;
    }
    p.assembly = points_keep(set, handler, (size_t)(second - handler));
    p.class_name = points_keep(set, second + 2, (size_t)(third - second - 2));
    p.method = keep_text(set, third + 2);
    return points_add(set, &p) ? 0 : no_memory(e);
}
