/* top_views: see top_views.h. */
#include "cli/top_views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/profile.h"
#include "base/memory.h"
#include "base/text.h"

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for a list");
}

/* Takes the label over, also on failure. */
static bool add(top_rows *rows, char *label, double a, double b, double c, double d)
{
    if (label == NULL ||
        !array_reserve(&rows->items, &rows->capacity, rows->count + 1, sizeof *rows->items)) {
        memory_free(label);
        return false;
    }
    rows->items[rows->count++] = (top_row){{a, b, c, d}, label};
    return true;
}

static const char *leaf_name(const model *m, const model_process *p, uint32_t stack)
{
    return stack == 0
               ? ""
               : model_text(m, p->functions[p->frames[p->stack_frames[stack]].function].name);
}

/* "what in method", without the second part where it is not known. */
static char *place_label(const model *m, const model_process *p, uint32_t what, uint32_t stack)
{
    const char *method = leaf_name(m, p, stack);
    buffer text = BUFFER_EMPTY;

    buffer_append_text(&text, what == 0 ? "(unknown)" : model_text(m, what));
    if (method[0] != '\0')
        buffer_format(&text, " in %s", method);
    return buffer_take_text(&text);
}

/* Of a wait for a lock, from where the program asked for it: on 9.0 and later that is a call of a
 * managed method. */
static uint32_t skip_locking(const model *m, const model_process *p, uint32_t stack)
{
    uint32_t at = stack;

    while (at != 0 && (text_starts_with(leaf_name(m, p, at), "System.Threading.Monitor.") ||
                       text_starts_with(leaf_name(m, p, at), "System.Threading.Lock.")))
        at = p->stack_parents[at];
    return at != 0 ? at : stack;
}

/* ---- processor time ---- */

/* Every function on a stack once, however often it is there. */
static void add_totals(const model_process *p, const uint64_t *weights, uint64_t *totals,
                       uint32_t *seen)
{
    for (uint32_t stack = 1; stack < p->stack_count; stack++) {
        if (weights[stack] == 0)
            continue;
        for (uint32_t at = stack; at != 0; at = p->stack_parents[at]) {
            uint32_t function = p->frames[p->stack_frames[at]].function;

            if (seen[function] != stack)
                totals[function] += weights[stack];
            seen[function] = stack;
        }
    }
}

static int fill_methods(top_summary *s, top_rows *rows, error *e)
{
    const model *m = s->m;
    const model_process *p = s->process;
    profile cpu;
    uint64_t *weights = memory_allocate_array(p->stack_count + 1, sizeof *weights);
    uint64_t *self = memory_allocate_array(p->function_count + 1, sizeof *self);
    uint64_t *totals = memory_allocate_array(p->function_count + 1, sizeof *totals);
    uint32_t *seen = memory_allocate_array(p->function_count + 1, sizeof *seen);
    bool done = weights != NULL && self != NULL && totals != NULL && seen != NULL;

    if (done && profile_find(m, p, "cpu", &cpu)) {
        profile_sum(&cpu, &PROFILE_ALL, weights, NULL);
        for (uint32_t stack = 1; stack < p->stack_count; stack++)
            self[p->frames[p->stack_frames[stack]].function] += weights[stack];
        add_totals(p, weights, totals, seen);
        for (size_t i = 1; i < p->function_count && done; i++)
            if (totals[i] != 0)
                done = add(rows, memory_copy_text(model_text(m, p->functions[i].name)),
                           (double)self[i] / s->seconds / 1e7, (double)totals[i] / s->seconds / 1e7,
                           0, 0);
    }
    memory_free(weights);
    memory_free(self);
    memory_free(totals);
    memory_free(seen);
    return done ? 0 : no_memory(e);
}

static int fill_threads(top_summary *s, top_rows *rows, error *e)
{
    const model *m = s->m;
    const model_process *p = s->process;
    profile cpu;
    uint64_t *weights = memory_allocate_array(p->thread_count + 1, sizeof *weights);
    uint64_t *samples = memory_allocate_array(p->thread_count + 1, sizeof *samples);
    bool done = weights != NULL && samples != NULL;

    if (done && profile_find(m, p, "cpu", &cpu)) {
        profile_sum_threads(&cpu, &PROFILE_ALL, weights, samples);
        for (size_t i = 1; i < p->thread_count && done; i++) {
            char title[160];

            if (samples[i] == 0)
                continue;
            model_thread_title(m, &p->threads[i], title, sizeof title);
            done = add(rows, memory_copy_text(title), (double)weights[i] / s->seconds / 1e7,
                       (double)samples[i], 0, 0);
        }
    }
    memory_free(weights);
    memory_free(samples);
    return done ? 0 : no_memory(e);
}

/* ---- events ---- */

static int fill_allocations(top_summary *s, top_rows *rows, error *e)
{
    const allocations *x = &s->allocations;
    bool done = true;
    int code = top_summary_need(s, TOP_ALLOCATIONS, e);

    if (!s->has[TOP_ALLOCATIONS])
        return code;
    for (size_t i = 0; i < x->types.count && done; i++)
        done = add(rows, memory_copy_text(model_text(s->m, x->types.items[i].type)),
                   (double)x->types.items[i].bytes / s->seconds,
                   x->types.items[i].objects / s->seconds, 0, 0);
    return done ? 0 : no_memory(e);
}

static int fill_exceptions(top_summary *s, top_rows *rows, error *e)
{
    const exceptions *x = &s->exceptions;
    bool done = true;
    int code = top_summary_need(s, TOP_EXCEPTIONS, e);

    if (!s->has[TOP_EXCEPTIONS])
        return code;
    for (size_t i = 0; i < x->places.count && done; i++) {
        const exceptions_group *g = &x->places.items[i];

        done = add(rows, place_label(s->m, s->process, g->type, g->stack),
                   (double)g->count / s->seconds, (double)g->count, 0, 0);
    }
    return done ? 0 : no_memory(e);
}

static int fill_locks(top_summary *s, top_rows *rows, error *e)
{
    const contention *x = &s->waits;
    bool done = true;
    int code = top_summary_need(s, TOP_WAITS, e);

    if (!s->has[TOP_WAITS])
        return code;
    for (size_t i = 0; i < x->places.count && done; i++) {
        const groups_item *g = &x->places.items[i];

        done = add(
            rows,
            place_label(s->m, s->process, g->key[1], skip_locking(s->m, s->process, g->key[0])),
            (double)g->sum / s->seconds / 1e7, (double)g->count / s->seconds, (double)g->most, 0);
    }
    return done ? 0 : no_memory(e);
}

static int fill_requests(top_summary *s, top_rows *rows, error *e)
{
    const requests *x = &s->requests;
    bool done = true;
    int code = top_summary_need(s, TOP_REQUESTS, e);

    if (!s->has[TOP_REQUESTS])
        return code;
    for (size_t side = 0; side < REQUESTS_KINDS; side++) {
        const requests_list *names = &x->sides[side].names;

        for (size_t i = 0; i < names->count && done; i++) {
            const requests_group *g = &names->items[i];

            done = add(rows, memory_copy_text_n(g->name, g->length),
                       (double)g->lengths.count / s->seconds, (double)g->failures / s->seconds,
                       (double)groups_spread_at(&g->lengths, 0.5),
                       (double)groups_spread_at(&g->lengths, 0.99));
        }
    }
    return done ? 0 : no_memory(e);
}

static int fill_collections(top_summary *s, top_rows *rows, error *e)
{
    const gc *x = &s->collections;
    bool done = true;
    int code = top_summary_need(s, TOP_COLLECTIONS, e);

    if (!s->has[TOP_COLLECTIONS])
        return code;
    for (size_t i = 0; i < x->generations.count && done; i++) {
        const groups_item *g = &x->generations.items[i];
        buffer text = BUFFER_EMPTY;

        buffer_format(&text, "generation %u, %s", g->key[0], gc_kind_name(g->key[1]));
        done = add(rows, buffer_take_text(&text), (double)g->count / s->seconds,
                   (double)g->sum / s->seconds / 1e7, (double)g->most, 0);
    }
    return done ? 0 : no_memory(e);
}

const top_view TOP_VIEWS[] = {
    {"methods", "method", {{"self", TOP_PERCENT}, {"with calls", TOP_PERCENT}}, fill_methods},
    {"threads", "thread", {{"cpu", TOP_PERCENT}, {"samples", TOP_COUNT}}, fill_threads},
    {"allocations", "type", {{"bytes/s", TOP_BYTES}, {"objects/s", TOP_RATE}}, fill_allocations},
    {"exceptions", "exception", {{"per s", TOP_RATE}, {"count", TOP_COUNT}}, fill_exceptions},
    {"locks",
     "lock",
     {{"blocked", TOP_PERCENT}, {"waits/s", TOP_RATE}, {"longest", TOP_TIME}},
     fill_locks},
    {"requests",
     "request",
     {{"per s", TOP_RATE}, {"failed/s", TOP_RATE}, {"median", TOP_TIME}, {"99 %", TOP_TIME}},
     fill_requests},
    {"gc",
     "collections",
     {{"per s", TOP_RATE}, {"paused", TOP_PERCENT}, {"longest", TOP_TIME}},
     fill_collections},
    {0},
};

/* ---- lists ---- */

size_t top_view_columns(const top_view *view)
{
    size_t count = 0;

    while (count < TOP_VALUES && view->columns[count].name != NULL)
        count++;
    return count;
}

typedef struct {
    size_t sort;
    size_t columns;
} order;

static int compare(const void *left, const void *right, void *context)
{
    const top_row *a = left;
    const top_row *b = right;
    const order *by = context;

    for (size_t i = 0; i < by->columns && by->sort < by->columns; i++) {
        size_t column = (by->sort + i) % by->columns;

        if (a->values[column] != b->values[column])
            return a->values[column] < b->values[column] ? 1 : -1;
    }
    return strcmp(a->label, b->label);
}

/* The longest of times, the sum of everything else. */
static void merge(const top_view *view, top_row *into, top_row *other)
{
    for (size_t i = 0; i < TOP_VALUES; i++) {
        if (view->columns[i].format != TOP_TIME)
            into->values[i] += other->values[i];
        else if (other->values[i] > into->values[i])
            into->values[i] = other->values[i];
    }
    memory_free(other->label);
}

void top_rows_arrange(top_rows *rows, const top_view *view, const char *filter, size_t sort)
{
    order by = {top_view_columns(view), top_view_columns(view)};
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        if (filter[0] == '\0' || strcasestr(rows->items[i].label, filter) != NULL)
            rows->items[kept++] = rows->items[i];
        else
            memory_free(rows->items[i].label);
    }
    rows->count = kept;
    if (kept < 2)
        return;
    qsort_r(rows->items, kept, sizeof *rows->items, compare, &by);
    rows->count = 1;
    for (size_t i = 1; i < kept; i++) {
        top_row *last = &rows->items[rows->count - 1];

        if (strcmp(last->label, rows->items[i].label) == 0)
            merge(view, last, &rows->items[i]);
        else
            rows->items[rows->count++] = rows->items[i];
    }
    by.sort = sort;
    qsort_r(rows->items, rows->count, sizeof *rows->items, compare, &by);
}

void top_rows_free(top_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        memory_free(rows->items[i].label);
    memory_free(rows->items);
    memset(rows, 0, sizeof *rows);
}

static void put_scaled(double value, double step, const char *const *units, size_t count,
                       char out[24])
{
    size_t i = 0;

    for (; i + 1 < count && value >= step; i++)
        value /= step;
    snprintf(out, 24, value < 10 && i > 0 ? "%.1f %s" : "%.0f %s", value, units[i]);
}

void top_format_value(top_format format, double value, char out[24])
{
    static const char *const TIMES[] = {"ns", "us", "ms", "s"};
    static const char *const SIZES[] = {"B", "KB", "MB", "GB", "TB"};

    switch (format) {
    case TOP_PERCENT:
        snprintf(out, 24, "%.1f %%", value);
        break;
    case TOP_RATE:
        snprintf(out, 24, value < 10 ? "%.1f" : "%.0f", value);
        break;
    case TOP_BYTES:
        put_scaled(value, 1000, SIZES, sizeof SIZES / sizeof *SIZES, out);
        break;
    case TOP_TIME:
        put_scaled(value, 1000, TIMES, sizeof TIMES / sizeof *TIMES, out);
        break;
    case TOP_COUNT:
        snprintf(out, 24, "%.0f", value);
        break;
    }
}
