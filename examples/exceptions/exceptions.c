/*
 * exceptions: counts what is thrown, by type, and how much of it is caught, by method.
 *
 *     cc -shared -fPIC -O2 exceptions.c -o libexceptions.so \
 *         $(pkg-config --cflags --libs clarinet-sdk)
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{C1A21E70-0002-4C4C-8A11-6E6574434C52}' \
 *         CORECLR_PROFILER_PATH=$PWD/libexceptions.so dotnet app.dll
 *
 * The report goes to stderr, or to the file that CLARINET_OUTPUT names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clarinet/clarinet.h>

enum { SLOTS = 1024 };

/* Id to count, filled by many threads without a lock: a slot's id is claimed once, for good. */
typedef struct {
    uintptr_t id;
    unsigned long count;
} slot;

typedef struct {
    const clr_info *info;
    slot thrown[SLOTS]; /* by ClassID */
    slot caught[SLOTS]; /* by FunctionID */
    unsigned long lost; /* more different ones than slots */
} exceptions;

static exceptions state;

static void count(exceptions *e, slot *slots, uintptr_t id)
{
    for (size_t i = 0; i < SLOTS; i++) {
        slot *s = &slots[(id / 16 + i) % SLOTS];
        uintptr_t seen = __atomic_load_n(&s->id, __ATOMIC_RELAXED);

        if (seen == 0 &&
            __atomic_compare_exchange_n(&s->id, &seen, id, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            seen = id;
        if (seen == id) {
            __atomic_add_fetch(&s->count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    __atomic_add_fetch(&e->lost, 1, __ATOMIC_RELAXED);
}

static HRESULT on_start(void *context, const clr_info *info)
{
    exceptions *e = context;

    e->info = info;
    return clr_info_set_event_mask(info, COR_PRF_MONITOR_EXCEPTIONS);
}

static void on_thrown(void *context, ObjectID object)
{
    exceptions *e = context;
    ClassID type;

    if (clr_info_get_class_from_object(e->info, object, &type) == S_OK)
        count(e, e->thrown, type);
}

static void on_caught(void *context, FunctionID function, ObjectID object)
{
    exceptions *e = context;

    (void)object;
    if (function != 0)
        count(e, e->caught, function);
}

static int by_count(const void *a, const void *b)
{
    unsigned long x = ((const slot *)a)->count;
    unsigned long y = ((const slot *)b)->count;

    return x < y ? 1 : x > y ? -1 : 0;
}

static void print(exceptions *e, FILE *out, const char *what, slot *slots, int types)
{
    clr_text *name = clr_text_create();

    qsort(slots, SLOTS, sizeof *slots, by_count);
    for (size_t i = 0; i < SLOTS && slots[i].count > 0 && name != NULL; i++) {
        HRESULT hr;

        clr_text_clear(name);
        hr = types ? clr_append_class(e->info, slots[i].id, name)
                   : clr_append_function(e->info, slots[i].id, 0, name, NULL, NULL);
        fprintf(out, "%8lu %s %s\n", slots[i].count, what,
                hr == S_OK ? clr_text_value(name) : "(unloaded)");
    }
    clr_text_free(name);
}

static void on_end(void *context)
{
    exceptions *e = context;
    const char *file = getenv("CLARINET_OUTPUT");
    FILE *out = file != NULL ? fopen(file, "w") : stderr;

    if (out == NULL)
        return;
    print(e, out, "thrown", e->thrown, 1);
    print(e, out, "caught in", e->caught, 0);
    if (e->lost > 0)
        fprintf(out, "%8lu not counted: too many different ones\n", e->lost);
    if (out != stderr)
        fclose(out);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start,
    .exception_thrown = on_thrown,
    .exception_catcher_enter = on_caught,
    .shutdown = on_end,
};

CLR_PROFILER("{C1A21E70-0002-4C4C-8A11-6E6574434C52}", callbacks, &state)
