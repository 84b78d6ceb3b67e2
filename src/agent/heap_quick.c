/* heap_quick: see heap_quick.h. */
#include "agent/heap_quick.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/native_stack.h"
#include "base/os.h"
#include "base/reader.h"

enum {
    COLLECTION_START = 1,
    COLLECTION_END = 2,
    KIND_BLOCKING = 0, /* and no background collection is under way */
    KIND_BACKGROUND = 1,
    KIND_WITHIN = 2, /* a background collection */
    LOOK_MS = 5,
    LOOKS = 200,             /* for a collection to tell, before one is forced */
    LONGEST_REST_MS = 60000, /* a background collection of a large heap */
};

/* ---- any thread ---- */

static bool is_collection(uint32_t id, const uint8_t *metadata, uint32_t length)
{
    reader r = reader_of(metadata, length);

    if (id != COLLECTION_START && id != COLLECTION_END)
        return false;
    return reader_u32(&r) == id && reader_u16(&r) == 0 &&
           (reader_u64(&r) & EVENTS_KEYWORD_GC) != 0 && !reader_failed(&r);
}

void heap_guard_take(heap_guard *g, uint32_t id, const uint8_t *metadata, uint32_t metadata_length,
                     const uint8_t *data, uint32_t length)
{
    reader r = reader_of(data, length);
    uint32_t count, kind;
    int state = atomic_load(&g->state);

    if (!is_collection(id, metadata, metadata_length))
        return;
    count = reader_u32(&r);
    if (id == COLLECTION_END) {
        uint32_t first = atomic_load(&g->first_count);

        if ((state == HEAP_GUARD_BACKGROUND && count == first) ||
            (state == HEAP_GUARD_WITHIN && count < first))
            atomic_store(&g->state, HEAP_GUARD_REST);
        return;
    }
    reader_u32(&r); /* generation */
    reader_u32(&r); /* reason */
    kind = reader_u32(&r);
    if (reader_failed(&r))
        return;
    if (kind == KIND_BACKGROUND || (kind == KIND_WITHIN && state == HEAP_GUARD_UNKNOWN)) {
        atomic_store(&g->first_count, count);
        atomic_store(&g->state,
                     kind == KIND_BACKGROUND ? HEAP_GUARD_BACKGROUND : HEAP_GUARD_WITHIN);
    } else if (kind == KIND_BLOCKING && state == HEAP_GUARD_UNKNOWN) {
        atomic_store(&g->state, HEAP_GUARD_REST);
    }
}

/* ---- the walk ---- */

static void find_collector(void *context, uint32_t os_thread)
{
    static const char NAME[] = ".NET BGC";
    char path[64];
    char name[sizeof NAME];
    int descriptor;

    snprintf(path, sizeof path, "/proc/self/task/%u/comm", (unsigned)os_thread);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    if (read(descriptor, name, sizeof name) == sizeof name &&
        memcmp(name, NAME, sizeof NAME - 1) == 0)
        *(bool *)context = true;
    close(descriptor);
}

/* Whether a background collection is under way must be known: there is no thread for one, or some
 * collection tells by its kind, or one is forced, which waits for the end of the other. */
static void come_to_know(agent *a, heap_guard *g, bool may_collect, heap_quick_result *result)
{
    int unknown = HEAP_GUARD_UNKNOWN;
    bool found = false;

    native_stack_each_thread(find_collector, &found);
    if (!found)
        atomic_compare_exchange_strong(&g->state, &unknown, HEAP_GUARD_REST);
    for (int i = 0; i < LOOKS && atomic_load(&g->state) == HEAP_GUARD_UNKNOWN; i++)
        os_sleep_ms(LOOK_MS);
    if (may_collect && atomic_load(&g->state) == HEAP_GUARD_UNKNOWN)
        result->collected = clr_info_force_gc(&a->info) == S_OK;
}

typedef struct {
    heap_quick_visit *visit;
    void *context;
} visitor;

static BOOL CLR_CALL take_object(ObjectID object, void *context)
{
    const visitor *v = context;

    return v->visit(v->context, object, *(const uintptr_t *)object & ~(uintptr_t)7);
}

HRESULT heap_quick_walk(agent *a, bool may_collect, heap_quick_visit *visit, void *context,
                        heap_quick_result *result)
{
    heap_guard *g = &a->pipe.guard;
    visitor v = {visit, context};
    uint64_t end, asked;
    HRESULT hr = HEAP_QUICK_NO_REST;

    memset(result, 0, sizeof *result);
    if (a->info.version < 15)
        return E_NOINTERFACE;
    if (atomic_load(&g->state) == HEAP_GUARD_UNKNOWN)
        come_to_know(a, g, may_collect, result);
    if (!may_collect && atomic_load(&g->state) == HEAP_GUARD_UNKNOWN)
        return HEAP_QUICK_NO_REST;
    end = os_monotonic_ns() + (uint64_t)LONGEST_REST_MS * 1000000;
    while ((asked = os_monotonic_ns()) < end) {
        if (atomic_load(&g->state) == HEAP_GUARD_REST &&
            clr_info_suspend_runtime(&a->info) == S_OK) {
            /* what began before the suspension has been told by now */
            bool is_safe = atomic_load(&g->state) == HEAP_GUARD_REST;

            if (is_safe)
                hr = clr_info_enumerate_gc_heap_objects(&a->info, take_object, &v);
            clr_info_resume_runtime(&a->info);
            result->pause_ns = os_monotonic_ns() - asked;
            if (is_safe)
                return hr;
        }
        os_sleep_ms(1);
    }
    return HEAP_QUICK_NO_REST;
}
