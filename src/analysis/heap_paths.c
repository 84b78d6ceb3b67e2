/*
 * heap_paths: the shortest ways from roots, merged by type. Every object's way is its predecessor's
 * with one more step, so each object is looked at once, however long the ways are. Objects of one
 * type in a row (a linked list) make one step; a way of more than DEEPEST steps ends there.
 */
#include <string.h>

#include "base/array.h"
#include "analysis/heap.h"
#include "base/memory.h"

enum { DEEPEST = 64 };

typedef struct {
    const heap *h;
    heap_paths *paths;
    uint32_t *step_of; /* by node; 0 = not known yet */
    uint32_t *via;     /* by node: the place of the reference that its way takes */
    uint8_t *depths;   /* by step */
    size_t depth_capacity;
    table_text known; /* parent, type and root to step */
} work;

static uint32_t step_at(work *w, uint32_t parent, uint32_t type, uint32_t root, heap_field field)
{
    heap_paths *p = w->paths;
    uint32_t key[4] = {parent, type, root, field};
    uint64_t *at = table_text_at(&w->known, (const char *)key, sizeof key, p->count);

    if (at == NULL || (*at == p->count &&
                       (!array_reserve(&p->steps, &p->capacity, p->count + 1, sizeof *p->steps) ||
                        !array_reserve(&w->depths, &w->depth_capacity, p->count + 1, 1))))
        return 0;
    if (*at == p->count) {
        p->steps[p->count] =
            (heap_step){.parent = parent, .type = type, .root = root, .field = field};
        w->depths[p->count] = (uint8_t)(w->depths[parent] + 1);
        p->count++;
    }
    return (uint32_t)*at;
}

/* Roots of one meaning are one: the first root of that text is taken for all. */
static uint32_t same_root(work *w, table_text *texts, uint32_t node)
{
    buffer text = BUFFER_EMPTY;
    uint64_t root = 0;
    uint64_t *at;

    table_u64_get(&w->h->root_of, node, &root);
    heap_root_text(w->h, (uint32_t)root, &text);
    at = table_text_at(texts, buffer_text(&text), text.length, root);
    buffer_free(&text);
    return at == NULL ? (uint32_t)root : (uint32_t)*at;
}

/* The step of a node, and of all before it on its way. False without memory. */
static bool find_step(work *w, table_text *texts, uint32_t node, uint32_t *stack)
{
    const heap *h = w->h;
    size_t depth = 0;
    uint32_t at = node;

    while (at != 0 && w->step_of[at] == 0) {
        stack[depth++] = at;
        at = h->towards_root[at];
    }
    while (depth > 0) {
        uint32_t one = stack[--depth];
        uint32_t before = h->towards_root[one];
        uint32_t parent = before == 0 ? 0 : w->step_of[before];
        heap_field field = before == 0 ? 0 : heap_field_at(h, before, w->via[one]);
        uint64_t ignored;
        uint32_t step;

        if (before != 0 && w->paths->steps[parent].type == h->type[one]) {
            w->paths->steps[parent].repeated = true;
            w->paths->steps[parent].repeated_by = field;
            step = parent;
        } else if (w->depths[parent] >= DEEPEST) {
            step = parent;
        } else {
            step =
                step_at(w, parent, h->type[one], before == 0 ? same_root(w, texts, one) : 0, field);
        }
        if (step == 0)
            return false;
        if (step != parent && field == 0 &&
            table_u64_get(&h->dependents, (uint64_t)before << 32 | one, &ignored))
            w->paths->steps[step].is_dependent = true;
        w->step_of[one] = step;
    }
    return true;
}

/* Which reference each way takes: the first one that leads there. */
static void find_places(work *w)
{
    const heap *h = w->h;

    for (uint32_t node = 1; node < h->nodes; node++)
        for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++)
            if (h->towards_root[h->targets[k]] == node && w->via[h->targets[k]] == 0)
                w->via[h->targets[k]] = h->places[k];
}

static bool find_all(work *w, const uint8_t *wanted)
{
    const heap *h = w->h;
    uint32_t *stack = memory_allocate_array(h->nodes, sizeof *stack);
    table_text texts;
    bool good = stack != NULL;

    table_text_init(&texts);
    for (uint32_t node = 1; good && node < h->nodes; node++) {
        heap_step *step;

        if (!wanted[h->type[node]])
            continue;
        w->paths->objects++;
        w->paths->bytes += h->own[node];
        if (h->towards_root[node] == DOMINATORS_NONE) {
            w->paths->without_path++;
            w->paths->bytes_without_path += h->own[node];
            continue;
        }
        good = find_step(w, &texts, node, stack);
        if (!good)
            break;
        step = &w->paths->steps[w->step_of[node]];
        step->count++;
        step->bytes += h->own[node];
    }
    memory_free(stack);
    table_text_free(&texts);
    return good;
}

int heap_find_paths(const heap *h, const uint8_t *wanted, heap_paths *paths, error *e)
{
    work w = {.h = h, .paths = paths};
    bool good;

    memset(paths, 0, sizeof *paths);
    table_text_init(&w.known);
    w.step_of = memory_allocate_array(h->nodes, sizeof *w.step_of);
    w.via = memory_allocate_array(h->nodes, sizeof *w.via);
    good = w.step_of != NULL && w.via != NULL &&
           array_reserve(&paths->steps, &paths->capacity, 1, sizeof(heap_step)) &&
           array_reserve(&w.depths, &w.depth_capacity, 1, 1);
    if (good) {
        paths->count = 1;
        paths->steps[0].type = UINT32_MAX;
        find_places(&w);
        good = find_all(&w, wanted);
    }
    for (size_t i = paths->count; good && i-- > 1;) {
        heap_step *step = &paths->steps[i];

        step->below += step->count;
        step->bytes_below += step->bytes;
        paths->steps[step->parent].below += step->below;
        paths->steps[step->parent].bytes_below += step->bytes_below;
    }
    memory_free(w.step_of);
    memory_free(w.via);
    memory_free(w.depths);
    table_text_free(&w.known);
    if (good)
        return 0;
    heap_paths_free(paths);
    return error_set(e, ERROR_MEMORY, "no memory for the paths");
}

void heap_paths_free(heap_paths *paths)
{
    memory_free(paths->steps);
    memset(paths, 0, sizeof *paths);
}
