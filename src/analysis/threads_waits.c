/*
 * threads_waits: from the objects that the look copied (agent/waits.h) to what each thread waits
 * for and who can end the wait: another thread's end, a handle, a class, the finalizer. Locks are
 * in threads_locks, tasks in threads_async.
 */
#include <stdio.h>

#include "analysis/threads_waited.h"
#include "base/text.h"

static uint64_t find_joined(const waited *w, size_t entry)
{
    for (size_t i = 0; i < w->link_count; i++)
        if (w->links[i].entry == entry && w->links[i].role == WAITED_FOR &&
            text_equal(waited_type(w, w->links[i].object), "System.Threading.Thread") &&
            waited_by_role(w, w->links[i].object, WAITED_SELF) != entry)
            return w->links[i].object;
    return 0;
}

static void wait_for_thread(waited *w, size_t entry)
{
    uint64_t thread = find_joined(w, entry);

    if (thread == 0)
        return;
    waited_set_object(w, entry, thread);
    waited_add_owner(w, entry,
                     waited_by_native(w, waited_get(w, thread, "_DONT_USE_InternalThread")), false);
}

static void wait_for_finalizer(waited *w, size_t entry)
{
    for (size_t i = 0; i < w->view->count; i++)
        if (text_equal(threads_role(w->view, &w->view->entries[i]), "finalizer"))
            waited_add_owner(w, entry, i, false);
}

/* The handle that is waited on belongs to a Mutex, an event or a Semaphore. */
static uint64_t find_handle(const waited *w, size_t entry)
{
    uint64_t safe = waited_find(w, entry, "*.SafeWaitHandle");

    for (size_t i = 0; i < w->link_count && safe != 0; i++)
        if (waited_get(w, w->links[i].object, "_waitHandle") == safe)
            return w->links[i].object;
    return safe;
}

static void wait_for_handle(waited *w, size_t entry)
{
    uint64_t handle = find_handle(w, entry);

    if (text_equal(waited_type(w, handle), "System.Threading.Mutex"))
        w->view->entries[entry].state = THREADS_MUTEX;
    else if (text_equal(waited_type(w, handle), "System.Threading.Semaphore"))
        w->view->entries[entry].state = THREADS_SEMAPHORE;
    if (handle != 0)
        waited_set_object(w, entry, handle);
}

/* A slim one of this class, or else one with a handle. */
static void wait_for_slim(waited *w, size_t entry, const char *type)
{
    uint64_t object = waited_find(w, entry, type);

    if (object != 0)
        waited_set_object(w, entry, object);
    else
        wait_for_handle(w, entry);
}

/* A thread that stands in the runtime, with a class at hand whose static constructor another one
 * runs, waits for its end. */
static void wait_for_class(waited *w, size_t entry)
{
    threads_view *v = w->view;
    char pattern[512];

    for (size_t i = 0; i < w->link_count; i++) {
        const waited_link *l = &w->links[i];

        if (l->entry != entry || l->role != WAITED_CLASS || l->type == 0)
            continue;
        snprintf(pattern, sizeof pattern, "%s..cctor", model_text(v->model, l->type));
        for (size_t k = 0; k < v->count; k++) {
            if (k == entry || !threads_stack_has(v, v->entries[k].stack, pattern) ||
                threads_stack_has(v, v->entries[entry].stack, pattern))
                continue;
            v->entries[entry].state = THREADS_CLASS;
            v->entries[entry].object = l->object;
            v->entries[entry].object_type = l->type;
            waited_add_owner(w, entry, k, false);
            return;
        }
    }
}

static void explain(waited *w, size_t entry)
{
    switch (w->view->entries[entry].state) {
    case THREADS_LOCK:
        waited_explain_lock(w, entry);
        break;
    case THREADS_READER_WRITER:
        waited_explain_reader_writer(w, entry);
        break;
    case THREADS_JOIN:
        wait_for_thread(w, entry);
        break;
    case THREADS_TASK:
        waited_explain_task(w, entry);
        break;
    case THREADS_SEMAPHORE:
        wait_for_slim(w, entry, "System.Threading.SemaphoreSlim");
        break;
    case THREADS_EVENT:
        wait_for_slim(w, entry, "System.Threading.ManualResetEventSlim");
        break;
    case THREADS_FINALIZERS:
        wait_for_finalizer(w, entry);
        break;
    case THREADS_RUNNING:
    case THREADS_NATIVE:
        wait_for_class(w, entry);
        break;
    default:
        break;
    }
}

static void name_threads(waited *w)
{
    for (size_t i = 0; i < w->link_count; i++) {
        uint64_t id = waited_get(w, w->links[i].object, "_managedThreadId");

        if (w->links[i].role == WAITED_SELF && id != 0)
            w->view->entries[w->links[i].entry].managed_id = id;
    }
}

int threads_read_waits(threads_view *v, uint64_t look, error *e)
{
    waited w;

    if (!waited_read(&w, v, look))
        return 0;
    name_threads(&w);
    for (size_t i = 0; i < v->count && !w.failed; i++)
        explain(&w, i);
    waited_explain_ownerless(&w);
    waited_explain_gates(&w);
    waited_explain_helpers(&w);
    waited_judge_pool(v);
    waited_free(&w);
    return w.failed ? error_set(e, ERROR_MEMORY, "no memory for the waits of threads") : 0;
}
