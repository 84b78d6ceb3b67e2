/*
 * import_layout: where the objects of a heap dump keep their references, what their fields are
 * called, and values of some of them; see import_private.h. The events have none of that: it is
 * read from the process's memory while they come. The program may have gone on: places count where
 * what is at them are just the references that the events tell, one after the other.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clarinet/names.h"
#include "diagnostics/import_private.h"
#include "recording/tables.h"

enum {
    WORD = 8,
    BOX_HEAD = 8,
    MOST_LEVELS = 32,  /* of a class and what it derives from */
    MOST_TOKENS = 32,  /* of a class whose values are wanted */
    MOST_FIELDS = 256, /* places of one type that are named */
    DEEPEST_ARGUMENTS = 4,
    FIRST_ARGUMENTS = 48, /* of a class: where its type arguments are */
    A_STRUCT = 0x11,
    A_CLASS = 0x12,
    A_STRING = 0x0e,
    LAST_NUMBER = 0x0d,
    IS_VALUE_MASK = 0x000c0000, /* of a class's flags */
    IS_VALUE = 0x00040000,
    NO_CLASS = 3,     /* bits of a type argument that is something else */
    LEAST_ROOM = 16,  /* elements, of a collection that counts them */
    ENOUGH_ALIKE = 4, /* references in a row, behind some that have changed */
    MOST_CHANGED = 16,
    MOST_COMPARED = 4 << 20, /* words of an object that has changed */
};

static const char CORE[] = "System.Private.CoreLib";

/* ---- objects ---- */

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
    size_t wish = (size_t)count + 1024;
    uint64_t *grown;

    if (count < h->place_capacity)
        return true;
    grown = memory_resize(h->places, wish * sizeof *grown);
    if (grown == NULL) {
        h->failed = true;
        return false;
    }
    h->places = grown;
    h->place_capacity = wish;
    return true;
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

/* ---- names ---- */

/* A class and those it derives from. */
typedef struct {
    event_import *i;
    const import_type *type;
    class_memory_class levels[MOST_LEVELS];
    const char *homes[MOST_LEVELS]; /* names of assemblies; NULL = not known */
    size_t count;
    field_index_arguments arguments; /* of the first */
    buffer shapes;
} chain;

static const char *home_of(const event_import *i, uint64_t module)
{
    return import_string_text(&i->names, import_module_name(&i->names, module));
}

/* Whether the assembly has a class in this row with these fields. */
static bool is_home(const event_import *i, const char *home, const class_memory_class *class)
{
    for (uint32_t k = 0; k < class->field_count; k++) {
        const field_index_field *field =
            field_index_find(i->heap.namer.fields, home, class->fields[k].token);

        if (field == NULL ||
            ((field->class_row & 0xffff) != class->rows[0] && field->class_row != class->rows[1]))
            return false;
    }
    return true;
}

/* Before 9.0 a generic class says another module, where its arguments are from one. */
static const char *find_home(const chain *c, const class_memory_class *class, const char *before)
{
    const char *candidates[] = {before, home_of(c->i, class->module), CORE};

    for (size_t k = 0; k < sizeof candidates / sizeof *candidates; k++)
        if (is_home(c->i, candidates[k], class))
            return candidates[k];
    return NULL;
}

static bool put_argument(chain *c, uint64_t type_id, unsigned depth)
{
    const import_heap *h = &c->i->heap;
    const import_type *type;
    uint64_t number;

    if (depth > DEEPEST_ARGUMENTS || !table_u64_get(&h->type_numbers, type_id, &number) ||
        h->types[number].shape == 0)
        return false;
    type = &h->types[number];
    if (type->shape != A_STRUCT) {
        if (import_is_value(type->shape))
            field_index_put_number(&c->shapes);
        else
            field_index_put_reference(&c->shapes);
        return true;
    }
    field_index_put_struct(h->namer.fields, home_of(c->i, type->module), type->definition,
                           (uint8_t)type->parameter_count, &c->shapes);
    for (uint32_t k = 0; k < type->parameter_count; k++)
        if (!put_argument(c, h->parameters[type->parameters + k], depth + 1))
            return false;
    return true;
}

static void find_arguments(chain *c)
{
    const import_heap *h = &c->i->heap;
    size_t begins[FIELD_INDEX_ARGUMENTS];
    uint32_t count = 0;

    while (count < c->type->parameter_count && count < FIELD_INDEX_ARGUMENTS) {
        begins[count] = c->shapes.length;
        if (!put_argument(c, h->parameters[c->type->parameters + count], 0))
            break;
        count++;
    }
    if (buffer_failed(&c->shapes) || c->shapes.data == NULL)
        return;
    c->arguments.count = count;
    for (uint32_t k = 0; k < count; k++)
        c->arguments.shapes[k] = c->shapes.data + begins[k];
}

static void open_chain(chain *c, event_import *i, uint64_t class_id, const import_type *type)
{
    const char *home = home_of(i, type->module);

    memset(c, 0, sizeof *c);
    c->i = i;
    c->type = type;
    while (class_id != 0 && c->count < MOST_LEVELS &&
           class_memory_class_of(memory_of(&i->heap), class_id, &c->levels[c->count])) {
        c->homes[c->count] = find_home(c, &c->levels[c->count], home);
        if (c->homes[c->count] != NULL)
            home = c->homes[c->count];
        class_id = c->levels[c->count++].parent;
    }
    find_arguments(c);
}

static void close_chain(chain *c)
{
    for (size_t k = 0; k < c->count; k++)
        class_memory_class_free(&c->levels[k]);
    buffer_free(&c->shapes);
}

/* The field at or before an offset, and where the next one begins. */
static const class_memory_field *find_field(const chain *c, uint32_t offset, size_t *level,
                                            uint32_t *next)
{
    const class_memory_field *best = NULL;

    *next = UINT32_MAX;
    for (size_t k = 0; k < c->count; k++)
        for (uint32_t f = 0; f < c->levels[k].field_count; f++) {
            const class_memory_field *field = &c->levels[k].fields[f];

            if (field->offset > offset && field->offset < *next)
                *next = field->offset;
            if (field->offset <= offset && (best == NULL || field->offset > best->offset)) {
                best = field;
                *level = k;
            }
        }
    return best;
}

/* Of a place that is inside of a struct: which of its references that is. */
static void append_inside(const chain *c, size_t level, const class_memory_field *found,
                          uint32_t next, const uint32_t *offsets, size_t count, uint32_t offset,
                          const field_index_field *field, buffer *out)
{
    static const field_index_arguments NONE = {{0}, 0};
    uint32_t number = 0, all = 0;
    size_t before = out->length;

    for (size_t k = 0; k < count; k++) {
        bool is_inside = offsets[k] >= found->offset && offsets[k] < next;

        number += is_inside && offsets[k] < offset;
        all += is_inside;
    }
    buffer_append_char(out, '.');
    if (!field_index_name_inside(c->i->heap.namer.fields, field, level == 0 ? &c->arguments : &NONE,
                                 number, all, clr_name_append_field, out))
        out->length = before;
}

/* The name of the field at an offset behind the head; 0 = not known. */
static uint32_t name_at(chain *c, const uint32_t *offsets, size_t count, uint32_t offset)
{
    const field_index *index = c->i->heap.namer.fields;
    size_t level = 0;
    uint32_t next;
    const class_memory_field *found = find_field(c, offset, &level, &next);
    const field_index_field *field = found == NULL || c->homes[level] == NULL
                                         ? NULL
                                         : field_index_find(index, c->homes[level], found->token);
    buffer *name = &c->i->names.spelled;

    if (field == NULL || (found->kind != A_STRUCT && found->offset != offset))
        return 0;
    buffer_clear(name);
    clr_name_append_field(name, field_index_name(index, field));
    if (found->kind == A_STRUCT)
        append_inside(c, level, found, next, offsets, count, offset, field, name);
    return import_string(&c->i->names, buffer_text(name), name->length);
}

static void add_row(import_heap *h, import_field row)
{
    if (h->field_count == h->field_capacity) {
        size_t wish = h->field_capacity * 2 + 1024;
        import_field *grown = memory_resize(h->fields, wish * sizeof *grown);

        if (grown == NULL) {
            h->failed = true;
            return;
        }
        h->fields = grown;
        h->field_capacity = wish;
    }
    h->fields[h->field_count++] = row;
}

/* References of an object, or of an array's element, behind the head of either. An array whose
 * elements are nothing but references is told as one run of them. */
static size_t offsets_of(const class_memory_shape *shape, uint32_t *offsets)
{
    uint64_t head = shape->element == 0 ? BOX_HEAD : shape->base - BOX_HEAD;
    class_memory_places all = class_memory_begin(shape, (uint64_t)shape->base + shape->element);
    size_t count = 0;
    uint64_t place;

    while (count < MOST_FIELDS && class_memory_next(&all, &place))
        offsets[count++] = (uint32_t)(place - head);
    return count;
}

static void name_references(chain *c, uint32_t number, const class_memory_shape *shape)
{
    uint32_t offsets[MOST_FIELDS];
    size_t count = offsets_of(shape, offsets);
    uint32_t head = shape->element != 0 ? 0 : BOX_HEAD;

    for (size_t k = 0; k < count; k++) {
        uint32_t name = name_at(c, offsets, count, offsets[k]);

        if (name != 0)
            add_row(&c->i->heap, (import_field){number, offsets[k] + head, name, 0});
    }
}

static bool is_reference(uint8_t kind)
{
    return kind == A_CLASS || kind == A_STRING;
}

static void name_values(chain *c, uint32_t number)
{
    for (size_t level = 0; level < c->count; level++)
        for (uint32_t f = 0; f < c->levels[level].field_count; f++) {
            const class_memory_field *field = &c->levels[level].fields[f];
            uint32_t name = is_reference(field->kind) || field->kind == A_STRUCT
                                ? 0
                                : name_at(c, NULL, 0, field->offset);

            if (name != 0)
                add_row(&c->i->heap,
                        (import_field){number, field->offset + BOX_HEAD, name, field->kind});
        }
}

/* Of an array whose elements are structs, their fields. */
static void name_type(event_import *i, uint32_t number)
{
    import_heap *h = &i->heap;
    const import_type *type = &h->types[number];
    const import_layout *layout = &type->layout;
    uint64_t class_id = h->writer.types[number].class, element;
    chain c;

    if (type->element != 0) {
        if (!table_u64_get(&h->type_numbers, type->element, &element) ||
            h->types[element].shape != A_STRUCT)
            return;
        class_id = type->element;
        type = &h->types[element];
    }
    open_chain(&c, i, class_id, type);
    name_references(&c, number, &layout->shape);
    if (layout->has_values)
        name_values(&c, number);
    close_chain(&c);
}

void import_name_fields(event_import *i)
{
    import_heap *h = &i->heap;

    for (size_t k = 0; k < h->writer.type_count && h->namer.fields != NULL; k++)
        if (h->types[k].layout.has_places)
            name_type(i, (uint32_t)k);
}

void import_add_place(import_heap *h, import_place place)
{
    if (h->static_place_count == h->static_place_capacity) {
        size_t wish = h->static_place_capacity * 2 + 1024;
        import_place *grown = memory_resize(h->static_places, wish * sizeof *grown);

        if (grown == NULL) {
            h->failed = true;
            return;
        }
        h->static_places = grown;
        h->static_place_capacity = wish;
    }
    h->static_places[h->static_place_count++] = place;
}

/* ---- tables ---- */

static void write_names(const import_heap *h, uint64_t id, bool of_values, buffer *out)
{
    static const recording_column COLUMNS[] = {
        {RECORDING_U64, "type", ""},
        {RECORDING_U64, "place", "bytes"},
        {RECORDING_STRING_ID, "name", ""},
        {RECORDING_U64, "kind", ""},
    };
    const recording_table table = {of_values ? "heap_values" : "heap_fields", "heap", COLUMNS,
                                   of_values ? 4 : 3};
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, id, &table);
    recording_end_chunk(out, chunk);
    recording_rows_begin(&rows, out, 0, id, &table);
    for (size_t k = 0; k < h->field_count; k++) {
        const import_field *f = &h->fields[k];

        if ((f->kind != 0) == of_values)
            recording_rows_put_row(&rows, (uint64_t[]){f->type, f->place, f->name, f->kind});
    }
    recording_rows_end(&rows);
}

static void write_statics(const import_heap *h, uint64_t id, buffer *out)
{
    static const recording_column COLUMNS[] = {
        {RECORDING_U64, "slot", ""},   {RECORDING_STRING_ID, "name", ""},
        {RECORDING_U64, "length", ""}, {RECORDING_U64, "index", ""},
        {RECORDING_U64, "class", ""},  {RECORDING_U64, "thread_index", ""},
    };
    static const recording_table TABLE = {"heap_statics", "heap", COLUMNS, 6};
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, id, &TABLE);
    recording_end_chunk(out, chunk);
    recording_rows_begin(&rows, out, 0, id, &TABLE);
    for (size_t k = 0; k < h->static_place_count; k++) {
        const import_place *p = &h->static_places[k];

        recording_rows_put_row(&rows,
                               (uint64_t[]){p->slot, p->name, 0, p->index, 0, p->thread_index});
    }
    recording_rows_end(&rows);
}

void import_write_fields(event_import *i, uint64_t table, buffer *out)
{
    write_names(&i->heap, table, false, out);
    write_names(&i->heap, table + 1, true, out);
    write_statics(&i->heap, table + 2, out);
}
