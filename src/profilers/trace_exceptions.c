/* trace_exceptions: see trace_exceptions.h. */
#include "profilers/trace_exceptions.h"

#include <string.h>

#include "base/table.h"
#include "profilers/trace_memory.h"

enum { CLASS_BITS = 45, ALIGNED_BITS = 3, PROBES = 64 }; /* classes lie at multiples of 8 */

void trace_exceptions_thrown(trace_counters *c, uintptr_t class_id)
{
    trace_thread *t = trace_this_thread();

    /* probes of spans do without the thread's part, until it throws */
    if (t == NULL && (c->span_ring == NULL || (t = trace_memory_thread(c)) == NULL))
        return;
    if (t->exception_count == TRACE_EXCEPTIONS) {
        memmove(t->exceptions, t->exceptions + 1, (TRACE_EXCEPTIONS - 1) * sizeof *t->exceptions);
        t->exception_count--;
    }
    t->exceptions[t->exception_count++] = class_id;
}

void trace_exceptions_caught(uintptr_t class_id)
{
    trace_thread *t = trace_this_thread();

    if (t == NULL)
        return;
    t->caught = class_id;
    /* one that replaced others on its way takes those with it */
    while (t->exception_count != 0)
        if (t->exceptions[--t->exception_count] == class_id)
            break;
}

uintptr_t trace_exceptions_current(const trace_thread *t)
{
    return t->exception_count == 0 ? 0 : t->exceptions[t->exception_count - 1];
}

/* `method` 0: the type alone. NULL when the table is full. */
static trace_failure *find(trace_exceptions *x, uint64_t method, uintptr_t class_id)
{
    uint64_t key =
        method << CLASS_BITS | ((uint64_t)class_id >> ALIGNED_BITS & ((1ull << CLASS_BITS) - 1));
    uint64_t at = table_hash_u64(key);

    for (unsigned n = 0; n < PROBES; n++, at++) {
        trace_failure *f = &x->items[at % TRACE_FAILURES];
        uint64_t there = atomic_load_explicit(&f->key, memory_order_relaxed);

        if (there == 0 && atomic_compare_exchange_strong_explicit(
                              &f->key, &there, key, memory_order_relaxed, memory_order_relaxed))
            there = key;
        if (there == key)
            return f;
    }
    atomic_fetch_add_explicit(&x->lost, 1, memory_order_relaxed);
    return NULL;
}

static void count_class(trace_exceptions *x, const trace_method *m, uintptr_t class_id)
{
    trace_failure *f = find(x, (uint64_t)m->index + 1, class_id);

    if (f != NULL)
        atomic_fetch_add_explicit(&f->count, 1, memory_order_relaxed);
}

uint16_t trace_exceptions_number(trace_counters *c, bool caught)
{
    const trace_thread *t = trace_this_thread();
    uintptr_t class_id = t == NULL ? 0 : caught ? t->caught : trace_exceptions_current(t);
    trace_failure *f =
        class_id == 0 || c->exceptions == NULL ? NULL : find(c->exceptions, 0, class_id);

    return f == NULL ? 0 : (uint16_t)(f - c->exceptions->items + 1);
}

void trace_exceptions_count(trace_counters *c, const trace_thread *t, const trace_method *m)
{
    if (c->exceptions != NULL)
        count_class(c->exceptions, m, trace_exceptions_current(t));
}

void trace_exceptions_count_caught(trace_counters *c, const trace_thread *t, const trace_method *m)
{
    if (c->exceptions != NULL)
        count_class(c->exceptions, m, t->caught);
}

void trace_exceptions_count_class(trace_counters *c, const trace_method *m, uintptr_t class_id)
{
    if (c->exceptions != NULL)
        count_class(c->exceptions, m, class_id);
}

void trace_exceptions_clear(trace_exceptions *x)
{
    for (unsigned n = 0; n < TRACE_FAILURES; n++) {
        atomic_store(&x->items[n].key, 0);
        atomic_store(&x->items[n].count, 0);
        x->items[n].named = 0;
    }
    atomic_store(&x->lost, 0);
}

void trace_exceptions_name(trace_exceptions *x, void *context,
                           uint32_t (*name_of)(void *context, uintptr_t class_id, bool alone,
                                               bool *leaves))
{
    for (unsigned n = 0; n < TRACE_FAILURES; n++) {
        trace_failure *f = &x->items[n];
        uint64_t key = atomic_load_explicit(&f->key, memory_order_relaxed);
        uintptr_t class_id = (uintptr_t)((key & ((1ull << CLASS_BITS) - 1)) << ALIGNED_BITS);

        if (key == f->named)
            continue;
        f->named = key;
        f->leaves = false;
        f->name =
            class_id == 0 ? 0 : name_of(context, class_id, key >> CLASS_BITS == 0, &f->leaves);
    }
}

/* No class lies at so low an address, so nobody finds the place again, and its name stays. */
void trace_exceptions_forget(trace_exceptions *x)
{
    for (unsigned n = 0; n < TRACE_FAILURES; n++) {
        trace_failure *f = &x->items[n];

        if (!f->leaves || f->named != atomic_load_explicit(&f->key, memory_order_relaxed))
            continue;
        f->named = f->named >> CLASS_BITS << CLASS_BITS | (n + 1);
        f->leaves = false;
        atomic_store_explicit(&f->key, f->named, memory_order_relaxed);
    }
}

bool trace_exceptions_named(const trace_exceptions *x, uint16_t number, uint32_t *name)
{
    const trace_failure *f = &x->items[number - 1];

    *name = f->name;
    return f->named == atomic_load_explicit(&f->key, memory_order_relaxed);
}

void trace_exceptions_each(const trace_exceptions *x, void *context,
                           void (*visit)(void *context, uint32_t method, uint32_t name,
                                         uint64_t count))
{
    for (unsigned n = 0; n < TRACE_FAILURES; n++) {
        uint64_t key = atomic_load(&x->items[n].key);

        if (key >> CLASS_BITS != 0)
            visit(context, (uint32_t)(key >> CLASS_BITS) - 1,
                  key == x->items[n].named ? x->items[n].name : 0, atomic_load(&x->items[n].count));
    }
}
