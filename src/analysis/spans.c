/* spans: see spans.h. */
#include "analysis/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CALL = 0, ASYNC = 3 }; /* kinds of the rows */

static uint64_t cell(const model_column *column, size_t row)
{
    return column == NULL ? 0 : model_cell(column, row);
}

typedef bool wants_span(const void *context, const model *m, const span *s);

static bool take_process(const model *m, const model_process *p, const model_table *t,
                         wants_span *wants, const void *context, spans *out)
{
    const model_column *time = model_find_column(m, t, "time");
    const model_column *thread = model_find_column(m, t, "thread");
    const model_column *method = model_find_column(m, t, "method");
    const model_column *duration = model_find_column(m, t, "duration");
    const model_column *failed = model_find_column(m, t, "failed");
    const model_column *values = model_find_column(m, t, "values");
    const model_column *exception = model_find_column(m, t, "exception");
    const model_column *depth = model_find_column(m, t, "depth");
    const model_column *kind = model_find_column(m, t, "kind");
    span *items = memory_resize(out->items, (out->count + t->rows + 1) * sizeof *items);

    if (items == NULL)
        return false;
    out->items = items;
    for (size_t row = 0; row < t->rows; row++) {
        span *s = &items[out->count];

        if (cell(kind, row) != CALL && cell(kind, row) != ASYNC)
            continue; /* a line of --log, or the begin of a call */
        memset(s, 0, sizeof *s);
        s->process = p;
        s->start = cell(time, row);
        s->end = s->start + cell(duration, row);
        s->thread = thread == NULL || thread->u32 == NULL ? 0 : thread->u32[row];
        s->method = method == NULL || method->u32 == NULL ? 0 : method->u32[row];
        s->values = values == NULL || values->u32 == NULL ? 0 : values->u32[row];
        s->exception = exception == NULL || exception->u32 == NULL ? 0 : exception->u32[row];
        s->is_async = cell(kind, row) == ASYNC;
        s->failed = cell(failed, row) != 0;
        s->depth = cell(depth, row);
        if (wants == NULL || wants(context, m, s))
            out->count++;
    }
    return true;
}

static int in_order(const void *left, const void *right)
{
    const span *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* Does a call enclose one that begins later? The clock of the target's processor is turned into
 * nanoseconds, so that borders may be a nanosecond apart. */
static bool encloses(const span *outer, const span *inner)
{
    return outer->process == inner->process && outer->thread == inner->thread &&
           outer->depth < inner->depth && !outer->is_async &&
           outer->end + 2 >= (inner->is_async ? inner->start : inner->end);
}

int spans_find(const model *m, wants_span *wants, const void *context, spans *out, error *e)
{
    memset(out, 0, sizeof *out);
    for (size_t n = 0; n < m->process_count; n++) {
        const model_process *p = &m->processes[n];
        const model_table *t = model_find_table(m, p, "trace_events", "trace");

        if (t != NULL && !take_process(m, p, t, wants, context, out)) {
            spans_free(out);
            return error_set(e, ERROR_MEMORY, "no memory for the traced calls");
        }
    }
    if (out->count != 0)
        qsort(out->items, out->count, sizeof *out->items, in_order);
    for (size_t n = 0; n < out->count; n++) {
        size_t around = n == 0 ? SPANS_NONE : n - 1;

        while (around != SPANS_NONE && !encloses(&out->items[around], &out->items[n]))
            around = out->items[around].parent; /* of an async call: the one around its begin */
        out->items[n].parent = around;
        out->items[n].root = around == SPANS_NONE ? n : out->items[around].root;
    }
    return 0;
}

void spans_free(spans *s)
{
    memory_free(s->items);
    memset(s, 0, sizeof *s);
}
