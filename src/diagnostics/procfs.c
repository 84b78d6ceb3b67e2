/* procfs: see procfs.h. Thread rules: nothing is shared. */
#include "diagnostics/procfs.h"

#include <dirent.h>
#include <limits.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* Reads a small file whole; the bytes read or -errno. */
static long read_small(const char *path, char *bytes, size_t room)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    long n;

    if (descriptor < 0)
        return -errno;
    n = read(descriptor, bytes, room);
    if (n < 0)
        n = -errno;
    close(descriptor);
    return n;
}

/* pid (name) state ppid … : the name may hold anything, also ") (". */
bool procfs_parse_stat(const char *text, size_t length, procfs_stat *stat)
{
    enum { EXITING = 4 }; /* the kernel's flag of a task that is on its way out */
    const char *open = memchr(text, '(', length);
    const char *close = memrchr(text, ')', length);
    char rest[768];
    char *position, *word, *saved = NULL;
    size_t name_length;
    int field = 3;

    memset(stat, 0, sizeof *stat);
    if (open == NULL || close == NULL || close < open)
        return false;
    stat->process_id = atoi(text);
    name_length = (size_t)(close - open - 1);
    if (name_length >= sizeof stat->name)
        name_length = sizeof stat->name - 1;
    memcpy(stat->name, open + 1, name_length);
    length -= (size_t)(close + 1 - text);
    if (length >= sizeof rest)
        length = sizeof rest - 1;
    memcpy(rest, close + 1, length);
    rest[length] = '\0';
    for (position = rest; (word = strtok_r(position, " \n", &saved)) != NULL; position = NULL) {
        if (field == 3)
            stat->state = word[0];
        else if (field == 9)
            stat->ending = (strtoul(word, NULL, 10) & EXITING) != 0;
        else if (field == 20)
            stat->threads = atoi(word);
        else if (field == 22)
            stat->start_ticks = strtoull(word, NULL, 10);
        field++;
    }
    return field > 22 && stat->process_id > 0;
}

bool procfs_read_stat(int process_id, procfs_stat *stat)
{
    char path[32], text[1024];
    long n;

    snprintf(path, sizeof path, "/proc/%d/stat", process_id);
    n = read_small(path, text, sizeof text);
    return n > 0 && procfs_parse_stat(text, (size_t)n, stat);
}

bool procfs_is_alive(int process_id, uint64_t start_ticks)
{
    procfs_stat stat;

    return procfs_read_stat(process_id, &stat) && stat.state != 'Z' && stat.state != 'X' &&
           !stat.ending && stat.start_ticks == start_ticks;
}

int procfs_read(int process_id, const char *name, size_t limit, buffer *out)
{
    enum { STEP = 16384 };
    char path[64];
    int descriptor;
    int result = 0;

    buffer_clear(out);
    snprintf(path, sizeof path, "/proc/%d/%s", process_id, name);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    while (out->length < limit) {
        long n;

        if (!buffer_reserve(out, STEP)) {
            result = -ENOMEM;
            break;
        }
        n = read(descriptor, out->data + out->length, STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            result = -errno;
        if (n <= 0)
            break;
        out->length += (size_t)n;
    }
    if (out->length > limit)
        out->length = limit;
    if (out->data != NULL)
        out->data[out->length] = 0;
    close(descriptor);
    return result;
}

bool procfs_read_link(int process_id, const char *name, char *text, size_t room)
{
    char path[64];
    long n;

    snprintf(path, sizeof path, "/proc/%d/%s", process_id, name);
    n = readlink(path, text, room - 1);
    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

int procfs_parse_inner_pid(const char *status)
{
    const char *line = strstr(status, "\nNSpid:");
    const char *end;
    int inner = 0;

    if (line == NULL)
        return 0;
    line += sizeof "\nNSpid:" - 1;
    end = strchrnul(line, '\n');
    while (line < end) {
        char *after;
        long value = strtol(line, &after, 10);

        if (after == line || after > end)
            break;
        inner = (int)value;
        line = after;
    }
    return inner;
}

const char *procfs_find_variable(const buffer *environment, const char *name)
{
    const char *position = buffer_text(environment);
    const char *end = position + environment->length;
    size_t length = strlen(name);

    while (position < end) {
        size_t left = strlen(position);

        if (left > length && position[length] == '=' && memcmp(position, name, length) == 0)
            return position + length + 1;
        position += left + 1;
    }
    return NULL;
}

void procfs_append_command_line(buffer *out, const buffer *cmdline)
{
    const char *text = buffer_text(cmdline);
    size_t length = cmdline->length;
    size_t start = out->length;

    while (length > 0 && text[length - 1] == '\0')
        length--;
    text_append_cleaned(out, text, length);
    for (size_t i = start; i < out->length; i++) {
        if (out->data[i] < ' ')
            out->data[i] = ' ';
    }
}

double procfs_uptime_seconds(const procfs_stat *stat)
{
    struct timespec now;
    long ticks = sysconf(_SC_CLK_TCK);
    double uptime;

    if (ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return 0;
    uptime =
        (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)stat->start_ticks / (double)ticks;
    return uptime < 0 ? 0 : uptime;
}

/* Whether one of the first `most` threads has a name that begins so; the main thread's is the
 * program's. */
static bool has_thread(int process_id, const char *beginning, int most)
{
    char path[64];
    DIR *folder;
    const struct dirent *entry;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/task", process_id);
    folder = opendir(path);
    if (folder == NULL)
        return false;
    while (!found && most > 0 && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(beginning);
        char name[32];
        long n;

        if (entry->d_name[0] == '.' || atoi(entry->d_name) == process_id)
            continue;
        most--;
        snprintf(path, sizeof path, "/proc/%d/task/%d/comm", process_id, atoi(entry->d_name));
        n = read_small(path, name, sizeof name);
        found = n >= (long)length && memcmp(name, beginning, length) == 0;
    }
    closedir(folder);
    return found;
}

bool procfs_has_dotnet_thread(int process_id)
{
    enum { THREADS_LOOKED_AT = 6 }; /* the runtime makes its own threads first */

    return has_thread(process_id, ".NET ", THREADS_LOOKED_AT);
}

bool procfs_has_agent_thread(int process_id)
{
    return has_thread(process_id, "clarinet\n", INT_MAX);
}
