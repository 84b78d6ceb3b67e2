/* request: see request.h. */
#include "server/request.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "session/low_cost.h"

enum {
    STANDARD_SECONDS = 10,
    LONGEST_SECONDS = 86400,
    MAX_TAGS = 20,
    MAX_TAG = 64,
    MAX_WORDS = 256,
    MAX_WORD = 4096
};

static int wrong(error *e, const char *message, const char *advice)
{
    error_set(e, ERROR_USAGE, "%s", message);
    return error_advise(e, "%s", advice);
}

/* A key that is not understood is most often one that is misspelt. */
static int check_keys(json_t *object, const char *const *known, error *e)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        size_t i = 0;

        while (known[i] != NULL && !text_equal(known[i], key))
            i++;
        if (known[i] == NULL) {
            error_set(e, ERROR_USAGE, "there is no key '%.60s' here", key);
            return error_advise(e, "GET /api/openapi.json describes the request");
        }
    }
    return 0;
}

/* A JSON value as a person would type it. */
static int spell(const char *key, json_t *value, char *text, size_t room, error *e)
{
    int length = -1;

    if (json_is_string(value))
        length = snprintf(text, room, "%s", json_string_value(value));
    else if (json_is_integer(value))
        length = snprintf(text, room, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        length = snprintf(text, room, "%g", json_real_value(value));
    else if (json_is_boolean(value))
        length = snprintf(text, room, "%s", json_is_true(value) ? "true" : "false");
    if (length >= 0 && (size_t)length < room)
        return 0;
    error_set(e, ERROR_USAGE, "the parameter '%.60s' is not a text, a number or true or false",
              key);
    return error_advise(e, "GET /api/profilers lists the parameters with their types");
}

static int set(session_request *q, const char *profiler, const char *key, json_t *value, error *e)
{
    char text[CATALOGUE_MAX_TEXT];
    int code = spell(key, value, text, sizeof text, e);

    if (code == 0)
        code = catalogue_set(q->selection, profiler, key, text, e);
    if (code != 0) /* whatever it is called there: a value that is not to be had */
        e->code = ERROR_USAGE;
    return code != 0 ? ERROR_USAGE : 0;
}

static int add(session_request *q, const char *name, error *e)
{
    if (catalogue_find(name) == NULL) {
        error_set(e, ERROR_NOT_FOUND, "there is no profiler '%.60s'", name);
        return error_advise(e, "GET /api/profilers lists them");
    }
    if (catalogue_selected_by_name(q->selection, name) != NULL)
        return wrong(e, "a profiler is named twice", "name each once");
    return catalogue_add(q->selection, name, e);
}

static int take_profiler(session_request *q, json_t *item, error *e)
{
    static const char *const KEYS[] = {"name", "parameters", NULL};
    const char *name = json_is_string(item) ? json_string_value(item)
                                            : json_string_value(json_object_get(item, "name"));
    json_t *parameters = json_object_get(item, "parameters");
    const char *key;
    json_t *value;
    int code;

    if (name == NULL)
        return wrong(e, "a profiler has no name", "as in {\"name\": \"cpu\"}");
    code = check_keys(item, KEYS, e);
    if (code == 0)
        code = add(q, name, e);
    if (code != 0)
        return code;
    if (parameters != NULL && !json_is_object(parameters) && !json_is_null(parameters))
        return wrong(e, "the parameters of a profiler are not an object",
                     "as in {\"interval\": \"10ms\"}");
    json_object_foreach(parameters, key,
                        value) if (set(q, name, key, value, e) != 0) return e->code;
    return 0;
}

/* {"profilerGuid": "{…}", "parameters": [{"key", "value"}]} */
static int take_guid(session_request *q, json_t *root, const char *guid, error *e)
{
    json_t *parameters = json_object_get(root, "parameters");
    const char *name = NULL;
    const char *typed = guid;
    size_t length = strlen(guid);
    size_t index;
    json_t *item;

    if (length >= 2 && guid[0] == '{') {
        guid++;
        length -= 2;
    }
    for (const catalogue_profiler *p = CATALOGUE; p->name != NULL; p++) {
        const char *known = p->guid + (p->guid[0] == '{');

        if (strncasecmp(known, guid, length) == 0 && strcspn(known, "}") == length)
            name = p->name;
    }
    if (name == NULL) {
        error_set(e, ERROR_NOT_FOUND, "there is no profiler with the GUID '%.40s'", typed);
        return error_advise(e, "GET /api/profilers lists them");
    }
    if (add(q, name, e) != 0)
        return e->code;
    if (parameters != NULL && !json_is_array(parameters) && !json_is_null(parameters))
        return wrong(e, "parameters is not an array", "as in [{\"key\": …, \"value\": …}]");
    json_array_foreach(parameters, index, item)
    {
        const char *key = json_string_value(json_object_get(item, "key"));

        if (key == NULL)
            return wrong(e, "a parameter has no key", "as in {\"key\": …, \"value\": …}");
        if (text_equal(key, "duration")) {
            if (json_object_set(root, "duration", json_object_get(item, "value")) != 0)
                return wrong(e, "the duration is not understood", "as in \"10s\"");
        } else if (set(q, name, key, json_object_get(item, "value"), e) != 0) {
            return e->code;
        }
    }
    return 0;
}

static int take_duration(session_request *q, json_t *value, error *e)
{
    double seconds = STANDARD_SECONDS;

    if (json_is_string(value)) {
        if (catalogue_parse_duration(json_string_value(value), &q->duration_ns, e) != 0) {
            e->code = ERROR_USAGE;
            return e->code;
        }
        seconds = (double)q->duration_ns / 1e9;
    } else if (json_is_number(value)) {
        seconds = json_number_value(value);
    } else if (value != NULL && !json_is_null(value)) {
        return wrong(e, "the duration is not a text or a number", "seconds, or as in \"30s\"");
    }
    if (!(seconds >= 0.1 && seconds <= LONGEST_SECONDS))
        return wrong(e, "the duration is not from 0.1 s to 24 h", "10 s without one");
    q->duration_ns = (uint64_t)llround(seconds * 1e9);
    return 0;
}

json_t *request_tags(json_t *value, error *e)
{
    size_t index;
    json_t *item;

    if (value == NULL || json_is_null(value))
        return json_array();
    if (!json_is_array(value) || json_array_size(value) > MAX_TAGS) {
        wrong(e, "tags is not an array of at most 20 texts", "as in [\"before\"]");
        return NULL;
    }
    json_array_foreach(value, index, item)
    {
        size_t length = json_string_length(item);

        if (!json_is_string(item) || length == 0 || length > MAX_TAG) {
            wrong(e, "a tag is not a text of 1 to 64 bytes", "as in [\"before\"]");
            return NULL;
        }
    }
    return json_incref(value);
}

static int take_command(session_request *q, json_t *command, error *e)
{
    static const char ADVICE[] = "as in [\"dotnet\", \"Shop.dll\"]";
    size_t index;
    json_t *item;

    if (!json_is_array(command) || json_array_size(command) == 0 ||
        json_array_size(command) > MAX_WORDS)
        return wrong(e, "command is not an array of 1 to 256 texts", ADVICE);
    json_array_foreach(command, index, item)
    {
        if (!json_is_string(item) || json_string_length(item) > MAX_WORD ||
            strlen(json_string_value(item)) != json_string_length(item) ||
            (index == 0 && json_string_length(item) == 0))
            return wrong(e, "a word of the command is not a text of up to 4,096 bytes", ADVICE);
    }
    q->command = json_incref(command);
    return 0;
}

/* The target: a process, or a command. */
static int take_target(session_request *q, json_t *root, error *e)
{
    json_t *process = json_object_get(root, "processId");
    json_t *command = json_object_get(root, "command");
    uint64_t number = 0;

    if (command != NULL && !json_is_null(command))
        return process == NULL || json_is_null(process)
                   ? take_command(q, command, e)
                   : wrong(e, "there is a processId and a command", "name one of them");
    if (json_is_integer(process) && json_integer_value(process) > 0)
        number = (uint64_t)json_integer_value(process);
    else if (!json_is_string(process) || !text_to_u64(json_string_value(process), &number))
        number = 0;
    if (number == 0 || number > INT32_MAX)
        return wrong(e, "processId is missing or no PID", "GET /api/processes lists them");
    q->process_id = (int)number;
    return 0;
}

static int take(session_request *q, json_t *root, error *e)
{
    static const char *const KEYS[] = {"processId", "command", "profilers",
                                       "duration",  "tags",    NULL};
    json_t *profilers = json_object_get(root, "profilers");
    json_t *guid = json_object_get(root, "profilerGuid");
    size_t index;
    json_t *item;
    int code = take_target(q, root, e);

    if (code != 0)
        return code;
    if (guid != NULL && !json_is_string(guid))
        code = wrong(e, "profilerGuid is not a text", "GET /api/profilers lists them");
    else if (guid != NULL)
        code = take_guid(q, root, json_string_value(guid), e); /* others' clients may say more */
    else
        code = check_keys(root, KEYS, e);
    if (code == 0 && guid == NULL && profilers != NULL && !json_is_null(profilers) &&
        !json_is_array(profilers))
        code = wrong(e, "profilers is not an array", "as in [{\"name\": \"cpu\"}]");
    json_array_foreach(profilers, index, item) if (code == 0 && guid == NULL) code =
        take_profiler(q, item, e);
    if (code == 0)
        code = take_duration(q, json_object_get(root, "duration"), e);
    if (code == 0 && q->selection->count == 0) { /* nothing chosen: a checkup */
        code = session_select_low_cost(q->selection, NULL, e);
        if (code == 0 && q->command == NULL)
            code = session_pace_low_cost(q->selection, q->process_id, q->duration_ns, e);
    }
    if (code == 0) {
        q->tags = request_tags(json_object_get(root, "tags"), e);
        code = q->tags == NULL ? e->code : 0;
    }
    return code;
}

int request_parse(const void *bytes, size_t length, session_request *request, error *e)
{
    json_error_t where;
    json_t *root = NULL;
    error unheard;
    int code;

    e = e != NULL ? e : &unheard;
    error_clear(e);

    memset(request, 0, sizeof *request);
    snprintf(where.text, sizeof where.text, "it is empty");
    if (length != 0)
        root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(root)) {
        json_decref(root);
        error_set(e, ERROR_USAGE, "the body is not a JSON object%s%.80s", root == NULL ? ": " : "",
                  root == NULL ? where.text : "");
        return error_advise(e, "as in {\"processId\": 4711, \"profilers\": [{\"name\": \"cpu\"}]}");
    }
    request->selection = memory_allocate_array(1, sizeof *request->selection);
    code = request->selection != NULL ? take(request, root, e)
                                      : error_set(e, ERROR_MEMORY, "no memory for the request");
    json_decref(root);
    if (code != 0)
        request_free(request);
    return code;
}

void request_free(session_request *request)
{
    memory_free(request->selection);
    json_decref(request->tags);
    json_decref(request->command);
    memset(request, 0, sizeof *request);
}
