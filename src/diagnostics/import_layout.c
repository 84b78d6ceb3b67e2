/*
 * import_layout: where the objects of a heap dump keep their references, and values of some of
 * them; see import_private.h. The events have none of that: it is read from the process's memory
 * while they come. The program may have gone on: places count where what is at them are just the
 * references that the events tell, one after the other.
 */
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "diagnostics/import_private.h"

enum {
    WORD = 8,
    BOX_HEAD = 8,
    MOST_TOKENS = 32,           /* of a class whose values are wanted */
    FIRST_ARGUMENTS = 48,       /* of a class: where its type arguments are */
    IS_VALUE_MASK = 0x000c0000, /* of a class's flags */
    IS_VALUE = 0x00040000,
    NO_CLASS = 3,     /* bits of a type argument that is something else */
    LEAST_ROOM = 16,  /* elements, of a collection that counts them */
    ENOUGH_ALIKE = 4, /* references in a row, behind some that have changed */
    MOST_CHANGED = 16,
    MOST_COMPARED = 4 << 20, /* words of an object that has changed */
};

static const class_memory *memory_of(const import_heap *h)
{
    return &h->texts.memory;
}

/* Whether the type may be one of those names, which commas part. */
static bool is_one_of(const import_heap *h, const class_memory_class *class, const char *names)
{
    uint32_t tokens[MOST_TOKENS];

    if (class->field_count > MOST_TOKENS)
        return false;
    for (uint32_t i = 0; i < class->field_count; i++)
        tokens[i] = class->fields[i].token;
    while (*names != '\0') {
        size_t length = strcspn(names, ",");

        for (int i = 0; i < 2; i++)
            if (field_index_is_class(h->namer.fields, names, length, class->rows[i], tokens,
                                     class->field_count))
                return true;
        names += length + (names[length] == ',');
    }
    return false;
}

/* Of a generic class that derives from no other one. */
static bool is_of_values(const import_heap *h, uint64_t class_id)
{
    const class_memory *m = memory_of(h);
    uint64_t at = class_id + FIRST_ARGUMENTS;
    uint32_t flags;

    for (int steps = 0; steps < 3; steps++)
        if (m->read(m->context, at, &at, sizeof at) != sizeof at)
            return false;
    return (at & NO_CLASS) == 0 && m->read(m->context, at, &flags, sizeof flags) == sizeof flags &&
           (flags & IS_VALUE_MASK) == IS_VALUE;
}

static void choose_values(const import_heap *h, uint64_t class_id, import_layout *layout)
{
    static const char COLLECTIONS[] =
        "System.Collections.Generic.List`1,System.Collections.Generic.Dictionary`2,"
        "System.Collections.Generic.HashSet`1,System.Collections.Generic.Queue`1";
    class_memory_class class;

    if (h->namer.fields == NULL || layout->shape.element != 0 ||
        !class_memory_class_of(memory_of(h), class_id, &class))
        return;
    layout->is_wanted = h->values != NULL && is_one_of(h, &class, h->values);
    layout->is_counted =
        !layout->is_wanted && is_one_of(h, &class, COLLECTIONS) && is_of_values(h, class_id);
    class_memory_class_free(&class);
}

void import_read_layout(import_heap *h, uint64_t class_id, uint32_t type)
{
    import_layout *layout = &h->types[type].layout;
    heap_writer_type *written = &h->writer.types[type];

    if (layout->is_read || memory_of(h)->read == NULL)
        return;
    layout->is_read = true;
    layout->shape = class_memory_shape_of(memory_of(h), class_id);
    if (!layout->shape.is_known)
        return;
    choose_values(h, class_id, layout);
    written->element = layout->shape.element;
    written->data = written->element == 0 ? 0 : layout->shape.base - BOX_HEAD;
}

static bool is_of_class(import_heap *h, const import_node *node)
{
    const uint8_t *bytes = heap_texts_bytes(&h->texts, node->address, WORD);
    uint64_t class_id;

    if (bytes == NULL)
        return false;
    memcpy(&class_id, bytes, sizeof class_id);
    return (class_id & ~UINT64_C(7)) == node->type;
}

/* The next place that has a reference. */
static bool next_reference(import_heap *h, const import_node *node, class_memory_places *all,
                           uint64_t *place, uint64_t *word)
{
    while (class_memory_next(all, place)) {
        const uint8_t *bytes = heap_texts_bytes(&h->texts, node->address + *place, WORD);

        if (bytes == NULL)
            return false;
        memcpy(word, bytes, sizeof *word);
        if (*word != 0)
            return true;
    }
    return false;
}

/* What is in an object now, without nulls. */
typedef struct {
    uint64_t *words, *places;
    size_t count;
} content;

static bool read_content(import_heap *h, const import_node *node, const class_memory_shape *shape,
                         content *out)
{
    class_memory_places all = class_memory_begin(shape, node->size);
    size_t most = (size_t)node->size / WORD, k = 0;

    out->words = most > MOST_COMPARED ? NULL : memory_allocate_array(2 * most, sizeof *out->words);
    if (out->words == NULL)
        return false;
    out->places = out->words + most;
    while (k < most && next_reference(h, node, &all, &out->places[k], &out->words[k]))
        k++;
    out->count = k;
    return true;
}

/* Whether both go on alike. */
static bool go_on(const content *now, size_t i, const uint64_t *targets, size_t count, size_t k)
{
    size_t alike = 0;

    while (alike < ENOUGH_ALIKE && i + alike < now->count && k + alike < count &&
           now->words[i + alike] == targets[k + alike])
        alike++;
    return alike == ENOUGH_ALIKE || (alike != 0 && i + alike == now->count && k + alike == count);
}

/* Behind a change: the nearest place where both go on alike. */
static bool find_next_alike(const content *now, size_t *i, const uint64_t *targets, size_t count,
                            size_t *k)
{
    for (size_t steps = 1; steps <= MOST_CHANGED; steps++)
        for (size_t added = 0; added <= steps; added++)
            if (go_on(now, *i + added, targets, count, *k + steps - added)) {
                *i += added;
                *k += steps - added;
                return true;
            }
    return false;
}

/* Some of its references are others now, or gone, or new: those around them are told all the same.
 */
static size_t find_unchanged(import_heap *h, const import_node *node, const uint64_t *targets,
                             size_t count, const class_memory_shape *shape, uint64_t *places)
{
    size_t i = 0, k = 0, found = 0;
    content now;

    if (!read_content(h, node, shape, &now))
        return 0;
    do {
        while (i < now.count && k < count && now.words[i] == targets[k]) {
            places[k++] = now.places[i++];
            found++;
        }
    } while (i < now.count && k < count && find_next_alike(&now, &i, targets, count, &k));
    memory_free(now.words);
    return found;
}

/* The reference that is not inside of the object comes first. Whether any place is known. */
static bool find_places(import_heap *h, const import_node *node, const uint64_t *targets,
                        const class_memory_shape *shape)
{
    class_memory_places all = class_memory_begin(shape, node->size);
    size_t apart = shape->is_collectible && node->edges != 0, found = apart;
    uint64_t place, word;

    memset(h->places, 0, apart * sizeof *h->places);
    while (next_reference(h, node, &all, &place, &word)) {
        if (found == node->edges || targets[found] != word)
            break;
        h->places[found++] = place;
    }
    if (found == node->edges && !class_memory_next(&all, &place))
        return true;
    memset(h->places, 0, (size_t)node->edges * sizeof *h->places);
    return find_unchanged(h, node, targets + apart, (size_t)node->edges - apart, shape,
                          h->places + apart) != 0;
}

static bool has_room(import_heap *h, uint64_t count)
{
    if (array_reserve(&h->places, &h->place_capacity, (size_t)count + 1, sizeof *h->places))
        return true;
    h->failed = true;
    return false;
}

/* Whether one of the arrays that a collection refers to has room for many. */
static bool is_roomy(const import_heap *h, const uint64_t *targets, uint64_t count)
{
    const class_memory *m = memory_of(h);
    uint32_t length;

    for (uint64_t i = 0; i < count; i++)
        if (m->read(m->context, targets[i] + WORD, &length, sizeof length) == sizeof length &&
            length >= LEAST_ROOM)
            return true;
    return false;
}

/* The words of an object behind its type, without its references. */
static void take_values(import_heap *h, const import_node *node, const import_layout *layout,
                        heap_writer_object *out)
{
    uint64_t count = layout->shape.base < 2 * WORD ? 0 : (layout->shape.base - 2 * WORD) / 4;
    const uint8_t *bytes;
    size_t next = 0;

    if (count > IMPORT_VALUES)
        count = IMPORT_VALUES;
    if (count > h->values_left || (layout->is_counted && !is_roomy(h, out->targets, out->count)))
        return;
    bytes = heap_texts_bytes(&h->texts, node->address + WORD, count * 4);
    if (bytes == NULL)
        return;
    h->values_left -= (uint32_t)count;
    for (uint64_t i = 0; i < count; i++) {
        while (next < out->count && out->places[next] < WORD + i / 2 * WORD)
            next++;
        if (next == out->count || out->places[next] != WORD + i / 2 * WORD)
            memcpy(&h->words[out->word_count++], bytes + i * 4, 4);
    }
    out->words = h->words;
}

void import_lay_out(import_heap *h, const import_node *node, heap_writer_object *out)
{
    import_layout *layout = &h->types[out->type].layout;

    if ((node->edges == 0 && !layout->is_wanted) || !layout->shape.is_known ||
        !has_room(h, node->edges) || !is_of_class(h, node) ||
        !find_places(h, node, out->targets, &layout->shape))
        return;
    out->places = h->places;
    layout->has_places = true;
    if (layout->is_wanted || layout->is_counted)
        take_values(h, node, layout, out);
    layout->has_values |= out->words != NULL;
}
