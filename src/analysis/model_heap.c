/* model_heap: see model_heap.h. */
#include "analysis/model_heap.h"

#include <stdlib.h>

#include "analysis/heap.h"
#include "analysis/model_load.h"

void model_heap_free(model_heap *h)
{
    if (h == NULL)
        return;
    if (h->built != NULL)
        heap_free(h->built);
    memory_free(h->built);
    memory_free(h->addresses);
    memory_free(h->shape_of);
    memory_free(h->generations);
    memory_free(h->places);
    memory_free(h->shapes);
    memory_free(h->shape_places);
    memory_free(h->strings);
    memory_free(h->contents);
    memory_free(h->texts);
    memory_free(h->valued);
    memory_free(h->values);
    memory_free(h->sizes);
    memory_free(h->first);
    memory_free(h->targets);
    memory_free(h->roots);
    memory_free(h->ranges);
    memory_free(h);
}

enum {
    FIRST_PLACE = 1, /* in words; the element before an array's first */
    NEW_STRING = 0,
    NOT_COMPARED = 1,
    FIRST_NUMBER = 2,
    MOST_PLACES = 1 << 16, /* of a shape */
    MOST_WORDS = 4096,     /* of an object's values */
    FIRST_VALUE = 8,       /* bytes from an object's start */
    FROZEN = 5,            /* generation */
};

/* The first object of a shape says what it is. */
static bool load_shape(model *m, model_heap *h, reader *r)
{
    model_heap_shape shape = {.first = h->shape_place_count};
    uint64_t type = reader_varint(r), flags = reader_varint(r), count = reader_varint(r);
    int64_t place = 0;

    if (type > UINT32_MAX || count > MOST_PLACES)
        r->failed = true;
    shape.type = (uint32_t)type;
    shape.flags = (uint32_t)flags;
    shape.count = (uint32_t)count;
    for (uint64_t i = 0; i < count && !reader_failed(r); i++) {
        place += reader_zigzag(r);
        if (!MODEL_GROW(m, h->shape_places, h->shape_place_count, h->shape_place_capacity))
            return false;
        h->shape_places[h->shape_place_count++] = (uint32_t)((uint64_t)place * 8);
    }
    if (reader_failed(r))
        return true;
    if (!MODEL_GROW(m, h->shapes, h->shape_count, h->shape_capacity))
        return false;
    h->shapes[h->shape_count++] = shape;
    return true;
}

static uint32_t number_of(model_heap *h, uint64_t code)
{
    if (code == NEW_STRING)
        return h->next_string++;
    return code >= FIRST_NUMBER && code / 2 - 1 < h->next_string ? (uint32_t)(code / 2 - 1)
                                                                 : MODEL_HEAP_NOT_COMPARED;
}

static bool load_content(model *m, model_heap *h, reader *r)
{
    uint32_t number = number_of(h, reader_varint(r));

    if (reader_failed(r))
        return true;
    if (!MODEL_GROW(m, h->contents, h->content_count, h->content_capacity))
        return false;
    h->contents[h->content_count++] = (model_heap_string){(uint32_t)h->object_count - 1, number};
    return true;
}

static bool load_string(model *m, model_heap *h, reader *r)
{
    uint64_t code = reader_varint(r);
    uint32_t number = number_of(h, code);

    if (code >= FIRST_NUMBER && (code & 1) != 0) {
        recording_text text;
        model_heap_text one = {number, 0};

        text.bytes = (const char *)reader_blob(r, &text.length);
        if (reader_failed(r))
            return true;
        if (!model_add_string(m, text, &one.text) ||
            !MODEL_GROW(m, h->texts, h->text_count, h->text_capacity))
            return false;
        h->texts[h->text_count++] = one;
    }
    if (!MODEL_GROW(m, h->strings, h->string_count, h->string_capacity))
        return false;
    h->strings[h->string_count++] = (model_heap_string){(uint32_t)h->object_count - 1, number};
    return true;
}

static bool add_reference(model *m, model_heap *h, uint64_t number, uint32_t place)
{
    if (!MODEL_GROW(m, h->targets, h->target_count, h->target_capacity) ||
        !MODEL_GROW(m, h->places, h->target_count, h->place_capacity))
        return false;
    h->places[h->target_count] = place;
    h->targets[h->target_count++] = h->previous + (number >> 1 ^ (0 - (number & 1))) * 8;
    return true;
}

uint32_t model_heap_value(const model_heap *h, const model_heap_valued *valued, uint32_t place)
{
    const model_heap_shape *shape = &h->shapes[h->shape_of[valued->object]];
    uint32_t at = (place - FIRST_VALUE) / 4;

    for (uint32_t i = 0; i < shape->count; i++) {
        uint32_t reference = h->shape_places[shape->first + i];

        if (reference == place || reference + 4 == place)
            return 0;
        if (reference >= FIRST_VALUE && reference < place)
            at -= 2;
    }
    return place < FIRST_VALUE || at >= valued->count ? 0 : h->values[valued->first + at];
}

uint32_t model_heap_apart(const model_heap *h, const model_heap_valued *valued, uint32_t place)
{
    uint32_t at = (place - FIRST_VALUE) / 4;

    return place < FIRST_VALUE || at >= valued->apart
               ? 0
               : h->values[valued->first + valued->count + at];
}

static bool load_words(model *m, model_heap *h, reader *r, uint32_t *count)
{
    uint64_t said = reader_varint(r);

    if (said > MOST_WORDS)
        r->failed = true;
    for (uint64_t i = 0; i < said && !reader_failed(r); i++) {
        if (!MODEL_GROW(m, h->values, h->value_count, h->value_capacity))
            return false;
        h->values[h->value_count++] = (uint32_t)reader_varint(r);
    }
    *count = reader_failed(r) ? 0 : (uint32_t)said;
    return true;
}

static bool load_values(model *m, model_heap *h, reader *r)
{
    model_heap_valued valued = {.object = (uint32_t)h->object_count - 1, .first = h->value_count};

    if (!load_words(m, h, r, &valued.count) || !load_words(m, h, r, &valued.apart))
        return false;
    if (reader_failed(r))
        return true;
    if (!MODEL_GROW(m, h->valued, h->valued_count, h->valued_capacity))
        return false;
    h->valued[h->valued_count++] = valued;
    return true;
}

static bool add_object(model *m, model_heap *h, uint32_t shape, uint64_t size)
{
    size_t n = h->object_count;

    if (!MODEL_GROW(m, h->addresses, n, h->address_capacity) ||
        !MODEL_GROW(m, h->shape_of, n, h->shape_of_capacity) ||
        !MODEL_GROW(m, h->sizes, n, h->size_capacity) ||
        !MODEL_GROW(m, h->first, n, h->first_capacity) ||
        !MODEL_GROW(m, h->generations, n, h->generation_capacity))
        return false;
    h->addresses[n] = h->previous;
    h->shape_of[n] = shape;
    h->sizes[n] = size;
    h->first[n] = h->target_count;
    h->generations[n] = h->generation;
    h->object_count++;
    return true;
}

static bool load_object(model *m, model_heap *h, reader *r)
{
    const model_heap_shape *shape;
    uint64_t number, size = 0;

    h->previous += (uint64_t)reader_zigzag(r) * 8;
    number = reader_varint(r);
    if (number == 0) {
        uint64_t generation = reader_varint(r);

        h->generation = (uint8_t)(generation < MODEL_HEAP_GENERATIONS ? generation
                                                                      : MODEL_HEAP_GENERATIONS - 1);
        number = reader_varint(r);
    }
    if (number == h->shape_count + 1 && !reader_failed(r) && !load_shape(m, h, r))
        return false;
    if (number == 0 || number > h->shape_count || h->object_count >= UINT32_MAX - 2)
        r->failed = true;
    if (reader_failed(r))
        return true;
    shape = &h->shapes[number - 1];
    if ((shape->flags & RECORDING_SHAPE_SIZED) != 0)
        size = reader_varint(r);
    if (!add_object(m, h, (uint32_t)number - 1, size))
        return false;
    for (uint32_t i = 0; i < shape->count && !reader_failed(r); i++)
        if (!add_reference(m, h, reader_varint(r), h->shape_places[shape->first + i]))
            return false;
    h->in_object = (shape->flags & RECORDING_SHAPE_LISTED) != 0;
    h->place = FIRST_PLACE;
    h->step = h->step_before = 1;
    if ((shape->flags & RECORDING_SHAPE_CONTENT) != 0)
        return load_content(m, h, r);
    if ((shape->flags & RECORDING_SHAPE_VALUES) != 0)
        return load_values(m, h, r);
    return (shape->flags & RECORDING_SHAPE_STRING) == 0 || load_string(m, h, r);
}

/* One reference of an object that lists them, or its end. */
static bool load_listed(model *m, model_heap *h, reader *r)
{
    uint64_t number = reader_varint(r);
    int64_t step = h->step_before;

    if (reader_failed(r))
        return true;
    if (number == 0) {
        h->in_object = false;
        return true;
    }
    number--;
    if ((number & 1) != 0)
        step = reader_zigzag(r);
    h->step_before = h->step;
    h->step = step;
    h->place = (int64_t)((uint64_t)h->place + (uint64_t)step);
    return reader_failed(r) || add_reference(m, h, number >> 1, (uint32_t)((uint64_t)h->place * 8));
}

/* Records may be cut between two chunks only where an object ends, or between references that are
 * listed. */
static bool load_objects(model *m, model_heap *h, reader *r)
{
    bool good = true;

    while (good && !reader_at_end(r) && !reader_failed(r))
        good = h->in_object ? load_listed(m, h, r) : load_object(m, h, r);
    return good;
}

static bool load_roots(model *m, model_heap *h, reader *r)
{
    while (!reader_at_end(r)) {
        model_heap_root root = {0};
        uint64_t kind = reader_varint(r);

        root.flags = (uint32_t)reader_varint(r);
        root.object = reader_varint(r);
        root.id = reader_varint(r);
        root.kind = kind >= RECORDING_ROOT_KINDS ? RECORDING_ROOT_OTHER : (uint32_t)kind;
        if (kind == RECORDING_ROOT_STATIC) {
            recording_text name;

            name.bytes = (const char *)reader_blob(r, &name.length);
            if (!reader_failed(r) && !model_add_string(m, name, &root.name))
                return false;
        }
        if (reader_failed(r))
            break;
        if (!MODEL_GROW(m, h->roots, h->root_count, h->root_capacity))
            return false;
        h->roots[h->root_count++] = root;
    }
    return true;
}

static bool load_ranges(model *m, model_heap *h, reader *r)
{
    while (!reader_at_end(r)) {
        uint64_t generation = reader_varint(r), start = reader_varint(r), length = reader_varint(r);

        if (reader_failed(r) || generation >= MODEL_HEAP_NOT_KNOWN || start + length < start)
            continue;
        if (!MODEL_GROW(m, h->ranges, h->range_count, h->range_capacity))
            return false;
        h->ranges[h->range_count++] =
            (model_heap_range){start, start + length, (uint8_t)generation};
    }
    return true;
}

static int compare_ranges(const void *a, const void *b)
{
    const model_heap_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Objects mostly come by rising addresses: the range of the one before is tried first. */
static void apply_ranges(model_heap *h)
{
    size_t at = 0;

    if (h->range_count == 0)
        return;
    qsort(h->ranges, h->range_count, sizeof *h->ranges, compare_ranges);
    for (size_t i = 0; i < h->object_count; i++) {
        uint64_t address = h->addresses[i];
        size_t high = h->range_count, low = 0;

        if (h->generations[i] != MODEL_HEAP_NOT_KNOWN)
            continue;
        if (address < h->ranges[at].start || address >= h->ranges[at].end) {
            while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (h->ranges[middle].start <= address)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low == 0 || address >= h->ranges[low - 1].end) {
                h->generations[i] = FROZEN; /* all others have their range */
                continue;
            }
            at = low - 1;
        }
        h->generations[i] = h->ranges[at].generation;
    }
}

/* Nothing more comes: of tens of millions of objects, the room for others is worth much. */
static void trim(model_heap *h)
{
    array_trim(&h->addresses, &h->address_capacity, h->object_count, sizeof *h->addresses);
    array_trim(&h->shape_of, &h->shape_of_capacity, h->object_count, sizeof *h->shape_of);
    array_trim(&h->sizes, &h->size_capacity, h->object_count, sizeof *h->sizes);
    array_trim(&h->first, &h->first_capacity, h->object_count, sizeof *h->first);
    array_trim(&h->generations, &h->generation_capacity, h->object_count, sizeof *h->generations);
    array_trim(&h->targets, &h->target_capacity, h->target_count, sizeof *h->targets);
    array_trim(&h->places, &h->place_capacity, h->target_count, sizeof *h->places);
    array_trim(&h->strings, &h->string_capacity, h->string_count, sizeof *h->strings);
}

static bool load_end(model *m, model_heap *h, reader *r)
{
    uint64_t status = reader_varint(r);
    recording_text trouble;

    h->objects_said = reader_varint(r);
    h->references_said = reader_varint(r);
    h->roots_said = reader_varint(r);
    h->walk_ns = reader_varint(r);
    h->session_ns = reader_varint(r);
    trouble.bytes = (const char *)reader_blob(r, &trouble.length);
    if (reader_failed(r))
        return true;
    if (!reader_at_end(r)) {
        h->flags = reader_varint(r);
        h->strings_forgotten = reader_varint(r);
    }
    h->ended = true;
    h->trouble = 0;
    trim(h);
    apply_ranges(h);
    if (status == 0 && h->objects_said == h->object_count && h->references_said == h->target_count)
        return true;
    if (status == 0)
        trouble = (recording_text){"a part of it is missing", 23};
    return model_add_string(m, trouble, &h->trouble);
}

bool model_load_heap(model *m, model_process *p, reader *r)
{
    uint64_t section = reader_varint(r);
    uint64_t attempt = reader_varint(r);
    model_heap *h = p->heap;

    if (reader_failed(r))
        return true;
    if (h == NULL) {
        h = p->heap = memory_allocate_array(1, sizeof *h);
        if (h == NULL)
            return false;
    }
    if (attempt != h->attempt) {
        h->attempt = attempt;
        h->object_count = h->target_count = h->root_count = 0;
        h->range_count = 0;
        h->shape_count = h->shape_place_count = h->string_count = h->text_count = 0;
        h->content_count = 0;
        h->valued_count = h->value_count = 0;
        h->previous = 0;
        h->next_string = 0;
        h->generation = 0;
        h->in_object = false;
    }
    switch (section) {
    case RECORDING_HEAP_OBJECTS:
        return load_objects(m, h, r);
    case RECORDING_HEAP_ROOTS:
        return load_roots(m, h, r);
    case RECORDING_HEAP_RANGES:
        return load_ranges(m, h, r);
    case RECORDING_HEAP_END:
        return load_end(m, h, r);
    default:
        return true;
    }
}
