/* section_rows: a table that nothing else knows, row by row. */
#include <stdio.h>

#include "report/number.h"
#include "report/section.h"

enum { TOP_ROWS = 50, TOP_JSON_ROWS = 10000 };

static size_t rows_shown(const section *s, size_t standard)
{
    size_t limit = section_top(s, standard);

    return s->table->rows < limit ? s->table->rows : limit;
}

static const char *leaf_name(const section *s, uint32_t stack)
{
    const model_process *p = s->process;

    return stack == 0
               ? ""
               : model_text(s->m, p->functions[p->frames[p->stack_frames[stack]].function].name);
}

/* What a cell that holds an index stands for; NULL for a number. */
static const char *cell_text(const section *s, const model_column *column, size_t row)
{
    const model_process *p = s->process;
    uint32_t index;

    if (column->u32 == NULL)
        return NULL;
    index = column->u32[row];
    switch (column->type) {
    case RECORDING_STRING_ID:
        return model_text(s->m, index);
    case RECORDING_METHOD_ID:
        return model_text(s->m, p->methods[index].name);
    case RECORDING_MODULE_ID:
        return model_text(s->m, p->modules[index].name);
    case RECORDING_FRAME_ID:
        return index == 0 ? "" : model_text(s->m, p->functions[p->frames[index].function].name);
    case RECORDING_STACK_ID:
        return leaf_name(s, index);
    default:
        return NULL;
    }
}

static void put_cell(const section *s, const model_column *column, size_t row)
{
    const char *text = cell_text(s, column, row);
    char amount[REPORT_AMOUNT_SIZE];
    char number[NUMBER_TEXT];
    const char *unit = model_text(s->m, column->unit);

    if (text != NULL) {
        markdown_cell(s->out, text);
    } else if (column->type == RECORDING_THREAD_ID) {
        sink_u64(s->out, s->process->threads[column->u32[row]].os_id);
    } else if (column->type == RECORDING_TIME || column->type == RECORDING_DURATION) {
        sink_text(s->out, report_amount(column->u64[row], "ns", amount));
    } else if (column->type == RECORDING_F64) {
        sink_text(s->out, number_text(number, 6, model_cell_f64(column, row)));
    } else if (column->type == RECORDING_I64) {
        sink_format(s->out, "%lld", (long long)column->u64[row]);
    } else {
        sink_text(s->out, report_amount(column->u64[row], unit, amount));
    }
}

int section_rows_markdown(const section *s)
{
    size_t shown = rows_shown(s, TOP_ROWS);

    sink_text(s->out, "## ");
    markdown_text(s->out, model_text(s->m, s->table->profiler));
    sink_text(s->out, ": ");
    markdown_text(s->out, model_text(s->m, s->table->name));
    sink_format(s->out, "\n\n%zu rows%s\n\n|", s->table->rows,
                shown < s->table->rows ? ", the first of them:" : ".");
    for (size_t i = 0; i < s->table->column_count; i++) {
        sink_char(s->out, ' ');
        markdown_text(s->out, model_text(s->m, s->table->columns[i].name));
        sink_text(s->out, " |");
    }
    sink_text(s->out, "\n|");
    for (size_t i = 0; i < s->table->column_count; i++)
        sink_text(s->out, "---|");
    sink_char(s->out, '\n');
    for (size_t row = 0; row < shown; row++) {
        sink_char(s->out, '|');
        for (size_t i = 0; i < s->table->column_count; i++) {
            sink_char(s->out, ' ');
            put_cell(s, &s->table->columns[i], row);
            sink_text(s->out, " |");
        }
        sink_char(s->out, '\n');
    }
    sink_char(s->out, '\n');
    return 0;
}

static void json_cell(const section *s, json *j, const model_column *column, size_t row)
{
    const char *text = cell_text(s, column, row);

    if (text != NULL && column->type != RECORDING_STACK_ID)
        json_text(j, text);
    else if (column->type == RECORDING_STACK_ID)
        json_stack(j, s->m, s->process, column->u32[row], MODEL_MAXIMUM_DEPTH);
    else if (column->type == RECORDING_THREAD_ID)
        json_u64(j, s->process->threads[column->u32[row]].os_id);
    else if (column->type == RECORDING_F64)
        json_f64_exact(j, model_cell_f64(column, row));
    else if (column->type == RECORDING_I64)
        json_i64(j, (int64_t)column->u64[row]);
    else
        json_u64(j, column->u64[row]);
}

int section_rows_json(const section *s, json *j)
{
    size_t shown = rows_shown(s, TOP_JSON_ROWS);

    json_begin_array_at(j, "items");
    for (size_t row = 0; row < shown; row++) {
        json_begin_object(j);
        for (size_t i = 0; i < s->table->column_count; i++) {
            json_key(j, model_text(s->m, s->table->columns[i].name));
            json_cell(s, j, &s->table->columns[i], row);
        }
        json_end_object(j);
    }
    json_end_array(j);
    json_put_u64(j, "left_out", s->table->rows - shown);
    return 0;
}
