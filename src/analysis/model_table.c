/* model_table: tables and their rows while a model is loaded. See model_load.h. */
#include "analysis/model_load.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

static const size_t MAXIMUM_TABLES = 1000;
static const size_t FIRST_ROWS = 256;
/* The column of rows that may be written again: the last one with the same value counts. */
static const char NUMBER[] = "row";

static bool is_narrow(uint8_t type)
{
    switch (type) {
    case RECORDING_THREAD_ID:
    case RECORDING_STACK_ID:
    case RECORDING_STRING_ID:
    case RECORDING_METHOD_ID:
    case RECORDING_MODULE_ID:
    case RECORDING_FRAME_ID:
        return true;
    default:
        return false;
    }
}

static bool same_columns(const model_table *a, const model_table *b)
{
    if (a->name != b->name || a->profiler != b->profiler || a->column_count != b->column_count)
        return false;
    for (size_t i = 0; i < a->column_count; i++)
        if (a->columns[i].name != b->columns[i].name || a->columns[i].type != b->columns[i].type)
            return false;
    return true;
}

/* Reads the columns of a definition; false: no memory. Broken ones set r->failed. */
static bool load_columns(model *m, model_table *table, uint64_t count, reader *r)
{
    recording_column_head head;

    if (count == 0 || count > RECORDING_MAXIMUM_COLUMNS) {
        r->failed = true;
        return true;
    }
    table->columns = memory_allocate_array((size_t)count, sizeof *table->columns);
    if (table->columns == NULL)
        return false;
    for (uint64_t i = 0; i < count && recording_next_column(r, &head); i++) {
        model_column *column = &table->columns[table->column_count++];

        column->type = head.type > UINT8_MAX ? 0 : (uint8_t)head.type;
        if (column->type == RECORDING_U64 && head.name.length == sizeof NUMBER - 1 &&
            memcmp(head.name.bytes, NUMBER, sizeof NUMBER - 1) == 0)
            table->number_column = (size_t)i + 1;
        if (!strings_add(&m->strings, head.name.bytes, head.name.length, &column->name) ||
            !strings_add(&m->strings, head.unit.bytes, head.unit.length, &column->unit))
            return false;
    }
    return true;
}

/* Puts the table in its place; an equal one that is already there is used again. */
static bool keep_table(model *m, model_process *p, uint64_t id, model_table *table)
{
    for (size_t i = 0; i < p->table_count; i++) {
        if (same_columns(&p->tables[i], table)) {
            memory_free(table->columns);
            return model_ids_put(m, &p->table_ids, id, (uint32_t)i + 1);
        }
    }
    if (!array_reserve(&p->tables, &p->table_capacity, p->table_count + 1, sizeof *p->tables)) {
        memory_free(table->columns);
        return false;
    }
    p->tables[p->table_count++] = *table;
    return model_ids_put(m, &p->table_ids, id, (uint32_t)p->table_count);
}

int model_load_tables(model *m, model_process *p, reader *r)
{
    recording_table_head head;

    while (recording_next_table(r, &head)) {
        model_table table = {0};
        bool done =
            strings_add(&m->strings, head.name.bytes, head.name.length, &table.name) &&
            strings_add(&m->strings, head.profiler.bytes, head.profiler.length, &table.profiler) &&
            load_columns(m, &table, head.column_count, r);

        if (!done || reader_failed(r) || p->table_count >= MAXIMUM_TABLES) {
            memory_free(table.columns);
            r->failed = true;
            return done ? 0 : ERROR_MEMORY;
        }
        if (!keep_table(m, p, head.id, &table))
            return ERROR_MEMORY;
    }
    return 0;
}

static bool grow_rows(model *m, model_table *table)
{
    size_t wish = table->capacity == 0 ? FIRST_ROWS : table->capacity + table->capacity / 2;

    for (size_t i = 0; i < table->column_count; i++) {
        model_column *column = &table->columns[i];
        bool narrow = is_narrow(column->type);
        size_t size = narrow ? sizeof *column->u32 : sizeof *column->u64;
        void *grown;

        if (!model_charge(m, (wish - table->capacity) * size))
            return false;
        grown = memory_resize(narrow ? (void *)column->u32 : (void *)column->u64, wish * size);
        if (grown == NULL)
            return false;
        if (narrow)
            column->u32 = grown;
        else
            column->u64 = grown;
    }
    table->capacity = wish;
    return true;
}

/* The index behind a cell that holds an id. */
static uint32_t resolve(model *m, model_process *p, uint8_t type, uint64_t id)
{
    uint64_t unknown = m->unknown_references;
    uint32_t index;

    switch (type) {
    case RECORDING_THREAD_ID:
        return model_thread_index(m, p, id);
    case RECORDING_STACK_ID:
        return model_ids_get(m, &p->stack_ids, id);
    case RECORDING_STRING_ID:
        index = model_ids_get(m, &p->string_ids, id);
        m->unknown_references = unknown; /* "" is known and has index 0 */
        return index;
    case RECORDING_METHOD_ID:
        return model_ids_get(m, &p->method_ids, id);
    case RECORDING_MODULE_ID:
        return model_ids_get(m, &p->module_ids, id);
    default:
        return model_ids_get(m, &p->frame_ids, id);
    }
}

/* Where the row goes: to the end, or to the place of an earlier one with its number. */
static int place_row(model *m, model_table *table, const uint64_t *cells, size_t *row)
{
    uint64_t number = table->number_column == 0 ? 0 : cells[table->number_column - 1];
    uint64_t earlier;

    if (number != 0 && table_u64_get(&table->numbered, number, &earlier)) {
        *row = (size_t)earlier - 1;
        return 0;
    }
    if (table->rows == table->capacity && !grow_rows(m, table))
        return ERROR_MEMORY;
    *row = table->rows++;
    if (number != 0 &&
        (!model_charge(m, 4 * sizeof number) || !table_u64_put(&table->numbered, number, *row + 1)))
        return ERROR_MEMORY;
    return 0;
}

static void store_row(model *m, model_process *p, model_table *table, size_t row,
                      const uint64_t *cells)
{
    for (size_t i = 0; i < table->column_count; i++) {
        model_column *column = &table->columns[i];
        uint64_t value = cells[i];

        if (column->u32 != NULL) {
            column->u32[row] = resolve(m, p, column->type, value);
        } else if (column->type == RECORDING_TIME) {
            /* Before time 0 (the clock was read early), or nonsense: shown at the start. */
            value = value > INT64_MAX ? 0 : value;
            if (value > p->duration_ns)
                p->duration_ns = value;
            column->u64[row] = value;
        } else {
            column->u64[row] = value;
        }
    }
}

int model_load_rows(model *m, model_process *p, reader *r)
{
    uint64_t previous[RECORDING_MAXIMUM_COLUMNS] = {0};
    uint64_t cells[RECORDING_MAXIMUM_COLUMNS];
    uint8_t types[RECORDING_MAXIMUM_COLUMNS];
    uint32_t index = model_ids_get(m, &p->table_ids, reader_varint(r));
    model_table *table;

    if (index == 0) {
        r->failed = true;
        return 0;
    }
    table = &p->tables[index - 1];
    for (size_t i = 0; i < table->column_count; i++)
        types[i] = table->columns[i].type;
    while (recording_next_row(r, types, table->column_count, previous, cells)) {
        size_t row;

        if (place_row(m, table, cells, &row) != 0)
            return ERROR_MEMORY;
        store_row(m, p, table, row, cells);
    }
    return 0;
}

/* The first of them has number 1, also where the agent had taken some for others before. */
void model_number_looks(model *m, model_process *p)
{
    uint64_t first = UINT64_MAX;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < p->table_count; i++) {
            const model_table *t = &p->tables[i];
            const model_column *look = text_equal(model_text(m, t->profiler), "threads")
                                           ? model_find_column(m, t, "look")
                                           : NULL;

            for (size_t row = 0; look != NULL && look->u64 != NULL && row < t->rows; row++) {
                if (pass == 0 && look->u64[row] != 0 && look->u64[row] < first)
                    first = look->u64[row];
                else if (pass == 1 && look->u64[row] != 0)
                    look->u64[row] -= first - 1;
            }
        }
    }
}
