/* metrics: see metrics.h. */
#include "server/metrics.h"

#include "base/text.h"

static const char *const STATUSES[] = {"starting", "running", "analysing",
                                       "done",     "failed",  "cancelled"};
static const char *const SEVERITIES[] = {"critical", "warning", "info"};
enum { STATUS_COUNT = 6, SEVERITY_COUNT = 3 };

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static void put_head(buffer *out, const char *name, const char *meaning)
{
    buffer_format(out, "# HELP %s %s\n# TYPE %s gauge\n", name, meaning, name);
}

/* pid="4711",name="Shop.Api", with what the format does not take in a value escaped */
static void put_labels(buffer *out, json_int_t pid, const char *name)
{
    buffer_format(out, "pid=\"%lld\",name=\"", (long long)pid);
    for (; *name != '\0'; name++) {
        if (*name == '\\' || *name == '"')
            buffer_append_char(out, '\\');
        if (*name == '\n')
            buffer_append_text(out, "\\n");
        else
            buffer_append_char(out, *name);
    }
    buffer_append_char(out, '"');
}

static void put_processes(const json_t *processes, buffer *out)
{
    size_t attachable = 0;

    for (size_t i = 0; i < json_array_size(processes); i++)
        attachable += json_is_true(json_object_get(json_array_get(processes, i), "attachable"));
    put_head(out, "clarinet_processes", ".NET processes that can be seen.");
    buffer_format(out, "clarinet_processes{attachable=\"true\"} %zu\n", attachable);
    buffer_format(out, "clarinet_processes{attachable=\"false\"} %zu\n",
                  json_array_size(processes) - attachable);
}

static void put_sessions(const json_t *kept, buffer *out)
{
    size_t counts[STATUS_COUNT] = {0};

    for (size_t i = 0; i < json_array_size(kept); i++)
        for (size_t k = 0; k < STATUS_COUNT; k++)
            counts[k] += text_equal(text_at(json_array_get(kept, i), "status"), STATUSES[k]);
    put_head(out, "clarinet_sessions", "Sessions that are kept, by status.");
    for (size_t k = 0; k < STATUS_COUNT; k++)
        buffer_format(out, "clarinet_sessions{status=\"%s\"} %zu\n", STATUSES[k], counts[k]);
}

/* The newest session of this very process (its number may be that of another program by now) that
 * was looked at; NULL when there is none. Sessions are in order, the newest first. */
static const json_t *last_findings(const json_t *kept, json_int_t pid, const char *name)
{
    for (size_t i = 0; i < json_array_size(kept); i++) {
        const json_t *session = json_array_get(kept, i);
        const json_t *found = json_object_get(session, "findings");

        if (json_integer_value(json_object_get(session, "processId")) == pid &&
            text_equal(text_at(session, "name"), name) && json_is_object(found))
            return found;
    }
    return NULL;
}

static void put_findings(const json_t *processes, const json_t *kept, buffer *out)
{
    put_head(out, "clarinet_findings",
             "Findings of the last session of each process that runs, by severity.");
    for (size_t i = 0; i < json_array_size(processes); i++) {
        const json_t *process = json_array_get(processes, i);
        json_int_t pid = json_integer_value(json_object_get(process, "pid"));
        const char *name = text_at(process, "name");
        const json_t *found = pid == 0 ? NULL : last_findings(kept, pid, name);

        for (size_t k = 0; k < SEVERITY_COUNT && found != NULL; k++) {
            buffer_append_text(out, "clarinet_findings{");
            put_labels(out, pid, name);
            buffer_format(out, ",severity=\"%s\"} %lld\n", SEVERITIES[k],
                          (long long)json_integer_value(json_object_get(found, SEVERITIES[k])));
        }
    }
}

static void put_watch(const watch *w, buffer *out)
{
    static const char *const REASONS[] = {"schedule", "trigger"};
    static const char *const RESULTS[] = {"sent", "failed"};

    put_head(out, "clarinet_watch_sessions", "Sessions that were begun by --watch, by reason.");
    for (unsigned i = 0; i < 2; i++)
        buffer_format(out, "clarinet_watch_sessions{reason=\"%s\"} %llu\n", REASONS[i],
                      (unsigned long long)watch_count(w, (watch_what)(WATCH_REGULAR + i)));
    put_head(out, "clarinet_pushes", "Sessions that were pushed, by result.");
    for (unsigned i = 0; i < 2; i++)
        buffer_format(out, "clarinet_pushes{result=\"%s\"} %llu\n", RESULTS[i],
                      (unsigned long long)watch_count(w, (watch_what)(WATCH_PUSHED + i)));
}

int metrics_write(const api *a, buffer *out, error *e)
{
    buffer listed = BUFFER_EMPTY;
    json_t *processes = NULL;
    json_t *kept = NULL;
    int code = machine_list(a->here, &listed, e);

    if (code == 0) {
        processes = json_loadb(buffer_text(&listed), listed.length, 0, NULL);
        kept = sessions_list(a->kept, NULL);
        if (processes == NULL || kept == NULL)
            code = error_set(e, ERROR_MEMORY, "no memory for the answer");
    }
    if (code == 0) {
        put_head(out, "clarinet_info", "The server's version.");
        buffer_format(out, "clarinet_info{version=\"%s\"} 1\n", CLARINET_VERSION);
        put_processes(processes, out);
        put_sessions(kept, out);
        put_findings(processes, kept, out);
        if (a->watched != NULL)
            put_watch(a->watched, out);
    }
    json_decref(processes);
    json_decref(kept);
    buffer_free(&listed);
    return code;
}
