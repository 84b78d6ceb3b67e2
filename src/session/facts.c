/* facts: see facts.h. */
#include "session/facts.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "diagnostics/maps.h"
#include "diagnostics/procfs.h"
#include "diagnostics/secrets.h"
#include "recording/encode.h"

enum {
    MOST_THREADS = 1024,
    GROWN_UP_SECONDS = 2,
    MOST_BYTES = 65536,
    MOST_VALUE = 300,
    MOST_MAPS = 8 << 20
};

/* ---- the collector ---- */

/* Server GC has threads of its own, from the start of the program to its end. */
static bool has_server_thread(int process_id)
{
    char path[64];
    struct dirent *entry;
    buffer name = BUFFER_EMPTY;
    bool found = false;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/task", process_id);
    folder = opendir(path);
    for (int i = 0; folder != NULL && i < MOST_THREADS && !found; i++) {
        char file[300];

        entry = readdir(folder);
        if (entry == NULL)
            break;
        snprintf(file, sizeof file, "task/%s/comm", entry->d_name);
        found = entry->d_name[0] != '.' && procfs_read(process_id, file, 64, &name) == 0 &&
                text_starts_with(buffer_text(&name), ".NET Server GC");
    }
    if (folder != NULL)
        closedir(folder);
    buffer_free(&name);
    return found;
}

static void put_gc_mode(buffer *chunk, int process_id)
{
    procfs_stat stat;

    if (has_server_thread(process_id))
        recording_put_info(chunk, "gc_mode", "server");
    else if (procfs_read_stat(process_id, &stat) && procfs_uptime_seconds(&stat) > GROWN_UP_SECONDS)
        recording_put_info(chunk, "gc_mode", "workstation");
}

/* ---- limits ---- */

double facts_parse_cpu_max(const char *text)
{
    char *end;
    double quota = strtod(text, &end);
    double period = strtod(end, NULL);

    return end != text && quota > 0 && period > 0 ? quota / period : 0;
}

/* A file of the group or of one above it, as text; false when it cannot be read. */
static bool read_group(const char *group, const char *name, char *text, size_t room)
{
    char path[600];
    FILE *file;
    size_t length;

    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, name);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    length = fread(text, 1, room - 1, file);
    text[length] = '\0';
    fclose(file);
    return true;
}

/* The tightest of the limits of a group and of those above it (cgroup v2). */
static void put_limits(buffer *chunk, char *group)
{
    double processors = 0, memory = 0;
    char text[64];
    char *slash;

    do {
        if (read_group(group, "cpu.max", text, sizeof text)) {
            double here = facts_parse_cpu_max(text);

            processors = here > 0 && (processors == 0 || here < processors) ? here : processors;
        }
        if (read_group(group, "memory.max", text, sizeof text)) {
            double here = strtod(text, NULL); /* "max" is 0 */

            memory = here > 0 && (memory == 0 || here < memory) ? here : memory;
        }
        slash = strrchr(group, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (slash != NULL);
    if (processors > 0) {
        snprintf(text, sizeof text, "%.2f", processors);
        recording_put_info(chunk, "cpu_limit", text);
    }
    if (memory > 0) {
        snprintf(text, sizeof text, "%.0f", memory);
        recording_put_info(chunk, "memory_limit", text);
    }
}

static void put_group_limits(buffer *chunk, int process_id)
{
    buffer groups = BUFFER_EMPTY;
    char group[400] = "";
    const char *line;

    if (procfs_read(process_id, "cgroup", MOST_BYTES, &groups) == 0 &&
        (line = strstr(buffer_text(&groups), "0::/")) != NULL &&
        sscanf(line, "0::%399[^\n]", group) == 1 && strstr(group, "..") == NULL)
        put_limits(chunk, group);
    buffer_free(&groups);
}

/* ---- the environment ---- */

static void append_name(buffer *out, const char *name, size_t length)
{
    size_t start = out->length;

    text_append_cleaned(out, name, length < MOST_VALUE ? length : (size_t)MOST_VALUE);
    for (size_t i = start; i < out->length; i++)
        if (out->data[i] < ' ')
            out->data[i] = ' ';
    buffer_append_text(out, "=");
}

/* In one line, without what is secret in it. */
static void append_value(buffer *out, const char *value)
{
    size_t start = out->length;
    buffer open = BUFFER_EMPTY;

    secrets_append_word(&open, value, strlen(value));
    text_append_cleaned(out, buffer_text(&open),
                        open.length < MOST_VALUE ? open.length : (size_t)MOST_VALUE);
    buffer_free(&open);
    for (size_t i = start; i < out->length; i++)
        if (out->data[i] < ' ')
            out->data[i] = ' ';
}

void facts_append_environment(buffer *out, const buffer *environment)
{
    const char *at = buffer_text(environment);
    const char *end = at + environment->length;

    for (; at < end; at += strlen(at) + 1) {
        size_t name = strcspn(at, "=");

        if (name == 0 || at[name] == '\0')
            continue;
        buffer_append_text(out, out->length == 0 ? "" : "\n");
        append_name(out, at, name);
        if (secrets_is_variable(at, name, at + name + 1))
            buffer_format(out, "(not recorded)");
        else
            append_value(out, at + name + 1);
    }
}

static void put_environment(buffer *chunk, int process_id)
{
    buffer environment = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;

    if (procfs_read(process_id, "environ", MOST_BYTES, &environment) == 0)
        facts_append_environment(&text, &environment);
    if (text.length != 0)
        recording_put_info(chunk, "environment", buffer_text(&text));
    buffer_free(&environment);
    buffer_free(&text);
}

/* With the host and the PID it names a process for good. */
static void put_start(buffer *chunk, int process_id)
{
    procfs_stat stat;
    char text[24];

    if (!procfs_read_stat(process_id, &stat))
        return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)stat.start_ticks);
    recording_put_info(chunk, "start_ticks", text);
}

/* In a container it calls itself by another one. */
static void put_id(buffer *chunk, int process_id)
{
    procfs_stat stat;
    char text[16];

    if (!procfs_read_stat(process_id, &stat))
        return;
    snprintf(text, sizeof text, "%d", process_id);
    recording_put_info(chunk, "host_pid", text);
}

void facts_put(buffer *chunk, int process_id)
{
    put_id(chunk, process_id);
    put_start(chunk, process_id);
    put_gc_mode(chunk, process_id);
    put_group_limits(chunk, process_id);
    put_environment(chunk, process_id);
}

/* ---- assemblies ---- */

static void append_assembly(void *context, const char *path, size_t length)
{
    buffer *out = context;

    if (out->length + length >= MOST_BYTES)
        return;
    buffer_append_text(out, out->length == 0 ? "" : "\n");
    text_append_cleaned(out, path, length);
}

void facts_append_assemblies(buffer *out, const buffer *maps)
{
    maps_each_assembly(maps, append_assembly, out);
}

void facts_put_assemblies(buffer *chunk, int process_id)
{
    buffer maps = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;

    if (procfs_read(process_id, "maps", MOST_MAPS, &maps) == 0)
        facts_append_assemblies(&text, &maps);
    if (text.length != 0)
        recording_put_info(chunk, "assemblies", buffer_text(&text));
    buffer_free(&maps);
    buffer_free(&text);
}
