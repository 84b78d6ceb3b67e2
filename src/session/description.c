/* description: see description.h. */
#include "session/description.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "diagnostics/procfs.h"
#include "diagnostics/secrets.h"
#include "recording/encode.h"
#include "session/facts.h"

static void put_number(buffer *out, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    recording_put_info(out, key, text);
}

void description_put_tool(buffer *chunks, const char *command)
{
    size_t chunk = recording_begin_chunk(chunks, RECORDING_INFO, RECORDING_PROCESS_NONE);

    recording_put_info(chunks, "tool_version", CLARINET_VERSION);
    recording_put_info(chunks, "command", command == NULL ? "" : command);
    put_number(chunks, "created_unix_ns", os_realtime_ns());
    recording_end_chunk(chunks, chunk);
}

void description_put_not_recorded(buffer *chunks, uint64_t count)
{
    size_t chunk = recording_begin_chunk(chunks, RECORDING_INFO, RECORDING_PROCESS_NONE);

    put_number(chunks, "processes_not_recorded", count);
    recording_end_chunk(chunks, chunk);
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

void description_name(const buffer *cmdline, char *name, size_t room)
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

static void put_command(buffer *out, const buffer *cmdline)
{
    buffer hidden = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    char name[128];

    description_name(cmdline, name, sizeof name);
    secrets_append_command(&hidden, buffer_text(cmdline), cmdline->length, '\0');
    procfs_append_command_line(&text, &hidden);
    recording_put_info(out, "command_line", buffer_text(&text));
    recording_put_info(out, "name", name);
    recording_put_info(out, "entry_assembly", name);
    buffer_free(&hidden);
    buffer_free(&text);
}

void description_put(buffer *chunks, uint32_t index, int process_id)
{
    buffer cmdline = BUFFER_EMPTY;
    size_t chunk = recording_begin_chunk(chunks, RECORDING_INFO, index);
    char host[256] = "";

    if (gethostname(host, sizeof host - 1) == 0)
        recording_put_info(chunks, "host", host);
    if (process_id != 0 && procfs_read(process_id, "cmdline", 65536, &cmdline) == 0) {
        put_command(chunks, &cmdline);
        put_user(chunks, process_id);
        facts_put(chunks, process_id);
    }
    recording_end_chunk(chunks, chunk);
    buffer_free(&cmdline);
}

void description_put_assemblies(buffer *chunks, uint32_t index, int process_id)
{
    size_t chunk = recording_begin_chunk(chunks, RECORDING_INFO, index);

    facts_put_assemblies(chunks, process_id);
    recording_end_chunk(chunks, chunk);
}
