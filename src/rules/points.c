/*
 * points: see points.h. Points stand in one array in file order, then document order. Three tables
 * of text lead there: assembly, "assembly\nmethod", and "assembly\nmethod\nclass" whose value is
 * the first point of a chain (next[]) in order. points_file.c reads the files.
 */
#include "rules/points.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "rules/points_build.h"

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

/* ---- filling ---- */

void points_warn(points *set, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    if (set->log.write == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    set->log.write(set->log.context, false, text);
}

const char *points_keep(points *set, const char *text, size_t length)
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

bool points_add(points *set, const point *p)
{
    if (p->assembly == NULL || p->class_name == NULL || p->method == NULL)
        return false;
    if (set->count == set->capacity) {
        size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
        point *items = memory_resize(set->items, capacity * sizeof *items);

        if (items == NULL)
            return false;
        set->items = items;
        set->capacity = capacity;
    }
    set->items[set->count++] = *p;
    return true;
}

void points_count_invalid(points *set)
{
    set->invalid_files++;
}

static const char *keep_library_name(points *set, const char *path)
{
    size_t end = strlen(path);
    size_t begin = end;

    while (begin > 0 && path[begin - 1] != '/' && path[begin - 1] != '\\')
        begin--;
    if (text_ends_with(path, ".dll"))
        end -= 4;
    return points_keep(set, path + begin, end > begin ? end - begin : 0);
}

bool points_same_shim(const points_shim *a, const points_shim *b)
{
    return text_equal(a->path, b->path) &&
           (a->type == NULL || b->type == NULL ? a->type == b->type : text_equal(a->type, b->type));
}

int points_add_shim(points *set, const char *path, const char *type, const points_shim **shim)
{
    points_shim wanted = {path, type, NULL};
    points_shim *made = &set->shims[set->shim_count];

    for (size_t i = 0; i < set->shim_count; i++) {
        *shim = &set->shims[i];
        if (points_same_shim(*shim, &wanted))
            return 0;
    }
    *shim = NULL;
    if (set->shim_count == POINTS_MOST_SHIMS - 1)
        return ERROR_LIMIT;
    made->path = path;
    made->type = type == NULL ? NULL : points_keep(set, type, strlen(type));
    made->assembly = keep_library_name(set, path);
    if ((type != NULL && made->type == NULL) || made->assembly == NULL)
        return ERROR_MEMORY;
    set->shim_count++;
    *shim = made;
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

bool point_names_file(const point *p)
{
    size_t length = strlen(p->assembly);
    const char *end = length > 4 ? p->assembly + length - 4 : "";

    return text_equal_ignoring_case(end, ".dll") || text_equal_ignoring_case(end, ".exe");
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

bool points_need_agent(const points *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i].shim == NULL)
            return true;
    }
    return set->count == 0;
}

size_t points_invalid_files(const points *set)
{
    return set->invalid_files;
}
