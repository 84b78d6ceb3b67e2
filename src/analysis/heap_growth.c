/* heap_growth: see heap_growth.h. */
#include "analysis/heap_growth.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { LONGEST_WAY = 64 };

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to compare the snapshots");
}

/* A step has two parts, in the order in which ways are compared: the type of its objects at twice
 * its number, and behind it what leads there. The parts of step 0 are none. */
static uint32_t part_before(const heap_paths *paths, uint32_t part)
{
    return part % 2 == 0 ? part + 1 : 2 * paths->steps[part / 2].parent;
}

/* What leads to a step: the root, or the field of the object before. */
static void append_edge(const heap *h, const heap_step *step, buffer *out)
{
    if (step->parent == 0)
        heap_root_text(h, step->root, out);
    if ((step->field & ~HEAP_ELEMENT) != 0) {
        buffer_append_char(out, '.');
        heap_field_text(h, step->field & ~HEAP_ELEMENT, out); /* an array's name ends with [] */
    }
    buffer_append_text(out, step->is_dependent ? " -> (dependent handle) -> " : " -> ");
}

/* The hash of each part's text; NULL without memory. */
static uint64_t *hash_parts(const heap *h, const heap_paths *paths)
{
    uint64_t *hashes = memory_allocate_array(2 * paths->count, sizeof *hashes);
    buffer text = BUFFER_EMPTY;

    for (size_t i = 1; hashes != NULL && i < paths->count; i++) {
        const char *type = heap_type_name(h, paths->steps[i].type);

        buffer_clear(&text);
        append_edge(h, &paths->steps[i], &text);
        hashes[2 * i] = table_hash_bytes(type, strlen(type));
        hashes[2 * i + 1] = table_hash_bytes(buffer_text(&text), text.length);
    }
    buffer_free(&text);
    return hashes;
}

/* The end of a way with one more part before it. */
static uint64_t longer(uint64_t end, uint64_t part)
{
    return table_hash_u64(end) ^ part;
}

/* ---- the earlier snapshot ---- */

static bool add_way(heap_growth *g, const heap_paths *paths, const uint64_t *hashes, uint32_t step)
{
    const uint64_t bytes = paths->steps[step].bytes;
    uint64_t end = 0;

    for (uint32_t part = 2 * step; part != 0; part = part_before(paths, part)) {
        uint64_t *at;

        end = longer(end, hashes[part]);
        at = table_u64_at(&g->before, end, 0);
        if (at == NULL)
            return false;
        *at += bytes;
    }
    return true;
}

int heap_growth_keep(heap_growth *g, const heap *h, error *e)
{
    uint8_t *wanted = memory_allocate_array(h->type_count + 1, 1);
    uint64_t *hashes = NULL;
    heap_paths paths;
    bool good;
    int code;

    if (wanted == NULL)
        return no_memory(e);
    memset(wanted, 1, h->type_count);
    code = heap_find_paths(h, wanted, &paths, e);
    memory_free(wanted);
    if (code != 0)
        return code;
    hashes = hash_parts(h, &paths);
    good = hashes != NULL;
    for (uint32_t i = 1; good && i < paths.count; i++)
        if (paths.steps[i].count != 0)
            good = add_way(g, &paths, hashes, i);
    memory_free(hashes);
    heap_paths_free(&paths);
    return good ? 0 : no_memory(e);
}

void heap_growth_free(heap_growth *g)
{
    table_u64_free(&g->before);
}

/* ---- the later one ---- */

/* A way whose end is one of those looked at. */
typedef struct {
    uint32_t last; /* step, which the objects are on */
    uint32_t next; /* the part before those looked at; 0 = they are the whole way */
    uint64_t end;  /* their hash */
} candidate;

typedef struct {
    const heap_growth *growth;
    const heap_paths *paths;
    const uint64_t *hashes;
    candidate *items;
    size_t count;
} choice;

/* Every candidate's end becomes one part longer. */
static bool take_part(choice *c, table_u64 *after)
{
    for (size_t i = 0; i < c->count; i++) {
        candidate *one = &c->items[i];
        uint64_t *at;

        one->end = longer(one->end, c->hashes[one->next]);
        one->next = part_before(c->paths, one->next);
        at = table_u64_at(after, one->end, 0);
        if (at == NULL)
            return false;
        *at += c->paths->steps[one->last].bytes;
    }
    return true;
}

/* The end on which most has come; of equal ones that with more on it. */
static uint64_t best_end(const choice *c, const table_u64 *after)
{
    uint64_t best = 0, most = 0;
    int64_t growth = 0;

    for (size_t i = 0; i < c->count; i++) {
        uint64_t before = 0, now = 0;
        int64_t come;

        table_u64_get(&c->growth->before, c->items[i].end, &before);
        table_u64_get(after, c->items[i].end, &now);
        come = (int64_t)(now - before);
        if (i == 0 || come > growth || (come == growth && now > most)) {
            best = c->items[i].end;
            growth = come;
            most = now;
        }
    }
    return best;
}

static void keep_end(choice *c, uint64_t end)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].end == end)
            c->items[kept++] = c->items[i];
    c->count = kept;
}

/* The last step of the way chosen; 0 without memory. */
static uint32_t choose(choice *c)
{
    for (;;) {
        table_u64 after;
        bool good;

        table_u64_init(&after);
        good = take_part(c, &after);
        if (good)
            keep_end(c, best_end(c, &after));
        table_u64_free(&after);
        if (!good)
            return 0;
        /* a root's text is in its part, so ways that read the same end together */
        if (c->items[0].next == 0)
            return c->items[0].last;
    }
}

static void append_way(const heap *h, const heap_paths *paths, uint32_t step, buffer *out)
{
    uint32_t way[LONGEST_WAY];
    size_t length = 0;

    for (; step != 0 && length < LONGEST_WAY; step = paths->steps[step].parent)
        way[length++] = step;
    while (length > 0) {
        append_edge(h, &paths->steps[way[--length]], out);
        buffer_append_text(out, heap_type_name(h, paths->steps[way[length]].type));
    }
}

static int find_ways(const heap *h, const char *type, heap_paths *paths, error *e)
{
    uint8_t *wanted = memory_allocate_array(h->type_count + 1, 1);
    int code;

    if (wanted == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < h->type_count; i++)
        wanted[i] = text_equal(heap_type_name(h, i), type);
    code = heap_find_paths(h, wanted, paths, e);
    memory_free(wanted);
    return code;
}

int heap_growth_way(const heap_growth *g, const heap *last, const char *type, buffer *out, error *e)
{
    heap_paths paths;
    uint64_t *hashes;
    choice c = {.growth = g, .paths = &paths};
    uint32_t chosen = 0;
    bool good;
    int code = find_ways(last, type, &paths, e);

    if (code != 0)
        return code;
    c.hashes = hashes = hash_parts(last, &paths);
    c.items = memory_allocate_array(paths.count, sizeof *c.items);
    good = hashes != NULL && c.items != NULL;
    for (uint32_t i = 1; good && i < paths.count; i++)
        if (paths.steps[i].count != 0)
            c.items[c.count++] = (candidate){i, 2 * i, 0};
    if (good && c.count != 0) {
        chosen = choose(&c);
        good = chosen != 0;
    }
    append_way(last, &paths, chosen, out);
    memory_free(hashes);
    memory_free(c.items);
    heap_paths_free(&paths);
    return good ? 0 : no_memory(e);
}
