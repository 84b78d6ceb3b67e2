/* flow: see flow.h. */
#include "analysis/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"

/* As the tracer writes them. */
enum { PART_WHOLE, PART_BEGIN, PART_END, PART = 3, FAILED = 4 };

typedef struct {
    const model_column *time, *thread, *method, *span, *first, *parent, *duration, *part;
    const model_column *exception; /* NULL in recordings before it was told */
} columns;

static bool find_columns(const model *m, const model_table *t, columns *c)
{
    c->time = model_find_column(m, t, "time");
    c->thread = model_find_column(m, t, "thread");
    c->method = model_find_column(m, t, "method");
    c->span = model_find_column(m, t, "span");
    c->parent = model_find_column(m, t, "parent");
    c->duration = model_find_column(m, t, "duration");
    c->part = model_find_column(m, t, "part");
    c->first = model_find_column(m, t, "first");
    c->exception = model_find_column(m, t, "exception");
    return c->time != NULL && c->thread != NULL && c->method != NULL && c->span != NULL &&
           c->parent != NULL && c->duration != NULL && c->part != NULL && c->first != NULL;
}

/* The number of its trace in the upper half: that of the trace's first span. */
static uint64_t id_of(const columns *c, size_t row)
{
    uint32_t number = (uint32_t)model_cell(c->span, row);

    return (uint64_t)(number - (uint32_t)model_cell(c->first, row)) << 32 | number;
}

static uint64_t parent_of(const columns *c, size_t row)
{
    uint32_t before = (uint32_t)model_cell(c->parent, row);
    uint64_t id = id_of(c, row);

    return before == 0 ? 0 : (id & ~(uint64_t)UINT32_MAX) | (uint32_t)((uint32_t)id - before);
}

static uint32_t exception_of(const columns *c, size_t row)
{
    return c->exception == NULL ? 0 : (uint32_t)model_cell(c->exception, row);
}

static void add_begun(const model_process *p, const columns *c, size_t row, flow *out)
{
    flow_span *s = &out->items[out->count++];

    memset(s, 0, sizeof *s);
    s->process = p;
    s->method = (uint32_t)model_cell(c->method, row);
    s->thread = (uint32_t)model_cell(c->thread, row);
    s->id = id_of(c, row);
    s->parent = parent_of(c, row);
    s->start = model_cell(c->time, row);
    s->end = s->start + model_cell(c->duration, row);
    s->failed = (model_cell(c->part, row) & FAILED) != 0;
    s->exception = exception_of(c, row);
    s->is_async = (model_cell(c->part, row) & PART) == PART_BEGIN;
    s->unfinished = s->is_async;
}

/* The end belongs to the span that is current in the last step. It is another method's when the
 * call itself was not seen: then it is nobody's. */
static void add_end(const columns *c, size_t row, flow_span *s)
{
    uint64_t end = model_cell(c->time, row);

    if (s->method != (uint32_t)model_cell(c->method, row) || !s->unfinished)
        return;
    s->end = end > s->start ? end : s->start;
    s->failed = (model_cell(c->part, row) & FAILED) != 0;
    s->exception = exception_of(c, row);
    s->unfinished = false;
}

static int take_process(const model *m, const model_process *p, const model_table *t, flow *out,
                        error *e)
{
    flow_span *items = memory_resize(out->items, (out->count + t->rows + 1) * sizeof *items);
    table_u64 open = {0};
    columns c;
    int code = 0;

    if (items == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the spans");
    out->items = items;
    if (!find_columns(m, t, &c))
        return error_set(e, ERROR_CORRUPT, "the recording's table of spans lacks a column");
    for (size_t row = 0; row < t->rows && code == 0; row++) {
        uint64_t part = model_cell(c.part, row) & PART;

        if (part != PART_WHOLE && part != PART_BEGIN)
            continue;
        if (part == PART_BEGIN && !table_u64_put(&open, id_of(&c, row), out->count))
            code = error_set(e, ERROR_MEMORY, "no memory for the spans");
        add_begun(p, &c, row, out);
    }
    /* An end may have been written before its begin: rings are read one after the other. */
    for (size_t row = 0; row < t->rows && code == 0; row++) {
        uint64_t number;

        if ((model_cell(c.part, row) & PART) == PART_END &&
            table_u64_get(&open, id_of(&c, row), &number))
            add_end(&c, row, &out->items[number]);
    }
    /* A call that threw before its first step is told as a whole one as well. */
    for (size_t n = 0; n < out->count && code == 0; n++) {
        flow_span *s = &out->items[n];
        uint64_t number;

        if (s->process == p && !s->is_async && table_u64_get(&open, s->id, &number)) {
            out->items[number].end = s->end;
            out->items[number].failed = s->failed;
            out->items[number].exception = s->exception;
            out->items[number].unfinished = false;
            s->id = 0;
        }
    }
    table_u64_free(&open);
    return code;
}

static int by_start(const void *left, const void *right)
{
    const flow_span *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void drop_joined(flow *f)
{
    size_t kept = 0;

    for (size_t n = 0; n < f->count; n++)
        if (f->items[n].id != 0)
            f->items[kept++] = f->items[n];
    f->count = kept;
}

int flow_find(const model *m, flow *out, error *e)
{
    int code = 0;

    memset(out, 0, sizeof *out);
    for (size_t n = 0; n < m->process_count && code == 0; n++) {
        const model_process *p = &m->processes[n];
        const model_table *t = model_find_table(m, p, "trace_spans", "trace");

        if (t != NULL)
            code = take_process(m, p, t, out, e);
    }
    if (code != 0) {
        flow_free(out);
        return code;
    }
    drop_joined(out);
    if (out->count != 0)
        qsort(out->items, out->count, sizeof *out->items, by_start);
    return 0;
}

uint64_t flow_missing(const flow *f)
{
    uint64_t missing = 0;
    uint64_t known = 0;
    uint32_t newest = 0;

    for (size_t n = 0; n < f->count; n++) {
        uint32_t number = (uint32_t)f->items[n].id;

        newest = number > newest ? number : newest;
        known++;
        if (n + 1 == f->count || f->items[n + 1].process != f->items[n].process) {
            missing += newest > known ? newest - known : 0;
            known = 0;
            newest = 0;
        }
    }
    return missing;
}

void flow_free(flow *f)
{
    memory_free(f->items);
    memset(f, 0, sizeof *f);
}

flow_loss flow_loss_of(const char *reason)
{
    if (text_starts_with(reason, "assembly "))
        return FLOW_LOSS_ASSEMBLIES;
    if (text_starts_with(reason, "method not traced"))
        return FLOW_LOSS_METHODS;
    if (text_starts_with(reason, "type of an exception"))
        return FLOW_LOSS_NOTHING;
    return text_starts_with(reason, "method ") ? FLOW_LOSS_NOTHING : FLOW_LOSS_CALLS;
}
