/* trace_async: see trace_async.h. */
#include "profilers/trace_async.h"

#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "clarinet/lookup.h"
#include "profilers/trace_exceptions.h"

enum {
    KIND_BUSY = 1,
    KIND_BEGUN = 2,
    KIND_ENDED = 3,
    LOWEST_ADDRESS = 4096,
    FIRST_NUMBER = 0x40000000, /* the runtime counts from 1 */
    STATE_NEW = -1,            /* of a state machine that has not run */
    MOST_FIELDS = 64,
};

static uint64_t key_of(int32_t task, uint64_t kind)
{
    return (uint64_t)(uint32_t)task << 2 | kind;
}

static trace_async_place *place_at(trace_async *a, int32_t task, unsigned n)
{
    uint64_t first = table_hash_u64((uint32_t)task) / TRACE_ASYNC_WINDOW * TRACE_ASYNC_WINDOW;

    return &a->places[(first + n) % TRACE_ASYNC_PLACES];
}

static trace_async_place *find(trace_async *a, int32_t task, uint64_t kind)
{
    for (unsigned n = 0; n < TRACE_ASYNC_WINDOW; n++) {
        trace_async_place *p = place_at(a, task, n);

        if (atomic_load(&p->key) == key_of(task, kind))
            return p;
    }
    return NULL;
}

/* Puts a moment into the window. An end whose begin never comes (the call is older than the
 * session) gives way when there is no room. */
static trace_async_place *put(trace_async *a, int32_t task, uint64_t kind, uint64_t ticks)
{
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned n = 0; n < TRACE_ASYNC_WINDOW; n++) {
            trace_async_place *p = place_at(a, task, n);
            uint64_t there = atomic_load(&p->key);

            if ((there != 0 && (round == 0 || (there & 3) != KIND_ENDED)) ||
                !atomic_compare_exchange_strong(&p->key, &there, KIND_BUSY))
                continue;
            atomic_store(&p->ticks, ticks);
            atomic_store(&p->key, key_of(task, kind));
            return p;
        }
    }
    atomic_fetch_add(&a->lost, 1);
    return NULL;
}

static bool take(trace_async_place *p, int32_t task, uint64_t kind)
{
    uint64_t key = key_of(task, kind);

    return atomic_compare_exchange_strong(&p->key, &key, 0);
}

/* The first step is over and the call goes on. */
static bool begin(trace_async *a, int32_t task, uint64_t start, uint64_t *end, bool *failed)
{
    trace_async_place *own = put(a, task, KIND_BEGUN, start);
    trace_async_place *other = own == NULL ? NULL : find(a, task, KIND_ENDED);

    if (other == NULL)
        return false;
    *end = atomic_load(&other->ticks);
    *failed = (*end & 1) != 0;
    *end >>= 1;
    if (!take(other, task, KIND_ENDED))
        return false;
    take(own, task, KIND_BEGUN);
    return true;
}

/* The last step is over. */
static bool end(trace_async *a, int32_t task, uint64_t now, bool failed, uint64_t *start)
{
    trace_async_place *other = find(a, task, KIND_BEGUN);
    trace_async_place *own;

    if (other != NULL) {
        *start = atomic_load(&other->ticks);
        return take(other, task, KIND_BEGUN);
    }
    own = put(a, task, KIND_ENDED, now << 1 | failed);
    other = own == NULL ? NULL : find(a, task, KIND_BEGUN);
    if (other == NULL)
        return false;
    *start = atomic_load(&other->ticks);
    if (!take(own, task, KIND_ENDED))
        return false;
    take(other, task, KIND_BEGUN);
    return true;
}

/* The number of the task that the builder has; 0 = it has none. */
static int32_t task_of(trace_async *a, int64_t builder)
{
    uintptr_t object;
    int32_t *place;
    int32_t before = 0;
    int32_t number;

    if (builder < LOWEST_ADDRESS)
        return 0;
    memcpy(&object, (const void *)(uintptr_t)builder, sizeof object);
    if (object < LOWEST_ADDRESS)
        return 0;
    place = (int32_t *)(object + a->id_offset);
    number = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (number != 0)
        return number;
    number = atomic_fetch_add_explicit(&a->numbers, 1, memory_order_relaxed);
    return __atomic_compare_exchange_n(place, &before, number, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)
               ? number
               : before;
}

/* ---- the probes ---- */

void trace_enter_step(const trace_method *m, int64_t state, int64_t builder)
{
    trace_counters *c = m->counters;
    trace_thread *t;
    trace_frame *f;

    trace_enter(m);
    t = trace_this_thread();
    if (!trace_is_counting(c, t) || (f = trace_running_frame(t, m)) == NULL)
        return;
    f->step = 0;
    f->task = 0;
    if (m->whole == NULL || c->async == NULL)
        return;
    if (state == STATE_NEW) {
        f->step = TRACE_STEP_FIRST;
        trace_count_completion(c, t, m->whole); /* of the whole: calls begun */
    } else {
        f->task = task_of(c->async, builder);
    }
}

static trace_frame *own_frame(const trace_method *m)
{
    trace_thread *t = trace_this_thread();

    return trace_is_counting(m->counters, t) ? trace_running_frame(t, m) : NULL;
}

void trace_complete_step(const trace_method *m)
{
    trace_frame *f = own_frame(m);

    if (f != NULL)
        f->step |= TRACE_STEP_DONE;
}

void trace_fail_step(const trace_method *m)
{
    trace_frame *f = own_frame(m);

    if (f == NULL)
        return;
    f->step |= TRACE_STEP_DONE | TRACE_STEP_FAILED;
    trace_count_failure(m->counters, trace_this_thread(), m);
    trace_exceptions_count_caught(m->counters, trace_this_thread(), m);
}

static void count_whole(trace_counters *c, trace_thread *t, const trace_method *whole,
                        uint64_t start, uint64_t now, bool failed)
{
    trace_count(c, t, whole, now > start ? now - start : 0, 0, failed);
    if (failed)
        trace_exceptions_count_caught(c, t, whole);
}

void trace_leave_step(const trace_method *m, int64_t builder)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_this_thread();
    trace_frame *running = own_frame(m);
    uint64_t now, other = 0;
    bool failed = false;
    trace_frame f;
    int32_t task;

    if (running != NULL)
        f = *running;
    trace_leave(m);
    if (running == NULL)
        return;
    if ((f.step & TRACE_STEP_DONE) != 0)
        trace_count_completion(c, t, m);
    if (m->whole == NULL || c->async == NULL)
        return;
    now = trace_now(c);
    if ((f.step & (TRACE_STEP_FIRST | TRACE_STEP_DONE)) == (TRACE_STEP_FIRST | TRACE_STEP_DONE)) {
        count_whole(c, t, m->whole, f.start, now, (f.step & TRACE_STEP_FAILED) != 0);
    } else if ((f.step & TRACE_STEP_FIRST) != 0) {
        task = task_of(c->async, builder);
        if (task != 0 && begin(c->async, task, f.start, &other, &failed))
            count_whole(c, t, m->whole, f.start, other, failed);
    } else if ((f.step & TRACE_STEP_DONE) != 0 && f.task != 0) {
        if (end(c->async, f.task, now, (f.step & TRACE_STEP_FAILED) != 0, &other))
            count_whole(c, t, m->whole, other, now, (f.step & TRACE_STEP_FAILED) != 0);
    }
}

/* ---- set up ---- */

typedef struct {
    const clr_info *info;
    uint32_t offset; /* 0 = not found */
} learning;

static int look_at_module(void *context, uintptr_t module)
{
    learning *l = context;
    COR_FIELD_OFFSET fields[MOST_FIELDS];
    IMetaDataImport2 *import = NULL;
    mdTypeDef type = 0;
    mdFieldDef field = 0;
    ClassID class_id = 0;
    uint32_t count = 0;
    uint32_t size = 0;

    if (!CLR_OK(clr_open_import(l->info, module, &import)))
        return 1;
    if (clr_find_type(import, "System.Threading.Tasks.Task", 0, &type) == S_OK &&
        clr_find_field(import, type, "m_taskId", &field) == S_OK &&
        CLR_OK(clr_info_get_class_from_token_and_type_args(l->info, module, type, 0, NULL,
                                                           &class_id)) &&
        CLR_OK(clr_info_get_class_layout(l->info, class_id, fields, MOST_FIELDS, &count, &size)))
        for (uint32_t n = 0; n < count && n < MOST_FIELDS; n++)
            if (fields[n].ridOfField == field)
                l->offset = fields[n].ulOffset;
    clr_release(import);
    return l->offset == 0;
}

trace_async *trace_async_create(const clr_info *info)
{
    learning l = {info, 0};
    trace_async *a;

    clr_each_module(info, look_at_module, &l);
    if (l.offset == 0)
        return NULL;
    a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    if (a == MAP_FAILED)
        return NULL;
    a->id_offset = l.offset;
    atomic_store(&a->numbers, FIRST_NUMBER);
    return a;
}

void trace_async_clear(trace_async *a)
{
    for (unsigned n = 0; n < TRACE_ASYNC_PLACES; n++)
        if (atomic_load(&a->places[n].key) != 0)
            atomic_store(&a->places[n].key, 0);
    atomic_store(&a->lost, 0);
}

void trace_async_free(trace_async *a)
{
    if (a != NULL)
        munmap(a, sizeof *a);
}
