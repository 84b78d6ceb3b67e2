/*
 * comparison: see comparison.h. The two are read side by side; where they differ, the nearest place
 * ahead at which they agree again is looked for (fewest skipped items first, within a window).
 */
#include "analysis/comparison.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"

enum { WINDOW = 512 };
static const size_t TAKEN = SIZE_MAX; /* an extra that turned out to be moved */

bool comparison_add(comparison_sequence *s, const char *key, const char *detail)
{
    comparison_item *item;

    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 256 : s->capacity * 2;
        comparison_item *grown = memory_resize(s->items, capacity * sizeof *grown);

        if (grown == NULL)
            return false;
        s->items = grown;
        s->capacity = capacity;
    }
    item = &s->items[s->count];
    item->key = memory_copy_text(key);
    item->detail = detail == NULL ? NULL : memory_copy_text(detail);
    s->count++;
    return item->key != NULL && (detail == NULL || item->detail != NULL);
}

void comparison_clear(comparison_sequence *s)
{
    for (size_t i = 0; i < s->count; i++) {
        memory_free(s->items[i].key);
        memory_free(s->items[i].detail);
    }
    memory_free(s->items);
    memset(s, 0, sizeof *s);
}

/* ---- numbers instead of texts ---- */

static uint64_t *number_keys(table_text *numbers, const comparison_sequence *s)
{
    uint64_t *ids = memory_allocate_array(s->count + 1, sizeof *ids);

    for (size_t i = 0; ids != NULL && i < s->count; i++) {
        const char *key = s->items[i].key;
        uint64_t *id = table_text_at(numbers, key, strlen(key), numbers->count);

        if (id == NULL) {
            memory_free(ids);
            return NULL;
        }
        ids[i] = *id;
    }
    return ids;
}

/* ---- reading side by side ---- */

typedef struct {
    const comparison_sequence *first, *second;
    uint64_t *first_ids, *second_ids;
    comparison *out;
    bool failed;
} walk;

static void report(walk *w, comparison_kind kind, size_t first, size_t second)
{
    comparison *c = w->out;

    if (c->count == c->capacity) {
        size_t capacity = c->capacity == 0 ? 64 : c->capacity * 2;
        comparison_difference *grown = memory_resize(c->differences, capacity * sizeof *grown);

        if (grown == NULL) {
            w->failed = true;
            return;
        }
        c->differences = grown;
        c->capacity = capacity;
    }
    c->differences[c->count++] = (comparison_difference){kind, first, second};
}

static bool same_detail(const comparison_item *a, const comparison_item *b)
{
    if (a->detail == NULL || b->detail == NULL)
        return a->detail == b->detail;
    return strcmp(a->detail, b->detail) == 0;
}

/* How many items to skip on each side until they agree again; false: never within the window. */
static bool find_agreement(const walk *w, size_t i, size_t j, size_t *skip_first,
                           size_t *skip_second)
{
    size_t left = w->first->count - i;
    size_t right = w->second->count - j;

    for (size_t sum = 1; sum <= WINDOW; sum++) {
        for (size_t skip = 0; skip <= sum; skip++) {
            if (skip < left && sum - skip < right &&
                w->first_ids[i + skip] == w->second_ids[j + sum - skip]) {
                *skip_first = skip;
                *skip_second = sum - skip;
                return true;
            }
        }
    }
    return false;
}

static void read_side_by_side(walk *w)
{
    size_t i = 0;
    size_t j = 0;

    while (i < w->first->count || j < w->second->count) {
        size_t skip_first = i < w->first->count;
        size_t skip_second = j < w->second->count;

        if (skip_first && skip_second) {
            if (w->first_ids[i] == w->second_ids[j]) {
                if (!same_detail(&w->first->items[i], &w->second->items[j]))
                    report(w, COMPARISON_DETAIL, i, j);
                i++;
                j++;
                continue;
            }
            find_agreement(w, i, j, &skip_first, &skip_second);
        }
        for (; skip_first > 0; skip_first--)
            report(w, COMPARISON_MISSING, i++, j);
        for (; skip_second > 0; skip_second--)
            report(w, COMPARISON_EXTRA, i, j++);
    }
}

/* What is missing here and extra there was moved, and is told once. `next` chains the extras of a
 * key: the table has the first one's place plus one. */
static bool pair_moved(walk *w, table_u64 *heads, size_t *next)
{
    comparison *c = w->out;
    size_t kept = 0;

    for (size_t n = c->count; n-- > 0;) {
        comparison_difference *d = &c->differences[n];
        uint64_t *head = NULL;

        if (d->kind != COMPARISON_EXTRA)
            continue;
        head = table_u64_at(heads, w->second_ids[d->second], 0);
        if (head == NULL)
            return false;
        next[n] = (size_t)*head;
        *head = n + 1;
    }
    for (size_t n = 0; n < c->count; n++) {
        comparison_difference *d = &c->differences[n];
        uint64_t place = 0;

        if (d->kind != COMPARISON_MISSING ||
            !table_u64_get(heads, w->first_ids[d->first], &place) || place == 0)
            continue;
        d->kind = COMPARISON_MOVED;
        d->second = c->differences[place - 1].second;
        c->differences[place - 1].second = TAKEN;
        table_u64_put(heads, w->first_ids[d->first], next[place - 1]);
    }
    for (size_t n = 0; n < c->count; n++) {
        if (c->differences[n].second != TAKEN)
            c->differences[kept++] = c->differences[n];
    }
    c->count = kept;
    return true;
}

static bool find_moved(walk *w)
{
    size_t *next = memory_allocate_array(w->out->count + 1, sizeof *next);
    table_u64 heads;
    bool done;

    table_u64_init(&heads);
    done = next != NULL && pair_moved(w, &heads, next);
    table_u64_free(&heads);
    memory_free(next);
    return done;
}

int comparison_make(comparison *c, const comparison_sequence *first,
                    const comparison_sequence *second, bool order_matters, error *e)
{
    table_text numbers;
    walk w = {first, second, NULL, NULL, c, false};

    memset(c, 0, sizeof *c);
    table_text_init(&numbers);
    w.first_ids = number_keys(&numbers, first);
    w.second_ids = number_keys(&numbers, second);
    w.failed = w.first_ids == NULL || w.second_ids == NULL;
    if (!w.failed) {
        read_side_by_side(&w);
        w.failed = w.failed || (!order_matters && !find_moved(&w));
    }
    for (size_t i = 0; i < c->count; i++) {
        if (comparison_is_critical(c->differences[i].kind))
            c->critical++;
        else
            c->acceptable++;
    }
    memory_free(w.first_ids);
    memory_free(w.second_ids);
    table_text_free(&numbers);
    if (!w.failed)
        return 0;
    comparison_free(c);
    return error_set(e, ERROR_MEMORY, "no memory to compare %zu with %zu items", first->count,
                     second->count);
}

void comparison_free(comparison *c)
{
    memory_free(c->differences);
    memset(c, 0, sizeof *c);
}

const char *comparison_kind_name(comparison_kind kind)
{
    static const char *const NAMES[] = {"missing", "extra", "moved", "detail"};

    return NAMES[kind];
}

bool comparison_is_critical(comparison_kind kind)
{
    return kind == COMPARISON_MISSING || kind == COMPARISON_EXTRA;
}

double comparison_score(size_t critical, size_t items)
{
    if (critical == 0)
        return 1;
    if (items == 0 || critical >= items)
        return 0;
    return 1 - (double)critical / (double)items;
}
