/*
 * data_table: a table for the report page. Samples are put together by stack, thread, state and
 * time (analysis/aggregate), other tables are written row by row, the first ROWS_LIMIT of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/continuations.h"
#include "report/data.h"

enum {
    RAW_SAMPLES = 5000, /* samples tables up to this size are written as they are */
    ROWS_LIMIT = 200000,
    BUCKETS = 500,
    FEWEST_BUCKETS = 60, /* or the heat map and a chosen range would say little */
    AGGREGATE_LIMIT = 400000,
};

static const char *const TYPES[] = {"unknown", "time", "thread", "stack",    "string", "u64",
                                    "i64",     "f64",  "method", "duration", "module", "frame"};

typedef struct {
    const model *m;
    const model_process *p;
    const model_table *table;
    const calltree *tree;
    const report_options *options;
    data_strings *s;
    json *j;
    error *e;
    char note[CONTINUATIONS_NOTE_SIZE]; /* what a reader of the stacks must know; "" = nothing */
} writer;

static const char *type_name(uint8_t type)
{
    return recording_column_type_is_known(type) ? TYPES[type] : TYPES[0];
}

static const char *page_unit(const char *unit)
{
    return text_equal(unit, "ns") ? "us" : unit;
}

static void put_head(const writer *w, size_t rows, uint64_t bucket_us, const profile *p)
{
    json_put_text(w->j, "name", model_text(w->m, w->table->name));
    json_put_text(w->j, "profiler", model_text(w->m, w->table->profiler));
    json_put_u64(w->j, "rows", rows);
    json_put_u64(w->j, "recorded", w->table->rows);
    json_put_u64(w->j, "bucket", bucket_us);
    json_put_text(w->j, "weight",
                  p == NULL || p->weight == NULL ? "" : model_text(w->m, p->weight->name));
    json_put_text(w->j, "unit", p == NULL ? "count" : page_unit(p->unit));
    if (w->note[0] != '\0')
        json_put_text(w->j, "note", w->note);
}

/* Samples put together. */

typedef enum {
    FIELD_TIME,
    FIELD_THREAD,
    FIELD_STACK,
    FIELD_WEIGHT,
    FIELD_STATE,
    FIELD_SAMPLES
} field;

static void put_field(const writer *w, const aggregate *rows, field which, const char *name,
                      bool is_time)
{
    uint64_t previous = 0;

    json_begin_array_at(w->j, name);
    for (size_t i = 0; i < rows->count; i++) {
        const aggregate_row *row = &rows->rows[i];
        uint64_t time;

        switch (which) {
        case FIELD_TIME:
            time = (rows->start_ns + row->bucket * rows->bucket_ns) / 1000;
            json_u64(w->j, time - previous);
            previous = time;
            break;
        case FIELD_THREAD:
            json_i64(w->j, (int64_t)row->thread - 1);
            break;
        case FIELD_STACK:
            json_u64(w->j, row->node);
            break;
        case FIELD_WEIGHT:
            if (is_time)
                json_microseconds(w->j, row->weight);
            else
                json_u64(w->j, row->weight);
            break;
        case FIELD_STATE:
            json_u64(w->j, row->state);
            break;
        case FIELD_SAMPLES:
            json_u64(w->j, row->samples);
            break;
        }
    }
    json_end_array(w->j);
}

static void put_aggregate(const writer *w, const profile *p, const aggregate *rows)
{
    bool is_time = text_equal(p->unit, "ns");
    const char *weight = p->weight == NULL ? NULL : model_text(w->m, p->weight->name);

    put_head(w, rows->count, rows->bucket_ns / 1000, p);
    if (p->weight == NULL) /* each sample counts 1, but rows stand for several */
        weight = "weight";
    json_begin_object_at(w->j, "columns");
    put_field(w, rows, FIELD_TIME, "time", false);
    put_field(w, rows, FIELD_THREAD, "thread", false);
    put_field(w, rows, FIELD_STACK, "stack", false);
    put_field(w, rows, FIELD_WEIGHT, weight, is_time);
    if (p->state != NULL)
        put_field(w, rows, FIELD_STATE, "state", false);
    put_field(w, rows, FIELD_SAMPLES, "samples", false);
    json_end_object(w->j);
    json_begin_object_at(w->j, "types");
    json_put_text(w->j, "time", "time");
    json_put_text(w->j, "thread", "thread");
    json_put_text(w->j, "stack", "stack");
    json_put_text(w->j, weight, is_time ? "duration" : "u64");
    if (p->state != NULL)
        json_put_text(w->j, "state", "u64");
    json_put_text(w->j, "samples", "u64");
    json_end_object(w->j);
    json_begin_object_at(w->j, "units");
    json_end_object(w->j);
}

static int put_samples(const writer *w, const profile *p)
{
    aggregate_options how = {w->tree->node_of_stack, true,           true, BUCKETS,
                             FEWEST_BUCKETS,         AGGREGATE_LIMIT};
    profile_selection selection;
    aggregate rows = {0};
    int code = report_select(w->m, w->p, w->options, &selection, w->e);

    if (code == 0)
        code = aggregate_build(p, &selection, &how, &rows, w->e);
    if (code == 0) {
        json_begin_object(w->j);
        put_aggregate(w, p, &rows);
        json_end_object(w->j);
    }
    aggregate_free(&rows);
    report_selection_free(&selection);
    return code;
}

/* Rows as they are, in order of time. */

typedef struct {
    uint64_t time;
    uint32_t row;
} timed_row;

static int by_time(const void *a, const void *b)
{
    const timed_row *x = a;
    const timed_row *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static const model_column *time_column(const model_table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == RECORDING_TIME)
            return &table->columns[i];
    return NULL;
}

/* JSON has no word for what is no number: a text that JavaScript reads as it. */
static void put_f64(json *j, double value)
{
    if (isfinite(value))
        json_f64(j, value);
    else
        json_text(j, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void put_cell(const writer *w, const model_column *column, size_t row, uint64_t *previous)
{
    uint64_t value = model_cell(column, row);

    switch (column->type) {
    case RECORDING_TIME:
        /* Only the column the rows are sorted by can be told as growing differences. */
        json_i64(w->j, (int64_t)(value / 1000) - (int64_t)*previous);
        *previous = value / 1000;
        break;
    case RECORDING_THREAD_ID:
        json_i64(w->j, (int64_t)value - 1);
        break;
    case RECORDING_STACK_ID:
        json_u64(w->j, w->tree->node_of_stack[value]);
        break;
    case RECORDING_STRING_ID:
        json_u64(w->j, data_string(w->s, (uint32_t)value));
        break;
    case RECORDING_METHOD_ID:
        json_u64(w->j, data_string(w->s, w->p->methods[value].name));
        break;
    case RECORDING_MODULE_ID:
        json_u64(w->j, data_string(w->s, w->p->modules[value].name));
        break;
    case RECORDING_FRAME_ID:
        json_i64(w->j, value == 0 ? -1 : (int64_t)w->p->frames[value].place);
        break;
    case RECORDING_DURATION:
        json_f64(w->j, (double)value / 1000);
        break;
    case RECORDING_F64:
        put_f64(w->j, model_cell_f64(column, row));
        break;
    case RECORDING_I64:
        json_i64(w->j, (int64_t)value);
        break;
    default:
        json_u64(w->j, value);
        break;
    }
}

static void put_columns(const writer *w, const timed_row *order, size_t count)
{
    json_begin_object_at(w->j, "columns");
    for (size_t i = 0; i < w->table->column_count; i++) {
        uint64_t previous = 0;

        json_begin_array_at(w->j, model_text(w->m, w->table->columns[i].name));
        for (size_t k = 0; k < count; k++)
            put_cell(w, &w->table->columns[i], order[k].row, &previous);
        json_end_array(w->j);
    }
    json_end_object(w->j);
    json_begin_object_at(w->j, "types");
    for (size_t i = 0; i < w->table->column_count; i++)
        json_put_text(w->j, model_text(w->m, w->table->columns[i].name),
                      type_name(w->table->columns[i].type));
    json_end_object(w->j);
    json_begin_object_at(w->j, "units");
    for (size_t i = 0; i < w->table->column_count; i++)
        if (w->table->columns[i].unit != 0)
            json_put_text(w->j, model_text(w->m, w->table->columns[i].name),
                          model_text(w->m, w->table->columns[i].unit));
    json_end_object(w->j);
    data_put_words(w->m, w->table, w->j);
}

static int put_rows(const writer *w, const profile *p)
{
    size_t count = w->table->rows < ROWS_LIMIT ? w->table->rows : ROWS_LIMIT;
    timed_row *order = memory_allocate_array(count + 1, sizeof *order);
    const model_column *time = time_column(w->table);

    if (order == NULL)
        return error_set(w->e, ERROR_MEMORY, "no memory for the report");
    for (size_t i = 0; i < count; i++)
        order[i] = (timed_row){time == NULL ? 0 : time->u64[i], (uint32_t)i};
    if (time != NULL)
        qsort(order, count, sizeof *order, by_time);
    json_begin_object(w->j);
    put_head(w, count, 0, p);
    put_columns(w, order, count);
    json_end_object(w->j);
    memory_free(order);
    return 0;
}

static int find_note(writer *w, const profile *p)
{
    profile_selection selection;
    continuations sum = {{0, 0}, {0, 0}};
    profile_total whole;
    int code = report_select(w->m, w->p, w->options, &selection, w->e);

    if (code == 0)
        code = continuations_sum(p, &selection, &sum, w->e);
    if (code == 0 && sum.all.samples != 0) {
        whole = profile_sum(p, &selection, NULL, NULL);
        continuations_note(&sum, whole.weight, w->note);
    }
    report_selection_free(&selection);
    return code;
}

int data_put_table(const model *m, const model_process *p, const model_table *table,
                   const calltree *tree, const report_options *options, data_strings *s, json *j,
                   error *e)
{
    writer w = {m, p, table, tree, options, s, j, e, ""};
    profile found;
    bool is_profile = profile_of(m, p, table, &found);
    bool is_samples = text_equal(model_text(m, table->name), "samples");
    int code = is_profile && is_samples ? find_note(&w, &found) : 0;

    if (code != 0)
        return code;
    if (is_profile && table->rows != 0 &&
        ((is_samples && (table->rows > RAW_SAMPLES || report_is_part(options))) ||
         table->rows > ROWS_LIMIT))
        return put_samples(&w, &found);
    return put_rows(&w, is_profile ? &found : NULL);
}
