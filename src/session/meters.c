/* meters: see meters.h. */
#include "session/meters.h"

#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/table.h"
#include "base/text.h"
#include "diagnostics/eventpipe.h"
#include "diagnostics/meter_events.h"
#include "diagnostics/nettrace.h"
#include "recording/tables.h"

/* Ids of what the tool writes begin where the agent's and the symbols' end. */
enum { PIECE = 64 << 10, TABLE_ID = 1 << 30, MOST_PIECES = 64, STOP_MS = 3000 };
#define FIRST_STRING (UINT64_C(3) << 30)

enum { TABLES_METERS(TABLES_CELL) COLUMNS };
static const recording_column METER_COLUMNS[COLUMNS] = {TABLES_METERS(TABLES_COLUMN)};
static const recording_table TABLE = {"meters", "counters", METER_COLUMNS, COLUMNS};

struct meters {
    ipc_address address;
    eventpipe_session session;
    nettrace *parser;
    uint64_t interval_ns;
    uint64_t begin_ns;
    uint64_t not_understood;
    bool is_defined; /* the table is */
    table_text strings;
    buffer new_strings; /* payloads of what is to be written */
    buffer row_bytes;
    recording_rows rows;
    size_t row_count;
    buffer trouble;
    buffer scratch;
    buffer note; /* of what is left out, the first time */
    uint64_t noted, noted_before;
};

static uint64_t string_of(meters *m, const char *text)
{
    size_t length = strlen(text);
    uint64_t *id = length == 0 ? NULL : table_text_at(&m->strings, text, length, 0);

    if (id == NULL)
        return 0;
    if (*id == 0) {
        *id = FIRST_STRING + m->strings.count;
        recording_put_string(&m->new_strings, *id, text, length);
    }
    return *id;
}

static void put(void *context, const meter_value *value)
{
    meters *m = context;
    uint64_t cells[COLUMNS] = {0};

    cells[TIME] = os_monotonic_ns() - m->begin_ns;
    cells[PROVIDER] = string_of(m, value->meter);
    cells[NAME] = string_of(m, value->name);
    cells[TITLE] = string_of(m, value->title);
    cells[UNIT] = string_of(m, value->unit);
    cells[KIND] = value->kind;
    cells[INTERVAL] = m->interval_ns;
    memcpy(&cells[VALUE], &value->value, sizeof value->value);
    cells[TAGS] = string_of(m, value->tags);
    if (m->row_count++ == 0)
        recording_rows_begin(&m->rows, &m->row_bytes, 0, TABLE_ID, &TABLE);
    recording_rows_put_row(&m->rows, cells);
}

static void on_event(void *context, const nettrace_event *event)
{
    meters *m = context;
    reader r = reader_of(event->payload, event->payload_length);

    if (!text_equal(event->metadata->provider, METER_EVENTS_PROVIDER))
        return;
    /* the source tells all its readers that one was refused: who has values was not */
    if (m->trouble.length == 0 && !m->is_defined && m->row_count == 0)
        meter_events_read_trouble(event->metadata->event_id, r, &m->trouble);
    buffer_clear(&m->scratch);
    if (meter_events_read_note(event->metadata->event_id, r, &m->scratch) && m->noted++ == 0)
        buffer_append(&m->note, m->scratch.data, m->scratch.length);
    if (m->begin_ns != 0 && !meter_events_read(event->metadata->event_id, r, put, m))
        m->not_understood++;
}

int meters_open(const diagnostics_process *process, const catalogue_selection *selection,
                meters **result, error *e)
{
    const char *wanted = "";
    buffer filter = BUFFER_EMPTY;
    eventpipe_provider provider = {METER_EVENTS_PROVIDER, METER_EVENTS_KEYWORDS, 4, NULL};
    eventpipe_options options = {.providers = &provider, .count = 1, .buffer_mb = 4};
    meters *m;
    nettrace_sink sink = {.event = on_event};
    uint64_t interval = 0;
    int code;

    *result = NULL;
    for (size_t i = 0; i < selection->count; i++) {
        if (!text_equal(selection->items[i].profiler->name, "counters"))
            continue;
        wanted = catalogue_text(&selection->items[i], "meters");
        interval = catalogue_number(&selection->items[i], "interval");
    }
    if (wanted[0] == '\0')
        return 0;
    m = memory_allocate_array(1, sizeof *m);
    sink.context = m;
    if (m != NULL)
        m->parser = nettrace_create(&sink);
    if (m == NULL || m->parser == NULL) {
        memory_free(m);
        return error_set(e, ERROR_MEMORY, "no memory to read meters");
    }
    m->interval_ns = interval;
    m->address = process->address;
    m->address.timeout_ms = STOP_MS;
    m->session.descriptor = -1;
    table_text_init(&m->strings);
    meter_events_append_filter(&filter, wanted, interval);
    provider.filter = buffer_text(&filter);
    code = eventpipe_start(&process->address, &options, &m->session, e);
    buffer_free(&filter);
    if (code != 0) {
        meters_close(m);
        return code;
    }
    *result = m;
    return 0;
}

int meters_descriptor(const meters *m)
{
    return m == NULL ? -1 : m->session.descriptor;
}

const char *meters_trouble(const meters *m)
{
    return m == NULL || m->trouble.length == 0 ? "" : buffer_text(&m->trouble);
}

static void write_note(meters *m, buffer *chunks)
{
    size_t chunk;

    if (m->noted == m->noted_before)
        return;
    chunk = recording_begin_chunk(chunks, RECORDING_LOSS, 0);
    recording_put_loss(chunks, "counters", buffer_text(&m->note), m->noted);
    recording_end_chunk(chunks, chunk);
    m->noted_before = m->noted;
}

static void write_chunks(meters *m, buffer *chunks)
{
    size_t chunk;

    write_note(m, chunks);
    if (m->row_count == 0)
        return;
    recording_rows_end(&m->rows);
    m->row_count = 0;
    if (!m->is_defined) {
        chunk = recording_begin_chunk(chunks, RECORDING_TABLE, 0);
        recording_put_table(chunks, TABLE_ID, &TABLE);
        recording_end_chunk(chunks, chunk);
        m->is_defined = true;
    }
    if (m->new_strings.length != 0)
        recording_put_chunk(chunks, RECORDING_STRING, 0, 0, m->new_strings.data,
                            m->new_strings.length);
    buffer_append(chunks, m->row_bytes.data, m->row_bytes.length);
    buffer_clear(&m->new_strings);
    buffer_clear(&m->row_bytes);
}

const char *meters_note(const meters *m)
{
    return m == NULL || m->note.length == 0 ? "" : buffer_text(&m->note);
}

void meters_take(meters *m, uint64_t begin_ns, buffer *chunks)
{
    uint8_t *piece = m == NULL || m->session.descriptor < 0 ? NULL : memory_allocate(PIECE);
    error e;

    if (piece == NULL)
        return;
    m->begin_ns = begin_ns;
    for (int i = 0; i < MOST_PIECES; i++) {
        long got = eventpipe_read(&m->session, piece, PIECE, 0, &e);

        if (got == ERROR_TIMEOUT)
            break;
        if (got <= 0 || nettrace_feed(m->parser, piece, (size_t)got, &e) != 0) {
            eventpipe_close(&m->session);
            break;
        }
    }
    write_chunks(m, chunks);
    memory_free(piece);
}

void meters_close(meters *m)
{
    if (m == NULL)
        return;
    if (m->session.descriptor >= 0)
        eventpipe_stop(&m->address, &m->session, NULL); /* the next reader must not meet us */
    eventpipe_close(&m->session);
    nettrace_free(m->parser);
    table_text_free(&m->strings);
    buffer_free(&m->new_strings);
    buffer_free(&m->row_bytes);
    buffer_free(&m->trouble);
    buffer_free(&m->note);
    buffer_free(&m->scratch);
    memory_free(m);
}
