/* zip: see zip.h. Entries are stored, not packed: local header, bytes; then the directory. */
#include "server/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/os.h"

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, VERSION = 20, BLOCK = 65536 };

typedef struct {
    char name[128];
    uint32_t crc;
    uint32_t size;
    uint32_t offset;
    uint16_t time, date;
} entry;

static void set_moment(entry *item, time_t moment)
{
    struct tm parts;

    gmtime_r(&moment, &parts);
    item->time = (uint16_t)(parts.tm_hour << 11 | parts.tm_min << 5 | parts.tm_sec / 2);
    item->date = (uint16_t)((parts.tm_year < 80 ? 0 : parts.tm_year - 80) << 9 |
                            (parts.tm_mon + 1) << 5 | parts.tm_mday);
}

/* The fields that both headers have. */
static void put_common(buffer *out, const entry *item)
{
    buffer_append_u16(out, VERSION);
    buffer_append_u16(out, 1 << 11); /* names are UTF-8 */
    buffer_append_u16(out, 0);       /* stored */
    buffer_append_u16(out, item->time);
    buffer_append_u16(out, item->date);
    buffer_append_u32(out, item->crc);
    buffer_append_u32(out, item->size);
    buffer_append_u32(out, item->size);
    buffer_append_u16(out, (uint16_t)strlen(item->name));
    buffer_append_u16(out, 0); /* no extra field */
}

static int write_bytes(int output, const void *bytes, size_t length, error *e)
{
    int failed = os_write_all(output, bytes, length);

    return failed == 0 ? 0 : error_set_errno(e, ERROR_IO, -failed, "the archive cannot be written");
}

/* Reads the file twice: its check sum stands before its bytes. */
static int write_file(int output, int file, entry *item, error *e)
{
    unsigned char block[4096];
    uint64_t size = 0;
    buffer head = BUFFER_EMPTY;
    ssize_t got;
    int code;

    while ((got = read(file, block, sizeof block)) > 0) {
        item->crc = (uint32_t)crc32(item->crc, block, (unsigned)got);
        size += (uint64_t)got;
    }
    if (got < 0 || lseek(file, 0, SEEK_SET) != 0)
        return error_set_errno(e, ERROR_IO, errno, "%s cannot be read", item->name);
    if (size > UINT32_MAX - (1 << 20))
        return error_set(e, ERROR_LIMIT, "%s is too large for a zip file", item->name);
    item->size = (uint32_t)size;
    buffer_append_u32(&head, LOCAL);
    put_common(&head, item);
    buffer_append_text(&head, item->name);
    code = buffer_failed(&head) ? error_set(e, ERROR_MEMORY, "no memory for the archive")
                                : write_bytes(output, head.data, head.length, e);
    buffer_free(&head);
    while (code == 0 && size > 0 && (got = read(file, block, sizeof block)) > 0) {
        if ((uint64_t)got > size)
            got = (ssize_t)size;
        code = write_bytes(output, block, (size_t)got, e);
        size -= (uint64_t)got;
    }
    if (code == 0 && size != 0)
        code = error_set(e, ERROR_IO, "%s has changed meanwhile", item->name);
    return code;
}

static int write_directory(int output, const entry *items, size_t count, uint64_t offset, error *e)
{
    buffer out = BUFFER_EMPTY;
    size_t size;
    int code;

    for (size_t i = 0; i < count; i++) {
        buffer_append_u32(&out, CENTRAL);
        buffer_append_u16(&out, 3 << 8 | VERSION); /* made on Unix */
        put_common(&out, &items[i]);
        buffer_append_u16(&out, 0);              /* no comment */
        buffer_append_u16(&out, 0);              /* first disk */
        buffer_append_u16(&out, 0);              /* bytes */
        buffer_append_u32(&out, 0100600u << 16); /* rw------- */
        buffer_append_u32(&out, items[i].offset);
        buffer_append_text(&out, items[i].name);
    }
    size = out.length;
    buffer_append_u32(&out, END);
    buffer_append_u32(&out, 0); /* one disk */
    buffer_append_u16(&out, (uint16_t)count);
    buffer_append_u16(&out, (uint16_t)count);
    buffer_append_u32(&out, (uint32_t)size);
    buffer_append_u32(&out, (uint32_t)offset);
    buffer_append_u16(&out, 0); /* no comment */
    code = buffer_failed(&out) ? error_set(e, ERROR_MEMORY, "no memory for the archive")
                               : write_bytes(output, out.data, out.length, e);
    buffer_free(&out);
    return code;
}

int zip_write(int output, const char *folder, const char *const *files, size_t count,
              const char *prefix, error *e)
{
    entry items[ZIP_MAX_FILES];
    size_t found = 0;
    uint64_t offset = 0;
    int code = 0;

    for (size_t i = 0; i < count && found < ZIP_MAX_FILES && code == 0; i++) {
        entry *item = &items[found];
        char path[600];
        struct stat status;
        int file;

        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        memset(item, 0, sizeof *item);
        snprintf(item->name, sizeof item->name, "%s/%s", prefix, files[i]);
        item->offset = (uint32_t)offset;
        if (fstat(file, &status) == 0)
            set_moment(item, status.st_mtime);
        code = write_file(output, file, item, e);
        close(file);
        offset += 30 + strlen(item->name) + item->size;
        if (code == 0 && offset > UINT32_MAX - (1 << 20))
            code = error_set(e, ERROR_LIMIT, "the session is too large for a zip file");
        found++;
    }
    return code != 0 ? code : write_directory(output, items, found, offset, e);
}
