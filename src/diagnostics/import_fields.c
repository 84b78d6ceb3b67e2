/*
 * import_fields: names of the places in objects and in elements of arrays, for a heap dump, and the
 * tables with them; see import_private.h. A class's record in the process's memory tells its
 * fields by their tokens, the metadata of its assembly their names.
 */
#include "base/array.h"
#include "base/text.h"
#include "clarinet/names.h"
#include "diagnostics/import_private.h"
#include "recording/tables.h"

enum {
    BOX_HEAD = 8,
    MOST_LEVELS = 32,  /* of a class and what it derives from */
    MOST_FIELDS = 256, /* places of one type that are named */
    DEEPEST_ARGUMENTS = 4,
    ENOUGH_VOTES = 64,
    A_STRUCT = 0x11,
    A_CLASS = 0x12,
    A_STRING = 0x0e,
};

static const char CORE[] = "System.Private.CoreLib";

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
    uint32_t row = i->heap.has_short_rows ? class->rows[0] : class->rows[1];
    uint32_t mask = i->heap.has_short_rows ? UINT16_MAX : UINT32_MAX;

    for (uint32_t k = 0; k < class->field_count; k++) {
        const field_index_field *field =
            field_index_find(i->heap.namer.fields, home, class->fields[k].token);

        if (field == NULL || (field->class_row & mask) != row ||
            !field_index_may_be(field, class->fields[k].kind))
            return false;
    }
    return true;
}

/* Before 9.0 a generic class may say the module of one of its arguments: the one counts in which it
 * fits, unless it fits in several. */
static const char *guess_home(const chain *c, const class_memory_class *class, const char *before)
{
    const char *candidates[] = {home_of(c->i, class->module), before, CORE};
    const char *found = NULL;

    for (size_t k = 0; k < sizeof candidates / sizeof *candidates; k++) {
        if (!is_home(c->i, candidates[k], class) ||
            (found != NULL && text_equal(found, candidates[k])))
            continue;
        if (found != NULL)
            return NULL;
        found = candidates[k];
    }
    return found;
}

/* The name of the assembly that a class is from; `before`: of the one that derives from it. */
static const char *find_home(const chain *c, const class_memory_class *class, const char *before)
{
    const import_heap *h = &c->i->heap;
    const char *home = home_of(c->i, class->module);
    uint64_t number;

    if (table_u64_get(&h->type_numbers, class->class_id, &number) && h->types[number].module != 0)
        home = home_of(c->i, h->types[number].module);
    else if (h->has_short_rows && class->is_generic)
        return guess_home(c, class, before);
    return is_home(c->i, home, class) ? home : NULL;
}

/* 8.0 keeps a class's row in the metadata in 16 bits, later ones elsewhere in 24: by the classes
 * whose rows the events tell. */
static bool has_short_rows(const import_heap *h)
{
    size_t votes[2] = {0};

    for (size_t k = 0; k < h->writer.type_count && votes[0] + votes[1] < ENOUGH_VOTES; k++) {
        uint32_t row = h->types[k].definition & 0xffffff;
        class_memory_class class;

        if (row == 0 || h->types[k].element != 0 ||
            !class_memory_class_of(&h->texts.memory, h->writer.types[k].class, &class))
            continue;
        votes[0] += class.rows[0] == (row & UINT16_MAX);
        votes[1] += class.rows[1] == row;
        class_memory_class_free(&class);
    }
    return votes[0] > votes[1];
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
           class_memory_class_of(&i->heap.texts.memory, class_id, &c->levels[c->count])) {
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
    if (!array_reserve(&h->fields, &h->field_capacity, h->field_count + 1, sizeof row)) {
        h->failed = true;
        return;
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

    if (h->namer.fields != NULL && h->texts.memory.read != NULL)
        h->has_short_rows = has_short_rows(h);
    for (size_t k = 0; k < h->writer.type_count && h->namer.fields != NULL; k++)
        if (h->types[k].layout.has_places)
            name_type(i, (uint32_t)k);
}

void import_add_place(import_heap *h, import_place place)
{
    if (!array_reserve(&h->static_places, &h->static_place_capacity, h->static_place_count + 1,
                       sizeof place)) {
        h->failed = true;
        return;
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
