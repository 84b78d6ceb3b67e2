/*
 * hello: the smallest useful CLR profiler. Says at the end of the program which modules it loaded,
 * how many methods were compiled, and how long it ran.
 *
 *     cc -shared -fPIC -O2 hello.c -o libhello.so $(pkg-config --cflags --libs clarinet-sdk)
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{C1A21E70-0001-4C4C-8A11-6E6574434C52}' \
 *         CORECLR_PROFILER_PATH=$PWD/libhello.so dotnet app.dll
 *
 * The report goes to stderr, or to the file that CLARINET_OUTPUT names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clarinet/clarinet.h>

#ifndef TIME_UTC /* Windows' older C library */
#define timespec_get(time, base) clock_gettime(CLOCK_REALTIME, time)
#endif

typedef struct {
    const clr_info *info;
    struct timespec start;
    unsigned modules; /* callbacks come from many threads: counted atomically */
    unsigned compiled;
    unsigned failed;
    FILE *out;
} hello;

static hello state;

static HRESULT on_start(void *context, const clr_info *info)
{
    hello *h = context;

    h->info = info;
    timespec_get(&h->start, TIME_UTC);
    return clr_info_set_event_mask(info,
                                   COR_PRF_MONITOR_MODULE_LOADS | COR_PRF_MONITOR_JIT_COMPILATION);
}

static void on_module(void *context, ModuleID module, HRESULT status)
{
    hello *h = context;

    (void)module;
    if (CLR_OK(status))
        __atomic_add_fetch(&h->modules, 1, __ATOMIC_RELAXED);
}

static void on_compiled(void *context, FunctionID function, HRESULT status, BOOL safe_to_block)
{
    hello *h = context;

    (void)function;
    (void)safe_to_block;
    __atomic_add_fetch(CLR_OK(status) ? &h->compiled : &h->failed, 1, __ATOMIC_RELAXED);
}

static int print_module(void *context, uintptr_t module)
{
    hello *h = context;
    clr_text *path = clr_text_create();

    if (path != NULL && clr_get_module_path(h->info, module, path, NULL) == S_OK)
        fprintf(h->out, "module %s\n", clr_text_value(path));
    clr_text_free(path);
    return 1;
}

static void on_end(void *context)
{
    hello *h = context;
    const char *file = getenv("CLARINET_OUTPUT");
    clr_runtime runtime;
    struct timespec end;
    double seconds;

    timespec_get(&end, TIME_UTC);
    seconds =
        (double)(end.tv_sec - h->start.tv_sec) + (double)(end.tv_nsec - h->start.tv_nsec) / 1e9;
    h->out = file != NULL ? fopen(file, "w") : stderr;
    if (h->out == NULL)
        return;
    clr_each_module(h->info, print_module, h);
    if (clr_get_runtime(h->info, &runtime) == S_OK)
        fprintf(h->out, "runtime %u.%u.%u\n", runtime.major, runtime.minor, runtime.build);
    fprintf(h->out, "hello: %u modules loaded, %u methods compiled (%u failed), %.3f s\n",
            h->modules, h->compiled, h->failed, seconds);
    if (h->out != stderr)
        fclose(h->out);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start,
    .module_load_finished = on_module,
    .jit_compilation_finished = on_compiled,
    .shutdown = on_end,
};

CLR_PROFILER("{C1A21E70-0001-4C4C-8A11-6E6574434C52}", callbacks, &state)
