/*
 * tasks_chains: every way from a task that waits for no other one up to one that nobody awaits, and
 * the groups of equal ones.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/array.h"
#include "analysis/tasks_private.h"

enum { DEEPEST_CHAIN = 64, MOST_CHAINS = 4000000 };

typedef struct {
    uint32_t tasks[DEEPEST_CHAIN]; /* innermost first */
    size_t count;
    tasks_leaf leaf;
} chain;

static tasks_step step_of(const tasks_work *w, const tasks_task *t)
{
    const heap *h = w->h;
    tasks_step step = {.type = h->types[h->classes[t->class].type].name, .state = t->state};
    uint64_t frame;

    if (t->is_box && t->state >= 0 &&
        table_u64_get(&w->frames, (uint64_t)t->class << 32 | (uint32_t)t->state, &frame)) {
        step.frame = (uint32_t)frame;
        step.has_line = true;
    } else if (t->is_box && table_u64_get(&w->frames, (uint64_t)t->class << 32, &frame)) {
        step.frame = (uint32_t)frame;
    }
    return step;
}

static bool make_group(tasks_work *w, const chain *c, tasks_end end, uint64_t hash)
{
    tasks_view *v = w->view;
    tasks_group *g;
    bool first_is_leaf = !w->tasks[c->tasks[0]].is_box && c->leaf.wait != TASKS_DELEGATE;

    if (!array_reserve(&v->groups, &v->group_capacity, v->group_count + 1, sizeof *v->groups) ||
        !array_reserve(&v->steps, &v->step_capacity, v->step_count + c->count, sizeof *v->steps))
        return false;
    g = &v->groups[v->group_count++];
    *g = (tasks_group){.wait = c->leaf.wait,
                       .end = end,
                       .type = c->leaf.type,
                       .first = v->step_count,
                       .example = w->h->snapshot->addresses[w->tasks[c->tasks[0]].node - 1],
                       .hash = hash};
    for (size_t i = first_is_leaf ? 1 : 0; i < c->count; i++)
        v->steps[v->step_count++] = step_of(w, &w->tasks[c->tasks[i]]);
    g->count = v->step_count - g->first;
    return true;
}

static bool put_chain(tasks_work *w, table_u64 *known, const chain *c, tasks_end end)
{
    const model_heap *s = w->h->snapshot;
    tasks_view *v = w->view;
    const tasks_task *last = &w->tasks[c->tasks[c->count - 1]];
    uint32_t innermost = w->tasks[c->tasks[0]].node - 1;
    const char *type = model_text(w->h->m, c->leaf.type);
    uint64_t hash = table_hash_u64((uint64_t)c->leaf.wait << 8 | end);
    uint64_t *at;
    tasks_group *g;

    if (v->chains == MOST_CHAINS) {
        v->chains_left_out++;
        return true;
    }
    hash = table_hash_u64(hash ^ table_hash_bytes(type, strlen(type)));
    for (size_t i = 0; i < c->count; i++) {
        const tasks_task *t = &w->tasks[c->tasks[i]];

        hash = table_hash_u64(hash ^ w->classes[t->class].name_hash) + (uint32_t)t->state;
    }
    hash = table_hash_u64(hash);
    at = table_u64_at(known, hash, v->group_count);
    if (at == NULL || (*at == v->group_count && !make_group(w, c, end, hash)))
        return false;
    g = &v->groups[*at];
    g->chains++;
    g->lost += c->leaf.lost;
    if (c->leaf.due_ms > g->due_ms)
        g->due_ms = c->leaf.due_ms;
    if (c->leaf.age_ms > g->age_ms)
        g->age_ms = c->leaf.age_ms;
    v->chains++;
    return table_u64_put(&v->identities,
                         table_hash_u64(hash ^ s->addresses[innermost]) +
                             s->addresses[last->node - 1],
                         (hash & ~TASKS_GENERATION) | s->generations[innermost]);
}

static bool is_in(const chain *c, uint32_t task)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->tasks[i] == task)
            return true;
    return false;
}

static bool climb(tasks_work *w, table_u64 *known, chain *c)
{
    uint32_t top = c->tasks[c->count - 1];
    bool is_last = true, good = true;

    for (uint64_t i = w->first_edge[top]; good && i < w->first_edge[top + 1]; i++) {
        uint32_t next = w->edges[i].to;

        if (c->count == DEEPEST_CHAIN || is_in(c, next) || w->view->chains == MOST_CHAINS ||
            (i > w->first_edge[top] && w->edges[i - 1].to == next))
            continue;
        is_last = false;
        c->tasks[c->count++] = next;
        good = climb(w, known, c);
        c->count--;
    }
    /* whatever else comes next, a thread that blocks is worth a chain of its own */
    if (good && w->tasks[top].blocks_thread)
        return put_chain(w, known, c, TASKS_THREAD);
    return good &&
           (!is_last ||
            put_chain(w, known, c, w->tasks[top].has_callback ? TASKS_CALLBACK : TASKS_NOBODY));
}

static int compare_groups(const void *a, const void *b)
{
    const tasks_group *x = a, *y = b;

    if (tasks_is_unawaited(x) != tasks_is_unawaited(y))
        return tasks_is_unawaited(x) ? 1 : -1;
    if (x->chains != y->chains)
        return x->chains > y->chains ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

bool tasks_make_chains(tasks_work *w)
{
    table_u64 known;
    bool good = true;

    table_u64_init(&known);
    for (uint32_t t = 1; good && t < w->task_count; t++) {
        chain c;

        if (w->tasks[t].downs != 0)
            continue;
        c.count = 1;
        c.tasks[0] = t;
        c.leaf = tasks_find_leaf(w, t);
        good = climb(w, &known, &c);
    }
    table_u64_free(&known);
    if (good && w->view->group_count != 0)
        qsort(w->view->groups, w->view->group_count, sizeof *w->view->groups, compare_groups);
    return good;
}
