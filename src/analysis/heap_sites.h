/*
 * heap_sites: where the objects of a type are allocated, as far as recordings tell that have
 * allocations beside their heap snapshot. What is alive at the end (the table `live`) says more
 * than what was allocated: of recordings that have it, only that is taken.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_ANALYSIS_HEAP_SITES_H
#define CLARINET_ANALYSIS_HEAP_SITES_H

#include "analysis/model.h"
#include "base/table.h"

typedef struct {
    char *type;
    char *place; /* "Shop.Store.Add (Store.cs:12) <- Shop.Program.Main (Program.cs:40)" */
    uint64_t bytes;
    double objects;
    bool alive;
} heap_site;

typedef struct {
    heap_site *items; /* after heap_sites_sort: by bytes */
    size_t count, capacity;
    table_text known;
} heap_sites;

void heap_sites_init(heap_sites *s);
void heap_sites_free(heap_sites *s);
/* Adds what the process's recording tells; nothing where it has no allocations. */
int heap_sites_add(heap_sites *s, const model *m, const model_process *p, error *e);
void heap_sites_sort(heap_sites *s);

#endif
