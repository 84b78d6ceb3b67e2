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

/* Name to count, filled by many threads without a lock: a slot is claimed once, for good. Ids are
 * not kept: that of a type or method is dead once its assembly is unloaded. */
typedef struct {
    clr_text *name;
    unsigned long count;
} slot;

typedef struct {
    const clr_info *info;
    slot thrown[SLOTS]; /* types */
    slot caught[SLOTS]; /* methods */
    unsigned long lost; /* more different ones than slots, or without a name */
} exceptions;

static exceptions state;

/* The slot of this name, which it keeps if it is new. */
static slot *slot_of(slot *slots, clr_text *name)
{
    size_t hash = 5381;

    for (const char *c = clr_text_value(name); *c != '\0'; c++)
        hash = hash * 33 + (unsigned char)*c;
    for (size_t i = 0; i < SLOTS; i++) {
        slot *s = &slots[(hash + i) % SLOTS];
        clr_text *seen = NULL;

        if (__atomic_compare_exchange_n(&s->name, &seen, name, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return s;
        if (strcmp(clr_text_value(seen), clr_text_value(name)) == 0)
            return s;
    }
    return NULL;
}

static void count(exceptions *e, slot *slots, clr_text *name, HRESULT named)
{
    slot *s = named == S_OK ? slot_of(slots, name) : NULL;

    __atomic_add_fetch(s != NULL ? &s->count : &e->lost, 1, __ATOMIC_RELAXED);
    if (s == NULL || s->name != name)
        clr_text_free(name);
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
    clr_text *name = clr_text_create();
    ClassID type;

    if (name != NULL && clr_info_get_class_from_object(e->info, object, &type) == S_OK)
        count(e, e->thrown, name, clr_append_class(e->info, type, name));
    else
        clr_text_free(name);
}

static void on_caught(void *context, FunctionID function, ObjectID object)
{
    exceptions *e = context;
    clr_text *name = function != 0 ? clr_text_create() : NULL;

    (void)object;
    if (name != NULL)
        count(e, e->caught, name, clr_append_function(e->info, function, 0, name, NULL, NULL));
}

static int by_count(const void *a, const void *b)
{
    unsigned long x = ((const slot *)a)->count;
    unsigned long y = ((const slot *)b)->count;

    return x < y ? 1 : x > y ? -1 : 0;
}

static void print(FILE *out, const char *what, slot *slots)
{
    qsort(slots, SLOTS, sizeof *slots, by_count);
    for (size_t i = 0; i < SLOTS && slots[i].count > 0; i++)
        fprintf(out, "%8lu %s %s\n", slots[i].count, what, clr_text_value(slots[i].name));
}

static void on_end(void *context)
{
    exceptions *e = context;
    const char *file = getenv("CLARINET_OUTPUT");
    FILE *out = file != NULL ? fopen(file, "w") : stderr;

    if (out == NULL)
        return;
    print(out, "thrown", e->thrown);
    print(out, "caught in", e->caught);
    if (e->lost > 0)
        fprintf(out, "%8lu not counted: too many different ones, or no name\n", e->lost);
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
