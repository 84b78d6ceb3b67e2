/* recorder: see recorder.h. */
#include "session/recorder.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "diagnostics/procfs.h"
#include "session/admission.h"
#include "session/description.h"
#include "session/give_way.h"
#include "session/silence.h"

enum {
    ANSWER_MS = 20000, /* a busy machine, a large program: not the same as a hung one */
    STOP_MS = 30000,
    LEAVE_MS = 20000, /* between the runtime's shutdown, when the agent goes, and the end */
    STATUS_MS = 500,
    UNTOLD_MS = 2000,   /* since an agent told its state: it is asked, which wakes it */
    SILENCE_MS = 60000, /* of an agent that is to send one thing: its runtime cannot be suspended */
};

static void take(recorder *r, peer *p, const recording_chunk *chunk);

static uint64_t in_ms(unsigned milliseconds)
{
    return os_monotonic_ns() + (uint64_t)milliseconds * 1000000;
}

/* The first trouble is the one that is told. */
static void note_trouble(recorder *r, const error *e)
{
    if (r->result->trouble.code == 0)
        r->result->trouble = *e;
}

/* The file does not take any more: what is there is good; everything stops. */
static void file_failed(recorder *r, const error *e)
{
    note_trouble(r, e);
    recorder_stop(r, "tool stopped");
}

static void append(recorder *r, const buffer *chunks)
{
    error e;

    if (chunks->length != 0 && recording_writer_append(r->writer, chunks, &e) != 0)
        file_failed(r, &e);
}

void recorder_append_own(recorder *r, const buffer *chunks)
{
    recording_chunk chunk;

    append(r, chunks);
    for (size_t at = 0; r->options->enough != NULL && at < chunks->length &&
                        recording_take_chunk(chunks->data + at, chunks->length - at, &chunk) ==
                            RECORDING_CHUNK_WHOLE;
         at += chunk.whole)
        if (r->options->enough(r->options->context, &chunk) && !r->stopping)
            recorder_stop(r, "stopped");
}

recorder *recorder_create(const session_options *options, session_result *result, error *e)
{
    recorder *r = memory_allocate_array(1, sizeof *r);
    buffer chunks = BUFFER_EMPTY;

    memset(result, 0, sizeof *result);
    if (r == NULL) {
        error_set(e, ERROR_MEMORY, "no memory for a recording");
        return NULL;
    }
    r->options = options;
    r->result = result;
    r->listener = -1;
    admission_reserve(r);
    r->origin_ns = os_monotonic_ns();
    if (recording_writer_create(options->file, &r->writer, e) != 0) {
        admission_release(r);
        memory_free(r);
        return NULL;
    }
    recording_writer_pack(r->writer, !options->short_lived);
    description_put_tool(&chunks, options->command);
    if (recording_writer_append(r->writer, &chunks, e) != 0) {
        recorder_abandon(r);
        r = NULL;
    }
    buffer_free(&chunks);
    return r;
}

peer *recorder_add(recorder *r, session_link link, bool welcomed, int process_id)
{
    peer *p = r->peer_count == RECORDER_MAX_LINKS ? NULL : memory_allocate_array(1, sizeof *p);
    procfs_stat stat;

    if (p == NULL) {
        link_close(&link);
        return NULL;
    }
    p->link = link;
    p->process_id = process_id;
    if (process_id != 0 && procfs_read_stat(process_id, &stat))
        p->start_ticks = stat.start_ticks;
    p->phase = welcomed ? PEER_GREETING : PEER_ANNOUNCING;
    p->deadline_ns = in_ms(ANSWER_MS);
    r->peers[r->peer_count++] = p;
    r->admitted++;
    return p;
}

static void drop(recorder *r, peer *p, const char *reason)
{
    if (p->phase < PEER_RECORDING)
        r->result->total.not_started++;
    else if (p->end == NULL)
        p->end = reason;
    p->phase = PEER_DONE;
    link_close(&p->link);
}

void recorder_start(recorder *r, peer *p)
{
    buffer message = BUFFER_EMPTY;
    char root[32];
    error e;

    if (r->next_index == 0)
        give_way_to_program(r->options);
    p->index = r->next_index++;
    control_put_start(&message, r->options->selection);
    p->phase = PEER_STARTING;
    p->deadline_ns = in_ms(ANSWER_MS);
    if (p->process_id != 0) {
        snprintf(root, sizeof root, "/proc/%d/root", p->process_id);
        p->symbols = symbolize_open(root);
    }
    if (link_send(&p->link, &message, &e) != 0) {
        note_trouble(r, &e);
        drop(r, p, RECORDING_END_LOST);
    }
    buffer_free(&message);
}

void recorder_describe(recorder *r, peer *p)
{
    buffer chunks = BUFFER_EMPTY;

    description_put(&chunks, p->index, p->process_id);
    append(r, &chunks);
    buffer_free(&chunks);
}

static void write_symbols(recorder *r, peer *p)
{
    buffer chunks = BUFFER_EMPTY;

    if (p->symbols == NULL)
        return;
    symbolize_write(p->symbols, p->index, &chunks);
    append(r, &chunks);
    buffer_free(&chunks);
}

static bool is_alive(const peer *p)
{
    return p->process_id != 0 && procfs_is_alive(p->process_id, p->start_ticks);
}

/* At the end: by then it has loaded what it needs. */
static void describe_assemblies(recorder *r, peer *p)
{
    buffer chunks = BUFFER_EMPTY;

    if (p->process_id == 0 || r->options->short_lived)
        return;
    description_put_assemblies(&chunks, p->index, p->process_id);
    append(r, &chunks);
    buffer_free(&chunks);
}

/* The process goes on without its connection. */
static void tell_closed(recorder *r, peer *p)
{
    error e;
    bool gave_up = silence_tell_closed(r, p, &e);

    note_trouble(r, &e);
    describe_assemblies(r, p);
    drop(r, p, gave_up ? RECORDING_END_LOST : RECORDING_END_CLOSED);
}

/* The connection has ended. A process that ends closes it early: what comes after the runtime's
 * shutdown can take its time. So its end is waited for, among all else. Without a word of the
 * agent only the kernel closes it, of a process that is ending; or the program does, which goes
 * on. */
static void leave(recorder *r, peer *p)
{
    int process = is_alive(p) ? (int)syscall(SYS_pidfd_open, p->process_id, 0) : -1;

    p->gone_ns = os_monotonic_ns();
    if (process >= 0 && p->stop_ns == 0 && is_alive(p)) {
        close(process);
        silence_note_missed(r, r->turned_ns, p->gone_ns);
        tell_closed(r, p);
        return;
    }
    if (process < 0) {
        drop(r, p, is_alive(p) ? RECORDING_END_LOST : "target exited");
        return;
    }
    describe_assemblies(r, p);
    link_close(&p->link);
    link_init(&p->link, process);
    p->phase = PEER_LEAVING;
    p->deadline_ns = in_ms(LEAVE_MS);
}

static void serve(recorder *r, peer *p)
{
    recording_chunk chunk;
    error e;
    int code;

    if (p->phase == PEER_LEAVING) {
        drop(r, p, "target exited");
        return;
    }
    error_clear(&e);
    code = link_read(&p->link, &e);
    if (code != 0 && code != ERROR_GONE)
        note_trouble(r, &e);
    error_clear(&e);
    while (p->phase != PEER_DONE && link_next(&p->link, &chunk, &e))
        take(r, p, &chunk);
    if (e.code != 0) {
        note_trouble(r, &e);
        code = e.code;
    }
    if (p->phase >= PEER_RECORDING && p->phase != PEER_DONE && code == ERROR_GONE)
        leave(r, p);
    else if (p->phase != PEER_DONE && code != 0)
        drop(r, p, p->phase >= PEER_STARTING && is_alive(p) ? RECORDING_END_LOST : "target exited");
}

static void take_welcome(recorder *r, peer *p, const recording_chunk *chunk)
{
    control_welcome welcome;
    error e;

    if (control_get_welcome(reader_of(chunk->payload, chunk->length), &welcome, &e) != 0 ||
        link_check_welcome(&welcome, &e) != 0) {
        note_trouble(r, &e);
        drop(r, p, RECORDING_END_LOST);
        return;
    }
    recorder_start(r, p);
}

static void take_announcement(recorder *r, peer *p, const recording_chunk *chunk)
{
    control_hello hello;
    buffer message = BUFFER_EMPTY;

    if (chunk->kind != CONTROL_ANNOUNCE ||
        control_get_hello(reader_of(chunk->payload, chunk->length), &hello, NULL) != 0 ||
        !control_token_equal(hello.token, r->token)) {
        drop(r, p, RECORDING_END_LOST);
        return;
    }
    link_put_hello(&message, r->token);
    p->phase = PEER_GREETING;
    p->deadline_ns = in_ms(ANSWER_MS);
    if (link_send(&p->link, &message, NULL) != 0)
        drop(r, p, RECORDING_END_LOST);
    buffer_free(&message);
}

static void take_answer(recorder *r, peer *p, const recording_chunk *chunk)
{
    control_state state;
    error e;

    switch (chunk->kind) {
    case CONTROL_STARTED:
        p->phase = PEER_RECORDING;
        p->deadline_ns = in_ms(SILENCE_MS);
        p->started_ns = os_monotonic_ns();
        if (r->started_ns == 0)
            r->started_ns = p->started_ns;
        r->result->total.processes++;
        recorder_describe(r, p);
        if (r->stopping)
            recorder_stop(r, r->reason);
        break;
    case CONTROL_STOPPED:
        p->end = r->reason;
        describe_assemblies(r, p);
        link_send_plain(&p->link, CONTROL_GOODBYE, NULL);
        drop(r, p, r->reason);
        break;
    case CONTROL_STATE:
        if (control_get_state(reader_of(chunk->payload, chunk->length), &state, NULL) == 0) {
            p->rows = state.rows;
            p->lost = state.lost;
            p->told_ns = os_monotonic_ns();
        }
        break;
    case CONTROL_REFUSED:
        control_get_refused(reader_of(chunk->payload, chunk->length), &e);
        note_trouble(r, &e);
        drop(r, p, RECORDING_END_LOST);
        break;
    default:
        break;
    }
}

/* It stops by itself when the runtime shuts down, and sends its last. */
static void note_farewell(peer *p, const recording_chunk *chunk)
{
    reader in = reader_of(chunk->payload, chunk->length);
    recording_profiler profiler;

    if (recording_next_profiler(&in, &profiler) && profiler.state == RECORDING_STOPPED)
        p->stop_ns = profiler.time;
}

static void take(recorder *r, peer *p, const recording_chunk *chunk)
{
    error e;

    if (p->phase == PEER_RECORDING)
        p->deadline_ns = in_ms(SILENCE_MS);
    if (p->phase == PEER_ANNOUNCING) {
        take_announcement(r, p, chunk);
    } else if (chunk->kind == CONTROL_WELCOME && p->phase == PEER_GREETING) {
        take_welcome(r, p, chunk);
    } else if (chunk->kind >= 0x8000) {
        take_answer(r, p, chunk);
    } else if (p->phase >= PEER_STARTING) {
        if (chunk->kind == RECORDING_PROFILER)
            note_farewell(p, chunk);
        if (p->symbols != NULL)
            symbolize_take(p->symbols, chunk);
        if (recording_writer_append_received(r->writer, chunk, p->index, &e) != 0)
            file_failed(r, &e);
        if (r->options->enough != NULL && !r->stopping &&
            r->options->enough(r->options->context, chunk))
            recorder_stop(r, "stopped");
    }
}

void recorder_stop(recorder *r, const char *reason)
{
    r->stopping = true;
    if (r->reason == NULL)
        r->reason = reason;
    for (size_t i = 0; i < r->peer_count; i++) {
        peer *p = r->peers[i];

        if (p->phase == PEER_RECORDING) {
            p->phase = PEER_STOPPING;
            p->deadline_ns = in_ms(STOP_MS);
            link_send_plain(&p->link, CONTROL_STATUS, NULL);
            if (link_send_plain(&p->link, CONTROL_STOP, NULL) != 0)
                drop(r, p, RECORDING_END_LOST);
        } else if (p->phase < PEER_STARTING) {
            drop(r, p, reason);
        } else if (p->phase == PEER_LEAVING) {
            drop(r, p, is_alive(p) ? RECORDING_END_LOST : "target exited");
        }
    }
}

/* Writes the last of a peer. */
static void conclude(recorder *r, peer *p)
{
    buffer chunks = BUFFER_EMPTY;
    uint64_t end_ns;
    size_t chunk;

    write_symbols(r, p);
    if (p->end == NULL)
        return;
    if (r->gone_end == NULL)
        r->gone_end = p->end;
    end_ns = p->gone_ns != 0 ? p->gone_ns : os_monotonic_ns();
    chunk = recording_begin_chunk(&chunks, RECORDING_END, p->index);
    recording_put_end(&chunks, p->end, end_ns - p->started_ns);
    recording_end_chunk(&chunks, chunk);
    append(r, &chunks);
    buffer_free(&chunks);
    /* What was recorded is as long as the reports say: by the agent's clock, which began before we
     * heard of it. */
    if (p->stop_ns != 0 && p->stop_ns < end_ns - r->origin_ns)
        end_ns = p->started_ns + p->stop_ns;
    r->ended_ns = end_ns > r->ended_ns ? end_ns : r->ended_ns;
}

static void free_peer(peer *p)
{
    link_close(&p->link);
    symbolize_close(p->symbols);
    memory_free(p);
}

/* Who has ended makes room. */
static void retire(recorder *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->peer_count; i++) {
        peer *p = r->peers[i];

        if (p->phase != PEER_DONE) {
            r->peers[kept++] = p;
            continue;
        }
        conclude(r, p);
        r->gone_rows += p->rows;
        r->gone_lost += p->lost;
        admission_remember(r, p->process_id);
        free_peer(p);
    }
    r->peer_count = kept;
}

/* Deadlines, the duration, progress. */
static void keep_time(recorder *r)
{
    uint64_t now = os_monotonic_ns();
    session_progress *total = &r->result->total;
    error e;

    retire(r);
    total->rows = r->gone_rows;
    total->lost = r->gone_lost;
    for (size_t i = 0; i < r->peer_count; i++) {
        peer *p = r->peers[i];

        total->rows += p->rows;
        total->lost += p->lost;
        if (!silence_is_too_long(r, p, now, &e))
            continue;
        if (p->phase != PEER_ANNOUNCING && p->phase != PEER_LEAVING)
            note_trouble(r, &e);
        drop(r, p, RECORDING_END_LOST);
    }
    if (now >= r->next_status_ns) {
        r->next_status_ns = now + (uint64_t)STATUS_MS * 1000000;
        for (size_t i = 0; i < r->peer_count; i++) {
            if (r->peers[i]->phase == PEER_RECORDING &&
                now >= r->peers[i]->told_ns + (uint64_t)UNTOLD_MS * 1000000)
                link_send_plain(&r->peers[i]->link, CONTROL_STATUS, NULL);
            write_symbols(r, r->peers[i]);
        }
    }
    if (r->started_ns != 0 && !r->stopping)
        total->elapsed_ns = now - r->started_ns;
    total->started = r->started_ns != 0;
    total->stopping = r->stopping;
    total->duration_ns = r->options->duration_ns;
    total->bytes = recording_writer_size(r->writer);
    if (r->options->duration_ns != 0 && total->elapsed_ns >= r->options->duration_ns &&
        !r->stopping)
        recorder_stop(r, "duration");
    if (total->started && recording_writer_flush(r->writer, &e) != 0 &&
        r->result->trouble.code == 0)
        file_failed(r, &e);
    if (r->options->progress != NULL)
        r->options->progress(r->options->context, total);
}

static int time_to_wait(const recorder *r)
{
    uint64_t end = r->started_ns + r->options->duration_ns;
    uint64_t now = os_monotonic_ns();

    if (r->started_ns == 0 || r->options->duration_ns == 0 || r->stopping ||
        end > now + (uint64_t)RECORDER_TICK_MS * 1000000)
        return RECORDER_TICK_MS;
    return end <= now ? 0 : (int)((end - now) / 1000000) + 1;
}

void recorder_round(recorder *r, int extra)
{
    struct pollfd polled[RECORDER_MAX_LINKS + 3];
    size_t who[RECORDER_MAX_LINKS + 3];
    nfds_t count = 3;
    int wait = time_to_wait(r);
    uint64_t begin = os_monotonic_ns();
    int ready;

    silence_note_missed(r, r->turned_ns, begin);
    polled[0] = (struct pollfd){r->stopping ? -1 : r->options->stop, POLLIN, 0};
    polled[1] = (struct pollfd){r->listener, POLLIN, 0};
    polled[2] = (struct pollfd){extra, POLLIN, 0};
    for (size_t i = 0; i < r->peer_count; i++) {
        if (r->peers[i]->phase == PEER_DONE)
            continue;
        who[count] = i;
        polled[count++] = (struct pollfd){r->peers[i]->link.descriptor, POLLIN, 0};
    }
    ready = poll(polled, count, wait);
    r->turned_ns = os_monotonic_ns();
    silence_note_missed(r, begin + (uint64_t)wait * 1000000, r->turned_ns);
    if (ready > 0) {
        for (nfds_t i = 3; i < count; i++)
            if (polled[i].revents != 0 && r->peers[who[i]]->phase != PEER_DONE)
                serve(r, r->peers[who[i]]);
        if (polled[1].revents != 0)
            admission_take_all(r);
        if (polled[0].revents != 0 && (r->pass_on == NULL || !r->pass_on(r)))
            recorder_stop(r, "stopped");
    }
    keep_time(r);
}

bool recorder_is_done(const recorder *r)
{
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i]->phase != PEER_DONE)
            return false;
    return true;
}

void recorder_finish_listening(recorder *r)
{
    if (r->listener >= 0)
        close(r->listener);
    r->listener = -1;
}

static void free_peers(recorder *r)
{
    recorder_finish_listening(r);
    for (size_t i = 0; i < r->peer_count; i++)
        free_peer(r->peers[i]);
    r->peer_count = 0;
    buffer_free(&r->known);
    admission_release(r);
}

void recorder_close(recorder *r)
{
    buffer chunks = BUFFER_EMPTY;
    error e;

    for (size_t i = 0; i < r->peer_count; i++)
        conclude(r, r->peers[i]);
    if (r->ended_ns > r->started_ns && r->started_ns != 0)
        r->result->total.elapsed_ns = r->ended_ns - r->started_ns;
    if (r->reason == NULL)
        r->reason = r->gone_end;
    if (r->result->total.not_recorded != 0) {
        description_put_not_recorded(&chunks, r->result->total.not_recorded);
        append(r, &chunks);
        buffer_free(&chunks);
    }
    r->result->is_cut = recording_writer_finish(r->writer, &e) != 0;
    if (r->result->is_cut)
        note_trouble(r, &e);
    r->result->total.bytes = recording_writer_size(r->writer);
    r->result->reason = r->reason == NULL ? "target exited" : r->reason;
    if (recording_writer_close(r->writer, &e) != 0)
        note_trouble(r, &e);
    free_peers(r);
    memory_free(r);
}

void recorder_abandon(recorder *r)
{
    free_peers(r);
    recording_writer_abandon(r->writer);
    memory_free(r);
}
