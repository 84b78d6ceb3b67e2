/* checkup_heap: see checkup_heap.h. */
#include "cli/checkup_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters.h"
#include "analysis/gc.h"
#include "analysis/heap.h"
#include "base/memory.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/take.h"

enum {
    FIRST_QUICK_VERSION = 9, /* of .NET */
    BYTES_PER_OBJECT = 40,   /* as small as they are in a heap of many small objects */
    NS_PER_OBJECT = 100,     /* docs/heap.md: 45 on a quiet machine, 94 on a busy one */
    QUICK_LIMIT_SECONDS = 3, /* unasked it must not keep anybody waiting */
};

/* After the last collection. */
static double collected_bytes(const model *m, const model_process *p)
{
    const model_table *table = model_find_table(m, p, "collections", "gc");
    double bytes = 0;
    gc all;

    if (table == NULL || gc_summarise(m, p, table, &all, NULL) != 0)
        return 0;
    for (int i = 0; i < GC_SPACES; i++)
        bytes += (double)all.last[i];
    gc_free(&all);
    return bytes;
}

/* With what was allocated since. */
static double counted_bytes(const model *m, const model_process *p)
{
    const model_table *table = model_find_table(m, p, "counters", "counters");
    counters_summary all;
    double bytes = 0;

    if (table == NULL || counters_summarise(m, table, &all, NULL) != 0)
        return 0;
    for (size_t i = 0; i < all.count; i++)
        if (text_equal(model_text(m, all.items[i].name), "gc-heap-size"))
            bytes = all.items[i].most * 1e6;
    counters_free(&all);
    return bytes;
}

double checkup_heap_quick_ms(const model *m, const findings *found, const char *runtime_version)
{
    double collected, counted;

    if (m->process_count != 1 || runtime_version == NULL ||
        strtol(runtime_version, NULL, 10) < FIRST_QUICK_VERSION)
        return -1;
    for (size_t i = 0; i < found->count; i++)
        if (text_equal(found->items[i].id, "slow-suspension"))
            return -1; /* nobody knows how long it would take to stop */
    collected = collected_bytes(m, &m->processes[0]);
    counted = counted_bytes(m, &m->processes[0]);
    if (counted <= 0)
        return -1;
    return (collected > counted ? collected : counted) / BYTES_PER_OBJECT * NS_PER_OBJECT / 1e6;
}

static int choose(catalogue_selection *selection, checkup_heap_kind kind, error *e)
{
    if (catalogue_add(selection, "heap", e) != 0)
        return e->code;
    if (catalogue_set(selection, "heap", "values", "on", e) != 0 || kind == CHECKUP_HEAP_WHOLE)
        return e->code;
    if (catalogue_set(selection, "heap", "strings", "off", e) != 0 || kind == CHECKUP_HEAP_ROOTS)
        return e->code;
    if (catalogue_set(selection, "heap", "quick", "on", e) != 0)
        return e->code;
    return catalogue_set(selection, "heap", "collect", "off", e);
}

int checkup_heap_take(const session_options *session, const diagnostics_process *process,
                      checkup_heap_kind kind, session_result *result, error *e)
{
    static catalogue_selection selection;
    session_options own = *session;

    memset(&selection, 0, sizeof selection);
    own.selection = &selection;
    own.duration_ns = kind == CHECKUP_HEAP_WHOLE ? 0 : QUICK_LIMIT_SECONDS * UINT64_C(1000000000);
    own.enough = take_whole_snapshot;
    own.progress = NULL;
    if (choose(&selection, kind, e) != 0)
        return e->code;
    return session_record_process(&own, process, result, e);
}

static void keep_types(const heap *h, checkup_types *types)
{
    uint32_t *sorted = heap_sorted_types(h, HEAP_BY_BYTES);

    types->objects = h->objects;
    types->bytes = h->bytes;
    types->is_quick = heap_is_quick(h);
    for (size_t i = 0; sorted != NULL && i < h->type_count && types->count < CHECKUP_TYPES; i++) {
        const heap_type *type = &h->types[sorted[i]];
        char *name = memory_copy_text(heap_type_name(h, sorted[i]));

        if (name == NULL)
            break;
        types->items[types->count++] = (checkup_type){name, type->count, type->bytes};
    }
    memory_free(sorted);
}

/* One look cannot tell what grows, only what is large: it says so. */
void checkup_heap_tell_largest(findings *found, const checkup_types *types)
{
    enum { TOLD = 4 };
    char line[400];

    for (size_t i = 0; i < found->count; i++) {
        if (!text_equal(found->items[i].id, "leak-growth") || types->count == 0)
            continue;
        findings_add_evidence(
            &found->items[i],
            "the largest types now (a single look: it does not tell which of them grow):");
        for (size_t k = 0; k < types->count && k < TOLD; k++) {
            snprintf(line, sizeof line, "%.1f MB in %llu x %.300s",
                     (double)types->items[k].bytes / 1e6, (unsigned long long)types->items[k].count,
                     types->items[k].name);
            findings_add_evidence(&found->items[i], line);
        }
    }
}

void checkup_heap_free(checkup_types *types)
{
    for (size_t i = 0; i < types->count; i++)
        memory_free(types->items[i].name);
    memset(types, 0, sizeof *types);
}

int checkup_heap_judge(const char *file, const model *m, const findings_limits *limits,
                       findings *found, checkup_types *types, model *kept, error *e)
{
    const model_process *p;
    findings more;
    model own;
    model *snapshot = kept != NULL ? kept : &own; /* it stays where it is: the heap knows it */
    uint32_t process = 0;
    const heap *h;
    int code = model_load_path(file, 0, snapshot, e);

    if (code != 0)
        return code;
    p = snapshot->process_count == 0 ? NULL : &snapshot->processes[0];
    if (p == NULL || p->heap == NULL || !p->heap->ended || p->heap->trouble != 0)
        code = error_set(e, ERROR_IO, "the snapshot of the heap is not whole: %s",
                         p == NULL || p->heap == NULL || p->heap->trouble == 0
                             ? "the program ended or was too busy"
                             : model_text(snapshot, p->heap->trouble));
    for (uint32_t i = 0; p != NULL && i < m->process_count; i++)
        if (m->processes[i].pid == p->pid)
            process = i;
    if (code == 0 && types != NULL && heap_shared(snapshot, p, &h, e) == 0)
        keep_types(h, types);
    if (code == 0)
        code = findings_look(snapshot, limits, &more, e);
    if (code == 0 && !findings_join(found, &more, process)) {
        findings_free(&more);
        code = error_set(e, ERROR_MEMORY, "no memory to look for problems");
    }
    if (code != 0 || kept == NULL)
        model_free(snapshot);
    return code;
}
