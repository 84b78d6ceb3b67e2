/* starts: see starts.h. */
#include "profilers/starts.h"

#include "agent/snapshot.h"
#include "base/os.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_threads,
    EVENT_THREAD_CREATING = 70,
    MOST_A_SECOND = 200,
    MOST_FRAMES = 64,
};

enum { TABLES_STARTS(TABLES_CELL) COLUMNS };

/* In the ring; `frames` addresses follow. */
typedef struct {
    uint64_t time;
    uint64_t native; /* the runtime's address of the new thread */
    uint32_t thread; /* that starts it */
    uint16_t frames;
    uint16_t cut;
} record;

void starts_reset(starts *s)
{
    allowance_reset(&s->allowed);
    allowance_set(&s->allowed, MOST_A_SECOND);
}

void starts_on_event(agent *a, starts *s, const events_event *event)
{
    size_t reserved = sizeof(record) + MOST_FRAMES * sizeof(uintptr_t);
    reader r = event->data;
    bool cut = false;
    uint64_t native;
    record *made;

    if (event->provider != EVENTS_RUNTIME || event->id != EVENT_THREAD_CREATING)
        return;
    native = reader_u64(&r);
    if (reader_failed(&r) || native == 0)
        return;
    if (!allowance_take(a, &s->allowed, 0)) {
        agent_lose(a, SELF, STARTS_LOSS_RATE, 1);
        return;
    }
    made = agent_reserve(a, SELF, reserved);
    if (made == NULL)
        return;
    made->time = os_monotonic_ns();
    made->native = native;
    made->thread = (uint32_t)os_thread_id();
    made->frames = (uint16_t)snapshot_take(&a->info, (uintptr_t *)(made + 1), MOST_FRAMES, &cut);
    made->cut = cut;
    agent_commit(a, SELF, made, reserved, 0, sizeof *made + made->frames * sizeof(uintptr_t));
}

void starts_take(agent *a, const void *payload)
{
    const record *r = payload;
    uint64_t cells[COLUMNS] = {r->time, r->thread, 0, r->native};

    if (r->frames == 0)
        agent_lose(a, SELF, STARTS_LOSS_STACK, 1);
    else
        cells[START_STACK] =
            names_stack_of(&a->names, (const uintptr_t *)(r + 1), r->frames, true, r->cut != 0);
    agent_row(a, SELF, STARTS_TABLE, cells);
}
