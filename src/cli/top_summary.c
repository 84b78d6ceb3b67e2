/* top_summary: see top_summary.h. */
#include "cli/top_summary.h"

#include <string.h>

static const struct {
    const char *table;
    const char *profiler;
} TABLES[TOP_SUMMARIES] = {
    [TOP_ALLOCATIONS] = {"allocations", "allocations"},
    [TOP_EXCEPTIONS] = {"exceptions", "exceptions"},
    [TOP_WAITS] = {"waits", "contention"},
    [TOP_REQUESTS] = {"requests", "http"},
    [TOP_COLLECTIONS] = {"collections", "gc"},
};

void top_summary_init(top_summary *s, const model *m, double seconds)
{
    memset(s, 0, sizeof *s);
    s->m = m;
    s->process = m->process_count != 0 ? &m->processes[0] : NULL;
    s->seconds = seconds;
}

static int make(top_summary *s, top_summary_kind kind, const model_table *table, error *e)
{
    switch (kind) {
    case TOP_ALLOCATIONS:
        return allocations_summarise(s->m, s->process, table, &s->allocations, e);
    case TOP_EXCEPTIONS:
        return exceptions_summarise(s->m, s->process, table, &s->exceptions, e);
    case TOP_WAITS:
        return contention_summarise(s->m, s->process, table, &s->waits, e);
    case TOP_REQUESTS:
        return requests_summarise(s->m, s->process, table, &s->requests, e);
    case TOP_COLLECTIONS:
        return gc_summarise(s->m, s->process, table, &s->collections, e);
    case TOP_SUMMARIES:
        break;
    }
    return 0;
}

int top_summary_need(top_summary *s, top_summary_kind kind, error *e)
{
    const model_table *table;
    int code;

    if (s->process == NULL || s->has[kind])
        return 0;
    table = model_find_table(s->m, s->process, TABLES[kind].table, TABLES[kind].profiler);
    if (table == NULL)
        return 0;
    code = make(s, kind, table, e);
    s->has[kind] = code == 0;
    s->made += code == 0;
    return code;
}

void top_summary_free(top_summary *s)
{
    if (s->has[TOP_ALLOCATIONS])
        allocations_free(&s->allocations);
    if (s->has[TOP_EXCEPTIONS])
        exceptions_free(&s->exceptions);
    if (s->has[TOP_WAITS])
        contention_free(&s->waits);
    if (s->has[TOP_REQUESTS])
        requests_free(&s->requests);
    if (s->has[TOP_COLLECTIONS])
        gc_free(&s->collections);
    memset(s, 0, sizeof *s);
}
