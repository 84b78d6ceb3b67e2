/* heap: see heap.h. */
#include "analysis/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/heap_graph.h"
#include "analysis/heap_threads.h"
#include "analysis/room.h"
#include "base/memory.h"
#include "base/text.h"

enum { FROZEN = 5 }; /* generation */

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to analyse the snapshot");
}

const model_process *heap_find(const model *m)
{
    for (size_t i = 0; i < m->process_count; i++)
        if (m->processes[i].heap != NULL)
            return &m->processes[i];
    return NULL;
}

void heap_free(heap *h)
{
    memory_free(h->first);
    memory_free(h->targets);
    memory_free(h->places);
    memory_free(h->type);
    memory_free(h->own);
    memory_free(h->retained);
    memory_free(h->towards_root);
    memory_free(h->beginnings);
    dominators_free(&h->tree);
    table_u64_free(&h->root_of);
    table_u64_free(&h->dependents);
    table_u64_free(&h->functions);
    table_u64_free(&h->statics);
    table_u64_free(&h->fields);
    table_u64_free(&h->threads);
    memory_free(h->classes);
    memory_free(h->types);
    memory_free(h->holders);
    memory_free(h->roots);
    memset(h, 0, sizeof *h);
}

/* ---- names ---- */

static bool load_names(heap *h, const char *table, const char *key, const char *value,
                       table_u64 *names)
{
    const model_table *t = model_find_table(h->m, h->p, table, "heap");
    const model_column *keys = t == NULL ? NULL : model_find_column(h->m, t, key);
    const model_column *values = t == NULL ? NULL : model_find_column(h->m, t, value);

    for (size_t i = 0; keys != NULL && values != NULL && i < t->rows; i++) {
        uint64_t name = model_cell(values, i);

        if (values->type == RECORDING_METHOD_ID && values->u32 != NULL)
            name = h->p->methods[name].name;
        if (name != 0 && !table_u64_put(names, model_cell(keys, i), name))
            return false;
    }
    return true;
}

static uint32_t add_type(heap *h, table_u64 *by_name, uint32_t name)
{
    uint64_t *at = table_u64_at(by_name, name, h->type_count);

    if (at == NULL)
        return UINT32_MAX;
    if (*at == h->type_count) {
        if (!array_reserve(&h->types, &h->type_capacity, h->type_count + 1, sizeof *h->types))
            return UINT32_MAX;
        h->types[h->type_count++].name = name;
    }
    return (uint32_t)*at;
}

static uint64_t cell_of(const model_column *column, size_t row)
{
    return column == NULL ? 0 : model_cell(column, row);
}

/* Classes by their numbers; types of the same name are one. */
static bool load_types(heap *h)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_types", "heap");
    static const char *const NAMES[] = {"number",   "name",    "size", "flags",
                                        "assembly", "element", "data", "class"};
    const model_column *columns[8] = {0};
    table_u64 by_name;
    bool good;

    for (size_t i = 0; t != NULL && i < 8; i++)
        columns[i] = model_find_column(h->m, t, NAMES[i]);
    table_u64_init(&by_name);
    good =
        add_type(h, &by_name, 0) == 0 && /* what has no name */
        array_reserve(&h->classes, &h->class_capacity, t == NULL ? 1 : t->rows, sizeof *h->classes);
    h->class_count = good && t != NULL ? t->rows : 0;
    for (size_t i = 0; good && columns[0] != NULL && columns[1] != NULL && i < t->rows; i++) {
        uint64_t number = model_cell(columns[0], i);
        uint32_t type = add_type(h, &by_name,
                                 columns[1]->u32 == NULL ? 0 : (uint32_t)model_cell(columns[1], i));

        good = type != UINT32_MAX;
        if (good && number < h->class_count)
            h->classes[number] = (heap_class){.type = type,
                                              .size = cell_of(columns[2], i),
                                              .flags = (uint32_t)cell_of(columns[3], i),
                                              .assembly = (uint32_t)cell_of(columns[4], i),
                                              .element = (uint32_t)cell_of(columns[5], i),
                                              .data = (uint32_t)cell_of(columns[6], i),
                                              .id = cell_of(columns[7], i)};
    }
    table_u64_free(&by_name);
    return good;
}

static bool load_fields(heap *h)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_fields", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *place = t == NULL ? NULL : model_find_column(h->m, t, "place");
    const model_column *name = t == NULL ? NULL : model_find_column(h->m, t, "name");
    bool good = true;

    for (size_t i = 0; good && type != NULL && place != NULL && name != NULL && i < t->rows; i++)
        good = table_u64_put(&h->fields, model_cell(type, i) << 32 | (uint32_t)model_cell(place, i),
                             model_cell(name, i));
    return good;
}

uint64_t heap_object_size(const heap *h, size_t object)
{
    uint64_t size = h->snapshot->sizes[object];

    if (size == 0)
        size = heap_class_of(h, (uint32_t)object + 1)->size;
    return size < HEAP_LEAST_SIZE ? HEAP_LEAST_SIZE : size;
}

static void fill_objects(heap *h)
{
    const model_heap *s = h->snapshot;

    for (size_t i = 0; i < s->object_count; i++) {
        const heap_class *class = heap_class_of(h, (uint32_t)i + 1);
        uint64_t size = heap_object_size(h, i);
        heap_type *t = &h->types[class->type];

        h->type[i + 1] = class->type;
        h->own[i + 1] = size;
        t->count++;
        t->bytes += size;
        t->in_generation[s->generations[i]] += size;
        if (size > t->largest)
            t->largest = size;
        h->bytes += size;
        h->in_generation[s->generations[i]] += size;
    }
    h->objects = s->object_count;
}

/* ---- fields ---- */

const char *heap_generation_name(uint32_t generation)
{
    static const char *const NAMES[MODEL_HEAP_GENERATIONS] = {"gen0",   "gen1",   "gen2",   "large",
                                                              "pinned", "frozen", "unknown"};

    return generation < MODEL_HEAP_GENERATIONS ? NAMES[generation] : "";
}

const model_heap_valued *heap_values_of(const heap *h, uint32_t node)
{
    const model_heap *s = h->snapshot;
    size_t low = 0, high = s->valued_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->valued[middle].object < node - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->valued_count && s->valued[low].object == node - 1 ? &s->valued[low] : NULL;
}

bool heap_knows_places(const heap *h, uint32_t node)
{
    if ((h->snapshot->flags & RECORDING_HEAP_OUTSIDE) == 0 || h->first[node] == h->first[node + 1])
        return true;
    for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++)
        if (h->places[k] != 0)
            return true;
    return false;
}

heap_field heap_field_at(const heap *h, uint32_t node, uint32_t place)
{
    uint64_t number = h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type;
    const heap_class *class = &h->classes[number];
    uint64_t name = 0;

    if (place == 0 && (h->snapshot->flags & RECORDING_HEAP_OUTSIDE) != 0 &&
        (class->flags & RECORDING_TYPE_ARRAY) != 0)
        return HEAP_ELEMENT; /* the place is not known, but an array has nothing else */
    if (place == 0)
        return 0;
    if (class->element != 0) {
        uint32_t inside = place < class->data ? 0 : (place - class->data) % class->element;

        table_u64_get(&h->fields, number << 32 | inside, &name);
        return HEAP_ELEMENT | (uint32_t)name;
    }
    table_u64_get(&h->fields, number << 32 | place, &name);
    return (uint32_t)name;
}

void heap_field_text(const heap *h, heap_field field, buffer *out)
{
    const char *name = (field & ~HEAP_ELEMENT) == 0 ? "" : model_text(h->m, field & ~HEAP_ELEMENT);

    if ((field & HEAP_ELEMENT) != 0) /* of an inline array in it the element follows at once */
        buffer_append_text(out, name[0] == '\0' || name[0] == '[' ? "[]" : "[].");
    buffer_append_text(out, name);
}

/* ---- retained by type ---- */

/* Walks the dominator tree with a count of open groups: what an object retains counts for its group
 * unless another one of the group above it has counted it already. */
bool heap_sum_retained(const heap *h, heap_group_of *group_of, const void *context, size_t groups,
                       uint64_t *retained)
{
    uint32_t *child = memory_allocate_array(h->nodes, sizeof *child);
    uint32_t *sibling = memory_allocate_array(h->nodes, sizeof *sibling);
    uint32_t *open = memory_allocate_array(groups + 1, sizeof *open);
    uint32_t at = 0;
    bool good = child != NULL && sibling != NULL && open != NULL;

    for (uint32_t i = 1; good && i < h->tree.reached; i++) {
        uint32_t node = h->tree.order[i];

        sibling[node] = child[h->tree.dominator[node]];
        child[h->tree.dominator[node]] = node;
    }
    while (good) {
        if (child[at] != 0) {
            at = child[at];
        } else {
            while (at != 0 && sibling[at] == 0) {
                open[group_of(context, at)]--;
                at = h->tree.dominator[at];
            }
            if (at == 0)
                break;
            open[group_of(context, at)]--;
            at = sibling[at];
        }
        if (open[group_of(context, at)]++ == 0)
            retained[group_of(context, at)] += h->retained[at];
    }
    memory_free(child);
    memory_free(sibling);
    memory_free(open);
    return good;
}

static uint32_t type_of(const void *context, uint32_t node)
{
    return ((const heap *)context)->type[node];
}

static bool sum_types(heap *h)
{
    uint64_t *retained = memory_allocate_array(h->type_count + 1, sizeof *retained);
    bool good = retained != NULL && heap_sum_retained(h, type_of, h, h->type_count, retained);

    for (size_t i = 0; good && i < h->type_count; i++)
        h->types[i].retained = retained[i];
    memory_free(retained);
    return good;
}

/* ---- holders ---- */

static int compare_holders(const void *a, const void *b)
{
    const heap_holder *x = a, *y = b;

    if (x->retained != y->retained)
        return x->retained > y->retained ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

/* Roots that mean the same to a person are one: by kind and id, handles by kind alone. */
static uint64_t meaning_of(const heap *h, uint32_t root)
{
    const model_heap_root *r;

    if (root == HEAP_SEVERAL_ROOTS)
        return 0;
    r = &h->roots[root & ~HEAP_AND_STACKS];
    if (r->kind == RECORDING_ROOT_STATIC || r->kind == RECORDING_ROOT_STACK)
        return table_hash_u64(r->id) ^ r->kind ^ (root & HEAP_AND_STACKS);
    return (1 + (r->kind * 16 + (r->flags & 15)) * 2 + r->is_statics) ^ (root & HEAP_AND_STACKS);
}

uint32_t heap_holding_root(const heap *h, uint32_t node)
{
    uint64_t root = HEAP_SEVERAL_ROOTS;

    if (!table_u64_get(&h->root_of, node, &root) || h->towards_root[node] == 0)
        return (uint32_t)root;
    root = HEAP_SEVERAL_ROOTS;
    if (h->beginnings == NULL || !table_u64_get(&h->root_of, h->beginnings[node], &root))
        return HEAP_SEVERAL_ROOTS;
    return (uint32_t)root | HEAP_AND_STACKS;
}

/* Where the ways to what stacks hold too begin. Each node on them is passed once, however long they
 * are and however many share it. */
static bool find_beginnings(heap *h)
{
    for (uint32_t node = 1; node < h->nodes; node++) {
        uint32_t top = node, first;
        uint64_t ignored;

        if (h->tree.dominator[node] != 0 || h->towards_root[node] == 0 ||
            !table_u64_get(&h->root_of, node, &ignored))
            continue;
        if (h->beginnings == NULL)
            h->beginnings = memory_allocate_array(h->nodes, sizeof *h->beginnings);
        if (h->beginnings == NULL)
            return false;
        while (h->beginnings[top] == 0 && h->towards_root[top] != 0)
            top = h->towards_root[top];
        first = h->beginnings[top] != 0 ? h->beginnings[top] : top;
        for (uint32_t at = node; at != top; at = h->towards_root[at])
            h->beginnings[at] = first;
        h->beginnings[top] = first;
    }
    return true;
}

static bool find_holders(heap *h)
{
    table_u64 known;
    bool good = true;

    table_u64_init(&known);
    for (uint32_t node = 1; good && node < h->nodes; node++) {
        uint32_t root;
        uint64_t *at;

        if (h->tree.dominator[node] != 0)
            continue;
        root = heap_holding_root(h, node);
        at = table_u64_at(&known,
                          table_hash_u64(meaning_of(h, root)) ^ (uint64_t)h->type[node] << 17,
                          h->holder_count);
        good = at != NULL &&
               (*at < h->holder_count || array_reserve(&h->holders, &h->holder_capacity,
                                                       h->holder_count + 1, sizeof *h->holders));
        if (!good)
            break;
        if (*at == h->holder_count)
            h->holders[h->holder_count++] = (heap_holder){root, h->type[node], 0, 0};
        h->holders[*at].count++;
        h->holders[*at].retained += h->retained[node];
    }
    table_u64_free(&known);
    if (good && h->holder_count != 0)
        qsort(h->holders, h->holder_count, sizeof *h->holders, compare_holders);
    return good;
}

/* ---- all of it ---- */

/* What would be freed. Frozen objects never are, nor what they alone refer to: that is frozen. */
static void find_retained(heap *h)
{
    const model_heap *s = h->snapshot;

    for (size_t i = 0; i < s->object_count; i++)
        if (s->generations[i] == FROZEN)
            h->own[i + 1] = 0;
    dominators_retained(&h->tree, h->own, h->retained);
    for (size_t i = 0; i < s->object_count; i++)
        if (s->generations[i] == FROZEN)
            h->own[i + 1] = heap_object_size(h, i);
}

static int analyse(heap *h, error *e)
{
    dominators_graph graph = {h->nodes, h->first, h->targets};
    int code = dominators_compute(&graph, &h->tree, e); /* takes the most memory: goes first */

    if (code != 0)
        return code;
    h->type = memory_allocate_array(h->nodes, sizeof *h->type);
    h->own = memory_allocate_array(h->nodes, sizeof *h->own);
    h->retained = memory_allocate_array(h->nodes, sizeof *h->retained);
    h->towards_root = memory_allocate_array(h->nodes, sizeof *h->towards_root);
    if (h->type == NULL || h->own == NULL || h->retained == NULL || h->towards_root == NULL)
        return no_memory(e);
    fill_objects(h);
    find_retained(h);
    code = dominators_shortest(&graph, h->lasting, h->towards_root, e);
    if (code != 0)
        return code;
    for (uint32_t node = 1; node < h->nodes; node++) {
        if (h->tree.dominator[node] == DOMINATORS_NONE) {
            h->unreachable++;
            h->unreachable_bytes += h->own[node];
        }
    }
    return sum_types(h) && find_beginnings(h) && find_holders(h) ? 0 : no_memory(e);
}

/* Every object's type has its row. */
static int check_types(const heap *h, error *e)
{
    for (size_t i = 0; i < h->snapshot->shape_count; i++)
        if (h->snapshot->shapes[i].type >= h->class_count)
            return error_set(e, ERROR_CORRUPT, "the heap snapshot is not whole: types are missing");
    return 0;
}

/* What loading has taken is no longer left. */
static bool has_room(const model *m, const model_heap *s)
{
    uint64_t left = room_left();

    return left == UINT64_MAX ||
           room_for_heap(s->object_count, s->target_count) <= left + m->memory_used;
}

int heap_build(const model *m, const model_process *p, heap *h, error *e)
{
    const model_heap *s = p->heap;
    int code;

    memset(h, 0, sizeof *h);
    if (s != NULL && !has_room(m, s))
        return room_refuse_heap(s->object_count, s->target_count, e);
    code = heap_open(m, p, h, e);
    if (code == 0)
        code = analyse(h, e);
    if (code != 0)
        heap_free(h);
    if (code == ERROR_MEMORY && s != NULL)
        code = room_refuse_heap(s->object_count, s->target_count, e);
    return code;
}

int heap_shared(const model *m, const model_process *p, const heap **h, error *e)
{
    heap *made;
    int code;

    *h = p->heap == NULL ? NULL : p->heap->built;
    if (*h != NULL)
        return 0;
    made = memory_allocate(sizeof *made);
    if (made == NULL)
        return no_memory(e);
    code = heap_build(m, p, made, e);
    if (code != 0) {
        memory_free(made);
        return code;
    }
    p->heap->built = made;
    *h = made;
    return 0;
}

int heap_open(const model *m, const model_process *p, heap *h, error *e)
{
    const model_heap *s = p->heap;
    int code;

    memset(h, 0, sizeof *h);
    if (s == NULL || !s->ended) {
        error_set(e, ERROR_CORRUPT, "%s",
                  s == NULL ? "there is no heap snapshot in the recording"
                            : "the heap snapshot was cut off before its end");
        return error_advise(e, "take one with: clarinet heap PID -o FILE");
    }
    if (s->trouble != 0) {
        error_set(e, ERROR_CORRUPT, "the heap snapshot is not whole: %s",
                  model_text(m, s->trouble));
        return error_advise(e, "take another one with: clarinet heap PID -o FILE");
    }
    h->m = m;
    h->p = p;
    h->snapshot = s;
    if (!load_names(h, "heap_functions", "function", "method", &h->functions) ||
        !load_names(h, "heap_statics", "slot", "name", &h->statics) || !load_types(h) ||
        !load_fields(h) || !heap_threads_load(h)) {
        heap_free(h);
        return no_memory(e);
    }
    code = check_types(h, e);
    if (code == 0)
        code = heap_graph_build(h, e);
    if (code != 0)
        heap_free(h);
    return code;
}

const char *heap_root_kind(uint32_t kind)
{
    static const char *const KINDS[RECORDING_ROOT_KINDS] = {
        "stack", "finalizer queue", "handle", "other", "static field", "dependent handle"};

    return KINDS[kind < RECORDING_ROOT_KINDS ? kind : RECORDING_ROOT_OTHER];
}

void heap_root_text(const heap *h, uint32_t root, buffer *out)
{
    const model_heap_root *r;
    uint64_t name;

    if (root == HEAP_SEVERAL_ROOTS) {
        buffer_append_text(out, "several roots together");
        return;
    }
    r = &h->roots[root & ~HEAP_AND_STACKS];
    if (r->kind == RECORDING_ROOT_STATIC && (r->flags & RECORDING_ROOT_THREAD) != 0)
        buffer_format(out, "thread static %s", model_text(h->m, r->name));
    else if (r->kind == RECORDING_ROOT_STATIC && table_u64_get(&h->statics, r->id, &name))
        buffer_format(out, "static field %s", model_text(h->m, (uint32_t)name));
    else if (r->kind == RECORDING_ROOT_STATIC)
        buffer_format(out, "static field %s", model_text(h->m, r->name));
    else if (r->kind == RECORDING_ROOT_STACK && r->id == 0)
        buffer_append_text(out, "thread statics");
    else if (r->kind == RECORDING_ROOT_STACK && table_u64_get(&h->functions, r->id, &name))
        buffer_format(out, "stack of %s", model_text(h->m, (uint32_t)name));
    else if (r->kind == RECORDING_ROOT_HANDLE && r->is_statics)
        buffer_append_text(out, "statics of the runtime or of generic types");
    else if (r->kind == RECORDING_ROOT_HANDLE)
        buffer_append_text(out, (r->flags & RECORDING_ROOT_PINNED) != 0    ? "pinned handle"
                                : (r->flags & RECORDING_ROOT_COUNTED) != 0 ? "counted handle"
                                                                           : "strong handle");
    else
        buffer_append_text(out, heap_root_kind(r->kind));
    if ((root & HEAP_AND_STACKS) != 0)
        buffer_append_text(out, " and stacks");
}

typedef struct {
    const heap *h;
    heap_order order;
} sorting;

static int compare_types(const void *a, const void *b, void *context)
{
    const sorting *s = context;
    const heap_type *x = &s->h->types[*(const uint32_t *)a];
    const heap_type *y = &s->h->types[*(const uint32_t *)b];
    uint64_t p = s->order == HEAP_BY_RETAINED ? x->retained
                 : s->order == HEAP_BY_BYTES  ? x->bytes
                                              : x->count;
    uint64_t q = s->order == HEAP_BY_RETAINED ? y->retained
                 : s->order == HEAP_BY_BYTES  ? y->bytes
                                              : y->count;

    if (p != q)
        return p > q ? -1 : 1;
    return strcmp(model_text(s->h->m, x->name), model_text(s->h->m, y->name));
}

uint32_t *heap_sorted_types(const heap *h, heap_order order)
{
    uint32_t *sorted = memory_allocate_array(h->type_count, sizeof *sorted);
    sorting s = {h, order};

    for (uint32_t i = 0; sorted != NULL && i < h->type_count; i++)
        sorted[i] = i;
    if (sorted != NULL)
        qsort_r(sorted, h->type_count, sizeof *sorted, compare_types, &s);
    return sorted;
}
