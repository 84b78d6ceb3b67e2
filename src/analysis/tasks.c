/*
 * tasks: see tasks.h. In turn: classes are told by the names of their fields (tasks_fields); tasks
 * that are not done are collected; each is linked with what goes on when it is done; then every
 * chain is walked from a task that waits for no other one, or from a ring of tasks that await each
 * other (tasks_cycles), up to one that nobody awaits (tasks_chains).
 */
#include "analysis/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/tasks_private.h"
#include "base/memory.h"
#include "base/text.h"

enum {
    OLDEST = 2, /* generation */
    DEEPEST_CONTINUATION = 6,
    MOST_STEPS = 40000000, /* of all searches for who refers to what */
};

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to chain the tasks");
}

/* ---- tasks that are not done ---- */

/* The state machine of a box where it is an object of its own. */
static uint32_t machine_of(const tasks_work *w, uint32_t node)
{
    const heap *h = w->h;
    uint32_t place = w->classes[tasks_class_number(h, node)].machine_at;

    for (uint64_t i = h->first[node]; place != 0 && i < h->first[node + 1]; i++)
        if (h->places[i] == place)
            return h->targets[i];
    return 0;
}

static bool take_state(const tasks_work *w, const model_heap_valued *valued, tasks_task *t)
{
    const tasks_class *c = &w->classes[t->class];
    uint32_t machine;

    if (c->state_at != 0) {
        t->state = (int32_t)model_heap_value(w->h->snapshot, valued, c->state_at);
        return true;
    }
    machine = c->machine_at == 0 || valued->apart == 0 ? 0 : machine_of(w, t->node);
    if (machine == 0)
        return false;
    c = &w->classes[tasks_class_number(w->h, machine)];
    if (c->own_state_at == 0)
        return false;
    t->state = (int32_t)model_heap_apart(w->h->snapshot, valued, c->own_state_at);
    return true;
}

static bool collect(tasks_work *w)
{
    const model_heap *s = w->h->snapshot;

    w->task_of = memory_allocate_array(w->h->nodes, sizeof *w->task_of);
    w->task_count = 1;
    if (w->task_of == NULL || !array_reserve(&w->tasks, &w->task_capacity, 1, sizeof *w->tasks))
        return false;
    for (size_t i = 0; i < s->valued_count; i++) {
        tasks_task t = {.node = s->valued[i].object + 1, .valued = (uint32_t)i, .state = -1};
        const tasks_class *c;

        t.class = tasks_class_number(w->h, t.node);
        c = &w->classes[t.class];
        if (c->flags_at == 0 && c->source_at == 0)
            continue;
        t.is_box = take_state(w, &s->valued[i], &t);
        t.flags = c->flags_at == 0 ? 0 : model_heap_value(s, &s->valued[i], c->flags_at);
        /* a pooled box that is not in use has no state */
        if (c->flags_at == 0 ? !t.is_box || t.state < 0 : (t.flags & TASKS_DONE) != 0) {
            w->view->complete += c->flags_at != 0;
            continue;
        }
        if (!array_reserve(&w->tasks, &w->task_capacity, w->task_count + 1, sizeof *w->tasks))
            return false;
        w->view->runtime_async += strstr(tasks_name_of(w->h, t.node), "RuntimeAsync") != NULL;
        w->task_of[t.node] = (uint32_t)w->task_count;
        w->tasks[w->task_count++] = t;
        w->view->incomplete++;
    }
    return true;
}

/* ---- what goes on when a task is done ---- */

bool tasks_add_edge(tasks_work *w, uint32_t from, uint32_t to)
{
    if (from == to) {
        w->tasks[to].awaits_itself = true;
        w->tasks[to].downs++;
        return true;
    }
    if (!array_reserve(&w->edges, &w->edge_capacity, w->edge_count + 1, sizeof *w->edges))
        return false;
    w->edges[w->edge_count++] = (tasks_edge){from, to};
    w->tasks[to].downs++;
    return true;
}

static bool leads_on(const char *field)
{
    return text_equal(field, "m_action") || text_equal(field, "m_task") ||
           text_equal(field, "_items") || text_equal(field, "_continuation") ||
           text_equal(field, "_target");
}

/* Follows a continuation to the tasks behind it. */
static bool follow(tasks_work *w, uint32_t task, uint32_t node, unsigned depth)
{
    const heap *h = w->h;
    const heap_class *class = heap_class_of(h, node);
    const char *type = heap_type_name(h, class->type);

    if (w->task_of[node] != 0)
        return tasks_add_edge(w, task, w->task_of[node]);
    if (w->classes[tasks_class_number(h, node)].flags_at != 0 || depth == DEEPEST_CONTINUATION)
        return true;
    if (text_ends_with(type, "SetOnInvokeMres") || text_ends_with(type, "SetOnCountdownMres")) {
        w->tasks[task].blocks_thread = true;
        return true;
    }
    if ((class->flags & RECORDING_TYPE_DELEGATE) != 0) {
        uint32_t target = tasks_target(h, node, "_target");

        if (target == 0 || w->task_of[target] == 0)
            w->tasks[task].has_callback = true;
        return target == 0 || w->task_of[target] == 0 ? true
                                                      : tasks_add_edge(w, task, w->task_of[target]);
    }
    for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++)
        if ((class->element != 0 || leads_on(tasks_field_name(h, node, h->places[i]))) &&
            !follow(w, task, h->targets[i], depth + 1))
            return false;
    return true;
}

static bool link_tasks(tasks_work *w)
{
    const heap *h = w->h;

    for (uint32_t t = 1; t < w->task_count; t++) {
        uint32_t node = w->tasks[t].node;
        const tasks_class *c = &w->classes[w->tasks[t].class];

        for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++) {
            uint32_t place = h->places[i];

            if (place == 0 || (c->flags_at != 0 ? place != c->continuation_at
                                                : !text_equal(tasks_field_name(h, node, place),
                                                              "_valueTaskSource")))
                continue;
            if (!follow(w, t, h->targets[i], 0))
                return false;
        }
    }
    return true;
}

static int compare_edges(const void *a, const void *b)
{
    const tasks_edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static bool sort_edges(tasks_work *w)
{
    size_t at = 0;

    if (w->edge_count != 0)
        qsort(w->edges, w->edge_count, sizeof *w->edges, compare_edges);
    w->first_edge = memory_allocate_array(w->task_count + 1, sizeof *w->first_edge);
    if (w->first_edge == NULL)
        return false;
    for (size_t t = 0; t < w->task_count; t++) {
        w->first_edge[t] = at;
        while (at < w->edge_count && w->edges[at].from == t)
            at++;
    }
    w->first_edge[w->task_count] = at;
    return true;
}

static bool turn_around(tasks_work *w)
{
    w->visited = memory_allocate_array(w->h->nodes, sizeof *w->visited);
    return w->visited != NULL && tasks_turn_around(w->h, &w->back_first, &w->back_from);
}

/* ---- all of it ---- */

/* Whether the values are those of tasks: every program has threads, whose values come with them.
 * Other snapshots have those of collections, or of what a person named. */
static bool has_values(const heap *h)
{
    const model_heap *s = h->snapshot;

    for (size_t i = 0; i < s->valued_count; i++)
        if (text_equal(tasks_name_of(h, s->valued[i].object + 1), "System.Threading.Thread"))
            return true;
    return false;
}

int tasks_make(const heap *h, tasks_view *view, error *e)
{
    tasks_work w = {.h = h, .view = view, .steps_left = MOST_STEPS};
    const char *origin;
    bool good;

    memset(view, 0, sizeof *view);
    view->h = h;
    table_u64_init(&view->identities);
    table_u64_init(&w.frames);
    view->has_values = has_values(h);
    origin = model_info_value(h->m, h->p, "origin_monotonic_ns");
    if (origin != NULL && text_to_u64(origin, &w.now_ms))
        w.now_ms = (w.now_ms + h->p->duration_ns) / 1000000;
    good = tasks_read_classes(&w) && tasks_read_awaits(&w) && collect(&w) && turn_around(&w) &&
           link_tasks(&w) && tasks_link_sources(&w) && tasks_link_loops(&w) && sort_edges(&w) &&
           tasks_find_rings(&w) && tasks_make_chains(&w);
    if (good)
        tasks_read_pool(h, &view->pool);
    memory_free(w.classes);
    memory_free(w.tasks);
    memory_free(w.task_of);
    memory_free(w.edges);
    memory_free(w.first_edge);
    memory_free(w.back_first);
    memory_free(w.back_from);
    memory_free(w.visited);
    memory_free(w.way);
    memory_free(w.way_from);
    memory_free(w.way_open);
    table_u64_free(&w.frames);
    if (!good)
        tasks_free(view);
    return good ? 0 : no_memory(e);
}

void tasks_free(tasks_view *view)
{
    memory_free(view->steps);
    memory_free(view->groups);
    table_u64_free(&view->identities);
    memset(view, 0, sizeof *view);
}

void tasks_compare(tasks_view *later, const tasks_view *earlier)
{
    table_u64 groups;
    uint64_t before, group;

    table_u64_init(&groups);
    for (size_t i = 0; i < later->group_count; i++)
        table_u64_put(&groups, later->groups[i].hash & ~TASKS_GENERATION, i);
    for (size_t i = 0; i < later->identities.capacity; i++) {
        const table_u64_slot *slot = &later->identities.slots[i];
        uint64_t generation = slot->value & TASKS_GENERATION;

        /* one that was made since would be younger: it is another one at the same address */
        if (slot->used && table_u64_get(&earlier->identities, slot->key, &before) &&
            (generation >= OLDEST || generation > (before & TASKS_GENERATION)) &&
            table_u64_get(&groups, slot->value & ~TASKS_GENERATION, &group))
            later->groups[group].stuck++;
    }
    later->was_compared = true;
    later->pool.before = earlier->pool.existing;
    table_u64_free(&groups);
}
