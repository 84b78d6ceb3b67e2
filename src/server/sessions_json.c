/* sessions_json: a session as the API tells it. See sessions.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "server/sessions_private.h"

static json_t *moment(uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm parts;
    char text[40];
    size_t length;

    if (ns == 0)
        return json_null();
    gmtime_r(&seconds, &parts);
    length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, sizeof text - length, ".%03uZ", (unsigned)(ns / 1000000 % 1000));
    return json_string(text);
}

static double progress_of(const kept_session *x)
{
    double done;

    if (x->status >= SESSION_ANALYSING)
        return 1;
    if (x->duration_ns == 0 || !x->progress.started)
        return 0;
    done = (double)x->progress.elapsed_ns / (double)x->duration_ns;
    return done > 1 ? 1 : (double)(int)(done * 1000) / 1000;
}

json_t *sessions_to_json(const kept_session *x)
{
    json_t *object = json_object();
    const session_progress *p = &x->progress;
    uint64_t elapsed_ms = p->elapsed_ns / 1000000;

    json_object_set_new(object, "id", json_string(x->id));
    json_object_set_new(object, "status", json_string(session_status_name(x->status)));
    json_object_set_new(object, "progress", json_real(progress_of(x)));
    json_object_set_new(
        object, "error",
        x->trouble.code == 0
            ? json_null()
            : json_pack("{s:s, s:s}", "message", x->trouble.message, "advice", x->trouble.advice));
    json_object_set_new(object, "name", json_string(x->name));
    json_object_set_new(object, "processId",
                        x->process_id == 0 ? json_null() : json_integer(x->process_id));
    json_object_set_new(object, "runtimeVersion",
                        x->runtime[0] == '\0' ? json_null() : json_string(x->runtime));
    json_object_set(object, "profilers", x->profilers);
    json_object_set_new(object, "duration", json_real((double)x->duration_ns / 1e9));
    json_object_set_new(object, "created", moment(x->created_ns));
    json_object_set_new(object, "ended", moment(x->ended_ns));
    json_object_set_new(object, "elapsed", json_real((double)elapsed_ms / 1000));
    json_object_set_new(object, "records", json_integer((json_int_t)p->rows));
    json_object_set_new(object, "lost", json_integer((json_int_t)p->lost));
    json_object_set_new(object, "bytes", json_integer((json_int_t)p->bytes));
    json_object_set(object, "tags", x->tags);
    json_object_set_new(object, "uploaded", json_boolean(x->uploaded));
    json_object_set_new(object, "recording", json_boolean(x->has_recording));
    if (x->counts != NULL)
        json_object_set(object, "findings", x->counts);
    else
        json_object_set_new(object, "findings", json_null());
    return object;
}

static bool has(const char *text, const char *search)
{
    return text != NULL && strcasestr(text, search) != NULL;
}

bool sessions_matches(const kept_session *x, const char *search)
{
    size_t i;
    json_t *item;

    if (search == NULL || search[0] == '\0' || has(x->name, search) || has(x->id, search))
        return true;
    json_array_foreach(x->tags, i, item) if (has(json_string_value(item), search)) return true;
    json_array_foreach(
        x->profilers, i,
        item) if (has(json_string_value(json_object_get(item, "name")), search)) return true;
    return false;
}

/* As a person would type it, so that it can be asked for again. */
static json_t *duration(uint64_t ns)
{
    if (ns % 1000000000 == 0)
        return json_sprintf("%llus", (unsigned long long)(ns / 1000000000));
    if (ns % 1000000 == 0)
        return json_sprintf("%llums", (unsigned long long)(ns / 1000000));
    return json_sprintf("%lluus", (unsigned long long)(ns / 1000));
}

static json_t *value_of(const catalogue_parameter *parameter, const catalogue_value *value)
{
    switch (parameter->type) {
    case CATALOGUE_BOOLEAN:
        return json_boolean(value->number != 0);
    case CATALOGUE_DURATION:
        return duration(value->number);
    case CATALOGUE_TEXT:
    case CATALOGUE_CHOICE:
        return json_string(value->text);
    default:
        return json_integer((json_int_t)value->number);
    }
}

json_t *sessions_describe_selection(const catalogue_selection *selection)
{
    json_t *array = json_array();

    for (size_t i = 0; i < selection->count; i++) {
        const catalogue_selected *item = &selection->items[i];
        json_t *parameters = json_object();
        const catalogue_parameter *q = item->profiler->parameters;

        for (size_t n = 0; q != NULL && q[n].name != NULL; n++)
            json_object_set_new(parameters, q[n].name, value_of(&q[n], &item->values[n]));
        json_array_append_new(
            array, json_pack("{s:s, s:o}", "name", item->profiler->name, "parameters", parameters));
    }
    return array;
}
