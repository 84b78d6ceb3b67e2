/*
 * gate: libclarinet_gate.so, a door before another profiler library.
 *
 * `clarinet launch` names this library to the runtime instead of the profiler. It declines in the
 * .NET SDK's own processes (the dotnet CLI, MSBuild, the compiler), so that `dotnet run` and
 * `dotnet test` profile the program and not the tools, and loads the real library everywhere else.
 * It writes one line per process into a report file: the runtime itself says nothing when a
 * profiler does not load, or returns an error from its Initialize (watch.h). Afterwards nothing of
 * it is called any more.
 *
 * Variables: CLARINET_GATE_LIBRARY (the real library), CLARINET_GATE_REPORT (a file to append to),
 * CLARINET_GATE_SDK=1 (go in everywhere).
 * Lines: PID, tab, `skipped` | `loaded` | `failed` | `initialize` | `unloaded`, tab, text.
 *
 * Laws: no output to the program's streams, no libc version needed, a failure never ends the
 * program. Thread rules: the runtime calls DllGetClassObject once, on the thread that starts it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dotnet_host.h"
#include "gate/watch.h"

#define GATE_EXPORT __attribute__((visibility("default")))

enum {
    RESULT_NO_SUCH_CLASS = (int32_t)0x80040111, /* CLASS_E_CLASSNOTAVAILABLE */
    RESULT_FALSE = 1,
};

typedef int32_t get_class_object(const void *clsid, const void *iid, void **out);
typedef int32_t can_unload_now(void);

GATE_EXPORT int32_t DllGetClassObject(const void *clsid, const void *iid, void **out);
GATE_EXPORT int32_t DllCanUnloadNow(void);

/* The one root of state: what was loaded. */
static struct {
    void *library;
    can_unload_now *can_unload;
    bool initialized; /* its Initialize was seen to succeed */
} gate;

static void report(const char *kind, const char *text)
{
    const char *path = getenv("CLARINET_GATE_REPORT");
    char line[1024];
    int descriptor, length;

    if (path == NULL || (descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
        return;
    length = snprintf(line, sizeof line, "%d\t%s\t%s", (int)getpid(), kind, text);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++) {
        if (line[i] == '\n')
            line[i] = ' ';
    }
    line[length++] = '\n';
    if (write(descriptor, line, (size_t)length) < 0) {
        /* The report is a courtesy. */
    }
    close(descriptor);
}

static bool is_left_out(void)
{
    const char *everywhere = getenv("CLARINET_GATE_SDK");

    return (everywhere == NULL || everywhere[0] != '1') && dotnet_host_is_sdk_here();
}

static void report_result(const char *kind, int32_t result)
{
    char text[32];

    snprintf(text, sizeof text, "0x%08x", (unsigned)result);
    report(kind, text);
}

static void on_enter(void)
{
    report("entered", "");
}

static void on_initialize(int32_t result)
{
    gate.initialized = result >= 0;
    report_result("initialize", result);
}

int32_t DllGetClassObject(const void *clsid, const void *iid, void **out)
{
    const char *path = getenv("CLARINET_GATE_LIBRARY");
    get_class_object *get;
    void *symbol;
    int32_t result;

    *out = NULL;
    if (path == NULL)
        return RESULT_NO_SUCH_CLASS;
    if (is_left_out()) {
        report("skipped", "");
        return RESULT_NO_SUCH_CLASS;
    }
    gate.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (gate.library == NULL) {
        const char *reason = dlerror();

        report("failed", reason == NULL ? "the library could not be loaded" : reason);
        return RESULT_NO_SUCH_CLASS;
    }
    symbol = dlsym(gate.library, "DllGetClassObject");
    if (symbol == NULL) {
        report("failed", "the library has no DllGetClassObject");
        return RESULT_NO_SUCH_CLASS;
    }
    memcpy(&get, &symbol, sizeof get);
    symbol = dlsym(gate.library, "DllCanUnloadNow");
    memcpy(&gate.can_unload, &symbol, sizeof symbol);
    result = get(clsid, iid, out);
    if (result < 0 || *out == NULL) {
        report_result("failed", result);
        return result < 0 ? result : RESULT_NO_SUCH_CLASS;
    }
    watch_factory(out, on_enter, on_initialize);
    report("loaded", path);
    return result;
}

int32_t DllCanUnloadNow(void)
{
    return gate.can_unload == NULL ? RESULT_FALSE : gate.can_unload();
}

/* The finalizer thread is made after profilers were initialized: without it, this is not the end of
 * the program but a profiler that was thrown out again. Runtimes before 5.0 do not name it: there
 * only what Initialize returned tells. */
static bool has_finalizer_thread(void)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    bool found = false;

    while (folder != NULL && !found && (entry = readdir(folder)) != NULL) {
        char path[64], name[32] = "";
        int descriptor;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
        descriptor = open(path, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0)
            continue;
        if (read(descriptor, name, sizeof name - 1) > 0)
            found = strncmp(name, ".NET Finalizer", sizeof ".NET Finalizer" - 1) == 0;
        close(descriptor);
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

__attribute__((destructor)) static void gate_close(void)
{
    if (gate.library == NULL || gate.initialized || has_finalizer_thread())
        return;
    report("unloaded", "");
    dlclose(gate.library);
}
