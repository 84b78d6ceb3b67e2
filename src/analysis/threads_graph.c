/*
 * threads_graph: the cycles of a view's edges. First those of edges that were read, then those that
 * need an inferred one or a wait with a time limit; a thread is a member of one cycle at most. A
 * walk in depth along the edges: an edge back to a thread on the present path closes a cycle.
 */
#include <string.h>

#include "analysis/threads.h"
#include "base/memory.h"

enum { NEW = 0, ON_PATH, DONE };

typedef struct {
    threads_view *view;
    uint8_t *marks;
    bool *in_cycle;
    size_t *path;
    size_t *next; /* edge to try next, for each place of the path */
} search;

size_t threads_cycles(const threads_view *view, bool suspected)
{
    size_t count = 0;

    for (size_t i = 0; i < view->cycle_count; i++)
        count += view->cycles[i].suspected == suspected;
    return count;
}

void threads_drop_cycle(threads_view *view, size_t index)
{
    memory_free(view->cycles[index].members);
    view->cycle_count--;
    memmove(&view->cycles[index], &view->cycles[index + 1],
            (view->cycle_count - index) * sizeof *view->cycles);
}

/* Both ends of every edge of a cycle may have others between them: one that must hold counts. */
static threads_limit limit_between(const threads_view *v, size_t from, size_t to)
{
    threads_limit limit = THREADS_LIMITED;

    for (size_t i = 0; i < v->edge_count; i++)
        if (v->edges[i].from == from && v->edges[i].to == to && limit != THREADS_ENDLESS &&
            v->edges[i].limit != THREADS_LIMITED)
            limit = v->edges[i].limit;
    return limit;
}

static bool add_cycle(search *s, size_t first, size_t end, bool suspected)
{
    threads_view *v = s->view;
    threads_cycle cycle = {.count = end - first, .suspected = suspected, .endless = true};
    threads_cycle *cycles = memory_resize(v->cycles, (v->cycle_count + 1) * sizeof *cycles);
    threads_limit limit;

    if (cycles == NULL)
        return false;
    v->cycles = cycles;
    cycle.members = memory_allocate_array(cycle.count, sizeof *cycle.members);
    if (cycle.members == NULL)
        return false;
    for (size_t i = first; i < end; i++) {
        cycle.members[i - first] = s->path[i];
        s->in_cycle[s->path[i]] = true;
        limit = limit_between(v, s->path[i], s->path[i + 1 < end ? i + 1 : first]);
        cycle.limited = cycle.limited || limit == THREADS_LIMITED;
        cycle.endless = cycle.endless && limit == THREADS_ENDLESS;
    }
    v->cycles[v->cycle_count++] = cycle;
    return true;
}

/* Everything that can be reached from one thread. */
static bool walk(search *s, size_t start, bool with_inferred)
{
    threads_view *v = s->view;
    size_t length = 1;

    s->path[0] = start;
    s->next[0] = 0;
    s->marks[start] = ON_PATH;
    while (length != 0) {
        size_t at = s->path[length - 1];
        size_t k = s->next[length - 1];

        while (k < v->edge_count &&
               (v->edges[k].from != at || s->in_cycle[v->edges[k].to] ||
                ((v->edges[k].inferred || v->edges[k].limit == THREADS_LIMITED) && !with_inferred)))
            k++;
        s->next[length - 1] = k + 1;
        if (k >= v->edge_count || s->in_cycle[at]) {
            s->marks[at] = DONE;
            length--;
        } else if (s->marks[v->edges[k].to] == ON_PATH) {
            size_t first = 0;

            while (s->path[first] != v->edges[k].to)
                first++;
            if (!add_cycle(s, first, length, with_inferred))
                return false;
        } else if (s->marks[v->edges[k].to] == NEW) {
            s->path[length] = v->edges[k].to;
            s->next[length++] = 0;
            s->marks[v->edges[k].to] = ON_PATH;
        }
    }
    return true;
}

int threads_find_cycles(threads_view *v, error *e)
{
    search s = {.view = v};
    bool worked;

    s.marks = memory_allocate_array(v->count, sizeof *s.marks);
    s.in_cycle = memory_allocate_array(v->count, sizeof *s.in_cycle);
    s.path = memory_allocate_array(v->count, sizeof *s.path);
    s.next = memory_allocate_array(v->count, sizeof *s.next);
    worked = s.marks != NULL && s.in_cycle != NULL && s.path != NULL && s.next != NULL;
    for (int pass = 0; pass < 2 && worked; pass++) {
        memset(s.marks, NEW, v->count);
        for (size_t i = 0; i < v->count && worked; i++)
            if (s.marks[i] == NEW && !s.in_cycle[i])
                worked = walk(&s, i, pass == 1);
    }
    memory_free(s.marks);
    memory_free(s.in_cycle);
    memory_free(s.path);
    memory_free(s.next);
    return worked ? 0 : error_set(e, ERROR_MEMORY, "no memory for the wait graph");
}
