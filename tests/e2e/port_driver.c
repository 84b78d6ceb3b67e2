/* Drives src/diagnostics from the end-to-end tests: port_driver PID COMMAND [ARGUMENT…]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "clarinet/profiler.h"
#include "diagnostics/commands.h"
#include "diagnostics/processes.h"

static int show_info(const ipc_address *address, error *e)
{
    diagnostics_process_info info;
    int code = diagnostics_get_process_info(address, true, &info, e);

    if (code == 0) {
        printf("%d\n%llu\n%s\n%s\n%s\n%s\n%s\n", info.version, (unsigned long long)info.process_id,
               info.operating_system, info.architecture, info.entry_assembly, info.runtime_version,
               info.runtime_identifier);
        diagnostics_process_info_free(&info);
    }
    return code;
}

static int show_environment(const ipc_address *address, error *e)
{
    buffer out = BUFFER_EMPTY;
    int code = diagnostics_get_process_environment(address, &out, e);

    for (size_t i = 0; i < out.length; i++)
        putchar(out.data[i] == 0 ? '\n' : out.data[i]);
    buffer_free(&out);
    return code;
}

static int run(const ipc_address *address, int argc, char **argv, error *e)
{
    const char *command = argv[0];
    GUID clsid;

    if (argc >= 3 && strcmp(command, "set") != 0 && !clr_guid_parse(argv[1], &clsid))
        return error_set(e, ERROR_USAGE, "not a CLSID");
    if (strcmp(command, "info") == 0)
        return show_info(address, e);
    if (strcmp(command, "environment") == 0)
        return show_environment(address, e);
    if (strcmp(command, "resume") == 0)
        return diagnostics_resume_runtime(address, e);
    if (strcmp(command, "perf-map") == 0)
        return diagnostics_enable_perf_map(address, DIAGNOSTICS_PERF_MAP_MAP, e);
    if (strcmp(command, "no-perf-map") == 0)
        return diagnostics_disable_perf_map(address, e);
    if (strcmp(command, "set") == 0)
        return diagnostics_set_environment_variable(address, argv[1], argc > 2 ? argv[2] : NULL, e);
    if (strcmp(command, "startup") == 0)
        return diagnostics_set_startup_profiler(address, &clsid, argv[2], e);
    if (strcmp(command, "attach") == 0)
        return diagnostics_attach_profiler(address, &clsid, argv[2], "data", 4, 5000, e);
    return error_set(e, ERROR_USAGE, "no command %s", command);
}

int main(int argc, char **argv)
{
    diagnostics_process process;
    error e;
    int code;

    if (argc < 3)
        return 2;
    code = diagnostics_find_process(argv[1], &process, &e);
    if (code == 0)
        code = diagnostics_require_attachable(&process, &e);
    if (code == 0)
        code = run(&process.address, argc - 2, argv + 2, &e);
    diagnostics_process_free(&process);
    if (code != 0)
        fprintf(stderr, "%d\n%s\n%s\n", code, e.message, e.advice);
    return code != 0;
}
