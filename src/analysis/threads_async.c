/*
 * threads_async: the task that a thread blocks on, the chain of async methods and tasks behind it,
 * who runs one of them, and whether the chain needs the very thread that blocks, or the pool.
 */
#include <string.h>

#include "analysis/async_name.h"
#include "analysis/threads_waited.h"
#include "base/memory.h"
#include "base/text.h"

/* The task that leads on when `of` is awaited: what `of` continues with is `task`. */
static bool continues_with(const waited *w, uint64_t of, uint64_t task)
{
    uint64_t next = waited_get(w, of, "m_continuationObject");
    uint64_t action = waited_get(w, next, "m_action");

    return next == task || (action != 0 && waited_get(w, action, "_target") == task);
}

/* Whose references are those of the task: its state, which is an object of its own in code that was
 * not optimised, and the array of tasks that all are waited for. */
static bool is_part_of_task(const waited *w, uint64_t object)
{
    const char *type = waited_type(w, object);

    return text_ends_with(type, "[]") ||
           ((strstr(type, ">d__") != NULL || strstr(type, ">d<") != NULL ||
             text_ends_with(type, ">d")) &&
            strstr(type, "StateMachineBox<") == NULL);
}

/* What an async method awaits: a task inside its state that continues with it, or is done. */
static uint64_t awaited_in(const waited *w, uint64_t task, uint64_t part, bool is_whole)
{
    const waited_field *end = w->fields + w->field_count;
    uint64_t done = 0;

    for (const waited_field *at = waited_fields(w, part); at < end && at->object == part; at++) {
        if (at->value == task || at->value == part)
            continue;
        if (is_whole && is_part_of_task(w, at->value)) {
            uint64_t inner = awaited_in(w, task, at->value, false);

            if (inner != 0 && !waited_is_done(w, inner))
                return inner;
            done = inner != 0 ? inner : done;
        }
        if ((is_whole && at->name != 0) || !waited_is_task(w, at->value))
            continue;
        if (continues_with(w, at->value, task))
            return at->value;
        if (waited_is_done(w, at->value) && !text_ends_with(waited_type(w, part), "[]"))
            done = at->value;
    }
    return done;
}

uint64_t waited_awaited_by(const waited *w, uint64_t task)
{
    return awaited_in(w, task, task, true);
}

static void add_step(const waited *w, threads_chain *c, uint64_t task)
{
    threads_step *step = &c->steps[c->count++];
    uint64_t type;

    step->object = task;
    step->type = table_u64_get(&w->types, task, &type) ? (uint32_t)type - 1 : 0;
    step->is_done = waited_is_done(w, task);
    async_name(waited_type(w, task), step->method, sizeof step->method);
}

static bool keep_chain(threads_view *v, const threads_chain *c)
{
    if (v->chain_count == v->chain_capacity) {
        size_t capacity = v->chain_capacity == 0 ? 8 : v->chain_capacity * 2;
        threads_chain *chains = memory_resize(v->chains, capacity * sizeof *chains);

        if (chains == NULL)
            return false;
        v->chains = chains;
        v->chain_capacity = capacity;
    }
    v->chains[v->chain_count++] = *c;
    return true;
}

/* Does the chain go on only in the context of the thread that blocks on it? */
static bool needs_context(const waited *w, const threads_chain *c, uint64_t context)
{
    for (size_t i = 0; i < c->count && context != 0; i++) {
        uint64_t next = waited_get(w, c->steps[i].object, "m_continuationObject");

        if (waited_get(w, next, "m_syncContext") == context)
            return true;
    }
    return false;
}

static bool is_worker(const threads_view *v, const threads_entry *t)
{
    return threads_stack_has(v, t->stack, "System.Threading.ThreadPoolWorkQueue.Dispatch") ||
           threads_stack_has(v, t->stack, "System.Threading.PortableThreadPool.WorkerThread.*");
}

static uint64_t context_of(const waited *w, size_t entry)
{
    for (size_t i = 0; i < w->link_count; i++)
        if (w->links[i].entry == entry && w->links[i].role == WAITED_SELF)
            return waited_get(w, w->links[i].object, "_synchronizationContext");
    return 0;
}

/* Nothing holds the chain up but the context: what it awaits is done, its continuation was handed
 * on, and the pool, where it would run without delay, is not blocked. */
static bool is_posted(const threads_view *v, const threads_chain *c, uint64_t context)
{
    threads_pool pool;

    if (context == 0 || c->count < 2 || !c->steps[c->count - 1].is_done)
        return false;
    threads_find_pool(v, &pool);
    return pool.workers < 2 || pool.blocked < pool.workers;
}

/* The one thread that runs the async method of this name; SIZE_MAX = none, or several. */
static size_t runner_of(const threads_view *v, const char *method, size_t besides)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < v->count; i++) {
        if (i == besides || !threads_stack_has(v, v->entries[i].stack, method))
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

/* The last step could run now: an async method whose awaited task is done, or that awaits none. */
static bool could_go_on(const threads_chain *c)
{
    const threads_step *last = &c->steps[c->count - 1];

    return last->is_done || last->method[0] != '\0';
}

/* The one that the thread's event hangs on; a task that it runs is at hand anyway, and is waited
 * for only then. */
static uint64_t find_task(const waited *w, size_t entry)
{
    uint64_t first = 0;

    for (size_t i = 0; i < w->link_count; i++) {
        uint64_t object = w->links[i].object;

        if (w->links[i].entry != entry || w->links[i].role != WAITED_FOR ||
            !waited_is_task(w, object) || waited_is_done(w, object))
            continue;
        if (text_ends_with(waited_type(w, waited_get(w, object, "m_continuationObject")),
                           "SetOnInvokeMres"))
            return object;
        if (first == 0 && waited_by_role(w, object, WAITED_RUNS) != entry)
            first = object;
    }
    return first;
}

/* One of several tasks is enough: none of them holds the waiter up alone. */
static bool is_any(const waited *w, uint64_t task)
{
    const char *type = waited_type(w, task);

    return strstr(type, "WhenAny") != NULL || strstr(type, "CompleteOnInvokePromise") != NULL;
}

/* The next step lies in the queue of the thread itself. */
static bool add_posted(waited *w, size_t entry, uint64_t task)
{
    threads_chain chain = {.entry = entry};
    uint64_t steps[THREADS_STEPS], done;
    size_t count;

    if (!waited_find_posted(w, entry, task, steps, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        add_step(w, &chain, steps[i]);
    done = waited_awaited_by(w, steps[count - 1]);
    if (done != 0 && count < THREADS_STEPS)
        add_step(w, &chain, done);
    w->failed = !keep_chain(w->view, &chain) || w->failed;
    return true;
}

void waited_explain_task(waited *w, size_t entry)
{
    threads_view *v = w->view;
    threads_chain chain = {.entry = entry};
    uint64_t task = find_task(w, entry), at = task, context;
    bool is_limited;

    if (task == 0)
        return;
    waited_set_object(w, entry, task);
    if (threads_stack_has(v, v->entries[entry].stack, "System.Threading.Tasks.Task.WaitAny*"))
        return;
    for (size_t i = 0; at != 0 && i < THREADS_STEPS; i++, at = waited_awaited_by(w, at)) {
        add_step(w, &chain, at);
        if (waited_is_done(w, at) || is_any(w, at))
            break;
        waited_add_owner(w, entry, waited_by_role(w, at, WAITED_RUNS), false);
    }
    if (v->entries[entry].owner != 0)
        return;
    is_limited = threads_limit_of(v, &v->entries[entry]) == THREADS_LIMITED;
    if (!is_limited && add_posted(w, entry, task))
        return;
    waited_explain_scheduler(w, entry, task, chain.steps[chain.count - 1].object);
    if (v->entries[entry].owner != 0 || !could_go_on(&chain))
        return;
    if (!chain.steps[chain.count - 1].is_done)
        waited_add_owner(w, entry, runner_of(v, chain.steps[chain.count - 1].method, entry), true);
    if (v->entries[entry].owner != 0 || is_limited)
        return;
    context = context_of(w, entry);
    chain.by_pool = !needs_context(w, &chain, context) && !is_posted(v, &chain, context);
    if (!chain.by_pool || is_worker(v, &v->entries[entry]))
        w->failed = !keep_chain(v, &chain) || w->failed;
}

/* The innermost method of the program's own; "" = none. */
static const char *own_method(const threads_view *v, uint32_t stack)
{
    for (; stack != 0; stack = v->process->stack_parents[stack])
        if (threads_is_managed(v, stack) && !threads_is_framework(threads_method_of(v, stack)))
            return threads_method_of(v, stack);
    return "";
}

/* Does the second method stand in the class of the first? `Shop.Till.Count.lambda` and
 * `Shop.Till.Close` do. */
static bool is_of_class(const char *method, const char *other)
{
    size_t length = strcspn(method, "<(");

    if (length > 7 && strncmp(method + length - 7, ".lambda", 7) == 0)
        length -= 7;
    while (length > 0 && method[length - 1] != '.')
        length--;
    return length > 1 && strncmp(method, other, length) == 0;
}

/* Work that a thread has handed to the pool and waits for, with a lock that it has: of Task.Run
 * with an async method, by the class that both are of; of a parallel query, by its stack. */
static bool may_work_for(const threads_view *v, const threads_entry *t, const char *task,
                         const threads_entry *worker)
{
    static const char QUERY[] = "System.Linq.Parallel.*";
    const char *mine = own_method(v, t->stack), *its = own_method(v, worker->stack);

    if (worker->owner != t->os_id || worker->owner_inferred || !is_worker(v, worker) ||
        (worker->state != THREADS_MONITOR && worker->state != THREADS_LOCK))
        return false;
    if (threads_stack_has(v, t->stack, QUERY))
        return threads_stack_has(v, worker->stack, QUERY);
    return strstr(task, "UnwrapPromise") != NULL &&
           (is_of_class(mine, its) || is_of_class(its, mine)) &&
           (threads_stack_has(v, worker->stack, "*.AsyncStateMachineBox<*") ||
            threads_stack_has(v, worker->stack, "*.AsyncMethodBuilderCore.Start<*"));
}

void waited_explain_helpers(waited *w)
{
    threads_view *v = w->view;

    for (size_t i = 0; i < v->count; i++) {
        const char *task = waited_type(w, v->entries[i].object);

        if (v->entries[i].state != THREADS_TASK || v->entries[i].owner != 0)
            continue;
        for (size_t k = 0; k < v->count; k++)
            if (may_work_for(v, &v->entries[i], task, &v->entries[k]))
                waited_add_owner(w, i, k, true);
    }
}

void waited_judge_pool(threads_view *v)
{
    size_t workers = 0, blocked = 0, kept = 0;

    for (size_t i = 0; i < v->count; i++)
        workers += is_worker(v, &v->entries[i]);
    for (size_t i = 0; i < v->chain_count; i++)
        blocked += v->chains[i].by_pool;
    for (size_t i = 0; i < v->chain_count; i++)
        if (!v->chains[i].by_pool || (blocked == workers && workers > 1))
            v->chains[kept++] = v->chains[i];
    v->chain_count = kept;
}
