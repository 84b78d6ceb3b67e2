/*
 * calls: counts every call of every managed method, and every return, exactly: inlining is off
 * while it watches. Expect the program to run several times slower.
 *
 *     cc -shared -fPIC -O2 calls.c -o libcalls.so $(pkg-config --cflags --libs clarinet-sdk)
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{C1A21E70-0004-4C4C-8A11-6E6574434C52}' \
 *         CORECLR_PROFILER_PATH=$PWD/libcalls.so CLARINET_FILTER=MyApp. dotnet app.dll
 *
 * The report goes to stderr, or to the file that CLARINET_OUTPUT names. CLARINET_FILTER keeps the
 * methods whose names begin so, CLARINET_TOP says how many are listed (30).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clarinet/clarinet.h>

enum { MOST = 1 << 16 };

/* One method. The runtime hands its address to the hooks, so that a hook looks nothing up. */
typedef struct {
    FunctionID function;
    clr_text
        *name; /* given when an assembly is unloaded, as the method may be in it; NULL = not yet */
    unsigned long long enters;
    unsigned long long leaves; /* returns and tail calls; exceptions leave without */
} method;

typedef struct {
    const clr_info *info;
    method methods[MOST];
    unsigned used;
} calls;

static calls state;

static void on_enter(uintptr_t id)
{
    __atomic_add_fetch(&((method *)id)->enters, 1, __ATOMIC_RELAXED);
}

static void on_leave(uintptr_t id)
{
    __atomic_add_fetch(&((method *)id)->leaves, 1, __ATOMIC_RELAXED);
}

/* Asked once for each function before it runs: a place for its counts, or no hook at all. */
static uintptr_t CLR_CALL map(FunctionID function, void *context, BOOL *hook)
{
    calls *c = context;
    unsigned index = __atomic_fetch_add(&c->used, 1, __ATOMIC_RELAXED);

    if (index >= MOST) {
        *hook = 0;
        return function;
    }
    c->methods[index].function = function;
    *hook = 1;
    return (uintptr_t)&c->methods[index];
}

static HRESULT on_start(void *context, const clr_info *info)
{
    static const clr_hooks hooks = {.enter = on_enter, .leave = on_leave, .tailcall = on_leave};
    calls *c = context;
    HRESULT hr;

    c->info = info;
    hr = clr_info_set_event_mask(info, COR_PRF_MONITOR_ENTERLEAVE | COR_PRF_DISABLE_INLINING |
                                           COR_PRF_MONITOR_MODULE_LOADS);
    if (hr == S_OK)
        hr = clr_hooks_map(info, map, c);
    if (hr == S_OK)
        hr = clr_hooks_install(info, &hooks);
    return hr;
}

/* The last moment at which the runtime may be asked about methods of this module. */
static void on_unload(void *context, ModuleID module)
{
    calls *c = context;
    unsigned used = __atomic_load_n(&c->used, __ATOMIC_RELAXED);

    (void)module;
    for (size_t i = 0; i < used && i < MOST; i++) {
        method *m = &c->methods[i];

        if (m->function != 0 && m->name == NULL && (m->name = clr_text_create()) != NULL)
            clr_append_function(c->info, m->function, 0, m->name, m->name, NULL);
    }
}

static int by_enters(const void *a, const void *b)
{
    unsigned long long x = ((const method *)a)->enters;
    unsigned long long y = ((const method *)b)->enters;

    return x < y ? 1 : x > y ? -1 : 0;
}

static void on_end(void *context)
{
    calls *c = context;
    const char *file = getenv("CLARINET_OUTPUT");
    const char *filter = getenv("CLARINET_FILTER");
    const char *top = getenv("CLARINET_TOP");
    size_t most = top != NULL ? strtoul(top, NULL, 10) : 30;
    size_t used = c->used < MOST ? c->used : MOST;
    method *sorted = malloc((used + 1) * sizeof *sorted);
    FILE *out = file != NULL ? fopen(file, "w") : stderr;
    size_t listed = 0;

    if (sorted == NULL || out == NULL)
        return;
    on_unload(c, 0);                                   /* names the others */
    memcpy(sorted, c->methods, used * sizeof *sorted); /* hooks still count into the others */
    qsort(sorted, used, sizeof *sorted, by_enters);
    fprintf(out, "%12s %12s method\n", "calls", "returns");
    for (size_t i = 0; i < used && listed < most && sorted[i].enters > 0; i++) {
        const char *name = sorted[i].name != NULL ? clr_text_value(sorted[i].name) : "";

        if (name[0] == '\0' || (filter != NULL && strncmp(name, filter, strlen(filter)) != 0))
            continue;
        fprintf(out, "%12llu %12llu %s\n", sorted[i].enters, sorted[i].leaves, name);
        listed++;
    }
    if (c->used > MOST)
        fprintf(out, "%u methods not counted: too many\n", c->used - MOST);
    free(sorted);
    if (out != stderr)
        fclose(out);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start, .module_unload_started = on_unload, .shutdown = on_end};

CLR_PROFILER("{C1A21E70-0004-4C4C-8A11-6E6574434C52}", callbacks, &state)
