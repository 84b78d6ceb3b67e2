/* trace_capture: see trace_capture.h. */
#include "profilers/trace_capture.h"

#include <string.h>

#include "cil/signature.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_memory.h"

enum { LOWEST_ADDRESS = 4096 };

/* ---- values into the thread's memory ---- */

static void put_value(trace_thread *t, uint8_t number, uint8_t kind, const void *bytes,
                      size_t length)
{
    uint8_t *p = t->values + t->values_used;

    if (t->values_used + 4 + length > TRACE_VALUES)
        return;
    p[0] = number;
    p[1] = kind;
    p[2] = (uint8_t)length;
    p[3] = (uint8_t)(length >> 8);
    if (length != 0)
        memcpy(p + 4, bytes, length);
    t->values_used += (uint32_t)(4 + length);
}

static void put_string(const trace_counters *c, trace_thread *t, uint8_t number, uintptr_t object)
{
    uint32_t length;

    memcpy(&length, (const void *)(object + c->string_length), sizeof length);
    if (length > TRACE_STRING_UNITS)
        put_value(t, number, TRACE_KIND_CUT_STRING, (const void *)(object + c->string_start),
                  TRACE_STRING_UNITS * 2);
    else
        put_value(t, number, CIL_TYPE_STRING, (const void *)(object + c->string_start),
                  (size_t)length * 2);
}

/* Bytes of a value of this kind; 0 = it is a reference. */
static size_t size_of_kind(uint8_t kind)
{
    switch (kind) {
    case CIL_TYPE_BOOLEAN:
    case CIL_TYPE_I1:
    case CIL_TYPE_U1:
        return 1;
    case CIL_TYPE_CHAR:
    case CIL_TYPE_I2:
    case CIL_TYPE_U2:
        return 2;
    case CIL_TYPE_I4:
    case CIL_TYPE_U4:
    case CIL_TYPE_R4:
        return 4;
    case CIL_TYPE_I8:
    case CIL_TYPE_U8:
    case CIL_TYPE_R8:
    case CIL_TYPE_INT_PTR:
    case CIL_TYPE_UINT_PTR:
    case TRACE_KIND_DATE_TIME:
    case TRACE_KIND_TIME_SPAN:
        return 8;
    case TRACE_KIND_GUID:
    case TRACE_KIND_DECIMAL:
        return 16;
    default:
        return 0;
    }
}

/* Goes from a variable to the value that is meant, and takes it. */
static void take(const trace_counters *c, trace_thread *t, const trace_capture *capture,
                 uintptr_t address)
{
    size_t size = size_of_kind(capture->kind);
    uintptr_t object;

    if (address < LOWEST_ADDRESS)
        return;
    for (unsigned n = 0; n < capture->step_count; n++) {
        if (capture->steps[n].load) {
            memcpy(&object, (const void *)address, sizeof object);
            if (object < LOWEST_ADDRESS) {
                put_value(t, capture->number, TRACE_KIND_NULL, NULL, 0);
                return;
            }
            address = object;
        }
        address += capture->steps[n].offset;
    }
    if (size != 0) {
        put_value(t, capture->number, capture->kind, (const void *)address, size);
        return;
    }
    memcpy(&object, (const void *)address, sizeof object);
    if (object == 0)
        put_value(t, capture->number, TRACE_KIND_NULL, NULL, 0);
    else if (capture->kind == CIL_TYPE_STRING)
        put_string(c, t, capture->number, object);
    else
        put_value(t, capture->number, CIL_TYPE_OBJECT, NULL, 0);
}

void trace_value(const trace_method *m, int64_t what, int64_t variable)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_this_thread();

    if (atomic_load_explicit(&c->active, memory_order_relaxed) && c->sink != NULL &&
        trace_running_frame(t, m) != NULL)
        take(c, t, (const trace_capture *)(intptr_t)what, (uintptr_t)variable);
}

void trace_step_result(const trace_method *m, int64_t variable)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_this_thread();
    const trace_plan *plan = m->whole == NULL ? NULL : atomic_load(&m->whole->plan);

    if (plan == NULL || !atomic_load_explicit(&c->active, memory_order_relaxed) ||
        c->sink == NULL || trace_running_frame(t, m) == NULL)
        return;
    for (uint32_t n = 0; n < plan->count; n++)
        if (plan->captures[n].variable == TRACE_PATH_RESULT)
            take(c, t, &plan->captures[n], (uintptr_t)variable);
}

/* ---- which calls are wanted ---- */

/* A call's values, for its condition. */
typedef struct {
    const trace_counters *counters;
    const uint8_t *values;
    size_t length;
} call_values;

static uint64_t unsigned_of(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size < sizeof value ? size : sizeof value);
    return value;
}

static void number_of(uint8_t kind, const uint8_t *bytes, condition_value *out)
{
    size_t size = size_of_kind(kind);
    uint64_t value = unsigned_of(bytes, size);
    float single;

    out->kind = CONDITION_WHOLE;
    switch (kind) {
    case CIL_TYPE_I1:
        out->whole = (int8_t)value;
        break;
    case CIL_TYPE_I2:
        out->whole = (int16_t)value;
        break;
    case CIL_TYPE_I4:
        out->whole = (int32_t)value;
        break;
    case CIL_TYPE_I8:
    case CIL_TYPE_INT_PTR:
        out->whole = (int64_t)value;
        break;
    case CIL_TYPE_R4:
        memcpy(&single, bytes, sizeof single);
        out->kind = CONDITION_REAL;
        out->real = (double)single;
        break;
    case CIL_TYPE_R8:
        out->kind = CONDITION_REAL;
        memcpy(&out->real, bytes, sizeof out->real);
        break;
    case TRACE_KIND_TIME_SPAN: /* in seconds, as it is shown */
        out->kind = CONDITION_REAL;
        out->real = (double)(int64_t)value / 1e7;
        break;
    default:
        out->whole = (int64_t)value;
        out->above = value > INT64_MAX;
    }
}

static void value_of_term(void *context, size_t term, condition_value *out)
{
    const call_values *v = context;
    uint8_t wanted = v->counters->numbers[term];

    for (size_t at = 0; at + 4 <= v->length;) {
        const uint8_t *p = v->values + at;
        size_t length = p[2] | (size_t)p[3] << 8;

        at += 4 + length;
        if (p[0] != wanted)
            continue;
        if (p[1] == TRACE_KIND_NULL) {
            out->kind = CONDITION_NULL;
        } else if (p[1] == CIL_TYPE_STRING || p[1] == TRACE_KIND_CUT_STRING) {
            out->kind = CONDITION_TEXT;
            out->text = p + 4;
            out->units = length / 2;
        } else if (p[1] == CIL_TYPE_OBJECT || length > 8) {
            out->kind = CONDITION_OBJECT;
        } else {
            number_of(p[1], p + 4, out);
        }
    }
}

static void offer(trace_counters *c, const trace_event *event, const uint8_t *bytes, size_t length)
{
    call_values values = {c, bytes, length};

    if (c->condition != NULL && !condition_holds(c->condition, &values, value_of_term))
        return;
    if (atomic_load_explicit(&c->allowance, memory_order_relaxed) <= 0 ||
        atomic_fetch_sub_explicit(&c->allowance, 1, memory_order_relaxed) <= 0) {
        atomic_fetch_add_explicit(&c->lost_rate, 1, memory_order_relaxed);
        return;
    }
    c->sink(c->sink_context, event, bytes, length);
}

static void offer_frame(trace_counters *c, const trace_thread *t, const trace_frame *f,
                        uint32_t depth, uint64_t time, bool failed, unsigned moments)
{
    trace_event event = {.start = f->start,
                         .time = time,
                         .class_id = failed ? trace_exceptions_current(t) : 0,
                         .method = f->method->index,
                         .thread_id = t->thread_id,
                         .depth = depth,
                         .moments = (uint16_t)moments,
                         .failed = failed};

    offer(c, &event, t->values + f->values, t->values_used - f->values);
}

void trace_entered(const trace_method *m)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_this_thread();
    unsigned moments = m->wishes & (TRACE_WISH_ENTRY | TRACE_WISH_LOG_ENTRY);
    trace_frame *f;

    if (moments == 0 || !atomic_load_explicit(&c->active, memory_order_relaxed) ||
        c->sink == NULL || c->slower_than != 0 || (f = trace_running_frame(t, m)) == NULL)
        return;
    offer_frame(c, t, f, t->depth - 1, 0, false, moments);
}

static unsigned moments_of_end(const trace_method *m, bool failed)
{
    return m->wishes &
           (TRACE_WISH_EXIT | TRACE_WISH_LOG_EXIT | (failed ? TRACE_WISH_EXCEPTION : 0));
}

void trace_capture_left(trace_counters *c, const trace_thread *t, const trace_frame *f,
                        uint64_t time, bool failed)
{
    unsigned moments = moments_of_end(f->method, failed);

    if (moments != 0)
        offer_frame(c, t, f, t->depth, time, failed, moments);
}

void trace_capture_whole(trace_counters *c, const trace_method *whole, trace_event *event,
                         const uint8_t *values, size_t length)
{
    event->moments = (uint16_t)moments_of_end(whole, event->failed);
    event->method = whole->index;
    event->whole = true;
    if (event->moments != 0 && event->time >= c->slower_than)
        offer(c, event, values, length);
}
