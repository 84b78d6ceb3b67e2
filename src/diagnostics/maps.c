/* maps: see maps.h. */
#include "diagnostics/maps.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"

/* Libraries that are known to be CLR profilers, by a part of the file's name. */
static const char *const PROFILER_LIBRARIES[] = {
    "libclarinet",          "Datadog.Trace.ClrProfiler",
    "Datadog.Profiler",     "Datadog.Tracer.Native",
    "libNewRelicProfiler",  "OpenTelemetry.AutoInstrumentation.Native",
    "elastic_apm_profiler", "oneagentdotnet",
    "libMonitorProfiler",   "libMutatingMonitorProfiler",
    "libappdprofiler",      "Pyroscope.Profiler",
    "JetBrains.Profiler",   "corprofiler",
};

/* Our own agent, as it is installed and as it is copied for a target. */
static bool is_agent(const char *path)
{
    const char *name = strrchr(path, '/') + 1;

    return strcmp(name, "libclarinet.so") == 0 || text_starts_with(name, "libclarinet-");
}

static bool is_profiler(const char *path, const char *configured)
{
    const char *name = strrchr(path, '/') + 1;

    if (configured != NULL && strcmp(path, configured) == 0)
        return true;
    if (strstr(name, "libclarinet_gate") != NULL) /* only the door to one */
        return false;
    for (size_t i = 0; i < sizeof PROFILER_LIBRARIES / sizeof *PROFILER_LIBRARIES; i++) {
        if (strstr(name, PROFILER_LIBRARIES[i]) != NULL)
            return true;
    }
    return false;
}

static void take_file(const char *path, const char *configured, maps_findings *findings,
                      buffer *profilers)
{
    if (!findings->has_coreclr && text_ends_with(path, "/libcoreclr.so")) {
        findings->has_coreclr = true;
        if (strlen(path) < sizeof findings->coreclr_path)
            strcpy(findings->coreclr_path, path);
        maps_version_of_path(path, findings->version, sizeof findings->version);
    } else if (is_agent(path)) {
        snprintf(findings->agent, sizeof findings->agent, "%s", strrchr(path, '/') + 1);
    } else if (profilers != NULL && is_profiler(path, configured)) {
        const char *name = strrchr(path, '/') + 1;

        if (strstr(buffer_text(profilers), name) != NULL)
            return;
        if (profilers->length > 0)
            buffer_append_text(profilers, ", ");
        text_append_cleaned(profilers, name, strlen(name));
    }
}

void maps_scan(const buffer *maps, const char *configured, maps_findings *findings,
               buffer *profilers)
{
    const char *line = buffer_text(maps);
    const char *end = line + maps->length;
    char last[512] = "";

    memset(findings, 0, sizeof *findings);
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *path;
        size_t length;

        if (stop == NULL)
            stop = end;
        /* The first slash of a line begins the path; neighbours have the same one. */
        path = memchr(line, '/', (size_t)(stop - line));
        length = path == NULL ? 0 : (size_t)(stop - path);
        if (length > 3 && length < sizeof last &&
            (last[length] != '\0' || memcmp(last, path, length) != 0)) {
            memcpy(last, path, length);
            last[length] = '\0';
            if (strstr(last, ".so") != NULL ||
                (configured != NULL && text_starts_with(last, configured))) {
                char file[sizeof last];

                strcpy(file, last);
                if (text_ends_with(file, " (deleted)"))
                    file[length - (sizeof " (deleted)" - 1)] = '\0';
                take_file(file, configured, findings, profilers);
            }
        }
        line = stop + 1;
    }
}

void maps_each_assembly(const buffer *maps,
                        void (*found)(void *context, const char *path, size_t length),
                        void *context)
{
    const char *line = (const char *)maps->data;
    const char *end = line + maps->length;
    table_text seen;

    table_text_init(&seen);
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *path = memchr(line, '/', (size_t)((stop == NULL ? end : stop) - line));
        size_t length = path == NULL ? 0 : (size_t)((stop == NULL ? end : stop) - path);
        uint64_t *known = NULL;

        if (length > 4 && memcmp(path + length - 4, ".dll", 4) == 0)
            known = table_text_at(&seen, path, length, 0);
        if (known != NULL && (*known)++ == 0)
            found(context, path, length);
        line = stop == NULL ? end : stop + 1;
    }
    table_text_free(&seen);
}

bool maps_version_of_path(const char *path, char *version, size_t room)
{
    static const char FRAMEWORK[] = "/Microsoft.NETCore.App/";
    const char *at = strstr(path, FRAMEWORK);
    size_t length;

    if (at == NULL)
        return false;
    at += sizeof FRAMEWORK - 1;
    length = strcspn(at, "/");
    if (length == 0 || length >= room || at[length] != '/' || !isdigit((unsigned char)at[0]))
        return false;
    memcpy(version, at, length);
    version[length] = '\0';
    return true;
}

bool maps_version_of_module(const void *bytes, size_t length, char *version, size_t room)
{
    static const char MARK[] = "@(#)Version ";
    const char *at = memmem(bytes, length, MARK, sizeof MARK - 1);
    unsigned major, minor, build;
    char text[48] = "";
    size_t left;

    if (at == NULL)
        return false;
    left = length - (size_t)(at - (const char *)bytes);
    memcpy(text, at, left < sizeof text - 1 ? left : sizeof text - 1);
    if (sscanf(text + sizeof MARK - 1, "%3u.%3u.%8u", &major, &minor, &build) != 3)
        return false;
    /* The third number is the patch, then two digits of the year. */
    snprintf(version, room, "%u.%u.%u", major, minor, build / 100);
    return true;
}
