/* heap_record: see heap_record.h. */
#include "agent/heap_record.h"

#include <string.h>

#include "agent/heap_types.h"
#include "base/memory.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    MOST_SHAPES = 32768,
    MOST_PLACES = 1 << 19,
    LONGEST_PLACE = 0xffff,
    HEAD_ROOM = 128, /* of a record without its references and text */
    RECORD_ROOM = HEAD_ROOM + HEAP_RECORD_SLOTS * 13,
    VALUES_ROOM = 2 * (HEAP_VALUES_WORDS + 1) * 5,
    REFERENCE_ROOM = 24,
    STRING_LENGTH = 8,
    STRING_TEXT = 12,
    FINALIZER_DONE = 0x40000000, /* in the header before an object */
    FIRST_ELEMENT = 16,
    ARRAY_LENGTH = 8,
    ASKED_TOO = 4, /* objects of a class whose layout is compared with the runtime's word */
    ELEMENTS_COMPARED = 64, /* at most, of an array of references */
    LISTED_AT_ONCE = 64,
    LARGEST_COMPARED = 512, /* array without references */
    LIKELY_SAME = 16384,    /* bytes from an object on that are of its generation */
    REGION = 4 << 20,       /* where another one may begin */
};

/* Small rather than fast: once a type or shape, or for few objects. */
#define SELDOM __attribute__((cold, noinline))

SELDOM bool heap_record_open(heap_record *r, const clr_info *info, const heap_record_wishes *wishes)
{
    memset(r, 0, sizeof *r);
    r->info = info;
    table_u64_init(&r->type_numbers);
    table_u64_init(&r->shape_numbers);
    heap_strings_open(&r->strings, wishes->strings);
    heap_values_open(&r->values, info, wishes->values, wishes->counts, wishes->fields);
    return heap_stream_open(&r->stream);
}

SELDOM void heap_record_close(heap_record *r)
{
    heap_stream_close(&r->stream);
    heap_strings_close(&r->strings);
    memory_free(r->types);
    memory_free(r->layouts);
    memory_free(r->shapes);
    memory_free(r->places);
    table_u64_free(&r->type_numbers);
    table_u64_free(&r->shape_numbers);
    r->types = NULL;
    r->layouts = NULL;
    r->shapes = NULL;
    r->places = NULL;
    r->type_count = r->shape_count = r->layout_count = 0;
}

SELDOM void heap_record_begin(heap_record *r)
{
    r->attempt++;
    r->previous = r->range_size = 0;
    r->generation_said = UINT32_MAX;
    r->objects = r->references = r->bad_references = 0;
    r->values_left = r->counted_left = HEAP_VALUES_ROOM;
    r->shape_count = r->place_count = 0;
    table_u64_free(&r->shape_numbers);
    table_u64_init(&r->shape_numbers);
    heap_strings_clear(&r->strings);
    for (size_t i = 0; i < r->type_count; i++)
        r->types[i].last_shape = r->types[i].sized = r->types[i].listed = 0;
}

SELDOM static void give_up(heap_record *r)
{
    r->failed = true;
    heap_stream_abandon(&r->stream);
}

/* ---- types ---- */

/* The type's number, made when it is new. */
static uint32_t number_of(heap_record *r, ClassID class_id)
{
    size_t place = (class_id >> 3 ^ class_id >> 13) % HEAP_RECORD_CACHE;
    uint64_t number;

    if (r->cache[place].class_id == class_id)
        return r->cache[place].number;
    if (!table_u64_get(&r->type_numbers, class_id, &number)) {
        number = r->type_count;
        if (heap_types_add(r, class_id) == NULL ||
            !table_u64_put(&r->type_numbers, class_id, number)) {
            give_up(r);
            return 0;
        }
        r->type_count++;
    }
    r->cache[place].class_id = class_id;
    r->cache[place].number = (uint32_t)number;
    return (uint32_t)number;
}

/* Bytes of an object by its class, as the runtime counts them. */
static uint64_t size_of(const heap_record_type *type, uint64_t address)
{
    if (type->element == 0)
        return type->base;
    return type->base +
           (uint64_t)type->element * *(const uint32_t *)(uintptr_t)(address + STRING_LENGTH);
}

/* ---- shapes ---- */

static bool is_same(const heap_record *r, uint32_t number, uint32_t flags)
{
    const heap_record_shape *shape = &r->shapes[number - 1];

    if (shape->type != r->number || shape->flags != flags || shape->count != r->count)
        return false;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->places[shape->first + i] != r->slots[i])
            return false;
    return true;
}

/* A new shape of the object in hand; 0 when there is no room for it. */
SELDOM static uint32_t add_shape(heap_record *r, uint32_t flags, uint32_t count)
{
    heap_record_shape *shape;

    if (r->shape_count >= MOST_SHAPES || r->place_count + count > MOST_PLACES ||
        !heap_types_reserve((void **)&r->shapes, &r->shape_capacity, r->shape_count + 1,
                            sizeof *shape) ||
        !heap_types_reserve((void **)&r->places, &r->place_capacity, r->place_count + count + 1, 2))
        return 0;
    shape = &r->shapes[r->shape_count++];
    *shape = (heap_record_shape){r->number, flags, (uint32_t)r->place_count, count};
    memcpy(r->places + r->place_count, r->slots, count * 2);
    r->place_count += count;
    return (uint32_t)r->shape_count;
}

/* The shape with the places of the object in hand; 0: it has to list them. */
static uint32_t shape_of(heap_record *r, uint32_t flags)
{
    heap_record_type *type = &r->types[r->number];
    uint64_t hash, number;

    if (type->last_shape != 0 && is_same(r, type->last_shape, flags))
        return type->last_shape;
    hash = table_hash_u64((uint64_t)r->number << 8 | flags);
    for (uint32_t i = 0; i < r->count; i++)
        hash = table_hash_u64(hash ^ r->slots[i]);
    if (table_u64_get(&r->shape_numbers, hash, &number)) {
        if (!is_same(r, (uint32_t)number, flags))
            return 0;
    } else {
        number = add_shape(r, flags, r->count);
        if (number == 0)
            return 0;
        if (!table_u64_put(&r->shape_numbers, hash, number)) {
            r->shape_count--; /* shapes are told without a gap */
            r->place_count -= r->count;
            return 0;
        }
    }
    type->last_shape = (uint32_t)number;
    return (uint32_t)number;
}

/* ---- one object ---- */

/* Asks for the generation of the object and of those near it. */
SELDOM static void ask_generation(heap_record *r, uint64_t address)
{
    COR_PRF_GC_GENERATION_RANGE range;

    r->range_start = address;
    /* the range that the runtime tells may not hold the object; asking for each one is slow */
    r->range_size =
        REGION - address % REGION < LIKELY_SAME ? REGION - address % REGION : LIKELY_SAME;
    r->generation = HEAP_RECORD_FROZEN;
    if (clr_info_get_object_generation(r->info, (ObjectID)address, &range) != S_OK)
        return;
    r->generation = range.generation;
    if (address - range.rangeStart < range.rangeLength) {
        r->range_start = range.rangeStart;
        r->range_size = range.rangeLength;
    }
}

SELDOM static uint8_t *put_generation(heap_record *r, uint8_t *at)
{
    r->generation_said = r->generation;
    at = heap_stream_put_varint(at, 0);
    return heap_stream_put_varint(at, r->generation);
}

/* What a shape is, after its number when that comes for the first time. */
SELDOM static uint8_t *put_shape(const heap_record *r, uint8_t *at, const heap_record_shape *s)
{
    const uint64_t numbers[3] = {s->type, s->flags, s->count};
    uint64_t before = 0;

    for (size_t i = 0; i < 3; i++)
        at = heap_stream_put_varint(at, numbers[i]);
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t place = r->places[s->first + i];

        at = heap_stream_put_varint(at, heap_stream_zigzag((int64_t)(place - before)));
        before = place;
    }
    return at;
}

/* The record's begin: address, generation, shape. `known`: shapes there were before. */
static uint8_t *put_head(heap_record *r, uint8_t *at, uint32_t shape, size_t known)
{
    const heap_record_shape *s = &r->shapes[shape - 1];

    if (r->object - r->range_start >= r->range_size)
        ask_generation(r, r->object);
    at = heap_stream_put_varint(at, heap_stream_zigzag((int64_t)(r->object - r->previous) / 8));
    if (r->generation != r->generation_said)
        at = put_generation(r, at);
    at = heap_stream_put_varint(at, shape);
    if (shape > known)
        at = put_shape(r, at, s);
    if ((s->flags & RECORDING_SHAPE_SIZED) != 0)
        at = heap_stream_put_varint(at, r->size);
    r->previous = r->object;
    return at;
}

/* A shape without places, made once a type and set of flags. */
static uint32_t plain_shape(heap_record *r, uint32_t *kept, uint32_t flags)
{
    if (*kept == 0 || r->shapes[*kept - 1].flags != flags) {
        *kept = add_shape(r, flags, 0);
        if (*kept == 0)
            give_up(r);
    }
    return *kept;
}

static bool begin_listing(heap_record *r, uint32_t flags)
{
    size_t known = r->shape_count;
    uint32_t shape = plain_shape(r, &r->types[r->number].listed,
                                 flags | RECORDING_SHAPE_SIZED | RECORDING_SHAPE_LISTED);
    uint8_t *at = heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt, HEAD_ROOM);

    if (shape == 0 || at == NULL)
        return false;
    r->stream.at = put_head(r, at, shape, known);
    r->listing = true;
    r->listed = (heap_record_listed){.place = FIRST_ELEMENT / 8 - 1, .step = 1, .step_before = 1};
    return true;
}

/* One reference of an object that lists them. The step from place to place is what it was two
 * references before, unless it is said. */
static inline uint8_t *put_reference(heap_record_listed *before, uint64_t object, uint8_t *at,
                                     uint64_t place, uint64_t target)
{
    uint64_t step = place - before->place;
    bool is_said = step != before->step_before;
    uint64_t number = heap_stream_zigzag((int64_t)(target - object) / 8) << 1;

    at = heap_stream_put_wide(at, (number | is_said) + 1);
    if (is_said)
        at = heap_stream_put_varint(at, heap_stream_zigzag((int64_t)step));
    *before = (heap_record_listed){place, step, before->step, before->count + 1};
    return at;
}

__attribute__((noinline)) static bool list_reference(heap_record *r, uint64_t place,
                                                     uint64_t target)
{
    uint8_t *at = heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt, REFERENCE_ROOM);

    if (at == NULL)
        return false;
    r->stream.at = put_reference(&r->listed, r->object, at, place, target);
    return true;
}

static bool end_listing(heap_record *r)
{
    uint8_t *at = heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt, REFERENCE_ROOM);

    if (at == NULL)
        return false;
    r->stream.at = heap_stream_put_varint(at, 0);
    r->references += r->listed.count;
    return true;
}

SELDOM static bool list_kept(heap_record *r, uint32_t flags)
{
    bool good = begin_listing(r, flags);

    for (uint32_t i = 0; good && i < r->count; i++)
        good = list_reference(r, r->slots[i], r->targets[i]);
    return good;
}

static uint32_t flags_of(const heap_record *r)
{
    const heap_record_type *type = &r->types[r->number];

    return type->is_finalizable &&
                   (*(const uint32_t *)(uintptr_t)(r->object - 4) & FINALIZER_DONE) != 0
               ? RECORDING_SHAPE_FINALIZED
               : 0;
}

static BOOL CLR_CALL take_reference(ObjectID root, ObjectID *reference, void *context)
{
    heap_record *r = context;
    uint64_t target = reference == NULL ? 0 : *reference;
    uint64_t place = (uintptr_t)reference - r->object;

    (void)root;
    if (target == 0)
        return 1;
    if ((target & 7) != 0) {
        r->bad_references++;
        return 1;
    }
    place = place >= r->size ? 0 : place / 8; /* a collectible type's allocator is kept elsewhere */
    if (!r->listing && (r->count == HEAP_RECORD_SLOTS || place > LONGEST_PLACE) &&
        !list_kept(r, flags_of(r)))
        return 0;
    if (r->listing)
        return list_reference(r, place, target);
    r->slots[r->count] = (uint16_t)place;
    r->targets[r->count++] = target;
    return 1;
}

/* The references of the object in hand by the layout of its class; how many. */
static uint32_t find_references(const heap_record *r, const heap_record_type *type, uint16_t *slots,
                                uint64_t *targets, uint64_t *bad)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)r->object;
    const uint16_t *places = r->layouts + type->layout;
    uint32_t count = 0;

    for (uint32_t i = 0; i < type->layout_count; i++) {
        uint64_t target = words[places[i]];

        if (target == 0)
            continue;
        if ((target & 7) != 0) {
            ++*bad;
            continue;
        }
        slots[count] = places[i];
        targets[count++] = target;
    }
    return count;
}

/* The runtime has said what the references of the object in hand are: so does the layout, or no
 * layout is believed any more. */
SELDOM static void compare_layout(heap_record *r, heap_record_type *type)
{
    uint16_t slots[HEAP_LAYOUT_PLACES];
    uint64_t targets[HEAP_LAYOUT_PLACES];
    uint64_t bad = 0;
    uint32_t count = find_references(r, type, slots, targets, &bad);

    type->asked++;
    if (r->listing ? count != 0 || r->listed.count != 0
                   : count != r->count || memcmp(slots, r->slots, count * sizeof *slots) != 0 ||
                         memcmp(targets, r->targets, count * sizeof *targets) != 0)
        r->distrusts_layouts = true;
}

/* The elements of the array in hand, which are references. */
static void list_elements(heap_record *r, uint64_t place, uint64_t end)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)r->object;
    heap_record_listed listed = r->listed;
    uint8_t *at;

    while (place < end && (at = heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt,
                                                 LISTED_AT_ONCE * REFERENCE_ROOM)) != NULL) {
        uint64_t stop = end - place < LISTED_AT_ONCE ? end : place + LISTED_AT_ONCE;

        for (; place < stop; place++) {
            uint64_t target = words[place];

            if ((target & 7) != 0)
                r->bad_references++;
            else if (target != 0)
                at = put_reference(&listed, r->object, at, place, target);
        }
        r->stream.at = at;
    }
    r->listed = listed;
}

/* Elements of an array that the runtime has not named yet. */
typedef struct {
    const uint64_t *at, *end;
    uint32_t left; /* to be compared */
} elements;

static void skip_nulls(elements *e)
{
    while (e->at != e->end && *e->at == 0)
        e->at++;
}

static BOOL CLR_CALL compare_element(ObjectID root, ObjectID *reference, void *context)
{
    elements *e = context;

    (void)root;
    skip_nulls(e);
    if (e->at == e->end || (uintptr_t)reference != (uintptr_t)e->at) {
        e->at = NULL;
        return 0;
    }
    e->at++;
    return --e->left != 0;
}

/* The first elements of the array in hand that are not null: the runtime says the same, or no
 * layout is believed any more. All of a large array would be slow: a call for each one. */
SELDOM static void compare_elements(heap_record *r, uint64_t place, uint64_t end)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)r->object;
    elements e = {words + place, words + end, ELEMENTS_COMPARED};

    clr_info_enumerate_object_references(r->info, (ObjectID)r->object, compare_element, &e);
    if (e.at != NULL && e.left != 0)
        skip_nulls(&e);
    if (e.at == NULL || (e.left != 0 && e.at != e.end))
        r->distrusts_layouts = true;
}

/* As take_references, of an array of references. */
static void take_elements(heap_record *r, heap_record_type *type)
{
    uint64_t first = type->base / 8 - 1;
    uint64_t end = first + *(const uint32_t *)(uintptr_t)(r->object + ARRAY_LENGTH);

    if (type->asked != ASKED_TOO && !r->distrusts_layouts) {
        type->asked++;
        compare_elements(r, first, end);
    }
    if (r->distrusts_layouts)
        clr_info_enumerate_object_references(r->info, (ObjectID)r->object, take_reference, r);
    else
        list_elements(r, first, end);
}

static void take_references(heap_record *r)
{
    heap_record_type *type = &r->types[r->number];
    bool is_known = type->is_laid_out && !r->distrusts_layouts;

    if (type->is_references) {
        take_elements(r, type);
        return;
    }
    if (is_known && type->asked == ASKED_TOO) {
        if (type->layout_count != 0)
            r->count = find_references(r, type, r->slots, r->targets, &r->bad_references);
        return;
    }
    clr_info_enumerate_object_references(r->info, (ObjectID)r->object, take_reference, r);
    if (is_known)
        compare_layout(r, type);
}

/* The beginning of a text as UTF-8 with its length before it. */
SELDOM static uint8_t *put_text(uint8_t *at, const uint16_t *text, uint32_t length)
{
    uint8_t memory[HEAP_STRINGS_TEXT * 3 + 1];
    buffer bytes;

    buffer_fix(&bytes, memory, sizeof memory);
    text_append_utf16(&bytes, text, length < HEAP_STRINGS_TEXT ? length : HEAP_STRINGS_TEXT);
    at = heap_stream_put_varint(at, bytes.length);
    memcpy(at, memory, bytes.length);
    return at + bytes.length;
}

static bool put_string(heap_record *r)
{
    const uint16_t *text = (const uint16_t *)(uintptr_t)(r->object + STRING_TEXT);
    uint32_t length = *(const uint32_t *)(uintptr_t)(r->object + STRING_LENGTH);
    size_t known = r->shape_count;
    uint32_t shape =
        plain_shape(r, &r->types[r->number].sized, RECORDING_SHAPE_SIZED | RECORDING_SHAPE_STRING);
    uint8_t *at = heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt,
                                   HEAD_ROOM + HEAP_STRINGS_TEXT * 3);
    uint64_t code;

    if (shape == 0 || at == NULL)
        return false;
    /* a length that does not fit its size is not believed */
    code = (uint64_t)length * 2 + HEAP_RECORD_STRING_BASE == r->size
               ? heap_strings_code(&r->strings, text, length)
               : HEAP_STRINGS_NOT_COMPARED;
    at = put_head(r, at, shape, known);
    at = heap_stream_put_varint(at, code);
    if (code >= HEAP_STRINGS_FIRST && (code & 1) != 0)
        at = put_text(at, text, length);
    r->stream.at = at;
    return true;
}

/* A small array without references: which content it has, its length with it. What lies behind an
 * odd last byte is zero. */
static bool put_content(heap_record *r)
{
    size_t known = r->shape_count;
    uint32_t shape =
        plain_shape(r, &r->types[r->number].sized, RECORDING_SHAPE_SIZED | RECORDING_SHAPE_CONTENT);
    uint8_t *at = heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt, HEAD_ROOM);
    const uint16_t *content = (const uint16_t *)(uintptr_t)(r->object + ARRAY_LENGTH);

    if (shape == 0 || at == NULL)
        return false;
    at = put_head(r, at, shape, known);
    r->stream.at = heap_stream_put_varint(
        at, heap_strings_code(&r->strings, content, (uint32_t)(r->size - FIRST_ELEMENT + 1) / 2));
    return true;
}

/* The words of an object behind its type, without those whose bit is set in `left_out`. */
SELDOM static uint8_t *put_words(uint8_t *at, uint64_t object, uint32_t base,
                                 const uint64_t *left_out)
{
    const uint32_t *words = (const uint32_t *)(uintptr_t)(object + 8);
    uint32_t count = base < 16 ? 0 : (base - 16) / 4;
    uint32_t written = 0;

    if (count > HEAP_VALUES_WORDS)
        count = HEAP_VALUES_WORDS;
    for (uint32_t i = 0; i < count; i++)
        written += (left_out[i / 128] >> (i / 2 % 64) & 1) == 0;
    at = heap_stream_put_varint(at, written);
    for (uint32_t i = 0; i < count; i++)
        if ((left_out[i / 128] >> (i / 2 % 64) & 1) == 0)
            at = heap_stream_put_varint(at, words[i]);
    return at;
}

/* The values of the object in hand, and of its state machine where that is an object. */
SELDOM static uint8_t *put_values(heap_record *r, uint8_t *at)
{
    const heap_record_type *type = &r->types[r->number];
    uint64_t left_out[HEAP_VALUES_WORDS / 128] = {0};
    const uint64_t nothing[HEAP_VALUES_WORDS / 128] = {0};
    ClassID machine = type->machine_is_apart ? type->machine : 0;
    uint64_t apart = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t slot = r->slots[i] - 1u;

        if (slot < HEAP_VALUES_WORDS / 2)
            left_out[slot / 64] |= UINT64_C(1) << slot % 64;
        if (machine != 0 && (*(const uint64_t *)(uintptr_t)r->targets[i] & ~UINT64_C(7)) == machine)
            apart = r->targets[i];
    }
    at = put_words(at, r->object, type->base, left_out);
    if (apart == 0)
        return heap_stream_put_varint(at, 0);
    type = &r->types[number_of(r, machine)];
    return put_words(at, apart, r->failed ? 0 : type->base, nothing);
}

/* Whether one of the arrays of the collection in hand has room for many. */
static bool is_roomy(const heap_record *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (*(const uint32_t *)(uintptr_t)(r->targets[i] + 8) >= HEAP_VALUES_LEAST)
            return true;
    return false;
}

/* Whether there is room for the values of an object that a person wants to see, or of a collection.
 */
SELDOM static bool takes_values(heap_record *r, const heap_record_type *type)
{
    uint32_t *left = type->is_named ? &r->values_left : &r->counted_left;
    uint32_t words = type->base / 4;

    if (words > *left || (!type->is_named && !is_roomy(r)))
        return false;
    *left -= words;
    return true;
}

/* The references are kept: all of the record at once. */
static bool put_whole(heap_record *r)
{
    const heap_record_type *type = &r->types[r->number];
    uint32_t flags =
        flags_of(r) | (type->size != r->size ? RECORDING_SHAPE_SIZED : 0) |
        (type->has_values || ((type->is_named || type->is_counted) && takes_values(r, type))
             ? RECORDING_SHAPE_VALUES
             : 0);
    size_t known = r->shape_count;
    uint32_t shape = shape_of(r, flags);
    uint8_t *at;

    if (shape == 0)
        return list_kept(r, flags_of(r)) && end_listing(r);
    at =
        heap_stream_room(&r->stream, RECORDING_HEAP_OBJECTS, r->attempt, RECORD_ROOM + VALUES_ROOM);
    if (at == NULL)
        return false;
    at = put_head(r, at, shape, known);
    for (uint32_t i = 0; i < r->count; i++)
        at = heap_stream_put_varint(at,
                                    heap_stream_zigzag((int64_t)(r->targets[i] - r->object) / 8));
    if ((flags & RECORDING_SHAPE_VALUES) != 0)
        at = put_values(r, at);
    r->stream.at = at;
    r->references += r->count;
    return true;
}

bool heap_record_put(heap_record *r, uint64_t address, ClassID class_id, bool has_references)
{
    heap_record_type *type;
    uint64_t size;

    r->number = number_of(r, class_id);
    if (r->failed)
        return false;
    type = &r->types[r->number];
    size = size_of(type, address);
    if (type->size == 0)
        type->size = size;
    r->object = address;
    r->size = size;
    r->count = 0;
    r->listing = false;
    r->objects++;
    if (type->is_string)
        return put_string(r);
    if (!has_references && type->element != 0 && r->strings.is_on &&
        size - FIRST_ELEMENT <= LARGEST_COMPARED)
        return put_content(r);
    if (has_references && type->element != 0 && !begin_listing(r, 0))
        return false;
    if (has_references)
        take_references(r);
    return r->listing ? end_listing(r) : put_whole(r);
}
