/* describe: see describe.h. */
#include "server/describe.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

static json_t *text_or_null(const char *text)
{
    return text[0] == '\0' ? json_null() : json_string(text);
}

json_t *describe_process(const diagnostics_process *process)
{
    json_t *object = json_object();

    json_object_set_new(object, "pid",
                        process->process_id == 0 ? json_null() : json_integer(process->process_id));
    json_object_set_new(object, "inner_pid", json_integer(process->inner_pid));
    json_object_set_new(object, "name", json_string(process->name));
    json_object_set_new(object, "entry_assembly", text_or_null(process->entry_assembly));
    json_object_set_new(object, "runtime_version", text_or_null(process->runtime_version));
    json_object_set_new(object, "architecture", text_or_null(process->architecture));
    json_object_set_new(object, "command_line", json_string(process->command_line));
    json_object_set_new(object, "user", text_or_null(process->user));
    json_object_set_new(object, "uptime_seconds",
                        json_real((double)(long)(process->uptime_seconds * 100) / 100));
    json_object_set_new(object, "container", json_boolean(process->container));
    json_object_set_new(object, "profiler", text_or_null(process->profiler));
    json_object_set_new(object, "attachable", json_boolean(process->attachable));
    if (!process->attachable) {
        json_object_set_new(object, "reason", json_string(process->reason));
        json_object_set_new(object, "advice", text_or_null(process->advice));
    }
    if (process->address.path[0] != '\0') {
        buffer path = BUFFER_EMPTY;

        buffer_append_text(&path, process->address.root);
        text_append_cleaned(&path, process->address.path, strlen(process->address.path));
        json_object_set_new(object, "socket", json_string(buffer_text(&path)));
        buffer_free(&path);
    }
    return object;
}

static json_t *parameter_object(const catalogue_parameter *parameter)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s}", "name", parameter->name, "type",
                               catalogue_type_name(parameter->type), "default", parameter->initial,
                               "description", parameter->description);

    if (object == NULL)
        return NULL;
    if (parameter->type == CATALOGUE_NUMBER || parameter->type == CATALOGUE_SIZE ||
        parameter->type == CATALOGUE_DURATION) {
        json_object_set_new(object, "minimum", json_integer((json_int_t)parameter->minimum));
        json_object_set_new(object, "maximum", json_integer((json_int_t)parameter->maximum));
    }
    if (parameter->type == CATALOGUE_DURATION)
        json_object_set_new(object, "unit", json_string("ns"));
    if (parameter->type == CATALOGUE_CHOICE) {
        json_t *choices = json_array();

        for (const char *c = parameter->choices; *c != '\0';) {
            size_t length = strcspn(c, "|");

            json_array_append_new(choices, json_stringn(c, length));
            c += length + (c[length] == '|' ? 1 : 0);
        }
        json_object_set_new(object, "choices", choices);
    }
    return object;
}

json_t *describe_profilers(void)
{
    json_t *all = json_array();

    for (const catalogue_profiler *p = CATALOGUE; p->name != NULL; p++) {
        json_t *parameters = json_array();

        for (const catalogue_parameter *q = p->parameters; q != NULL && q->name != NULL; q++)
            json_array_append_new(parameters, parameter_object(q));
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:o}", "name", p->name,
                           "guid", p->guid, "description", p->description, "cost", p->cost,
                           "attach", (p->where & CATALOGUE_ATTACH) != 0, "start",
                           (p->where & CATALOGUE_START) != 0, "beside_another_profiler",
                           (p->where & CATALOGUE_BESIDE) != 0, "main_place",
                           (p->where & CATALOGUE_MAIN) != 0, "exclusive", p->exclusive,
                           "parameters", parameters));
    }
    return all;
}
