/* writer: see writer.h. */
#include "recording/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

static const size_t WRITE_SIZE = 256u << 10;
static const uint64_t WRITE_INTERVAL_NS = 250000000;
static const size_t PACK_FROM = 512; /* smaller chunks are not worth it */
static const size_t HOLD_LIMIT = 512u << 20;

struct recording_writer {
    int descriptor;
    char *path;
    buffer pending; /* whole chunks */
    buffer packed;  /* scratch */
    buffer held;    /* whole chunks, as they came, that are not packed yet */
    bool holds;
    uint64_t written;
    uint64_t last_write_ns;
    bool keeps_old; /* the file still holds what it held before: an earlier recording */
    bool pack;
    bool stream_ready;
    z_stream stream;
    error failure; /* code 0: none */
};

/* A file without a name, which is gone when the tool ends. */
static bool is_temporary(const recording_writer *w)
{
    return text_starts_with(w->path, "/proc/self/fd/");
}

/* A file without a name is told by its folder. */
static void append_place(const recording_writer *w, buffer *out)
{
    char target[512];
    ssize_t length = is_temporary(w) ? readlink(w->path, target, sizeof target - 1) : -1;
    const char *slash = length > 0 ? memrchr(target, '/', (size_t)length) : NULL;

    if (slash == NULL)
        buffer_append_text(out, w->path);
    else
        buffer_format(out, "a temporary file in %.*s", (int)(slash - target), target);
}

/* The bytes of the whole chunks among the first `length` pending ones; the file's header, which
 * comes first of all, is no chunk. */
static size_t whole_chunks(const recording_writer *w, size_t length)
{
    size_t at = w->written == 0 ? RECORDING_HEADER_SIZE : 0;
    recording_chunk chunk;

    if (at > length)
        return 0;
    while (recording_take_chunk(w->pending.data + at, length - at, &chunk) == RECORDING_CHUNK_WHOLE)
        at += chunk.whole;
    return at;
}

/* A write has failed: keeps as much of it as the file could take. */
static void keep_whole_chunks(recording_writer *w)
{
    off_t end = lseek(w->descriptor, 0, SEEK_CUR);

    if (end > 0 && (uint64_t)end > w->written && (uint64_t)end - w->written <= w->pending.length)
        w->written += whole_chunks(w, (size_t)((uint64_t)end - w->written));
    if (ftruncate(w->descriptor, (off_t)w->written) != 0) {
        /* A half chunk stays at the end: readers stop before it. */
    }
}

/* What to do where the file could not grow. */
static void advise_room(recording_writer *w, int failed)
{
    const char *first =
        failed == -EFBIG ? "raise the limit of a file's size (`ulimit -f`)" : "free some space";

    if (failed != -ENOSPC && failed != -EDQUOT && failed != -EFBIG)
        return;
    error_advise(&w->failure, "%s%s%s", first,
                 failed == -EFBIG  ? ""
                 : is_temporary(w) ? ", choose another place with -o FILE, or set TMPDIR"
                                   : " or choose another place with -o",
                 is_temporary(w)   ? "; nothing is kept"
                 : w->written == 0 ? "; nothing was recorded"
                                   : "; what was recorded until now is in the file");
}

static int write_pending(recording_writer *w, error *e)
{
    buffer place = BUFFER_EMPTY;
    int failed;

    w->last_write_ns = os_monotonic_ns();
    if (w->pending.length == 0)
        return 0;
    if (w->keeps_old && ftruncate(w->descriptor, 0) != 0) {
        /* Then the end of the old recording stays behind the new one, as a damaged chunk. */
    }
    w->keeps_old = false;
    failed = os_write_all(w->descriptor, w->pending.data, w->pending.length);
    if (failed == 0) {
        w->written += w->pending.length;
        buffer_clear(&w->pending);
        return 0;
    }
    keep_whole_chunks(w);
    buffer_clear(&w->pending);
    append_place(w, &place);
    error_set_errno(&w->failure, ERROR_IO, -failed, "cannot write to %s after %llu bytes",
                    buffer_text(&place), (unsigned long long)w->written);
    buffer_free(&place);
    advise_room(w, failed);
    if (e != NULL)
        *e = w->failure;
    return w->failure.code;
}

int recording_writer_create(const char *path, recording_writer **writer, error *e)
{
    recording_writer *w = memory_allocate_array(1, sizeof *w);
    struct stat status;
    int code;

    *writer = NULL;
    if (w == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the recording's writer");
    w->pack = true;
    w->path = memory_copy_text(path);
    w->descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (w->descriptor < 0) {
        code = error_set_errno(e, errno == EACCES ? ERROR_PERMISSION : ERROR_IO, errno,
                               "cannot create the recording %s", path);
        error_advise(e, "choose another place with -o FILE");
    } else if (fstat(w->descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
               flock(w->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        /* both would write from the file's start */
        code = error_set(e, ERROR_BUSY, "%s is being recorded", path);
        error_advise(e, "choose another place with -o FILE");
    } else if (w->path == NULL) {
        code = error_set(e, ERROR_MEMORY, "no memory for the recording's writer");
    } else {
        recording_put_file_header(&w->pending);
        w->keeps_old =
            fstat(w->descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size != 0;
        w->last_write_ns = os_monotonic_ns();
        code = w->keeps_old ? 0 : write_pending(w, e);
    }
    if (code != 0) {
        recording_writer_close(w, NULL);
        return code;
    }
    *writer = w;
    return 0;
}

/* The payload as a raw deflate stream behind its size in w->packed; false: not smaller. */
static bool pack_payload(recording_writer *w, const uint8_t *payload, size_t length)
{
    uLong bound;

    if (!w->stream_ready) {
        if (deflateInit2(&w->stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            return false;
        w->stream_ready = true;
    } else if (deflateReset(&w->stream) != Z_OK) {
        return false;
    }
    bound = deflateBound(&w->stream, (uLong)length);
    buffer_clear(&w->packed);
    buffer_append_u32(&w->packed, (uint32_t)length);
    if (!buffer_reserve(&w->packed, bound))
        return false;
    w->stream.next_in = (Bytef *)(uintptr_t)payload;
    w->stream.avail_in = (uInt)length;
    w->stream.next_out = w->packed.data + 4;
    w->stream.avail_out = (uInt)bound;
    if (deflate(&w->stream, Z_FINISH) != Z_STREAM_END)
        return false;
    w->packed.length = 4 + (size_t)w->stream.total_out;
    return w->packed.length < length;
}

static int put_chunk(recording_writer *w, const recording_chunk *chunk, uint32_t process, error *e)
{
    size_t before = w->pending.length;

    if (w->pack && chunk->flags == 0 && chunk->length >= PACK_FROM &&
        pack_payload(w, chunk->payload, chunk->length))
        recording_put_chunk(&w->pending, chunk->kind, RECORDING_PACKED, process, w->packed.data,
                            w->packed.length);
    else
        recording_put_chunk(&w->pending, chunk->kind, chunk->flags, process, chunk->payload,
                            chunk->length);
    if (w->pending.failed) {
        w->pending.failed = false;
        w->pending.length = before;
        return error_set(e, ERROR_MEMORY, "no memory for a chunk of %zu bytes", chunk->length);
    }
    if (w->pending.length >= WRITE_SIZE || os_monotonic_ns() - w->last_write_ns > WRITE_INTERVAL_NS)
        return write_pending(w, e);
    return 0;
}

/* A chunk is held as this and its payload: its check is made when it is written. */
static bool hold(recording_writer *w, const recording_chunk *chunk, uint32_t process)
{
    recording_chunk head = *chunk;
    size_t before = w->held.length;

    head.process = process;
    head.payload = NULL;
    buffer_append(&w->held, &head, sizeof head);
    buffer_append(&w->held, chunk->payload, chunk->length);
    if (!w->held.failed)
        return true;
    w->held.failed = false;
    w->held.length = before;
    return false;
}

/* What was held goes the way it would have gone. */
static int release_held(recording_writer *w, error *e)
{
    recording_chunk chunk;
    size_t offset = 0;
    int code = w->failure.code;

    w->holds = false;
    if (code != 0 && e != NULL)
        *e = w->failure;
    for (; code == 0 && offset < w->held.length; offset += sizeof chunk + chunk.length) {
        memcpy(&chunk, w->held.data + offset, sizeof chunk);
        chunk.payload = w->held.data + offset + sizeof chunk;
        code = put_chunk(w, &chunk, chunk.process, e);
    }
    buffer_free(&w->held);
    return code;
}

int recording_writer_append_received(recording_writer *w, const recording_chunk *chunk,
                                     uint32_t process, error *e)
{
    bool of_heap = chunk->kind == RECORDING_HEAP && chunk->length != 0;
    bool ends = of_heap && chunk->payload[0] == RECORDING_HEAP_END;
    int code;

    if (w->failure.code != 0) {
        if (e != NULL)
            *e = w->failure;
        return w->failure.code;
    }
    if (!w->holds) {
        /* the first one, too: who looks at the file sees that the snapshot has begun */
        w->holds = of_heap && !ends;
        return put_chunk(w, chunk, process, e);
    }
    if (hold(w, chunk, process))
        return ends || w->held.length >= HOLD_LIMIT ? release_held(w, e) : 0;
    code = release_held(w, e);
    return code != 0 ? code : put_chunk(w, chunk, process, e);
}

int recording_writer_append(recording_writer *w, const buffer *chunks, error *e)
{
    size_t offset = 0;

    if (chunks->failed)
        return error_set(e, ERROR_MEMORY, "no memory for the recording's chunks");
    while (offset < chunks->length) {
        recording_chunk chunk;
        int code;

        if (recording_take_chunk(chunks->data + offset, chunks->length - offset, &chunk) !=
            RECORDING_CHUNK_WHOLE)
            return error_set(e, ERROR_BUG, "the chunks to be recorded are not whole");
        code = recording_writer_append_received(w, &chunk, chunk.process, e);
        if (code != 0)
            return code;
        offset += chunk.whole;
    }
    return 0;
}

void recording_writer_pack(recording_writer *w, bool on)
{
    w->pack = on;
}

int recording_writer_flush(recording_writer *w, error *e)
{
    if (w->failure.code != 0) {
        if (e != NULL)
            *e = w->failure;
        return w->failure.code;
    }
    return write_pending(w, e);
}

int recording_writer_finish(recording_writer *w, error *e)
{
    int code = release_held(w, e);

    return code != 0 ? code : recording_writer_flush(w, e);
}

uint64_t recording_writer_size(const recording_writer *w)
{
    if (w->failure.code != 0)
        return w->written;
    return w->written + w->pending.length + w->held.length;
}

void recording_writer_abandon(recording_writer *w)
{
    struct stat status;

    buffer_clear(&w->pending);
    buffer_free(&w->held);
    if (!w->keeps_old && lstat(w->path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(w->path);
    recording_writer_close(w, NULL);
}

int recording_writer_close(recording_writer *w, error *e)
{
    int code = 0;

    if (w == NULL)
        return 0;
    if (w->descriptor >= 0) {
        code = recording_writer_finish(w, e);
        if (close(w->descriptor) != 0 && code == 0)
            code = error_set_errno(e, ERROR_IO, errno, "cannot write to %s", w->path);
    }
    if (w->stream_ready)
        deflateEnd(&w->stream);
    buffer_free(&w->pending);
    buffer_free(&w->packed);
    buffer_free(&w->held);
    memory_free(w->path);
    memory_free(w);
    return code;
}
