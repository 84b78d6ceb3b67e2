/* room: see room.h. */
#include "analysis/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/reader.h"

/* Measured: the peak of the whole command, with 3 and with 20 million objects (docs/heap.md). */
enum { BYTES_AN_OBJECT = 80, BYTES_A_REFERENCE = 22, LONGEST = 600 };

/* The number behind a word at the begin of a line; 0 = there is none. */
static uint64_t number_in(const char *path, const char *word)
{
    FILE *file = fopen(path, "re");
    char line[256];
    size_t length = strlen(word);
    uint64_t number = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, word, length) == 0) {
            number = strtoull(line + length, NULL, 10);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
    return number;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

/* The limit of one group; what is only cached of files does not count, it gives way. */
static uint64_t left_in_group(const char *group)
{
    char path[LONGEST + 64];
    uint64_t limit, used, cached;

    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
    limit = number_in(path, ""); /* "max" is 0 */
    if (limit == 0)
        return UINT64_MAX;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", group);
    used = number_in(path, "");
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
    cached = number_in(path, "inactive_file ") + number_in(path, "active_file ");
    return left_of(limit, left_of(used, cached));
}

/* The tightest of the process's group and those above it (cgroup v2). */
static uint64_t left_in_groups(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[LONGEST];
    uint64_t left = UINT64_MAX;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *group = line + 3;

        if (strncmp(line, "0::/", 4) != 0)
            continue;
        group[strcspn(group, "\n")] = '\0';
        for (char *slash; (slash = strrchr(group, '/')) != NULL; *slash = '\0') {
            uint64_t here = left_in_group(group);

            left = here < left ? here : left;
        }
        break;
    }
    if (file != NULL)
        fclose(file);
    return left;
}

static uint64_t left_of_addresses(void)
{
    struct rlimit limit;
    uint64_t pages = number_in("/proc/self/statm", "");

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return left_of(limit.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

uint64_t room_left(void)
{
    uint64_t available = number_in("/proc/meminfo", "MemAvailable:");
    uint64_t others[] = {left_in_groups(), left_of_addresses()};
    uint64_t left =
        available == 0 ? UINT64_MAX : (available + number_in("/proc/meminfo", "SwapFree:")) << 10;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        left = others[i] < left ? others[i] : left;
    return left;
}

uint64_t room_for_heap(uint64_t objects, uint64_t references)
{
    return objects * BYTES_AN_OBJECT + references * BYTES_A_REFERENCE;
}

int room_refuse_heap(uint64_t objects, uint64_t references, error *e)
{
    uint64_t left = room_left();
    char there[64] = "";

    if (left != UINT64_MAX)
        snprintf(there, sizeof there, "; %llu MiB are left", (unsigned long long)left >> 20);
    error_set(e, ERROR_MEMORY,
              "a snapshot of %llu objects and %llu references needs about %llu MiB of memory%s",
              (unsigned long long)objects, (unsigned long long)references,
              (unsigned long long)(room_for_heap(objects, references) >> 20) + 1, there);
    return error_advise(e, "read it where there is more: keep it with -o FILE and copy the file, "
                           "or raise the limit of this shell or container"),
           ERROR_MEMORY;
}

bool room_explain(recording_file *file, error *e)
{
    recording_chunk chunk;

    while (recording_file_next(file, &chunk, NULL) == 1) {
        reader r = reader_of(chunk.payload, chunk.length);
        uint64_t objects, references;

        if (chunk.kind != RECORDING_HEAP || reader_varint(&r) != RECORDING_HEAP_END)
            continue;
        reader_varint(&r); /* attempt */
        reader_varint(&r); /* status */
        objects = reader_varint(&r);
        references = reader_varint(&r);
        /* what nobody has is not asked for */
        if (reader_failed(&r) || objects > UINT32_MAX || references > UINT64_C(1) << 40)
            return false;
        room_refuse_heap(objects, references, e);
        return true;
    }
    return false;
}
