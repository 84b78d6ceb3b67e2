/*
 * rule_leak: leak-growth, from the table `collections`. What full collections leave is what the
 * program holds; when each of them leaves more than the one before, it holds on to more and more.
 * Where there are too few of them, the old generation between collections is looked at: it may
 * hold garbage too, so that is only a hint.
 */
#include "analysis/findings_rule.h"
#include "analysis/gc.h"

#define MB 1e6
enum { FULL = 2, HINT_COLLECTIONS = 8, HINT_TIMES = 4 };

/* Sizes after collections, as far as they went up. */
typedef struct {
    size_t count;
    bool rises; /* each is larger than the one before */
    uint64_t first, last;
    uint64_t begin_ns, end_ns;
} growth;

static void take(growth *g, uint64_t size, uint64_t time, bool may_stand)
{
    if (g->count == 0) {
        *g = (growth){.rises = true, .first = size, .begin_ns = time};
    } else {
        g->rises = g->rises && (size > g->last || (may_stand && size == g->last));
    }
    g->last = size;
    g->end_ns = time;
    g->count++;
}

static uint64_t cell(const model_column *column, size_t row)
{
    return column == NULL ? 0 : model_cell(column, row);
}

/* Bytes that a full collection left, without the room between them. */
static void measure(const findings_context *c, const model_table *table, growth *full, growth *old)
{
    const model_column *time = model_find_column(c->m, table, "time");
    const model_column *generation = model_find_column(c->m, table, "generation");
    const model_column *kind = model_find_column(c->m, table, "kind");
    const model_column *size = model_find_column(c->m, table, "collected_size");
    const model_column *room = model_find_column(c->m, table, "free");
    const model_column *gen2 = model_find_column(c->m, table, "gen2");
    const model_column *large = model_find_column(c->m, table, "loh");

    *full = *old = (growth){0};
    for (size_t row = 0; row < table->rows; row++) {
        uint64_t left = cell(size, row), empty = cell(room, row);

        if (cell(kind, row) == GC_KIND_NOTHING)
            continue;
        if (cell(generation, row) == FULL && left != 0)
            take(full, left > empty ? left - empty : 0, cell(time, row), false);
        take(old, cell(gen2, row) + cell(large, row), cell(time, row), true);
    }
}

static bool is_leak(const findings_context *c, const growth *g, size_t least, double times)
{
    double more = (double)g->last - (double)g->first;

    return g->rises && g->count >= least && g->end_ns > g->begin_ns &&
           more >= times * findings_limit(c, THRESHOLD_LEAK_MB) * MB &&
           100.0 * more >= times * findings_limit(c, THRESHOLD_LEAK_PERCENT) * (double)g->first;
}

static void tell(findings_context *c, const growth *g, bool is_sure)
{
    double more = (double)(g->last - g->first) / MB;
    double seconds = (double)(g->end_ns - g->begin_ns) / 1e9;
    finding *f = findings_add(
        c, is_sure ? FINDINGS_WARNING : FINDINGS_INFO,
        "%s grew by %.1f MB in %.1f s, from %.1f to %.1f MB, at every one of %zu %scollections: "
        "%.0f MB a minute",
        is_sure ? "what the program holds" : "the old generation", more, seconds,
        (double)g->first / MB, (double)g->last / MB, g->count, is_sure ? "full " : "",
        60 * more / seconds);

    if (!is_sure)
        findings_show(c, f, "some of it may be garbage that the next full collection takes");
    findings_advise(
        c, f,
        "`clarinet heap watch PID` takes a few snapshots, names the types that grow and "
        "the field that holds them. Look for caches without a limit, static lists and "
        "events that are never unsubscribed. A program that has just started also "
        "grows: look again later.");
}

void findings_rule_leak(findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "collections", "gc");
    growth full, old;

    if (table == NULL)
        return;
    measure(c, table, &full, &old);
    if (is_leak(c, &full, (size_t)findings_limit(c, THRESHOLD_LEAK_COLLECTIONS), 1))
        tell(c, &full, true);
    else if (full.count == 0 && is_leak(c, &old, HINT_COLLECTIONS, HINT_TIMES))
        tell(c, &old, false);
}
