/* instrument_spans: see instrument_spans.h. */
#include "cli/instrument_spans.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "report/otlp_answer.h"
#include "report/otlp_flow.h"

enum {
    READ_SIZE = 1 << 20,
    LOOK_MS = 100,  /* at a recording that has not grown */
    FILE_MS = 1000, /* spans wait for others at most */
    POST_MS = 5000, /* the same for a collector */
    LOWEST_NICE = 19,
};

struct instrument_spans {
    instrument_spans_options options;
    /* the recording */
    int recording;
    buffer window; /* read and not used up */
    size_t at;     /* in it */
    uint64_t read; /* bytes of the file */
    model m;
    flow f;
    error trouble; /* of reading it */
    /* the destination */
    int file; /* -1 = not opened yet */
    int kept;
    bool to_nowhere;  /* the kept file has failed as well */
    error failure;    /* of the destination */
    uint64_t last_ns; /* when a request was written */
    uint64_t requests;
    buffer words;
    instrument_spans_counts counts;
    /* the thread */
    pthread_t thread;
    bool has_thread;
    atomic_bool over;
};

/* ---- out ---- */

/* A file that takes only a part of a request is cut back to the requests before it. */
static int write_whole(int descriptor, const buffer *request)
{
    struct stat before;
    bool is_file = fstat(descriptor, &before) == 0 && S_ISREG(before.st_mode);
    int failed = os_write_all(descriptor, request->data, request->length);

    if (failed != 0 && is_file && ftruncate(descriptor, before.st_size) == 0)
        lseek(descriptor, before.st_size, SEEK_SET);
    return failed;
}

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static int put_file(instrument_spans *s, const buffer *request, error *e)
{
    int failed;

    if (s->file < 0)
        s->file = strcmp(s->options.destination, "-") == 0 ? STDOUT_FILENO
                                                           : open_file(s->options.destination);
    failed = s->file < 0 ? -errno : write_whole(s->file, request);
    return failed == 0 ? 0
                       : error_set_errno(e, ERROR_IO, -failed, "%s cannot be written",
                                         s->options.destination);
}

/* The line without its end. */
static int post(instrument_spans *s, const buffer *request, error *e)
{
    buffer answer = BUFFER_EMPTY;
    buffer said = BUFFER_EMPTY;
    int code = http_post_json(s->options.collector, request->data, request->length - 1, &answer, e);

    if (code == 0)
        s->counts.rejected += otlp_answer_rejected(buffer_text(&answer), answer.length, &said);
    if (s->words.length == 0)
        buffer_append(&s->words, said.data, said.length);
    buffer_free(&answer);
    buffer_free(&said);
    return code;
}

static void keep(instrument_spans *s, const buffer *request, size_t count)
{
    if (s->kept < 0 && !s->to_nowhere)
        s->kept = open_file(s->options.kept);
    if (s->kept < 0 || s->to_nowhere || buffer_failed(request) ||
        write_whole(s->kept, request) != 0)
        s->to_nowhere = true;
    else
        s->counts.kept += count;
}

static int put(instrument_spans *s, const buffer *request, error *e)
{
    if (buffer_failed(request))
        return error_set(e, ERROR_MEMORY, "no memory for the spans");
    return s->options.collector != NULL ? post(s, request, e) : put_file(s, request, e);
}

/* One request with the first `count` spans that are ready. */
static void put_request(instrument_spans *s, size_t count)
{
    sink out;
    error e; /* may tell of a try that failed before one that did not */

    error_clear(&e);
    sink_init(&out, -1);
    otlp_flow_write(&s->m, s->f.items, count, &out);
    sink_char(&out, '\n');
    s->requests++;
    if (s->failure.code == 0 && put(s, &out.pending, &e) != 0)
        s->failure = e;
    if (s->failure.code == 0)
        s->counts.delivered += count;
    else
        keep(s, &out.pending, count);
    s->last_ns = os_monotonic_ns();
    sink_free(&out);
    s->f.count -= count;
    memmove(s->f.items, s->f.items + count, s->f.count * sizeof *s->f.items);
}

/* Full requests; and what has waited long enough. */
static void put_ready(instrument_spans *s, bool all)
{
    uint64_t patience = (uint64_t)(s->options.collector != NULL ? POST_MS : FILE_MS) * 1000000;

    while (s->f.count >= OTLP_FLOW_BATCH)
        put_request(s, OTLP_FLOW_BATCH);
    if (s->f.count != 0 && (all || os_monotonic_ns() - s->last_ns >= patience))
        put_request(s, s->f.count);
}

/* ---- in ---- */

/* 1 = a chunk, 0 = not yet, negative = an error. */
static int next_chunk(instrument_spans *s, recording_chunk *chunk)
{
    for (;;) {
        size_t begin = s->read == 0 ? RECORDING_HEADER_SIZE : 0;
        ssize_t n;

        if (begin == 0) {
            switch (recording_take_chunk(s->window.data + s->at, s->window.length - s->at, chunk)) {
            case RECORDING_CHUNK_WHOLE:
                s->at += chunk->whole;
                return 1;
            case RECORDING_CHUNK_BROKEN:
                return error_set(&s->trouble, ERROR_CORRUPT,
                                 "the recording of the spans is broken");
            default:
                break;
            }
        }
        if (s->at != 0) {
            s->window.length -= s->at;
            memmove(s->window.data, s->window.data + s->at, s->window.length);
            s->at = 0;
        }
        if (!buffer_reserve(&s->window, READ_SIZE))
            return error_set(&s->trouble, ERROR_MEMORY, "no memory to read the spans");
        n = pread(s->recording, s->window.data + s->window.length, READ_SIZE, (off_t)s->read);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(&s->trouble, ERROR_IO, errno, "cannot read the spans back");
        if (n < (ssize_t)begin || n == 0)
            return 0; /* the header is written in one */
        s->window.length += (size_t)n;
        s->read += (uint64_t)n;
        s->at = begin;
    }
}

/* The next chunk, worked off; 0 = there is none. */
static int step(instrument_spans *s)
{
    recording_chunk chunk = {0};
    int code = s->trouble.code != 0 ? -1 : next_chunk(s, &chunk);

    if (code != 1)
        return code;
    if (model_add(&s->m, &chunk, &s->trouble) != 0 ||
        (chunk.kind == RECORDING_ROWS && flow_take(&s->f, &s->m, &s->trouble) != 0))
        return -1;
    put_ready(s, false);
    return 1;
}

static void *work(void *context)
{
    instrument_spans *s = context;
    int code = 1;

    setpriority(PRIO_PROCESS, (id_t)os_thread_id(), LOWEST_NICE);
    while (code >= 0 && !atomic_load(&s->over)) {
        code = step(s);
        if (code == 0) {
            put_ready(s, false);
            os_sleep_ms(LOOK_MS);
        }
    }
    return NULL;
}

static void end_thread(instrument_spans *s)
{
    atomic_store(&s->over, true);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
}

/* ---- begin and end ---- */

int instrument_spans_start(const instrument_spans_options *options, instrument_spans **out,
                           error *e)
{
    instrument_spans *s = memory_allocate_array(1, sizeof *s);

    *out = s;
    if (s == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the spans");
    s->options = *options;
    s->file = s->kept = -1;
    s->last_ns = os_monotonic_ns();
    s->recording = open(options->recording, O_RDONLY | O_CLOEXEC);
    if (s->recording < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot read the spans back");
    if (model_begin(&s->m, 0, e) != 0)
        return e->code;
    /* Standard output is the program's as long as it runs. Without a thread: all at the end. */
    s->has_thread = (options->collector != NULL || strcmp(options->destination, "-") != 0) &&
                    pthread_create(&s->thread, NULL, work, s) == 0;
    return 0;
}

static bool is_told_to_stop(int stop)
{
    struct pollfd polled = {stop, POLLIN, 0};

    return stop >= 0 && poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
}

static uint64_t bytes_left(const instrument_spans *s)
{
    struct stat now;
    uint64_t used = s->read - (s->window.length - s->at);

    return fstat(s->recording, &now) == 0 && (uint64_t)now.st_size > used
               ? (uint64_t)now.st_size - used
               : 0;
}

int instrument_spans_finish(instrument_spans *s, int stop, unsigned patience_ms, error *e)
{
    uint64_t end_ns = os_monotonic_ns() + (uint64_t)patience_ms * 1000000;
    struct signalfd_siginfo old;
    int code = 1;

    end_thread(s);
    /* Those that came before belong to the program's end. */
    while (stop >= 0 && read(stop, &old, sizeof old) == (ssize_t)sizeof old) {
    }
    while (code > 0 && !is_told_to_stop(stop) && (patience_ms == 0 || os_monotonic_ns() < end_ns))
        code = step(s);
    if (code > 0)
        s->counts.bytes_left = bytes_left(s);
    if (s->trouble.code == 0)
        flow_finish(&s->f, &s->trouble);
    put_ready(s, true);
    if (s->requests == 0 && s->options.collector == NULL)
        put_request(s, 0); /* a file without spans is a request without spans */
    if (s->file >= 0 && s->file != STDOUT_FILENO && close(s->file) != 0 && s->failure.code == 0)
        error_set_errno(&s->failure, ERROR_IO, errno, "%s cannot be written",
                        s->options.destination);
    s->file = -1;
    if (s->failure.code == 0)
        s->failure = s->trouble;
    *e = s->failure;
    return e->code;
}

instrument_spans_counts instrument_spans_result(const instrument_spans *s)
{
    instrument_spans_counts counts = s->counts;

    counts.words = buffer_text(&s->words);
    return counts;
}

const model *instrument_spans_model(const instrument_spans *s)
{
    return &s->m;
}

const flow *instrument_spans_flow(const instrument_spans *s)
{
    return &s->f;
}

void instrument_spans_free(instrument_spans *s)
{
    if (s == NULL)
        return;
    end_thread(s);
    if (s->recording >= 0)
        close(s->recording);
    if (s->file >= 0 && s->file != STDOUT_FILENO)
        close(s->file);
    if (s->kept >= 0)
        close(s->kept);
    if (s->to_nowhere && s->counts.kept == 0)
        unlink(s->options.kept);
    flow_free(&s->f);
    model_free(&s->m);
    buffer_free(&s->window);
    buffer_free(&s->words);
    memory_free(s);
}
