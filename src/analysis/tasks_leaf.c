/*
 * tasks_leaf: what a chain of tasks really waits for, by its innermost one. A task tells by its
 * class. An async method that waits for something else than a task is found in that something,
 * which keeps the method's box to go on with: who refers to the box is looked at.
 */
#include <string.h>

#include "analysis/tasks_private.h"
#include "base/memory.h"
#include "base/text.h"

enum {
    FARTHEST = 2000,     /* objects looked at for one source */
    MOST_REFERRERS = 64, /* of a box */
};

/* Fields that keep who goes on. */
static bool keeps_continuation(const char *field)
{
    static const char *const PARTS[] = {"ontinuation",     "mrvtsc",     "promiseOfValueOrEnd",
                                        "completionState", "_userToken", "alueTaskSource",
                                        "_core",           "_source"};

    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (strstr(field, PARTS[i]) != NULL)
            return true;
    return false;
}

static const char *field_to(const heap *h, uint32_t from, uint32_t to)
{
    for (uint64_t i = h->first[from]; i < h->first[from + 1]; i++)
        if (h->targets[i] == to)
            return tasks_field_name(h, from, h->places[i]);
    return "";
}

/* An array that the thread pool keeps its items in. */
static bool is_queue_array(const tasks_work *w, uint32_t array)
{
    const char *type = tasks_name_of(w->h, array);

    if (text_equal(type, "System.Collections.Concurrent.ConcurrentQueueSegment<object>.Slot[]"))
        return true;
    for (uint64_t i = w->back_first[array];
         text_equal(type, "object[]") && i < w->back_first[array + 1]; i++)
        if (w->back_from[i] != 0 &&
            text_ends_with(tasks_name_of(w->h, w->back_from[i]), ".WorkStealingQueue"))
            return true;
    return false;
}

/* What keeps the node to go on with it: a queue's array, or a source; 0 = nothing found. */
static uint32_t find_keeper(const tasks_work *w, uint32_t node, uint32_t box, bool *is_queue)
{
    const heap *h = w->h;
    uint64_t end = w->back_first[node + 1];

    if (end > w->back_first[node] + MOST_REFERRERS)
        end = w->back_first[node] + MOST_REFERRERS;
    for (uint64_t i = w->back_first[node]; i < end; i++) {
        uint32_t from = w->back_from[i];
        const heap_class *class;
        uint32_t found;

        if (from == 0 || from == box)
            continue;
        class = heap_class_of(h, from);
        if ((class->flags & RECORDING_TYPE_DELEGATE) != 0 && node == box) {
            found = find_keeper(w, from, box, is_queue);
            if (found != 0)
                return found;
        } else if (class->element != 0) {
            *is_queue = is_queue_array(w, from);
            if (*is_queue)
                return from;
        } else if (w->classes[tasks_class_number(h, from)].flags_at == 0 &&
                   keeps_continuation(field_to(h, from, node))) {
            *is_queue = false;
            return from;
        }
    }
    return 0;
}

/* The box whose state machine is this object. */
static uint32_t box_of_machine(const tasks_work *w, uint32_t machine)
{
    for (uint64_t i = w->back_first[machine]; i < w->back_first[machine + 1]; i++) {
        uint32_t from = w->back_from[i];

        if (from != 0 && w->task_of[from] != 0 && w->tasks[w->task_of[from]].is_box &&
            strncmp(field_to(w->h, from, machine), "StateMachine", 12) == 0)
            return w->task_of[from];
    }
    return 0;
}

/* An async iterator keeps who waits for its next item in its state machine. */
bool tasks_link_sources(tasks_work *w)
{
    for (uint32_t t = 1; t < w->task_count; t++) {
        uint32_t node = w->tasks[t].node, keeper, iterator;
        bool is_queue = false;

        if (w->tasks[t].downs != 0 || !w->tasks[t].is_box || w->tasks[t].state < 0)
            continue;
        keeper = find_keeper(w, node, node, &is_queue);
        if (keeper == 0 || is_queue ||
            w->classes[tasks_class_number(w->h, keeper)].own_state_at == 0)
            continue;
        iterator = box_of_machine(w, keeper);
        if (iterator != 0 && iterator != t && !tasks_add_edge(w, iterator, t))
            return false;
    }
    return true;
}

/* The workers of Parallel.ForEachAsync are awaited by nobody: the last one completes the task of
 * what all of them share, which is a TaskCompletionSource. */
bool tasks_link_loops(tasks_work *w)
{
    const heap *h = w->h;

    for (uint32_t t = 1; t < w->task_count; t++) {
        uint32_t node = w->tasks[t].node;

        if (!w->classes[w->tasks[t].class].is_loop)
            continue;
        for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++) {
            uint32_t shared = h->targets[i], task;

            if (!text_starts_with(tasks_name_of(h, shared), "System.Threading.Tasks.Parallel."))
                continue;
            task = tasks_target(h, shared, "_task");
            if (task != 0 && w->task_of[task] != 0 && w->task_of[task] != t) {
                if (!tasks_add_edge(w, t, w->task_of[task]))
                    return false;
                break;
            }
        }
    }
    return true;
}

/* ---- sources that nothing but their waiters refers to ---- */

/* Marks who waits for the task, however far; false: one of them can go on without it. */
static bool mark_waiters(tasks_work *w, uint32_t task, unsigned depth)
{
    bool good = true;

    if (depth > 32)
        return false;
    for (uint64_t i = w->first_edge[task]; good && i < w->first_edge[task + 1]; i++) {
        uint32_t next = w->edges[i].to;

        if (w->visited[w->tasks[next].node] == w->search)
            continue;
        w->visited[w->tasks[next].node] = w->search;
        good = !tasks_has_other_way(w, next) && mark_waiters(w, next, depth + 1);
    }
    return good;
}

/* Only stacks, of all roots, refer to the node. A method that has a task at hand cannot complete
 * it: that takes the source, which is an object of its own. */
static bool is_only_on_stacks(tasks_work *w, uint32_t node)
{
    const heap *h = w->h;
    uint64_t address = h->snapshot->addresses[node - 1];
    bool found = false;

    w->steps_left -= h->root_count < w->steps_left ? h->root_count : w->steps_left;
    for (size_t i = 0; i < h->root_count; i++) {
        const model_heap_root *root = &h->roots[i];

        /* of a dependent handle the value is kept, by `id` */
        if ((root->kind == RECORDING_ROOT_DEPENDENT ? root->id : root->object) != address ||
            (root->flags & RECORDING_ROOT_WEAK) != 0)
            continue;
        if (root->kind != RECORDING_ROOT_STACK)
            return false;
        found = true;
    }
    return found;
}

static bool is_lost(tasks_work *w, uint32_t task)
{
    uint32_t open[FARTHEST];
    size_t count = 1, done = 0;

    if (w->first_edge[task] == w->first_edge[task + 1])
        return false;
    if (w->steps_left < FARTHEST) {
        w->view->not_checked++;
        return false;
    }
    w->search++;
    if (!mark_waiters(w, task, 0))
        return false;
    open[0] = w->tasks[task].node;
    w->visited[open[0]] = w->search;
    while (done < count) {
        uint32_t node = open[done++];

        for (uint64_t i = w->back_first[node]; i < w->back_first[node + 1]; i++) {
            uint32_t from = w->back_from[i];

            w->steps_left -= w->steps_left != 0;
            if (count == FARTHEST ||
                (from == 0 && (node != w->tasks[task].node || !is_only_on_stacks(w, node))))
                return false;
            if (from == 0 || w->visited[from] == w->search)
                continue;
            w->visited[from] = w->search;
            open[count++] = from;
        }
    }
    return true;
}

bool tasks_turn_around(const heap *h, uint64_t **first, uint32_t **from)
{
    uint64_t *next;

    *first = memory_allocate_array((size_t)h->nodes + 2, sizeof **first);
    *from = memory_allocate_array(h->first[h->nodes] + 1, sizeof **from);
    if (*first == NULL || *from == NULL)
        return false;
    for (uint64_t i = 0; i < h->first[h->nodes]; i++)
        (*first)[h->targets[i] + 2]++;
    for (uint32_t n = 0; n < h->nodes; n++)
        (*first)[n + 1] += (*first)[n];
    next = *first + 1; /* moves on to what it must be */
    for (uint32_t n = 0; n < h->nodes; n++)
        for (uint64_t i = h->first[n]; i < h->first[n + 1]; i++)
            (*from)[next[h->targets[i]]++] = n;
    return true;
}

/* ---- the innermost task ---- */

static uint32_t name_of(const heap *h, uint32_t node)
{
    return h->types[heap_class_of(h, node)->type].name;
}

static tasks_wait kind_of_source(const char *type)
{
    if (strstr(type, "Socket") != NULL)
        return TASKS_SOCKET;
    if (strstr(type, "System.Threading.Channels.") != NULL)
        return TASKS_CHANNEL;
    if (strstr(type, "Timer") != NULL)
        return TASKS_TIMER;
    return TASKS_SOURCE;
}

static bool awaits_done_task(const tasks_work *w, uint32_t node)
{
    const heap *h = w->h;

    for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++)
        if (strncmp(tasks_field_name(h, node, h->places[i]), "StateMachine.<>u__", 18) == 0 &&
            w->classes[tasks_class_number(h, h->targets[i])].flags_at != 0 &&
            w->task_of[h->targets[i]] == 0)
            return true;
    return false;
}

static tasks_leaf leaf_of_box(tasks_work *w, const tasks_task *t)
{
    tasks_leaf leaf = {.wait = TASKS_UNKNOWN};
    bool is_queue = false;
    uint32_t keeper;

    if (t->state < 0) {
        leaf.wait = TASKS_RUNNING;
        return leaf;
    }
    keeper = find_keeper(w, t->node, t->node, &is_queue);
    if (keeper == 0) {
        if (awaits_done_task(w, t->node))
            leaf.wait = TASKS_RUNNING;
    } else if (is_queue) {
        leaf.wait = TASKS_QUEUED;
    } else {
        leaf.wait = kind_of_source(tasks_name_of(w->h, keeper));
        leaf.type = name_of(w->h, keeper);
    }
    return leaf;
}

/* What a timer was set to, and when. */
static void read_timer(const tasks_work *w, uint32_t promise, tasks_leaf *leaf)
{
    const model_heap *s = w->h->snapshot;
    uint32_t timer = tasks_target(w->h, promise, "_timer");
    const tasks_class *c = timer == 0 ? NULL : &w->classes[tasks_class_number(w->h, timer)];
    const model_heap_valued *valued =
        c == NULL || c->due_at == 0 ? NULL : heap_values_of(w->h, timer);
    uint32_t due = valued == NULL ? UINT32_MAX : model_heap_value(s, valued, c->due_at);
    uint64_t begun;

    if (due == UINT32_MAX)
        return;
    leaf->due_ms = due;
    begun = c->begun_at == 0 ? 0
                             : model_heap_value(s, valued, c->begun_at) |
                                   (uint64_t)model_heap_value(s, valued, c->begun_at + 4) << 32;
    if (begun != 0 && w->now_ms > begun)
        leaf->age_ms = w->now_ms - begun;
}

/* What a task made of a ValueTask stands for: AsTask, and Stream's methods with an array. */
static uint32_t source_of(const tasks_work *w, uint32_t wrapper)
{
    return tasks_target(w->h, wrapper, "_source");
}

tasks_leaf tasks_find_leaf(tasks_work *w, uint32_t task)
{
    const tasks_task *t = &w->tasks[task];
    const char *type = tasks_name_of(w->h, t->node);
    tasks_leaf leaf = {.wait = TASKS_TASK, .type = name_of(w->h, t->node)};

    if (t->is_box)
        return leaf_of_box(w, t);
    if (strstr(type, "DelayPromise") != NULL) {
        /* Task.Delay without end has no timer: only its token can end it */
        leaf.wait =
            strstr(type, "WithCancellation") != NULL && tasks_target(w->h, t->node, "_timer") == 0
                ? TASKS_CANCELLATION
                : TASKS_TIMER;
        read_timer(w, t->node, &leaf);
    } else if (strstr(type, "SemaphoreSlim") != NULL) {
        leaf.wait = TASKS_SEMAPHORE;
    } else if (strstr(type, "Socket") != NULL) {
        leaf.wait = TASKS_SOCKET;
    } else if (strstr(type, "ValueTaskSourceAsTask") != NULL && source_of(w, t->node) != 0) {
        leaf.type = name_of(w->h, source_of(w, t->node));
        leaf.wait = kind_of_source(model_text(w->h->m, leaf.type));
    } else if ((t->flags & TASKS_FLAG_INVOKED) != 0) {
        leaf.wait = TASKS_DELEGATE;
    } else if ((t->flags & TASKS_FLAG_STARTED) != 0) {
        leaf.wait = TASKS_QUEUED;
    } else if ((t->flags & TASKS_FLAG_PROMISE) == 0) {
        leaf.wait = (t->flags & TASKS_FLAG_CONTINUATION) != 0 ? TASKS_UNKNOWN : TASKS_NOT_STARTED;
    } else if (text_equal(type, "System.Threading.Tasks.Task") ||
               (text_starts_with(type, "System.Threading.Tasks.Task<") &&
                text_ends_with(type, ">"))) {
        leaf.wait = TASKS_PROMISE;
        leaf.lost = !heap_is_quick(w->h) && is_lost(w, task); /* that has no roots */
    }
    return leaf;
}
