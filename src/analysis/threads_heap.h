/*
 * threads_heap: what a snapshot of the heap adds to a look at the threads that was taken after it:
 * the field that holds what a thread waits for, whether anybody but the waiter could signal it, and
 * Thread objects without a thread.
 *
 * An object is known again by its address and its type. One that has been moved by a collection
 * between the two is not found, and nothing is said of it.
 *
 * Thread rules: never changed once made; it keeps nothing of the heap.
 */
#ifndef CLARINET_ANALYSIS_THREADS_HEAP_H
#define CLARINET_ANALYSIS_THREADS_HEAP_H

#include "analysis/heap.h"
#include "analysis/threads.h"

typedef struct {
    size_t count;
    char **fields;     /* by entry: "Shop.Bank.ledger" that holds what it waits for; NULL */
    uint8_t *is_lost;  /* by entry: nothing but its own stack leads to what it waits for */
    uint64_t objects;  /* of type Thread */
    uint64_t ended;    /* those without a thread that the program keeps: ended, or never started */
    char *ended_field; /* that leads to the first of these; NULL */
} threads_heap;

int threads_heap_make(const threads_view *view, const heap *h, threads_heap *out, error *e);
void threads_heap_free(threads_heap *t);

#endif
