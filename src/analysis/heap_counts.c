/* heap_counts: see heap_counts.h. */
#include "analysis/heap_counts.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static bool is_collection(const char *type)
{
    static const char *const NAMES[] = {"List<", "Dictionary<", "HashSet<", "Queue<"};
    static const char SPACE[] = "System.Collections.Generic.";

    if (!text_starts_with(type, SPACE))
        return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (text_starts_with(type + sizeof SPACE - 1, NAMES[i]))
            return true;
    return false;
}

static void note(heap_counts_place *at, const char *name, uint32_t place)
{
    if (text_equal(name, "_size") || text_equal(name, "_count"))
        at->count_at = place;
    else if (text_equal(name, "_freeCount"))
        at->free_at = place;
}

heap_counts_place *heap_counts_find(const heap *h)
{
    heap_counts_place *places = memory_allocate_array(h->class_count + 1, sizeof *places);
    const model_table *t = model_find_table(h->m, h->p, "heap_values", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *place = t == NULL ? NULL : model_find_column(h->m, t, "place");
    const model_column *name = t == NULL ? NULL : model_find_column(h->m, t, "name");

    if (places == NULL || type == NULL || place == NULL || name == NULL ||
        name->type != RECORDING_STRING_ID)
        return places;
    for (size_t i = 0; i < t->rows; i++) {
        uint64_t number = model_cell(type, i);

        if (number < h->class_count && is_collection(heap_type_name(h, h->classes[number].type)))
            note(&places[number], model_text(h->m, (uint32_t)model_cell(name, i)),
                 (uint32_t)model_cell(place, i));
    }
    return places;
}

/* Of Dictionary and HashSet the entries: their buckets are numbers too. */
static uint32_t array_of(const heap *h, uint32_t node)
{
    for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++) {
        const char *field = model_text(h->m, heap_field_at(h, node, h->places[k]) & ~HEAP_ELEMENT);

        if (text_equal(field, "_items") || text_equal(field, "_entries") ||
            text_equal(field, "_array"))
            return h->targets[k];
    }
    return 0;
}

bool heap_counts_of(const heap *h, const heap_counts_place *places, uint32_t node, uint64_t *count,
                    uint32_t *array)
{
    const heap_counts_place *at =
        &places[h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type];
    const model_heap_valued *valued = at->count_at == 0 ? NULL : heap_values_of(h, node);
    uint32_t removed;

    if (valued == NULL)
        return false;
    *count = model_heap_value(h->snapshot, valued, at->count_at);
    removed = at->free_at == 0 ? 0 : model_heap_value(h->snapshot, valued, at->free_at);
    *count = *count < removed ? 0 : *count - removed;
    *array = array_of(h, node);
    return *array != 0 && heap_class_of(h, *array)->element != 0;
}

uint64_t heap_counts_room(const heap *h, uint32_t node)
{
    const heap_class *class = heap_class_of(h, node);
    uint64_t head = (uint64_t) class->data + 8;

    return h->own[node] < head ? 0 : (h->own[node] - head) / class->element;
}

uint64_t heap_counts_used(const heap *h, uint32_t node)
{
    const heap_class *class = heap_class_of(h, node);
    uint64_t used = 0, last = UINT64_MAX;

    if (!heap_knows_places(h, node))
        return class->element == sizeof last ? h->first[node + 1] - h->first[node]
                                             : heap_counts_room(h, node);
    for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++) {
        uint64_t index =
            h->places[k] < class->data ? 0 : (h->places[k] - class->data) / class->element;

        used += h->places[k] == 0 || index != last;
        last = index;
    }
    return used;
}
