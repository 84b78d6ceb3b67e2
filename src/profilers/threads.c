/*
 * threads: every thread of the process at one moment: stack, CPU time, what it waits for and who
 * owns that.
 *
 * One suspension of the runtime for all of it: stacks by the runtime's own walker, monitors from
 * its memory. Names are resolved after the threads run again. The suspension ends in any case when
 * its time is up; threads not reached by then are counted. Taken when a session starts, and again
 * every `interval` when that is set; the sessions share what is taken. Between such looks it is
 * also noted who starts threads (starts.h).
 *
 * Thread rules: everything on the agent's own thread, but on_event.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/gone.h"
#include "agent/monitors.h"
#include "agent/read_self.h"
#include "agent/sampling.h"
#include "agent/waits.h"
#include "base/memory.h"
#include "base/os.h"
#include "profilers/starts.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_threads,
    LOSS_TIME = 1,
    LOSS_MEMORY,
    LOSS_BUSY,
    MOST_FRAMES = 200,
    SPARE = 32, /* threads that may appear between counting and stopping */
    SUSPEND_TRIES = 200,
    LONGEST_SUSPENSION_NS = 400000000,
    STATE_NONE = 0,
    STATE_MONITOR = 1,
    STATE_MONITOR_WAIT = 2,
};

enum { TABLES_THREADS(TABLES_CELL) COLUMNS };

static const recording_column THREAD_COLUMNS[COLUMNS] = {TABLES_THREADS(TABLES_COLUMN)};
/* What waits.h copied: objects, their fields, and which thread has to do with which. */
static const recording_column OBJECT_COLUMNS[] = {
    {RECORDING_U64, "look", ""},
    {RECORDING_U64, "object", ""},
    {RECORDING_STRING_ID, "type", ""},
};
static const recording_column FIELD_COLUMNS[] = {
    {RECORDING_U64, "look", ""},
    {RECORDING_U64, "object", ""},
    {RECORDING_STRING_ID, "field", ""},
    {RECORDING_U64, "value", ""},
};
static const recording_column LINK_COLUMNS[] = {
    {RECORDING_U64, "look", ""},   {RECORDING_THREAD_ID, "thread", ""}, {RECORDING_U64, "role", ""},
    {RECORDING_U64, "object", ""}, {RECORDING_STRING_ID, "type", ""},
};
enum { TABLES_LOOKS(TABLES_CELL) LOOK_COLUMNS };
static const recording_column LOOKS_COLUMNS[LOOK_COLUMNS] = {TABLES_LOOKS(TABLES_COLUMN)};
enum { TABLES_STARTS(TABLES_CELL) STARTS_COLUMNS };
static const recording_column START_COLUMNS[STARTS_COLUMNS] = {TABLES_STARTS(TABLES_COLUMN)};
static const recording_table TABLES[] = {
    {"threads", "threads", THREAD_COLUMNS, COLUMNS},
    {"looks", "threads", LOOKS_COLUMNS, LOOK_COLUMNS},
    {"wait_objects", "threads", OBJECT_COLUMNS, 3},
    {"wait_fields", "threads", FIELD_COLUMNS, 4},
    {"wait_links", "threads", LINK_COLUMNS, 5},
    {"starts", "threads", START_COLUMNS, STARTS_COLUMNS},
};
static const char LOSSES[] = "ring full\0"
                             "thread not looked at: the suspension would have been too long\0"
                             "thread not looked at: no memory\0"
                             "snapshot not taken: the runtime could not be suspended\0"
                             "not noted who started a thread: more than 200 a second\0"
                             "stack not available of who started a thread\0";
static const events_wish WISHES[] = {{EVENTS_RUNTIME, EVENTS_KEYWORD_THREADING, 4, NULL}};

typedef struct {
    ThreadID id;
    uint32_t os_thread;
    uint32_t managed_id;
    uint16_t frames;
    bool cut;
    bool is_seen;
    uint32_t states[3]; /* the first and the third word: its state is in one of them */
    monitors_wait wait;
    native_stack_spot spot;
    uintptr_t addresses[MOST_FRAMES];
} seen_thread;

typedef struct {
    uint32_t os_thread;
    native_stack_spot spot;
} placed;

typedef struct {
    seen_thread *threads;
    monitors_thread *ids;
    placed *places;
    size_t place_count;
    const clr_info *info;
    size_t count;
    size_t capacity;
    uint64_t looks;
    uint64_t next_ns;     /* 0 = no further look */
    uint64_t interval_ns; /* 0 = once */
    size_t served;        /* sessions that have had a look; a further one gets its own at once */
    monitors monitors;
    waits waits;
    sampling_code *code; /* NULL before the first look */
    starts starts;       /* last: stop leaves it, for events that come late */
} state;

/* A stack while it is walked. */
typedef struct {
    seen_thread *thread;
    waits_thread still;
} walked;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- before ---- */

static int place_thread(void *context, uintptr_t id)
{
    state *s = context;
    uint32_t os_thread = 0;

    if (s->place_count == s->capacity)
        return 0;
    if (clr_info_get_thread_info(s->info, id, &os_thread) == S_OK && os_thread != 0)
        s->places[s->place_count++] = (placed){os_thread, native_stack_place(os_thread)};
    return 1;
}

static int compare_places(const void *a, const void *b)
{
    uint32_t x = ((const placed *)a)->os_thread;
    uint32_t y = ((const placed *)b)->os_thread;

    return x < y ? -1 : x > y;
}

/* Where each thread stands: the kernel takes its time to say so, so it is asked while the program
 * runs, and again for those where it counts. */
static void place_threads(agent *a, state *s)
{
    s->info = &a->info;
    s->place_count = 0;
    gone_each_thread(&a->info, place_thread, s);
    qsort(s->places, s->place_count, sizeof *s->places, compare_places);
}

static native_stack_spot spot_of(const state *s, uint32_t os_thread)
{
    size_t low = 0, high = s->place_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (s->places[middle].os_thread < os_thread)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < s->place_count && s->places[low].os_thread == os_thread)
        return s->places[low].spot;
    return (native_stack_spot){0, 0, -1};
}

/* ---- while the runtime stands still ---- */

static int list_thread(void *context, uintptr_t id)
{
    state *s = context;

    if (s->count == s->capacity)
        return 0;
    memset(&s->threads[s->count], 0, offsetof(seen_thread, addresses));
    s->threads[s->count].id = id;
    s->count++;
    return 1;
}

/* The registers that keep their value through calls, and the stack pointer, in the runtime's
 * picture of a frame. */
static void keep_frame(waits_thread *t, FunctionID function, const uint8_t *context, uint32_t size)
{
    static const uint16_t PLACES[WAITS_REGISTERS] = {0x90, 0xa0, 0xd8, 0xe0, 0xe8, 0xf0};
    enum { STACK_POINTER = 0x98, NEEDED = 0xf8 };
    bool is_innermost = t->count < WAITS_FRAMES;
    waits_frame frame = {.function = function};

    if (context != NULL && size >= NEEDED) {
        memcpy(&t->stack_end, context + STACK_POINTER, sizeof t->stack_end);
        frame.stack_pointer = t->stack_end;
        for (size_t i = 0; i < WAITS_REGISTERS && is_innermost; i++)
            memcpy(&frame.registers[i], context + PLACES[i], sizeof frame.registers[i]);
    }
    if (is_innermost)
        t->frames[t->count++] = frame;
}

static HRESULT CLR_CALL take_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    walked *w = data;
    seen_thread *t = w->thread;

    (void)frame;
    if (function == 0)
        return S_OK;
    if (t->frames == MOST_FRAMES) {
        t->cut = true;
        return S_FALSE;
    }
    keep_frame(&w->still, function, context, context_size);
    t->addresses[t->frames++] = ip;
    return S_OK;
}

static void look_at_thread(agent *a, state *s, seen_thread *t, bool has_monitors)
{
    walked w;

    w.thread = t;
    w.still.id = t->id;
    w.still.os_thread = t->os_thread;
    w.still.stack_end = 0;
    w.still.count = 0;
    clr_info_do_stack_snapshot(&a->info, t->id, take_frame, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &w,
                               NULL, 0);
    if (has_monitors)
        monitors_look(&s->monitors, t->id, &t->wait);
    read_self(t->id, t->states, sizeof t->states);
    w.still.waits_for_monitor = t->wait.is_waiting;
    waits_look(&s->waits, &w.still, &t->spot);
    t->is_seen = true;
}

static void look_at_threads(agent *a, state *s, uint64_t begin)
{
    bool has_monitors;

    s->count = 0;
    clr_each_thread(&a->info, list_thread, s);
    for (size_t i = 0; i < s->count; i++) {
        seen_thread *t = &s->threads[i];

        clr_info_get_thread_info(&a->info, t->id, &t->os_thread);
        t->spot = spot_of(s, t->os_thread);
        s->ids[i] = (monitors_thread){t->id, t->spot.stack};
    }
    has_monitors = monitors_open(&s->monitors, &a->info, s->ids, s->count);
    for (size_t i = 0; i < s->count; i++) {
        if (os_monotonic_ns() - begin > LONGEST_SUSPENSION_NS) {
            agent_lose(a, SELF, LOSS_TIME, s->count - i);
            break;
        }
        look_at_thread(a, s, &s->threads[i], has_monitors);
    }
    for (size_t i = 0; i < s->count && s->threads[i].is_seen; i++)
        waits_look_at_statics(&s->waits, s->threads[i].id, s->threads[i].os_thread);
    if (has_monitors)
        monitors_close(&s->monitors);
}

/* The runtime often answers that a suspension is under way: nothing stands still then. */
static bool suspend(agent *a)
{
    for (int i = 0; i < SUSPEND_TRIES; i++) {
        if (clr_info_suspend_runtime(&a->info) == S_OK)
            return true;
        os_sleep_ms(1);
    }
    return false;
}

/* ---- afterwards ---- */

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = ((const seen_thread *)a)->os_thread;
    uint32_t y = ((const seen_thread *)b)->os_thread;

    return x < y ? -1 : x > y;
}

static void write_object(void *context, uint64_t address, uint32_t type)
{
    agent *a = context;
    uint64_t cells[] = {state_of(a)->looks, address, type};

    agent_row(a, SELF, 2, cells);
}

static void write_field(void *context, uint64_t address, uint32_t name, uint64_t value)
{
    agent *a = context;
    uint64_t cells[] = {state_of(a)->looks, address, name, value};

    agent_row(a, SELF, 3, cells);
}

static void write_link(void *context, const waits_link *link, uint32_t type)
{
    agent *a = context;
    uint64_t cells[] = {state_of(a)->looks, link->os_thread, link->role, link->object, type};

    agent_row(a, SELF, 4, cells);
}

typedef struct {
    agent *agent;
    uint64_t time;
} unmanaged;

/* A thread that the runtime does not know. The managed ones are sorted. */
static void write_native(void *context, uint32_t os_thread)
{
    unmanaged *u = context;
    state *s = state_of(u->agent);
    uint64_t cells[COLUMNS] = {0};
    size_t low = 0, high = s->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (s->threads[middle].os_thread < os_thread)
            low = middle + 1;
        else
            high = middle;
    }
    if ((low < s->count && s->threads[low].os_thread == os_thread) ||
        (int)os_thread == u->agent->own_thread_id)
        return;
    cells[TIME] = u->time;
    cells[THREAD] = os_thread;
    cells[STACK] = native_stack_walk(s->code, os_thread, native_stack_place(os_thread), 0);
    cells[CPU] = sampling_thread_clock((int)os_thread);
    cells[LOOK] = s->looks;
    agent_row(u->agent, SELF, 0, cells);
}

static void write_rows(agent *a, state *s, uint64_t time, uint64_t suspension)
{
    uint64_t look[LOOK_COLUMNS] = {time, s->looks, suspension, s->count};

    qsort(s->threads, s->count, sizeof *s->threads, compare_ids);
    for (size_t i = 0; i < s->count; i++) {
        seen_thread *t = &s->threads[i];
        uint64_t cells[COLUMNS] = {0};

        if (!t->is_seen || t->os_thread == 0)
            continue;
        cells[TIME] = time;
        cells[THREAD] = t->os_thread;
        cells[MANAGED_ID] = t->managed_id;
        cells[STACK] =
            t->frames == 0 ? 0 : names_stack_of(&a->names, t->addresses, t->frames, true, t->cut);
        cells[STACK] = native_stack_walk(s->code, t->os_thread, t->spot, (uint32_t)cells[STACK]);
        cells[CPU] = sampling_thread_clock((int)t->os_thread);
        cells[LOOK] = s->looks;
        cells[NATIVE] = t->id;
        cells[NATIVE_STATE] = (uint64_t)t->states[2] << 32 | t->states[0];
        if (t->wait.is_waiting) {
            cells[WAITS_FOR] = t->wait.is_monitor_wait ? STATE_MONITOR_WAIT : STATE_MONITOR;
            cells[OBJECT] = t->wait.object;
            cells[OBJECT_TYPE] =
                t->wait.class_id == 0 ? 0 : names_of_class(&a->names, t->wait.class_id);
            cells[OWNER] = t->wait.owner;
            cells[WAITERS] = t->wait.waiters;
            cells[WAITED] = (uint64_t)t->wait.waited_ms * 1000000u;
        }
        agent_row(a, SELF, 0, cells);
    }
    native_stack_each_thread(write_native, &(unmanaged){a, time});
    waits_write(&s->waits, &a->names, &(waits_rows){write_object, write_field, write_link, a});
    agent_row(a, SELF, 1, look);
}

static int count_thread(void *context, uintptr_t id)
{
    (void)id;
    ++*(size_t *)context;
    return 1;
}

static bool make_room(agent *a, state *s)
{
    size_t count = SPARE;
    seen_thread *threads;
    monitors_thread *ids;
    placed *places;

    clr_each_thread(&a->info, count_thread, &count);
    if (count <= s->capacity)
        return true;
    threads = memory_resize(s->threads, count * sizeof *threads);
    if (threads != NULL)
        s->threads = threads;
    ids = memory_resize(s->ids, count * sizeof *ids);
    if (ids != NULL)
        s->ids = ids;
    places = memory_resize(s->places, count * sizeof *places);
    if (places != NULL)
        s->places = places;
    if (threads == NULL || ids == NULL || places == NULL) {
        agent_lose(a, SELF, LOSS_MEMORY, count);
        return false;
    }
    s->capacity = count;
    return true;
}

static void take_look(agent *a, state *s)
{
    uint64_t begin;
    uint64_t end;

    if (!agent_enter_runtime(a) || !make_room(a, s))
        return;
    if (s->code == NULL && (s->code = sampling_code_open(a)) == NULL) {
        agent_lose(a, SELF, LOSS_MEMORY, 1);
        return;
    }
    waits_begin(&s->waits, &a->info);
    place_threads(a, s);
    if (!suspend(a)) {
        agent_lose(a, SELF, LOSS_BUSY, 1);
        s->served = 0; /* again in the next round */
        return;
    }
    begin = os_monotonic_ns();
    look_at_threads(a, s, begin);
    clr_info_resume_runtime(&a->info);
    end = os_monotonic_ns();
    s->looks++;
    write_rows(a, s, begin, end - begin);
}

/* ---- the engine ---- */

static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL) {
        s = memory_allocate_array(1, sizeof *s);
        if (s == NULL)
            return engine_no_memory(SELF, e);
        a->engines[SELF].state = s;
    }
    s->looks = 0;
    starts_reset(&s->starts);
    return 0;
}

/* Works out the interval; how many sessions there are. */
static size_t count_users(agent *a, state *s)
{
    const catalogue_selected *user;
    size_t position = 0, count = 0;

    s->interval_ns = 0;
    for (; (user = agent_user(a, SELF, &position)) != NULL; count++) {
        uint64_t interval = catalogue_number(user, "interval");

        if (interval != 0 && (s->interval_ns == 0 || interval < s->interval_ns))
            s->interval_ns = interval;
    }
    return count;
}

/* Whoever leaves makes room for one that is to have its look; who comes is met by the next round,
 * so that a session which is refused costs nobody a look. */
static void configure(agent *a)
{
    state *s = state_of(a);
    size_t count = count_users(a, s);

    if (count < s->served)
        s->served = count;
}

static void stop(agent *a)
{
    state *s = state_of(a);

    memory_free(s->threads);
    memory_free(s->ids);
    memory_free(s->places);
    waits_free(&s->waits);
    if (s->code != NULL)
        sampling_code_close(a);
    memset(s, 0, offsetof(state, starts));
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    (void)kind;
    (void)length;
    starts_take(a, payload);
}

static void on_event(agent *a, const events_event *event)
{
    starts_on_event(a, &state_of(a)->starts, event);
}

/* One look has no time in which threads could be started. */
static size_t count_wishes(agent *a)
{
    return state_of(a)->interval_ns != 0;
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();
    size_t count = count_users(a, s);

    if (count <= s->served && (s->next_ns == 0 || now < s->next_ns || last))
        return;
    s->served = count;
    take_look(a, s);
    s->next_ns = s->interval_ns == 0 ? 0 : now + s->interval_ns;
}

const engine ENGINE_threads = {
    .name = "threads",
    .mask_low = COR_PRF_ENABLE_STACK_SNAPSHOT,
    .tables = TABLES,
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = 1,
    .count_wishes = count_wishes,
    .table_count = sizeof TABLES / sizeof *TABLES,
    .losses = LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .on_event = on_event,
};
