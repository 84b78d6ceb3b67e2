/* processes: see processes.h. Thread rules: nothing is shared; getpwuid is used, so one listing at
 * a time. */
#include "diagnostics/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/inspect.h"

enum { START_PATIENCE_MS = 1000, START_PAUSE_MS = 20, HOST_MAPS_LIMIT = 8 << 20 };

static bool add_process(diagnostics_process_list *list, const diagnostics_process *process);
static void take_left_over_sockets(inspect_context *context, diagnostics_process_list *list);
static int compare_processes(const void *a, const void *b);

void diagnostics_process_free(diagnostics_process *process)
{
    memory_free(process->name);
    memory_free(process->entry_assembly);
    memory_free(process->runtime_version);
    memory_free(process->architecture);
    memory_free(process->command_line);
    memory_free(process->user);
    memory_free(process->profiler);
    memory_free(process->reason);
    memory_free(process->advice);
    memory_free(process->temporary_folder);
    memset(process, 0, sizeof *process);
}

void diagnostics_process_list_free(diagnostics_process_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        diagnostics_process_free(&list->items[i]);
    for (size_t i = 0; i < list->stale_count; i++)
        memory_free(list->stale[i]);
    memory_free(list->items);
    memory_free(list->stale);
    memset(list, 0, sizeof *list);
}

int diagnostics_list_processes(unsigned timeout_ms, diagnostics_process_list *list, error *e)
{
    inspect_context context;
    const struct dirent *entry;
    DIR *folder;
    bool memory = true;
    procfs_stat own;

    memset(list, 0, sizeof *list);
    folder = opendir("/proc");
    if (folder == NULL) {
        error_set_errno(e, ERROR_IO, errno, "cannot list /proc");
        error_advise(e, "clarinet finds processes through /proc; is it mounted?");
        return ERROR_IO;
    }
    if (!procfs_read_stat(os_process_id(), &own)) {
        closedir(folder);
        error_set(e, ERROR_UNSUPPORTED,
                  "/proc is not what it should be: our own process is not in it");
        error_advise(e, "clarinet finds processes through /proc: `mount -t proc proc /proc`");
        return ERROR_UNSUPPORTED;
    }
    inspect_begin(&context, timeout_ms);
    while (memory && (entry = readdir(folder)) != NULL) {
        diagnostics_process process;
        procfs_stat stat;

        if (isdigit((unsigned char)entry->d_name[0]) &&
            procfs_read_stat(atoi(entry->d_name), &stat) &&
            inspect_process(&context, &stat, &process))
            memory = add_process(list, &process);
    }
    closedir(folder);
    if (memory)
        take_left_over_sockets(&context, list);
    inspect_end(&context);
    if (!memory) {
        diagnostics_process_list_free(list);
        return error_set(e, ERROR_MEMORY, "no memory for the list of processes");
    }
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_processes);
    return 0;
}

static bool look_at(const procfs_stat *stat, diagnostics_process *process)
{
    inspect_context context;
    bool found;

    inspect_begin(&context, IPC_DEFAULT_TIMEOUT_MS);
    found = inspect_process(&context, stat, process);
    inspect_end(&context);
    return found;
}

/* A host of .NET that has no runtime yet: `dotnet`, or a program that has loaded the host. */
static bool is_starting(int process_id)
{
    buffer maps = BUFFER_EMPTY;
    char path[512];
    bool starting =
        procfs_read_link(process_id, "exe", path, sizeof path) && text_ends_with(path, "/dotnet");

    if (!starting && procfs_read(process_id, "maps", HOST_MAPS_LIMIT, &maps) == 0)
        starting = strstr(buffer_text(&maps), "/libhostfxr.so\n") != NULL ||
                   strstr(buffer_text(&maps), "/libhostpolicy.so\n") != NULL;
    buffer_free(&maps);
    return starting;
}

/* A runtime makes its socket a moment after it is up, and takes it away a moment before it ends;
 * who was connected then gets no answer. */
static bool may_settle(const diagnostics_process *process)
{
    return !process->attachable && (process->code == ERROR_NOT_FOUND || process->code == ERROR_IO);
}

int diagnostics_find_process_id(int process_id, diagnostics_process *process, error *e)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)START_PATIENCE_MS * 1000000;
    procfs_stat stat;
    bool found, starting = false;

    memset(process, 0, sizeof *process);
    do {
        if (starting)
            os_sleep_ms(START_PAUSE_MS);
        diagnostics_process_free(process);
        if (!procfs_read_stat(process_id, &stat)) {
            error_set(e, ERROR_NOT_FOUND, "there is no process %d", process_id);
            error_advise(e, "`clarinet ps` lists the .NET processes");
            return ERROR_NOT_FOUND;
        }
        if (stat.state == 'Z') {
            error_set(e, ERROR_GONE, "process %d (%s) has ended", process_id, stat.name);
            error_advise(
                e, "it is a zombie that waits for its parent; `clarinet ps` lists the living");
            return ERROR_GONE;
        }
        found = look_at(&stat, process);
        if (!found && !procfs_is_alive(process_id, stat.start_ticks)) {
            error_set(e, ERROR_GONE, "process %d (%s) has ended", process_id, stat.name);
            error_advise(e, "`clarinet ps` lists the living");
            return ERROR_GONE;
        }
        starting = found ? may_settle(process) : is_starting(process_id);
    } while (starting && os_monotonic_ns() < end);
    if (starting && !found) {
        error_set(e, ERROR_BUSY,
                  "process %d (%s) is just starting or ending: no .NET runtime is up in it",
                  process_id, stat.name);
        error_advise(e, "try again in a moment; `clarinet ps` lists it then");
        return ERROR_BUSY;
    }
    if (!found) {
        error_set(e, ERROR_UNSUPPORTED, "process %d (%s) is not a .NET process", process_id,
                  stat.name);
        error_advise(e,
                     "clarinet examines .NET 8 and later, but no programs compiled by Native AOT; "
                     "`clarinet ps` lists what it sees");
        return ERROR_UNSUPPORTED;
    }
    return 0;
}

static bool has_name(const diagnostics_process *process, const char *text)
{
    char name[256];
    size_t length;

    snprintf(name, sizeof name, "%s", text);
    length = strlen(name);
    if (length > 4 && text_equal_ignoring_case(name + length - 4, ".dll"))
        name[length - 4] = '\0';
    return text_equal_ignoring_case(process->name, name) ||
           text_equal_ignoring_case(process->entry_assembly, name);
}

int diagnostics_find_process(const char *text, diagnostics_process *process, error *e)
{
    diagnostics_process_list list;
    buffer candidates = BUFFER_EMPTY;
    size_t matches = 0, last = 0;
    uint64_t number;
    int code;

    memset(process, 0, sizeof *process);
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0') {
        if (!text_to_u64(text, &number) || number == 0 || number > INT32_MAX) {
            error_set(e, ERROR_USAGE, "%s is not a process id", text);
            error_advise(e, "`clarinet ps` lists the .NET processes");
            return ERROR_USAGE;
        }
        return diagnostics_find_process_id((int)number, process, e);
    }
    if ((code = diagnostics_list_processes(0, &list, e)) != 0)
        return code;
    for (size_t i = 0; i < list.count; i++) {
        if (!has_name(&list.items[i], text))
            continue;
        buffer_format(&candidates, "%s%d", matches == 0 ? "" : ", ", list.items[i].process_id);
        matches++;
        last = i;
    }
    if (matches == 1) {
        *process = list.items[last];
        memset(&list.items[last], 0, sizeof list.items[last]);
    } else if (matches == 0) {
        code = error_set(e, ERROR_NOT_FOUND, "no .NET process is called '%s'", text);
        error_advise(e, "`clarinet ps` lists the names");
    } else {
        code = error_set(e, ERROR_USAGE, "%zu processes are called '%s': %s", matches, text,
                         buffer_text(&candidates));
        error_advise(e, "give one of these process ids instead of the name");
    }
    buffer_free(&candidates);
    diagnostics_process_list_free(&list);
    return code;
}

int diagnostics_require_attachable(const diagnostics_process *process, error *e)
{
    if (process->attachable)
        return 0;
    error_set(e, process->code, "process %d (%s) cannot be attached to: %s", process->process_id,
              process->name, process->reason);
    error_advise(e, "%s", process->advice);
    return process->code;
}

/* --- private --- */

static bool add_process(diagnostics_process_list *list, const diagnostics_process *process)
{
    diagnostics_process *grown = list->items;

    if ((list->count & (list->count - 1)) == 0)
        grown =
            memory_resize(list->items, (list->count == 0 ? 1 : list->count * 2) * sizeof *grown);
    if (grown == NULL) {
        diagnostics_process_free((diagnostics_process *)process);
        return false;
    }
    list->items = grown;
    list->items[list->count++] = *process;
    return true;
}

/* Sockets no visible process was found for: either left behind, or of a process in another PID
 * namespace that shares the folder with us. */
static void take_left_over_sockets(inspect_context *context, diagnostics_process_list *list)
{
    if (context->own_temporary_folder != NULL)
        sockets_list(&context->sockets, "", context->own_temporary_folder);
    sockets_list(&context->sockets, "", "/tmp");
    for (size_t i = 0; i < context->sockets.count; i++) {
        sockets_folder *folder = &context->sockets.folders[i];

        sockets_mark_stale(folder);
        for (size_t k = 0; k < folder->count; k++) {
            const sockets_entry *entry = &folder->entries[k];
            diagnostics_process process;
            ipc_address address = {.timeout_ms = 50};
            buffer path = BUFFER_EMPTY;
            char **grown;
            int descriptor;
            int code;

            if (entry->taken)
                continue;
            sockets_address(folder, entry, &address);
            code = entry->stale ? ERROR_NOT_FOUND : ipc_connect(&address, &descriptor, NULL);
            if (code == 0) {
                close(descriptor);
                if (inspect_socket(context, folder, entry, &process) &&
                    !add_process(list, &process))
                    return;
            }
            if (code != ERROR_NOT_FOUND)
                continue;
            buffer_format(&path, "%s%s", address.root, address.path);
            grown = memory_resize(list->stale, (list->stale_count + 1) * sizeof *grown);
            if (grown == NULL) {
                buffer_free(&path);
                return;
            }
            list->stale = grown;
            if ((list->stale[list->stale_count] = buffer_take_text(&path)) != NULL)
                list->stale_count++;
        }
    }
}

static int compare_processes(const void *a, const void *b)
{
    const diagnostics_process *left = a, *right = b;

    if (left->process_id != right->process_id)
        return left->process_id < right->process_id ? -1 : 1;
    return (left->inner_pid > right->inner_pid) - (left->inner_pid < right->inner_pid);
}
