/* heap_groups: see heap_groups.h. */
#include "analysis/heap_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

/* The namespace of a type's name. */
static void append_namespace(const char *name, buffer *out)
{
    size_t length = strcspn(name, "<[");
    size_t end = length;

    while (end > 0 && name[end - 1] != '.')
        end--;
    if (end > 1)
        buffer_append(out, name, end - 1);
    else if (length > 0 && name[0] >= 'a' && name[0] <= 'z')
        buffer_append_text(out, "System"); /* int, string, … */
}

/* The group of a class; UINT32_MAX without memory. */
static uint32_t group_of(const heap *h, const heap_class *class, heap_group_kind kind,
                         table_text *known, heap_groups *out)
{
    buffer name = BUFFER_EMPTY;
    uint64_t *at;
    uint32_t result = UINT32_MAX;

    if (kind == HEAP_GROUP_ASSEMBLY)
        buffer_append_text(&name, model_text(h->m, class->assembly));
    else
        append_namespace(heap_type_name(h, class->type), &name);
    at = table_text_at(known, buffer_text(&name), name.length, out->count);
    if (at != NULL && *at == out->count &&
        array_reserve(&out->items, &out->capacity, out->count + 1, sizeof *out->items)) {
        char *copy = memory_allocate(name.length + 1);

        if (copy != NULL) {
            memcpy(copy, buffer_text(&name), name.length + 1);
            out->items[out->count++].name = copy;
        }
    }
    if (at != NULL && *at < out->count)
        result = (uint32_t)*at;
    buffer_free(&name);
    return result;
}

typedef struct {
    const heap *h;
    const uint32_t *of_class;
} grouping;

static uint32_t group_of_node(const void *context, uint32_t node)
{
    const grouping *g = context;

    return g->of_class[g->h->snapshot->shapes[g->h->snapshot->shape_of[node - 1]].type];
}

typedef struct {
    heap_order order;
} sorting;

static int compare(const void *a, const void *b, void *context)
{
    const sorting *s = context;
    const heap_group *x = a, *y = b;
    uint64_t p = s->order == HEAP_BY_RETAINED ? x->retained
                 : s->order == HEAP_BY_BYTES  ? x->bytes
                                              : x->count;
    uint64_t q = s->order == HEAP_BY_RETAINED ? y->retained
                 : s->order == HEAP_BY_BYTES  ? y->bytes
                                              : y->count;

    return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

static bool find(const heap *h, heap_group_kind kind, uint32_t *of_class, heap_groups *out)
{
    grouping g = {h, of_class};
    uint64_t *retained;
    table_text known;
    bool good = true;

    table_text_init(&known);
    for (size_t i = 0; good && i < h->class_count; i++) {
        of_class[i] = group_of(h, &h->classes[i], kind, &known, out);
        good = of_class[i] != UINT32_MAX;
        if (good)
            out->items[of_class[i]].types++;
    }
    table_text_free(&known);
    for (uint32_t node = 1; good && node < h->nodes; node++) {
        heap_group *group = &out->items[group_of_node(&g, node)];

        group->count++;
        group->bytes += h->own[node];
    }
    retained = memory_allocate_array(out->count + 1, sizeof *retained);
    good =
        good && retained != NULL && heap_sum_retained(h, group_of_node, &g, out->count, retained);
    for (size_t i = 0; good && i < out->count; i++)
        out->items[i].retained = retained[i];
    memory_free(retained);
    return good;
}

int heap_find_groups(const heap *h, heap_group_kind kind, heap_order order, heap_groups *out,
                     error *e)
{
    uint32_t *of_class = memory_allocate_array(h->class_count + 1, sizeof *of_class);
    sorting s = {heap_is_quick(h) && order == HEAP_BY_RETAINED ? HEAP_BY_BYTES : order};
    bool good;

    memset(out, 0, sizeof *out);
    good = of_class != NULL && find(h, kind, of_class, out);
    memory_free(of_class);
    if (!good) {
        heap_groups_free(out);
        return error_set(e, ERROR_MEMORY, "no memory to analyse the snapshot");
    }
    if (out->count != 0)
        qsort_r(out->items, out->count, sizeof *out->items, compare, &s);
    return 0;
}

void heap_groups_free(heap_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        memory_free(groups->items[i].name);
    memory_free(groups->items);
    memset(groups, 0, sizeof *groups);
}
