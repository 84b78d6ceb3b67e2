/* trace_async: see trace_async.h. */
#include "profilers/trace_async.h"

#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "clarinet/lookup.h"
#include "profilers/trace_capture.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_memory.h"

enum {
    KIND_BUSY = 1,
    KIND_BEGUN = 2,
    KIND_ENDED = 3,
    LOWEST_ADDRESS = 4096,
    FIRST_NUMBER = 0x40000000, /* the runtime counts from 1 */
    MOST_FIELDS = 64,
    CALLERS = 4, /* traced calls between an async method and its first step */
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

/* ---- what waits with them ---- */

static trace_async_kept *kept_at(trace_async *a, int32_t task, unsigned n)
{
    return &a->kept[(table_hash_u64((uint32_t)task) + n) % TRACE_ASYNC_KEPT];
}

/* What does not fit any more becomes unknown. */
static size_t copy_values(uint8_t *out, const uint8_t *values, size_t length)
{
    size_t used = 0;
    size_t from = 0;

    for (size_t at = 0; at + 4 <= length;) {
        const uint8_t *v = values + at;

        at += 4 + (v[2] | (size_t)v[3] << 8);
        if (v[1] == TRACE_KIND_SHAPE)
            continue; /* it belongs to the next one */
        if (used + at - from <= TRACE_ASYNC_VALUES) {
            memcpy(out + used, values + from, at - from);
            used += at - from;
        } else if (v[0] < TRACE_FIRST_FIELD && used + 4 <= TRACE_ASYNC_VALUES) {
            memcpy(out + used, (uint8_t[]){v[0], TRACE_KIND_UNKNOWN, 0, 0}, 4);
            used += 4;
        }
        from = at;
    }
    return used;
}

/* Before the other end can know of it. Without room the call is shown without its values. */
static void keep(trace_async *a, int32_t task, uint64_t kind, const trace_event *event,
                 const uint8_t *values, size_t length)
{
    for (unsigned n = 0; n < TRACE_ASYNC_KEPT_WINDOW; n++) {
        trace_async_kept *k = kept_at(a, task, n);
        uint64_t none = 0;

        if (!atomic_compare_exchange_strong(&k->key, &none, KIND_BUSY))
            continue;
        k->class_id = event->class_id;
        k->thread_id = event->thread_id;
        k->depth = (uint16_t)event->depth;
        k->length = (uint16_t)copy_values(k->values, values, length);
        atomic_store(&k->key, key_of(task, kind));
        return;
    }
}

static trace_async_kept *find_kept(trace_async *a, int32_t task, uint64_t kind)
{
    for (unsigned n = 0; n < TRACE_ASYNC_KEPT_WINDOW; n++)
        if (atomic_load(&kept_at(a, task, n)->key) == key_of(task, kind))
            return kept_at(a, task, n);
    return NULL;
}

static void let_go(trace_async_kept *k)
{
    if (k != NULL)
        atomic_store(&k->key, 0);
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
    if ((builder & TRACE_BUILDER_INSIDE) != 0 && a->inside == 0)
        return 0;
    if ((builder & TRACE_BUILDER_INSIDE) != 0)
        builder += a->inside - TRACE_BUILDER_INSIDE;
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

static void one_more(trace_method *whole)
{
    unsigned now = atomic_fetch_add_explicit(&whole->running, 1, memory_order_relaxed) + 1;
    unsigned most = atomic_load_explicit(&whole->peak, memory_order_relaxed);

    while (now > most && !atomic_compare_exchange_weak_explicit(
                             &whole->peak, &most, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* It may have begun before the session. */
static void one_less(trace_method *whole)
{
    unsigned now = atomic_load_explicit(&whole->running, memory_order_relaxed);

    while (now != 0 &&
           !atomic_compare_exchange_weak_explicit(&whole->running, &now, now - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void trace_enter_step(const trace_method *m, int64_t state, int64_t builder)
{
    trace_counters *c = m->counters;
    trace_thread *t;
    trace_frame *f;

    trace_enter(m);
    t = trace_this_thread();
    if (!trace_is_counting(c, t) || (f = trace_running_frame(t, m)) == NULL)
        return;
    f->step = builder == 0 ? TRACE_STEP_BLIND : 0;
    f->task = 0;
    if (m->whole == NULL || c->async == NULL)
        return;
    if (state == TRACE_STATE_NEW) {
        f->step |= TRACE_STEP_FIRST;
        trace_count_completion(c, t, m->whole); /* of the whole: calls begun */
        one_more(m->whole);
    } else {
        f->task = task_of(c->async, builder);
    }
}

static trace_frame *own_frame(const trace_method *m)
{
    trace_thread *t = trace_this_thread();

    return trace_is_counting(m->counters, t) ? trace_running_frame(t, m) : NULL;
}

/* A step at one of the two ends of its call, on its thread. */
typedef struct {
    const trace_method *method;
    trace_thread *thread;
    trace_frame frame;
    uint32_t below; /* traced calls around it */
    trace_event event;
} whole_call;

static whole_call call_of_step(const trace_method *m, const trace_frame *f, uint32_t below)
{
    whole_call w = {.method = m, .thread = trace_this_thread(), .frame = *f, .below = below};

    w.event.thread_id = w.thread->thread_id;
    w.event.depth = below;
    return w;
}

/* The values that the async method itself took, when it called its first step. */
static const uint8_t *values_of_call(const whole_call *w, size_t *length)
{
    const trace_thread *t = w->thread;
    uint32_t end = w->frame.values;

    *length = 0;
    for (uint32_t depth = w->below, n = 0; depth > 0 && n < CALLERS; depth--, n++) {
        const trace_frame *f = trace_memory_frame(t, depth - 1);

        if (f == NULL)
            break;
        if (f->method->index == w->method->owner) {
            *length = end - f->values;
            return t->values + f->values;
        }
        end = f->values;
    }
    return t->values;
}

/* Puts them together in what is left of the thread's memory for values, and hands all on. */
static void show(whole_call *w, const uint8_t *values, size_t length, const uint8_t *result,
                 size_t result_length)
{
    trace_thread *t = w->thread;
    uint8_t *out = t->values + t->values_used;

    if (t->values_used + length + result_length > TRACE_VALUES)
        length = result_length = 0;
    memcpy(out, values, length);
    memcpy(out + length, result, result_length);
    trace_capture_whole(w->method->counters, w->method->whole, &w->event, out,
                        length + result_length);
}

/* A call is complete, with the failure w->event.class_id or none. `other` is what its other end
 * left; NULL = nothing, or it has none. */
static void finish(whole_call *w, uint64_t start, uint64_t now, bool failed,
                   const trace_async_kept *other)
{
    trace_counters *c = w->method->counters;
    trace_method *whole = w->method->whole;
    const uint8_t *own = w->thread->values + w->frame.values;
    size_t own_length = w->thread->values_used - w->frame.values;
    size_t length;

    w->event.start = start;
    w->event.time = now > start ? now - start : 0;
    w->event.failed = failed;
    one_less(whole);
    trace_count(c, w->thread, whole, w->event.time, 0, failed);
    if (failed)
        trace_exceptions_count_class(c, whole, w->event.class_id);
    if (c->sink == NULL)
        return;
    if ((w->frame.step & TRACE_STEP_FIRST) != 0) {
        const uint8_t *values = values_of_call(w, &length);

        show(w, values, length, other == NULL ? own : other->values,
             other == NULL ? own_length : other->length);
        return;
    }
    if (other != NULL) {
        w->event.thread_id = other->thread_id;
        w->event.depth = other->depth;
    }
    show(w, other == NULL ? own : other->values, other == NULL ? 0 : other->length, own,
         own_length);
}

/* The first step is over, and the call goes on (or was finished meanwhile by another thread). */
static void begin_whole(whole_call *w, trace_async *a, int32_t task)
{
    bool wanted = w->method->counters->sink != NULL;
    uint64_t now = 0;
    bool failed = false;
    size_t length;
    const uint8_t *values = values_of_call(w, &length);
    trace_async_kept *other;

    if (task == 0) {
        if ((w->frame.step & TRACE_STEP_BLIND) == 0)
            one_less(w->method->whole);
        return;
    }
    if (wanted)
        keep(a, task, KIND_BEGUN, &w->event, values, length);
    if (!begin(a, task, w->frame.start, &now, &failed))
        return;
    other = find_kept(a, task, KIND_ENDED);
    w->event.class_id = other == NULL ? 0 : other->class_id;
    finish(w, w->frame.start, now, failed, other);
    let_go(other);
    let_go(find_kept(a, task, KIND_BEGUN));
}

static void end_whole(whole_call *w, trace_async *a, int32_t task, uint64_t now, bool failed)
{
    uint64_t start = 0;
    trace_async_kept *other;

    if (find(a, task, KIND_BEGUN) == NULL && (failed || w->method->counters->sink != NULL))
        keep(a, task, KIND_ENDED, &w->event, w->thread->values + w->frame.values,
             w->thread->values_used - w->frame.values);
    if (!end(a, task, now, failed, &start))
        return;
    let_go(find_kept(a, task, KIND_ENDED));
    other = find_kept(a, task, KIND_BEGUN);
    finish(w, start, now, failed, other);
    let_go(other);
}

/* The call is complete as soon as its task is: the rest of the step runs its continuations. */
static void complete(const trace_method *m, trace_frame *f, bool failed)
{
    trace_counters *c = m->counters;
    uint64_t now = trace_now(c);
    bool again = (f->step & TRACE_STEP_DONE) != 0;
    whole_call w;

    f->step |= TRACE_STEP_DONE;
    if (m->whole == NULL || c->async == NULL || again)
        return;
    w = call_of_step(m, f, trace_this_thread()->depth - 1);
    w.event.class_id = failed ? w.thread->caught : 0;
    if ((f->step & TRACE_STEP_BLIND) != 0) {
        one_less(m->whole);
        trace_count_untimed(c, w.thread, m->whole, failed);
        if (failed)
            trace_exceptions_count_class(c, m->whole, w.event.class_id);
    } else if ((f->step & TRACE_STEP_FIRST) != 0)
        finish(&w, f->start, now, failed, NULL);
    else if (f->task != 0)
        end_whole(&w, c->async, f->task, now, failed);
}

void trace_complete_step(const trace_method *m)
{
    trace_frame *f = own_frame(m);

    if (f != NULL)
        complete(m, f, false);
}

void trace_fail_step(const trace_method *m)
{
    trace_frame *f = own_frame(m);

    if (f == NULL)
        return;
    complete(m, f, true);
    trace_count_failure(m->counters, trace_this_thread(), m);
    trace_exceptions_count_caught(m->counters, trace_this_thread(), m);
}

void trace_leave_step(const trace_method *m, int64_t builder)
{
    trace_counters *c = m->counters;
    trace_frame *running = own_frame(m);
    trace_frame f;
    whole_call w;

    if (running != NULL)
        f = *running;
    trace_leave(m);
    if (running == NULL)
        return;
    if ((f.step & TRACE_STEP_DONE) != 0) {
        trace_count_completion(c, trace_this_thread(), m);
    } else if ((f.step & TRACE_STEP_FIRST) != 0 && m->whole != NULL && c->async != NULL) {
        w = call_of_step(m, &f, trace_this_thread()->depth);
        begin_whole(&w, c->async, task_of(c->async, builder));
    }
}

/* ---- set up ---- */

typedef struct {
    const clr_info *info;
    uint32_t number, builder; /* offsets; 0 = not found */
} learning;

/* Where a field lies in objects, or in values, of a type of this module; 0 = not known. */
static uint32_t find_offset(const clr_info *info, uintptr_t module, IMetaDataImport2 *import,
                            const char *type_name, const char *name)
{
    COR_FIELD_OFFSET fields[MOST_FIELDS];
    mdTypeDef type = 0;
    mdFieldDef field = 0;
    ClassID class_id = 0;
    uint32_t count = 0;
    uint32_t size = 0;

    if (clr_find_type(import, type_name, 0, &type) == S_OK &&
        clr_find_field(import, type, name, &field) == S_OK &&
        CLR_OK(
            clr_info_get_class_from_token_and_type_args(info, module, type, 0, NULL, &class_id)) &&
        CLR_OK(clr_info_get_class_layout(info, class_id, fields, MOST_FIELDS, &count, &size)))
        for (uint32_t n = 0; n < count && n < MOST_FIELDS; n++)
            if (fields[n].ridOfField == field)
                return fields[n].ulOffset;
    return 0;
}

static int look_at_module(void *context, uintptr_t module)
{
    learning *l = context;
    IMetaDataImport2 *import = NULL;

    if (!CLR_OK(clr_open_import(l->info, module, &import)))
        return 1;
    l->number = find_offset(l->info, module, import, "System.Threading.Tasks.Task", "m_taskId");
    if (l->number != 0)
        l->builder =
            find_offset(l->info, module, import,
                        "System.Runtime.CompilerServices.AsyncVoidMethodBuilder", "_builder");
    clr_release(import);
    return l->number == 0;
}

trace_async *trace_async_create(const clr_info *info)
{
    learning l = {info, 0, 0};
    trace_async *a;

    clr_each_module(info, look_at_module, &l);
    if (l.number == 0)
        return NULL;
    a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    if (a == MAP_FAILED)
        return NULL;
    a->id_offset = l.number;
    a->inside = l.builder == sizeof(void *) ? l.builder : 0;
    atomic_store(&a->numbers, FIRST_NUMBER);
    return a;
}

void trace_async_clear(trace_async *a)
{
    for (unsigned n = 0; n < TRACE_ASYNC_PLACES; n++)
        if (atomic_load(&a->places[n].key) != 0)
            atomic_store(&a->places[n].key, 0);
    for (unsigned n = 0; n < TRACE_ASYNC_KEPT; n++)
        if (atomic_load(&a->kept[n].key) != 0)
            atomic_store(&a->kept[n].key, 0);
    atomic_store(&a->lost, 0);
}

void trace_async_free(trace_async *a)
{
    if (a != NULL)
        munmap(a, sizeof *a);
}
