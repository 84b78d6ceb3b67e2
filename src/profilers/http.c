/*
 * http: requests that ASP.NET Core serves and that HttpClient makes, through the events of their
 * own sources.
 *
 * A request's first and last event are brought together by the activity that the runtime gives
 * both, whatever threads they come on. The status of a served request and its route are in neither:
 * they are read from a diagnostic source's event in between. So a request gets its name when it is
 * over; until then the bytes of its first event are kept. Events are copied into the ring on the
 * thread that raised them; the own thread brings them together. One row per request, written when
 * it is over, and when a session ends for those that are not.
 *
 * Invariant: an open request is in exactly one chain; a free place in the list of free ones.
 * Thread rules: engine.h. State is the own thread's.
 */
#include <string.h>

#include "agent/agent.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/table.h"
#include "clr/http_events.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_http,
    LOSS_RING = 0,
    LOSS_OPEN = 1,
    LOSS_BEFORE = 2,
    LOSS_UNKNOWN = 3,
    MOST_BYTES = 2048, /* of an event; what is longer is cut */
    MOST_KEPT = 320,   /* of an event that begins a request; a longer one is named at once */
    OPEN = 4096,
    CHAINS = 1024,
    RECENT = 256,
    DISTINCT = 2000, /* names and messages; they stay in memory */
    LEVEL = 4,
};
#define NO_KEYWORDS (UINT64_C(1) << 40)

typedef enum { RECORD_START, RECORD_STOP, RECORD_FAILED, RECORD_STATUS } record_kind;

enum { STATE_DONE, STATE_FAILED, STATE_RUNNING };
enum { TABLES_REQUESTS(TABLES_CELL) COLUMNS };

static const recording_column COLUMN_LIST[COLUMNS] = {TABLES_REQUESTS(TABLES_COLUMN)};
static const recording_table TABLES[] = {{"requests", "http", COLUMN_LIST, COLUMNS}};
static const char LOSSES[] = "ring full\0"
                             "too many at once\0"
                             "begun before the recording\0"
                             "without an activity\0";
static const events_wish WISHES[] = {
    {EVENTS_HOSTING, NO_KEYWORDS, LEVEL, NULL},
    {EVENTS_HTTP_CLIENT, NO_KEYWORDS, LEVEL, NULL},
    {EVENTS_TASKS, EVENTS_KEYWORD_FLOW, LEVEL, NULL},
    {EVENTS_DIAGNOSTIC_SOURCE, HTTP_EVENT_STATUS_KEYWORDS, LEVEL, HTTP_EVENT_STATUS_FILTER},
};

/* In the ring; the event's bytes follow. */
typedef struct {
    uint64_t time; /* not of RECORD_STATUS */
    uint64_t activity;
    uint64_t related; /* this and the thread only of RECORD_START */
    uint32_t thread;
    uint32_t length;
    bool is_made; /* by HttpClient */
} happened;

typedef struct {
    uint64_t activity;
    uint64_t time;
    uint64_t status;
    uint32_t thread;
    uint32_t name; /* 0: not yet */
    uint32_t inside;
    uint32_t error;
    bool is_made;
    bool has_failed;
    uint16_t kept; /* bytes of its first event; 0: more than there is room for */
    uint16_t next; /* + 1 */
} request;

typedef struct {
    uint16_t chains[CHAINS]; /* first of each, + 1 */
    uint16_t free;           /* + 1 */
    table_u64 known;         /* hash of a text to its string */
    struct {
        uint64_t hash; /* of an event that begins a request, and of its route's values */
        uint32_t name;
    } recent[RECENT];
    uint8_t (*kept)[MOST_KEPT]; /* of each request; never cleared, so that few pages are touched */
    request requests[OPEN];
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static bool kind_of(const events_event *event, record_kind *kind)
{
    static const struct {
        uint8_t provider;
        uint8_t id;
        uint8_t kind;
    } EVENTS[] = {
        {EVENTS_HOSTING, HTTP_EVENT_SERVED_START, RECORD_START},
        {EVENTS_HOSTING, HTTP_EVENT_SERVED_STOP, RECORD_STOP},
        {EVENTS_HOSTING, HTTP_EVENT_SERVED_FAILED, RECORD_FAILED},
        {EVENTS_HTTP_CLIENT, HTTP_EVENT_MADE_START, RECORD_START},
        {EVENTS_HTTP_CLIENT, HTTP_EVENT_MADE_STOP, RECORD_STOP},
        {EVENTS_HTTP_CLIENT, HTTP_EVENT_MADE_FAILED, RECORD_FAILED},
    };

    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++) {
        if (EVENTS[i].provider == event->provider && EVENTS[i].id == event->id) {
            *kind = EVENTS[i].kind;
            /* the sources' counters have any number, also one of these */
            return !events_is_named(event, "EventCounters");
        }
    }
    *kind = RECORD_STATUS;
    return event->provider == EVENTS_DIAGNOSTIC_SOURCE && events_is_named(event, "Event");
}

static uint64_t number_of(const GUID *activity)
{
    static const GUID NONE;

    return activity == NULL || memcmp(activity, &NONE, sizeof NONE) == 0
               ? 0
               : table_hash_bytes(activity, sizeof *activity);
}

static void on_event(agent *a, const events_event *event)
{
    size_t length = reader_left(&event->data);
    happened *record;
    record_kind kind;

    if (!kind_of(event, &kind))
        return;
    if (length > MOST_BYTES)
        length = MOST_BYTES;
    record = agent_reserve(a, SELF, sizeof *record + length);
    if (record == NULL)
        return;
    /* Each of these is paid by every request: the thread is asked for once, by a call to the
     * kernel. */
    *record = (happened){
        .time = kind == RECORD_STATUS ? 0 : os_monotonic_ns(),
        .activity = number_of(event->activity),
        .related = kind == RECORD_START ? number_of(event->related) : 0,
        .thread = kind == RECORD_START ? (uint32_t)os_thread_id() : 0,
        .length = (uint32_t)length,
        .is_made = event->provider == EVENTS_HTTP_CLIENT,
    };
    memcpy(record + 1, event->data.position, length);
    agent_commit(a, SELF, record, sizeof *record + length, kind, sizeof *record + length);
}

/* ---- own thread: the open requests ---- */

/* The place that points to the request, or to the end of its chain. */
static uint16_t *find(state *s, uint64_t activity)
{
    uint16_t *at = &s->chains[activity % CHAINS];

    while (*at != 0 && s->requests[*at - 1].activity != activity)
        at = &s->requests[*at - 1].next;
    return at;
}

static request *open_request(state *s, uint64_t activity)
{
    uint16_t *at = find(s, activity);
    uint16_t place = *at != 0 ? *at : s->free;
    request *r;

    if (place == 0)
        return NULL;
    r = &s->requests[place - 1];
    if (*at == 0) {
        s->free = r->next;
        *at = place;
        r->next = 0;
    }
    *r = (request){.activity = activity, .next = r->next};
    return r;
}

static void close_request(state *s, uint16_t *at)
{
    uint16_t place = *at;
    request *r = &s->requests[place - 1];

    *at = r->next;
    r->activity = 0;
    r->next = s->free;
    s->free = place;
}

/* ---- own thread: names ---- */

static uint32_t name_of(agent *a, const buffer *text)
{
    state *s = state_of(a);
    uint64_t hash = table_hash_bytes(text->data, text->length);
    uint64_t id;

    if (text->length == 0)
        return 0;
    if (table_u64_get(&s->known, hash, &id))
        return (uint32_t)id;
    if (s->known.count >= DISTINCT)
        return names_intern_text(&a->names, "(others)");
    id = names_intern(&a->names, buffer_text(text), text->length);
    table_u64_put(&s->known, hash, id);
    return (uint32_t)id;
}

static uint32_t make_name(agent *a, reader begin, bool is_made, reader values)
{
    char memory[3][2 * MOST_BYTES];
    buffer scratch;
    buffer text;
    buffer name;

    buffer_fix(&scratch, memory[0], sizeof memory[0]);
    buffer_fix(&text, memory[1], sizeof memory[1]);
    buffer_fix(&name, memory[2], sizeof memory[2]);
    http_event_read_text(&values, &text);
    http_event_append_name(&name, &scratch, begin, is_made, buffer_text(&text));
    return name_of(a, &name);
}

/* Most requests are for what was asked for a moment ago. */
static uint32_t read_name(agent *a, reader begin, bool is_made, reader values)
{
    state *s = state_of(a);
    uint64_t hash = table_hash_bytes(begin.begin, reader_left(&begin)) + is_made +
                    3 * table_hash_bytes(values.begin, reader_left(&values));
    size_t at = hash % RECENT;

    if (s->recent[at].hash != hash || s->recent[at].name == 0) {
        s->recent[at].name = make_name(a, begin, is_made, values);
        s->recent[at].hash = hash;
    }
    return s->recent[at].name;
}

/* Names an open request whose name is not known yet, or anew by the values of its route. */
static void name_request(agent *a, request *r, reader values)
{
    state *s = state_of(a);

    if (r->kept != 0 && (r->name == 0 || reader_left(&values) != 0))
        r->name = read_name(a, reader_of(s->kept[r - s->requests], r->kept), r->is_made, values);
}

/* ---- own thread: records ---- */

static void put_row(agent *a, request *r, uint64_t end, unsigned how)
{
    uint64_t cells[COLUMNS] = {0};

    name_request(a, r, reader_of(NULL, 0));
    cells[TIME] = r->time;
    cells[THREAD] = r->thread;
    cells[KIND] = r->is_made;
    cells[NAME] = r->name;
    cells[STATUS] = r->status;
    cells[WEIGHT] = end > r->time ? end - r->time : 0;
    cells[STATE] = how;
    cells[INSIDE] = r->inside;
    cells[ERROR] = r->error;
    cells[ID] = r->activity;
    agent_row(a, SELF, 0, cells);
}

static void take_start(agent *a, state *s, const happened *record)
{
    uint16_t *around;
    request *r;

    if (record->activity == 0) {
        agent_lose(a, SELF, LOSS_UNKNOWN, 1);
        return;
    }
    r = open_request(s, record->activity);
    around = find(s, record->related);
    if (r == NULL) {
        agent_lose(a, SELF, LOSS_OPEN, 1);
        return;
    }
    r->time = record->time;
    r->thread = record->thread;
    r->is_made = record->is_made;
    if (record->length <= MOST_KEPT) {
        r->kept = (uint16_t)record->length;
        memcpy(s->kept[r - s->requests], record + 1, record->length);
    } else {
        r->name =
            read_name(a, reader_of(record + 1, record->length), r->is_made, reader_of(NULL, 0));
    }
    if (record->related != 0 && *around != 0) {
        name_request(a, &s->requests[*around - 1], reader_of(NULL, 0));
        r->inside = s->requests[*around - 1].name;
    }
}

static void take_answer(agent *a, request *r, const happened *record)
{
    http_event_answer answer = http_event_read_answer(reader_of(record + 1, record->length));

    r->status = answer.status;
    name_request(a, r, answer.values);
}

static void take_failure(agent *a, request *r, const happened *record)
{
    char memory[2 * MOST_BYTES];
    reader bytes = reader_of(record + 1, record->length);
    buffer text;

    r->has_failed = true;
    if (!r->is_made)
        return;
    buffer_fix(&text, memory, sizeof memory);
    http_event_read_text(&bytes, &text);
    r->error = name_of(a, &text);
}

static void take_stop(agent *a, state *s, uint16_t *at, const happened *record)
{
    request *r = &s->requests[*at - 1];

    if (record->is_made)
        r->status = http_event_read_made_status(reader_of(record + 1, record->length));
    put_row(a, r, record->time, r->has_failed ? STATE_FAILED : STATE_DONE);
    close_request(s, at);
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    state *s = state_of(a);
    const happened *record = payload;
    uint16_t *at;

    (void)length;
    if (kind == RECORD_START) {
        take_start(a, s, record);
        return;
    }
    at = find(s, record->activity);
    if (*at == 0) {
        if (kind == RECORD_STOP)
            agent_lose(a, SELF, LOSS_BEFORE, 1);
    } else if (kind == RECORD_STATUS) {
        take_answer(a, &s->requests[*at - 1], record);
    } else if (kind == RECORD_FAILED) {
        take_failure(a, &s->requests[*at - 1], record);
    } else {
        take_stop(a, s, at, record);
    }
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();

    for (size_t i = 0; i < OPEN && last; i++)
        if (s->requests[i].activity != 0)
            put_row(a, &s->requests[i], now, STATE_RUNNING);
}

static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL)
        a->engines[SELF].state = s = memory_allocate_array(1, sizeof *s);
    if (s != NULL && s->kept == NULL)
        s->kept = memory_allocate(OPEN * sizeof *s->kept);
    if (s == NULL || s->kept == NULL)
        return engine_no_memory(SELF, e);
    table_u64_free(&s->known); /* ids may start anew with the next session */
    memset(s->recent, 0, sizeof s->recent);
    memset(s->chains, 0, sizeof s->chains);
    memset(s->requests, 0, sizeof s->requests);
    for (size_t i = 0; i < OPEN; i++)
        s->requests[i].next = (uint16_t)i;
    s->free = OPEN;
    return 0;
}

static void destroy(agent *a)
{
    state *s = state_of(a);

    if (s != NULL) {
        table_u64_free(&s->known);
        memory_free(s->kept);
    }
    memory_free(s);
    a->engines[SELF].state = NULL;
}

/* The last wish, status and route of served requests, is the larger part of what this costs. */
static size_t count_wishes(agent *a)
{
    enum { WISH_COUNT = sizeof WISHES / sizeof *WISHES };
    const catalogue_selected *user;
    size_t position = 0;

    while ((user = agent_user(a, SELF, &position)) != NULL)
        if (catalogue_number(user, "status") != 0)
            return WISH_COUNT;
    return WISH_COUNT - 1;
}

const engine ENGINE_http = {
    .name = "http",
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = sizeof WISHES / sizeof *WISHES,
    .count_wishes = count_wishes,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .start = start,
    .record = take_record,
    .drain = drain,
    .destroy = destroy,
    .on_event = on_event,
};
