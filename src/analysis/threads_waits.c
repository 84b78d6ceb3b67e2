/*
 * threads_waits: from the objects that the look copied (agent/waits.h) to what each thread waits
 * for and who can end the wait.
 *
 * Fields are known by their names, so that a runtime with another layout is read all the same; one
 * whose fields have other names gives no owner, never a wrong one. Fields that are 0 are not in
 * the recording.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/threads.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"

/* How a thread and an object belong together. */
enum { WAITS = 0, SELF = 1, RUNS = 2, READS = 3, CLASS = 4, REFERS = 5 };

enum {
    NO_OWNER = 0xffffffff,   /* of a reader-writer lock */
    TASK_DONE = 0x01600000,  /* ran, faulted or cancelled */
    MOST_READER_COUNTS = 64, /* of one thread */
    FINALIZERS_ID = 2,
};

typedef struct {
    uint64_t object;
    uint64_t value;
    uint32_t name; /* string; 0 = none */
} field;

typedef struct {
    uint64_t object;
    size_t entry;
    uint64_t role;
    uint32_t type; /* string; of a class */
} link;

typedef struct {
    threads_view *view;
    field *fields; /* by object */
    size_t field_count;
    link *links;
    size_t link_count;
    table_u64 types;   /* of objects: string + 1 */
    table_u64 entries; /* OS id to index + 1 */
    bool failed;
} facts;

/* ---- the tables ---- */

static int compare_fields(const void *a, const void *b)
{
    const field *x = a, *y = b;

    return x->object < y->object ? -1 : x->object > y->object;
}

static size_t entry_of_os_id(const facts *f, uint64_t os_id)
{
    uint64_t index;

    return os_id != 0 && table_u64_get(&f->entries, os_id, &index) ? (size_t)index - 1 : SIZE_MAX;
}

static void read_objects(facts *f, const model_table *t, uint64_t look)
{
    const model *m = f->view->model;
    const model_column *looks = model_find_column(m, t, "look");
    const model_column *object = model_find_column(m, t, "object");
    const model_column *type = model_find_column(m, t, "type");

    if (looks == NULL || object == NULL || type == NULL || type->type != RECORDING_STRING_ID)
        return;
    for (size_t i = 0; i < t->rows; i++)
        if (model_cell(looks, i) == look)
            table_u64_put(&f->types, model_cell(object, i), model_cell(type, i) + 1);
}

static void read_fields(facts *f, const model_table *t, uint64_t look)
{
    const model *m = f->view->model;
    const model_column *looks = model_find_column(m, t, "look");
    const model_column *object = model_find_column(m, t, "object");
    const model_column *name = model_find_column(m, t, "field");
    const model_column *value = model_find_column(m, t, "value");

    if (looks == NULL || object == NULL || name == NULL || value == NULL ||
        name->type != RECORDING_STRING_ID || t->rows == 0)
        return;
    f->fields = memory_allocate_array(t->rows, sizeof *f->fields);
    f->failed = f->fields == NULL;
    for (size_t i = 0; i < t->rows && !f->failed; i++)
        if (model_cell(looks, i) == look)
            f->fields[f->field_count++] =
                (field){model_cell(object, i), model_cell(value, i), (uint32_t)model_cell(name, i)};
    if (f->field_count != 0)
        qsort(f->fields, f->field_count, sizeof *f->fields, compare_fields);
}

static void read_links(facts *f, const model_table *t, uint64_t look)
{
    const model *m = f->view->model;
    const model_column *looks = model_find_column(m, t, "look");
    const model_column *thread = model_find_column(m, t, "thread");
    const model_column *role = model_find_column(m, t, "role");
    const model_column *object = model_find_column(m, t, "object");
    const model_column *type = model_find_column(m, t, "type");

    if (looks == NULL || thread == NULL || role == NULL || object == NULL || type == NULL ||
        thread->type != RECORDING_THREAD_ID || type->type != RECORDING_STRING_ID || t->rows == 0)
        return;
    f->links = memory_allocate_array(t->rows, sizeof *f->links);
    f->failed = f->failed || f->links == NULL;
    for (size_t i = 0; i < t->rows && !f->failed; i++) {
        const model_thread *who = &f->view->process->threads[model_cell(thread, i)];
        size_t entry = entry_of_os_id(f, who->os_id);

        if (model_cell(looks, i) == look && entry != SIZE_MAX)
            f->links[f->link_count++] = (link){model_cell(object, i), entry, model_cell(role, i),
                                               (uint32_t)model_cell(type, i)};
    }
}

/* ---- questions ---- */

static const field *fields_of(const facts *f, uint64_t object)
{
    size_t low = 0, high = f->field_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (f->fields[middle].object < object)
            low = middle + 1;
        else
            high = middle;
    }
    return &f->fields[low];
}

static uint64_t get(const facts *f, uint64_t object, const char *name)
{
    const field *end = f->fields + f->field_count;

    if (f->field_count == 0)
        return 0;
    for (const field *at = fields_of(f, object); at < end && at->object == object; at++)
        if (text_equal(model_text(f->view->model, at->name), name))
            return at->value;
    return 0;
}

static const char *type_of(const facts *f, uint64_t object)
{
    uint64_t type;

    return table_u64_get(&f->types, object, &type) ? model_text(f->view->model, (uint32_t)type - 1)
                                                   : "";
}

static bool is_task(const facts *f, uint64_t object)
{
    return object != 0 && get(f, object, "m_stateFlags") != 0;
}

static bool is_done(const facts *f, uint64_t task)
{
    return (get(f, task, "m_stateFlags") & TASK_DONE) != 0;
}

static size_t entry_of_managed_id(const facts *f, uint64_t id)
{
    for (size_t i = 0; id != 0 && i < f->view->count; i++)
        if (f->view->entries[i].managed_id == id)
            return i;
    return SIZE_MAX;
}

static size_t entry_of_native(const facts *f, uint64_t native)
{
    for (size_t i = 0; native != 0 && i < f->view->count; i++)
        if (f->view->entries[i].native == native)
            return i;
    return SIZE_MAX;
}

/* The thread that has this part in an object. */
static size_t entry_by_role(const facts *f, uint64_t object, uint64_t role)
{
    for (size_t i = 0; object != 0 && i < f->link_count; i++)
        if (f->links[i].object == object && f->links[i].role == role)
            return f->links[i].entry;
    return SIZE_MAX;
}

/* ---- who can end a wait ---- */

static void wait_for(facts *f, size_t entry, size_t owner, bool inferred)
{
    threads_entry *t = &f->view->entries[entry];

    /* a task may be waited for by the thread that runs it; a lock is given to its owner again */
    if (owner == SIZE_MAX || (owner == entry && t->state != THREADS_TASK))
        return;
    if (t->owner == 0) {
        t->owner = f->view->entries[owner].os_id;
        t->owner_inferred = inferred;
    }
    f->failed = !threads_add_edge(f->view, entry, owner, inferred) || f->failed;
}

static void set_object(facts *f, size_t entry, uint64_t object)
{
    threads_entry *t = &f->view->entries[entry];
    uint64_t type;

    t->object = object;
    t->object_type = table_u64_get(&f->types, object, &type) ? (uint32_t)type - 1 : 0;
}

static void wait_for_lock(facts *f, size_t entry, uint64_t lock)
{
    threads_entry *t = &f->view->entries[entry];
    uint64_t owner = get(f, lock, "_owningThreadId");

    set_object(f, entry, lock);
    if ((get(f, lock, "_state") & 1) == 0 || owner == 0)
        return;
    wait_for(f, entry, entry_of_os_id(f, owner), false);
    t->owner = owner; /* also one that is gone */
}

static void wait_for_readers(facts *f, size_t entry, uint64_t lock)
{
    uint64_t id = get(f, lock, "_lockID");

    for (size_t i = 0; i < f->link_count; i++) {
        uint64_t count = f->links[i].object;

        if (f->links[i].role != READS)
            continue;
        for (int k = 0; k < MOST_READER_COUNTS && count != 0; k++, count = get(f, count, "next"))
            if (get(f, count, "lockID") == id && get(f, count, "readercount") != 0)
                wait_for(f, f->links[i].entry == entry ? SIZE_MAX : entry, f->links[i].entry,
                         false);
    }
}

/* No managed thread has this number, as each of them has told its own. The finalizer's does not on
 * 8.0: it is the second thread of every runtime. The runtime's own take no such locks. */
static bool is_id_of_nobody(const threads_view *v, uint64_t id)
{
    for (size_t i = 0; i < v->count; i++) {
        const threads_entry *t = &v->entries[i];
        const char *role = threads_role(v, t);

        if (t->managed_id == id)
            return false;
        if (t->native != 0 && t->managed_id == 0 && !text_equal(role, "runtime") &&
            (!text_equal(role, "finalizer") || id == FINALIZERS_ID))
            return false;
    }
    return true;
}

static bool is_writer(const threads_view *v, const threads_entry *t)
{
    return threads_stack_has(v, t->stack, "*ReaderWriterLockSlim.TryEnterWriteLock*");
}

static void wait_for_reader_writer(facts *f, size_t entry, uint64_t lock)
{
    const threads_entry *t = &f->view->entries[entry];
    uint64_t writer = get(f, lock, "_writeLockOwnerId");
    uint64_t upgrader = get(f, lock, "_upgradeLockOwnerId");
    bool writes = is_writer(f->view, t);
    bool upgrades =
        threads_stack_has(f->view, t->stack, "*ReaderWriterLockSlim.TryEnterUpgradeable*");

    set_object(f, entry, lock);
    if (writer != NO_OWNER && writer != 0) {
        wait_for(f, entry, entry_of_managed_id(f, writer), false);
        f->view->entries[entry].owner_ended = is_id_of_nobody(f->view, writer);
    }
    if ((writes || upgrades) && upgrader != NO_OWNER)
        wait_for(f, entry, entry_of_managed_id(f, upgrader), false);
    if (writes)
        wait_for_readers(f, entry, lock);
}

static void wait_for_thread(facts *f, size_t entry, uint64_t thread)
{
    set_object(f, entry, thread);
    wait_for(f, entry, entry_of_native(f, get(f, thread, "_DONT_USE_InternalThread")), false);
}

/* No owner is kept: whoever has it at hand, is blocked elsewhere, and does not wait for it. */
static void wait_for_ownerless(facts *f, size_t entry, uint64_t object)
{
    for (size_t i = 0; i < f->link_count; i++) {
        size_t other = f->links[i].entry;

        if (f->links[i].object == object && f->links[i].role == REFERS && other != entry &&
            f->view->entries[other].object != object)
            wait_for(f, entry, other, true);
    }
}

/* A reader before a lock that nobody writes under is held up by those who wait to write. */
static void wait_for_writers(facts *f, size_t entry)
{
    const threads_view *v = f->view;
    uint64_t lock = v->entries[entry].object;

    for (size_t i = 0; i < v->count; i++)
        if (v->entries[i].state == THREADS_READER_WRITER && v->entries[i].object == lock &&
            is_writer(v, &v->entries[i]))
            wait_for(f, entry, i, false);
}

static void wait_for_finalizer(facts *f, size_t entry)
{
    for (size_t i = 0; i < f->view->count; i++)
        if (text_equal(threads_role(f->view, &f->view->entries[i]), "finalizer"))
            wait_for(f, entry, i, false);
}

/* ---- tasks ---- */

/* The task that leads on when `of` is awaited: what `of` continues with is `task`. */
static bool continues_with(const facts *f, uint64_t of, uint64_t task)
{
    uint64_t next = get(f, of, "m_continuationObject");
    uint64_t action = get(f, next, "m_action");

    return next == task || (action != 0 && get(f, action, "_target") == task);
}

/* Whose references are those of the task: its state, which is an object of its own in code that was
 * not optimised, and the array of tasks that all are waited for. */
static bool is_part_of_task(const facts *f, uint64_t object)
{
    const char *type = type_of(f, object);

    return text_ends_with(type, "[]") ||
           (strstr(type, ">d__") != NULL && strstr(type, "StateMachineBox<") == NULL);
}

/* What an async method awaits: a task inside its state that continues with it, or is done. */
static uint64_t awaited_in(const facts *f, uint64_t task, uint64_t part, bool is_whole)
{
    const field *end = f->fields + f->field_count;
    uint64_t done = 0;

    for (const field *at = fields_of(f, part); at < end && at->object == part; at++) {
        if (at->value == task || at->value == part)
            continue;
        if (is_whole && is_part_of_task(f, at->value)) {
            uint64_t inner = awaited_in(f, task, at->value, false);

            if (inner != 0 && !is_done(f, inner))
                return inner;
            done = inner != 0 ? inner : done;
        }
        if ((is_whole && at->name != 0) || !is_task(f, at->value))
            continue;
        if (continues_with(f, at->value, task))
            return at->value;
        if (is_done(f, at->value) && !text_ends_with(type_of(f, part), "[]"))
            done = at->value;
    }
    return done;
}

static uint64_t awaited_by(const facts *f, uint64_t task)
{
    return awaited_in(f, task, task, true);
}

/* `…Box<Shop.Orders.<PlaceAsync>d__3>` is Shop.Orders.PlaceAsync. */
void threads_name_async(const char *type, char *name, size_t size)
{
    const char *end = strstr(type, ">d__");
    const char *open = end;
    const char *start;
    size_t length = 0;

    name[0] = '\0';
    if (end == NULL || strstr(type, "StateMachineBox<") == NULL)
        return;
    while (open > type && *open != '<')
        open--;
    start = open;
    while (start > type && start[-1] != '<' && start[-1] != ' ' && start[-1] != ',')
        start--;
    for (const char *p = start; p < end && length + 1 < size; p++)
        if (p != open)
            name[length++] = *p;
    name[length] = '\0';
}

static void add_step(const facts *f, threads_chain *c, uint64_t task)
{
    threads_step *step = &c->steps[c->count++];
    uint64_t type;

    step->object = task;
    step->type = table_u64_get(&f->types, task, &type) ? (uint32_t)type - 1 : 0;
    step->is_done = is_done(f, task);
    threads_name_async(type_of(f, task), step->method, sizeof step->method);
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
static bool needs_context(const facts *f, const threads_chain *c, uint64_t context)
{
    for (size_t i = 0; i < c->count && context != 0; i++) {
        uint64_t next = get(f, c->steps[i].object, "m_continuationObject");

        if (get(f, next, "m_syncContext") == context)
            return true;
    }
    return false;
}

static bool is_worker(const threads_view *v, const threads_entry *t)
{
    return threads_stack_has(v, t->stack, "System.Threading.ThreadPoolWorkQueue.Dispatch") ||
           threads_stack_has(v, t->stack, "System.Threading.PortableThreadPool.WorkerThread.*");
}

static uint64_t context_of(const facts *f, size_t entry)
{
    for (size_t i = 0; i < f->link_count; i++)
        if (f->links[i].entry == entry && f->links[i].role == SELF)
            return get(f, f->links[i].object, "_synchronizationContext");
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

static void wait_for_task(facts *f, size_t entry, uint64_t task)
{
    threads_view *v = f->view;
    threads_chain chain = {.entry = entry};
    uint64_t at = task, context;

    set_object(f, entry, task);
    for (size_t i = 0; at != 0 && i < THREADS_STEPS; i++, at = awaited_by(f, at)) {
        add_step(f, &chain, at);
        if (is_done(f, at))
            break;
        wait_for(f, entry, entry_by_role(f, at, RUNS), false);
    }
    if (v->entries[entry].owner != 0 || !could_go_on(&chain))
        return;
    if (!chain.steps[chain.count - 1].is_done)
        wait_for(f, entry, runner_of(v, chain.steps[chain.count - 1].method, entry), true);
    if (v->entries[entry].owner != 0 || threads_limit_of(v, &v->entries[entry]) == THREADS_LIMITED)
        return;
    context = context_of(f, entry);
    chain.by_pool = !needs_context(f, &chain, context) && !is_posted(v, &chain, context);
    if (!chain.by_pool || is_worker(v, &v->entries[entry]))
        f->failed = !keep_chain(v, &chain) || f->failed;
}

/* Chains that need the pool are stuck only when no worker is left. */
static void judge_pool(threads_view *v)
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

/* ---- all threads ---- */

static uint64_t find_waited(const facts *f, size_t entry, const char *type)
{
    for (size_t i = 0; i < f->link_count; i++)
        if (f->links[i].entry == entry && f->links[i].role == WAITS &&
            text_matches(type_of(f, f->links[i].object), type))
            return f->links[i].object;
    return 0;
}

static uint64_t find_task(const facts *f, size_t entry)
{
    uint64_t first = 0;

    for (size_t i = 0; i < f->link_count; i++) {
        uint64_t object = f->links[i].object;

        if (f->links[i].entry != entry || f->links[i].role != WAITS || !is_task(f, object) ||
            is_done(f, object))
            continue;
        if (text_ends_with(type_of(f, get(f, object, "m_continuationObject")), "SetOnInvokeMres"))
            return object;
        if (first == 0)
            first = object;
    }
    return first;
}

static uint64_t find_joined(const facts *f, size_t entry)
{
    for (size_t i = 0; i < f->link_count; i++)
        if (f->links[i].entry == entry && f->links[i].role == WAITS &&
            text_equal(type_of(f, f->links[i].object), "System.Threading.Thread") &&
            entry_by_role(f, f->links[i].object, SELF) != entry)
            return f->links[i].object;
    return 0;
}

/* The handle that is waited on belongs to a Mutex, an event or a Semaphore. */
static uint64_t find_handle(const facts *f, size_t entry)
{
    uint64_t safe = find_waited(f, entry, "*.SafeWaitHandle");

    for (size_t i = 0; i < f->link_count && safe != 0; i++)
        if (get(f, f->links[i].object, "_waitHandle") == safe)
            return f->links[i].object;
    return safe;
}

static void wait_for_handle(facts *f, size_t entry, uint64_t handle)
{
    if (text_equal(type_of(f, handle), "System.Threading.Mutex"))
        f->view->entries[entry].state = THREADS_MUTEX;
    else if (text_equal(type_of(f, handle), "System.Threading.Semaphore"))
        f->view->entries[entry].state = THREADS_SEMAPHORE;
    if (handle != 0)
        set_object(f, entry, handle);
}

/* A thread that stands in the runtime, with a class at hand whose static constructor another one
 * runs, waits for its end. */
static void wait_for_class(facts *f, size_t entry)
{
    threads_view *v = f->view;
    char pattern[512];

    for (size_t i = 0; i < f->link_count; i++) {
        const link *l = &f->links[i];

        if (l->entry != entry || l->role != CLASS || l->type == 0)
            continue;
        snprintf(pattern, sizeof pattern, "%s..cctor", model_text(v->model, l->type));
        for (size_t k = 0; k < v->count; k++) {
            if (k == entry || !threads_stack_has(v, v->entries[k].stack, pattern) ||
                threads_stack_has(v, v->entries[entry].stack, pattern))
                continue;
            v->entries[entry].state = THREADS_CLASS;
            v->entries[entry].object = l->object;
            v->entries[entry].object_type = l->type;
            wait_for(f, entry, k, false);
            return;
        }
    }
}

static void explain(facts *f, size_t entry)
{
    threads_entry *t = &f->view->entries[entry];
    uint64_t object;

    switch (t->state) {
    case THREADS_LOCK:
        if ((object = find_waited(f, entry, "System.Threading.Lock")) != 0)
            wait_for_lock(f, entry, object);
        break;
    case THREADS_READER_WRITER:
        if ((object = find_waited(f, entry, "System.Threading.ReaderWriterLockSlim")) != 0)
            wait_for_reader_writer(f, entry, object);
        break;
    case THREADS_JOIN:
        if ((object = find_joined(f, entry)) != 0)
            wait_for_thread(f, entry, object);
        break;
    case THREADS_TASK:
        if ((object = find_task(f, entry)) != 0)
            wait_for_task(f, entry, object);
        break;
    case THREADS_SEMAPHORE:
        if ((object = find_waited(f, entry, "System.Threading.SemaphoreSlim")) != 0)
            set_object(f, entry, object);
        else
            wait_for_handle(f, entry, find_handle(f, entry));
        break;
    case THREADS_EVENT:
        if ((object = find_waited(f, entry, "System.Threading.ManualResetEventSlim")) != 0)
            set_object(f, entry, object);
        else
            wait_for_handle(f, entry, find_handle(f, entry));
        break;
    case THREADS_FINALIZERS:
        wait_for_finalizer(f, entry);
        break;
    case THREADS_RUNNING:
    case THREADS_NATIVE:
        wait_for_class(f, entry);
        break;
    default:
        break;
    }
}

/* After the others: whether somebody waits for the same is known then. */
static void explain_ownerless(facts *f)
{
    for (size_t i = 0; i < f->view->count; i++) {
        const threads_entry *t = &f->view->entries[i];

        if ((t->state == THREADS_SEMAPHORE || t->state == THREADS_MUTEX) && t->object != 0)
            wait_for_ownerless(f, i, t->object);
        else if (t->state == THREADS_READER_WRITER && t->object != 0 && t->owner == 0 &&
                 !t->owner_ended && !is_writer(f->view, t))
            wait_for_writers(f, i);
    }
}

static void name_threads(facts *f)
{
    for (size_t i = 0; i < f->link_count; i++) {
        uint64_t id = get(f, f->links[i].object, "_managedThreadId");

        if (f->links[i].role == SELF && id != 0)
            f->view->entries[f->links[i].entry].managed_id = id;
    }
}

int threads_read_waits(threads_view *v, uint64_t look, error *e)
{
    const model_table *objects = model_find_table(v->model, v->process, "wait_objects", "threads");
    const model_table *fields = model_find_table(v->model, v->process, "wait_fields", "threads");
    const model_table *links = model_find_table(v->model, v->process, "wait_links", "threads");
    facts f = {.view = v};

    if (objects == NULL || fields == NULL || links == NULL)
        return 0;
    table_u64_init(&f.types);
    table_u64_init(&f.entries);
    for (size_t i = 0; i < v->count; i++)
        table_u64_put(&f.entries, v->entries[i].os_id, i + 1);
    read_objects(&f, objects, look);
    read_fields(&f, fields, look);
    read_links(&f, links, look);
    name_threads(&f);
    for (size_t i = 0; i < v->count && !f.failed; i++)
        explain(&f, i);
    explain_ownerless(&f);
    judge_pool(v);
    memory_free(f.fields);
    memory_free(f.links);
    table_u64_free(&f.types);
    table_u64_free(&f.entries);
    return f.failed ? error_set(e, ERROR_MEMORY, "no memory for the waits of threads") : 0;
}
