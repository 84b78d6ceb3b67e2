/*
 * points: see points.h. Points stand in one array in file order, then document order. Three indexes
 * lead there: by assembly, by assembly and method, and by all three names; each to the first point
 * of a chain in order. They keep no text of their own, because ten thousand points are read at a
 * program's start. points_file.c reads the files.
 */
#include "rules/points.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "rules/blocks.h"
#include "rules/points_build.h"

static const char ANY[] = "*";
enum { NO_POINT = 0 }; /* indexes keep the number + 1 */

/* What points are found by; what is not part of it is NULL. */
typedef struct {
    const char *assembly;
    const char *method;
    const char *class_name;
} key;

/* Open addressing, a power of two of places, at most half full. */
typedef struct {
    uint32_t *places;
    size_t size;
} point_index;

struct points {
    point *items;
    size_t count;
    size_t capacity;
    blocks texts;
    uint32_t *next;    /* number + 1 of the next point with the same three names */
    uint32_t *next_of; /* ... of the next point of the same assembly */
    point_index assemblies;
    point_index methods;
    point_index names;
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
    return blocks_take_text(&set->texts, text, length);
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

static uint64_t hash_key(const key *k)
{
    uint64_t hash = table_hash_bytes(k->assembly, strlen(k->assembly));

    if (k->method != NULL)
        hash = table_hash_u64(hash) ^ table_hash_bytes(k->method, strlen(k->method));
    if (k->class_name != NULL)
        hash = table_hash_u64(hash) ^ table_hash_bytes(k->class_name, strlen(k->class_name));
    return hash;
}

static bool has_key(const point *p, const key *k)
{
    return text_equal(p->assembly, k->assembly) &&
           (k->method == NULL || text_equal(p->method, k->method)) &&
           (k->class_name == NULL || text_equal(p->class_name, k->class_name));
}

/* Where the first point of a key stands, or would stand. */
static uint32_t *place_of(const points *set, const point_index *index, const key *k)
{
    size_t i = (size_t)hash_key(k) & (index->size - 1);

    while (index->places[i] != NO_POINT && !has_key(&set->items[index->places[i] - 1], k))
        i = (i + 1) & (index->size - 1);
    return &index->places[i];
}

static size_t look_up(const points *set, const point_index *index, const char *assembly,
                      const char *method, const char *class_name)
{
    key k = {assembly, method, class_name};

    return *place_of(set, index, &k);
}

static bool make_index(point_index *index, size_t count)
{
    index->size = 16;
    while (index->size < 2 * count)
        index->size *= 2;
    index->places = memory_allocate_array(index->size, sizeof *index->places);
    return index->places != NULL;
}

int points_finish(points *set, error *e)
{
    set->next = memory_allocate_array(set->count, sizeof *set->next);
    set->next_of = memory_allocate_array(set->count, sizeof *set->next_of);
    if (set->count >= UINT32_MAX || set->next == NULL || set->next_of == NULL ||
        !make_index(&set->assemblies, set->count) || !make_index(&set->methods, set->count) ||
        !make_index(&set->names, set->count))
        return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    for (size_t i = set->count; i-- > 0;) { /* backwards: chains end up in order */
        const point *p = &set->items[i];
        uint32_t number = (uint32_t)i + 1;
        uint32_t *of = place_of(set, &set->assemblies, &(key){p->assembly, NULL, NULL});
        uint32_t *first = place_of(set, &set->names, &(key){p->assembly, p->method, p->class_name});

        set->has_wildcards = set->has_wildcards || point_is_any(p->assembly) ||
                             point_is_any(p->class_name) || point_is_any(p->method);
        set->next_of[i] = *of;
        *of = number;
        set->next[i] = *first;
        *first = number;
        *place_of(set, &set->methods, &(key){p->assembly, p->method, NULL}) = number;
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
    return look_up(set, &set->assemblies, ANY, NULL, NULL);
}

bool points_know_assembly(const points *set, const char *assembly)
{
    return look_up(set, &set->assemblies, assembly, NULL, NULL) != NO_POINT ||
           first_for_any(set, assembly) != NO_POINT;
}

bool points_know_method(const points *set, const char *assembly, const char *method)
{
    if (look_up(set, &set->methods, assembly, method, NULL) != NO_POINT)
        return true;
    return set->has_wildcards && (look_up(set, &set->methods, assembly, ANY, NULL) != NO_POINT ||
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
    const point *found = find_overload(set, look_up(set, &set->names, assembly, method, class_name),
                                       shim, assembly_version, parameters, alternative);

    /* What is said exactly comes before what is said of all: assembly first, class last. */
    for (int any = 1; set->has_wildcards && found == NULL && any < 8; any++) {
        const char *a = (any & 4) != 0 ? ANY : assembly;
        const char *c = (any & 2) != 0 ? ANY : class_name;
        const char *m = (any & 1) != 0 ? ANY : method;

        if ((any & 4) == 0 || is_for_every_point(set, assembly))
            found = find_overload(set, look_up(set, &set->names, a, m, c), shim, assembly_version,
                                  parameters, alternative);
    }
    return found;
}

void points_each_of(const points *set, const char *assembly,
                    bool (*each)(void *context, const point *p), void *context)
{
    size_t index = look_up(set, &set->assemblies, assembly, NULL, NULL);

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
    blocks_free(&set->texts);
    memory_free(set->items);
    memory_free(set->next);
    memory_free(set->next_of);
    memory_free(set->assemblies.places);
    memory_free(set->methods.places);
    memory_free(set->names.places);
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
