/*
 * import_heap: the heap-dump events of an event stream as a heap snapshot; see import.h.
 *
 * Nodes say how many references they have, and references come in events of their own, sooner or
 * later than their nodes: both wait until the other side is there. A second walk in one session
 * throws the first one away; every walk begins with node event 0. Types and modules are told at any
 * time, so objects are written with numbers, and what they mean follows at the end.
 */
#include <string.h>

#include "base/memory.h"
#include "diagnostics/import_private.h"
#include "diagnostics/type_text.h"
#include "recording/tables.h"

enum {
    TYPES = 15,
    ROOT_EDGES = 16,
    DEPENDENT_EDGES = 17,
    NODES = 18,
    EDGES = 19,
    RANGE = 23,
    STATICS = 38,
    TYPE_IS_DELEGATE = 1,
    TYPE_IS_FINALIZABLE = 2,
    TYPE_IS_ARRAY = 8,
    TYPE_RANK = 8, /* bits before it */
    MOST_RANK = 63,
    LAST_NUMBER = 0x0d, /* CorElementTypes: void, bool, … double */
    A_STRUCT = 0x11,
    AN_INT_PTR = 0x18,
    A_UINT_PTR = 0x19,
    ARRAY_DATA = 16,
    WORD = 8,
    DEEPEST_ARRAYS = 3, /* of arrays, whose elements are named */
    GC_START = 1,
    GC_END = 2,
    MOST_NAME = 4096,
    KEPT = 1 << 16, /* references that were used and are still in the array */
    LAST_GENERATION = 4,
};

enum { TABLES_HEAP_FUNCTIONS(TABLES_CELL) FUNCTION_COLUMNS };
static const recording_column COLUMNS[FUNCTION_COLUMNS] = {TABLES_HEAP_FUNCTIONS(TABLES_COLUMN)};
static const recording_table FUNCTIONS = {"heap_functions", "heap", COLUMNS, FUNCTION_COLUMNS};

static bool grow(void *array, size_t *capacity, size_t count, size_t size)
{
    void **items = array;
    size_t wish = *capacity * 2 + 1024;
    void *grown;

    if (count < *capacity)
        return true;
    grown = memory_resize(*items, wish * size);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wish;
    return true;
}

void import_heap_init(import_heap *h)
{
    memset(h, 0, sizeof *h);
    heap_writer_init(&h->writer);
    heap_texts_init(&h->texts);
    h->values_left = IMPORT_VALUES_IN_ALL;
    table_u64_init(&h->type_numbers);
    table_u64_init(&h->functions);
    table_u64_init(&h->static_names);
}

void import_heap_free(import_heap *h)
{
    for (size_t k = 0; h->types != NULL && k < h->writer.type_count; k++)
        class_memory_shape_free(&h->types[k].layout.shape);
    heap_writer_free(&h->writer);
    heap_texts_free(&h->texts);
    table_u64_free(&h->type_numbers);
    table_u64_free(&h->functions);
    table_u64_free(&h->static_names);
    memory_free(h->types);
    memory_free(h->nodes);
    memory_free(h->edges);
    memory_free(h->statics);
    memory_free(h->places);
    memory_free(h->fields);
    memory_free(h->static_places);
    memory_free(h->parameters);
}

/* ---- types ---- */

static uint32_t number_of(import_heap *h, uint64_t type_id)
{
    uint64_t *number = table_u64_at(&h->type_numbers, type_id, UINT32_MAX);

    if (number == NULL ||
        !grow(&h->types, &h->type_capacity, h->writer.type_count, sizeof *h->types)) {
        h->failed = true;
        return 0;
    }
    if (*number == UINT32_MAX) {
        *number = heap_writer_add_type(&h->writer, 0, 0, 0);
        if (h->writer.failed) {
            h->failed = true;
            return 0;
        }
        h->writer.types[*number].class = type_id;
        h->types[*number] = (import_type){0};
    }
    return (uint32_t)*number;
}

/* Whether the outermost part of a name has neither a namespace nor an outer class. */
static bool is_bare(const char *text)
{
    size_t length = strcspn(text, "[");

    return memchr(text, '.', length) == NULL && memchr(text, '+', length) == NULL;
}

static void spell_type(event_import *i, heap_writer_type *type, const char *text)
{
    buffer *spelled = &i->names.spelled;

    buffer_clear(spelled);
    type_text_append(spelled, text);
    type->name = import_string(&i->names, buffer_text(spelled), spelled->length);
    type->flags = type_text_is_array(buffer_text(spelled)) ? RECORDING_TYPE_ARRAY : 0;
    if (strcmp(buffer_text(spelled), "string") == 0)
        type->flags |= RECORDING_TYPE_STRING;
}

bool import_is_value(uint8_t shape)
{
    return (shape != 0 && shape <= LAST_NUMBER) || shape == A_STRUCT || shape == AN_INT_PTR ||
           shape == A_UINT_PTR;
}

static uint32_t flags_of(const import_type *type, uint32_t told)
{
    if (type->element != 0)
        return 0;
    if (import_is_value(type->shape))
        return RECORDING_TYPE_BOXED;
    return ((told & TYPE_IS_DELEGATE) != 0 ? RECORDING_TYPE_DELEGATE : 0u) |
           ((told & TYPE_IS_FINALIZABLE) != 0 ? RECORDING_TYPE_FINALIZABLE : 0u);
}

static void take_parameters(import_heap *h, reader *r, uint32_t count, import_type *type)
{
    type->parameters = h->parameter_count;
    for (uint32_t k = 0; k < count && !reader_failed(r); k++) {
        uint64_t parameter = reader_u64(r);

        if (!grow(&h->parameters, &h->parameter_capacity, h->parameter_count,
                  sizeof *h->parameters)) {
            h->failed = true;
            return;
        }
        h->parameters[h->parameter_count++] = parameter;
    }
    type->parameter_count = count;
}

static void take_types(event_import *i, reader *r)
{
    import_heap *h = &i->heap;
    uint32_t count = reader_u32(r);

    reader_u16(r);
    for (uint32_t k = 0; k < count && !reader_failed(r) && !h->failed; k++) {
        uint64_t type_id = reader_u64(r);
        import_type found = {.module = reader_u64(r)};
        uint32_t parameters, number, flags;

        found.definition = found.token = reader_u32(r);
        flags = reader_u32(r);
        found.shape = reader_u8(r);
        import_read_text(r, &i->names.text);
        parameters = reader_u32(r);
        if ((flags & TYPE_IS_ARRAY) != 0 && parameters == 1) {
            found.element = reader_u64(r);
            found.rank = flags >> TYPE_RANK & MOST_RANK;
            parameters = 0;
        }
        found.flags = flags_of(&found, flags);
        take_parameters(h, r, parameters, &found);
        if (reader_failed(r))
            return;
        number = number_of(h, type_id);
        if (h->failed)
            return;
        spell_type(i, &h->writer.types[number], buffer_text(&i->names.text));
        if (found.element != 0 || !is_bare(buffer_text(&i->names.text)))
            found.token = 0;
        else
            found.text =
                import_string(&i->names, buffer_text(&i->names.text), i->names.text.length);
        found.kind = h->types[number].kind;
        found.has_unread_state = h->types[number].has_unread_state;
        found.layout = h->types[number].layout;
        h->types[number] = found;
    }
}

/* ---- objects ---- */

static heap_texts_kind kind_of(import_heap *h, const import_node *node, uint32_t type)
{
    heap_texts_kind *kind = &h->types[type].kind;

    if (*kind == HEAP_TEXTS_NOT_ASKED)
        *kind = heap_texts_kind_of(&h->texts, node->type);
    return *kind;
}

/* A string or an array of numbers, with what it has in it where that could be read. */
static bool write_content(import_heap *h, const import_node *node, uint32_t type)
{
    heap_texts_kind kind = kind_of(h, node, type);
    const uint16_t *text = NULL;
    uint32_t length = 0;
    uint64_t code;

    if (kind != HEAP_TEXTS_STRING && kind != HEAP_TEXTS_ARRAY)
        return false;
    code = heap_texts_code(&h->texts, kind, node->type, node->address, node->size, &text, &length);
    heap_writer_put_content(&h->writer, node->address, type, node->size,
                            kind == HEAP_TEXTS_STRING ? RECORDING_SHAPE_STRING
                                                      : RECORDING_SHAPE_CONTENT,
                            code, text, length);
    return true;
}

static void write_object(import_heap *h, const import_node *node, uint32_t type)
{
    heap_writer_object object = {.address = node->address,
                                 .size = node->size,
                                 .type = type,
                                 .targets = node->edges != 0 ? h->edges + h->edge_next : NULL,
                                 .count = (size_t)node->edges};
    bool is_finalized;

    import_read_layout(h, node->type, type);
    if (write_content(h, node, type))
        return;
    if (kind_of(h, node, type) == HEAP_TEXTS_FINALIZABLE) {
        if (!heap_texts_is_finalized(&h->texts, node->type, node->address, &is_finalized))
            h->types[type].has_unread_state = true;
        else if (is_finalized)
            object.flags = RECORDING_SHAPE_FINALIZED;
    }
    import_lay_out(h, node, &object);
    heap_writer_put_object(&h->writer, &object);
}

/* Objects whose references are all there. */
static void write_ready(import_heap *h)
{
    while (h->node_next < h->node_count && !h->failed) {
        const import_node *node = &h->nodes[h->node_next];
        uint32_t type;

        if (node->edges > h->edge_count - h->edge_next)
            break;
        type = number_of(h, node->type);
        if (h->failed)
            break;
        if (node->address % 8 == 0)
            write_object(h, node, type);
        h->edge_next += (size_t)node->edges;
        h->node_next++;
    }
    if (h->node_next == h->node_count)
        h->node_next = h->node_count = 0;
    if (h->edge_next == h->edge_count)
        h->edge_next = h->edge_count = 0;
    if (h->edge_next > KEPT && h->edge_next > h->edge_count / 2) {
        memmove(h->edges, h->edges + h->edge_next,
                (h->edge_count - h->edge_next) * sizeof *h->edges);
        h->edge_count -= h->edge_next;
        h->edge_next = 0;
    }
}

static void begin_walk(import_heap *h)
{
    if (h->has_nodes || h->writer.root_count != 0)
        heap_writer_begin(&h->writer);
    heap_texts_clear(&h->texts);
    h->static_count = 0;
    h->has_nodes = false;
    h->is_over = false;
    h->node_next = h->node_count = h->edge_next = h->edge_count = 0;
    h->next_nodes = h->next_edges = 0;
    h->gaps = 0;
    h->values_left = IMPORT_VALUES_IN_ALL;
    for (size_t k = 0; k < h->writer.type_count; k++)
        h->types[k].has_unread_state = false;
}

static void take_nodes(import_heap *h, reader *r)
{
    uint32_t index = reader_u32(r);
    uint32_t count = reader_u32(r);

    reader_u16(r);
    h->has_nodes = true;
    h->gaps += index != h->next_nodes;
    h->next_nodes = index + 1;
    for (uint32_t k = 0; k < count && !reader_failed(r); k++) {
        import_node node = {reader_u64(r), reader_u64(r), reader_u64(r), reader_u64(r)};

        if (reader_failed(r))
            break;
        if (!grow(&h->nodes, &h->node_capacity, h->node_count, sizeof *h->nodes)) {
            h->failed = true;
            return;
        }
        h->nodes[h->node_count++] = node;
    }
    write_ready(h);
}

static void take_edges(import_heap *h, reader *r)
{
    uint32_t index = reader_u32(r);
    uint32_t count = reader_u32(r);

    reader_u16(r);
    h->gaps += index != h->next_edges;
    h->next_edges = index + 1;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t target = reader_u64(r);

        reader_u32(r); /* field: always 0 */
        if (reader_failed(r))
            break;
        if (!grow(&h->edges, &h->edge_capacity, h->edge_count, sizeof *h->edges)) {
            h->failed = true;
            return;
        }
        h->edges[h->edge_count++] = target;
    }
    write_ready(h);
}

/* ---- roots ---- */

static void take_roots(import_heap *h, reader *r)
{
    uint32_t count;

    reader_u32(r);
    count = reader_u32(r);
    reader_u16(r);
    for (uint32_t k = 0; k < count && !reader_failed(r); k++) {
        uint64_t object = reader_u64(r);
        uint32_t kind = reader_u8(r), flags = reader_u32(r);
        uint64_t id = reader_u64(r);

        if (reader_failed(r) || object == 0)
            continue;
        kind = kind > RECORDING_ROOT_OTHER ? RECORDING_ROOT_OTHER : kind;
        heap_writer_put_root(&h->writer, kind, flags & 15, object, id, "", 0);
        if (kind == RECORDING_ROOT_STACK && id != 0 && !table_u64_put(&h->functions, id, 1))
            h->failed = true;
    }
}

static void take_dependents(import_heap *h, reader *r)
{
    uint32_t count;

    reader_u32(r);
    count = reader_u32(r);
    reader_u16(r);
    for (uint32_t k = 0; k < count && !reader_failed(r); k++) {
        uint64_t key = reader_u64(r), value = reader_u64(r);

        reader_u64(r);
        if (!reader_failed(r) && key != 0 && value != 0)
            heap_writer_put_root(&h->writer, RECORDING_ROOT_DEPENDENT, 0, key, value, "", 0);
    }
}

/* The runtime tells the ranges of generations before its collection and again behind the walk:
 * these are the ones that fit. */
static void take_range(import_heap *h, reader *r)
{
    uint32_t generation = reader_u8(r);
    uint64_t start = reader_u64(r), length = reader_u64(r);

    if (!h->has_nodes || h->is_over)
        return;
    if (!reader_failed(r) && generation <= LAST_GENERATION && length != 0)
        heap_writer_put_range(&h->writer, generation, start, length);
}

bool import_take_heap(event_import *i, uint32_t id, uint64_t time, reader r)
{
    import_heap *h = &i->heap;
    reader head = r;

    switch (id) {
    case TYPES:
        take_types(i, &r);
        return true;
    case NODES:
        if (h->has_nodes && reader_u32(&head) == 0)
            begin_walk(h);
        h->begin = h->has_nodes ? h->begin : time;
        take_nodes(h, &r);
        break;
    case EDGES:
        take_edges(h, &r);
        break;
    case ROOT_EDGES:
        take_roots(h, &r);
        break;
    case DEPENDENT_EDGES:
        take_dependents(h, &r);
        break;
    case STATICS:
        if (h->has_nodes)
            begin_walk(h);
        import_take_statics(i, &r);
        break;
    case RANGE:
        take_range(h, &r);
        return true;
    case GC_START:
        h->tells_end = true;
        return false;
    case GC_END:
        h->is_over = h->has_nodes;
        return false;
    default:
        return false;
    }
    h->end = time;
    return true;
}

/* ---- at the end ---- */

static void write_functions(event_import *i, uint64_t table, buffer *out)
{
    const table_u64 *all = &i->heap.functions;
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, table, &FUNCTIONS);
    recording_end_chunk(out, chunk);
    recording_rows_begin(&rows, out, 0, table, &FUNCTIONS);
    for (size_t k = 0; k < all->capacity; k++) {
        uint32_t method = all->slots[k].used ? import_method(&i->names, all->slots[k].key) : 0;

        if (method != 0)
            recording_rows_put_row(&rows, (uint64_t[]){all->slots[k].key, method});
    }
    recording_rows_end(&rows);
}

/* The events have a nested type without its outer classes. */
static void name_nested(event_import *i, heap_writer_type *type, import_type *known)
{
    const import_namer *namer = &i->heap.namer;
    const char *home = import_string_text(&i->names, type->assembly);
    const char *text = import_string_text(&i->names, known->text);
    const char *whole = namer->nested(namer->context, home, known->token);
    const char *inner = whole == NULL ? NULL : strrchr(whole, '+');
    size_t length = strcspn(text, "["); /* what a generic type is made of comes behind it */
    buffer *name = &i->names.text;

    if (inner == NULL || strlen(inner + 1) != length || strncmp(inner + 1, text, length) != 0)
        return;
    buffer_clear(name);
    buffer_append_text(name, whole);
    buffer_append_text(name, text + length);
    spell_type(i, type, buffer_text(name));
    known->is_whole = true;
}

/* Where the brackets at the end of a name begin. */
static size_t length_without_arrays(const char *name)
{
    size_t length = strlen(name);

    while (length > 0 && strchr("[],", name[length - 1]) != NULL)
        length--;
    return length;
}

/* After its elements' type: the array's own brackets come first. */
static void name_array(event_import *i, heap_writer_type *type, import_type *known)
{
    const import_heap *h = &i->heap;
    buffer *name = &i->names.text;
    const char *text, *brackets;
    uint64_t element;
    size_t length;

    if (!table_u64_get(&h->type_numbers, known->element, &element) || !h->types[element].is_whole)
        return;
    text = import_string_text(&i->names, type->name);
    brackets = text + length_without_arrays(text);
    if (*brackets != '[')
        return;
    text = import_string_text(&i->names, h->writer.types[element].name);
    length = length_without_arrays(text);
    buffer_clear(name);
    buffer_append(name, text, length);
    buffer_append(name, brackets, strcspn(brackets, "]") + 1);
    buffer_append_text(name, text + length);
    type->name = import_string(&i->names, buffer_text(name), name->length);
    known->is_whole = true;
}

/* What a type is, once the types of arrays' elements are known. Whether objects were disposed is
 * said only where it could be read of all of the type. */
static void classify(import_heap *h, heap_writer_type *type, const import_type *known)
{
    uint64_t element;

    type->flags |= known->flags;
    if (known->kind != HEAP_TEXTS_FINALIZABLE || known->has_unread_state)
        type->flags &= ~(uint32_t)RECORDING_TYPE_FINALIZABLE;
    if (known->layout.shape.is_known) {
        if (type->element != 0 && class_memory_has_references(&known->layout.shape))
            type->flags |= RECORDING_TYPE_REFERENCES;
        return;
    }
    if (known->element == 0 || !table_u64_get(&h->type_numbers, known->element, &element) ||
        h->types[element].shape == 0 || import_is_value(h->types[element].shape))
        return;
    type->flags |= RECORDING_TYPE_REFERENCES;
    type->element = WORD;
    type->data = ARRAY_DATA + WORD * (uint32_t)known->rank;
}

void import_name_heap(event_import *i)
{
    import_heap *h = &i->heap;

    for (size_t k = 0; k < h->writer.type_count && h->has_nodes; k++)
        classify(h, &h->writer.types[k], &h->types[k]);
    for (size_t k = 0; k < h->writer.type_count && h->has_nodes; k++) {
        h->writer.types[k].assembly = import_module_name(&i->names, h->types[k].module);
        if (h->types[k].token != 0 && h->namer.nested != NULL)
            name_nested(i, &h->writer.types[k], &h->types[k]);
    }
    for (int depth = 0; depth < DEEPEST_ARRAYS && h->namer.nested != NULL; depth++)
        for (size_t k = 0; k < h->writer.type_count && h->has_nodes; k++)
            if (h->types[k].element != 0 && !h->types[k].is_whole)
                name_array(i, &h->writer.types[k], &h->types[k]);
    if (h->has_nodes) {
        import_name_fields(i);
        import_find_places(i);
    }
}

void import_write_heap(event_import *i, uint64_t table, buffer *out)
{
    import_heap *h = &i->heap;
    bool is_whole = (h->is_over || !h->tells_end) && h->gaps == 0 &&
                    h->node_count == h->node_next && h->edge_count == h->edge_next;
    const char *trouble = h->gaps == 0 && i->dropped == 0
                              ? "the events end before it does"
                              : "events of it were lost: the program's room for them was full";
    size_t chunk;

    if (!h->has_nodes)
        return;
    write_functions(i, table, out);
    import_write_fields(i, table + 2, out);
    import_put_statics(i);
    h->writer.with_strings = h->texts.is_comparing;
    h->writer.not_compared = h->texts.not_compared;
    heap_writer_finish(&h->writer, table + 1, h->end - h->begin, is_whole ? "" : trouble, out);
    chunk = recording_begin_chunk(out, RECORDING_PROFILER, 0);
    recording_put_profiler(out, "heap", RECORDING_STARTED, 0, "", NULL, 0);
    recording_put_profiler(out, "heap", RECORDING_STOPPED, i->last_time, "", NULL, 0);
    recording_end_chunk(out, chunk);
    i->failed = i->failed || h->failed || h->writer.failed;
}
