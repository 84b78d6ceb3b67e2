/* download: see download.h. */
#include "server/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "report/report.h"
#include "server/child.h"
#include "server/zip.h"

/* A report may run its own script and nothing else: not even as this server's page. */
static const char REPORT_POLICY[] =
    "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'";

/* Hands an open file to the reply. */
static int give_file(int file, reply *out, error *e)
{
    struct stat status;

    if (fstat(file, &status) != 0) {
        close(file);
        return error_set_errno(e, ERROR_IO, errno, "the file cannot be read");
    }
    out->file = file;
    out->file_length = (uint64_t)status.st_size;
    return 0;
}

static int open_file(const char *path, reply *out, error *e)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file >= 0)
        return give_file(file, out, e);
    return error_set_errno(e, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IO, errno,
                           "the file cannot be read");
}

/* A file without a name in the sessions' folder. */
static int open_nameless(const api *a, error *e)
{
    char path[SESSIONS_PATH];
    int file;

    snprintf(path, sizeof path, "%s/upload-XXXXXX", a->folder);
    file = mkostemp(path, O_CLOEXEC);
    if (file < 0) {
        error_set_errno(e, ERROR_IO, errno, "the answer cannot be written");
        return -1;
    }
    unlink(path);
    return file;
}

static int run_nameless(const api *a, const char *const *arguments, reply *out, error *e)
{
    int file = open_nameless(a, e);
    int code;

    if (file < 0)
        return e->code;
    code = child_run(a->program, arguments, file, e);
    if (code != 0) {
        close(file);
        return code;
    }
    return give_file(file, out, e);
}

static int need_recording(const char *folder, char recording[SESSIONS_PATH], error *e)
{
    struct stat status;

    if (snprintf(recording, SESSIONS_PATH, "%s/recording.clarinet", folder) < SESSIONS_PATH &&
        stat(recording, &status) == 0 && status.st_size > 0)
        return 0;
    error_set(e, ERROR_BUSY, "the session has no recording");
    return error_advise(e, "it may not have begun yet, or it failed: see its status");
}

/* What is passed on as an option of the same name; *asks_help when one would ask for help instead.
 */
static size_t add_options(const http_request *r, const char **arguments, size_t count,
                          char names[][16], bool *asks_help)
{
    static const char *const KNOWN[] = {"process", "profiler", "thread", "method",
                                        "from",    "to",       "state",  "top"};

    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        const char *value = http_query(r, KNOWN[i]);

        if (value == NULL)
            continue;
        *asks_help = *asks_help || text_equal(value, "--help") || text_equal(value, "-h");
        snprintf(names[i], 16, "--%s", KNOWN[i]);
        arguments[count++] = names[i];
        arguments[count++] = value;
    }
    return count;
}

static int unknown_format(const char *format, const char *known, error *e)
{
    error_set(e, ERROR_USAGE, "there is no format '%.40s'", format);
    return error_advise(e, "formats: %s", known);
}

int download_report(const api *a, const char *id, const http_request *r, reply *out, error *e)
{
    const char *name = http_query(r, "format");
    const report_format *format = report_find_format(name == NULL ? "html" : name);
    const char *arguments[CHILD_MAX_ARGUMENTS] = {"report"};
    char folder[SESSIONS_PATH - 64];
    char recording[SESSIONS_PATH];
    char kept[SESSIONS_PATH];
    char names[8][16];
    size_t count = 4;
    bool asks_help = false;
    bool ended;
    int code = sessions_find(a->kept, id, folder, sizeof folder, &ended, e);

    if (code == 0 && format == NULL)
        code = unknown_format(
            name, "html, md, json, speedscope, pprof, collapsed, chrome, otlp, otlp-profile", e);
    if (code == 0)
        code = need_recording(folder, recording, e);
    if (code != 0)
        return code;
    arguments[1] = recording;
    arguments[2] = "-f";
    arguments[3] = format->name;
    count = add_options(r, arguments, count, names, &asks_help);
    if (asks_help)
        return error_set(e, ERROR_USAGE, "a value is no name, number or time");
    if (ended && count == 4) {
        snprintf(kept, sizeof kept, "%s/report.%s", folder, format->name);
        if (access(kept, R_OK) != 0)
            code = child_run_to_file(a->program, arguments, kept, e);
        if (code == 0)
            code = open_file(kept, out, e);
    } else {
        code = run_nameless(a, arguments, out, e);
    }
    if (code != 0)
        return code;
    out->type = format->media_type;
    out->policy = REPORT_POLICY;
    if (!text_equal(format->name, "html"))
        snprintf(out->attachment, sizeof out->attachment, "%s.%s", id,
                 format->extension + (format->extension[0] == '.'));
    return 0;
}

int download_findings(const api *a, const char *id, reply *out, error *e)
{
    const char *arguments[] = {"checkup", "--json", NULL, NULL};
    char folder[SESSIONS_PATH - 64];
    char path[SESSIONS_PATH];
    bool ended;
    int code = sessions_find(a->kept, id, folder, sizeof folder, &ended, e);

    if (code != 0)
        return code;
    snprintf(path, sizeof path, "%s/findings.json", folder);
    if (access(path, R_OK) == 0)
        return open_file(path, out, e);
    code = need_recording(folder, path, e);
    arguments[2] = path;
    return code != 0 ? code : run_nameless(a, arguments, out, e);
}

int download_zip(const api *a, const char *id, reply *out, error *e)
{
    static const char *const FILES[] = {"session.json", "recording.clarinet", "findings.json",
                                        "report.html"};
    const char *arguments[] = {"report", NULL, "-f", "html", NULL};
    char folder[SESSIONS_PATH - 64];
    char recording[SESSIONS_PATH];
    char path[SESSIONS_PATH];
    bool ended;
    int file;
    int code = sessions_find(a->kept, id, folder, sizeof folder, &ended, e);

    if (code == 0 && !ended) {
        error_set(e, ERROR_BUSY, "the session has not ended");
        code = error_advise(e, "wait for it, or stop it");
    }
    if (code != 0)
        return code;
    snprintf(path, sizeof path, "%s/report.html", folder);
    arguments[1] = recording;
    if (need_recording(folder, recording, e) == 0 && access(path, R_OK) != 0)
        child_run_to_file(a->program, arguments, path, e); /* what fails is left out */
    file = open_nameless(a, e);
    if (file < 0)
        return e->code;
    code = zip_write(file, folder, FILES, sizeof FILES / sizeof *FILES, id, e);
    if (code != 0) {
        close(file);
        return code;
    }
    out->type = "application/zip";
    snprintf(out->attachment, sizeof out->attachment, "%s.zip", id);
    return give_file(file, out, e);
}

int download_compare(const api *a, const http_request *r, reply *out, error *e)
{
    static const struct {
        const char *name;
        const char *type;
    } FORMATS[] = {{"html", "text/html; charset=utf-8"},
                   {"md", "text/markdown; charset=utf-8"},
                   {"json", "application/json; charset=utf-8"},
                   {"collapsed", "text/plain; charset=utf-8"}};
    const char *sides[2] = {http_query(r, "before"), http_query(r, "after")};
    const char *format = http_query(r, "format");
    char recordings[2][SESSIONS_PATH];
    const char *arguments[] = {"diff", recordings[0], recordings[1], "-f", NULL, NULL};
    int code = 0;

    if (sides[0] == NULL || sides[1] == NULL) {
        error_set(e, ERROR_USAGE, "two sessions are needed");
        return error_advise(e, "as in /api/compare?before=ID&after=ID");
    }
    for (int i = 0; i < 2 && code == 0; i++) {
        char folder[SESSIONS_PATH - 64];
        bool ended;

        code = sessions_find(a->kept, sides[i], folder, sizeof folder, &ended, e);
        if (code == 0)
            code = need_recording(folder, recordings[i], e);
    }
    if (code != 0)
        return code;
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        if (text_equal(format == NULL ? "html" : format, FORMATS[i].name)) {
            arguments[4] = FORMATS[i].name;
            out->type = FORMATS[i].type;
        }
    }
    if (arguments[4] == NULL)
        return unknown_format(format, "html, md, json, collapsed", e);
    out->policy = REPORT_POLICY;
    return run_nameless(a, arguments, out, e);
}
