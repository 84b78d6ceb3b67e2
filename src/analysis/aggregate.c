/*
 * aggregate: see aggregate.h. Rows are first brought into the order of their buckets by counting,
 * then each bucket is merged in a hash table of its own: it stays small and in the cache, and the
 * number of results can be known before any is kept.
 */
#include "analysis/aggregate.h"

#include <string.h>

#include "analysis/array.h"
#include "base/memory.h"

typedef struct {
    const profile *p;
    const aggregate_options *options;
    uint32_t *order; /* selected rows by bucket */
    size_t *starts;  /* of each bucket in `order`, and the end */
    size_t selected;
    uint32_t *slots; /* index of a result in this bucket + 1 */
    size_t slot_count;
    aggregate *result;
    size_t capacity;
} work;

static void key_of(const work *w, size_t row, aggregate_row *key)
{
    uint32_t stack = profile_row_stack(w->p, row);

    key->node = w->options->node_of_stack == NULL ? stack : w->options->node_of_stack[stack];
    key->thread = w->options->by_thread && w->p->thread != NULL ? w->p->thread->u32[row] : 0;
    key->state = 0;
    if (w->options->by_state && w->p->state != NULL && w->p->state->u64[row] < PROFILE_STATES)
        key->state = (uint8_t)w->p->state->u64[row];
}

static uint32_t bucket_of(const work *w, size_t row)
{
    uint64_t bucket;

    if (w->p->time == NULL)
        return 0;
    bucket = (w->p->time->u64[row] - w->result->start_ns) / w->result->bucket_ns;
    return bucket < w->result->buckets ? (uint32_t)bucket : w->result->buckets - 1;
}

/* The rows of each bucket, in their own order. */
static bool sort_rows(work *w, const profile_selection *selection)
{
    size_t rows = w->p->table->rows;

    memory_free(w->starts);
    w->starts = memory_allocate_array((size_t)w->result->buckets + 2, sizeof *w->starts);
    if (w->starts == NULL)
        return false;
    for (size_t row = 0; row < rows; row++)
        if (profile_row_matches(w->p, selection, row))
            w->starts[bucket_of(w, row) + 2]++;
    for (size_t i = 2; i < (size_t)w->result->buckets + 2; i++)
        w->starts[i] += w->starts[i - 1];
    for (size_t row = 0; row < rows; row++)
        if (profile_row_matches(w->p, selection, row))
            w->order[w->starts[bucket_of(w, row) + 1]++] = (uint32_t)row;
    return true;
}

static bool same_key(const aggregate_row *a, const aggregate_row *b)
{
    return a->node == b->node && a->thread == b->thread && a->state == b->state;
}

static bool prepare_slots(work *w, size_t rows)
{
    size_t wish = 64;

    while (wish < rows * 2)
        wish *= 2;
    if (wish > w->slot_count) {
        memory_free(w->slots);
        w->slots = memory_allocate_array(wish, sizeof *w->slots);
        w->slot_count = w->slots == NULL ? 0 : wish;
        return w->slots != NULL;
    }
    memset(w->slots, 0, wish * sizeof *w->slots);
    return true;
}

/* Merges one bucket behind the results so far. */
static bool merge_bucket(work *w, uint32_t bucket)
{
    size_t begin = w->starts[bucket];
    size_t end = w->starts[bucket + 1];
    size_t mask = 64;
    aggregate *result = w->result;

    if (begin == end)
        return true;
    if (!prepare_slots(w, end - begin))
        return false;
    while (mask < (end - begin) * 2)
        mask *= 2;
    mask--;
    for (size_t i = begin; i < end; i++) {
        aggregate_row row = {.bucket = bucket};
        size_t slot;

        key_of(w, w->order[i], &row);
        row.weight = profile_row_weight(w->p, w->order[i]);
        row.samples = 1;
        slot = (size_t)table_hash_u64((uint64_t)row.node << 32 ^ (uint64_t)row.thread << 4 ^
                                      row.state) &
               mask;
        while (w->slots[slot] != 0 && !same_key(&result->rows[w->slots[slot] - 1], &row))
            slot = (slot + 1) & mask;
        if (w->slots[slot] != 0) {
            result->rows[w->slots[slot] - 1].weight += row.weight;
            result->rows[w->slots[slot] - 1].samples++;
            continue;
        }
        if (!array_reserve(&result->rows, &w->capacity, result->count + 1, sizeof *result->rows))
            return false;
        result->rows[result->count++] = row;
        w->slots[slot] = (uint32_t)result->count;
    }
    return true;
}

static void cut_time(const work *w, const profile_selection *selection, uint32_t buckets)
{
    uint64_t end =
        w->p->process->duration_ns < selection->to ? w->p->process->duration_ns : selection->to;
    aggregate *result = w->result;

    result->start_ns = selection->from < end ? selection->from : 0;
    result->buckets = buckets;
    /* Whole microseconds: reports tell times in them. */
    result->bucket_ns = ((end - result->start_ns) / buckets / 1000 + 1) * 1000;
}

static bool merge_all(work *w, const profile_selection *selection, uint32_t buckets, size_t limit)
{
    w->result->count = 0;
    cut_time(w, selection, buckets);
    if (!sort_rows(w, selection))
        return false;
    for (uint32_t i = 0; i < buckets; i++) {
        if (!merge_bucket(w, i))
            return false;
        if (limit != 0 && w->result->count > limit)
            return true; /* the caller tries again with fewer */
    }
    return true;
}

int aggregate_build(const profile *p, const profile_selection *selection,
                    const aggregate_options *options, aggregate *result, error *e)
{
    work w = {.p = p, .options = options, .result = result};
    uint32_t buckets = p->time == NULL ? 1 : options->buckets;
    bool done = false;

    memset(result, 0, sizeof *result);
    w.order = memory_allocate(p->table->rows * sizeof *w.order);
    if (w.order != NULL && p->table->rows < UINT32_MAX) {
        for (;;) {
            bool last = buckets <= options->fewest || options->rows_limit == 0;

            done = merge_all(&w, selection, buckets, last ? 0 : options->rows_limit);
            if (!done || last || result->count <= options->rows_limit)
                break;
            buckets = buckets * 2 / 5 > options->fewest ? buckets * 2 / 5 : options->fewest;
        }
    }
    memory_free(w.order);
    memory_free(w.starts);
    memory_free(w.slots);
    if (!done) {
        aggregate_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to put %zu samples together", p->table->rows);
    }
    return 0;
}

void aggregate_free(aggregate *result)
{
    memory_free(result->rows);
    memset(result, 0, sizeof *result);
}
