/* region: see region.h. */
#include "cil/region.h"

#include <string.h>

#include "base/memory.h"

/* A pairwise test: enough for every real method (the largest seen have some hundreds). */
enum { CLAUSE_LIMIT = 4096 };

typedef struct {
    uint32_t begin, end;
} span;

void cil_regions_free(cil_regions *r)
{
    memory_free(r->order);
    memory_free(r->region);
    memory_free(r->parent);
    memset(r, 0, sizeof *r);
}

static bool make_room(cil_regions *r, const cil_body *body)
{
    if (body->instruction_count > r->capacity) {
        memory_free(r->order);
        memory_free(r->region);
        r->capacity = 0;
        r->order = memory_allocate_array(body->instruction_count, sizeof *r->order);
        r->region = memory_allocate_array(body->instruction_count, sizeof *r->region);
        if (r->order == NULL || r->region == NULL)
            return false;
        r->capacity = body->instruction_count;
    }
    if (3 * body->clause_count + 1 > r->parent_capacity) {
        memory_free(r->parent);
        r->parent_capacity = 0;
        r->parent = memory_allocate_array(3 * body->clause_count + 1, sizeof *r->parent);
        if (r->parent == NULL)
            return false;
        r->parent_capacity = 3 * body->clause_count + 1;
    }
    return true;
}

static span try_span(const cil_regions *r, const cil_clause *c)
{
    return (span){r->order[c->try_begin], r->order[c->try_end]};
}

static span handler_span(const cil_regions *r, const cil_clause *c)
{
    return (span){r->order[c->handler_begin], r->order[c->handler_end]};
}

/* Filter and handler as one: the filter ends where its handler begins. */
static span handling_span(const cil_regions *r, const cil_clause *c)
{
    span s = handler_span(r, c);

    if (c->kind == CIL_FILTER)
        s.begin = r->order[c->filter_begin];
    return s;
}

static bool apart(span a, span b)
{
    return a.end <= b.begin || b.end <= a.begin;
}

static bool inside(span inner, span outer)
{
    return outer.begin <= inner.begin && inner.end <= outer.end;
}

static bool same(span a, span b)
{
    return a.begin == b.begin && a.end == b.end;
}

static const char *check_clause(const cil_regions *r, const cil_clause *c)
{
    span try = try_span(r, c);
    span handling = handling_span(r, c);
    span handler = handler_span(r, c);

    if (try.begin >= try.end)
        return "its try is empty or ends before it begins";
    if (handler.begin >= handler.end)
        return "its handler is empty or ends before it begins";
    if (c->kind == CIL_FILTER && handling.begin >= handler.begin)
        return "its filter does not stand before its handler";
    if (!apart(try, handling))
        return "its try and its handler overlap";
    return NULL;
}

/* `a` stands before `b` in the table. */
static const char *check_pair(const cil_regions *r, const cil_clause *a, const cil_clause *b)
{
    span a_try = try_span(r, a), a_handling = handling_span(r, a);
    span b_try = try_span(r, b), b_handling = handling_span(r, b);
    span b_parts[3] = {b_try, handler_span(r, b), {0, 0}};

    if (b->kind == CIL_FILTER)
        b_parts[2] = (span){b_handling.begin, r->order[b->handler_begin]};
    if (same(a_try, b_try))
        return apart(a_handling, b_handling) ? NULL : "two handlers of one try overlap";
    if (apart(a_try, b_try) && apart(a_try, b_handling) && apart(a_handling, b_try) &&
        apart(a_handling, b_handling))
        return NULL;
    for (unsigned n = 0; n < 3; n++)
        if (inside(a_try, b_parts[n]) && inside(a_handling, b_parts[n]))
            return NULL;
    for (unsigned n = 0; n < 2; n++) {
        span outer = n == 0 ? a_try : a_handling;

        if (inside(b_try, outer) && inside(b_handling, outer))
            return "it stands after a clause that encloses it";
    }
    return "it overlaps another clause";
}

static void paint(cil_regions *r, const cil_body *body, cil_at begin, cil_at end, uint32_t region)
{
    r->parent[region] = r->region[begin];
    for (cil_at at = begin; at != end; at = cil_get(body, at)->next)
        r->region[at] = region;
}

const char *cil_regions_build(cil_regions *r, const cil_body *body, uint32_t *clause)
{
    uint32_t number = 0;

    *clause = 0;
    r->plain = body->clause_count == 0;
    if (r->plain)
        return NULL;
    if (body->clause_count > CLAUSE_LIMIT)
        return "there are too many clauses";
    if (!make_room(r, body))
        return "no memory";
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        r->order[at] = number++;
        r->region[at] = 0;
    }
    r->order[CIL_END] = number;
    r->region[CIL_END] = 0;
    for (uint32_t n = 0; n < body->clause_count; n++) {
        const char *wrong = check_clause(r, &body->clauses[n]);

        *clause = n;
        for (uint32_t before = 0; before < n && wrong == NULL; before++)
            wrong = check_pair(r, &body->clauses[before], &body->clauses[n]);
        if (wrong != NULL)
            return wrong;
    }
    for (uint32_t n = body->clause_count; n-- > 0;) {
        const cil_clause *c = &body->clauses[n];
        uint32_t there = r->region[c->try_begin];
        bool shared = cil_region_kind(there) == CIL_REGION_TRY &&
                      same(try_span(r, c), try_span(r, &body->clauses[cil_region_clause(there)]));

        if (!shared)
            paint(r, body, c->try_begin, c->try_end, 3 * n + 1);
        if (c->kind == CIL_FILTER)
            paint(r, body, c->filter_begin, c->handler_begin, 3 * n + 2);
        paint(r, body, c->handler_begin, c->handler_end, 3 * n + 3);
    }
    return NULL;
}

/* Labels take no bytes: the first real instruction at or after a place. */
static cil_at past_labels(const cil_body *body, cil_at at)
{
    while (at != CIL_END && cil_get(body, at)->opcode == CIL_LABEL)
        at = cil_get(body, at)->next;
    return at;
}

/* The region one steps out to when `at` is the first instruction of try `region`: entering a try
 * at its start is allowed from there. UINT32_MAX when `at` is not that. */
static uint32_t entered_from(const cil_regions *r, const cil_body *body, uint32_t region, cil_at at)
{
    if (cil_region_kind(region) != CIL_REGION_TRY ||
        past_labels(body, body->clauses[cil_region_clause(region)].try_begin) !=
            past_labels(body, at))
        return UINT32_MAX;
    return r->parent[region];
}

bool cil_region_may_branch(const cil_regions *r, const cil_body *body, cil_at from, cil_at to)
{
    uint32_t region;

    if (r->plain)
        return true;
    for (region = r->region[to]; region != UINT32_MAX; region = entered_from(r, body, region, to))
        if (region == r->region[from])
            return true;
    return false;
}

static bool reachable(const cil_regions *r, const cil_body *body, uint32_t region, cil_at to)
{
    for (uint32_t there = r->region[to]; there != UINT32_MAX;
         there = entered_from(r, body, there, to))
        if (there == region)
            return true;
    return false;
}

bool cil_region_may_leave(const cil_regions *r, const cil_body *body, cil_at from, cil_at to)
{
    if (r->plain)
        return true;
    for (uint32_t region = r->region[from];; region = r->parent[region]) {
        const cil_clause *c;

        if (reachable(r, body, region, to))
            return true;
        if (region == 0)
            return false;
        c = &body->clauses[cil_region_clause(region)];
        switch (cil_region_kind(region)) {
        case CIL_REGION_FILTER:
            return false;
        case CIL_REGION_HANDLER:
            if (c->kind == CIL_FINALLY || c->kind == CIL_FAULT)
                return false;
            /* A catch may also leave back into its own try. */
            if (r->order[to] >= r->order[c->try_begin] && r->order[to] < r->order[c->try_end])
                return true;
            break;
        default:
            break;
        }
    }
}

bool cil_region_in_catch(const cil_regions *r, const cil_body *body, cil_at at)
{
    if (r->plain)
        return false;
    for (uint32_t region = r->region[at]; region != 0; region = r->parent[region]) {
        uint32_t kind = body->clauses[cil_region_clause(region)].kind;

        if (cil_region_kind(region) == CIL_REGION_HANDLER &&
            (kind == CIL_CATCH || kind == CIL_FILTER))
            return true;
    }
    return false;
}
