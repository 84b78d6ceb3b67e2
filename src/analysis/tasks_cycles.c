/*
 * tasks_cycles: async methods and tasks that await each other. Nothing that such a task waits for
 * is outside, so that no chain would begin there: each goes round instead. Components of the
 * graph in which every task leads to every other (Tarjan), without those that can go on in another
 * way, such as Task.WhenAny.
 */
#include <string.h>

#include "base/array.h"
#include "analysis/tasks_private.h"

bool tasks_has_other_way(const tasks_work *w, uint32_t task)
{
    const char *type = tasks_name_of(w->h, w->tasks[task].node);

    return strstr(type, "CancellationPromise") != NULL || strstr(type, "WhenAny") != NULL ||
           strstr(type, "CompleteOnInvoke") != NULL;
}

typedef struct {
    tasks_work *w;
    uint32_t *order; /* by task: when it was met; 0 = not yet */
    uint32_t *low;   /* the earliest that it leads to */
    uint32_t *open;  /* not yet in a component */
    uint32_t *path;
    uint64_t *next; /* edge to try next, by place of the path */
    size_t open_count, path_count;
    uint32_t met, components;
} search;

static void meet(search *s, uint32_t task)
{
    s->order[task] = s->low[task] = ++s->met;
    s->open[s->open_count++] = task;
    s->next[s->path_count] = s->w->first_edge[task];
    s->path[s->path_count++] = task;
}

/* A task that leads to none before it closes a component: all that is open since. */
static void leave(search *s, uint32_t task)
{
    tasks_work *w = s->w;
    bool is_alone = s->open[s->open_count - 1] == task;
    uint32_t member;

    s->path_count--;
    if (s->path_count != 0 && s->low[task] < s->low[s->path[s->path_count - 1]])
        s->low[s->path[s->path_count - 1]] = s->low[task];
    if (s->low[task] != s->order[task])
        return;
    s->components += !is_alone || w->tasks[task].awaits_itself;
    do {
        member = s->open[--s->open_count];
        s->low[member] = UINT32_MAX; /* closed */
        if (!is_alone || w->tasks[task].awaits_itself)
            w->tasks[member].ring = s->components;
    } while (member != task);
}

static void walk(search *s, uint32_t start)
{
    tasks_work *w = s->w;

    meet(s, start);
    while (s->path_count != 0) {
        uint32_t task = s->path[s->path_count - 1];
        uint64_t *next = &s->next[s->path_count - 1];
        uint32_t to;

        if (*next == w->first_edge[task + 1]) {
            leave(s, task);
            continue;
        }
        to = w->edges[(*next)++].to;
        if (tasks_has_other_way(w, to))
            continue;
        if (s->order[to] == 0)
            meet(s, to);
        else if (s->low[to] != UINT32_MAX && s->order[to] < s->low[task])
            s->low[task] = s->order[to];
    }
}

bool tasks_find_rings(tasks_work *w)
{
    search s = {.w = w};
    bool good;

    s.order = memory_allocate_array(w->task_count, sizeof *s.order);
    s.low = memory_allocate_array(w->task_count, sizeof *s.low);
    s.open = memory_allocate_array(w->task_count, sizeof *s.open);
    s.path = memory_allocate_array(w->task_count, sizeof *s.path);
    s.next = memory_allocate_array(w->task_count, sizeof *s.next);
    good = s.order != NULL && s.low != NULL && s.open != NULL && s.path != NULL && s.next != NULL;
    for (uint32_t t = 1; good && t < w->task_count; t++)
        if (s.order[t] == 0 && !tasks_has_other_way(w, t))
            walk(&s, t);
    memory_free(s.order);
    memory_free(s.low);
    memory_free(s.open);
    memory_free(s.path);
    memory_free(s.next);
    return good;
}

/* The tasks met in breadth, with whom each was met from, until one leads back to the first, which
 * is answered; `met` of them have one. */
static uint32_t search_round(tasks_work *w, uint32_t start, size_t *met)
{
    w->way_open[0] = start;
    *met = 1;
    if (w->tasks[start].awaits_itself)
        return start;
    for (size_t done = 0; done < *met; done++) {
        uint32_t task = w->way_open[done];

        for (uint64_t i = w->first_edge[task]; i < w->first_edge[task + 1]; i++) {
            uint32_t to = w->edges[i].to;

            if (to == start)
                return task;
            if (w->tasks[to].ring == w->tasks[start].ring && w->way_from[to] == 0) {
                w->way_from[to] = task;
                w->way_open[(*met)++] = to;
            }
        }
    }
    return 0;
}

static bool make_room(tasks_work *w)
{
    if (w->way != NULL)
        return true;
    w->way_from = memory_allocate_array(w->task_count, sizeof *w->way_from);
    w->way_open = memory_allocate_array(w->task_count, sizeof *w->way_open);
    if (w->way_from != NULL && w->way_open != NULL)
        w->way = memory_allocate_array(w->task_count, sizeof *w->way);
    return w->way != NULL;
}

size_t tasks_go_round(tasks_work *w, uint32_t start)
{
    size_t met, count = 0;
    uint32_t last;

    if (!make_room(w))
        return 0;
    last = search_round(w, start, &met);
    for (uint32_t task = last; task != 0; task = w->way_from[task])
        count++;
    for (size_t i = count; i != 0; last = w->way_from[last])
        w->way[--i] = last;
    for (size_t i = 0; i < met; i++)
        w->way_from[w->way_open[i]] = 0;
    return count;
}
