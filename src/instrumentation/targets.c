/* targets: see targets.h. Buckets are lists that only ever grow at their head. */
#include "instrumentation/targets.h"

#include "base/memory.h"
#include "base/os.h"
#include "base/table.h"

enum { LONGEST_READING_MS = 2000 };

static _Atomic(target *) *bucket_of(targets *t, ModuleID module, mdMethodDef method)
{
    return &t->buckets[table_hash_u64((uint64_t)module ^ ((uint64_t)method << 40)) &
                       (TARGET_BUCKETS - 1)];
}

target *targets_find(targets *t, ModuleID module, mdMethodDef method)
{
    target *entry = atomic_load(bucket_of(t, module, method));

    for (; entry != NULL; entry = entry->next) {
        if (entry->module == module && entry->method == method)
            return entry;
    }
    return NULL;
}

target *targets_add(targets *t, ModuleID module, mdMethodDef method)
{
    _Atomic(target *) *bucket = bucket_of(t, module, method);
    target *entry = targets_find(t, module, method);
    target *made;

    if (entry != NULL)
        return entry;
    made = memory_allocate_array(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->module = module;
    made->method = method;
    made->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &made->next, made)) {
        entry = targets_find(t, module, method); /* another thread may have been first */
        if (entry != NULL) {
            memory_free(made);
            return entry;
        }
    }
    atomic_fetch_add(&t->count, 1);
    return made;
}

bool targets_has_module(targets *t, ModuleID module)
{
    target *whole = targets_find(t, module, TARGET_WHOLE_MODULE);

    return whole != NULL && whole->active;
}

bool targets_is_collectible(targets *t, ModuleID module)
{
    target *whole = targets_find(t, module, TARGET_WHOLE_MODULE);

    return whole == NULL || !whole->active || whole->is_collectible;
}

void targets_begin_reading(targets *t)
{
    atomic_fetch_add(&t->readers, 1);
}

void targets_end_reading(targets *t)
{
    atomic_fetch_sub(&t->readers, 1);
}

uint32_t targets_unloads(targets *t, ModuleID module)
{
    target *whole = targets_find(t, module, TARGET_WHOLE_MODULE);

    return whole == NULL ? 0 : whole->unloads;
}

static module_tokens *find_tokens(targets *t, ModuleID module)
{
    module_tokens *m = atomic_load(&t->modules);

    while (m != NULL && m->module != module)
        m = m->next;
    return m;
}

_Atomic(tails *) *targets_tails(targets *t, ModuleID module)
{
    module_tokens *m = find_tokens(t, module);

    return m == NULL ? NULL : &m->tails;
}

clr_emitter *targets_emitter(targets *t, const clr_info *info, ModuleID module, HRESULT *result)
{
    module_tokens *known = find_tokens(t, module);
    clr_emitter *emitter = NULL;
    module_tokens *made;

    *result = S_OK;
    if (known != NULL)
        return known->emitter;
    *result = clr_emitter_open(info, module, &emitter);
    if (!CLR_OK(*result))
        return NULL;
    made = memory_allocate_array(1, sizeof *made);
    if (made == NULL) {
        clr_emitter_free(emitter);
        *result = E_OUTOFMEMORY;
        return NULL;
    }
    made->module = module;
    made->emitter = emitter;
    made->next = atomic_load(&t->modules);
    /* Two threads may both open one; the second stays unused behind the first. */
    while (!atomic_compare_exchange_weak(&t->modules, &made->next, made)) {
    }
    return emitter;
}

static void mark_as_gone(targets *t, ModuleID module)
{
    for (size_t i = 0; i < TARGET_BUCKETS; i++) {
        for (target *entry = atomic_load(&t->buckets[i]); entry != NULL; entry = entry->next) {
            if (entry->module == module) {
                entry->active = false;
                entry->announced = false;
                entry->is_first_body = false;
                entry->function = 0;
                entry->unloads++;
            }
        }
    }
}

void targets_forget_module(targets *t, ModuleID module)
{
    mark_as_gone(t, module); /* who begins to read from now on does not find it */
    for (unsigned ms = 0; atomic_load(&t->readers) != 0 && ms < LONGEST_READING_MS; ms++)
        os_sleep_ms(1);
    for (module_tokens *m = atomic_load(&t->modules); m != NULL; m = m->next) {
        if (m->module == module) { /* nothing of it runs any more, so nobody uses its emitter */
            m->module = 0;
            clr_emitter_free(m->emitter);
            m->emitter = NULL;
            tails_free(atomic_exchange(&m->tails, NULL));
        }
    }
}

void targets_each(targets *t, void (*each)(void *context, target *entry), void *context)
{
    for (size_t i = 0; i < TARGET_BUCKETS; i++) {
        for (target *entry = atomic_load(&t->buckets[i]); entry != NULL; entry = entry->next)
            each(context, entry);
    }
}
