/*
 * counters: values that the runtime and libraries publish at an interval (EventCounters).
 *
 * The event's bytes are copied into the ring on the publishing thread (one of the runtime's); the
 * own thread reads them. One row per value.
 *
 * Meters (System.Diagnostics.Metrics) are not read: enabled together with these counters they were
 * seen to lock up 8.0 inside the runtime (docs/profilers/counters.md).
 *
 * Thread rules: engine.h. State is the own thread's.
 */
#include <string.h>

#include "agent/agent.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "clr/counter_events.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_counters,
    LOSS_RING = 0,
    LOSS_LONG = 1,
    LOSS_UNREAD = 2,
    LOSS_NAMES = 3,
    MOST_BYTES = 4096,
    MOST_NAMES = 2048, /* bytes of names of sources, of all sessions */
    NEVER_LEVEL = 1,   /* counters come at any level, and little else at this one */
};
#define NO_KEYWORDS (UINT64_C(1) << 40)

enum { TABLES_COUNTERS(TABLES_CELL) COLUMNS };

static const recording_column COUNTER_COLUMNS[COLUMNS] = {TABLES_COUNTERS(TABLES_COLUMN)};
static const recording_table TABLES[] = {{"counters", "counters", COUNTER_COLUMNS, COLUMNS}};
static const char LOSSES[] = "ring full\0"
                             "value too long\0"
                             "value not understood\0"
                             "sources not asked for\0";
static const events_wish WISHES[] = {
    {EVENTS_COUNTERS, NO_KEYWORDS, NEVER_LEVEL, NULL},
    {EVENTS_HOSTING, NO_KEYWORDS, NEVER_LEVEL, NULL},
    {EVENTS_KESTREL, NO_KEYWORDS, NEVER_LEVEL, NULL},
    {EVENTS_HTTP_CLIENT, NO_KEYWORDS, NEVER_LEVEL, NULL},
    {EVENTS_OTHER, NO_KEYWORDS, NEVER_LEVEL, NULL},
};

/* In the ring; the event's bytes follow. The source's name is copied: it may be gone later. */
typedef struct {
    uint64_t time;
    uint32_t length;
    char source[COUNTER_SOURCE_NAME];
} published;

/* Two of them: a changed text stands at another place, which makes it another wish. */
typedef struct {
    unsigned turn;
    char filters[2][64];
    char names[2][MOST_NAMES];
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static bool is_wanted(const events_event *event)
{
    return event->provider != EVENTS_RUNTIME && events_is_named(event, "EventCounters");
}

static void on_event(agent *a, const events_event *event)
{
    size_t length = reader_left(&event->data);
    char source[COUNTER_SOURCE_NAME];
    published *record;
    buffer name;

    if (!is_wanted(event))
        return;
    buffer_fix(&name, source, sizeof source);
    if (clr_eventpipe_get_provider_name(&a->info, event->handle, &name) != S_OK)
        return; /* the session is being made */
    if (length > MOST_BYTES) {
        agent_lose(a, SELF, LOSS_LONG, 1);
        return;
    }
    record = agent_reserve(a, SELF, sizeof *record + length);
    if (record == NULL)
        return;
    record->time = os_monotonic_ns();
    record->length = (uint32_t)length;
    memcpy(record->source, source, sizeof source);
    memcpy(record + 1, event->data.position, length);
    agent_commit(a, SELF, record, sizeof *record + length, 0, sizeof *record + length);
}

/* ---- on the own thread ---- */

static uint32_t intern(agent *a, counter_text text)
{
    buffer *scratch = &a->names.scratch;

    buffer_clear(scratch);
    if (text.bytes != NULL)
        text_append_utf16_bytes(scratch, text.bytes, text.units);
    return names_intern_text(&a->names, buffer_text(scratch));
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    const published *record = payload;
    reader r = reader_of((const uint8_t *)(record + 1), record->length);
    uint64_t cells[COLUMNS] = {0};
    counter_event event;

    (void)kind;
    (void)length;
    cells[TIME] = record->time;
    cells[PROVIDER] = names_intern_text(&a->names, record->source);
    if (!counter_event_read(r, &event)) {
        agent_lose(a, SELF, LOSS_UNREAD, 1);
        return;
    }
    cells[NAME] = intern(a, event.name);
    cells[TITLE] = intern(a, event.title);
    cells[UNIT] = intern(a, event.unit);
    cells[KIND] = event.kind;
    cells[INTERVAL] = event.interval_ns;
    memcpy(&cells[VALUE], &event.value, sizeof event.value);
    agent_row(a, SELF, 0, cells);
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
    return 0;
}

/* The shortest interval and the sources of all sessions. */
static void configure(agent *a)
{
    state *s = state_of(a);
    unsigned next = 1 - s->turn;
    const catalogue_selected *user;
    uint64_t interval = UINT64_MAX;
    buffer text;
    buffer sources;
    size_t position = 0;

    buffer_fix(&sources, s->names[next], sizeof s->names[next]);
    buffer_append_text(&sources, COUNTER_LIBRARIES);
    while ((user = agent_user(a, SELF, &position)) != NULL) {
        uint64_t wanted = catalogue_number(user, "interval");

        interval = wanted < interval ? wanted : interval;
        buffer_format(&sources, ",%s", catalogue_text(user, "sources"));
    }
    if (interval == UINT64_MAX)
        return;
    if (buffer_failed(&sources))
        agent_lose(a, SELF, LOSS_NAMES, 1);
    buffer_fix(&text, s->filters[next], sizeof s->filters[next]);
    buffer_format(&text, "EventCounterIntervalSec=%u.%03u", (unsigned)(interval / 1000000000),
                  (unsigned)(interval / 1000000 % 1000));
    if (strcmp(s->filters[0], s->filters[1]) != 0 || strcmp(s->names[0], s->names[1]) != 0)
        s->turn = next;
}

static const char *wish_filter(agent *a, size_t wish)
{
    state *s = state_of(a);

    return WISHES[wish].provider == EVENTS_OTHER ? s->names[s->turn] : s->filters[s->turn];
}

const engine ENGINE_counters = {
    .name = "counters",
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = sizeof WISHES / sizeof *WISHES,
    .wish_filter = wish_filter,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .start = start,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .on_event = on_event,
};
