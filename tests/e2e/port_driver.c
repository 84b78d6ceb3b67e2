/* Drives src/diagnostics from the end-to-end tests: port_driver PID COMMAND [ARGUMENT…]. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "clarinet/profiler.h"
#include "diagnostics/commands.h"
#include "diagnostics/eventpipe.h"
#include "diagnostics/nettrace.h"
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

typedef struct {
    unsigned exceptions, with_stack, others, sequence_points;
    unsigned long long dropped, process_id;
    int named_fields;
} event_counts;

static void on_trace(void *context, const nettrace_trace *trace)
{
    ((event_counts *)context)->process_id = trace->process_id;
}

static void on_event(void *context, const nettrace_event *event)
{
    event_counts *counts = context;
    bool runtime = strcmp(event->metadata->provider, "Microsoft-Windows-DotNETRuntime") == 0;

    counts->with_stack += event->stack_count > 0;
    if (runtime && event->metadata->event_id == 80)
        counts->exceptions++;
    else
        counts->others++;
    for (size_t i = 0; i < event->metadata->field_count; i++)
        counts->named_fields += event->metadata->fields[i].name[0] != '\0';
}

static void on_dropped(void *context, uint64_t thread, uint64_t count)
{
    (void)thread;
    ((event_counts *)context)->dropped += count;
}

static void on_point(void *context, uint64_t ticks)
{
    (void)ticks;
    ((event_counts *)context)->sequence_points++;
}

/* Exceptions (keyword 0x8000) and counters, or the keywords given, from now until stdin is closed
 * or the process ends. Raw bytes go to the file. With a size, the target has no more room than
 * that, and a line from stdin is waited for before anything is read. */
static int show_events(const ipc_address *address, const char *file, uint32_t megabytes,
                       uint64_t keywords, error *e)
{
    const eventpipe_provider providers[] = {
        {"Microsoft-Windows-DotNETRuntime", keywords != 0 ? keywords : 0x8000,
         keywords != 0 ? 4 : 2, NULL},
        {"System.Runtime", UINT64_MAX, 5, "EventCounterIntervalSec=1"},
    };
    const eventpipe_options options = {providers, keywords != 0 ? 1 : 2, megabytes, false};
    event_counts counts = {0};
    nettrace_sink sink = {on_trace, on_event, on_dropped, on_point, &counts};
    nettrace *parser = nettrace_create(&sink);
    FILE *out = fopen(file, "w");
    eventpipe_session session;
    char bytes[4096];
    int code = eventpipe_start(address, &options, &session, e);
    long n = 1;
    bool stopped = false;

    if (code != 0)
        return code;
    puts("started");
    fflush(stdout);
    if (megabytes != 0)
        n = read(STDIN_FILENO, bytes, 1);
    while (code == 0 && n > 0) {
        struct pollfd waiting[] = {{session.descriptor, POLLIN, 0},
                                   {stopped ? -1 : STDIN_FILENO, POLLIN, 0}};

        poll(waiting, 2, -1);
        if (waiting[1].revents != 0) {
            code = eventpipe_stop(address, &session, e);
            stopped = true;
        } else {
            n = eventpipe_read(&session, bytes, sizeof bytes, 10000, e);
            if (n > 0 && out != NULL)
                fwrite(bytes, 1, (size_t)n, out);
            if (n > 0)
                code = nettrace_feed(parser, bytes, (size_t)n, e);
        }
    }
    if (code == 0 && n < 0)
        code = (int)n;
    printf("%llu\n%u\n%u\n%u\n%llu\n%d\n%d\n", counts.process_id, counts.exceptions,
           counts.with_stack, counts.others, counts.dropped, counts.named_fields > 0,
           nettrace_at_end(parser));
    nettrace_free(parser);
    eventpipe_close(&session);
    if (out != NULL)
        fclose(out);
    return code;
}

static int run(const ipc_address *address, int argc, char **argv, error *e)
{
    const char *command = argv[0];
    GUID clsid;

    if (argc >= 3 && argv[1][0] == '{' && !clr_guid_parse(argv[1], &clsid))
        return error_set(e, ERROR_USAGE, "not a CLSID");
    if (strcmp(command, "info") == 0)
        return show_info(address, e);
    if (strcmp(command, "environment") == 0)
        return show_environment(address, e);
    if (strcmp(command, "events") == 0)
        return show_events(address, argv[1], argc > 2 ? (uint32_t)atoi(argv[2]) : 0,
                           argc > 3 ? strtoull(argv[3], NULL, 0) : 0, e);
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
