/*
 * jit: every method the runtime compiles while the program runs: its tier, how long that took, the
 * size of its CIL and of the code.
 *
 * A compilation begins and ends with an event on the compiling thread. Both go into the ring; the
 * own thread pairs them. Compiling may need other methods compiled first, so a thread can have
 * several under way: a row has the time without those inside of it.
 *
 * Methods made at run time (DynamicMethod, stubs) may be gone when the own thread looks: their name
 * is taken from the event. Others are named as everywhere.
 *
 * On request (`inlining`) also calls that the compiler did not inline, a row each, with its reason.
 *
 * Thread rules: engine.h. State is the own thread's.
 */
#include <string.h>

#include "agent/agent.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_jit,
    LOSS_RING = 0,
    LOSS_NO_BEGIN = 1,
    RECORD_BEGIN = 0,
    RECORD_END = 1,
    RECORD_INLINING = 2,
    EVENT_LOADED = 143,
    EVENT_COMPILING = 145,
    EVENT_NOT_INLINED = 192,
    FLAG_DYNAMIC = 1,
    FLAG_COMPILED = 8,
    TIER_SHIFT = 7,
    TIER_MASK = 7,
    MOST_NAME = 160, /* units of a dynamic method's name */
    UNDER_WAY = 256,
};

enum { TABLES_COMPILATIONS(TABLES_CELL) COLUMNS };

static const recording_column COMPILATION_COLUMNS[COLUMNS] = {TABLES_COMPILATIONS(TABLES_COLUMN)};
enum {
    INLINING_TIME,
    INLINING_THREAD,
    INLINING_METHOD,
    INLINING_CALLER,
    INLINING_REASON,
    INLINING_COLUMN_COUNT
};
static const recording_column INLINING_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},        {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STRING_ID, "method", ""}, {RECORDING_STRING_ID, "caller", ""},
    {RECORDING_STRING_ID, "reason", ""},
};
static const recording_table TABLES[] = {
    {"compilations", "jit", COMPILATION_COLUMNS, COLUMNS},
    {"inlining", "jit", INLINING_COLUMNS, INLINING_COLUMN_COUNT},
};
static const char LOSSES[] = "ring full\0"
                             "compilation not timed: its begin was not seen\0";
static const events_wish WISHES[] = {
    {EVENTS_RUNTIME, EVENTS_KEYWORD_JIT, 5, NULL},
    {EVENTS_RUNTIME, EVENTS_KEYWORD_JIT_TRACING, 5, NULL}, /* only on request */
};

/* In the ring; of a dynamic method's end `units` of its name follow. */
typedef struct {
    uint64_t time;
    uintptr_t method;
    uint32_t thread;
    uint32_t size;
    uint32_t flags;
    uint32_t units;
} compilation;

/* A call that was not inlined; the texts follow: of the caller and of the method its type and its
 * name, and the reason. */
enum { CALLER, METHOD_NAME = 2, REASON = 4, TEXTS };
typedef struct {
    uint64_t time;
    uint32_t thread;
    uint16_t units[TEXTS];
} inlining;

typedef struct {
    uint64_t time;
    uintptr_t method;
    uint64_t inside; /* of other compilations */
    uint32_t thread;
    uint32_t il_size;
} begun;

typedef struct {
    begun under_way[UNDER_WAY]; /* oldest first */
    size_t count;
    atomic_bool inlining;
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static void put(agent *a, unsigned kind, const compilation *what, const uint8_t *name)
{
    size_t length = sizeof *what + 2 * (size_t)what->units;
    compilation *record = agent_reserve(a, SELF, length);

    if (record == NULL)
        return;
    *record = *what;
    memcpy(record + 1, name, 2 * (size_t)what->units);
    agent_commit(a, SELF, record, length, kind, length);
}

/* Three texts (type, name, signature) of the method being compiled, of the caller (the same, or one
 * that was inlined into it) and of the method called; then whether it is never inlined; the reason.
 */
static void put_inlining(agent *a, reader r)
{
    static const int8_t WANTED[] = {
        -1, -1, -1, CALLER, CALLER + 1, -1, METHOD_NAME, METHOD_NAME + 1, -1, REASON};
    inlining what = {.time = os_monotonic_ns(), .thread = (uint32_t)os_thread_id()};
    const uint8_t *texts[TEXTS] = {NULL};
    size_t length = sizeof what;
    inlining *record;
    uint8_t *to;

    for (size_t i = 0; i < sizeof WANTED; i++) {
        const uint8_t *text;
        size_t units;

        if (WANTED[i] == REASON)
            reader_u32(&r);
        text = events_read_text(&r, &units);
        if (WANTED[i] < 0)
            continue;
        texts[WANTED[i]] = text;
        what.units[WANTED[i]] = (uint16_t)(units < MOST_NAME ? units : MOST_NAME);
        length += 2 * (size_t)what.units[WANTED[i]];
    }
    record = reader_failed(&r) ? NULL : agent_reserve(a, SELF, length);
    if (record == NULL)
        return;
    *record = what;
    to = (uint8_t *)(record + 1);
    for (size_t i = 0; i < TEXTS; to += 2 * (size_t)what.units[i], i++)
        memcpy(to, texts[i], 2 * (size_t)what.units[i]);
    agent_commit(a, SELF, record, length, RECORD_INLINING, length);
}

static void on_event(agent *a, const events_event *event)
{
    compilation what = {0};
    const uint8_t *name = NULL;
    reader r = event->data;
    size_t units;

    if (event->provider == EVENTS_RUNTIME && event->id == EVENT_NOT_INLINED &&
        atomic_load_explicit(&state_of(a)->inlining, memory_order_relaxed))
        put_inlining(a, r);
    if (event->provider != EVENTS_RUNTIME ||
        (event->id != EVENT_COMPILING && event->id != EVENT_LOADED))
        return;
    what.time = os_monotonic_ns();
    what.thread = (uint32_t)os_thread_id(); /* asks the kernel */
    what.method = (uintptr_t)reader_u64(&r);
    reader_u64(&r); /* module */
    if (event->id == EVENT_COMPILING) {
        reader_u32(&r); /* token */
        what.size = reader_u32(&r);
        if (!reader_failed(&r))
            put(a, RECORD_BEGIN, &what, (const uint8_t *)"");
        return;
    }
    reader_u64(&r); /* the code */
    what.size = reader_u32(&r);
    reader_u32(&r); /* token */
    what.flags = reader_u32(&r);
    events_read_text(&r, &units); /* type */
    name = events_read_text(&r, &units);
    if (reader_failed(&r) || (what.flags & FLAG_COMPILED) == 0)
        return;
    if ((what.flags & FLAG_DYNAMIC) != 0)
        what.units = (uint32_t)(units < MOST_NAME ? units : MOST_NAME);
    put(a, RECORD_END, &what, name);
}

/* ---- on the own thread ---- */

static void drop(state *s, size_t index)
{
    s->count--;
    memmove(&s->under_way[index], &s->under_way[index + 1],
            (s->count - index) * sizeof *s->under_way);
}

static void take_begin(state *s, const compilation *record)
{
    if (s->count == UNDER_WAY)
        drop(s, 0); /* it failed, or its end was lost */
    s->under_way[s->count++] =
        (begun){record->time, record->method, 0, record->thread, record->size};
}

/* Takes the begin of this compilation out; what the thread began after it never ended. */
static bool take_begun(state *s, const compilation *record, begun *found)
{
    for (size_t i = s->count; i > 0; i--) {
        if (s->under_way[i - 1].thread != record->thread)
            continue;
        *found = s->under_way[i - 1];
        if (found->method == record->method) {
            drop(s, i - 1);
            return true;
        }
    }
    return false;
}

/* The compilation that needed this one. */
static void add_inside(state *s, uint32_t thread, uint64_t length)
{
    for (size_t i = s->count; i > 0; i--) {
        if (s->under_way[i - 1].thread == thread) {
            s->under_way[i - 1].inside += length;
            return;
        }
    }
}

/* The text, behind `type` and a point if that is not empty. */
static uint32_t intern(agent *a, const uint8_t *type, size_t type_units, const uint8_t *name,
                       size_t units)
{
    char memory[6 * MOST_NAME + 16];
    buffer text;

    buffer_fix(&text, memory, sizeof memory);
    text_append_utf16_bytes(&text, type, type_units);
    if (type_units != 0)
        buffer_append_text(&text, ".");
    text_append_utf16_bytes(&text, name, units);
    return names_intern_text(&a->names, buffer_text(&text));
}

static void take_inlining(agent *a, const inlining *record)
{
    const uint8_t *texts[TEXTS + 1] = {(const uint8_t *)(record + 1)};
    const uint16_t *units = record->units;
    uint64_t cells[INLINING_COLUMN_COUNT];

    for (size_t i = 0; i < TEXTS; i++)
        texts[i + 1] = texts[i] + 2 * (size_t)units[i];
    cells[INLINING_TIME] = record->time;
    cells[INLINING_THREAD] = record->thread;
    cells[INLINING_METHOD] = intern(a, texts[METHOD_NAME], units[METHOD_NAME],
                                    texts[METHOD_NAME + 1], units[METHOD_NAME + 1]);
    cells[INLINING_CALLER] =
        intern(a, texts[CALLER], units[CALLER], texts[CALLER + 1], units[CALLER + 1]);
    cells[INLINING_REASON] = intern(a, NULL, 0, texts[REASON], units[REASON]);
    agent_row(a, SELF, 1, cells);
}

static void take_end(agent *a, state *s, const compilation *record)
{
    uint64_t cells[COLUMNS] = {0};
    begun begin;

    cells[TIME] = record->time;
    cells[THREAD] = record->thread;
    cells[TIER] = record->flags >> TIER_SHIFT & TIER_MASK;
    cells[CODE_SIZE] = record->size;
    if (take_begun(s, record, &begin)) {
        uint64_t length = record->time - begin.time;

        cells[TIME] = begin.time;
        cells[WEIGHT] = length > begin.inside ? length - begin.inside : 0;
        cells[IL_SIZE] = begin.il_size;
        add_inside(s, record->thread, length);
    } else {
        agent_lose(a, SELF, LOSS_NO_BEGIN, 1);
    }
    if ((record->flags & FLAG_DYNAMIC) != 0)
        cells[NAME] = intern(a, NULL, 0, (const uint8_t *)(record + 1), record->units);
    else if (agent_enter_runtime(a))
        cells[METHOD] = names_of_function(&a->names, record->method);
    agent_row(a, SELF, 0, cells);
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    (void)length;
    if (kind == RECORD_BEGIN)
        take_begin(state_of(a), payload);
    else if (kind == RECORD_INLINING)
        take_inlining(a, payload);
    else
        take_end(a, state_of(a), payload);
}

static void drain(agent *a, bool last)
{
    (void)a;
    (void)last;
}

static int start(agent *a, error *e)
{
    if (state_of(a) == NULL)
        a->engines[SELF].state = memory_allocate_array(1, sizeof(state));
    if (state_of(a) == NULL)
        return engine_no_memory(SELF, e);
    state_of(a)->count = 0;
    return 0;
}

static void configure(agent *a)
{
    const catalogue_selected *user;
    size_t position = 0;
    bool wanted = false;

    while ((user = agent_user(a, SELF, &position)) != NULL)
        wanted = wanted || catalogue_number(user, "inlining") != 0;
    atomic_store(&state_of(a)->inlining, wanted);
}

static size_t count_wishes(agent *a)
{
    return atomic_load(&state_of(a)->inlining) ? 2 : 1;
}

static bool has_table(const catalogue_selected *user, size_t table)
{
    return table == 0 || catalogue_number(user, "inlining") != 0;
}

const engine ENGINE_jit = {
    .name = "jit",
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = sizeof WISHES / sizeof *WISHES,
    .tables = TABLES,
    .count_wishes = count_wishes,
    .configure = configure,
    .table_count = sizeof TABLES / sizeof *TABLES,
    .has_table = has_table,
    .losses = LOSSES,
    .start = start,
    .record = take_record,
    .drain = drain,
    .on_event = on_event,
};
