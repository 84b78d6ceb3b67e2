/* events: see events.h. */
#include "instrumentation/events.h"

#include <string.h>

#include "base/text.h"
#include "clarinet/lookup.h"
#include "instrumentation/method.h"
#include "instrumentation/platform.h"

static const char DEFAULT_FOLDER[] = "./validation_output";

const char *events_folder(const variables *environment)
{
    const char *folder = variables_get(environment, VARIABLE_VALIDATION_OUTPUT);

    if (folder != NULL && folder[0] != '\0')
        return folder;
    return variables_get(environment, VARIABLE_VALIDATION_ENABLED) != NULL ? DEFAULT_FOLDER : ".";
}

bool events_open(events *log, const clr_info *info, const variables *environment, buffer *path)
{
    const char *file = variables_get(environment, VARIABLE_EVENT_LOG);

    log->file = -1;
    log->info = info;
    if (file != NULL && file[0] != '\0') {
        buffer_append_text(path, file);
        if (!buffer_failed(path))
            log->file = platform_open_new_log(buffer_text(path));
        if (log->file >= 0)
            return true;
        /* The program has started us with its own variables, or the file is an earlier run's. */
        buffer_format(path, ".%u", platform_process_id());
    } else if (variables_get(environment, VARIABLE_VALIDATION_ENABLED) != NULL) {
        platform_make_folder(events_folder(environment));
        buffer_format(path, "%s%cevents.%u.jsonl", events_folder(environment), PLATFORM_SEPARATOR,
                      platform_process_id());
    } else {
        return true;
    }
    if (!buffer_failed(path))
        log->file = platform_open_log(buffer_text(path));
    return log->file >= 0;
}

/* ---- JSON ---- */

static void append_string(buffer *line, const char *text)
{
    buffer clean = BUFFER_EMPTY;

    text_append_cleaned(&clean, text, text == NULL ? 0 : strlen(text));
    buffer_append_char(line, '"');
    for (size_t i = 0; i < clean.length; i++) {
        uint8_t c = clean.data[i];

        if (c == '"' || c == '\\')
            buffer_format(line, "\\%c", c);
        else if (c < 0x20)
            buffer_format(line, "\\u%04x", c);
        else
            buffer_append_u8(line, c);
    }
    buffer_append_char(line, '"');
    buffer_free(&clean);
}

static void append_number(buffer *line, const char *key, uint64_t value)
{
    buffer_format(line, ",\"%s\":", key);
    if (value == 0)
        buffer_append_text(line, "null");
    else
        buffer_format(line, "%llu", (unsigned long long)value);
}

static void append_text(buffer *line, const char *key, const buffer *text)
{
    buffer_format(line, ",\"%s\":", key);
    if (text->length == 0)
        buffer_append_text(line, "null");
    else
        append_string(line, buffer_text(text));
}

/* ---- names ---- */

static void append_assembly(const events *log, ModuleID module, buffer *out)
{
    buffer path = BUFFER_EMPTY;
    AssemblyID assembly = 0;

    if (module != 0 && CLR_OK(clr_get_module_path(log->info, module, &path, &assembly)))
        clr_get_assembly_name(log->info, assembly, out);
    buffer_free(&path);
}

static void append_method(const events *log, ModuleID module, mdMethodDef method, buffer *out)
{
    IMetaDataImport2 *import = NULL;
    method_facts f;

    if (module == 0 || method == 0)
        return;
    if (CLR_OK(clr_open_import(log->info, module, &import)) && method_open(import, method, &f)) {
        buffer_format(out, "%s.%s(%s)", buffer_text(&f.type_name), buffer_text(&f.name),
                      buffer_text(&f.parameters));
        method_close(&f);
    }
    clr_release(import);
}

/* ---- one line ---- */

static void write_event(events *log, const char *type, FunctionID function, ModuleID module,
                        mdMethodDef method, const char *name, const char *value)
{
    buffer line = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;

    buffer_format(&line, "{\"timestamp_micros\":%llu,\"event_type\":\"%s\"",
                  (unsigned long long)platform_unix_microseconds(), type);
    append_number(&line, "function_id", function);
    append_number(&line, "module_id", module);
    append_method(log, module, method, &text);
    append_text(&line, "method_name", &text);
    buffer_clear(&text);
    append_assembly(log, module, &text);
    append_text(&line, "assembly_name", &text);
    buffer_append_text(&line, ",\"parameters\":{");
    if (name != NULL) {
        append_string(&line, name);
        buffer_append_char(&line, ':');
        append_string(&line, value);
    }
    buffer_append_text(&line, "}}\n");
    if (!buffer_failed(&line))
        platform_write_line(log->file, buffer_text(&line), line.length);
    buffer_free(&line);
    buffer_free(&text);
}

void events_module(events *log, const char *type, ModuleID module, const char *name,
                   const char *value)
{
    if (events_on(log))
        write_event(log, type, 0, module, 0, name, value);
}

void events_function(events *log, const char *type, FunctionID function, const char *name,
                     const char *value)
{
    ModuleID module = 0;
    mdToken method = 0;

    if (!events_on(log))
        return;
    clr_info_get_function_info(log->info, function, NULL, &module, &method);
    write_event(log, type, function, module, method, name, value);
}

void events_method(events *log, const char *type, ModuleID module, mdMethodDef method,
                   const char *name, const char *value)
{
    if (events_on(log))
        write_event(log, type, 0, module, method, name, value);
}
