/*
 * allocations: every object that is allocated, counted by type, with its bytes. The runtime gives
 * these callbacks only to a profiler that was there from the start.
 *
 *     cc -shared -fPIC -O2 allocations.c -o liballocations.so \
 *         $(pkg-config --cflags --libs clarinet-sdk)
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{C1A21E70-0003-4C4C-8A11-6E6574434C52}' \
 *         CORECLR_PROFILER_PATH=$PWD/liballocations.so dotnet app.dll
 *
 * The report goes to stderr, or to the file that CLARINET_OUTPUT names; CLARINET_TOP says how many
 * types it lists (30).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clarinet/clarinet.h>

enum { SLOTS = 1 << 14, CLOSED = 1 };

/* Type to counts, filled by many threads without a lock: a slot's type is claimed once. */
typedef struct {
    ClassID type;
    clr_text *name; /* given when an assembly is unloaded; NULL = not yet */
    unsigned long long objects;
    unsigned long long bytes;
} slot;

typedef struct {
    const clr_info *info;
    slot slots[SLOTS];
    unsigned long long lost; /* objects of more different types than slots */
} allocations;

static allocations state;

static HRESULT on_start(void *context, const clr_info *info)
{
    allocations *a = context;

    a->info = info;
    return clr_info_set_event_mask(info, COR_PRF_MONITOR_OBJECT_ALLOCATED |
                                             COR_PRF_ENABLE_OBJECT_ALLOCATED |
                                             COR_PRF_MONITOR_MODULE_LOADS);
}

static HRESULT on_attach(void *context, const clr_info *info, void *data, uint32_t size)
{
    (void)context;
    (void)info;
    (void)data;
    (void)size;
    return CORPROF_E_PROFILER_NOT_ATTACHABLE;
}

static slot *slot_of(allocations *a, ClassID type)
{
    for (size_t i = 0; i < SLOTS; i++) {
        slot *s = &a->slots[(type / 8 + i) % SLOTS];
        ClassID seen = __atomic_load_n(&s->type, __ATOMIC_RELAXED);

        if (seen == 0 && __atomic_compare_exchange_n(&s->type, &seen, type, 0, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
            seen = type;
        if (seen == type)
            return s;
    }
    return NULL;
}

static void on_allocated(void *context, ObjectID object, ClassID type)
{
    allocations *a = context;
    slot *s = slot_of(a, type);
    size_t size;

    if (s == NULL) {
        __atomic_add_fetch(&a->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    if (clr_info_get_object_size2(a->info, object, &size) != S_OK)
        size = 0;
    __atomic_add_fetch(&s->objects, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&s->bytes, size, __ATOMIC_RELAXED);
}

/* The last moment at which the runtime may be asked about a module's types: their slots close. */
static void on_unload(void *context, ModuleID module)
{
    allocations *a = context;

    for (size_t i = 0; i < SLOTS; i++) {
        slot *s = &a->slots[i];
        ClassID type = __atomic_load_n(&s->type, __ATOMIC_RELAXED);
        ModuleID from = 0;
        uint32_t arguments = 0;
        HRESULT known;

        if (type <= CLOSED)
            continue;
        if (s->name == NULL && (s->name = clr_text_create()) != NULL)
            clr_append_class(a->info, type, s->name);
        known = clr_info_get_class_id_info2(a->info, type, &from, NULL, NULL, 0, &arguments, NULL);
        /* with what may be made of them, arrays and generic types; these get a second row */
        if (module != 0 && (known != S_OK || arguments != 0 || from == module))
            __atomic_store_n(&s->type, CLOSED, __ATOMIC_RELAXED);
    }
}

static int by_bytes(const void *a, const void *b)
{
    unsigned long long x = ((const slot *)a)->bytes;
    unsigned long long y = ((const slot *)b)->bytes;

    return x < y ? 1 : x > y ? -1 : 0;
}

static void on_end(void *context)
{
    allocations *a = context;
    const char *file = getenv("CLARINET_OUTPUT");
    const char *top = getenv("CLARINET_TOP");
    size_t most = top != NULL ? strtoul(top, NULL, 10) : 30;
    FILE *out = file != NULL ? fopen(file, "w") : stderr;

    if (out == NULL)
        return;
    on_unload(a, 0); /* names the others */
    qsort(a->slots, SLOTS, sizeof *a->slots, by_bytes);
    fprintf(out, "%12s %10s type\n", "bytes", "objects");
    for (size_t i = 0; i < SLOTS && i < most && a->slots[i].objects > 0; i++)
        fprintf(out, "%12llu %10llu %s\n", a->slots[i].bytes, a->slots[i].objects,
                a->slots[i].name != NULL ? clr_text_value(a->slots[i].name) : "(no memory)");
    if (a->lost > 0)
        fprintf(out, "%llu objects not counted: too many types\n", a->lost);
    if (out != stderr)
        fclose(out);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start,
    .initialize_for_attach = on_attach,
    .object_allocated = on_allocated,
    .module_unload_started = on_unload,
    .shutdown = on_end,
};

CLR_PROFILER("{C1A21E70-0003-4C4C-8A11-6E6574434C52}", callbacks, &state)
