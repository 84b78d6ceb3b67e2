/*
 * inspect: see inspect.h.
 *
 * From cheap to dear: one read of /proc/PID/stat (a process with one thread is no .NET process),
 * the socket's name in a folder that is listed once, thread names, and only then the memory map.
 */
#include "diagnostics/inspect.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/commands.h"
#include "diagnostics/maps.h"

enum {
    MAPS_LIMIT = 8 << 20,
    ENVIRONMENT_LIMIT = 1 << 20,
    COMMAND_LINE_LIMIT = 64 << 10,
    MODULE_LIMIT = 32 << 20,
    LIST_TIMEOUT_MS = 1000, /* for each of a list, while not many do not answer */
    SHORT_TIMEOUT_MS = 100,
    OLDEST_MAJOR = 6, /* of runtimes that can be attached to */
};

/* What was seen on the way to a judgement. */
typedef struct {
    bool has_socket;
    bool permitted; /* the environment could be read */
    bool moved; /* its root is another folder of our own file system: it may have begun outside */
    char temporary_folder[400];
    bool out_of_files;
    char disabled_by[64]; /* the variable that switches the port off, or "" */
    char profiler_path[256];
    maps_findings maps;
    error failure; /* why the port did not answer */
} inspect_findings;

static void find_namespaces(inspect_context *context, diagnostics_process *process,
                            inspect_findings *f);
static bool is_dotnet(inspect_context *context, int process_id);
static bool find_socket(inspect_context *context, diagnostics_process *process,
                        inspect_findings *f);
static void read_environment(inspect_context *context, int process_id, inspect_findings *f);
static void read_maps(inspect_context *context, diagnostics_process *process, inspect_findings *f);
static void ask_process(inspect_context *context, diagnostics_process *process,
                        inspect_findings *f);
static void fill_from_proc(inspect_context *context, const procfs_stat *stat,
                           diagnostics_process *process, const inspect_findings *f);
static void judge(diagnostics_process *process, const inspect_findings *f);
static bool complete(diagnostics_process *process);

void inspect_begin(inspect_context *context, unsigned timeout_ms)
{
    struct stat root;

    memset(context, 0, sizeof *context);
    procfs_read_link(os_process_id(), "ns/mnt", context->mount_namespace,
                     sizeof context->mount_namespace);
    procfs_read_link(os_process_id(), "ns/pid", context->pid_namespace,
                     sizeof context->pid_namespace);
    if (stat("/", &root) == 0) {
        context->root_device = root.st_dev;
        context->root_inode = root.st_ino;
    }
    context->own_temporary_folder = getenv("TMPDIR");
    context->timeout_ms = timeout_ms == 0 ? LIST_TIMEOUT_MS : timeout_ms;
    context->deadline_ns = os_monotonic_ns() + 3 * UINT64_C(1000000) * context->timeout_ms;
    context->last_user_id = UINT32_MAX;
}

void inspect_end(inspect_context *context)
{
    sockets_free(&context->sockets);
    buffer_free(&context->scratch);
}

bool inspect_process(inspect_context *context, const procfs_stat *stat,
                     diagnostics_process *process)
{
    inspect_findings f = {.temporary_folder = "/tmp"};

    memset(process, 0, sizeof *process);
    if (stat->threads < 2 || stat->state == 'Z' || stat->ending)
        return false;
    process->process_id = stat->process_id;
    process->start_ticks = stat->start_ticks;
    process->state = stat->state;
    find_namespaces(context, process, &f);
    f.has_socket = find_socket(context, process, &f);
    if (!f.has_socket && !is_dotnet(context, stat->process_id))
        return false;
    read_environment(context, stat->process_id, &f);
    if (!f.has_socket)
        f.has_socket = find_socket(context, process, &f);
    read_maps(context, process, &f);
    process->temporary_folder = memory_copy_text(f.temporary_folder);
    if (f.has_socket && stat->state != 'T' && stat->state != 't')
        ask_process(context, process, &f);
    /* what ends in the middle of the look has no environment: that is not a lack of rights */
    if (f.failure.code == ERROR_GONE ||
        /* a socket with its numbers on which another process listens makes no .NET process of it */
        (f.failure.code == ERROR_NOT_FOUND && !is_dotnet(context, stat->process_id)) ||
        (!f.permitted && !procfs_is_alive(stat->process_id, stat->start_ticks))) {
        diagnostics_process_free(process);
        return false;
    }
    fill_from_proc(context, stat, process, &f);
    judge(process, &f);
    return complete(process);
}

bool inspect_socket(inspect_context *context, const sockets_folder *folder,
                    const sockets_entry *entry, diagnostics_process *process)
{
    procfs_stat start = {.start_ticks = entry->start_ticks};
    inspect_findings f = {.has_socket = true};

    memset(process, 0, sizeof *process);
    sockets_address(folder, entry, &process->address);
    process->inner_pid = entry->inner_pid;
    process->start_ticks = entry->start_ticks;
    process->uptime_seconds = procfs_uptime_seconds(&start);
    process->container = true;
    ask_process(context, process, &f);
    if (f.failure.code != 0) {
        diagnostics_process_free(process);
        return false;
    }
    process->temporary_folder = memory_copy_text(folder->path);
    process->name = memory_copy_text(process->entry_assembly);
    process->code = ERROR_UNSUPPORTED;
    process->reason = memory_copy_text("it is in another PID namespace: only its socket is seen");
    process->advice = memory_copy_text("run clarinet in its PID namespace, or on the host");
    return complete(process);
}

/* --- is it one, and where is it --- */

static void find_namespaces(inspect_context *context, diagnostics_process *process,
                            inspect_findings *f)
{
    char link[64], root[32];
    struct stat status;

    process->inner_pid = process->process_id;
    if (procfs_read_link(process->process_id, "ns/pid", link, sizeof link) &&
        strcmp(link, context->pid_namespace) != 0 &&
        procfs_read(process->process_id, "status", 16384, &context->scratch) == 0) {
        int inner = procfs_parse_inner_pid(buffer_text(&context->scratch));

        if (inner > 0)
            process->inner_pid = inner;
        process->container = true;
    }
    /* A mount namespace of its own is not yet a container: a service may just have a private /tmp
     */
    snprintf(root, sizeof root, "/proc/%d/root", process->process_id);
    if (procfs_read_link(process->process_id, "ns/mnt", link, sizeof link) &&
        strcmp(link, context->mount_namespace) != 0)
        strcpy(process->root, root);
    if (stat(root, &status) == 0 &&
        (status.st_dev != context->root_device || status.st_ino != context->root_inode)) {
        f->moved = process->root[0] == '\0';
        strcpy(process->root, root);
        process->container = true;
    }
}

static bool is_dotnet(inspect_context *context, int process_id)
{
    if (procfs_has_dotnet_thread(process_id))
        return true;
    /* Runtimes before 5.0 do not name their threads. */
    return procfs_read(process_id, "maps", MAPS_LIMIT, &context->scratch) == 0 &&
           strstr(buffer_text(&context->scratch), "/libcoreclr.so\n") != NULL;
}

/* Whether the kernel says that this process listens on the socket. */
static bool is_listener(const ipc_address *address, int process_id)
{
    struct ucred peer = {0, 0, 0};
    socklen_t length = sizeof peer;
    int descriptor;
    bool listens;

    if (ipc_connect(address, &descriptor, NULL) != 0)
        return false;
    listens = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
              peer.pid == process_id;
    close(descriptor);
    return listens;
}

/* The start time in a socket's name is what /proc said to the process about its own number. In a
 * PID namespace that was made without a /proc of its own that is another process's: only the kernel
 * tells whose socket it is. */
static sockets_entry *find_misnamed(sockets_folder *folder, const diagnostics_process *process)
{
    if (folder == NULL || process->inner_pid == process->process_id)
        return NULL;
    for (size_t i = 0; i < folder->count; i++) {
        sockets_entry *entry = &folder->entries[i];
        ipc_address address = {.timeout_ms = SHORT_TIMEOUT_MS};

        if (entry->inner_pid != process->inner_pid)
            continue;
        sockets_address(folder, entry, &address);
        if (is_listener(&address, process->process_id)) {
            entry->taken = true;
            return entry;
        }
    }
    return NULL;
}

static bool find_socket(inspect_context *context, diagnostics_process *process, inspect_findings *f)
{
    /* the socket lies where the process was when it began, also if it moved its root since */
    const struct {
        const char *root, *path;
    } places[] = {{process->root, f->temporary_folder},
                  {process->root, f->permitted ? NULL : context->own_temporary_folder},
                  {"", f->moved ? f->temporary_folder : NULL}};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        sockets_folder *folder =
            places[i].path == NULL
                ? NULL
                : sockets_list(&context->sockets, places[i].root, places[i].path);
        const sockets_entry *entry = sockets_find(folder, process->inner_pid, process->start_ticks);

        if (entry == NULL)
            entry = find_misnamed(folder, process);
        if (entry == NULL)
            continue;
        sockets_address(folder, entry, &process->address);
        process->address.process_id = process->process_id;
        return true;
    }
    f->out_of_files = context->sockets.out_of_files;
    return false;
}

static void copy_variable(const buffer *environment, const char *name, char *out, size_t room)
{
    const char *value = procfs_find_variable(environment, name);

    if (value != NULL && value[0] != '\0')
        snprintf(out, room, "%s", value);
}

/* A TMPDIR that does not begin at the root means what lies in the process's own folder. */
static void complete_folder(int process_id, inspect_findings *f)
{
    char here[sizeof f->temporary_folder], whole[sizeof f->temporary_folder];

    if (f->temporary_folder[0] != '/' && procfs_read_link(process_id, "cwd", here, sizeof here) &&
        snprintf(whole, sizeof whole, "%s/%s", here, f->temporary_folder) < (int)sizeof whole)
        strcpy(f->temporary_folder, whole);
}

static void read_environment(inspect_context *context, int process_id, inspect_findings *f)
{
    static const char *const SWITCHES[] = {"DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics",
                                           "DOTNET_EnableDiagnostics_IPC",
                                           "COMPlus_EnableDiagnostics_IPC"};
    const buffer *environment = &context->scratch;

    if (procfs_read(process_id, "environ", ENVIRONMENT_LIMIT, &context->scratch) != 0)
        return;
    f->permitted = true;
    copy_variable(environment, "TMPDIR", f->temporary_folder, sizeof f->temporary_folder);
    complete_folder(process_id, f);
    copy_variable(environment, "CORECLR_PROFILER_PATH", f->profiler_path, sizeof f->profiler_path);
    copy_variable(environment, "CORECLR_PROFILER_PATH_64", f->profiler_path,
                  sizeof f->profiler_path);
    copy_variable(environment, "CLARINET_GATE_LIBRARY", f->profiler_path, sizeof f->profiler_path);
    for (size_t i = 0; i < sizeof SWITCHES / sizeof *SWITCHES && f->disabled_by[0] == '\0'; i++) {
        const char *value = procfs_find_variable(environment, SWITCHES[i]);
        char *end;

        if (value != NULL && strtoul(value, &end, 16) == 0 && end != value && *end == '\0')
            snprintf(f->disabled_by, sizeof f->disabled_by, "%s=%s", SWITCHES[i], value);
    }
}

static void read_maps(inspect_context *context, diagnostics_process *process, inspect_findings *f)
{
    buffer profilers = BUFFER_EMPTY;

    if (procfs_read(process->process_id, "maps", MAPS_LIMIT, &context->scratch) != 0)
        return;
    maps_scan(&context->scratch, f->profiler_path[0] == '\0' ? NULL : f->profiler_path, &f->maps,
              &profilers);
    /* after a session that sampled the agent's library stays mapped, and does nothing */
    if (f->maps.agent[0] != '\0' && procfs_has_agent_thread(process->process_id)) {
        if (profilers.length > 0)
            buffer_append_text(&profilers, ", ");
        text_append_cleaned(&profilers, f->maps.agent, strlen(f->maps.agent));
    }
    if (profilers.length > 0)
        process->profiler = buffer_take_text(&profilers);
    buffer_free(&profilers);
}

/* --- what it says about itself --- */

static void ask_process(inspect_context *context, diagnostics_process *process, inspect_findings *f)
{
    ipc_address address = process->address;
    diagnostics_process_info info;

    address.timeout_ms =
        os_monotonic_ns() < context->deadline_ns ? context->timeout_ms : SHORT_TIMEOUT_MS;
    error_clear(&f->failure);
    if (diagnostics_get_process_info(&address, false, &info, &f->failure) != 0)
        return;
    process->command_line = info.command_line;
    process->entry_assembly = info.entry_assembly;
    process->runtime_version = info.runtime_version;
    process->architecture = info.architecture;
    info.command_line = info.entry_assembly = info.runtime_version = info.architecture = NULL;
    diagnostics_process_info_free(&info);
    process->runtime_version[strcspn(process->runtime_version, "+ ")] = '\0';
}

/* --- what /proc says where the process itself did not --- */

static const char *read_architecture(int process_id)
{
    static const struct {
        uint16_t machine;
        const char *name;
    } NAMES[] = {{EM_X86_64, "x64"},   {EM_AARCH64, "arm64"}, {EM_386, "x86"},
                 {EM_ARM, "arm"},      {EM_S390, "s390x"},    {EM_RISCV, "riscv64"},
                 {258, "loongarch64"}, {EM_PPC64, "ppc64le"}};
    char path[32];
    unsigned char head[20] = {0};
    int descriptor;
    long n;

    snprintf(path, sizeof path, "/proc/%d/exe", process_id);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return "";
    n = read(descriptor, head, sizeof head);
    close(descriptor);
    if (n != sizeof head || memcmp(head, ELFMAG, SELFMAG) != 0)
        return "";
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (NAMES[i].machine == (head[18] | head[19] << 8))
            return NAMES[i].name;
    }
    return "";
}

/* The version of a runtime whose path does not say it, from the module itself: libcoreclr.so of a
 * self-contained program, or the program when the runtime is linked into it. */
static char *read_module_version(inspect_context *context, int process_id, const char *path)
{
    char version[32] = "", root[32];
    const char *name;
    int folder = -1, file;

    snprintf(root, sizeof root, "/proc/%d/%s", process_id, path[0] == '\0' ? "exe" : "root");
    if (path[0] == '\0')
        file = open(root, O_RDONLY | O_CLOEXEC);
    else if ((folder = ipc_open_folder(root, path, &name)) < 0)
        file = -1;
    else
        file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    buffer_clear(&context->scratch);
    while (file >= 0 && context->scratch.length < MODULE_LIMIT &&
           buffer_reserve(&context->scratch, 1 << 20)) {
        long n = read(file, context->scratch.data + context->scratch.length, 1 << 20);

        if (n <= 0)
            break;
        context->scratch.length += (size_t)n;
    }
    if (context->scratch.length > 0)
        maps_version_of_module(context->scratch.data, context->scratch.length, version,
                               sizeof version);
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    return memory_copy_text(version);
}

/* The program a command line starts: the first .dll after dotnet, or the program itself. */
static char *name_of_command(const buffer *cmdline, const char *fallback)
{
    const char *argument = buffer_text(cmdline);
    const char *end = argument + cmdline->length;
    const char *name = strrchr(argument, '/');
    buffer out = BUFFER_EMPTY;

    name = name == NULL ? argument : name + 1;
    if (strcmp(name, "dotnet") == 0) {
        for (argument += strlen(argument) + 1; argument < end; argument += strlen(argument) + 1) {
            const char *slash = strrchr(argument, '/');

            if (text_ends_with(argument, ".dll")) {
                name = slash == NULL ? argument : slash + 1;
                text_append_cleaned(&out, name, strlen(name) - 4);
                return buffer_take_text(&out);
            }
        }
    }
    if (name[0] == '\0')
        name = fallback;
    text_append_cleaned(&out, name, strlen(name));
    return buffer_take_text(&out);
}

static const char *user_name(inspect_context *context, uint32_t user_id)
{
    if (context->last_user_id != user_id || context->last_user[0] == '\0') {
        const struct passwd *row = getpwuid(user_id);

        if (row != NULL)
            snprintf(context->last_user, sizeof context->last_user, "%s", row->pw_name);
        else
            snprintf(context->last_user, sizeof context->last_user, "%u", user_id);
        context->last_user_id = user_id;
    }
    return context->last_user;
}

static void fill_from_proc(inspect_context *context, const procfs_stat *stat_line,
                           diagnostics_process *process, const inspect_findings *f)
{
    char folder[32];
    struct stat status;
    buffer text = BUFFER_EMPTY;

    process->uptime_seconds = procfs_uptime_seconds(stat_line);
    snprintf(folder, sizeof folder, "/proc/%d", process->process_id);
    if (stat(folder, &status) == 0)
        process->user_id = status.st_uid;
    process->user = memory_copy_text(user_name(context, process->user_id));
    if (process->architecture == NULL || process->architecture[0] == '\0') {
        memory_free(process->architecture);
        process->architecture = memory_copy_text(read_architecture(process->process_id));
    }
    if (process->runtime_version == NULL || process->runtime_version[0] == '\0') {
        memory_free(process->runtime_version);
        process->runtime_version =
            f->maps.version[0] != '\0'
                ? memory_copy_text(f->maps.version)
                : read_module_version(context, process->process_id, f->maps.coreclr_path);
    }
    /* As it was typed; the runtime leaves out what its host took for itself. */
    procfs_read(process->process_id, "cmdline", COMMAND_LINE_LIMIT, &context->scratch);
    if (process->entry_assembly != NULL && process->entry_assembly[0] != '\0')
        process->name = memory_copy_text(process->entry_assembly);
    else
        process->name = name_of_command(&context->scratch, stat_line->name);
    procfs_append_command_line(&text, &context->scratch);
    if (text.length > 0) {
        memory_free(process->command_line);
        process->command_line = buffer_take_text(&text);
    }
    buffer_free(&text);
}

/* --- the judgement --- */

static void refuse(diagnostics_process *process, int code, const char *reason, const char *advice)
{
    process->code = code;
    process->reason = memory_copy_text(reason);
    process->advice = memory_copy_text(advice);
}

static void judge(diagnostics_process *process, const inspect_findings *f)
{
    const char *version = process->runtime_version == NULL ? "" : process->runtime_version;
    char text[600], advice[200];

    if (version[0] != '\0' && atoi(version) < OLDEST_MAJOR) {
        snprintf(text, sizeof text,
                 ".NET %s is too old: it can be listed, started under a profiler library with "
                 "`clarinet launch`, and its events can be recorded, no more",
                 version);
        refuse(process, ERROR_UNSUPPORTED, text,
               "-p gc,exceptions and the like work; the rest needs .NET 8 or later");
    } else if (process->state == 'T' || process->state == 't') {
        snprintf(advice, sizeof advice, "`kill -CONT %d` continues it", process->process_id);
        if (process->state == 'T')
            refuse(process, ERROR_BUSY, "it is stopped by a signal", advice);
        else
            refuse(process, ERROR_BUSY, "it is stopped by a debugger", "let the debugger go on");
    } else if (f->has_socket && f->failure.code == 0) {
        process->attachable = true;
    } else if (f->failure.code == ERROR_PERMISSION || (!f->has_socket && !f->permitted)) {
        if (f->has_socket && process->user_id == geteuid()) {
            refuse(process, ERROR_PERMISSION, "its diagnostics socket may not be opened",
                   "give its owner the right to read and write that socket again, or run clarinet "
                   "as root");
            return;
        }
        snprintf(text, sizeof text, "it belongs to the user %s",
                 process->user == NULL ? "?" : process->user);
        refuse(process, ERROR_PERMISSION, text, "run clarinet as that user, or as root");
    } else if (f->has_socket) {
        refuse(process, f->failure.code, f->failure.message, f->failure.advice);
    } else if (f->disabled_by[0] != '\0') {
        snprintf(text, sizeof text, "diagnostics are disabled by %s", f->disabled_by);
        refuse(process, ERROR_UNSUPPORTED, text, "restart it without that variable");
    } else if (f->out_of_files) {
        refuse(process, ERROR_LIMIT, "clarinet has too many open files to look for its socket",
               "allow more with `ulimit -n 256`");
    } else {
        snprintf(text, sizeof text, "its diagnostics socket is not in %s", f->temporary_folder);
        refuse(process, ERROR_NOT_FOUND, text,
               "the folder was cleaned while the process ran, the process may not write there, it "
               "is just starting or ending, or diagnostics are disabled in its runtimeconfig.json");
    }
}

/* Every text is there from here on, or the process is given up. */
static bool complete(diagnostics_process *process)
{
    char **texts[] = {&process->name,
                      &process->entry_assembly,
                      &process->runtime_version,
                      &process->architecture,
                      &process->command_line,
                      &process->user,
                      &process->profiler,
                      &process->reason,
                      &process->advice,
                      &process->temporary_folder};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (*texts[i] == NULL && (*texts[i] = memory_copy_text("")) == NULL) {
            diagnostics_process_free(process);
            return false;
        }
    }
    return true;
}
