/* flow: see flow.h. */
#include "analysis/flow.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"

/* As the tracer writes them. */
enum { PART_WHOLE, PART_BEGIN, PART_END, PART = 3, FAILED = 4 };
enum { LEAST_TIDIED = 1024 };

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

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for the spans");
}

/* ---- whole ones ---- */

static int add_whole(flow *f, const flow_span *s, error *e)
{
    if (!array_reserve(&f->items, &f->capacity, f->count + 1, sizeof *f->items))
        return no_memory(e);
    f->items[f->count++] = *s;
    return 0;
}

/* ---- those under way ---- */

/* The table cannot forget: it is made anew when most of what it knows has ended. */
static bool tidy(flow_process *p)
{
    table_u64 fresh = {0};

    if (p->open.count < LEAST_TIDIED || p->open.count / 4 < p->open_count)
        return true;
    for (size_t n = 0; n < p->open.capacity; n++) {
        const table_u64_slot *slot = &p->open.slots[n];

        if (slot->used && slot->value != 0 && !table_u64_put(&fresh, slot->key, slot->value)) {
            table_u64_free(&fresh);
            return false;
        }
    }
    table_u64_free(&p->open);
    p->open = fresh;
    return true;
}

static int add_open(flow *f, flow_process *p, const flow_span *s, error *e)
{
    size_t at = f->first_free;

    if (at != 0) {
        f->first_free = (size_t)f->open_items[at - 1].parent;
    } else {
        if (!array_reserve(&f->open_items, &f->open_capacity, f->open_count + 1,
                           sizeof *f->open_items))
            return no_memory(e);
        at = ++f->open_count;
    }
    f->open_items[at - 1] = *s;
    p->open_count++;
    return tidy(p) && table_u64_put(&p->open, s->id, at) ? 0 : no_memory(e);
}

static flow_span *find_open(flow *f, const flow_process *p, uint64_t id)
{
    uint64_t at;

    return table_u64_get(&p->open, id, &at) && at != 0 ? &f->open_items[at - 1] : NULL;
}

static int close_open(flow *f, flow_process *p, flow_span *s, error *e)
{
    int code = add_whole(f, s, e);

    table_u64_put(&p->open, s->id, 0); /* the key is there: needs no memory */
    p->open_count--;
    s->id = 0;
    s->parent = f->first_free;
    f->first_free = (size_t)(s - f->open_items) + 1;
    return code;
}

/* ---- rows ---- */

static flow_span span_of(const columns *c, size_t row, uint32_t process)
{
    flow_span s = {
        .process = process,
        .method = (uint32_t)model_cell(c->method, row),
        .thread = (uint32_t)model_cell(c->thread, row),
        .exception = exception_of(c, row),
        .id = id_of(c, row),
        .parent = parent_of(c, row),
        .start = model_cell(c->time, row),
        .failed = (model_cell(c->part, row) & FAILED) != 0,
    };

    s.end = s.start + model_cell(c->duration, row);
    return s;
}

/* The end belongs to the span that is current in the last step. It is another method's when the
 * call itself was not seen: then it is nobody's. */
static int take_end(flow *f, flow_process *p, const flow_span *end, error *e)
{
    flow_span *s = find_open(f, p, end->id);

    if (s == NULL || s->method != end->method)
        return 0;
    s->end = end->start > s->start ? end->start : s->start;
    s->failed = end->failed;
    s->exception = end->exception;
    s->unfinished = false;
    return close_open(f, p, s, e);
}

static void count(flow_process *p, const flow_span *s)
{
    p->known++;
    if ((uint32_t)s->id > p->newest)
        p->newest = (uint32_t)s->id;
}

static int take_row(flow *f, flow_process *p, uint64_t part, flow_span *s, error *e)
{
    flow_span *begun;

    switch (part) {
    case PART_END:
        return take_end(f, p, s, e);
    case PART_BEGIN:
        s->is_async = true;
        s->unfinished = true;
        count(p, s);
        return add_open(f, p, s, e);
    case PART_WHOLE:
        /* An async call that threw before its first step is told as a whole one as well. */
        begun = s->failed ? find_open(f, p, s->id) : NULL;
        if (begun != NULL) {
            begun->end = s->end;
            begun->failed = true;
            begun->exception = s->exception;
            begun->unfinished = false;
            return close_open(f, p, begun, e);
        }
        count(p, s);
        return add_whole(f, s, e);
    default:
        return 0;
    }
}

static int take_table(flow *f, const model *m, uint32_t process, model_table *t, error *e)
{
    columns c;
    int code = 0;

    if (!find_columns(m, t, &c))
        return error_set(e, ERROR_CORRUPT, "the recording's table of spans lacks a column");
    for (size_t row = 0; row < t->rows && code == 0; row++) {
        flow_span s = span_of(&c, row, process);

        code = take_row(f, &f->processes[process], model_cell(c.part, row) & PART, &s, e);
    }
    t->rows = 0;
    return code;
}

int flow_take(flow *f, model *m, error *e)
{
    int code = 0;

    if (!array_reserve(&f->processes, &f->process_capacity, m->process_count, sizeof *f->processes))
        return no_memory(e);
    for (; f->process_count < m->process_count; f->process_count++)
        memset(&f->processes[f->process_count], 0, sizeof *f->processes);
    for (size_t n = 0; n < m->process_count && code == 0; n++)
        for (size_t i = 0; i < m->processes[n].table_count && code == 0; i++) {
            model_table *t = &m->processes[n].tables[i];

            if (t->rows != 0 && strcmp(model_text(m, t->name), "trace_spans") == 0)
                code = take_table(f, m, (uint32_t)n, t, e);
        }
    return code;
}

int flow_finish(flow *f, error *e)
{
    int code = 0;

    for (size_t n = 0; n < f->open_count && code == 0; n++)
        if (f->open_items[n].id != 0)
            code = close_open(f, &f->processes[f->open_items[n].process], &f->open_items[n], e);
    return code;
}

uint64_t flow_missing(const flow *f)
{
    uint64_t missing = 0;

    for (size_t n = 0; n < f->process_count; n++)
        if (f->processes[n].newest > f->processes[n].known)
            missing += f->processes[n].newest - f->processes[n].known;
    return missing;
}

void flow_free(flow *f)
{
    for (size_t n = 0; n < f->process_count; n++)
        table_u64_free(&f->processes[n].open);
    memory_free(f->processes);
    memory_free(f->open_items);
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
