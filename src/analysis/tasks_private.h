/* tasks_private: shared by the files of analysis/tasks, and threads_heap, only. */
#ifndef CLARINET_ANALYSIS_TASKS_PRIVATE_H
#define CLARINET_ANALYSIS_TASKS_PRIVATE_H

#include "analysis/tasks.h"

#define TASKS_GENERATION UINT64_C(7) /* in what is kept of a chain beside its group's hash */

/* What a class is, by the names of its fields. Places are bytes from the start; 0 = none. */
typedef struct {
    uint32_t flags_at;         /* m_stateFlags: it is a task */
    uint32_t state_at;         /* of the state machine inside: it is a box */
    uint32_t machine_at;       /* where the state machine is, or the reference to it */
    uint32_t continuation_at;  /* m_continuationObject */
    uint32_t source_at;        /* _valueTaskSource of a pooled box */
    uint32_t own_state_at;     /* of a state machine that is an object */
    uint32_t due_at, begun_at; /* of a timer */
    bool is_loop;              /* a worker of Parallel.ForEachAsync or ForAsync */
    uint64_t name_hash;
} tasks_class;

typedef struct {
    uint32_t node;
    uint32_t class; /* number */
    uint32_t flags;
    int32_t state;
    bool is_box;
    bool blocks_thread, has_callback, awaits_itself;
    bool is_shown;   /* in some chain */
    bool is_here;    /* in the chain that is being made */
    uint32_t downs;  /* tasks that it goes on with */
    uint32_t ring;   /* tasks that await each other have the same; 0 = none */
    bool is_in_ring; /* that was shown */
    uint32_t valued;
} tasks_task;

typedef struct {
    uint32_t from, to; /* when `from` is done, `to` goes on; indexes of tasks */
} tasks_edge;

typedef struct {
    const heap *h;
    tasks_view *view;
    tasks_class *classes;
    tasks_task *tasks; /* from 1 */
    size_t task_count, task_capacity;
    uint32_t *task_of; /* by node; 0 = none that is not done */
    tasks_edge *edges; /* sorted by `from` once linked */
    size_t edge_count, edge_capacity;
    uint64_t *first_edge; /* by task; task_count + 1 */
    /* who refers to a node */
    uint64_t *back_first;
    uint32_t *back_from;
    table_u64 frames;  /* class number << 32 | await, to frame */
    uint32_t *visited; /* by node: the search that was there */
    uint32_t search;
    uint32_t *way;       /* of tasks_go_round */
    uint32_t *way_from;  /* by task; 0 outside of it */
    uint32_t *way_open;  /* tasks met by it */
    uint64_t steps_left; /* of all searches */
    uint64_t now_ms;     /* of the clock that timers go by; 0 = not known */
} tasks_work;

enum {
    TASKS_DONE = 0x01600000,
    TASKS_FLAG_STARTED = 0x10000,
    TASKS_FLAG_INVOKED = 0x20000,
    TASKS_FLAG_PROMISE = 0x400,
    TASKS_FLAG_CONTINUATION = 0x200,
};

/* What a chain waits for, by its innermost task. */
typedef struct {
    tasks_wait wait;
    uint32_t type; /* string */
    uint64_t due_ms, age_ms;
    bool lost;
} tasks_leaf;

static inline const char *tasks_name_of(const heap *h, uint32_t node)
{
    return heap_type_name(h, heap_class_of(h, node)->type);
}
static inline uint32_t tasks_class_number(const heap *h, uint32_t node)
{
    return h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type;
}
/* The name of the field with a reference at a place. */
const char *tasks_field_name(const heap *h, uint32_t node, uint32_t place);
/* What a field refers to; 0 = nothing. */
uint32_t tasks_target(const heap *h, uint32_t node, const char *field);
/* The value of a field by its name's end; false when there is none. */
bool tasks_value(const heap *h, uint32_t node, const char *field, uint32_t *value);

/* tasks_leaf.c: who refers to a node, for all nodes: from[first[n]] up to from[first[n + 1]]. To be
 * freed, also when it answers false: no memory. */
bool tasks_turn_around(const heap *h, uint64_t **first, uint32_t **from);
/* Async methods that wait for something which is no task. Adds edges where that
 * belongs to another async method. */
bool tasks_link_sources(tasks_work *w);
/* Workers of a parallel loop, and the task that the last of them completes. */
bool tasks_link_loops(tasks_work *w);
tasks_leaf tasks_find_leaf(tasks_work *w, uint32_t task);
bool tasks_add_edge(tasks_work *w, uint32_t from, uint32_t to);
/* tasks_cycles.c: a task that does not need all that it waits for. */
bool tasks_has_other_way(const tasks_work *w, uint32_t task);
/* Which tasks await each other; false when there is no memory. */
bool tasks_find_rings(tasks_work *w);
/* The shortest way from a task of a ring back to it, in w->way, each going on with the one before.
 * Answers its length; 0 when there is no memory. */
size_t tasks_go_round(tasks_work *w, uint32_t start);
/* tasks_fields.c; false when there is no memory. */
bool tasks_read_classes(tasks_work *w);
bool tasks_read_awaits(tasks_work *w);
/* tasks_chains.c: the groups of the view; false when there is no memory. */
bool tasks_make_chains(tasks_work *w);
/* tasks_pool.c */
void tasks_read_pool(const heap *h, tasks_pool *pool);

#endif
