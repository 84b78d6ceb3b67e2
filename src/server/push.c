/* push: see push.h. */
#include "server/push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "server/child.h"

enum { PATH_ROOM = 600, LARGEST_PROFILE = 64 << 20 };

/* As the value of a query: everything but letters, digits and a few signs as %XX. */
static void append_encoded(buffer *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '.' || c == '-' || c == '_')
            buffer_append_char(out, (char)c);
        else
            buffer_format(out, "%%%02X", c);
    }
}

/* The profile of `cpu` in this format. */
static int make_profile(const push_session *s, const char *format, buffer *bytes, error *e)
{
    char recording[PATH_ROOM], profile[PATH_ROOM];
    const char *const arguments[] = {"report", recording, "-f", format, "-p", "cpu", NULL};
    int code;

    snprintf(recording, sizeof recording, "%s/recording.clarinet", s->folder);
    snprintf(profile, sizeof profile, "%s/profile.%s", s->folder, format);
    code = child_run_to_file(s->program, arguments, profile, e);
    if (code == 0)
        code = os_read_file(profile, LARGEST_PROFILE, bytes, e);
    unlink(profile); /* before it is sent, which a server that ends does not wait for */
    return code;
}

int push_otlp_profile(const http_address *to, const push_session *s, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    int code = make_profile(s, "otlp-profile", &bytes, e);

    if (code == 0)
        code = http_post(to, "application/x-protobuf", "the profile", bytes.data, bytes.length,
                         HTTP_PATIENCE_MS, e);
    buffer_free(&bytes);
    return code;
}

int push_pprof(const http_address *to, const push_session *s, error *e)
{
    static const char BOUNDARY[] = "clarinet-profile-4c6f1b0e";
    http_address place = *to;
    buffer query = BUFFER_EMPTY, body = BUFFER_EMPTY, bytes = BUFFER_EMPTY;
    char type[100];
    int code;

    buffer_format(&query, "%s%cname=", to->path, strchr(to->path, '?') == NULL ? '?' : '&');
    append_encoded(&query, s->name);
    buffer_format(&query, "&from=%llu&until=%llu&format=pprof&spyName=clarinet",
                  (unsigned long long)(s->from_ns / 1000000000u),
                  (unsigned long long)(s->until_ns / 1000000000u));
    if (snprintf(place.path, sizeof place.path, "%s", buffer_text(&query)) >=
        (int)sizeof place.path)
        code = error_set(e, ERROR_USAGE, "the address for profiles is too long");
    else
        code = make_profile(s, "pprof", &bytes, e);
    if (code == 0) {
        buffer_format(&body,
                      "--%s\r\nContent-Disposition: form-data; name=\"profile\"; "
                      "filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream"
                      "\r\n\r\n",
                      BOUNDARY);
        buffer_append(&body, bytes.data, bytes.length);
        buffer_format(&body, "\r\n--%s--\r\n", BOUNDARY);
        snprintf(type, sizeof type, "multipart/form-data; boundary=%s", BOUNDARY);
        code = http_post(&place, type, "the profile", body.data, body.length, HTTP_PATIENCE_MS, e);
    }
    buffer_free(&query);
    buffer_free(&body);
    buffer_free(&bytes);
    return code;
}

/* ---- OTLP ---- */

static json_t *attribute(const char *key, const char *value)
{
    return json_pack("{s:s, s:{s:s}}", "key", key, "value", "stringValue", value);
}

static json_t *point(double value, const push_session *s, json_t *attributes)
{
    char time[32];

    snprintf(time, sizeof time, "%llu", (unsigned long long)s->until_ns);
    return json_pack("{s:s, s:f, s:o}", "timeUnixNano", time, "asDouble", value, "attributes",
                     attributes);
}

static void add_gauge(json_t *metrics, const char *name, const char *unit, json_t *points)
{
    json_array_append_new(metrics, json_pack("{s:s, s:s, s:{s:o}}", "name", name, "unit", unit,
                                             "gauge", "dataPoints", points));
}

/* A point for each finding that there is, and how many there are of each severity. */
static void add_findings(json_t *metrics, const json_t *checkup, const push_session *s)
{
    static const char *const SEVERITIES[] = {"critical", "warning", "info"};
    const json_t *findings = json_object_get(checkup, "findings");
    json_t *counts = json_array(), *each = json_array();

    for (size_t i = 0; i < 3; i++) {
        size_t count = 0;

        for (size_t k = 0; k < json_array_size(findings); k++)
            count += text_equal(
                json_string_value(json_object_get(json_array_get(findings, k), "severity")),
                SEVERITIES[i]);
        json_array_append_new(
            counts,
            point((double)count, s, json_pack("[o]", attribute("severity", SEVERITIES[i]))));
    }
    for (size_t k = 0; k < json_array_size(findings); k++) {
        const char *id = json_string_value(json_object_get(json_array_get(findings, k), "id"));

        if (id != NULL)
            json_array_append_new(each, point(1, s, json_pack("[o]", attribute("id", id))));
    }
    add_gauge(metrics, "clarinet.findings", "{finding}", counts);
    add_gauge(metrics, "clarinet.finding", "1", each);
}

bool push_metrics(const json_t *checkup, const push_session *s, buffer *out)
{
    json_t *metrics = json_array(), *resource = json_array(), *root;
    char name[80], pid[16];
    const char *key;
    json_t *vital;
    char *text;

    snprintf(pid, sizeof pid, "%d", s->process_id);
    json_array_append_new(resource, attribute("service.name", s->name));
    json_array_append_new(
        resource, json_pack("{s:s, s:{s:s}}", "key", "process.pid", "value", "intValue", pid));
    json_object_foreach(json_object_get(checkup, "vitals"), key, vital)
    {
        const json_t *value = json_object_get(vital, "value");
        const char *unit = json_string_value(json_object_get(vital, "unit"));

        snprintf(name, sizeof name, "clarinet.%.60s", key);
        if (json_is_number(value))
            add_gauge(metrics, name, unit == NULL ? "" : unit,
                      json_pack("[o]", point(json_number_value(value), s, json_array())));
    }
    add_findings(metrics, checkup, s);
    root = json_pack("{s:[{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceMetrics", "resource",
                     "attributes", resource, "scopeMetrics", "scope", "name", "clarinet", "version",
                     CLARINET_VERSION, "metrics", metrics);
    text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (text == NULL)
        return false;
    buffer_append_text(out, text);
    free(text);
    return !buffer_failed(out);
}

int push_otlp(const http_address *to, const push_session *s, error *e)
{
    char path[PATH_ROOM];
    buffer body = BUFFER_EMPTY;
    json_t *checkup;
    int code = 0;

    snprintf(path, sizeof path, "%s/findings.json", s->folder);
    checkup = json_load_file(path, 0, NULL);
    if (checkup == NULL)
        code = error_set(e, ERROR_NOT_FOUND, "the session has no findings");
    else if (!push_metrics(checkup, s, &body))
        code = error_set(e, ERROR_MEMORY, "no memory for the metrics");
    if (code == 0)
        code = http_post(to, "application/json", "the metrics", body.data, body.length,
                         HTTP_PATIENCE_MS, e);
    json_decref(checkup);
    buffer_free(&body);
    return code;
}
