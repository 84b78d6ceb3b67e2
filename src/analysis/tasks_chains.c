/*
 * tasks_chains: every way from a task that waits for no other one up to one that nobody awaits, and
 * the groups of equal ones. Tasks that await each other (tasks_cycles) begin a chain as a whole.
 *
 * Invariant: every task that is not done is in some chain, unless chains were left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/tasks_private.h"

enum { MOST_CHAINS = 4000000, MOST_PLACES = 400000000 };

/* A task of the chain that is being made. */
typedef struct {
    uint32_t task;
    bool goes_on;  /* there is a chain with somebody who awaits it */
    uint64_t next; /* edge to try next */
    uint64_t hash; /* of the chain up to here */
} place;

typedef struct {
    tasks_work *w;
    table_u64 known; /* groups by hash */
    place *places;   /* innermost first */
    size_t count, capacity;
    size_t ring;    /* so many of them await each other */
    uint64_t fresh; /* of these tasks: in no chain before */
    uint64_t all;   /* places taken so far */
    tasks_leaf leaf;
} chain;

static tasks_step step_of(const tasks_work *w, const tasks_task *t)
{
    const heap *h = w->h;
    tasks_step step = {
        .type = h->types[h->classes[t->class].type].name, .state = t->state, .times = 1};
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

static bool is_same_step(const tasks_step *a, const tasks_step *b)
{
    return a->type == b->type && a->frame == b->frame && a->state == b->state;
}

/* A method that awaits itself, call after call, is one step; not across the end of a ring. */
static bool put_steps(const chain *c, size_t from, tasks_group *g)
{
    tasks_view *v = c->w->view;

    for (size_t i = from; i < c->count; i++) {
        tasks_step step = step_of(c->w, &c->w->tasks[c->places[i].task]);

        if (i == c->ring)
            g->ring = v->step_count - g->first;
        if (v->step_count > g->first + g->ring &&
            is_same_step(&v->steps[v->step_count - 1], &step)) {
            v->steps[v->step_count - 1].times++;
            continue;
        }
        if (!array_reserve(&v->steps, &v->step_capacity, v->step_count + 1, sizeof *v->steps))
            return false;
        v->steps[v->step_count++] = step;
    }
    g->count = v->step_count - g->first;
    if (c->ring == c->count)
        g->ring = g->count;
    return true;
}

static bool make_group(const chain *c, tasks_end end, uint64_t hash)
{
    const tasks_work *w = c->w;
    tasks_view *v = w->view;
    const tasks_task *innermost = &w->tasks[c->places[0].task];
    bool first_is_leaf = !innermost->is_box && c->leaf.wait != TASKS_DELEGATE && c->ring == 0;
    tasks_group *g;

    if (!array_reserve(&v->groups, &v->group_capacity, v->group_count + 1, sizeof *v->groups))
        return false;
    g = &v->groups[v->group_count++];
    *g = (tasks_group){.wait = c->leaf.wait,
                       .end = end,
                       .type = c->leaf.type,
                       .first = v->step_count,
                       .example = w->h->snapshot->addresses[innermost->node - 1],
                       .hash = hash};
    return put_steps(c, first_is_leaf ? 1 : 0, g);
}

static bool put_chain(chain *c, tasks_end end)
{
    const tasks_work *w = c->w;
    const model_heap *s = w->h->snapshot;
    tasks_view *v = w->view;
    const place *top = &c->places[c->count - 1];
    uint32_t innermost = w->tasks[c->places[0].task].node - 1;
    uint64_t hash = table_hash_u64(top->hash ^ (uint64_t)end);
    uint64_t *at;
    tasks_group *g;

    if (v->chains == MOST_CHAINS || c->all >= MOST_PLACES) {
        v->chains_left_out++;
        return true;
    }
    at = table_u64_at(&c->known, hash, v->group_count);
    if (at == NULL || (*at == v->group_count && !make_group(c, end, hash)))
        return false;
    g = &v->groups[*at];
    g->chains++;
    g->tasks += c->fresh;
    c->fresh = 0;
    g->lost += c->leaf.lost;
    if (c->leaf.due_ms > g->due_ms)
        g->due_ms = c->leaf.due_ms;
    if (c->leaf.due_ms != 0 && (g->least_ms == 0 || c->leaf.due_ms < g->least_ms))
        g->least_ms = c->leaf.due_ms;
    if (c->leaf.age_ms > g->age_ms)
        g->age_ms = c->leaf.age_ms;
    v->chains++;
    return table_u64_put(&v->identities,
                         table_hash_u64(hash ^ s->addresses[innermost]) +
                             s->addresses[w->tasks[top->task].node - 1],
                         (hash & ~TASKS_GENERATION) | s->generations[innermost]);
}

/* ---- one chain after the other ---- */

static void begin(chain *c, tasks_leaf leaf)
{
    c->count = c->ring = 0;
    c->leaf = leaf;
}

static bool push(chain *c, uint32_t task)
{
    tasks_work *w = c->w;
    tasks_task *t = &w->tasks[task];
    const char *type = model_text(w->h->m, c->leaf.type);
    uint64_t hash = c->count != 0 ? c->places[c->count - 1].hash
                                  : table_hash_u64(table_hash_u64((uint64_t)c->leaf.wait << 8) ^
                                                   table_hash_bytes(type, strlen(type)));

    if (!array_reserve(&c->places, &c->capacity, c->count + 1, sizeof *c->places))
        return false;
    hash = table_hash_u64(hash ^ w->classes[t->class].name_hash) + (uint32_t)t->state;
    c->places[c->count++] = (place){.task = task, .next = w->first_edge[task], .hash = hash};
    c->all++;
    c->fresh += !t->is_shown;
    t->is_shown = t->is_here = true;
    return true;
}

/* The next one who awaits the outermost task of the chain; 0 = there is no further one. */
static uint32_t next_of(const chain *c, place *top)
{
    const tasks_work *w = c->w;

    while (top->next < w->first_edge[top->task + 1]) {
        uint64_t i = top->next++;
        uint32_t next = w->edges[i].to;

        if (!w->tasks[next].is_here && w->view->chains < MOST_CHAINS && c->all < MOST_PLACES &&
            (i == w->first_edge[top->task] || w->edges[i - 1].to != next))
            return next;
    }
    return 0;
}

/* What is known of the outermost task once everybody who awaits it has had a chain. */
static bool end_place(chain *c)
{
    const place *top = &c->places[c->count - 1];
    const tasks_task *t = &c->w->tasks[top->task];

    /* whatever else comes next, a thread that blocks is worth a chain of its own */
    if (t->blocks_thread)
        return put_chain(c, TASKS_THREAD);
    return top->goes_on || put_chain(c, t->has_callback       ? TASKS_CALLBACK
                                        : c->ring == c->count ? TASKS_ONE_ANOTHER
                                                              : TASKS_NOBODY);
}

/* All chains that begin with the places that are there. */
static bool climb(chain *c)
{
    size_t bottom = c->count;
    bool good = true;

    while (good && c->count >= bottom) {
        place *top = &c->places[c->count - 1];
        uint32_t next = next_of(c, top);

        if (next != 0) {
            top->goes_on = true;
            good = push(c, next);
            continue;
        }
        good = end_place(c);
        c->w->tasks[c->places[--c->count].task].is_here = false;
    }
    while (c->count != 0)
        c->w->tasks[c->places[--c->count].task].is_here = false;
    return good;
}

static bool climb_from(chain *c, uint32_t task, tasks_leaf leaf)
{
    begin(c, leaf);
    return push(c, task) && climb(c);
}

/* ---- rings ---- */

static bool leads_out(const tasks_work *w, uint32_t task)
{
    for (uint64_t i = w->first_edge[task]; i < w->first_edge[task + 1]; i++)
        if (w->tasks[w->edges[i].to].ring != w->tasks[task].ring)
            return true;
    return w->tasks[task].blocks_thread || w->tasks[task].has_callback;
}

static uint64_t look_of(const tasks_work *w, uint32_t task)
{
    return w->classes[w->tasks[task].class].name_hash + (uint32_t)w->tasks[task].state;
}

/* The ring, with the task at `last` outermost, and who awaits that one. */
static bool climb_ring(chain *c, size_t count, size_t last)
{
    begin(c, (tasks_leaf){.wait = TASKS_CYCLE});
    for (size_t i = 0; i < count; i++)
        if (!push(c, c->w->way[(last + 1 + i) % count]))
            return false;
    c->ring = count;
    return climb(c);
}

/* One chain for each task of the ring that somebody outside awaits; one at least. */
static bool put_ring(chain *c, uint32_t task)
{
    tasks_work *w = c->w;
    size_t count = tasks_go_round(w, task), last = 0, chains = 0;
    bool good = count != 0;

    for (size_t i = 0; i < count; i++)
        w->tasks[w->way[i]].is_in_ring = true;
    for (size_t i = 0; good && i < count; i++) {
        if (look_of(w, w->way[i]) < look_of(w, w->way[last]))
            last = i; /* equal rings are to look equal */
        if (leads_out(w, w->way[i])) {
            good = climb_ring(c, count, i);
            chains++;
        }
    }
    if (good && chains == 0)
        good = climb_ring(c, count, last);
    w->view->rings++;
    return good;
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

/* Who only waits for a ring, or for what can go on in another way, is reached from there; whatever
 * is left over all the same is shown as it is. */
static bool make_all(chain *c)
{
    tasks_work *w = c->w;
    bool good = true;

    for (uint32_t t = 1; good && t < w->task_count; t++)
        if (w->tasks[t].downs == 0)
            good = climb_from(c, t, tasks_find_leaf(w, t));
    for (uint32_t t = 1; good && t < w->task_count; t++)
        if (w->tasks[t].ring != 0 && !w->tasks[t].is_in_ring)
            good = put_ring(c, t);
    for (uint32_t t = 1; good && t < w->task_count; t++)
        if (!w->tasks[t].is_shown)
            good = climb_from(c, t, (tasks_leaf){.wait = TASKS_UNKNOWN});
    return good;
}

bool tasks_make_chains(tasks_work *w)
{
    chain c = {.w = w};
    bool good;

    table_u64_init(&c.known);
    good = make_all(&c);
    table_u64_free(&c.known);
    memory_free(c.places);
    if (good && w->view->group_count != 0)
        qsort(w->view->groups, w->view->group_count, sizeof *w->view->groups, compare_groups);
    return good;
}
