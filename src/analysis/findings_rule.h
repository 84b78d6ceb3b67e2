/*
 * findings_rule: what the rules share: numbers of the process, writing a finding, showing a stack.
 * Private to the rules. Memory that runs out is kept in the list's `failed` and told at the end.
 */
#ifndef CLARINET_ANALYSIS_FINDINGS_RULE_H
#define CLARINET_ANALYSIS_FINDINGS_RULE_H

#include "analysis/findings.h"
#include "analysis/heap.h"
#include "analysis/profile.h"

struct findings_context {
    const model *m;
    const model_process *process;
    const findings_limits *limits;
    const findings_rule *rule;
    findings *list;
    double seconds;  /* recorded, never 0 */
    uint8_t *locked; /* by thread: 1 = part of a deadlock or behind one */
    bool stops_late; /* slow-suspension told of it */
    bool heap_failed;
};

static inline double findings_limit(const findings_context *c, int threshold)
{
    return c->limits->values[threshold];
}

/* A new finding of the context's rule; NULL when there is no memory. Valid until the next one. */
finding *findings_add(findings_context *c, findings_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void findings_advise(findings_context *c, finding *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line of evidence. */
void findings_show(findings_context *c, finding *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The managed frames of a stack from the leaf up: a few of the innermost ones, then from the
 * program's own code on. */
void findings_show_stack(findings_context *c, finding *f, uint32_t stack);
void findings_set_place(findings_context *c, finding *f, const char *place);

/* The innermost frame of the program's own code (not the framework's, not native); 0 = none. */
uint32_t findings_own_frame(const findings_context *c, uint32_t stack);
/* "Shop.Orders.Place (Orders.cs:42)"; "" for frame 0. */
enum { FINDINGS_NAME = 300 };
const char *findings_frame_title(const findings_context *c, uint32_t frame,
                                 char out[FINDINGS_NAME]);
const char *findings_frame_name(const findings_context *c, uint32_t frame);

typedef bool (*findings_frame_test)(const findings_context *c, uint32_t frame);
/* By stack: 1 where any frame from the root to the leaf passes; the caller frees. NULL: no memory
 * (kept in the list). */
uint8_t *findings_mark_stacks(findings_context *c, findings_frame_test test);
/* Likewise, but 1 only where nothing but the framework (System.*, the runtime, code made at run
 * time) is between such a frame and the leaf: not what the program itself does when it is called
 * back from there. */
uint8_t *findings_mark_inner_stacks(findings_context *c, findings_frame_test test);
/* Weights by stack of a profile; the caller frees; NULL: no memory. */
uint64_t *findings_weights(findings_context *c, const profile *p, const profile_selection *s);
/* The heaviest stack of those marked (marks NULL: of all), 0 when none has weight. */
uint32_t findings_heaviest(const findings_context *c, const uint64_t *weights,
                           const uint8_t *marks);

/* "1,234" or "12.3" for people. */
const char *findings_number(double value, char out[32]);

/* Threads that stand before a lock, on average, without those of a deadlock; and the stack where
 * most of it is. 0 when none of `wall`, `threads` and `contention` was
 * recorded. */
typedef struct {
    double average;
    size_t threads; /* involved */
    uint32_t stack;
} findings_lock_sums;
void findings_sum_locks(findings_context *c, findings_lock_sums *sums);

/* Whether large objects are allocated at a rate that brings full collections. */
bool findings_churns_large(findings_context *c);

void findings_rule_deadlock(findings_context *c);
void findings_rule_locks(findings_context *c);
void findings_rule_hot_path(findings_context *c);
void findings_rule_exceptions(findings_context *c);
void findings_rule_gc(findings_context *c);
void findings_rule_pauses(findings_context *c);
void findings_rule_suspension(findings_context *c);
void findings_rule_finalizer(findings_context *c);
void findings_rule_large(findings_context *c);
void findings_rule_leak(findings_context *c);
void findings_rule_jit(findings_context *c);
/* Whether the larger part of the compiling in the last half of the recording is of code that is
 * made again and again, and not of methods in the first part of their life; true when nobody knows.
 */
bool findings_compiles_anew(const findings_context *c);
void findings_rule_http(findings_context *c);
void findings_rule_mode(findings_context *c);
void findings_rule_settings(findings_context *c);
void findings_rule_pool(findings_context *c);
void findings_rule_sync(findings_context *c);
void findings_rule_strings(findings_context *c);
void findings_rule_collections(findings_context *c);
void findings_rule_stuck_tasks(findings_context *c);
void findings_rule_zombies(findings_context *c);

#endif
