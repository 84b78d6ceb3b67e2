/* file: see file.h. */
#include "recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

static const size_t READ_SIZE = 256u << 10;

struct recording_file {
    int descriptor; /* -1: from memory */
    const uint8_t *bytes;
    size_t length;   /* bytes at `bytes` */
    size_t position; /* of the next chunk in `bytes` */
    buffer window;   /* what was read of a descriptor */
    bool at_end;     /* nothing more to read */
    buffer unpacked;
    z_stream stream;
    bool stream_ready;
    uint64_t size;
    uint64_t damaged;
    bool ended;
    char cut[160];
};

/* Makes `count` bytes available from position on, fewer at the end of the file. */
static int fill(recording_file *file, size_t count, error *e)
{
    if (file->descriptor < 0 || file->length - file->position >= count || file->at_end)
        return 0;
    if (file->position != 0)
        memmove(file->window.data, file->window.data + file->position,
                file->length - file->position);
    file->window.length = file->length - file->position;
    file->position = 0;
    while (file->window.length < count && !file->at_end) {
        size_t wish =
            count - file->window.length > READ_SIZE ? count - file->window.length : READ_SIZE;
        ssize_t n;

        /* Grown by what really arrives, so that a length made up by a broken file costs nothing. */
        if (wish > 4 * READ_SIZE)
            wish = 4 * READ_SIZE;
        if (!buffer_reserve(&file->window, wish))
            return error_set(e, ERROR_MEMORY, "no memory for a chunk of the recording");
        n = read(file->descriptor, file->window.data + file->window.length, wish);
        if (n < 0 && errno != EINTR) {
            int reason = errno;

            error_set_errno(e, ERROR_IO, reason, "cannot read the recording");
            if (reason == EISDIR)
                error_advise(e, "name a recording that lies in it, as NAME.clarinet");
            return ERROR_IO;
        }
        if (n == 0)
            file->at_end = true;
        if (n > 0)
            file->window.length += (size_t)n;
    }
    file->bytes = file->window.data;
    file->length = file->window.length;
    return 0;
}

static int check_header(recording_file *file, const char *name, error *e)
{
    uint32_t version;
    reader r;
    int code = fill(file, RECORDING_HEADER_SIZE, e);

    if (code != 0)
        return error_prefix(e, "%s", name);
    if (file->length < RECORDING_HEADER_SIZE || memcmp(file->bytes, RECORDING_MAGIC, 8) != 0) {
        error_set(e, ERROR_CORRUPT, "%s is not a recording of clarinet",
                  strcmp(name, "-") == 0 ? "standard input" : name);
        return error_advise(e, "recordings are made by `clarinet record` and end in .clarinet");
    }
    r = reader_of(file->bytes, file->length);
    reader_skip(&r, 8);
    version = reader_u32(&r);
    if (version != RECORDING_VERSION) {
        error_set(e, ERROR_UNSUPPORTED, "%s has format version %u; this clarinet reads version %u",
                  name, version, RECORDING_VERSION);
        return error_advise(e, "use the clarinet that made it, or a newer one");
    }
    file->position = RECORDING_HEADER_SIZE;
    file->size = RECORDING_HEADER_SIZE;
    return 0;
}

int recording_file_open(const char *path, recording_file **file, error *e)
{
    recording_file *f = memory_allocate_array(1, sizeof *f);
    int code;

    *file = NULL;
    if (f == NULL)
        return error_set(e, ERROR_MEMORY, "no memory to read the recording");
    f->descriptor = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
    if (f->descriptor < 0) {
        int number = errno;

        code = error_set_errno(e,
                               number == ENOENT   ? ERROR_NOT_FOUND
                               : number == EACCES ? ERROR_PERMISSION
                                                  : ERROR_IO,
                               number, "cannot open the recording %s", path);
        if (number == ENOENT)
            error_advise(e, "check the path; `clarinet record` says where it put its recording");
    } else {
        code = check_header(f, path, e);
    }
    if (code != 0) {
        recording_file_close(f);
        return code;
    }
    *file = f;
    return 0;
}

int recording_file_open_bytes(const void *bytes, size_t length, recording_file **file, error *e)
{
    recording_file *f = memory_allocate_array(1, sizeof *f);
    int code;

    *file = NULL;
    if (f == NULL)
        return error_set(e, ERROR_MEMORY, "no memory to read the recording");
    f->descriptor = -1;
    f->bytes = bytes;
    f->length = length;
    code = check_header(f, "the recording", e);
    if (code != 0) {
        recording_file_close(f);
        return code;
    }
    *file = f;
    return 0;
}

/* Replaces the payload by what it unpacks to; 0, ERROR_CORRUPT or ERROR_MEMORY. */
static int unpack(recording_file *file, recording_chunk *chunk)
{
    reader r = reader_of(chunk->payload, chunk->length);
    uint32_t size = reader_u32(&r);
    int result;

    if (reader_failed(&r) || size > RECORDING_MAXIMUM_PAYLOAD)
        return ERROR_CORRUPT;
    if (file->stream_ready ? inflateReset(&file->stream) != Z_OK
                           : inflateInit2(&file->stream, -15) != Z_OK)
        return ERROR_MEMORY;
    file->stream_ready = true;
    buffer_clear(&file->unpacked);
    if (!buffer_reserve(&file->unpacked, size))
        return ERROR_MEMORY;
    file->stream.next_in = (Bytef *)(uintptr_t)r.position;
    file->stream.avail_in = (uInt)reader_left(&r);
    file->stream.next_out = file->unpacked.data;
    file->stream.avail_out = size;
    result = inflate(&file->stream, Z_FINISH);
    if (result != Z_STREAM_END || file->stream.total_out != size || file->stream.avail_in != 0)
        return ERROR_CORRUPT;
    chunk->payload = file->unpacked.data;
    chunk->length = size;
    chunk->flags = (uint16_t)(chunk->flags & ~RECORDING_PACKED);
    return 0;
}

static int cut_off(recording_file *file, recording_chunk_state state, const recording_chunk *chunk)
{
    size_t left = file->length - file->position;

    file->ended = true;
    if (left == 0)
        return 0;
    if (state == RECORDING_CHUNK_SHORT)
        snprintf(
            file->cut, sizeof file->cut,
            "the recording breaks off inside a chunk at byte %llu (%zu of %zu bytes are there)",
            (unsigned long long)file->size, left, chunk->whole);
    else
        snprintf(file->cut, sizeof file->cut,
                 "the chunk at byte %llu is damaged; it and everything after it was left out",
                 (unsigned long long)file->size);
    return 0;
}

static int take_next(recording_file *file, recording_chunk *chunk, error *e)
{
    recording_chunk_state state;
    int code = fill(file, RECORDING_CHUNK_HEADER_SIZE, e);

    if (code != 0)
        return code;
    state =
        recording_take_chunk(file->bytes + file->position, file->length - file->position, chunk);
    if (state == RECORDING_CHUNK_SHORT && file->descriptor >= 0 && !file->at_end) {
        code = fill(file, chunk->whole, e);
        if (code != 0)
            return code;
        state = recording_take_chunk(file->bytes + file->position, file->length - file->position,
                                     chunk);
    }
    if (state != RECORDING_CHUNK_WHOLE)
        return cut_off(file, state, chunk);
    file->position += chunk->whole;
    file->size += chunk->whole;
    return 1;
}

int recording_file_next(recording_file *file, recording_chunk *chunk, error *e)
{
    while (!file->ended) {
        int code = take_next(file, chunk, e);

        if (code <= 0)
            return code;
        if ((chunk->flags & RECORDING_PACKED) == 0)
            return 1;
        code = unpack(file, chunk);
        if (code == 0)
            return 1;
        if (code == ERROR_MEMORY)
            return error_set(e, ERROR_MEMORY, "no memory to unpack a chunk of the recording");
        file->damaged++;
    }
    return 0;
}

const char *recording_file_cut(const recording_file *file)
{
    return file->cut;
}

uint64_t recording_file_damaged(const recording_file *file)
{
    return file->damaged;
}

uint64_t recording_file_size(const recording_file *file)
{
    return file->size;
}

void recording_file_close(recording_file *file)
{
    if (file == NULL)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (file->stream_ready)
        inflateEnd(&file->stream);
    buffer_free(&file->window);
    buffer_free(&file->unpacked);
    memory_free(file);
}
