/*
 * points: see points.h. Points stand in one array in file order, then document order. Three tables
 * of text lead there: assembly, "assembly\nmethod", and "assembly\nmethod\nclass" whose value is
 * the first point of a chain (next[]) in order.
 */
#include "rules/points.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "rules/points_json.h"
#include "rules/xml.h"

static const char DEFAULT_FACTORY[] = "NewRelic.Agent.Core.Tracer.Factories.DefaultTracerFactory";
static const char LAMBDA_FACTORY[] = "NewRelic.Providers.Wrapper.AwsLambda.HandlerMethod";
static const char ANY[] = "*";
enum { NO_POINT = 0 }; /* tables keep index + 1 */

struct points {
    point *items;
    size_t count;
    size_t capacity;
    char **texts; /* owned by the set */
    size_t text_count;
    size_t text_capacity;
    size_t *next;    /* index + 1 of the next point with the same key */
    size_t *next_of; /* ... of the next point of the same assembly */
    table_text assemblies;
    table_text methods;
    table_text keys;
    bool has_wildcards;
    points_shim shims[POINTS_MOST_SHIMS - 1];
    size_t shim_count;
    size_t invalid_files;
    points_log log;
};

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

/* ---- building blocks ---- */

__attribute__((format(printf, 2, 3))) static void warn(points *set, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    if (set->log.write == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    set->log.write(set->log.context, text);
}

static const char *keep(points *set, const char *text, size_t length)
{
    char *copy;

    if (set->text_count == set->text_capacity) {
        size_t capacity = set->text_capacity == 0 ? 64 : set->text_capacity * 2;
        char **texts = memory_resize(set->texts, capacity * sizeof *texts);

        if (texts == NULL)
            return NULL;
        set->texts = texts;
        set->text_capacity = capacity;
    }
    copy = memory_copy_text_n(text, length);
    if (copy != NULL)
        set->texts[set->text_count++] = copy;
    return copy;
}

static point *add_point(points *set)
{
    point *p;

    if (set->count == set->capacity) {
        size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
        point *items = memory_resize(set->items, capacity * sizeof *items);

        if (items == NULL)
            return NULL;
        set->items = items;
        set->capacity = capacity;
    }
    p = &set->items[set->count];
    memset(p, 0, sizeof *p);
    return p;
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
    kept = buffer_failed(&clean) ? NULL : keep(set, buffer_text(&clean), clean.length);
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
        warn(l->set, "%s, line %u: %s \"%s\" is no version; there is no limit", l->path,
             match->line, name, text);
    else
        *has = !version_is_zero(*limit);
}

static int add_method(loader *l, const xml_element *match, const xml_element *matcher,
                      const char *assembly, const char *class_name)
{
    const char *method = xml_attribute_value(matcher, "methodName");
    const char *parameters = xml_attribute_value(matcher, "parameters");
    point *p;

    if (method == NULL) {
        warn(l->set, "%s, line %u: an exactMethodMatcher needs a methodName; it is skipped",
             l->path, matcher->line);
        return 0;
    }
    if (l->ignored != NULL && configuration_is_ignored(l->ignored, assembly, class_name))
        return 0;
    p = add_point(l->set);
    if (p != NULL) {
        p->assembly = keep(l->set, assembly, strlen(assembly));
        p->class_name = keep(l->set, class_name, strlen(class_name));
        p->method = keep(l->set, method, strlen(method));
        p->parameters = parameters == NULL ? NULL : keep_parameters(l->set, parameters);
        p->factory = l->factory;
        p->metric = l->metric;
        p->arguments = l->arguments;
        p->shim = l->shim;
        p->file = l->path;
        p->line = matcher->line;
        read_limit(l, match, "minVersion", &p->has_minimum, &p->minimum);
        read_limit(l, match, "maxVersion", &p->has_maximum, &p->maximum);
    }
    if (p == NULL || p->assembly == NULL || p->class_name == NULL || p->method == NULL ||
        (parameters != NULL && p->parameters == NULL))
        return error_set(l->error, ERROR_MEMORY, "no memory for instrumentation points");
    l->set->count++;
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
        warn(l->set, "%s, line %u: a match needs assemblyName and className; it is skipped",
             l->path, match->line);
        return 0;
    }
    if (text_equal(assembly, "mscorlib") || text_equal(assembly, "System.Private.CoreLib")) {
        warn(l->set, "%s, line %u: methods of %s can't be instrumented; the match is skipped",
             l->path, match->line, assembly);
        return 0;
    }
    while (code == 0) {
        size_t length = class_length(classes);
        char *name = memory_copy_text_n(classes, length);
        const xml_element *m = xml_find(match->children, "exactMethodMatcher");

        if (name == NULL)
            return error_set(l->error, ERROR_MEMORY, "no memory for instrumentation points");
        for (; m != NULL && code == 0; m = xml_find_next(m, "exactMethodMatcher"))
            code = add_method(l, match, m, assembly, name);
        memory_free(name);
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
        name = DEFAULT_FACTORY;
    l->factory = keep(l->set, name, strlen(name));
    l->metric = keep(l->set, metric == NULL ? "" : metric, metric == NULL ? 0 : strlen(metric));
    if (l->factory == NULL || l->metric == NULL)
        return error_set(l->error, ERROR_MEMORY, "no memory for instrumentation points");
    l->arguments = arguments_of(l, factory);
    if (l->number_failed) {
        warn(l->set, "%s, line %u: level and transactionNamingPriority must be numbers", l->path,
             factory->line);
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
    kept = buffer_failed(&whole) ? NULL : keep(set, buffer_text(&whole), whole.length);
    buffer_free(&whole);
    return kept;
}

static const char *keep_library_name(points *set, const char *path)
{
    size_t end = strlen(path);
    size_t begin = end;

    while (begin > 0 && path[begin - 1] != '/' && path[begin - 1] != '\\')
        begin--;
    if (text_ends_with(path, ".dll"))
        end -= 4;
    return keep(set, path + begin, end > begin ? end - begin : 0);
}

static bool is_same_type(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : text_equal(a, b);
}

/* ERROR_LIMIT: one too many. */
static int read_shim(loader *l, const xml_element *extension)
{
    const char *path = extension == NULL ? NULL : xml_attribute_value(extension, "shim");
    const char *type = path == NULL ? NULL : xml_attribute_value(extension, "shimType");
    points *set = l->set;
    points_shim *shim;

    if (path == NULL)
        return 0;
    path = keep_shim_path(set, l->path, path);
    if (path == NULL)
        return error_set(l->error, ERROR_MEMORY, "no memory for instrumentation points");
    for (size_t i = 0; i < set->shim_count; i++) {
        if (text_equal(set->shims[i].path, path) && is_same_type(set->shims[i].type, type)) {
            l->shim = &set->shims[i];
            return 0;
        }
    }
    if (set->shim_count == POINTS_MOST_SHIMS - 1)
        return ERROR_LIMIT;
    shim = &set->shims[set->shim_count];
    shim->path = path;
    shim->type = type == NULL ? NULL : keep(set, type, strlen(type));
    shim->assembly = keep_library_name(set, path);
    if ((type != NULL && shim->type == NULL) || shim->assembly == NULL)
        return error_set(l->error, ERROR_MEMORY, "no memory for instrumentation points");
    set->shim_count++;
    l->shim = shim;
    return 0;
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
        warn(set, "%s is retired and is skipped", path);
        return 0;
    }
    l.path = keep(set, path, strlen(path));
    if (l.path == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    code = text_ends_with(path, ".json") ? points_json_parse(bytes, length, &document, &problem)
                                         : xml_parse(bytes, length, &document, &problem);
    if (code == ERROR_MEMORY)
        return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    if (code != 0) {
        warn(set, "%s is invalid and is skipped: %s", path, problem.message);
        set->invalid_files++;
        return 0;
    }
    instrumentation = xml_path(xml_root(document), "extension", "instrumentation", NULL);
    if (instrumentation == NULL)
        warn(set, "%s has no extension/instrumentation element", path);
    factory = instrumentation == NULL ? NULL : xml_find(instrumentation->children, "tracerFactory");
    code = read_shim(&l, xml_path(xml_root(document), "extension", NULL));
    if (code == ERROR_LIMIT) {
        warn(set, "%s is invalid and is skipped: there are already %d shims", path,
             POINTS_MOST_SHIMS);
        set->invalid_files++;
        factory = NULL;
        code = 0;
    }
    for (; factory != NULL && code == 0 && !l.number_failed;
         factory = xml_find_next(factory, "tracerFactory"))
        code = add_factory(&l, factory);
    if (l.number_failed) {
        warn(set, "%s is invalid from there on", path);
        set->invalid_files++;
    }
    xml_free(document);
    return code;
}

int points_add_serverless(points *set, const char *handler, error *e)
{
    const char *second = strstr(handler, "::");
    const char *third = second == NULL ? NULL : strstr(second + 2, "::");
    point *p;

    for (size_t i = 0; i < set->count; i++) {
        if (text_equal(set->items[i].factory, LAMBDA_FACTORY))
            return 0;
    }
    if (third == NULL || strstr(third + 2, "::") != NULL) {
        warn(set, "\"%s\" is not of the form assembly::class::method", handler);
        return ERROR_USAGE;
    }
    p = add_point(set);
    if (p != NULL) {
        p->assembly = keep(set, handler, (size_t)(second - handler));
        p->class_name = keep(set, second + 2, (size_t)(third - second - 2));
        p->method = keep(set, third + 2, strlen(third + 2));
        p->factory = keep(set, LAMBDA_FACTORY, strlen(LAMBDA_FACTORY));
        p->metric = "";
        p->file = "(environment)";
    }
    if (p == NULL || p->assembly == NULL || p->class_name == NULL || p->method == NULL ||
        p->factory == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    set->count++;
    return 0;
}

/* ---- tables ---- */

/* "a\nb\nc" in a fixed buffer when it fits, else on the heap. */
static bool make_key(buffer *key, const char *a, const char *b, const char *c)
{
    buffer_append_text(key, a);
    if (b != NULL) {
        buffer_append_char(key, '\n');
        buffer_append_text(key, b);
    }
    if (c != NULL) {
        buffer_append_char(key, '\n');
        buffer_append_text(key, c);
    }
    return !buffer_failed(key);
}

static uint64_t look_up(const table_text *table, const char *a, const char *b, const char *c)
{
    char small[512];
    buffer key;
    uint64_t value = NO_POINT;

    buffer_fix(&key, small, sizeof small);
    if (!make_key(&key, a, b, c)) {
        buffer_init(&key);
        if (!make_key(&key, a, b, c)) {
            buffer_free(&key);
            return NO_POINT;
        }
    }
    table_text_get(table, buffer_text(&key), key.length, &value);
    buffer_free(&key);
    return value;
}

int points_finish(points *set, error *e)
{
    set->next = memory_allocate_array(set->count, sizeof *set->next);
    set->next_of = memory_allocate_array(set->count, sizeof *set->next_of);
    if (set->next == NULL || set->next_of == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    for (size_t i = set->count; i-- > 0;) { /* backwards: chains end up in order */
        const point *p = &set->items[i];
        buffer key = BUFFER_EMPTY;
        uint64_t *first = NULL;
        uint64_t *of = table_text_at(&set->assemblies, p->assembly, strlen(p->assembly), NO_POINT);
        bool stored = of != NULL && make_key(&key, p->assembly, p->method, NULL) &&
                      table_text_put(&set->methods, buffer_text(&key), key.length, 1);

        set->has_wildcards = set->has_wildcards || point_is_any(p->assembly) ||
                             point_is_any(p->class_name) || point_is_any(p->method);
        buffer_clear(&key);
        if (stored && make_key(&key, p->assembly, p->method, p->class_name))
            first = table_text_at(&set->keys, buffer_text(&key), key.length, NO_POINT);
        buffer_free(&key);
        if (first == NULL)
            return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
        set->next[i] = (size_t)*first;
        *first = i + 1;
        set->next_of[i] = (size_t)*of;
        *of = i + 1;
    }
    return 0;
}

/* Points for every assembly do not mean the ones that the injected code stands on. */
static bool is_for_every_point(const points *set, const char *assembly)
{
    for (size_t i = 0; i < set->shim_count; i++) {
        if (text_equal(set->shims[i].assembly, assembly))
            return false;
    }
    return !text_equal(assembly, "System.Private.CoreLib") && !text_equal(assembly, "mscorlib") &&
           !text_starts_with(assembly, "NewRelic.");
}

/* First point of all assemblies that also speaks for this one. */
static size_t first_for_any(const points *set, const char *assembly)
{
    if (!set->has_wildcards || !is_for_every_point(set, assembly))
        return NO_POINT;
    return (size_t)look_up(&set->assemblies, ANY, NULL, NULL);
}

bool points_know_assembly(const points *set, const char *assembly)
{
    return look_up(&set->assemblies, assembly, NULL, NULL) != NO_POINT ||
           first_for_any(set, assembly) != NO_POINT;
}

bool points_know_method(const points *set, const char *assembly, const char *method)
{
    if (look_up(&set->methods, assembly, method, NULL) != NO_POINT)
        return true;
    return set->has_wildcards && (look_up(&set->methods, assembly, ANY, NULL) != NO_POINT ||
                                  first_for_any(set, assembly) != NO_POINT);
}

static bool is_inside_limits(const point *p, version v)
{
    return (!p->has_minimum || version_compare(v, p->minimum) >= 0) &&
           (!p->has_maximum || version_compare(v, p->maximum) < 0);
}

/* Among the points of one key. */
static const point *find_overload(const points *set, size_t index, const points_shim *shim,
                                  version assembly_version, const char *parameters,
                                  const char *alternative)
{
    const point *any_overload = NULL;

    for (; index != NO_POINT; index = set->next[index - 1]) {
        const point *p = &set->items[index - 1];

        if (p->shim != shim || !is_inside_limits(p, assembly_version))
            continue;
        if (p->parameters == NULL) {
            if (any_overload == NULL)
                any_overload = p;
        } else if (text_equal(p->parameters, parameters) ||
                   (alternative != NULL && text_equal(p->parameters, alternative))) {
            return p;
        }
    }
    return any_overload;
}

const point *points_find(const points *set, const points_shim *shim, const char *assembly,
                         version assembly_version, const char *class_name, const char *method,
                         const char *parameters, const char *alternative)
{
    const point *found =
        find_overload(set, (size_t)look_up(&set->keys, assembly, method, class_name), shim,
                      assembly_version, parameters, alternative);

    /* What is said exactly comes before what is said of all: assembly first, class last. */
    for (int any = 1; set->has_wildcards && found == NULL && any < 8; any++) {
        const char *a = (any & 4) != 0 ? ANY : assembly;
        const char *c = (any & 2) != 0 ? ANY : class_name;
        const char *m = (any & 1) != 0 ? ANY : method;

        if ((any & 4) == 0 || is_for_every_point(set, assembly))
            found = find_overload(set, (size_t)look_up(&set->keys, a, m, c), shim, assembly_version,
                                  parameters, alternative);
    }
    return found;
}

void points_each_of(const points *set, const char *assembly,
                    bool (*each)(void *context, const point *p), void *context)
{
    size_t index = (size_t)look_up(&set->assemblies, assembly, NULL, NULL);

    for (; index != NO_POINT; index = set->next_of[index - 1]) {
        if (!each(context, &set->items[index - 1]))
            return;
    }
    for (index = first_for_any(set, assembly); index != NO_POINT; index = set->next_of[index - 1]) {
        if (!each(context, &set->items[index - 1]))
            return;
    }
}

bool point_is_any(const char *name)
{
    return text_equal(name, ANY);
}

/* ---- life ---- */

points *points_new(points_log log)
{
    points *set = memory_allocate_array(1, sizeof *set);

    if (set != NULL)
        set->log = log;
    return set;
}

void points_free(points *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->text_count; i++)
        memory_free(set->texts[i]);
    memory_free(set->texts);
    memory_free(set->items);
    memory_free(set->next);
    memory_free(set->next_of);
    table_text_free(&set->assemblies);
    table_text_free(&set->methods);
    table_text_free(&set->keys);
    memory_free(set);
}

size_t points_count(const points *set)
{
    return set->count;
}

const point *points_at(const points *set, size_t index)
{
    return &set->items[index];
}

size_t points_shim_count(const points *set)
{
    return set->shim_count;
}

const points_shim *points_shim_at(const points *set, size_t index)
{
    return &set->shims[index];
}

size_t points_invalid_files(const points *set)
{
    return set->invalid_files;
}
