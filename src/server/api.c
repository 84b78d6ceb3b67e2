/* api: see api.h. Routes are rows of one table; web/openapi.json describes the same. */
#include "server/api.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "server/describe.h"
#include "server/download.h"
#include "server/guard.h"
#include "server/metrics.h"
#include "server/request.h"
#include "server/viewer.h"

typedef struct {
    const api *a;
    wire *w;
    const http_request *r;
    char id[SESSIONS_ID]; /* of a session's route */
    buffer body;
    reply *out;
    bool streamed; /* answered already */
} exchange;

static const uint64_t MAX_UPLOAD = UINT64_C(4) << 30;

static int status_of(const error *e)
{
    switch (e->code) {
    case ERROR_USAGE:
    case ERROR_CORRUPT:
        return 400;
    case ERROR_NOT_FOUND:
        return 404;
    case ERROR_PERMISSION:
    case ERROR_UNSUPPORTED:
    case ERROR_BUSY:
    case ERROR_GONE:
    case ERROR_RUNTIME:
        return 409;
    case ERROR_LIMIT:
        return 413;
    case ERROR_TIMEOUT:
        return 408;
    default:
        return 500;
    }
}

static void fail(exchange *x, const error *e)
{
    reply_error(x->out, status_of(e), e->message, e->advice);
}

/* Takes `value` over; NULL when there is no memory, else free() it. */
static char *dump(json_t *value)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(12));

    json_decref(value);
    return text;
}

static void answer_json(exchange *x, int status, json_t *value)
{
    char *text = dump(value);

    if (text == NULL) {
        reply_error(x->out, 500, "no memory for the answer", "");
        return;
    }
    x->out->status = status;
    buffer_append_text(&x->out->body, text);
    free(text);
}

static void answer_session(exchange *x, int status, const char *id)
{
    json_t *session = sessions_describe(x->a->kept, id);

    if (session == NULL)
        reply_error(x->out, 404, "there is no such session", "GET /api/sessions lists them");
    else
        answer_json(x, status, session);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void get_page(exchange *x)
{
    x->out->type = "text/html; charset=utf-8";
    x->out->policy = "frame-ancestors 'none'"; /* the page has its own for the rest */
    buffer_append_text(&x->out->body, serve_page);
}

static void get_viewer(exchange *x)
{
    viewer_answer("", x->out);
}

static void get_viewer_file(exchange *x)
{
    viewer_answer(x->id, x->out);
}

static void get_openapi(exchange *x)
{
    buffer_append_text(&x->out->body, serve_openapi);
}

static void get_version(exchange *x)
{
    answer_json(x, 200,
                json_pack("{s:s, s:b, s:b}", "version", CLARINET_VERSION, "commands",
                          x->a->commands, "speedscope", viewer_is_here()));
}

static void get_processes(exchange *x)
{
    error e;

    error_clear(&e);
    if (machine_list(x->a->here, &x->out->body, &e) != 0)
        fail(x, &e);
}

static void get_metrics(exchange *x)
{
    error e;

    error_clear(&e);
    if (metrics_write(x->a, &x->out->body, &e) != 0)
        fail(x, &e);
    else
        x->out->type = METRICS_TYPE;
}

static void get_profilers(exchange *x)
{
    answer_json(x, 200, describe_profilers());
}

static void get_sessions(exchange *x)
{
    answer_json(x, 200, sessions_list(x->a->kept, http_query(x->r, "search")));
}

/* ---- one session ---------------------------------------------------------------------------- */

/* What came of beginning a session. */
static void answer_started(exchange *x, int code, const char *id, const error *e)
{
    if (code == ERROR_LIMIT) {
        reply_error(x->out, 429, e->message, e->advice);
    } else if (code != 0) {
        fail(x, e);
    } else {
        answer_session(x, 201, id);
        snprintf(x->out->location, sizeof x->out->location, "/api/sessions/%s", id);
    }
}

static void start_command(exchange *x, session_request *request)
{
    char id[SESSIONS_ID];
    error e;
    int code;

    error_clear(&e);
    if (!x->a->commands) {
        reply_error(x->out, 403, "this server starts no programs",
                    "begin it with --allow-commands, or attach to a process");
        return;
    }
    code = sessions_start_command(x->a->kept, request->command, request->selection,
                                  request->duration_ns, request->tags, id, &e);
    answer_started(x, code, id, &e);
}

static void post_session(exchange *x)
{
    session_request request;
    diagnostics_process process;
    char id[SESSIONS_ID];
    error e;
    int code;

    error_clear(&e);
    if (!guard_may_start()) {
        reply_error(x->out, 429, "too many sessions are begun", "wait some seconds");
        return;
    }
    code = request_parse(x->body.data, x->body.length, &request, &e);
    if (code != 0) {
        fail(x, &e);
        return;
    }
    if (request.command != NULL) {
        start_command(x, &request);
        request_free(&request);
        return;
    }
    code = diagnostics_find_process_id(request.process_id, &process, &e);
    if (code != 0) {
        reply_error(x->out, 404, e.message, e.advice);
    } else if (diagnostics_require_attachable(&process, &e) != 0) {
        reply_error(x->out, 409, e.message, e.advice);
        diagnostics_process_free(&process);
    } else {
        code = sessions_start(x->a->kept, &process, request.selection, request.duration_ns,
                              request.tags, id, &e);
        answer_started(x, code, id, &e);
    }
    request_free(&request);
}

static void get_session(exchange *x)
{
    answer_session(x, 200, x->id);
}

static void patch_session(exchange *x)
{
    json_t *root = json_loadb(buffer_text(&x->body), x->body.length, 0, NULL);
    json_t *tags = NULL;
    error e;

    error_clear(&e);
    if (!json_is_object(root) || json_object_get(root, "tags") == NULL) {
        error_set(&e, ERROR_USAGE, "the body is not a JSON object with tags");
        error_advise(&e, "as in {\"tags\": [\"before\"]}");
    } else {
        tags = request_tags(json_object_get(root, "tags"), &e);
    }
    if (tags == NULL || sessions_set_tags(x->a->kept, x->id, tags, &e) != 0)
        fail(x, &e);
    else
        answer_session(x, 200, x->id);
    json_decref(tags);
    json_decref(root);
}

static void delete_session(exchange *x)
{
    error e;

    error_clear(&e);
    if (sessions_remove(x->a->kept, x->id, &e) != 0)
        fail(x, &e);
    else
        x->out->status = 204;
}

static void stop_session(exchange *x)
{
    json_t *root = x->body.length == 0 ? json_object()
                                       : json_loadb(buffer_text(&x->body), x->body.length, 0, NULL);
    json_t *wish = json_object_get(root, "cancel");
    bool cancel = json_is_true(wish);
    bool understood = json_is_object(root) && (wish == NULL || json_is_boolean(wish));
    error e;

    json_decref(root);
    error_clear(&e);
    if (!understood)
        reply_error(x->out, 400, "the body is not a JSON object with true or false",
                    "as in {\"cancel\": true}");
    else if (sessions_stop(x->a->kept, x->id, cancel, &e) != 0)
        fail(x, &e);
    else
        answer_session(x, 202, x->id);
}

/* Server-Sent Events: `progress` at each change, `end` with the last. */
static void get_events(exchange *x)
{
    bool ended = false;
    uint64_t seen = 0;
    json_t *session = sessions_describe(x->a->kept, x->id);

    json_decref(session);
    if (session == NULL) {
        reply_error(x->out, 404, "there is no such session", "GET /api/sessions lists them");
        return;
    }
    x->streamed = true;
    if (!wire_begin_events(x->w))
        return;
    while (!ended) {
        uint64_t now = sessions_wait(x->a->kept, x->id, seen, 1000, &ended);
        char *text = NULL;
        bool sent;

        if (now == 0)
            break; /* deleted meanwhile */
        if (now != seen)
            text = dump(sessions_describe(x->a->kept, x->id));
        sent = now == seen ? wire_event(x->w, NULL, NULL)
                           : text != NULL && wire_event(x->w, ended ? "end" : "progress", text);
        free(text);
        seen = now;
        if (!sent || guard_is_ending(x->w->ending))
            break;
    }
}

static void get_findings(exchange *x)
{
    error e;

    error_clear(&e);
    if (download_findings(x->a, x->id, x->out, &e) != 0)
        fail(x, &e);
}

static void get_report(exchange *x)
{
    error e;

    error_clear(&e);
    if (download_report(x->a, x->id, x->r, x->out, &e) != 0)
        fail(x, &e);
}

static void get_zip(exchange *x)
{
    error e;

    error_clear(&e);
    if (download_zip(x->a, x->id, x->out, &e) != 0)
        fail(x, &e);
}

static void get_compare(exchange *x)
{
    error e;

    error_clear(&e);
    if (download_compare(x->a, x->r, x->out, &e) != 0)
        fail(x, &e);
}

static void post_upload(exchange *x)
{
    const char *name = http_query(x->r, "name");
    char path[SESSIONS_PATH];
    char id[SESSIONS_ID];
    int file;
    error e;
    int code;

    error_clear(&e);
    if (!guard_may_start()) {
        x->w->closes = true; /* its body was not read */
        reply_error(x->out, 429, "too many sessions are begun", "wait some seconds");
        return;
    }
    if (name == NULL || name[0] == '\0' || strlen(name) > 120)
        name = "upload";
    code = sessions_make_upload(x->a->kept, path, sizeof path, &file, &e);
    if (code == 0) {
        code = wire_read_body(x->w, x->r, MAX_UPLOAD, NULL, file, &e);
        close(file);
        if (code == 0)
            code = sessions_add_file(x->a->kept, path, name, id, &e);
        unlink(path);
    }
    if (code != 0) {
        x->w->closes = true;
        fail(x, &e);
    } else {
        answer_session(x, 201, id);
    }
}

/* ---- routes --------------------------------------------------------------------------------- */

typedef struct {
    const char *method;
    const char *path; /* * stands for a session's id */
    void (*run)(exchange *x);
    bool reads_body; /* by itself */
} route;

static const route ROUTES[] = {
    {"GET", "/", get_page, false},
    {"GET", "/speedscope/", get_viewer, false},
    {"GET", "/speedscope/*", get_viewer_file, false},
    {"GET", "/api/openapi.json", get_openapi, false},
    {"GET", "/api/version", get_version, false},
    {"GET", "/api/processes", get_processes, false},
    {"GET", "/metrics", get_metrics, false},
    {"GET", "/api/profilers", get_profilers, false},
    {"GET", "/api/compare", get_compare, false},
    {"GET", "/api/sessions", get_sessions, false},
    {"POST", "/api/sessions", post_session, false},
    {"POST", "/api/sessions/upload", post_upload, true},
    {"GET", "/api/sessions/*", get_session, false},
    {"PATCH", "/api/sessions/*", patch_session, false},
    {"DELETE", "/api/sessions/*", delete_session, false},
    {"POST", "/api/sessions/*/stop", stop_session, false},
    {"GET", "/api/sessions/*/events", get_events, false},
    {"GET", "/api/sessions/*/findings", get_findings, false},
    {"GET", "/api/sessions/*/report", get_report, false},
    {"GET", "/api/sessions/*/download", get_zip, false},
};

static bool matches(const char *pattern, const char *path, char id[SESSIONS_ID])
{
    size_t before = strcspn(pattern, "*");
    size_t length;

    if (pattern[before] == '\0')
        return text_equal(pattern, path);
    if (strncmp(pattern, path, before) != 0)
        return false;
    length = strcspn(path + before, "/");
    if (length == 0 || !text_equal(pattern + before + 1, path + before + length))
        return false;
    snprintf(id, SESSIONS_ID, "%.*s", length < SESSIONS_ID ? (int)length : 1, path + before);
    return true;
}

/* NULL and a reply when there is no such page, or not with this method. */
static const route *find_route(exchange *x)
{
    bool is_api = text_starts_with(x->r->path, "/api/");
    const char *method = text_equal(x->r->method, "HEAD") ? "GET" : x->r->method;
    static const char *const ALLOWED = "GET, HEAD, POST, PATCH, DELETE";
    bool known = false;

    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++) {
        const route *candidate = &ROUTES[i];

        if (!guard_is_api(candidate->path) && !x->a->web_ui)
            continue;
        if (!matches(candidate->path, x->r->path, x->id))
            continue;
        known = true;
        if (text_equal(candidate->method, method))
            return candidate;
    }
    if (known) {
        reply_error(x->out, 405, "this page does not take this method",
                    "GET /api/openapi.json describes the API");
        x->out->allow = ALLOWED;
    } else {
        reply_error(x->out, 404,
                    x->a->web_ui || is_api ? "there is no such page" : "the page is switched off",
                    !x->a->web_ui && !is_api ? "the server was begun with --no-web-ui"
                    : is_api                 ? "GET /api/openapi.json describes the API"
                                             : "the page is /");
    }
    return NULL;
}

bool api_serve(const api *a, wire *w, const http_request *r)
{
    reply out = {.status = 200, .file = -1};
    exchange x = {.a = a, .w = w, .r = r, .out = &out};
    const route *found = NULL;
    error e;

    error_clear(&e);
    if (guard_admit(a, r, &out))
        found = find_route(&x);
    if (found == NULL || !found->reads_body) {
        if (wire_read_body(w, r, WIRE_MAX_BODY, &x.body, -1, &e) != 0) {
            fail(&x, &e);
            found = NULL;
        }
    }
    if (found != NULL)
        found->run(&x);
    buffer_free(&x.body);
    if (x.streamed) {
        reply_free(&out);
        return false;
    }
    return wire_reply(w, r, &out);
}
