/* trace_registry: see trace_registry.h. */
#include "profilers/trace_registry.h"

#include <string.h>

#include "base/memory.h"

static uint32_t *bucket_of(trace_registry *r, ModuleID module, mdMethodDef token)
{
    return &r->buckets[table_hash_u64(module ^ (uint64_t)token << 32) % TRACE_BUCKETS_OF_METHODS];
}

/* With the lock held. */
static trace_entry *find(trace_registry *r, ModuleID module, mdMethodDef token)
{
    uint32_t number = *bucket_of(r, module, token);

    while (number != 0) {
        trace_entry *entry = trace_registry_at(r, number - 1);

        if (entry->module == module && entry->key == token)
            return entry;
        number = entry->chained;
    }
    return NULL;
}

trace_entry *trace_registry_find(trace_registry *r, ModuleID module, mdMethodDef token)
{
    trace_entry *found;

    lock_take(&r->guard);
    found = find(r, module, token);
    lock_give(&r->guard);
    return found;
}

/* With the lock held. */
static trace_entry *make(trace_registry *r, ModuleID module, mdMethodDef token)
{
    uint32_t *bucket = bucket_of(r, module, token);
    trace_entry **chunk = &r->chunks[r->count / TRACE_CHUNK % TRACE_CHUNKS];
    trace_entry *made;

    if (r->count >= TRACE_METHODS)
        return NULL;
    if (*chunk == NULL)
        *chunk = memory_allocate_array(TRACE_CHUNK, sizeof **chunk);
    if (*chunk == NULL)
        return NULL;
    made = trace_registry_at(r, r->count);
    made->probe.counters = &r->counters;
    made->probe.index = made->probe.owner = r->count;
    made->module = module;
    made->token = made->key = token;
    made->chained = *bucket;
    *bucket = ++r->count;
    return made;
}

trace_entry *trace_registry_add(trace_registry *r, ModuleID module, mdMethodDef token)
{
    trace_entry *entry;

    lock_take(&r->guard);
    entry = find(r, module, token);
    if (entry == NULL)
        entry = make(r, module, token);
    lock_give(&r->guard);
    return entry;
}

static trace_module *find_module(trace_registry *r, ModuleID module)
{
    trace_module *found = NULL;

    lock_take(&r->guard);
    for (uint32_t n = 0; n < r->module_count && found == NULL; n++)
        if (r->modules[n]->module == module)
            found = r->modules[n];
    lock_give(&r->guard);
    return found;
}

const trace_module *trace_registry_module(trace_registry *r, const clr_info *info, ModuleID module,
                                          error *e)
{
    trace_module *found = find_module(r, module);
    trace_module *made;
    int code;

    if (found != NULL)
        return found;
    made = memory_allocate_array(1, sizeof *made);
    if (made == NULL) {
        error_set(e, ERROR_MEMORY, "no memory");
        return NULL;
    }
    code = trace_module_open(info, module, made, e);
    if (code != 0) {
        memory_free(made);
        return NULL;
    }
    lock_take(&r->guard);
    if (r->module_count < TRACE_MODULES)
        r->modules[r->module_count++] = made;
    lock_give(&r->guard);
    return made; /* two threads may both have made one: each is good, and both are kept */
}

bool trace_registry_take(trace_registry *r, ModuleID module)
{
    uint64_t before;
    bool first;

    lock_take(&r->guard);
    first = !table_u64_get(&r->seen, module, &before);
    if (first)
        first = table_u64_put(&r->seen, module, 1);
    lock_give(&r->guard);
    return first;
}

void trace_registry_add_inliner(trace_registry *r, ModuleID module, mdMethodDef token)
{
    lock_take(&r->guard);
    if (r->inliner_count == r->inliner_capacity) {
        uint32_t capacity = r->inliner_capacity == 0 ? 64 : r->inliner_capacity * 2;
        trace_inliner *more = memory_resize(r->inliners, capacity * sizeof *more);

        if (more != NULL) {
            r->inliners = more;
            r->inliner_capacity = capacity;
        }
    }
    if (r->inliner_count < r->inliner_capacity)
        r->inliners[r->inliner_count++] = (trace_inliner){module, token};
    lock_give(&r->guard);
}

void trace_registry_end_session(trace_registry *r)
{
    for (uint32_t n = 0; n < r->count; n++) {
        trace_entry *entry = trace_registry_at(r, n);

        atomic_store(&entry->wanted, false);
        entry->told = 0;
        entry->name = 0; /* names last as long as somebody is connected */
        entry->written_calls = 0;
        entry->written_active = 0;
        entry->written_begun = 0;
        atomic_store(&entry->log, false);
        atomic_store(&entry->probe.running, 0);
        atomic_store(&entry->probe.peak, 0);
        atomic_store(&entry->lean, false);
        atomic_store(&entry->is_new, false);
        atomic_store(&entry->probe.deep, 0);
        if (atomic_load(&entry->state) != TRACE_LEFT_ALONE)
            atomic_store(&entry->state, TRACE_WAITING);
    }
    lock_take(&r->guard);
    table_u64_free(&r->seen);
    table_u64_init(&r->seen);
    r->inliner_count = 0;
    lock_give(&r->guard);
}
