/* recorder: see recorder.h. */
#include "session/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/procfs.h"
#include "diagnostics/secrets.h"
#include "session/facts.h"

enum {
    ANSWER_MS = 20000, /* a busy machine, a large program: not the same as a hung one */
    STOP_MS = 30000,
    LEAVE_MS = 20000,  /* between the runtime's shutdown, when the agent goes, and the end */
    STOPPED_MS = 2000, /* of a process that is stopped and is to answer */
    STATUS_MS = 500,
    UNTOLD_MS = 2000,   /* since an agent told its state: it is asked, which wakes it */
    SILENCE_MS = 60000, /* of an agent that is to send one thing: its runtime cannot be suspended */
    LATER_NICE = 5,     /* more: on a full machine the agent would wait for us in vain */
    SPARE_DESCRIPTORS = 8, /* for the files that are looked into while processes are recorded */
};
/* So long the agent waits for nobody who does not read (5 s, less what was under way); and so soon
 * after it we find the connection closed. */
#define MISSED_NS        UINT64_C(4000000000)
#define MISSED_LATELY_NS UINT64_C(10000000000)

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

static void put_number(buffer *out, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    recording_put_info(out, key, text);
}

recorder *recorder_create(const session_options *options, session_result *result, error *e)
{
    recorder *r = memory_allocate_array(1, sizeof *r);
    buffer chunks = BUFFER_EMPTY;
    size_t chunk;

    memset(result, 0, sizeof *result);
    if (r == NULL) {
        error_set(e, ERROR_MEMORY, "no memory for a recording");
        return NULL;
    }
    r->options = options;
    r->result = result;
    r->listener = -1;
    r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    r->origin_ns = os_monotonic_ns();
    if (recording_writer_create(options->file, &r->writer, e) != 0) {
        if (r->spare >= 0)
            close(r->spare);
        memory_free(r);
        return NULL;
    }
    recording_writer_pack(r->writer, !options->short_lived);
    chunk = recording_begin_chunk(&chunks, RECORDING_INFO, RECORDING_PROCESS_NONE);
    recording_put_info(&chunks, "tool_version", CLARINET_VERSION);
    recording_put_info(&chunks, "command", options->command == NULL ? "" : options->command);
    put_number(&chunks, "created_unix_ns", os_realtime_ns());
    recording_end_chunk(&chunks, chunk);
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

/* What the program wants to do comes first, before the names of its code are looked up, which is
 * most of our work. Samples are few and can wait; of other records there may be so many that they
 * would be lost, and while the heap is read the program stands still. */
static void give_way(const session_options *options)
{
    const catalogue_selection *selection = options->selection;

    if (options->enough != NULL)
        return; /* somebody watches */
    for (size_t i = 0; i < selection->count; i++)
        if (!text_equal(selection->items[i].profiler->name, "cpu") &&
            !text_equal(selection->items[i].profiler->name, "wall"))
            return;
    setpriority(PRIO_PROCESS, (id_t)os_thread_id(),
                getpriority(PRIO_PROCESS, (id_t)os_thread_id()) + LATER_NICE);
}

void recorder_start(recorder *r, peer *p)
{
    buffer message = BUFFER_EMPTY;
    char root[32];
    error e;

    if (r->next_index == 0)
        give_way(r->options);
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

static void put_user(buffer *out, int process_id)
{
    buffer status = BUFFER_EMPTY;
    unsigned user;
    const char *line;
    struct passwd *entry;

    if (procfs_read(process_id, "status", 65536, &status) == 0 &&
        (line = strstr(buffer_text(&status), "\nUid:")) != NULL &&
        sscanf(line, "\nUid: %*u %u", &user) == 1) {
        entry = getpwuid(user);
        if (entry != NULL)
            recording_put_info(out, "user", entry->pw_name);
        else
            put_number(out, "user", user);
    }
    buffer_free(&status);
}

void recorder_name(const buffer *cmdline, char *name, size_t room)
{
    const char *word = buffer_text(cmdline);
    const char *end = word + cmdline->length;
    const char *best = word;
    const char *slash;

    for (const char *p = word; p < end; p += strlen(p) + 1) {
        size_t length = strlen(p);

        if (length > 4 && strcmp(p + length - 4, ".dll") == 0) {
            best = p;
            break;
        }
    }
    slash = strrchr(best, '/');
    snprintf(name, room, "%s", slash == NULL ? best : slash + 1);
    if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".dll") == 0)
        name[strlen(name) - 4] = '\0';
}

void recorder_describe(recorder *r, peer *p)
{
    buffer chunks = BUFFER_EMPTY;
    buffer cmdline = BUFFER_EMPTY;
    buffer hidden = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    size_t chunk = recording_begin_chunk(&chunks, RECORDING_INFO, p->index);
    char host[256] = "";
    char name[128];

    if (gethostname(host, sizeof host - 1) == 0)
        recording_put_info(&chunks, "host", host);
    if (p->process_id != 0 && procfs_read(p->process_id, "cmdline", 65536, &cmdline) == 0) {
        recorder_name(&cmdline, name, sizeof name);
        secrets_append_command(&hidden, buffer_text(&cmdline), cmdline.length, '\0');
        procfs_append_command_line(&text, &hidden);
        recording_put_info(&chunks, "command_line", buffer_text(&text));
        recording_put_info(&chunks, "name", name);
        recording_put_info(&chunks, "entry_assembly", name);
        put_user(&chunks, p->process_id);
        facts_put(&chunks, p->process_id);
    }
    recording_end_chunk(&chunks, chunk);
    append(r, &chunks);
    buffer_free(&chunks);
    buffer_free(&cmdline);
    buffer_free(&hidden);
    buffer_free(&text);
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
    size_t chunk;

    if (p->process_id == 0 || r->options->short_lived)
        return;
    chunk = recording_begin_chunk(&chunks, RECORDING_INFO, p->index);
    facts_put_assemblies(&chunks, p->process_id);
    recording_end_chunk(&chunks, chunk);
    append(r, &chunks);
    buffer_free(&chunks);
}

/* This process was to come back at `expected`. */
static void note_missed(recorder *r, uint64_t expected, uint64_t now)
{
    if (expected == 0 || now < expected + MISSED_NS)
        return;
    r->missed_ns = now - expected;
    r->missed_until_ns = now;
}

/* The process goes on without its connection: the agent has given up on us, who did not read, or
 * the program has closed it. */
static void tell_closed(recorder *r, peer *p)
{
    bool gave_up = r->missed_ns != 0 && p->gone_ns < r->missed_until_ns + MISSED_LATELY_NS;
    const char *kept = r->options->short_lived ? "" : "what came until then is recorded; ";
    error e;

    if (gave_up) {
        error_set(&e, ERROR_GONE,
                  "this command stood still for %.0f s, and the agent in process %d did not wait "
                  "for it any longer",
                  (double)r->missed_ns / 1e9, p->process_id);
        error_advise(&e, "%sthe program goes on: try again, and leave the command running", kept);
    } else {
        error_set(&e, ERROR_GONE, "process %d has closed the connection of the agent in it",
                  p->process_id);
        error_advise(&e,
                     "%sif the program closes descriptors that it did not open, record it after "
                     "that, by its PID",
                     kept);
    }
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
        note_missed(r, r->turned_ns, p->gone_ns);
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

/* A descriptor has the lowest free number: a high one says that few are left. */
static bool has_room(const recorder *r, int descriptor)
{
    struct rlimit limit;

    return r->peer_count < RECORDER_MAX_LINKS && r->admitted < RECORDING_MAXIMUM_PROCESSES &&
           (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
            (rlim_t)descriptor + SPARE_DESCRIPTORS < limit.rlim_cur);
}

/* The process is told at once, by the end of its connection, and goes on without us. */
static void turn_away(recorder *r, int descriptor, int process_id)
{
    r->result->total.not_recorded++;
    if (process_id != 0)
        buffer_append(&r->known, &process_id, sizeof process_id);
    close(descriptor);
}

/* No descriptor is left even to refuse with: the spare one is. */
static bool turn_away_with_spare(recorder *r)
{
    int descriptor;

    if (r->spare < 0)
        return false;
    close(r->spare);
    descriptor = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0)
        turn_away(r, descriptor, 0);
    r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return descriptor >= 0;
}

/* False when nobody waits. */
static bool accept_peer(recorder *r)
{
    int descriptor = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred who;
    socklen_t length = sizeof who;
    session_link link;
    char word;

    if (descriptor < 0)
        return (errno == EMFILE || errno == ENFILE) && turn_away_with_spare(r);
    /* Who has gone again without a word takes nobody's place. */
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 ||
        (who.uid != geteuid() && geteuid() != 0) ||
        recv(descriptor, &word, sizeof word, MSG_PEEK | MSG_DONTWAIT) == 0) {
        close(descriptor);
    } else if (!has_room(r, descriptor)) {
        turn_away(r, descriptor, (int)who.pid);
    } else {
        link_init(&link, descriptor);
        if (recorder_add(r, link, false, (int)who.pid) == NULL)
            r->result->total.not_recorded++;
    }
    return true;
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
        buffer_append(&r->known, &p->process_id, sizeof p->process_id);
        free_peer(p);
    }
    r->peer_count = kept;
}

bool recorder_knows(const recorder *r, int process_id)
{
    int one;

    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i]->process_id == process_id)
            return true;
    for (size_t at = 0; at < r->known.length; at += sizeof one) {
        memcpy(&one, r->known.data + at, sizeof one);
        if (one == process_id)
            return true;
    }
    return false;
}

/* Whether the process is to answer and has been stopped, at every look, for too long: it will not
 * answer before somebody lets it go on. */
static bool stands_still(peer *p, uint64_t now)
{
    procfs_stat stat;

    if (p->process_id == 0 || p->phase < PEER_GREETING || p->phase == PEER_RECORDING ||
        p->phase > PEER_STOPPING || !procfs_read_stat(p->process_id, &stat) ||
        (stat.state != 'T' && stat.state != 't')) {
        p->stopped_ns = 0;
        return false;
    }
    if (p->stopped_ns == 0)
        p->stopped_ns = now;
    return now - p->stopped_ns >= (uint64_t)STOPPED_MS * 1000000;
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
        if (stands_still(p, now)) {
            error_set(&e, ERROR_TIMEOUT, "process %d is stopped", p->process_id);
            error_advise(&e, "`kill -CONT %d` continues it%s", p->process_id,
                         p->phase == PEER_STOPPING ? "; what came until then is recorded" : "");
        } else if ((p->phase == PEER_RECORDING && r->options->enough == NULL) ||
                   p->phase == PEER_DONE || now < p->deadline_ns) {
            continue;
        } else {
            error_set(&e, ERROR_TIMEOUT,
                      "the agent in process %d does not answer: it waits for the runtime to stand "
                      "still, or the process is stopped",
                      p->process_id);
            error_advise(&e, "is it stopped or hung? `kill -CONT %d` continues a stopped process",
                         p->process_id);
        }
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

    note_missed(r, r->turned_ns, begin);
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
    note_missed(r, begin + (uint64_t)wait * 1000000, r->turned_ns);
    if (ready > 0) {
        for (nfds_t i = 3; i < count; i++)
            if (polled[i].revents != 0 && r->peers[who[i]]->phase != PEER_DONE)
                serve(r, r->peers[who[i]]);
        if (polled[1].revents != 0)
            while (accept_peer(r)) {
            }
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
    if (r->spare >= 0)
        close(r->spare);
    r->spare = -1;
}

void recorder_close(recorder *r)
{
    buffer chunks = BUFFER_EMPTY;
    size_t chunk;
    error e;

    for (size_t i = 0; i < r->peer_count; i++)
        conclude(r, r->peers[i]);
    if (r->ended_ns > r->started_ns && r->started_ns != 0)
        r->result->total.elapsed_ns = r->ended_ns - r->started_ns;
    if (r->reason == NULL)
        r->reason = r->gone_end;
    if (r->result->total.not_recorded != 0) {
        chunk = recording_begin_chunk(&chunks, RECORDING_INFO, RECORDING_PROCESS_NONE);
        put_number(&chunks, "processes_not_recorded", r->result->total.not_recorded);
        recording_end_chunk(&chunks, chunk);
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
