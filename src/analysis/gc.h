/*
 * gc: the garbage collections of a process put together: by generation and kind, by reason, the
 * spread of their pauses, the heap before and after, and who asked for collections. Works on the
 * table `collections`; columns that are missing count as 0.
 */
#ifndef CLARINET_ANALYSIS_GC_H
#define CLARINET_ANALYSIS_GC_H

#include "analysis/groups.h"

enum { GC_GEN0, GC_GEN1, GC_GEN2, GC_LARGE, GC_PINNED_HEAP, GC_SPACES };
enum { GC_KIND_NOTHING = 3 }; /* the runtime stopped all threads, counted, and collected nothing */

typedef struct {
    uint64_t total;
    uint64_t watched_ns;     /* how long the profiler looked */
    groups_list generations; /* key: generation, kind; sum: pause */
    groups_list reasons;     /* key: reason; sum: pause */
    groups_list induced;     /* key: stack of whoever asked; sum: pause */
    uint64_t induced_total;
    groups_spread pauses;
    uint64_t suspending_ns;
    uint64_t promoted_bytes;
    uint64_t compacting;
    uint64_t most_pinned;
    uint64_t allocated_bytes; /* between the first collection and the last */
    uint64_t allocated_ns;    /* in this time */
    uint64_t full_size;       /* of the heap after the last full collection */
    uint64_t full_free;       /* of it, free room between objects */
    bool has_sizes;
    uint64_t first[GC_SPACES]; /* sizes after the first and after the last collection */
    uint64_t last[GC_SPACES];
} gc;

int gc_summarise(const model *m, const model_process *process, const model_table *table, gc *result,
                 error *e);
void gc_free(gc *result);

/* Whether somebody asked for a collection with this reason. */
bool gc_is_induced(uint64_t reason);
/* "small objects", "induced", …; "other" for what is not known. */
const char *gc_reason_name(uint64_t reason);
/* "blocking", "background", … */
const char *gc_kind_name(uint64_t kind);
/* "gen0", … "loh", "poh". */
const char *gc_space_name(int space);

#endif
