/*
 * import_library: counters and requests of an event stream, from the sources of the libraries; see
 * import.h.
 *
 * A request's events come on several threads, which the stream mixes: they are kept and put in
 * order first. Its first and last event are brought together by the activity that the runtime
 * gives both.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clr/counter_events.h"
#include "clr/http_events.h"
#include "diagnostics/import_private.h"
#include "diagnostics/meter_events.h"
#include "recording/tables.h"

enum { MOST_BYTES = 2048 };

typedef enum { KEPT_START, KEPT_STOP, KEPT_FAILED, KEPT_STATUS } kept_kind;
enum { MADE = 16 }; /* a bit beside the kind: by HttpClient */

/* ---- what is kept ---- */

void import_keep(import_list *list, import_kept event, const uint8_t *bytes, size_t most)
{
    if (list->count == list->capacity) {
        size_t wish = list->capacity * 2 + 256;
        import_kept *grown = memory_resize(list->events, wish * sizeof *grown);

        if (grown == NULL) {
            list->failed = true;
            return;
        }
        list->events = grown;
        list->capacity = wish;
    }
    if (event.length > most)
        event.length = (uint32_t)most;
    event.offset = list->bytes.length;
    buffer_append(&list->bytes, bytes, event.length);
    list->events[list->count++] = event;
}

static int compare_events(const void *a, const void *b)
{
    const import_kept *x = a;
    const import_kept *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bool import_sort(import_list *list)
{
    if (list->count > 1)
        qsort(list->events, list->count, sizeof *list->events, compare_events);
    return !list->failed && !buffer_failed(&list->bytes);
}

reader import_bytes_of(const import_list *list, const import_kept *event)
{
    return reader_of(list->bytes.data + event->offset, event->length);
}

void import_list_free(import_list *list)
{
    memory_free(list->events);
    buffer_free(&list->bytes);
}

/* ---- counters ---- */

static uint64_t intern(event_import *i, counter_text text)
{
    buffer *out = &i->names.text;

    buffer_clear(out);
    if (text.bytes != NULL)
        text_append_utf16_bytes(out, text.bytes, text.units);
    return import_string(&i->names, buffer_text(out), out->length);
}

static void take_counter(event_import *i, const nettrace_event *event, uint64_t time)
{
    enum { TABLES_COUNTERS(TABLES_CELL) COLUMNS };
    const char *provider = event->metadata->provider;
    uint64_t cells[COLUMNS] = {[TIME] = time};
    counter_event counter;

    if (!counter_event_read(reader_of(event->payload, event->payload_length), &counter)) {
        i->not_understood++;
        return;
    }
    cells[PROVIDER] = import_string(&i->names, provider, strlen(provider));
    cells[NAME] = intern(i, counter.name);
    cells[TITLE] = intern(i, counter.title);
    cells[UNIT] = intern(i, counter.unit);
    cells[KIND] = counter.kind;
    cells[INTERVAL] = counter.interval_ns;
    memcpy(&cells[VALUE], &counter.value, sizeof counter.value);
    import_put_row(i, IMPORT_COUNTERS, cells);
}

/* ---- meters ---- */

typedef struct {
    event_import *i;
    uint64_t time;
} meter_context;

static uint64_t text_id(event_import *i, const char *text)
{
    return import_string(&i->names, text, strlen(text));
}

static void put_meter(void *context, const meter_value *value)
{
    enum { TABLES_METERS(TABLES_CELL) COLUMNS };
    meter_context *c = context;
    uint64_t cells[COLUMNS] = {[TIME] = c->time, [KIND] = value->kind};

    cells[INTERVAL] = c->i->meter_interval;
    cells[PROVIDER] = text_id(c->i, value->meter);
    cells[NAME] = text_id(c->i, value->name);
    cells[TITLE] = text_id(c->i, value->title);
    cells[UNIT] = text_id(c->i, value->unit);
    cells[TAGS] = text_id(c->i, value->tags);
    memcpy(&cells[VALUE], &value->value, sizeof value->value);
    import_put_row(c->i, IMPORT_METERS, cells);
}

static void take_meter(event_import *i, const nettrace_event *event, uint64_t time)
{
    meter_context c = {i, time};
    reader r = reader_of(event->payload, event->payload_length);

    /* the source tells all its readers that one was refused: who has values was not */
    if (i->meter_trouble.length == 0 && i->tables[IMPORT_METERS].count == 0)
        meter_events_read_trouble(event->metadata->event_id, r, &i->meter_trouble);
    buffer_clear(&i->names.text);
    if (meter_events_read_note(event->metadata->event_id, r, &i->names.text) &&
        i->meters_noted++ == 0)
        buffer_append_text(&i->meter_note, buffer_text(&i->names.text));
    if (!meter_events_read(event->metadata->event_id, r, put_meter, &c))
        i->not_understood++;
}

/* ---- requests ---- */

static bool kind_of(const nettrace_metadata *event, uint32_t *kind)
{
    static const struct {
        const char *provider;
        uint32_t id;
        uint32_t kind;
    } EVENTS[] = {
        {"Microsoft.AspNetCore.Hosting", HTTP_EVENT_SERVED_START, KEPT_START},
        {"Microsoft.AspNetCore.Hosting", HTTP_EVENT_SERVED_STOP, KEPT_STOP},
        {"Microsoft.AspNetCore.Hosting", HTTP_EVENT_SERVED_FAILED, KEPT_FAILED},
        {"System.Net.Http", HTTP_EVENT_MADE_START, KEPT_START | MADE},
        {"System.Net.Http", HTTP_EVENT_MADE_STOP, KEPT_STOP | MADE},
        {"System.Net.Http", HTTP_EVENT_MADE_FAILED, KEPT_FAILED | MADE},
    };

    for (size_t k = 0; k < sizeof EVENTS / sizeof *EVENTS; k++) {
        if (EVENTS[k].id == event->event_id && text_equal(EVENTS[k].provider, event->provider)) {
            *kind = EVENTS[k].kind;
            return true;
        }
    }
    *kind = KEPT_STATUS;
    return text_equal(event->provider, "Microsoft-Diagnostics-DiagnosticSource") &&
           text_equal(event->name, "Event");
}

static uint64_t number_of(const uint8_t *activity)
{
    static const uint8_t NONE[16];

    return activity == NULL || memcmp(activity, NONE, sizeof NONE) == 0
               ? 0
               : table_hash_bytes(activity, sizeof NONE);
}

void import_take_library_event(event_import *i, const nettrace_event *event, uint64_t time)
{
    import_kept kept = {.time = time, .thread = event->thread_id};

    if (text_equal(event->metadata->name, "EventCounters")) {
        take_counter(i, event, time);
    } else if (text_equal(event->metadata->provider, METER_EVENTS_PROVIDER)) {
        take_meter(i, event, time);
    } else if (kind_of(event->metadata, &kept.id)) {
        kept.activity = number_of(event->activity);
        kept.related = number_of(event->related_activity);
        kept.length = (uint32_t)event->payload_length;
        import_keep(&i->requests, kept, event->payload, MOST_BYTES);
    }
}

enum { TABLES_REQUESTS(TABLES_CELL) COLUMNS };
enum { STATE_DONE, STATE_FAILED, STATE_RUNNING };

typedef struct {
    uint64_t cells[COLUMNS];
    reader begin; /* its first event: it is named when it is over, by its route */
    bool is_open;
} request;

typedef struct {
    event_import *i;
    table_u64 by_activity; /* place in requests, + 1 */
    request *requests;     /* all that began: as many as there are such events at most */
    size_t count;
    buffer name;
} state;

static request *find(state *s, uint64_t activity)
{
    uint64_t place;

    return activity != 0 && table_u64_get(&s->by_activity, activity, &place) && place != 0
               ? &s->requests[place - 1]
               : NULL;
}

static void name_request(state *s, request *r, reader values)
{
    buffer text;

    if (r->cells[NAME] != 0 && reader_left(&values) == 0)
        return;
    buffer_init(&text);
    http_event_read_text(&values, &text);
    buffer_clear(&s->name);
    http_event_append_name(&s->name, &s->i->names.text, r->begin, r->cells[KIND] != 0,
                           buffer_text(&text));
    r->cells[NAME] = import_string(&s->i->names, buffer_text(&s->name), s->name.length);
    buffer_free(&text);
}

static void put(state *s, request *r, uint64_t end, uint64_t how)
{
    name_request(s, r, reader_of(NULL, 0));
    r->is_open = false;
    r->cells[WEIGHT] = end > r->cells[TIME] ? end - r->cells[TIME] : 0;
    r->cells[STATE] = how;
    import_put_row(s->i, IMPORT_REQUESTS, r->cells);
}

static void on_start(state *s, const import_kept *event, reader r)
{
    request *around = find(s, event->related);
    request *begun;

    if (event->activity == 0 || s->requests == NULL)
        return;
    if (around != NULL)
        name_request(s, around, reader_of(NULL, 0));
    begun = &s->requests[s->count];
    *begun = (request){.is_open = true, .begin = r};
    begun->cells[TIME] = event->time;
    begun->cells[THREAD] = event->thread;
    begun->cells[KIND] = (event->id & MADE) != 0;
    begun->cells[INSIDE] = around == NULL ? 0 : around->cells[NAME];
    begun->cells[ID] = event->activity;
    table_u64_put(&s->by_activity, event->activity, ++s->count);
}

static void take(state *s, const import_kept *event, reader r)
{
    request *of = find(s, event->activity);
    buffer *text = &s->i->names.text;
    http_event_answer answer;

    if ((event->id & ~(uint32_t)MADE) == KEPT_START) {
        on_start(s, event, r);
        return;
    }
    if (of == NULL || !of->is_open)
        return; /* it began before the stream */
    switch (event->id & ~(uint32_t)MADE) {
    case KEPT_STATUS:
        answer = http_event_read_answer(r);
        of->cells[STATUS] = answer.status;
        name_request(s, of, answer.values);
        break;
    case KEPT_FAILED:
        of->cells[STATE] = STATE_FAILED;
        if ((event->id & MADE) == 0)
            break;
        http_event_read_text(&r, text);
        of->cells[ERROR] = import_string(&s->i->names, buffer_text(text), text->length);
        break;
    default:
        if ((event->id & MADE) != 0)
            of->cells[STATUS] = http_event_read_made_status(r);
        put(s, of, event->time, of->cells[STATE]);
        break;
    }
}

void import_write_requests(event_import *i)
{
    state s = {.i = i};

    if (!import_sort(&i->requests)) {
        i->failed = true;
        return;
    }
    if (i->requests.count == 0)
        return;
    s.requests = memory_allocate_array(i->requests.count, sizeof *s.requests);
    if (s.requests == NULL) {
        i->failed = true;
        return;
    }
    table_u64_init(&s.by_activity);
    for (size_t k = 0; k < i->requests.count; k++)
        take(&s, &i->requests.events[k], import_bytes_of(&i->requests, &i->requests.events[k]));
    for (size_t k = 0; k < s.count; k++)
        if (s.requests[k].is_open)
            put(&s, &s.requests[k], i->last_time, STATE_RUNNING);
    table_u64_free(&s.by_activity);
    memory_free(s.requests);
    buffer_free(&s.name);
}
