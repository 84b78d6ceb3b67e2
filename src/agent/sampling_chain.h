/*
 * sampling_chain: who awaits the async method that a thread runs, read at the moment of the sample.
 *
 * A method that was resumed after an await has a box on the heap: its task and its variables. The
 * task knows its continuation, mostly the box of the method that awaits it, and so on. A moment
 * later the chain is gone, so the handler reads it: it looks through the copied stack for words
 * that point at boxes and follows each. What it reads may be stale or gone: every load may fail
 * (sampling_fault.c mends the fault), every object must have a type that is known, and nothing is
 * looked for before a continuation was seen in the process.
 *
 * Which of the boxes is the right one, and what the types are called, is told on the agent's own
 * thread (sampling_async.c).
 *
 * Thread rules: sampling_chain_collect in the handler; the places are written by the agent's own
 * thread before `low` is set, except for links that are added later.
 */
#ifndef CLARINET_AGENT_SAMPLING_CHAIN_H
#define CLARINET_AGENT_SAMPLING_CHAIN_H

#include "agent/sampling.h"

enum {
    CHAIN_SCANNED = 8192, /* bytes of stack looked through, from the outermost frame on */
    CHAIN_WORDS = 96,     /* that a capture has room for */
    CHAIN_STEPS = 16,     /* from box to box */
    CHAIN_LINKS = 128,    /* two of each async iterator, … */
    CHAIN_OTHERS = 16,    /* … which leave these */
    CHAIN_BAD_PAGES = 64,
    CHAIN_TYPES = 256, /* judged before */
};

/* Why a chain ended: nobody awaits the last one; its task is over, and forgets who did; someone of
 * a type that is not known does. CHAIN_SAME: a box that was met before, without types. */
enum { CHAIN_NOBODY = 1, CHAIN_OVER, CHAIN_NOT_KNOWN, CHAIN_SAME };

/* What a capture has of each word that points at a box; `types` of the box itself and of those who
 * await it, `count` of them. */
typedef struct {
    uint64_t slot; /* where the word lies */
    uint64_t box;
    uint64_t last; /* the type that is not known */
    uint32_t count, end;
    uint64_t types[];
} chain_entry;

/* Types by their address, and where in an object the next one of the chain is. */
typedef struct {
    uintptr_t type;
    uint32_t next_at;
    uint16_t over_at;  /* a byte that is set when it is over; 0 = `next_at` tells that too */
    bool is_method;    /* objects of it, or of what derives from it, stand for async methods … */
    uint8_t box_depth; /* … and are boxes from this many steps on: Task itself is none */
} chain_link;

typedef struct {
    atomic_uintptr_t low, high; /* where objects lie; low 0 = not known yet */
    uint32_t parent_at;         /* in a type: the type it derives from */
    uintptr_t object;           /* System.Object: what stands for the end of a task */
    atomic_uint link_count;
    chain_link links[CHAIN_LINKS]; /* the first is Task; only the last may go again */
    /* Pages where there was nothing, so that a stale word costs one fault and not one a sample.
     * Emptied once a second: something may be there later. */
    atomic_uintptr_t bad[CHAIN_BAD_PAGES];
    atomic_uint_fast64_t any_bad; /* a bit for each place of `bad` that is used */
    /* Types met before, and their links: a word each, so that a handler sees all of it or nothing.
     * Emptied with the pages: another type may lie there later. */
    atomic_uintptr_t judged[CHAIN_TYPES];
} chain_places;

extern chain_places chain_state;

/* Fills `out` with entries; returns the bytes. The stack is a copy of what lay at `address`. Looks
 * first where the thread's last chain began; every few samples through the whole stack. */
SIGNAL_SAFE size_t sampling_chain_collect(const ucontext_t *context, chain_memory *m,
                                          const uint8_t *stack, uintptr_t address, size_t length,
                                          uint8_t out[CHAIN_WORDS * 8]);

/* Own thread. */
void sampling_chain_forget(void);

/* ---- sampling_fault.c ---- */

/* Loads one word; false when there is no memory. Only while sampling_fault_can_mend says so. */
SIGNAL_SAFE bool sampling_try_load(uintptr_t address, uintptr_t *out);
/* Whether a fault in this handler would come to sampling_fault.c first. */
SIGNAL_SAFE bool sampling_fault_can_mend(const ucontext_t *context);

#endif
