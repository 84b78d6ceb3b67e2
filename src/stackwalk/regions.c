/* regions: see regions.h. */
#include "stackwalk/regions.h"

#include <string.h>

#include "base/memory.h"

/* A position in one line of the map. */
typedef struct {
    const char *at;
    const char *end;
} line;

static uint64_t read_number(line *l, unsigned base)
{
    uint64_t value = 0;

    while (l->at < l->end) {
        char c = *l->at;
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else
            break;
        if (digit >= base)
            break;
        value = value * base + digit;
        l->at++;
    }
    return value;
}

static bool expect(line *l, char c)
{
    if (l->at == l->end || *l->at != c)
        return false;
    l->at++;
    return true;
}

/* start-end rwxp offset major:minor inode path */
static bool parse_line(line *l, region *item)
{
    memset(item, 0, sizeof *item);
    item->start = read_number(l, 16);
    if (!expect(l, '-'))
        return false;
    item->end = read_number(l, 16);
    if (!expect(l, ' ') || l->end - l->at < 5)
        return false;
    item->readable = l->at[0] == 'r';
    item->writable = l->at[1] == 'w';
    item->executable = l->at[2] == 'x';
    l->at += 4;
    if (!expect(l, ' '))
        return false;
    item->offset = read_number(l, 16);
    if (!expect(l, ' '))
        return false;
    read_number(l, 16);
    if (!expect(l, ':'))
        return false;
    read_number(l, 16);
    if (!expect(l, ' '))
        return false;
    item->inode = read_number(l, 10);
    while (expect(l, ' ')) {
    }
    return item->end > item->start;
}

/* Keeps a path once when neighbours share it. */
static uint32_t keep_path(regions *r, const line *l)
{
    size_t length = (size_t)(l->end - l->at);
    uint32_t last = r->count > 0 ? r->items[r->count - 1].path : 0;
    const char *previous = (const char *)r->paths.data + last;

    if (length == 0)
        return 0;
    if (last != 0 && strlen(previous) == length && memcmp(previous, l->at, length) == 0)
        return last;
    last = (uint32_t)r->paths.length;
    buffer_append(&r->paths, l->at, length);
    buffer_append_char(&r->paths, 0);
    return last;
}

bool regions_parse(regions *r, const char *text, size_t length)
{
    size_t lines = 1;
    const char *end;

    if (length == 0)
        text = "";
    end = text + length;
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    r->items = memory_allocate_array(lines, sizeof *r->items);
    buffer_append_char(&r->paths, 0);
    if (r->items == NULL || buffer_failed(&r->paths)) {
        regions_free(r);
        return false;
    }
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        line l = {text, stop != NULL ? stop : end};

        if (parse_line(&l, &r->items[r->count]) &&
            (r->count == 0 || r->items[r->count].start >= r->items[r->count - 1].end)) {
            r->items[r->count].path = keep_path(r, &l);
            r->count++;
        }
        text = l.end < end && stop != NULL ? stop + 1 : end;
    }
    if (buffer_failed(&r->paths)) {
        regions_free(r);
        return false;
    }
    return true;
}

void regions_free(regions *r)
{
    memory_free(r->items);
    buffer_free(&r->paths);
    memset(r, 0, sizeof *r);
}

const region *regions_find(const regions *r, uint64_t address)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->count && r->items[low].start <= address ? &r->items[low] : NULL;
}

const char *regions_path(const regions *r, const region *item)
{
    return r->paths.data != NULL ? (const char *)r->paths.data + item->path : "";
}

bool regions_find_image(const regions *r, const region *item, uint64_t *base, uint64_t *end)
{
    size_t first = (size_t)(item - r->items), last = first;

    if (item->path == 0)
        return false;
    /* A file's mappings follow each other; its zero-filled tail may have no name. */
    while (r->items[first].offset != 0) {
        if (first == 0 || r->items[first - 1].path != item->path ||
            r->items[first - 1].inode != item->inode)
            return false;
        first--;
    }
    while (last + 1 < r->count && r->items[last + 1].path == item->path &&
           r->items[last + 1].offset != 0)
        last++;
    *base = r->items[first].start;
    *end = r->items[last].end;
    return true;
}
