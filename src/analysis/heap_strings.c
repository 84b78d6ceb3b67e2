/*
 * heap_strings: see heap_strings.h. The agent gave strings that say the same one number; here they
 * are counted, the most wasteful ones are kept, and one pass over all references finds who holds
 * those.
 */
#include "analysis/heap_strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum { STRING_BASE = 22 };

/* A holder of a text while they are counted. */
typedef struct {
    uint32_t duplicate;
    heap_string_holder holder;
} pair;

typedef struct {
    pair *items;
    size_t count, capacity;
    table_text known;
} pairs;

static int compare(const void *a, const void *b)
{
    const heap_duplicate *x = a, *y = b;

    if (x->wasted != y->wasted)
        return x->wasted > y->wasted ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

/* Everything that repeats, by wasted bytes. Of a number the index is `text` until it has one. */
static bool count_all(const heap *h, heap_duplicates *out)
{
    const model_heap *s = h->snapshot;
    size_t numbers = s->next_string;
    uint64_t *counts = memory_allocate_array(numbers + 1, sizeof *counts);
    uint64_t *bytes = memory_allocate_array(numbers + 1, sizeof *bytes);
    bool good = counts != NULL && bytes != NULL;

    out->items = memory_allocate_array(s->text_count + 1, sizeof *out->items);
    good = good && out->items != NULL;
    for (size_t i = 0; good && i < s->string_count; i++) {
        uint32_t number = s->strings[i].number;

        if (number >= numbers)
            continue;
        counts[number]++;
        bytes[number] = h->own[s->strings[i].object + 1];
    }
    for (size_t i = 0; good && i < s->text_count; i++) {
        uint32_t number = s->texts[i].number;
        heap_duplicate *d = &out->items[out->count];

        if (number >= numbers || counts[number] < 2)
            continue;
        d->text = (uint32_t)i;
        d->count = counts[number];
        d->bytes = bytes[number];
        d->length = d->bytes < STRING_BASE ? 0 : (d->bytes - STRING_BASE) / 2;
        d->wasted = (d->count - 1) * d->bytes;
        out->texts++;
        out->wasted += d->wasted;
        out->count++;
        counts[number] = 0; /* once only */
    }
    memory_free(counts);
    memory_free(bytes);
    if (good && out->count != 0)
        qsort(out->items, out->count, sizeof *out->items, compare);
    return good;
}

/* By node: the duplicate it is one of, + 1. */
static uint32_t *mark(const heap *h, const heap_duplicates *out)
{
    const model_heap *s = h->snapshot;
    uint32_t *of_node = memory_allocate_array(h->nodes, sizeof *of_node);
    uint32_t *of_number = memory_allocate_array((size_t)s->next_string + 1, sizeof *of_number);

    if (of_node == NULL || of_number == NULL) {
        memory_free(of_node);
        memory_free(of_number);
        return NULL;
    }
    for (size_t i = 0; i < out->count; i++)
        of_number[s->texts[out->items[i].text].number] = (uint32_t)i + 1;
    for (size_t i = 0; i < s->string_count; i++)
        if (s->strings[i].number < s->next_string)
            of_node[s->strings[i].object + 1] = of_number[s->strings[i].number];
    memory_free(of_number);
    return of_node;
}

static bool note_holder(pairs *p, uint32_t duplicate, heap_string_holder holder)
{
    uint32_t key[4] = {duplicate, holder.type, holder.field, holder.owner};
    uint64_t *at = table_text_at(&p->known, (const char *)key, sizeof key, p->count);

    if (at == NULL || !array_reserve(&p->items, &p->capacity, p->count + 1, sizeof *p->items))
        return false;
    if (*at == p->count)
        p->items[p->count++] = (pair){duplicate, holder};
    p->items[*at].holder.count++;
    return true;
}

/* Into the few that are kept, most first. */
static void keep_holder(heap_duplicate *d, heap_string_holder holder)
{
    for (size_t i = 0; i < HEAP_STRINGS_HOLDERS; i++) {
        if (holder.count > d->holders[i].count) {
            heap_string_holder less = d->holders[i];

            d->holders[i] = holder;
            holder = less;
        }
    }
}

static bool find_holders(const heap *h, heap_duplicates *out)
{
    uint32_t *of_node = mark(h, out);
    pairs p = {0};
    bool good = of_node != NULL && heap_owners_init(&out->owners, h);

    table_text_init(&p.known);
    for (uint32_t node = 1; good && node < h->nodes; node++)
        for (uint64_t k = h->first[node]; good && k < h->first[node + 1]; k++) {
            heap_string_holder holder = {.type = h->type[node]};

            if (of_node[h->targets[k]] == 0)
                continue;
            holder.field = heap_field_at(h, node, h->places[k]);
            good = heap_owners_find(&out->owners, node, &holder.owner) &&
                   note_holder(&p, of_node[h->targets[k]] - 1, holder);
        }
    for (size_t i = 0; good && i < p.count; i++)
        keep_holder(&out->items[p.items[i].duplicate], p.items[i].holder);
    table_text_free(&p.known);
    memory_free(p.items);
    memory_free(of_node);
    heap_owners_finish(&out->owners);
    return good;
}

int heap_find_duplicates(const heap *h, size_t top, heap_duplicates *out, error *e)
{
    bool good;

    memset(out, 0, sizeof *out);
    good = count_all(h, out);
    if (good && out->count > top)
        out->count = top;
    good = good && (out->count == 0 || find_holders(h, out));
    if (!good) {
        heap_duplicates_free(out);
        return error_set(e, ERROR_MEMORY, "no memory to compare the strings");
    }
    for (size_t i = 0; i < out->count; i++)
        out->items[i].text = h->snapshot->texts[out->items[i].text].text;
    return 0;
}

void heap_duplicates_free(heap_duplicates *d)
{
    memory_free(d->items);
    heap_owners_free(&d->owners);
    memset(d, 0, sizeof *d);
}

void heap_string_holder_text(const heap *h, const heap_owners *owners,
                             const heap_string_holder *holder, buffer *out)
{
    bool is_element = (holder->field & HEAP_ELEMENT) != 0;

    buffer_append_text(out, heap_type_name(h, holder->type));
    if ((holder->field & ~HEAP_ELEMENT) != 0)
        buffer_append_char(out, '.');
    heap_field_text(h, is_element ? holder->field & ~HEAP_ELEMENT : holder->field, out);
    if (owners != NULL && holder->owner != 0)
        buffer_format(out, " in %s", heap_owners_text(owners, holder->owner));
}
