/* trace_capture: see trace_capture.h. */
#include "profilers/trace_capture.h"

#include <string.h>

#include "cil/signature.h"
#include "profilers/trace_classes.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_memory.h"
#include "profilers/trace_text.h"

enum { LOWEST_ADDRESS = 4096, ARRAY_LENGTH = 8, ARRAY_ELEMENTS = 16 };
/* What the first word of a class says of its objects: strings and arrays have the upper bit. */
enum { CLASS_ARRAY_MASK = 0xC0000, CLASS_ARRAY = 0x80000 };

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

__attribute__((noinline)) static void put_text(trace_thread *t, uint8_t number, uintptr_t units,
                                               uint32_t length)
{
    uint16_t last;

    if (length > TRACE_STRING_UNITS) {
        length = TRACE_STRING_UNITS;
        memcpy(&last, (const void *)(units + (TRACE_STRING_UNITS - 1) * 2), sizeof last);
        if ((last & 0xFC00) == 0xD800) /* the first half of a character */
            length--;
        put_value(t, number, TRACE_KIND_CUT_STRING, (const void *)units, (size_t)length * 2);
    } else {
        put_value(t, number, CIL_TYPE_STRING, (const void *)units, (size_t)length * 2);
    }
}

static void put_string(const trace_counters *c, trace_thread *t, uint8_t number, uintptr_t object)
{
    uint32_t length;

    memcpy(&length, (const void *)(object + c->string_length), sizeof length);
    put_text(t, number, object + c->string_start, length);
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
    case TRACE_KIND_DATE_ONLY:
        return 4;
    case CIL_TYPE_I8:
    case CIL_TYPE_U8:
    case CIL_TYPE_R8:
    case CIL_TYPE_INT_PTR:
    case CIL_TYPE_UINT_PTR:
    case TRACE_KIND_DATE_TIME:
    case TRACE_KIND_TIME_SPAN:
    case TRACE_KIND_TIME_ONLY:
        return 8;
    case TRACE_KIND_GUID:
    case TRACE_KIND_DECIMAL:
        return 16;
    default:
        return 0;
    }
}

static uintptr_t word_at(uintptr_t address)
{
    uintptr_t word;

    memcpy(&word, (const void *)address, sizeof word);
    return word;
}

/* One step further; 0 = there is nothing. */
static uintptr_t step_from(uintptr_t address, const trace_step *step)
{
    uint32_t count;

    if (step->load)
        address = word_at(address);
    if (address < LOWEST_ADDRESS)
        return 0;
    if (step->bound != 0) {
        memcpy(&count, (const void *)(address + ARRAY_LENGTH), sizeof count);
        if (count < step->bound)
            return 0;
    }
    if (step->nullable && *(const uint8_t *)(address + step->flag) == 0)
        return 0;
    return address + step->offset;
}

/* Where the elements lie, and how many there are; 0 = that cannot be told. A reference to an
 * array, a span (address, length) or a memory (object, index, length). */
__attribute__((cold)) static uintptr_t find_items(const trace_counters *c, const trace_leaf *leaf,
                                                  uintptr_t address, uint32_t *count)
{
    uintptr_t first = word_at(address);
    uint32_t index, flags;

    *count = 0;
    if (first < LOWEST_ADDRESS)
        return 0;
    if (leaf->holder == CIL_TYPE_OBJECT) {
        memcpy(count, (const void *)(first + ARRAY_LENGTH), sizeof *count);
        return first + ARRAY_ELEMENTS;
    }
    memcpy(count, (const void *)(address + (leaf->holder == TRACE_SPAN ? 8 : 12)), sizeof *count);
    if (leaf->holder == TRACE_SPAN)
        return first;
    /* the object is an array or a string, which have their elements' size in their class, or any
     * other that only the program knows */
    memcpy(&index, (const void *)(address + 8), sizeof index);
    memcpy(&flags, (const void *)word_at(first), sizeof flags);
    if (flags >> 31 == 0)
        return 0;
    first += (flags & CLASS_ARRAY_MASK) == CLASS_ARRAY ? ARRAY_ELEMENTS : c->string_start;
    return first + (index & INT32_MAX) * size_of_kind(leaf->items);
}

__attribute__((cold, noinline)) static void put_items(const trace_counters *c, trace_thread *t,
                                                      uint8_t number, const trace_leaf *leaf,
                                                      uintptr_t address)
{
    uint8_t bytes[5 + TRACE_ITEMS * 8];
    size_t size = size_of_kind(leaf->items);
    uint32_t count;
    uintptr_t first = find_items(c, leaf, address, &count);
    size_t shown = count < TRACE_ITEMS ? count : TRACE_ITEMS;

    if (leaf->holder == CIL_TYPE_OBJECT && first == 0) {
        put_value(t, number, TRACE_KIND_NULL, NULL, 0);
        return;
    }
    if (leaf->items == CIL_TYPE_CHAR && (first != 0 || count == 0)) {
        put_text(t, number, first, count);
        return;
    }
    bytes[0] = leaf->items;
    memcpy(bytes + 1, &count, sizeof count);
    if (first == 0)
        shown = 0;
    if (shown != 0)
        memcpy(bytes + 5, (const void *)first, shown * size);
    put_value(t, number, TRACE_KIND_ITEMS, bytes, 5 + shown * size);
}

__attribute__((cold, noinline)) static void put_date(trace_thread *t, uint8_t number,
                                                     const trace_leaf *leaf, uintptr_t address)
{
    uint8_t bytes[8 + 4];
    int16_t narrow;
    int32_t minutes;

    memcpy(bytes, (const void *)(address + leaf->date), 8);
    memcpy(&narrow, (const void *)(address + leaf->minutes), sizeof narrow);
    minutes = narrow; /* between -840 and 840: the upper half of 32 bits says nothing */
    memcpy(bytes + 8, &minutes, sizeof minutes);
    put_value(t, number, leaf->kind, bytes, sizeof bytes);
}

static void put_leaf(const trace_counters *c, trace_thread *t, uint8_t number,
                     const trace_leaf *leaf, uintptr_t address)
{
    size_t size = size_of_kind(leaf->kind);
    uintptr_t object;

    if (address == 0) {
        put_value(t, number, TRACE_KIND_NULL, NULL, 0);
        return;
    }
    if (leaf->kind == TRACE_KIND_ITEMS) {
        put_items(c, t, number, leaf, address);
        return;
    }
    if (leaf->kind == TRACE_KIND_DATE_TIME_OFFSET) {
        put_date(t, number, leaf, address);
        return;
    }
    if (size != 0) {
        put_value(t, number, leaf->kind, (const void *)address, size);
        return;
    }
    object = word_at(address);
    if (object == 0)
        put_value(t, number, TRACE_KIND_NULL, NULL, 0);
    else if (leaf->kind == CIL_TYPE_STRING)
        put_string(c, t, number, object);
    else
        put_value(t, number, CIL_TYPE_OBJECT, NULL, 0);
}

static void put_shaped(const trace_counters *c, trace_thread *t, const trace_capture *capture,
                       const trace_shape *s, uintptr_t address)
{
    if (address != 0 && (s->leaf.enum_type != 0 || s->leaf.kind == CIL_TYPE_VALUETYPE))
        put_value(t, capture->number, TRACE_KIND_SHAPE, &s, sizeof s);
    if (address == 0 || s->leaf.kind != CIL_TYPE_VALUETYPE) {
        put_leaf(c, t, capture->number, &s->leaf, address);
        return;
    }
    put_value(t, capture->number, CIL_TYPE_VALUETYPE, NULL, 0);
    for (unsigned n = 0; n < s->field_count; n++)
        if (s->fields[n].leaf.kind != 0)
            put_leaf(c, t, (uint8_t)(TRACE_FIRST_FIELD + n), &s->fields[n].leaf,
                     step_from(address, &s->fields[n].step));
}

/* Goes from a variable to the value that is meant, class by class. `type` is that of the variable
 * where a type parameter is declared, else 0. False = a class is not known yet: it was noted. */
static bool find_value(trace_counters *c, trace_thread *t, const trace_capture *capture,
                       uintptr_t type, uintptr_t *address, const trace_shape **found)
{
    const trace_shape *s = &capture->shape;

    for (unsigned n = 0; s != NULL; n++) {
        trace_question q = {capture, type + 1, s->rest};

        for (unsigned k = 0; k < s->step_count && *address != 0; k++)
            *address = step_from(*address, &s->steps[k]);
        *found = s;
        if (s->onward == TRACE_ENDS || *address == 0 || n > TRACE_STEPS)
            return true;
        if (s->onward == TRACE_BY_CLASS) {
            *address = word_at(*address);
            if (*address < LOWEST_ADDRESS) {
                *address = 0;
                return true;
            }
            q.class_id = word_at(*address);
        } else if (type == 0) {
            return true;
        }
        s = c->classes == NULL ? NULL : trace_classes_find(c->classes, &q);
        if (s == NULL)
            t->missing = q;
    }
    return false;
}

static void take(trace_counters *c, trace_thread *t, const trace_capture *capture,
                 uintptr_t address, uintptr_t type)
{
    const trace_shape *s = NULL;

    if (address < LOWEST_ADDRESS)
        return;
    if (!find_value(c, t, capture, type, &address, &s))
        put_value(t, capture->number, TRACE_KIND_UNKNOWN, NULL, 0);
    else if (address == 0)
        put_value(t, capture->number, TRACE_KIND_NULL, NULL, 0);
    else if (s->leaf.kind != 0)
        put_shaped(c, t, capture, s, s->itself ? (uintptr_t)&address : address);
}

static trace_thread *thread_in(const trace_method *m)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_this_thread();

    return atomic_load_explicit(&c->active, memory_order_relaxed) && c->sink != NULL &&
                   trace_running_frame(t, m) != NULL
               ? t
               : NULL;
}

void trace_look(const trace_method *m, int64_t what, int64_t variable, int64_t type)
{
    const trace_capture *capture = (const trace_capture *)(intptr_t)what;
    trace_thread *t = thread_in(m);
    uintptr_t address = (uintptr_t)variable;
    const trace_shape *s;

    if (t != NULL && t->missing.capture == NULL && address >= LOWEST_ADDRESS)
        find_value(m->counters, t, capture, (uintptr_t)type, &address, &s);
}

void trace_value_of_type(const trace_method *m, int64_t what, int64_t variable, int64_t type)
{
    trace_thread *t = thread_in(m);

    if (t != NULL)
        take(m->counters, t, (const trace_capture *)(intptr_t)what, (uintptr_t)variable,
             (uintptr_t)type);
}

void trace_value(const trace_method *m, int64_t what, int64_t variable)
{
    trace_value_of_type(m, what, variable, 0);
}

void trace_step_result(const trace_method *m, int64_t variable, int64_t type)
{
    const trace_plan *plan = m->whole == NULL ? NULL : atomic_load(&m->whole->plan);
    trace_thread *t = thread_in(m);

    for (uint32_t n = 0; plan != NULL && t != NULL && n < plan->count; n++)
        if (plan->captures[n].variable == TRACE_PATH_RESULT)
            take(m->counters, t, &plan->captures[n], (uintptr_t)variable, (uintptr_t)type);
}

/* ---- which calls are wanted ---- */

/* A call's values, for its condition. */
typedef struct {
    const trace_counters *counters;
    const uint8_t *values;
    size_t length;
    uint8_t text[TRACE_VALUE_TEXT]; /* of a value that is none */
} call_values;

static uint64_t unsigned_of(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size < sizeof value ? size : sizeof value);
    return value;
}

/* The four words of a decimal: flags (sign and scale), high, low, middle. */
static double decimal_of(const uint8_t *bytes)
{
    uint32_t words[4];
    double value;

    memcpy(words, bytes, sizeof words);
    value =
        condition_scale((double)words[1] * 0x1p64 + (double)((uint64_t)words[3] << 32 | words[2]),
                        -(int)(words[0] >> 16 & 0xFF));
    return words[0] >> 31 != 0 ? -value : value;
}

static void number_of(uint8_t kind, const uint8_t *bytes, condition_value *out)
{
    size_t size = size_of_kind(kind);
    uint64_t value = unsigned_of(bytes, size);
    float single;

    out->kind = CONDITION_WHOLE;
    switch (kind) {
    case CIL_TYPE_I1:
        out->whole = (int64_t)(int8_t)value;
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
        out->single = true;
        break;
    case CIL_TYPE_R8:
        out->kind = CONDITION_REAL;
        memcpy(&out->real, bytes, sizeof out->real);
        break;
    case TRACE_KIND_TIME_SPAN: /* in seconds, as it is shown */
        out->kind = CONDITION_REAL;
        out->real = (double)(int64_t)value / 1e7;
        break;
    case TRACE_KIND_DECIMAL:
        out->kind = CONDITION_REAL;
        out->real = decimal_of(bytes);
        break;
    default:
        out->whole = (int64_t)value;
        out->above = value > INT64_MAX;
    }
}

static void value_of_term(void *context, size_t term, condition_value *out)
{
    call_values *v = context;
    uint8_t wanted = v->counters->numbers[term];
    bool text = v->counters->condition->terms[term].kind == CONDITION_TEXT;

    for (size_t at = 0; at + 4 <= v->length;) {
        const uint8_t *p = v->values + at;
        size_t length = p[2] | (size_t)p[3] << 8;

        at += 4 + length;
        if (p[0] != wanted || p[1] >= TRACE_KIND_SHAPE)
            continue;
        if (p[1] == TRACE_KIND_NULL) {
            out->kind = CONDITION_NULL;
        } else if (p[1] == CIL_TYPE_STRING || p[1] == TRACE_KIND_CUT_STRING ||
                   (text && p[1] == CIL_TYPE_CHAR)) {
            out->kind = CONDITION_TEXT;
            out->text = p + 4;
            out->units = length / 2;
        } else if (text && trace_value_is_text(p[1])) {
            out->kind = CONDITION_TEXT;
            out->text = v->text;
            out->units = trace_value_text(p[1], p + 4, v->text);
        } else if (p[1] == CIL_TYPE_OBJECT || p[1] == CIL_TYPE_VALUETYPE ||
                   p[1] == TRACE_KIND_ITEMS || trace_value_is_text(p[1])) {
            out->kind = CONDITION_OBJECT;
        } else {
            number_of(p[1], p + 4, out);
        }
    }
}

static void offer(trace_counters *c, const trace_event *event, const uint8_t *bytes, size_t length)
{
    call_values values = {.counters = c, .values = bytes, .length = length};

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
