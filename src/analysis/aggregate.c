/*
 * aggregate: see aggregate.h. Rows are first brought into the order of their buckets by counting,
 * then each bucket is merged in a hash table of its own: it stays small and in the cache, and the
 * number of results can be known before any is kept.
 */
#include "analysis/aggregate.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

/* Parts into which rows that last are cut, at most. A recording has fewer: rows of one thread do
 * not overlap, so there are no more than rows, and threads times buckets. */
enum { PARTS_LIMIT = 1 << 25 };

typedef struct {
    const profile *p;
    const profile_selection *selection;
    const aggregate_options *options;
    uint32_t *order; /* selected rows by bucket */
    size_t room;     /* of `order` */
    size_t *starts;  /* of each bucket in `order`, and the end */
    bool whole;      /* rows are not cut */
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

static uint32_t bucket_at(const work *w, uint64_t time)
{
    uint64_t bucket = 0;

    if (time > w->result->start_ns)
        bucket = (time - w->result->start_ns) / w->result->bucket_ns;
    return bucket < w->result->buckets ? (uint32_t)bucket : w->result->buckets - 1;
}

static uint32_t first_bucket(const work *w, size_t row)
{
    return w->p->time == NULL ? 0 : bucket_at(w, w->p->time->u64[row]);
}

/* The last bucket in which the row lasts: the first one, of a moment. */
static uint32_t last_bucket(const work *w, size_t row)
{
    uint64_t begin;
    uint64_t weight;

    if (!w->p->lasts || w->whole)
        return first_bucket(w, row);
    begin = w->p->time->u64[row];
    begin = begin < w->selection->from ? w->selection->from : begin;
    weight = profile_row_weight_in(w->p, w->selection, row);
    return bucket_at(w, begin + (weight != 0 ? weight - 1 : 0));
}

/* What the row counts in the bucket. Buckets go to the end: what begins or lasts beyond the last
 * one is counted to it. */
static uint64_t weight_in_bucket(const work *w, size_t row, uint32_t bucket)
{
    uint64_t from = w->result->start_ns + bucket * w->result->bucket_ns;
    uint64_t to = from + w->result->bucket_ns;

    if (!w->p->lasts || w->whole || first_bucket(w, row) == last_bucket(w, row))
        return profile_row_weight_in(w->p, w->selection, row);
    if (bucket == 0 || from < w->selection->from)
        from = w->selection->from;
    if (bucket + 1 == w->result->buckets || to > w->selection->to)
        to = w->selection->to;
    return profile_row_weight_between(w->p, row, from, to);
}

/* How many parts the selected rows have, by bucket. */
static size_t count_parts(work *w)
{
    size_t parts = 0;

    for (size_t row = 0; row < w->p->table->rows; row++) {
        uint32_t last;

        if (!profile_row_matches(w->p, w->selection, row))
            continue;
        last = last_bucket(w, row);
        for (uint32_t bucket = first_bucket(w, row); bucket <= last; bucket++, parts++)
            w->starts[(size_t)bucket + 2]++;
        if (parts > w->p->table->rows + PARTS_LIMIT)
            break;
    }
    return parts;
}

/* The rows of each bucket, in their own order. */
static bool sort_rows(work *w)
{
    size_t places = (size_t)w->result->buckets + 2;
    size_t parts;

    w->whole = false;
    memory_free(w->starts);
    w->starts = memory_allocate_array(places, sizeof *w->starts);
    if (w->starts == NULL)
        return false;
    parts = count_parts(w);
    if (parts > w->p->table->rows + PARTS_LIMIT) {
        w->whole = true;
        memset(w->starts, 0, places * sizeof *w->starts);
        parts = count_parts(w);
    }
    if (w->order == NULL || parts > w->room) {
        memory_free(w->order);
        w->order = memory_allocate_array(parts, sizeof *w->order);
        w->room = w->order == NULL ? 0 : parts;
        if (w->order == NULL)
            return false;
    }
    for (size_t i = 2; i < places; i++)
        w->starts[i] += w->starts[i - 1];
    for (size_t row = 0; row < w->p->table->rows; row++) {
        uint32_t last;

        if (!profile_row_matches(w->p, w->selection, row))
            continue;
        last = last_bucket(w, row);
        for (uint32_t bucket = first_bucket(w, row); bucket <= last; bucket++)
            w->order[w->starts[(size_t)bucket + 1]++] = (uint32_t)row;
    }
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
        row.weight = weight_in_bucket(w, w->order[i], bucket);
        row.samples = bucket == first_bucket(w, w->order[i]);
        slot = (size_t)table_hash_u64((uint64_t)row.node << 32 ^ (uint64_t)row.thread << 4 ^
                                      row.state) &
               mask;
        while (w->slots[slot] != 0 && !same_key(&result->rows[w->slots[slot] - 1], &row))
            slot = (slot + 1) & mask;
        if (w->slots[slot] != 0) {
            result->rows[w->slots[slot] - 1].weight += row.weight;
            result->rows[w->slots[slot] - 1].samples += row.samples;
            continue;
        }
        if (!array_reserve(&result->rows, &w->capacity, result->count + 1, sizeof *result->rows))
            return false;
        result->rows[result->count++] = row;
        w->slots[slot] = (uint32_t)result->count;
    }
    return true;
}

static void cut_time(const work *w, uint32_t buckets)
{
    const profile_selection *selection = w->selection;
    uint64_t end =
        w->p->process->duration_ns < selection->to ? w->p->process->duration_ns : selection->to;
    aggregate *result = w->result;

    result->start_ns = selection->from < end ? selection->from : 0;
    result->buckets = buckets;
    /* Whole microseconds: reports tell times in them. */
    result->bucket_ns = ((end - result->start_ns) / buckets / 1000 + 1) * 1000;
}

static bool merge_all(work *w, uint32_t buckets, size_t limit)
{
    w->result->count = 0;
    cut_time(w, buckets);
    if (!sort_rows(w))
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
    work w = {.p = p, .selection = selection, .options = options, .result = result};
    uint32_t buckets = p->time == NULL ? 1 : options->buckets;
    bool done = false;

    memset(result, 0, sizeof *result);
    if (p->table->rows < UINT32_MAX) {
        for (;;) {
            bool last = buckets <= options->fewest || options->rows_limit == 0;

            done = merge_all(&w, buckets, last ? 0 : options->rows_limit);
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
