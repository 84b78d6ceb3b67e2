/*
 * trace: see trace.h. Rows of trace_calls are totals so far, so the last row of a method in each
 * process counts; a method of several processes is added up by name, parameters, module and token.
 */
#include "analysis/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"

/* One bucket of the times of a method. */
typedef struct {
    size_t method; /* index of the result */
    uint64_t from, to, count;
} bucket;

typedef struct {
    const model *m;
    trace_results *out;
    size_t capacity;
    table_text known;
    bucket *buckets;
    size_t bucket_count, bucket_capacity;
    bool failed;
} work;

static void *more(work *w, void *items, size_t *capacity, size_t needed, size_t size)
{
    size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *grown;

    if (needed <= *capacity)
        return items;
    grown = memory_resize(items, wanted * size);
    if (grown == NULL) {
        w->failed = true;
        return items;
    }
    *capacity = wanted;
    return grown;
}

/* The result that a process's method belongs to; SIZE_MAX without memory. */
static size_t result_of(work *w, const model_process *p, uint64_t method, uint64_t kind)
{
    const model_method *from = &p->methods[method];
    uint32_t key[5] = {from->name, from->parameters, p->modules[from->module].name, from->token,
                       kind == TRACE_KIND_ASYNC};
    uint64_t *place =
        table_text_at(&w->known, (const char *)key, sizeof key, (uint64_t)w->out->count);

    if (place == NULL) {
        w->failed = true;
        return SIZE_MAX;
    }
    if (*place == w->out->count) {
        w->out->items =
            more(w, w->out->items, &w->capacity, w->out->count + 1, sizeof *w->out->items);
        if (w->failed)
            return SIZE_MAX;
        memset(&w->out->items[w->out->count], 0, sizeof *w->out->items);
        w->out->items[w->out->count].name = from->name;
        w->out->items[w->out->count].parameters = from->parameters;
        w->out->items[w->out->count].module = key[2];
        w->out->items[w->out->count].kind = kind == TRACE_KIND_ASYNC ? TRACE_KIND_ASYNC : 0;
        w->out->count++;
    }
    return (size_t)*place;
}

static uint64_t cell(const model *m, const model_table *t, const char *column, size_t row)
{
    const model_column *c = model_find_column(m, t, column);

    return c == NULL ? 0 : model_cell(c, row);
}

static void take_states(work *w, const model_process *p, const model_table *t)
{
    for (size_t row = 0; row < t->rows && !w->failed; row++) {
        size_t at = result_of(w, p, cell(w->m, t, "method", row), cell(w->m, t, "kind", row));

        if (at != SIZE_MAX && cell(w->m, t, "kind", row) == TRACE_KIND_STEPS)
            w->out->items[at].kind = TRACE_KIND_STEPS;
        if (at != SIZE_MAX)
            w->out->items[at].state = (uint32_t)cell(w->m, t, "state", row);
    }
}

static void add_calls(work *w, const model_process *p, const model_table *t, size_t row)
{
    uint64_t kind = cell(w->m, t, "step", row);
    size_t at = result_of(w, p, cell(w->m, t, "method", row), kind);
    uint64_t calls = cell(w->m, t, "calls", row);
    uint64_t least = cell(w->m, t, "least", row);
    uint64_t most = cell(w->m, t, "most", row);
    trace_result *r;

    if (at == SIZE_MAX)
        return;
    r = &w->out->items[at];
    if (calls > r->most_calls) {
        r->most_calls = calls;
        r->p50_ns = cell(w->m, t, "p50", row);
        r->p90_ns = cell(w->m, t, "p90", row);
        r->p99_ns = cell(w->m, t, "p99", row);
        r->p999_ns = cell(w->m, t, "p999", row);
    }
    if (calls != 0 && (r->calls == 0 || least < r->least_ns))
        r->least_ns = least;
    if (most > r->most_ns)
        r->most_ns = most;
    r->calls += calls;
    r->failures += cell(w->m, t, "failures", row);
    r->total_ns += cell(w->m, t, "total", row);
    r->self_ns += cell(w->m, t, "self", row);
    r->active += cell(w->m, t, "active", row);
    r->threads += cell(w->m, t, "threads", row);
    if (cell(w->m, t, "peak", row) > r->peak)
        r->peak = cell(w->m, t, "peak", row);
    if (kind == TRACE_KIND_STEPS)
        r->kind = TRACE_KIND_STEPS;
    r->completions += cell(w->m, t, "completions", row);
}

/* From the end: the first row of a method is its last word. An async one and its calls as a whole
 * are one method with two rows; a method of an assembly that is loaded twice has two numbers. */
static void take_calls(work *w, const model_process *p, const model_table *t)
{
    table_u64 seen;
    uint64_t known;

    table_u64_init(&seen);
    for (size_t row = t->rows; row-- > 0 && !w->failed;) {
        uint64_t key = cell(w->m, t, "number", row) << 34 | cell(w->m, t, "method", row) << 2 |
                       cell(w->m, t, "step", row);

        if (table_u64_get(&seen, key, &known))
            continue;
        w->failed |= !table_u64_put(&seen, key, 1);
        add_calls(w, p, t, row);
    }
    table_u64_free(&seen);
}

static void take_times(work *w, const model_process *p, const model_table *t)
{
    for (size_t row = 0; row < t->rows && !w->failed; row++) {
        size_t at = result_of(w, p, cell(w->m, t, "method", row), cell(w->m, t, "kind", row));

        w->buckets =
            more(w, w->buckets, &w->bucket_capacity, w->bucket_count + 1, sizeof *w->buckets);
        if (!w->failed)
            w->buckets[w->bucket_count++] =
                (bucket){at, cell(w->m, t, "from", row), cell(w->m, t, "to", row),
                         cell(w->m, t, "count", row)};
    }
}

static void add_failure(work *w, trace_result *r, uint32_t type, uint64_t count)
{
    trace_failure_type *more_types;

    for (size_t n = 0; n < r->by_type_count; n++) {
        if (r->by_type[n].type == type) {
            r->by_type[n].count += count;
            return;
        }
    }
    more_types = memory_resize(r->by_type, (r->by_type_count + 1) * sizeof *more_types);
    if (more_types == NULL) {
        w->failed = true;
        return;
    }
    r->by_type = more_types;
    r->by_type[r->by_type_count++] = (trace_failure_type){type, count};
}

static int by_count(const void *left, const void *right)
{
    const trace_failure_type *a = left, *b = right;

    return a->count > b->count ? -1 : a->count < b->count;
}

static void take_failures(work *w, const model_process *p, const model_table *t)
{
    for (size_t row = 0; row < t->rows && !w->failed; row++) {
        size_t at = result_of(w, p, cell(w->m, t, "method", row), cell(w->m, t, "kind", row));

        if (at != SIZE_MAX)
            add_failure(w, &w->out->items[at], (uint32_t)cell(w->m, t, "type", row),
                        cell(w->m, t, "count", row));
    }
    for (size_t n = 0; n < w->out->count; n++)
        if (w->out->items[n].by_type_count > 1)
            qsort(w->out->items[n].by_type, w->out->items[n].by_type_count,
                  sizeof *w->out->items[n].by_type, by_count);
}

static int by_method_and_time(const void *left, const void *right)
{
    const bucket *a = left, *b = right;

    if (a->method != b->method)
        return a->method < b->method ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* The middle of the bucket that holds the q-th call, kept inside of what was seen. */
static uint64_t quantile(const bucket *b, size_t count, uint64_t total, double q,
                         const trace_result *r)
{
    uint64_t wanted = (uint64_t)(q * (double)total);
    uint64_t before = 0;

    for (size_t n = 0; n < count; n++) {
        before += b[n].count;
        if (before > wanted || n + 1 == count) {
            uint64_t middle = b[n].from + (b[n].to - b[n].from) / 2;

            return middle < r->least_ns ? r->least_ns : middle > r->most_ns ? r->most_ns : middle;
        }
    }
    return 0;
}

static void find_quantiles(work *w)
{
    if (w->bucket_count != 0)
        qsort(w->buckets, w->bucket_count, sizeof *w->buckets, by_method_and_time);
    for (size_t n = 0; n < w->bucket_count;) {
        const bucket *first = &w->buckets[n];
        trace_result *r = &w->out->items[first->method];
        uint64_t total = 0;
        size_t end = n;

        for (; end < w->bucket_count && w->buckets[end].method == first->method; end++)
            total += w->buckets[end].count;
        r->p50_ns = quantile(first, end - n, total, 0.5, r);
        r->p90_ns = quantile(first, end - n, total, 0.9, r);
        r->p99_ns = quantile(first, end - n, total, 0.99, r);
        r->p999_ns = quantile(first, end - n, total, 0.999, r);
        n = end;
    }
}

size_t trace_count_meant(const model *m, const trace_results *results)
{
    size_t meant = 0;

    for (size_t n = 0; n < results->count; n++)
        meant += results->items[n].kind == TRACE_KIND_METHOD;
    for (size_t k = 0; k < m->process_count; k++)
        for (size_t n = 0; n < m->processes[k].loss_count; n++)
            if (strstr(model_text(m, m->processes[k].losses[n].reason), "not listed") != NULL)
                meant += (size_t)m->processes[k].losses[n].total;
    return meant;
}

static int by_total(const void *left, const void *right, void *context)
{
    const model *m = context;
    const trace_result *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(model_text(m, a->name), model_text(m, b->name));
}

int trace_analyse(const model *m, trace_results *out, error *e)
{
    work w = {.m = m, .out = out};

    memset(out, 0, sizeof *out);
    table_text_init(&w.known);
    for (size_t n = 0; n < m->process_count; n++) {
        const model_process *p = &m->processes[n];
        const model_table *states = model_find_table(m, p, "trace_methods", "trace");
        const model_table *calls = model_find_table(m, p, "trace_calls", "trace");
        const model_table *times = model_find_table(m, p, "trace_times", "trace");
        const model_table *failures = model_find_table(m, p, "trace_failures", "trace");

        if (states != NULL)
            take_states(&w, p, states);
        if (calls != NULL)
            take_calls(&w, p, calls);
        if (times != NULL)
            take_times(&w, p, times);
        if (failures != NULL)
            take_failures(&w, p, failures);
    }
    if (!w.failed) {
        find_quantiles(&w);
        if (out->count != 0)
            qsort_r(out->items, out->count, sizeof *out->items, by_total, (void *)(uintptr_t)m);
    }
    table_text_free(&w.known);
    memory_free(w.buckets);
    if (!w.failed)
        return 0;
    trace_results_free(out);
    return error_set(e, ERROR_MEMORY, "no memory for the traced methods");
}

void trace_results_free(trace_results *results)
{
    for (size_t n = 0; n < results->count; n++)
        memory_free(results->items[n].by_type);
    memory_free(results->items);
    memset(results, 0, sizeof *results);
}
