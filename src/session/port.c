/* port: see port.h. */
#include "session/port.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/eventpipe.h"
#include "diagnostics/import.h"
#include "diagnostics/meter_events.h"
#include "session/heap_contents.h"
#include "session/heap_names.h"
#include "session/attach.h"
#include "session/port_providers.h"
#include "session/recorder.h"

enum {
    PIECE = 256 << 10,
    SILENCE_MS = 30000,
    STOP_TIMEOUT_MS = 30000,
    TOUCHY_MS = 1200,
    WAKE_MS = 5000,
    HEAP_MB = 512 /* of room in the program: a heap dump comes faster than it can be sent */
};

typedef struct {
    const session_options *options;
    const diagnostics_process *process;
    recorder *r;
    event_import *events;
    eventpipe_session session;
    const char *profilers[CATALOGUE_MAX_SELECTED]; /* those that work */
    size_t profiler_count;
    uint64_t started_ns;
    uint64_t heard_ns;  /* when the last bytes came */
    const char *reason; /* why it ends; NULL = it goes on */
    uint64_t ended_ns;  /* since it began */
    bool with_heap;
    type_index names; /* for a heap */
    bool may_read;    /* its memory */
    bool with_strings;
    const char *values; /* names of types */
    int process_id;
    bool is_over; /* the stream has ended */
    pthread_t stopper;
    bool has_stopper;
    char raw_path[4096]; /* where the stream itself is kept until all is written */
    int raw;             /* -1 = nowhere */
} port;

/* ---- what is wanted ---- */

bool port_has_profiler(const char *name)
{
    return port_providers_know(name);
}

/* Parameters that ask for what only the agent can tell. */
static const struct {
    const char *profiler;
    const char *parameter;
} AGENT_ONLY[] = {{"allocations", "live"}, {"jit", "inlining"}};

static void note_missing(session_result *result, const char *name, const char *parameter)
{
    size_t length = strlen(result->missing);

    snprintf(result->missing + length, sizeof result->missing - length, "%s%s%s%s",
             length == 0 ? "" : ", ", name, parameter[0] == '\0' ? "" : ".", parameter);
}

/* Its events have no contents, nor names of fields: they are in the process's memory. */
static void choose_of_heap(port *p, const catalogue_selected *heap, session_result *result)
{
    p->process_id = p->process->process_id;
    p->may_read = heap_contents_may_read(p->process_id);
    p->with_strings = catalogue_number(heap, "strings") != 0;
    p->values = catalogue_text(heap, "fields");
    if (p->may_read)
        return;
    note_missing(result, "heap", "field names (its memory may not be read)");
    if (p->with_strings)
        note_missing(result, "heap", "strings (its memory may not be read)");
    if (p->values[0] != '\0')
        note_missing(result, "heap", "fields (its memory may not be read)");
}

static void choose(port *p, session_result *result)
{
    const catalogue_selection *s = p->options->selection;

    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->items[i].profiler->name;

        if (!port_has_profiler(name)) {
            note_missing(result, name, "");
            continue;
        }
        p->profilers[p->profiler_count++] = name;
        for (size_t k = 0; k < sizeof AGENT_ONLY / sizeof *AGENT_ONLY; k++)
            if (text_equal(name, AGENT_ONLY[k].profiler) &&
                catalogue_number(&s->items[i], AGENT_ONLY[k].parameter) != 0)
                note_missing(result, name, AGENT_ONLY[k].parameter);
        if (text_equal(name, "heap"))
            choose_of_heap(p, &s->items[i], result);
    }
}

/* ---- the stream ---- */

/* Rows need names that come last. Until then the stream lies beside the recording as it came: a
 * tool that is killed leaves it, and `report` opens it. Not for a pipe. */
static void open_raw(port *p)
{
    struct stat found;

    if (stat(p->options->file, &found) != 0 || !S_ISREG(found.st_mode) || p->options->short_lived ||
        snprintf(p->raw_path, sizeof p->raw_path, "%s.nettrace", p->options->file) >=
            (int)sizeof p->raw_path)
        return;
    p->raw = open(p->raw_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static void close_raw(port *p)
{
    if (p->raw < 0)
        return;
    close(p->raw);
    unlink(p->raw_path);
    p->raw = -1;
}

/* The recording could not take all: then the stream stays. */
static void leave_raw(port *p)
{
    if (p->raw < 0)
        return;
    close(p->raw);
    snprintf(p->r->result->stream, sizeof p->r->result->stream, "%s", p->raw_path);
    p->raw = -1;
}

/* A disk that is full costs the copy, not the recording. */
static void keep_raw(port *p, const uint8_t *piece, size_t length)
{
    while (p->raw >= 0 && length > 0) {
        ssize_t n = write(p->raw, piece, length);

        if (n <= 0) {
            close_raw(p);
            return;
        }
        piece += n;
        length -= (size_t)n;
    }
}

/* The runtime answers when all is written, which needs somebody to read: not on this thread. */
static void *stop_stream(void *context)
{
    const port *p = context;
    ipc_address address = p->process->address;

    address.timeout_ms = STOP_TIMEOUT_MS;
    eventpipe_stop(&address, &p->session, NULL);
    return NULL;
}

static void begin_stop(port *p, const char *reason)
{
    if (p->reason != NULL)
        return;
    p->reason = reason;
    p->ended_ns = os_monotonic_ns() - p->started_ns;
    p->heard_ns = os_monotonic_ns();
    p->r->result->total.stopping = true;
    p->has_stopper = pthread_create(&p->stopper, NULL, stop_stream, p) == 0;
    if (!p->has_stopper)
        p->is_over = true; /* names are missing then */
}

/* Who waits for a snapshot and nothing else does not get half of one: what is still to come is not
 * read, and the runtime ends the session when we are gone. */
static void give_up_heap(port *p)
{
    p->reason = "stopped";
    p->ended_ns = os_monotonic_ns() - p->started_ns;
    p->r->result->total.stopping = true;
    p->is_over = true;
    import_forget_heap(p->events);
}

/* Shows what has come to who looks on: counters, of which nothing has to be named later. */
static void show_new(port *p)
{
    buffer chunks = BUFFER_EMPTY;
    recording_chunk chunk;

    import_append_new_counters(p->events, p->options->short_lived, &chunks);
    for (size_t at = 0; recording_take_chunk(chunks.data + at, chunks.length - at, &chunk) ==
                        RECORDING_CHUNK_WHOLE;
         at += chunk.whole)
        if (p->options->enough(p->options->context, &chunk))
            begin_stop(p, "stopped");
    buffer_free(&chunks);
}

/* Takes what has come. A stream that is not understood ends here; what was read is good. */
static void take(port *p, uint8_t *piece)
{
    session_result *result = p->r->result;
    error e;
    long got = eventpipe_read(&p->session, piece, PIECE, 0, &e);

    if (got == ERROR_TIMEOUT)
        return;
    if (got > 0) {
        p->heard_ns = os_monotonic_ns();
        keep_raw(p, piece, (size_t)got);
        if (import_feed(p->events, piece, (size_t)got, &e) == 0) {
            /* who waits for a snapshot has it */
            if (p->with_heap && p->options->enough != NULL && import_has_heap(p->events))
                begin_stop(p, "stopped");
            else if (!p->with_heap && p->options->enough != NULL)
                show_new(p);
            return;
        }
    }
    if (got != 0 && result->trouble.code == 0)
        result->trouble = e;
    if (p->reason == NULL) {
        p->ended_ns = os_monotonic_ns() - p->started_ns;
        p->reason = got == 0 ? "target exited" : "connection lost";
    }
    p->is_over = true;
}

static void keep_time(port *p)
{
    session_progress *total = &p->r->result->total;
    uint64_t now = os_monotonic_ns();
    uint64_t duration = p->options->duration_ns;

    if (p->reason == NULL)
        total->elapsed_ns = now - p->started_ns;
    import_count(p->events, &total->rows, &total->lost);
    if (duration != 0 && total->elapsed_ns >= duration)
        begin_stop(p, "duration");
    if (p->reason != NULL && now > p->heard_ns + (uint64_t)SILENCE_MS * 1000000) {
        if (p->r->result->trouble.code == 0)
            error_set(&p->r->result->trouble, ERROR_TIMEOUT,
                      "process %d did not end its event stream", p->process->process_id);
        p->is_over = true;
    }
    if (p->options->progress != NULL)
        p->options->progress(p->options->context, total);
}

static int time_to_wait(const port *p)
{
    uint64_t duration = p->options->duration_ns;
    uint64_t passed = os_monotonic_ns() - p->started_ns;

    if (duration == 0 || p->reason != NULL ||
        duration > passed + (uint64_t)RECORDER_TICK_MS * 1000000)
        return RECORDER_TICK_MS;
    return duration <= passed ? 0 : (int)((duration - passed) / 1000000) + 1;
}

static int pump(port *p, error *e)
{
    uint8_t *piece = memory_allocate(PIECE);

    if (piece == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the event stream");
    while (!p->is_over) {
        struct pollfd polled[2] = {{p->session.descriptor, POLLIN, 0},
                                   {p->reason != NULL ? -1 : p->options->stop, POLLIN, 0}};

        if (poll(polled, 2, time_to_wait(p)) > 0) {
            if (polled[0].revents != 0)
                take(p, piece);
            if (polled[1].revents != 0 && p->with_heap && p->options->enough != NULL &&
                !import_has_heap(p->events))
                give_up_heap(p);
            else if (polled[1].revents != 0)
                begin_stop(p, "stopped");
        }
        keep_time(p);
    }
    memory_free(piece);
    return 0;
}

/* ---- the recording ---- */

static void put_way(port *p, const error *why, buffer *out)
{
    const catalogue_selection *s = p->options->selection;
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, 0);

    recording_put_info(out, "attach", "port");
    recording_put_info(out, "runtime_version", p->process->runtime_version);
    recording_put_info(out, "port_reason", why->code == 0 ? "it was asked for" : why->message);
    recording_end_chunk(out, chunk);
    chunk = recording_begin_chunk(out, RECORDING_PROFILER, 0);
    for (size_t i = 0; i < s->count; i++)
        if (!port_has_profiler(s->items[i].profiler->name))
            recording_put_profiler(out, s->items[i].profiler->name, RECORDING_FAILED, 0,
                                   "it needs the agent in the process", NULL, 0);
    recording_end_chunk(out, chunk);
}

/* Lines for the frames, while the process's files can be seen. */
static void put_lines(const port *p, const buffer *chunks, buffer *out)
{
    char root[32];
    symbolizer *symbols;
    recording_chunk chunk;

    snprintf(root, sizeof root, "/proc/%d/root", p->process->process_id);
    symbols = symbolize_open(root);
    for (size_t at = 0;
         symbols != NULL && recording_take_chunk(chunks->data + at, chunks->length - at, &chunk) ==
                                RECORDING_CHUNK_WHOLE;
         at += chunk.whole)
        symbolize_take(symbols, &chunk);
    if (symbols != NULL)
        symbolize_write(symbols, 0, out);
    symbolize_close(symbols);
}

/* What is known from the begin on, so that a recording that is killed tells it too. */
static int write_begin(port *p, const error *why, error *e)
{
    buffer chunks = BUFFER_EMPTY;
    peer self = {.process_id = p->process->process_id};
    int code;

    put_way(p, why, &chunks);
    code = recording_writer_append(p->r->writer, &chunks, e);
    buffer_free(&chunks);
    recorder_describe(p->r, &self);
    return code != 0 ? code : recording_writer_flush(p->r->writer, e);
}

/* A file that does not take all keeps what it took, and the trouble is noted. */
static int write_all(port *p, error *e)
{
    import_wishes wishes = {p->profilers, p->profiler_count, p->reason, p->ended_ns};
    buffer chunks = BUFFER_EMPTY;
    buffer lines = BUFFER_EMPTY;
    int code = import_write(p->events, &wishes, &chunks, e);

    import_count(p->events, &p->r->result->total.rows, &p->r->result->total.lost);
    if (code == 0) {
        put_lines(p, &chunks, &lines);
        code = recording_writer_append(p->r->writer, &chunks, e);
    }
    if (code == 0)
        code = recording_writer_append(p->r->writer, &lines, e);
    buffer_free(&chunks);
    buffer_free(&lines);
    if (code != ERROR_IO)
        return code;
    if (p->r->result->trouble.code == 0)
        p->r->result->trouble = *e;
    return 0;
}

static int refuse(error *e)
{
    error_set(e, ERROR_UNSUPPORTED,
              "none of these profilers works through the diagnostics port alone");
    return error_advise(e, "gc, pauses, allocations, exceptions, jit, contention, counters, "
                           "http and heap do"),
           ERROR_UNSUPPORTED;
}

/* A short session before the one that counts, of which nothing is kept. The first one in a process
 * makes the runtime's event sources: thousands of objects, and static fields, right behind a heap
 * dump, before it is read. And where nothing has asked for meters yet, their source is made under
 * the lock of all sources, and with it the one of the pool of arrays, which a thread that publishes
 * counters makes too: in one session with them both may wait for each other for ever. Nothing is
 * said of it where it fails. */
static void wake(port *p, const char *name, uint64_t keywords, uint32_t level)
{
    const eventpipe_provider provider = {name, keywords, level, NULL};
    const eventpipe_options options = {.providers = &provider, .count = 1, .buffer_mb = 1};
    eventpipe_session session;
    uint8_t ignored[4096];
    uint64_t end = os_monotonic_ns() + (uint64_t)WAKE_MS * 1000000;
    long got;

    if (eventpipe_start(&p->process->address, &options, &session, NULL) != 0)
        return;
    eventpipe_stop(&p->process->address, &session, NULL);
    do
        got = eventpipe_read(&session, ignored, sizeof ignored, RECORDER_TICK_MS, NULL);
    while ((got > 0 || got == ERROR_TIMEOUT) && os_monotonic_ns() < end);
    eventpipe_close(&session);
}

static int start(port *p, error *e)
{
    port_providers wanted;
    eventpipe_options options = {.rundown = true};
    double age = p->process->uptime_seconds;

    /* .NET 8 can lock up when it is asked in its first moments (docs/nettrace.md) */
    if (age * 1000 < TOUCHY_MS)
        os_sleep_ms((unsigned)(TOUCHY_MS - age * 1000));
    port_providers_choose(&wanted, p->options->selection, p->process->runtime_version);
    options.providers = wanted.items;
    options.count = wanted.count;
    p->with_heap = wanted.with_heap;
    if (wanted.with_heap)
        options.buffer_mb = HEAP_MB;
    p->events = import_create();
    if (p->events == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the events");
    if (!wanted.with_messages)
        import_leave_out_messages(p->events);
    import_set_meter_interval(p->events, wanted.meter_interval);
    if (wanted.with_heap) {
        import_namer namer = heap_names_read(&p->names, p->process->process_id);

        import_set_namer(p->events, &namer);
        if (p->may_read)
            import_set_memory(p->events, &(class_memory){heap_contents_read, &p->process_id},
                              p->with_strings, p->values);
    }
    if (wanted.meters[0] != '\0')
        wake(p, METER_EVENTS_PROVIDER, METER_EVENTS_KEYWORDS, 4);
    else if (wanted.with_heap)
        wake(p, PORT_RUNTIME, PORT_NO_KEYWORDS, 1);
    return eventpipe_start(&p->process->address, &options, &p->session, e);
}

int port_record(const session_options *options, const diagnostics_process *process,
                const error *why, session_result *result, error *e)
{
    port p = {.options = options, .process = process, .session = {0, -1}, .raw = -1};
    int code;

    p.r = recorder_create(options, result, e);
    if (p.r == NULL)
        return e->code;
    choose(&p, result);
    code = p.profiler_count == 0 ? refuse(e) : start(&p, e);
    if (code != 0 && p.profiler_count > 0 && attach_ends_now(process)) {
        code = error_set(e, ERROR_GONE, "process %d ended before the recording began",
                         process->process_id);
    } else if (code != 0 && why->code != 0) {
        *e = *why;
        code = why->code;
    }
    if (code == 0) {
        result->through_port = true;
        result->total.started = true;
        result->total.processes = 1;
        result->total.duration_ns = options->duration_ns;
        result->total.port_reason = why;
        p.started_ns = os_monotonic_ns();
        code = write_begin(&p, why, e);
        open_raw(&p);
        if (code == 0)
            code = pump(&p, e);
        eventpipe_close(&p.session);
        if (p.has_stopper)
            pthread_join(p.stopper, NULL);
    }
    if (code == 0 && !import_has_begun(p.events)) {
        code = result->trouble.code != 0 ? result->trouble.code : ERROR_GONE;
        error_set(e, code, "process %d ended before the recording began", process->process_id);
    }
    snprintf(result->meter_note, sizeof result->meter_note, "%s",
             p.events == NULL ? "" : import_meter_note(p.events));
    if (code == 0 && import_meter_trouble(p.events)[0] != '\0' && result->trouble.code == 0)
        error_set(&result->trouble, ERROR_BUSY, "%s", import_meter_trouble(p.events));
    if (code == 0)
        code = write_all(&p, e);
    import_free(p.events);
    type_index_free(&p.names);
    if (code != 0) {
        close_raw(&p);
        recorder_abandon(p.r);
        return code;
    }
    p.r->reason = p.reason;
    if (recording_writer_finish(p.r->writer, NULL) != 0)
        leave_raw(&p);
    recorder_close(p.r);
    close_raw(&p);
    return 0;
}
