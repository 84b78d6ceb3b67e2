/*
 * rule_http: http-slow. Requests that the program serves and that take long, by name, with the
 * share of it that went into requests it made itself. From the table `requests` of `http`.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/findings_rule.h"
#include "analysis/requests.h"

enum { MOST_NAMES = 3 };

typedef struct {
    size_t count;
    uint64_t oldest_ns;
} waiting;

static bool has_name(const requests_group *group, const char *name)
{
    return strlen(name) == group->length && memcmp(name, group->name, group->length) == 0;
}

/* Those under way that are slow already; group NULL: of any name. */
static waiting count_waiting(const findings_context *c, const requests *x,
                             const requests_group *group)
{
    waiting result = {0};

    for (size_t i = 0; i < x->open_count; i++) {
        if (x->open[i].kind != REQUESTS_SERVED ||
            (group != NULL && !has_name(group, x->open[i].name)) ||
            (double)x->open[i].age_ns / 1e6 < findings_limit(c, THRESHOLD_HTTP_MS))
            continue;
        result.count++;
        result.oldest_ns =
            x->open[i].age_ns > result.oldest_ns ? x->open[i].age_ns : result.oldest_ns;
    }
    return result;
}

static bool is_slow(const findings_context *c, const requests_group *group, waiting open)
{
    double least = findings_limit(c, THRESHOLD_HTTP_COUNT);

    return (double)open.count >= least || ((double)group->lengths.count >= least &&
                                           (double)groups_spread_at(&group->lengths, 0.95) / 1e6 >=
                                               findings_limit(c, THRESHOLD_HTTP_MS));
}

/* Time of requests that were made for served ones of this name. */
static uint64_t sum_made(const findings_context *c, const model_table *table, requests *x,
                         const requests_group *group)
{
    const model_column *kind = groups_column(c->m, table, "kind", RECORDING_U64);
    const model_column *inside = groups_column(c->m, table, "inside", RECORDING_STRING_ID);
    const model_column *weight = groups_column(c->m, table, "weight", RECORDING_DURATION);
    uint64_t sum = 0;

    for (size_t row = 0; row < table->rows; row++) {
        if (groups_cell(kind, row, 0) == REQUESTS_MADE &&
            has_name(group, requests_route(x, c->m, (uint32_t)groups_cell(inside, row, 0))))
            sum += groups_cell(weight, row, 0);
    }
    return sum;
}

static void show(findings_context *c, finding *f, const model_table *table, requests *x,
                 const requests_group *group, waiting open)
{
    double all = (double)group->lengths.sum;
    double made = (double)sum_made(c, table, x, group);

    findings_show(c, f,
                  "%.*s: %zu answered, half within %.0f ms, 95 %% within %.0f ms, longest "
                  "%.0f ms",
                  (int)group->length, group->name, group->lengths.count,
                  (double)groups_spread_at(&group->lengths, 0.5) / 1e6,
                  (double)groups_spread_at(&group->lengths, 0.95) / 1e6,
                  (double)groups_spread_at(&group->lengths, 1) / 1e6);
    if (open.count != 0)
        findings_show(c, f, "%zu under way, the oldest for %.1f s", open.count,
                      (double)open.oldest_ns / 1e9);
    if (all > 0 && made > 0)
        findings_show(c, f, "%.0f %% of that time in requests it makes itself",
                      100.0 * (made < all ? made : all) / all);
}

/* None of them was answered, so that none has a group. */
static finding *tell_hanging(findings_context *c, const requests *x)
{
    waiting open = count_waiting(c, x, NULL);
    size_t oldest = 0;
    finding *f;

    if ((double)open.count < findings_limit(c, THRESHOLD_HTTP_COUNT))
        return NULL;
    while (x->open[oldest].kind != REQUESTS_SERVED)
        oldest++;
    f = findings_add(c, FINDINGS_WARNING,
                     "%zu requests were not answered yet, the oldest for %.1f s: %s", open.count,
                     (double)open.oldest_ns / 1e9, x->open[oldest].name);
    findings_set_place(c, f, x->open[oldest].name);
    for (size_t i = 0, shown = 0; i < x->open_count && shown < MOST_NAMES; i++)
        if (x->open[i].kind == REQUESTS_SERVED && ++shown != 0)
            findings_show(c, f, "%s: under way for %.1f s", x->open[i].name,
                          (double)x->open[i].age_ns / 1e9);
    return f;
}

static void look(findings_context *c, const model_table *table, requests *x)
{
    const requests_list *names = &x->sides[REQUESTS_SERVED].names;
    finding *f = NULL;
    size_t told = 0;

    for (size_t i = 0; i < names->count && told < MOST_NAMES; i++) {
        const requests_group *group = &names->items[i];
        waiting open = count_waiting(c, x, group);
        char name[FINDINGS_NAME];

        if (!is_slow(c, group, open))
            continue;
        if (told++ == 0) {
            snprintf(name, sizeof name, "%.*s", (int)group->length, group->name);
            f = findings_add(c, FINDINGS_WARNING,
                             "%s is slow: of %zu requests in %.1f s one of 20 took %.0f ms or more",
                             name, group->lengths.count + open.count, c->seconds,
                             (double)(group->lengths.count == 0
                                          ? open.oldest_ns
                                          : groups_spread_at(&group->lengths, 0.95)) /
                                 1e6);
            findings_set_place(c, f, name);
        }
        show(c, f, table, x, group, open);
    }
    if (told == 0)
        f = tell_hanging(c, x);
    if (f != NULL)
        findings_advise(c, f,
                        "Look at the other findings first: a lock, the thread pool or a pause is "
                        "often the cause. Where most of the time is in requests that it makes "
                        "itself, look at that service, ask it less often or at once. Else "
                        "`clarinet trace` times the methods behind it.");
}

void findings_rule_http(findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "requests", "http");
    requests x;

    if (table == NULL)
        return;
    if (requests_summarise(c->m, c->process, table, &x, NULL) != 0) {
        c->list->failed = true;
        return;
    }
    look(c, table, &x);
    requests_free(&x);
}
