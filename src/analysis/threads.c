/* threads: see threads.h. */
#include "analysis/threads.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* Cells of waits_for; the last four are the kernel's word, in looks from outside. */
enum {
    WAITS_MONITOR = 1,
    WAITS_MONITOR_WAIT = 2,
    WAITS_IN_KERNEL = 16,
    WAITS_SLEEPING = 17,
    WAITS_INPUT = 18,
    WAITS_NOT = 19,
    LEAVES = 6
};

/* A method near the leaf tells what a thread waits for. The first row that fits wins, looked up for
 * the leaf first. */
static const struct {
    const char *pattern;
    threads_state state;
} SIGNS[] = {
    {"System.Threading.PortableThreadPool.WorkerThread.*", THREADS_POOL_IDLE},
    {"System.Threading.LowLevelLifoSemaphore.*", THREADS_POOL_IDLE},
    {"System.GC.*WaitForPendingFinalizers*", THREADS_FINALIZERS},
    {"System.Threading.Thread.Join*", THREADS_JOIN},
    {"System.Threading.Thread.Sleep*", THREADS_SLEEP},
    {"System.Threading.Tasks.Task.*Wait*", THREADS_TASK},
    {"System.Threading.Tasks.Task<*>.GetResultCore", THREADS_TASK},
    {"System.Threading.SemaphoreSlim.Wait*", THREADS_SEMAPHORE},
    {"System.Threading.Semaphore*", THREADS_SEMAPHORE},
    {"System.Threading.ManualResetEventSlim.Wait*", THREADS_EVENT},
    {"System.Threading.Lock.*", THREADS_LOCK},
    {"System.Threading.ReaderWriterLockSlim.*", THREADS_READER_WRITER},
    {"System.Threading.ReaderWriterLock.*", THREADS_READER_WRITER},
    {"System.Threading.Monitor.Wait*", THREADS_MONITOR_WAIT},
    {"System.Threading.Monitor.*", THREADS_MONITOR},
    {"System.Threading.WaitHandle.*", THREADS_EVENT},
    {"Interop.Sys.Read", THREADS_IO},
    {"Interop.Sys.Write", THREADS_IO},
    {"Interop.Sys.Poll*", THREADS_IO},
    {"Interop.Sys.Receive*", THREADS_IO},
    {"Interop.Sys.Send*", THREADS_IO},
    {"Interop.Sys.Accept*", THREADS_IO},
    {"Interop.Sys.Connect*", THREADS_IO},
    {"Interop.Sys.WaitForSocketEvents*", THREADS_IO},
    {"Interop.Sys.WaitPid*", THREADS_IO},
    {"System.Net.Sockets.SocketAsyncEngine.EventLoop", THREADS_IO},
};

const char *threads_state_kind(threads_state state)
{
    switch (state) {
    case THREADS_MONITOR:
    case THREADS_MONITOR_WAIT:
        return "monitor";
    case THREADS_LOCK:
        return "lock";
    case THREADS_READER_WRITER:
        return "reader-writer lock";
    case THREADS_SEMAPHORE:
        return "semaphore";
    case THREADS_MUTEX:
        return "mutex";
    case THREADS_EVENT:
        return "event";
    case THREADS_TASK:
        return "task";
    case THREADS_JOIN:
        return "thread";
    case THREADS_CLASS:
        return "static constructor";
    case THREADS_FINALIZERS:
        return "finalizers";
    default:
        return NULL;
    }
}

const char *threads_state_name(threads_state state)
{
    static const char *const NAMES[] = {
#define X(identifier, name) name,
        THREADS_STATE_LIST(X)
#undef X
    };

    return NAMES[state];
}

bool threads_is_managed(const threads_view *v, uint32_t stack)
{
    return v->process->frames[v->process->stack_frames[stack]].kind == RECORDING_FRAME_MANAGED;
}

const char *threads_method_of(const threads_view *v, uint32_t stack)
{
    const model_frame *frame = &v->process->frames[v->process->stack_frames[stack]];

    return model_text(v->model, v->process->functions[frame->function].name);
}

bool threads_stack_has(const threads_view *v, uint32_t stack, const char *pattern)
{
    for (; stack != 0; stack = v->process->stack_parents[stack])
        if (text_matches(threads_method_of(v, stack), pattern))
            return true;
    return false;
}

/* A function of libc that waits, by its name without what decorates it. */
static threads_state state_by_call(const char *function)
{
    static const char *const CALLS[] = {
        "read",        "readv",  "pread",   "write",     "writev", "pwrite",
        "open",        "openat", "poll",    "ppoll",     "select", "epoll_wait",
        "epoll_pwait", "accept", "accept4", "connect",   "recv",   "recvfrom",
        "recvmsg",     "send",   "sendto",  "sendmsg",   "wait4",  "waitpid",
        "waitid",      "flock",  "fsync",   "fdatasync", "ioctl",  "fcntl",
    };
    size_t length;

    function += strspn(function, "_");
    if (text_starts_with(function, "GI_") || text_starts_with(function, "libc_"))
        function += strcspn(function, "_") + 1;
    function += strspn(function, "_");
    length = strlen(function);
    if (text_ends_with(function, "nanosleep"))
        return THREADS_SLEEP;
    length -= length > 2 && strcmp(function + length - 2, "64") == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (strlen(CALLS[i]) == length && strncmp(CALLS[i], function, length) == 0)
            return THREADS_IO;
    return THREADS_RUNNING;
}

/* The outermost sign among the innermost frames says most: Task.Wait stands above the event it
 * waits with. Not beyond the program's own methods: above them stands what called these. */
static threads_state state_by_names(const threads_view *v, uint32_t stack)
{
    threads_state state = THREADS_RUNNING;
    const char *leaf = stack == 0 ? "" : threads_method_of(v, stack);

    /* native frames are there only of a thread that did not move meanwhile */
    if (stack != 0 && !threads_is_managed(v, stack))
        state = state_by_call(leaf);
    while (stack != 0 && !threads_is_managed(v, stack))
        stack = v->process->stack_parents[stack];
    if (stack == 0)
        return THREADS_NATIVE;
    for (int depth = 0; depth < LEAVES && stack != 0;
         depth++, stack = v->process->stack_parents[stack]) {
        const char *method = threads_method_of(v, stack);

        if (!text_starts_with(method, "System.") && !text_starts_with(method, "Interop."))
            break;
        for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++) {
            if (!text_matches(method, SIGNS[i].pattern))
                continue;
            state = SIGNS[i].state;
            break;
        }
    }
    return state;
}

/* In a look from outside few methods have names: the kernel tells what these do not. */
static threads_state state_by_kernel(threads_state by_names, uint64_t waits_for)
{
    if (by_names != THREADS_RUNNING && by_names != THREADS_NATIVE)
        return by_names;
    switch (waits_for) {
    case WAITS_IN_KERNEL:
        return THREADS_BLOCKED;
    case WAITS_SLEEPING:
        return THREADS_SLEEP;
    case WAITS_INPUT:
        return THREADS_IO;
    default:
        return THREADS_RUNNING;
    }
}

/* ---- reading the tables ---- */

typedef struct {
    const model_column *thread, *managed_id, *stack, *cpu, *waits_for, *object, *object_type,
        *owner, *waiters, *waited, *look, *native, *native_state;
} columns;

/* A column whose cells are indexes of the model: only its type makes them so. */
static const model_column *find_typed(const model *m, const model_table *t, const char *name,
                                      recording_column_type type)
{
    const model_column *column = model_find_column(m, t, name);

    return column != NULL && column->type == type ? column : NULL;
}

static bool find_columns(const model *m, const model_table *t, columns *c)
{
    c->thread = find_typed(m, t, "thread", RECORDING_THREAD_ID);
    c->managed_id = model_find_column(m, t, "managed_id");
    c->stack = find_typed(m, t, "stack", RECORDING_STACK_ID);
    c->cpu = model_find_column(m, t, "cpu");
    c->waits_for = model_find_column(m, t, "waits_for");
    c->object = model_find_column(m, t, "object");
    c->object_type = find_typed(m, t, "object_type", RECORDING_STRING_ID);
    c->owner = model_find_column(m, t, "owner");
    c->waiters = model_find_column(m, t, "waiters");
    c->waited = model_find_column(m, t, "waited");
    c->look = model_find_column(m, t, "look");
    c->native = model_find_column(m, t, "native"); /* not in older recordings */
    c->native_state = model_find_column(m, t, "native_state");
    return c->thread != NULL && c->managed_id != NULL && c->stack != NULL && c->cpu != NULL &&
           c->waits_for != NULL && c->object != NULL && c->object_type != NULL &&
           c->owner != NULL && c->waiters != NULL && c->waited != NULL && c->look != NULL;
}

static void read_entry(threads_view *v, const columns *c, size_t row, threads_entry *entry)
{
    const model_thread *thread = &v->process->threads[model_cell(c->thread, row)];
    uint64_t waits_for = model_cell(c->waits_for, row);

    memset(entry, 0, sizeof *entry);
    entry->os_id = thread->os_id;
    entry->managed_id = model_cell(c->managed_id, row);
    if (entry->managed_id == 0)
        entry->managed_id = thread->managed_id;
    entry->name = thread->name;
    entry->stack = (uint32_t)model_cell(c->stack, row);
    entry->cpu_ns = model_cell(c->cpu, row);
    entry->native = c->native == NULL ? 0 : model_cell(c->native, row);
    entry->native_state = c->native_state == NULL ? 0 : model_cell(c->native_state, row);
    entry->state = waits_for == WAITS_MONITOR        ? THREADS_MONITOR
                   : waits_for == WAITS_MONITOR_WAIT ? THREADS_MONITOR_WAIT
                                                     : state_by_names(v, entry->stack);
    /* Monitor.Wait is what events and tasks are made of: the names say it better. */
    if (entry->state == THREADS_MONITOR_WAIT)
        entry->state = state_by_names(v, entry->stack);
    if (waits_for >= WAITS_IN_KERNEL && waits_for <= WAITS_NOT)
        entry->state = state_by_kernel(entry->state, waits_for);
    else if (waits_for != 0) {
        entry->object = model_cell(c->object, row);
        entry->object_type = (uint32_t)model_cell(c->object_type, row);
        entry->waiters = model_cell(c->waiters, row);
        entry->waited_ns = model_cell(c->waited, row);
    }
    if (waits_for == WAITS_MONITOR)
        entry->owner = model_cell(c->owner, row);
}

const threads_entry *threads_by_id(const threads_view *view, uint64_t os_id)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->entries[i].os_id == os_id)
            return &view->entries[i];
    return NULL;
}

/* ---- edges ---- */

bool threads_add_edge(threads_view *v, size_t from, size_t to, bool inferred)
{
    if (v->edge_count == v->edge_capacity) {
        size_t capacity = v->edge_capacity == 0 ? 64 : v->edge_capacity * 2;
        threads_edge *edges = memory_resize(v->edges, capacity * sizeof *edges);

        if (edges == NULL)
            return false;
        v->edges = edges;
        v->edge_capacity = capacity;
    }
    v->edges[v->edge_count++] =
        (threads_edge){from, to, inferred, threads_limit_of(v, &v->entries[from])};
    return true;
}

static bool add_monitors(threads_view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const threads_entry *owner =
            v->entries[i].owner == 0 ? NULL : threads_by_id(v, v->entries[i].owner);

        if (owner != NULL && !threads_add_edge(v, i, (size_t)(owner - v->entries), false))
            return false;
    }
    return true;
}

/* ---- background threads ---- */

/* The runtime's bits for the state of a thread. They stand in the first word of its structure (9.0
 * and later) or in the third (8.0): in the one where every thread has the bit that all have, and
 * the finalizer is a background thread, as it always is. */
enum { STATE_CAN_BE_JOINED = 0x20, STATE_BACKGROUND = 0x200 };

static bool is_state_at(const threads_view *v, unsigned shift)
{
    bool has_finalizer = false;

    for (size_t i = 0; i < v->count; i++) {
        uint64_t state = v->entries[i].native_state >> shift;

        if (v->entries[i].native == 0 || v->entries[i].native_state == 0)
            continue;
        if ((state & STATE_CAN_BE_JOINED) == 0)
            return false;
        if (text_starts_with(model_text(v->model, v->entries[i].name), ".NET Finalizer")) {
            has_finalizer = true;
            if ((state & STATE_BACKGROUND) == 0)
                return false;
        }
    }
    return has_finalizer;
}

static void read_background(threads_view *v)
{
    unsigned shift = is_state_at(v, 0) ? 0 : 32;

    if (shift != 0 && !is_state_at(v, shift))
        return;
    for (size_t i = 0; i < v->count; i++) {
        threads_entry *t = &v->entries[i];

        if (t->native != 0 && t->native_state != 0)
            t->background =
                (t->native_state >> shift & STATE_BACKGROUND) != 0 ? THREADS_YES : THREADS_NO;
    }
}

/* ---- public ---- */

uint64_t threads_last_look(const model *m, const model_process *process)
{
    const model_table *table = model_find_table(m, process, "threads", "threads");
    const model_column *look = table == NULL ? NULL : model_find_column(m, table, "look");
    uint64_t last = 0;

    for (size_t row = 0; look != NULL && row < table->rows; row++)
        if (model_cell(look, row) > last)
            last = model_cell(look, row);
    return last;
}

static void read_suspension(threads_view *v, uint64_t look)
{
    const model_table *looks = model_find_table(v->model, v->process, "looks", "threads");
    const model_column *number, *suspension;

    if (looks == NULL)
        return;
    number = model_find_column(v->model, looks, "look");
    suspension = model_find_column(v->model, looks, "suspension");
    for (size_t row = 0; number != NULL && suspension != NULL && row < looks->rows; row++)
        if (model_cell(number, row) == look)
            v->suspension_ns = model_cell(suspension, row);
}

int threads_make_look(const model *m, const model_process *process, uint64_t look,
                      threads_view *view, error *e)
{
    const model_table *table = model_find_table(m, process, "threads", "threads");
    columns c;
    int code;

    memset(view, 0, sizeof *view);
    view->model = m;
    view->process = process;
    if (table == NULL || table->rows == 0 || !find_columns(m, table, &c))
        return error_set(e, ERROR_NOT_FOUND, "the recording has no look at the threads");
    if (look == 0)
        look = threads_last_look(m, process);
    view->entries = memory_allocate_array(table->rows, sizeof *view->entries);
    if (view->entries == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for %zu threads", table->rows);
    for (size_t row = 0; row < table->rows; row++)
        if (model_cell(c.look, row) == look)
            read_entry(view, &c, row, &view->entries[view->count++]);
    read_suspension(view, look);
    read_background(view);
    if (model_info_value(m, process, "look_from") != NULL) {
        view->outside_reason = model_info_value(m, process, "look_reason");
        view->is_core = text_equal(model_info_value(m, process, "look_from"), "core");
        view->is_traced = model_info_value(m, process, "look_traced") != NULL;
    }
    code = add_monitors(view) ? threads_read_waits(view, look, e)
                              : error_set(e, ERROR_MEMORY, "no memory for the wait graph");
    if (code == 0 && !threads_read_gates(view))
        code = error_set(e, ERROR_MEMORY, "no memory for the wait graph");
    code = code != 0 ? code : threads_find_cycles(view, e);
    if (code == 0)
        threads_doubt_cycles(view, look);
    if (code != 0)
        threads_free(view);
    return code;
}

int threads_make(const model *m, const model_process *process, threads_view *view, error *e)
{
    return threads_make_look(m, process, 0, view, e);
}

/* Names that the runtime gives its own threads; the kernel keeps 15 characters of them. */
static const struct {
    const char *pattern;
    const char *role;
} ROLES[] = {
    {".NET Finalizer*", "finalizer"}, {".NET TP Worker*", "pool"},
    {".NET ThreadPool*", "pool"},     {".NET BGC*", "gc"},
    {".NET Server GC*", "gc"},        {".NET *", "runtime"},
};

static bool has_managed(const threads_view *v, uint32_t stack)
{
    while (stack != 0 && !threads_is_managed(v, stack))
        stack = v->process->stack_parents[stack];
    return stack != 0;
}

const char *threads_role(const threads_view *view, const threads_entry *entry)
{
    const char *name = model_text(view->model, entry->name);

    if (entry->os_id == view->process->own_pid)
        return "main";
    for (size_t i = 0; i < sizeof ROLES / sizeof *ROLES; i++)
        if (text_matches(name, ROLES[i].pattern))
            return ROLES[i].role;
    if (threads_stack_has(view, entry->stack, "System.Threading.PortableThreadPool.WorkerThread.*"))
        return "pool";
    return entry->native == 0 && !has_managed(view, entry->stack) ? "native" : "thread";
}

void threads_free(threads_view *view)
{
    for (size_t i = 0; i < view->cycle_count; i++)
        memory_free(view->cycles[i].members);
    memory_free(view->cycles);
    memory_free(view->chains);
    memory_free(view->edges);
    memory_free(view->entries);
    memset(view, 0, sizeof *view);
}
