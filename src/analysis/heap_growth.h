/*
 * heap_growth: the way from a root on which the objects of a type have become more since an earlier
 * snapshot. What stands on a way of its own, however large, is none of the growth.
 *
 * Ways match by their text, from the object's end: what holds the objects themselves tells more
 * than the root, which may be another one in each snapshot where several lead to the same object.
 * So that end of the way is chosen first on which the most bytes have come, then what is
 * before it, and so on. Of the earlier snapshot only the bytes below each end of a way are kept, by
 * a hash.
 */
#ifndef CLARINET_ANALYSIS_HEAP_GROWTH_H
#define CLARINET_ANALYSIS_HEAP_GROWTH_H

#include "analysis/heap.h"

typedef struct {
    table_u64 before; /* hash of a way's end to bytes */
} heap_growth;

/* The earlier snapshot. Fails without memory. */
int heap_growth_keep(heap_growth *g, const heap *h, error *e);
void heap_growth_free(heap_growth *g);

/* "static field Shop.Store.orders -> List<Order>._items -> Order[] -> Shop.Order". Where nothing
 * was kept: the way that most bytes of the type hang on. Nothing when there is none. */
int heap_growth_way(const heap_growth *g, const heap *last, const char *type, buffer *out,
                    error *e);

#endif
