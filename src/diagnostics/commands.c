/*
 * commands: see commands.h. Numbers of sets and commands as the runtimes 8.0 to 10.0 know them; an
 * unknown command is answered by CORDIAGIPC_E_UNKNOWN_COMMAND and does no harm.
 */
#include "diagnostics/commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "diagnostics/refusal.h"

enum { SET_PROFILER = 3, SET_PROCESS = 4 };

enum { PROFILER_ATTACH = 1, PROFILER_STARTUP = 2 };

enum {
    PROCESS_INFO = 0,
    PROCESS_RESUME = 1,
    PROCESS_ENVIRONMENT = 2,
    PROCESS_SET_VARIABLE = 3,
    PROCESS_INFO_2 = 4,
    PROCESS_ENABLE_PERF_MAP = 5,
    PROCESS_DISABLE_PERF_MAP = 6,
    PROCESS_INFO_3 = 8,
};

enum { ENVIRONMENT_LIMIT = 16 << 20 };

static const uint32_t HRESULT_UNKNOWN_COMMAND = 0x80131385;

static void append_guid(buffer *payload, const GUID *guid);
static int call_simple(const ipc_address *address, uint8_t set, uint8_t command, buffer *payload,
                       const char *what, error *e);

/* --- process info --- */

void diagnostics_process_info_free(diagnostics_process_info *info)
{
    memory_free(info->command_line);
    memory_free(info->operating_system);
    memory_free(info->architecture);
    memory_free(info->entry_assembly);
    memory_free(info->runtime_version);
    memory_free(info->runtime_identifier);
    memset(info, 0, sizeof *info);
}

/* A text of the answer, or "" when `present` is false; NULL when there is no memory. */
static char *take_text(reader *r, bool present)
{
    buffer text = BUFFER_EMPTY;

    buffer_append_text(&text, "");
    if (present)
        ipc_read_text(r, &text);
    if (text.data == NULL && !buffer_failed(&text))
        return memory_copy_text("");
    return buffer_take_text(&text);
}

int diagnostics_parse_process_info(int version, reader payload, diagnostics_process_info *info,
                                   error *e)
{
    reader *r = &payload;
    const uint8_t *cookie;

    memset(info, 0, sizeof *info);
    info->version = version;
    if (version >= 3)
        reader_u32(r); /* the answer's own version: later ones only add at the end */
    info->process_id = reader_u64(r);
    cookie = reader_bytes(r, sizeof info->cookie);
    if (cookie != NULL)
        memcpy(info->cookie, cookie, sizeof info->cookie);
    info->command_line = take_text(r, true);
    info->operating_system = take_text(r, true);
    info->architecture = take_text(r, true);
    info->entry_assembly = take_text(r, version >= 2);
    info->runtime_version = take_text(r, version >= 2);
    info->runtime_identifier = take_text(r, version >= 3);
    if (reader_failed(r)) {
        diagnostics_process_info_free(info);
        return error_set(e, ERROR_CORRUPT, "the answer to ProcessInfo%d is not understood",
                         version);
    }
    if (info->command_line == NULL || info->operating_system == NULL ||
        info->architecture == NULL || info->entry_assembly == NULL ||
        info->runtime_version == NULL || info->runtime_identifier == NULL) {
        diagnostics_process_info_free(info);
        return error_set(e, ERROR_MEMORY, "no memory for the process information");
    }
    return 0;
}

/* *refused is the HRESULT of a refusal (then the result is 0 and info is empty), else 0. */
static int ask_process_info(const ipc_address *address, int version, uint8_t command,
                            diagnostics_process_info *info, uint32_t *refused, error *e)
{
    ipc_answer answer;
    int code = ipc_call(address, SET_PROCESS, command, NULL, &answer, NULL, e);

    memset(info, 0, sizeof *info);
    *refused = 0;
    if (code != 0)
        return code;
    if (answer.refused)
        *refused = answer.hresult;
    else
        code = diagnostics_parse_process_info(version, answer.payload, info, e);
    ipc_answer_free(&answer);
    return code;
}

int diagnostics_get_process_info(const ipc_address *address, bool newest,
                                 diagnostics_process_info *info, error *e)
{
    uint32_t refused = 0;
    int code = ask_process_info(address, 2, PROCESS_INFO_2, info, &refused, e);

    if (code == 0 && refused == HRESULT_UNKNOWN_COMMAND)
        code = ask_process_info(address, 1, PROCESS_INFO, info, &refused, e);
    if (code != 0)
        return code;
    if (refused != 0)
        return refusal_set(e, refused, "process %d does not tell about itself",
                           address->process_id);
    if (newest && info->version == 2 && strtol(info->runtime_version, NULL, 10) >= 8) {
        diagnostics_process_info third;

        code = ask_process_info(address, 3, PROCESS_INFO_3, &third, &refused, e);
        if (code == 0 && refused == 0) {
            diagnostics_process_info_free(info);
            *info = third;
        }
        if (code != 0)
            diagnostics_process_info_free(info);
    }
    return code;
}

/* --- profilers --- */

int diagnostics_attach_profiler(const ipc_address *address, const GUID *clsid, const char *path,
                                const void *client_data, size_t client_length, unsigned timeout_ms,
                                error *e)
{
    ipc_address patient = *address;
    buffer payload = BUFFER_EMPTY;
    ipc_answer answer;
    int code;

    if (path[0] != '/')
        return error_set(e, ERROR_USAGE, "the profiler's path must be absolute: %s", path);
    if (client_length > IPC_MESSAGE_LIMIT)
        return error_set(e, ERROR_LIMIT, "client data of %zu bytes does not fit a request",
                         client_length);
    buffer_append_u32(&payload, timeout_ms);
    append_guid(&payload, clsid);
    ipc_append_text(&payload, path);
    buffer_append_u32(&payload, (uint32_t)client_length);
    buffer_append(&payload, client_data, client_length);
    /* The runtime gives up first, so that we learn its reason. */
    patient.timeout_ms = timeout_ms + 2000;
    code = ipc_call(&patient, SET_PROFILER, PROFILER_ATTACH, &payload, &answer, NULL, e);
    buffer_free(&payload);
    if (code != 0)
        return code;
    if (answer.refused)
        code = refusal_set(e, answer.hresult, "attaching %s to process %d failed", path,
                           address->process_id);
    ipc_answer_free(&answer);
    return code;
}

int diagnostics_set_startup_profiler(const ipc_address *address, const GUID *clsid,
                                     const char *path, error *e)
{
    buffer payload = BUFFER_EMPTY;

    append_guid(&payload, clsid);
    ipc_append_text(&payload, path);
    return call_simple(address, SET_PROFILER, PROFILER_STARTUP, &payload,
                       "setting the startup profiler", e);
}

/* --- the process --- */

int diagnostics_resume_runtime(const ipc_address *address, error *e)
{
    return call_simple(address, SET_PROCESS, PROCESS_RESUME, NULL, "resuming the runtime", e);
}

int diagnostics_set_environment_variable(const ipc_address *address, const char *name,
                                         const char *value, error *e)
{
    buffer payload = BUFFER_EMPTY;

    if (name[0] == '\0' || strchr(name, '=') != NULL)
        return error_set(e, ERROR_USAGE, "'%s' is not the name of a variable", name);
    ipc_append_text(&payload, name);
    ipc_append_text(&payload, value);
    return call_simple(address, SET_PROCESS, PROCESS_SET_VARIABLE, &payload,
                       "setting an environment variable", e);
}

static int parse_environment(reader r, buffer *out, error *e)
{
    uint32_t count = reader_u32(&r);

    for (uint32_t i = 0; i < count && !reader_failed(&r); i++) {
        ipc_read_text(&r, out);
        buffer_append_char(out, '\0');
    }
    if (reader_failed(&r))
        return error_set(e, ERROR_CORRUPT, "the environment the process sent is not understood");
    return buffer_failed(out) ? error_set(e, ERROR_MEMORY, "no memory for the environment") : 0;
}

int diagnostics_get_process_environment(const ipc_address *address, buffer *out, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    ipc_answer answer;
    uint32_t length;
    int stream = -1;
    int code = ipc_call(address, SET_PROCESS, PROCESS_ENVIRONMENT, NULL, &answer, &stream, e);

    if (code != 0)
        return code;
    length = reader_u32(&answer.payload);
    if (answer.refused)
        code = refusal_set(e, answer.hresult, "process %d does not tell its environment",
                           address->process_id);
    else if (reader_failed(&answer.payload) || length > ENVIRONMENT_LIMIT)
        code = error_set(e, ERROR_CORRUPT, "the environment the process sent has a wrong size");
    else if (!buffer_reserve(&bytes, length))
        code = error_set(e, ERROR_MEMORY, "no memory for the environment");
    else
        code = ipc_receive(address, stream, bytes.data, length, e);
    if (code == 0)
        code = parse_environment(reader_of(bytes.data, length), out, e);
    if (stream >= 0)
        close(stream);
    buffer_free(&bytes);
    ipc_answer_free(&answer);
    return code;
}

int diagnostics_enable_perf_map(const ipc_address *address, diagnostics_perf_map kind, error *e)
{
    buffer payload = BUFFER_EMPTY;

    buffer_append_u32(&payload, (uint32_t)kind);
    return call_simple(address, SET_PROCESS, PROCESS_ENABLE_PERF_MAP, &payload,
                       "enabling the perf map", e);
}

int diagnostics_disable_perf_map(const ipc_address *address, error *e)
{
    return call_simple(address, SET_PROCESS, PROCESS_DISABLE_PERF_MAP, NULL,
                       "disabling the perf map", e);
}

/* --- private --- */

static void append_guid(buffer *payload, const GUID *guid)
{
    buffer_append_u32(payload, guid->Data1);
    buffer_append_u16(payload, guid->Data2);
    buffer_append_u16(payload, guid->Data3);
    buffer_append(payload, guid->Data4, sizeof guid->Data4);
}

/* A command whose answer is only yes or no; frees the payload. */
static int call_simple(const ipc_address *address, uint8_t set, uint8_t command, buffer *payload,
                       const char *what, error *e)
{
    ipc_answer answer;
    int code = ipc_call(address, set, command, payload, &answer, NULL, e);

    if (payload != NULL)
        buffer_free(payload);
    if (code != 0)
        return code;
    if (answer.refused)
        code = refusal_set(e, answer.hresult, "%s of process %d failed", what, address->process_id);
    ipc_answer_free(&answer);
    return code;
}
