/* heap_places: see heap_places.h. */
#include "analysis/heap_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum { PAGE_BITS = 12, LONGEST_STEP = 64 << 10 };

static int compare_runs(const void *a, const void *b)
{
    const heap_run *x = a, *y = b;

    return x->low < y->low ? -1 : x->low > y->low;
}

static bool find_runs(heap_places *p)
{
    const model_heap *s = p->s;

    for (size_t i = 0; i < s->object_count; i++) {
        heap_run *r = p->run_count == 0 ? NULL : &p->runs[p->run_count - 1];

        if (r != NULL && s->addresses[i] > r->high && s->addresses[i] - r->high <= LONGEST_STEP) {
            r->high = s->addresses[i];
            r->count++;
            continue;
        }
        if (!array_reserve(&p->runs, &p->run_capacity, p->run_count + 1, sizeof *p->runs))
            return false;
        p->runs[p->run_count++] = /* NOLINT: there is room */
            (heap_run){s->addresses[i], s->addresses[i], (uint32_t)i, 1, 0};
    }
    if (p->run_count != 0)
        qsort(p->runs, p->run_count, sizeof *p->runs, compare_runs);
    return true;
}

static size_t pages_of(const heap_run *r)
{
    return (size_t)((r->high - r->low) >> PAGE_BITS) + 2;
}

bool heap_places_init(heap_places *p, const model_heap *s)
{
    size_t total = 0;

    memset(p, 0, sizeof *p);
    p->s = s;
    if (!find_runs(p))
        return false;
    for (size_t i = 0; i < p->run_count; i++) {
        p->runs[i].pages = total;
        total += pages_of(&p->runs[i]);
    }
    p->pages = memory_allocate_array(total + 1, sizeof *p->pages);
    if (p->pages == NULL)
        return false;
    for (size_t i = 0; i < p->run_count; i++) {
        const heap_run *r = &p->runs[i];
        uint32_t object = r->first;

        for (size_t k = 0; k < pages_of(r); k++) {
            while (object < r->first + r->count && s->addresses[object] - r->low < (uint64_t)k
                                                                                       << PAGE_BITS)
                object++;
            p->pages[r->pages + k] = object;
        }
    }
    return true;
}

void heap_places_free(heap_places *p)
{
    memory_free(p->runs);
    memory_free(p->pages);
}

static const heap_run *find_run(heap_places *p, uint64_t address)
{
    size_t low = 0, high = p->run_count;

    if (p->run_count == 0)
        return NULL;
    if (address >= p->runs[p->last].low && address <= p->runs[p->last].high)
        return &p->runs[p->last];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->runs[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address > p->runs[low - 1].high)
        return NULL;
    p->last = low - 1;
    return &p->runs[low - 1];
}

uint32_t heap_places_at(heap_places *p, uint64_t address)
{
    const heap_run *r = find_run(p, address);
    size_t page;
    uint32_t low, high;

    if (r == NULL)
        return 0;
    page = r->pages + (size_t)((address - r->low) >> PAGE_BITS);
    low = p->pages[page];
    high = p->pages[page + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->s->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= r->first + r->count || p->s->addresses[low] != address)
        return 0;
    return low + 1;
}

uint32_t heap_places_before(const heap_places *p, uint64_t address)
{
    size_t from = 0, to = p->run_count;
    uint32_t low, high;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (p->runs[middle].low <= address)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0)
        return 0;
    low = p->runs[from - 1].first;
    high = low + p->runs[from - 1].count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->s->addresses[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low; /* of the object before, the node */
}
