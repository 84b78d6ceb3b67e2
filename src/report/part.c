/* part: see part.h. */
#include "report/part.h"

#include <string.h>

#include "analysis/groups.h"
#include "base/memory.h"
#include "base/text.h"

static const struct {
    const char *table;
    bool by_thread;
} EVENTS[] = {
    {"exceptions", true},   {"allocations", true}, {"waits", true},
    {"compilations", true}, {"requests", true},    {"collections", false},
    {"pauses", false},      {"counters", false},   {"meters", false},
};

/* The values of the chosen rows. */
static bool choose_cells(model_column *to, const model_column *from, const uint8_t *chosen,
                         size_t rows, size_t count)
{
    size_t put = 0;

    *to = *from;
    to->u32 = NULL;
    to->u64 = NULL;
    if (from->u32 != NULL)
        to->u32 = memory_allocate_array(count + 1, sizeof *to->u32);
    else
        to->u64 = memory_allocate_array(count + 1, sizeof *to->u64);
    if (to->u32 == NULL && to->u64 == NULL)
        return false;
    for (size_t row = 0; row < rows; row++) {
        if (!chosen[row])
            continue;
        if (to->u32 != NULL)
            to->u32[put++] = from->u32[row];
        else
            to->u64[put++] = from->u64 == NULL ? 0 : from->u64[row];
    }
    return true;
}

static void free_columns(model_table *table)
{
    for (size_t i = 0; table->columns != NULL && i < table->column_count; i++) {
        memory_free(table->columns[i].u32);
        memory_free(table->columns[i].u64);
    }
    memory_free(table->columns);
}

/* false: no memory. */
static bool choose_rows(const model *m, const model_table *from, const profile_selection *selection,
                        bool by_thread, model_table *to)
{
    const model_column *time = groups_column(m, from, "time", RECORDING_TIME);
    const model_column *thread = groups_column(m, from, "thread", RECORDING_THREAD_ID);
    uint8_t *chosen = memory_allocate_array(from->rows + 1, 1);
    size_t count = 0;
    bool done = chosen != NULL;

    for (size_t row = 0; done && row < from->rows; row++) {
        uint64_t when = groups_cell(time, row, 0);

        chosen[row] = time == NULL || (when >= selection->from && when < selection->to);
        if (by_thread && selection->threads != NULL && thread != NULL)
            chosen[row] = chosen[row] && selection->threads[groups_cell(thread, row, 0)];
        count += chosen[row];
    }
    *to = *from;
    to->rows = to->capacity = count;
    to->columns = memory_allocate_array(from->column_count + 1, sizeof *to->columns);
    done = done && to->columns != NULL;
    for (size_t i = 0; done && i < from->column_count; i++)
        done = choose_cells(&to->columns[i], &from->columns[i], chosen, from->rows, count);
    memory_free(chosen);
    if (!done) {
        free_columns(to);
        to->columns = NULL;
    }
    return done;
}

/* Rates and shares are of the time that was chosen. */
static void shorten(uint64_t *start, uint64_t *stop, const profile_selection *selection)
{
    *start = *start > selection->from ? *start : selection->from;
    *stop = *stop < selection->to ? *stop : selection->to;
}

static bool choose_tables(const model *m, const profile_selection *selection, part_view *made)
{
    model_process *p = &made->process;

    for (size_t i = 0; i < p->table_count; i++) {
        for (size_t k = 0; k < sizeof EVENTS / sizeof *EVENTS; k++) {
            if (!text_equal(model_text(m, p->tables[i].name), EVENTS[k].table))
                continue;
            made->is_chosen[i] = true;
            if (!choose_rows(m, &made->whole->tables[i], selection, EVENTS[k].by_thread,
                             &p->tables[i]))
                return false;
        }
    }
    return true;
}

int part_make(const model *m, const model_process *p, const report_options *options,
              part_view *made, error *e)
{
    profile_selection selection;
    uint64_t start = 0;
    bool done;
    int code;

    *made = (part_view){.whole = p, .process = *p};
    if (options->thread == NULL && options->from_ns == 0 && options->to_ns == 0)
        return 0;
    code = report_select(m, p, options, &selection, e);
    if (code != 0)
        return code;
    made->is_chosen = memory_allocate_array(p->table_count + 1, sizeof *made->is_chosen);
    made->process.tables = memory_allocate_array(p->table_count + 1, sizeof *p->tables);
    made->process.profilers = memory_allocate_array(p->profiler_count + 1, sizeof *p->profilers);
    done =
        made->is_chosen != NULL && made->process.tables != NULL && made->process.profilers != NULL;
    if (done) {
        if (p->table_count != 0)
            memcpy(made->process.tables, p->tables, p->table_count * sizeof *p->tables);
        for (size_t i = 0; i < p->profiler_count; i++) {
            made->process.profilers[i] = p->profilers[i];
            shorten(&made->process.profilers[i].start, &made->process.profilers[i].stop,
                    &selection);
        }
        shorten(&start, &made->process.duration_ns, &selection);
        made->process.duration_ns -= start < made->process.duration_ns ? start : 0;
        done = choose_tables(m, &selection, made);
    }
    report_selection_free(&selection);
    if (done)
        return 0;
    part_free(made);
    return error_set(e, ERROR_MEMORY, "no memory for the report");
}

static bool is_chosen(const part_view *made, size_t table)
{
    return made->is_chosen != NULL && made->is_chosen[table];
}

const model_process *part_process(const part_view *made, size_t table)
{
    return is_chosen(made, table) ? &made->process : made->whole;
}

const model_table *part_table(const part_view *made, size_t table)
{
    return &part_process(made, table)->tables[table];
}

void part_free(part_view *made)
{
    if (made->is_chosen == NULL)
        return;
    for (size_t i = 0; made->process.tables != NULL && i < made->process.table_count; i++)
        if (made->is_chosen[i])
            free_columns(&made->process.tables[i]);
    memory_free(made->process.tables);
    memory_free(made->process.profilers);
    memory_free(made->is_chosen);
    made->is_chosen = NULL;
}
