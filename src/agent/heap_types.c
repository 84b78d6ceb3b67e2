/* heap_types: see heap_types.h. */
#include "agent/heap_types.h"

#include <string.h>

#include "agent/read_self.h"
#include "base/memory.h"

enum {
    HAS_ELEMENTS = INT32_MIN, /* flags of a class */
    IS_FINALIZABLE = 0x00100000,
};

bool heap_types_reserve(void **items, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity == 0 ? 1024 : *capacity * 2;
    void *grown;

    if (count <= *capacity)
        return true;
    while (wanted < count)
        wanted *= 2;
    grown = memory_resize(*items, wanted * size);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

static void read_layout(heap_record *r, heap_record_type *type, uint32_t flags)
{
    uint16_t places[HEAP_LAYOUT_PLACES];
    int count = heap_layout_read(type->class_id, flags, type->base, places);

    if (count < 0 || !heap_types_reserve((void **)&r->layouts, &r->layout_capacity,
                                         r->layout_count + (size_t)count, sizeof *r->layouts))
        return;
    type->layout = r->layout_count;
    type->layout_count = (uint32_t)count;
    type->is_laid_out = true;
    memcpy(r->layouts + r->layout_count, places, (size_t)count * sizeof *places);
    r->layout_count += (size_t)count;
}

heap_record_type *heap_types_add(heap_record *r, ClassID class_id)
{
    heap_record_type *type;
    uint32_t words[2]; /* flags and, in the low half, bytes of an element; bytes of an instance */

    if (!heap_types_reserve((void **)&r->types, &r->type_capacity, r->type_count + 1, sizeof *type))
        return NULL;
    type = &r->types[r->type_count];
    memset(type, 0, sizeof *type);
    type->class_id = class_id;
    if (read_self(class_id, words, sizeof words)) {
        type->base = words[1];
        type->element = (words[0] & (uint32_t)HAS_ELEMENTS) != 0 ? words[0] & 0xffff : 0;
        type->is_string = type->element == 2 && type->base == HEAP_RECORD_STRING_BASE;
        type->is_finalizable = (words[0] & IS_FINALIZABLE) != 0;
        type->is_collectible = (words[0] & HEAP_LAYOUT_COLLECTIBLE) != 0;
        read_layout(r, type, words[0]);
        type->is_references = heap_layout_is_references(class_id, words[0], type->base);
        type->has_values =
            type->element == 0 &&
            heap_values_wants(&r->values, class_id, &type->machine, &type->machine_is_apart);
        type->is_named = type->element == 0 && heap_values_names(&r->values, class_id);
        type->is_counted = type->element == 0 && heap_values_counts(&r->values, class_id);
    }
    return type;
}
