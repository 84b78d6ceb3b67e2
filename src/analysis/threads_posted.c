/*
 * threads_posted: steps of async methods that lie in the queue of a blocked thread: of its
 * SynchronizationContext, or of the exclusive scheduler whose task it runs. When what the thread
 * waits for comes after such a step, nobody else will run it.
 *
 * The queue is the program's own, so it is not known how it looks: what leads from the context to a
 * task or an async method that could run now, through objects that are neither, is in it.
 */
#include <string.h>

#include "analysis/threads_waited.h"
#include "base/text.h"

enum { MOST = 4608, TASK_STARTED = 0x10000, TASK_RUNS = 0x20000 };

typedef struct {
    const waited *w;
    uint64_t objects[MOST];
    uint16_t from[MOST]; /* which of them led there */
    size_t count;
} search;

static void reach(search *s, uint64_t object, size_t from)
{
    uint64_t known;

    if (object == 0 || s->count == MOST || !table_u64_get(&s->w->types, object, &known))
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->objects[i] == object)
            return;
    s->from[s->count] = (uint16_t)from;
    s->objects[s->count++] = object;
}

static void reach_field(search *s, size_t at, const char *name)
{
    reach(s, waited_get(s->w, s->objects[at], name), at);
}

/* That of an async method: a task, or, of a pooled one, none. */
static bool is_box(const waited *w, uint64_t object)
{
    return strstr(waited_type(w, object), "StateMachineBox<") != NULL;
}

/* The state of an async method that is an object of its own: that of an iterator. */
static bool is_state(const waited *w, uint64_t object)
{
    const char *type = waited_type(w, object);

    return !is_box(w, object) && (strstr(type, ">d__") != NULL || strstr(type, ">d<") != NULL ||
                                  text_ends_with(type, ">d"));
}

static bool is_step(const waited *w, uint64_t object)
{
    return is_box(w, object) || waited_is_task(w, object);
}

static void reach_all(search *s, size_t at)
{
    uint64_t object = s->objects[at];
    const waited_field *end = s->w->fields + s->w->field_count;

    for (const waited_field *f = waited_fields(s->w, object); f < end && f->object == object; f++)
        reach(s, f->value, at);
}

/* Of async methods: what stands inside a structure. */
static void reach_inner(search *s, size_t at, bool states)
{
    uint64_t object = s->objects[at];
    const waited_field *end = s->w->fields + s->w->field_count;

    for (const waited_field *f = waited_fields(s->w, object); f < end && f->object == object; f++)
        if (f->name == 0 && (states ? is_state(s->w, f->value) : is_step(s->w, f->value)))
            reach(s, f->value, at);
}

/* What goes on when the object is done. Who awaits a pooled method or an iterator stands in it. */
static void reach_next(search *s, size_t at)
{
    const waited *w = s->w;
    uint64_t object = s->objects[at];
    const char *type = waited_type(w, object);

    if (waited_is_task(w, object)) {
        reach_field(s, at, "m_continuationObject");
        reach_inner(s, at, true);
    } else if (is_box(w, object) || is_state(w, object)) {
        reach_inner(s, at, false);
    } else if (text_ends_with(type, "[]") || text_starts_with(type, "System.Collections.")) {
        reach_all(s, at);
    } else {
        reach_field(s, at, "m_action");
        reach_field(s, at, "m_task");
        reach_field(s, at, "_target");
    }
}

/* A task that was handed to somebody and has not begun, or an async method that awaits nothing. */
static bool could_run(const waited *w, uint64_t object)
{
    uint64_t flags = waited_get(w, object, "m_stateFlags");
    uint64_t awaited;

    if (waited_is_done(w, object))
        return false;
    if (!is_box(w, object))
        return (flags & (TASK_STARTED | TASK_RUNS)) == TASK_STARTED;
    awaited = waited_awaited_by(w, object);
    return awaited == 0 || waited_is_done(w, awaited);
}

/* The async method whose step is the task that a scheduler was given; else the object itself. */
static uint64_t unwrap(const waited *w, uint64_t object)
{
    static const char *const FIELDS[] = {"m_action", "m_stateObject"};

    for (size_t i = 0; i < 2 && !is_box(w, object); i++) {
        uint64_t value = waited_get(w, object, FIELDS[i]);
        uint64_t target = waited_get(w, value, "_target");

        if (is_box(w, value) || is_box(w, target))
            return is_box(w, value) ? value : target;
    }
    return object;
}

/* All that the root leads to; not beyond what could be a step of the queue. */
static void search_queue(search *s, uint64_t root)
{
    reach(s, root, 0);
    for (size_t i = 0; i < s->count; i++) {
        if (waited_get(s->w, s->objects[i], "_target") != 0)
            reach_field(s, i, "_target");
        else if (!is_step(s->w, s->objects[i]) &&
                 waited_get(s->w, s->objects[i], "_managedThreadId") == 0)
            reach_all(s, i);
    }
}

/* The way from the task that is waited for back to the step, the task first. */
static bool find_way(search *s, uint64_t step, uint64_t task, uint64_t *steps, size_t *count)
{
    size_t at = 0;

    s->count = 0;
    *count = 0;
    reach(s, step, 0);
    while (at < s->count && s->objects[at] != task)
        reach_next(s, at++);
    if (at == s->count)
        return false;
    for (;; at = s->from[at]) {
        if (is_step(s->w, s->objects[at]) && *count < THREADS_STEPS)
            steps[(*count)++] = s->objects[at];
        if (at == 0)
            return true;
    }
}

static uint64_t field_of_role(const waited *w, size_t entry, uint64_t role, const char *name)
{
    for (size_t i = 0; i < w->link_count; i++)
        if (w->links[i].entry == entry && w->links[i].role == role)
            return waited_get(w, w->links[i].object, name);
    return 0;
}

/* The context of the thread, or the scheduler of what it runs, if that runs one task at a time. */
static uint64_t root_of(const waited *w, size_t entry)
{
    uint64_t context = field_of_role(w, entry, WAITED_SELF, "_synchronizationContext");
    uint64_t scheduler = field_of_role(w, entry, WAITED_RUNS, "m_taskScheduler");

    if (context != 0)
        return context;
    return waited_get(w, scheduler, "m_maxConcurrencyLevel") == 1 ? scheduler : 0;
}

/* Nobody else works for the same queue, but those who block on tasks themselves. */
static bool is_alone(const waited *w, size_t entry, uint64_t root)
{
    for (size_t i = 0; i < w->view->count; i++)
        if (i != entry && w->view->entries[i].state != THREADS_TASK && root_of(w, i) == root)
            return false;
    return true;
}

bool waited_find_in_queue(const waited *w, uint64_t root, uint64_t task, uint64_t *steps,
                          size_t *count)
{
    search queue = {.w = w}, way = {.w = w};

    search_queue(&queue, root);
    for (size_t i = 1; i < queue.count; i++)
        if (queue.from[i] != 0 && is_step(w, queue.objects[i]) && could_run(w, queue.objects[i]) &&
            find_way(&way, unwrap(w, queue.objects[i]), task, steps, count))
            return true;
    return false;
}

bool waited_find_posted(const waited *w, size_t entry, uint64_t task, uint64_t *steps,
                        size_t *count)
{
    uint64_t root = root_of(w, entry);

    return root != 0 && is_alone(w, entry, root) &&
           waited_find_in_queue(w, root, task, steps, count);
}
