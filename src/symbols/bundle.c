/* bundle: see bundle.h. */
#include "symbols/bundle.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/reader.h"

/* The mark is what SHA-256 makes of ".net core bundle\n". */
static const uint8_t MARK[32] = {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93,
                                 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae,
                                 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};

enum { PIECE = 1 << 20, HOST_LIMIT = 128 << 20, MANIFEST_LIMIT = 16 << 20 };
enum { PLACE_SIZE = 8, FIRST_WITH_FLAGS = 2, FIRST_WITH_COMPRESSION = 6, VERSION_LIMIT = 6 };
enum { FLAGS_SIZE = 5 * 8 }; /* places and sizes of two files, and the flags */

void bundle_open(bundle *b, int program)
{
    *b = (bundle){.program = program, .manifest = BUFFER_EMPTY};
}

void bundle_close(bundle *b)
{
    if (b->program >= 0)
        close(b->program);
    b->program = -1;
    buffer_free(&b->manifest);
}

/* Appends `length` bytes of the program, or fewer when it ends before. */
static int append_part(const bundle *b, uint64_t offset, size_t length, buffer *out)
{
    size_t done = 0;

    if (!buffer_reserve(out, length))
        return ERROR_MEMORY;
    while (done < length) {
        ssize_t n =
            pread(b->program, out->data + out->length, length - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERROR_IO;
        if (n == 0)
            break;
        done += (size_t)n;
        out->length += (size_t)n;
    }
    return 0;
}

/* Where the manifest begins; 0 = no bundle. */
static uint64_t find_manifest(const bundle *b, uint64_t size)
{
    uint64_t end = size < HOST_LIMIT ? size : HOST_LIMIT, found = 0;
    buffer piece = BUFFER_EMPTY;

    /* Pieces overlap, so that a mark across two of them is whole in one. */
    for (uint64_t at = 0; at < end && found == 0; at += PIECE) {
        uint64_t left = size - at, most = PIECE + PLACE_SIZE + sizeof MARK;
        const uint8_t *mark;

        buffer_clear(&piece);
        if (append_part(b, at, (size_t)(left < most ? left : most), &piece) != 0 ||
            piece.length < PLACE_SIZE + sizeof MARK)
            break;
        mark = memmem(piece.data + PLACE_SIZE, piece.length - PLACE_SIZE, MARK, sizeof MARK);
        if (mark != NULL) {
            reader r = reader_of(mark - PLACE_SIZE, PLACE_SIZE);

            found = reader_u64(&r);
            break;
        }
    }
    buffer_free(&piece);
    return found < size ? found : 0;
}

/* A text with its length before it. */
static const char *read_text(reader *r, size_t *length)
{
    return (const char *)reader_blob(r, length);
}

static void search(bundle *b)
{
    struct stat status;
    uint64_t size, start;
    size_t length;
    reader r;

    b->was_searched = true;
    if (b->program < 0 || fstat(b->program, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    size = (uint64_t)status.st_size;
    start = find_manifest(b, size);
    if (start == 0 || size - start > MANIFEST_LIMIT ||
        append_part(b, start, (size_t)(size - start), &b->manifest) != 0) {
        buffer_clear(&b->manifest);
        return;
    }
    r = reader_of(b->manifest.data, b->manifest.length);
    b->version = reader_u32(&r);
    reader_u32(&r); /* minor */
    b->count = reader_u32(&r);
    read_text(&r, &length); /* the bundle's id */
    if (b->version >= FIRST_WITH_FLAGS)
        reader_skip(&r, FLAGS_SIZE);
    b->files = reader_offset(&r);
    if (reader_failed(&r) || b->version == 0 || b->version > VERSION_LIMIT)
        buffer_clear(&b->manifest);
}

static int inflate_file(const bundle *b, uint64_t offset, size_t packed, size_t size, buffer *out)
{
    buffer bytes = BUFFER_EMPTY;
    z_stream stream;
    int code = append_part(b, offset, packed, &bytes);

    if (code == 0 && !buffer_reserve(out, size + 1))
        code = ERROR_MEMORY;
    memset(&stream, 0, sizeof stream);
    if (code == 0 && inflateInit2(&stream, -15) != Z_OK)
        code = ERROR_MEMORY;
    if (code == 0) {
        stream.next_in = bytes.data;
        stream.avail_in = (uInt)bytes.length;
        stream.next_out = out->data + out->length;
        stream.avail_out = (uInt)size;
        if (inflate(&stream, Z_FINISH) != Z_STREAM_END || stream.total_out != size)
            code = ERROR_CORRUPT;
        else
            out->length += size;
        inflateEnd(&stream);
    }
    buffer_free(&bytes);
    return code;
}

/* One file, as the manifest has it. */
typedef struct {
    uint64_t offset, size;
    uint64_t packed; /* 0 = it is not deflated */
    unsigned kind;
    const char *name;
    size_t length; /* of the name */
} file;

/* The manifest from its first file on; false when the program is no bundle. */
static bool begin(bundle *b, reader *r)
{
    if (!b->was_searched)
        search(b);
    *r = reader_of(b->manifest.data, b->manifest.length);
    reader_seek(r, b->files);
    return b->manifest.length != 0;
}

static bool next_file(const bundle *b, reader *r, file *f)
{
    f->offset = reader_u64(r);
    f->size = reader_u64(r);
    f->packed = b->version >= FIRST_WITH_COMPRESSION ? reader_u64(r) : 0;
    f->kind = reader_u8(r);
    f->name = read_text(r, &f->length);
    return f->name != NULL && !reader_failed(r);
}

void bundle_each(bundle *b, void *context,
                 void (*visit)(void *context, const char *name, size_t length, unsigned kind))
{
    reader r;
    file f;

    if (!begin(b, &r))
        return;
    for (uint32_t i = 0; i < b->count && next_file(b, &r, &f); i++)
        visit(context, f.name, f.length, f.kind);
}

int bundle_read(bundle *b, const char *name, size_t limit, buffer *out)
{
    reader r;
    file f;

    if (!begin(b, &r))
        return ERROR_NOT_FOUND;
    for (uint32_t i = 0; i < b->count && next_file(b, &r, &f); i++) {
        size_t start = out->length;
        int code;

        if (f.length != strlen(name) || memcmp(f.name, name, f.length) != 0)
            continue;
        if (f.size > limit || f.packed > limit || f.offset > INT64_MAX - limit)
            return ERROR_LIMIT;
        if (f.packed != 0)
            return inflate_file(b, f.offset, (size_t)f.packed, (size_t)f.size, out);
        code = append_part(b, f.offset, (size_t)f.size, out);
        return code != 0 ? code : out->length - start == f.size ? 0 : ERROR_CORRUPT;
    }
    return ERROR_NOT_FOUND;
}
