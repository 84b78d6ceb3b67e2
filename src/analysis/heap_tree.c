/* heap_tree: see heap_tree.h. A dominator comes before what it dominates in depth-first order, so
 * one pass gives every object its branch. */
#include "analysis/heap_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum { DEEPEST = 40, MOST_BRANCHES = 1 << 20 };

typedef struct {
    const heap *h;
    heap_tree *tree;
    uint32_t *branch_of; /* by node */
    uint8_t *depths;     /* by branch */
    size_t depth_capacity;
    table_text known, texts;
} work;

/* Roots that read the same are one. */
static uint32_t root_of(work *w, uint32_t node)
{
    uint32_t root = heap_holding_root(w->h, node);
    buffer text = BUFFER_EMPTY;
    uint64_t *at;

    heap_root_text(w->h, root, &text);
    at = table_text_at(&w->texts, buffer_text(&text), text.length, root);
    buffer_free(&text);
    return at == NULL ? root : (uint32_t)*at;
}

/* The branch below `parent`; UINT32_MAX without memory. */
static uint32_t branch_below(work *w, uint32_t parent, uint32_t type, uint32_t root)
{
    heap_tree *t = w->tree;
    uint32_t key[3] = {parent, type, root};
    uint64_t *at = table_text_at(&w->known, (const char *)key, sizeof key, t->count);

    if (at == NULL)
        return UINT32_MAX;
    if (*at < t->count)
        return (uint32_t)*at;
    if (!array_reserve(&t->items, &t->capacity, t->count + 1, sizeof *t->items) ||
        !array_reserve(&w->depths, &w->depth_capacity, t->count + 1, 1))
        return UINT32_MAX;
    t->items[t->count] = (heap_branch){parent, type, root, 0, 0};
    w->depths[t->count] = (uint8_t)(w->depths[parent] + 1);
    return (uint32_t)t->count++;
}

static bool place(work *w, uint32_t node)
{
    const heap *h = w->h;
    uint32_t above = h->tree.dominator[node];
    uint32_t parent = w->branch_of[above];
    uint32_t branch = parent;

    if (parent == 0 || (w->tree->items[parent].type != h->type[node] &&
                        w->depths[parent] < DEEPEST && w->tree->count < MOST_BRANCHES)) {
        branch = branch_below(w, parent, h->type[node], above == 0 ? root_of(w, node) : 0);
        if (branch == UINT32_MAX)
            return false;
    }
    w->branch_of[node] = branch;
    if (branch == 0)
        return true;
    if (branch != parent)
        w->tree->items[branch].retained += h->retained[node];
    if (w->tree->items[branch].type == h->type[node])
        w->tree->items[branch].count++;
    return true;
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x > y ? -1 : x < y;
}

/* The size a branch must have for at most `most` of them to be kept. */
static bool find_limit(const heap_tree *t, size_t most, uint64_t *limit)
{
    uint64_t *sizes;

    *limit = 0;
    if (t->count <= most)
        return true;
    sizes = memory_allocate_array(t->count, sizeof *sizes);
    if (sizes == NULL)
        return false;
    for (size_t i = 0; i < t->count; i++)
        sizes[i] = t->items[i].retained;
    qsort(sizes, t->count, sizeof *sizes, compare_sizes);
    *limit = sizes[most - 1] + 1;
    memory_free(sizes);
    return true;
}

/* Takes the small ones out. A branch is never larger than the one above it, so what is kept hangs
 * together. */
static bool prune(heap_tree *t, size_t most)
{
    uint32_t *now;
    uint64_t limit;
    size_t kept = 1;

    if (!find_limit(t, most, &limit))
        return false;
    now = memory_allocate_array(t->count, sizeof *now);
    if (now == NULL)
        return false;
    for (size_t i = 1; i < t->count; i++) {
        if (t->items[i].retained < limit ||
            (t->items[i].parent != 0 && now[t->items[i].parent] == 0)) {
            t->left_out++;
            continue;
        }
        now[i] = (uint32_t)kept;
        t->items[kept] = t->items[i];
        t->items[kept].parent = now[t->items[i].parent];
        kept++;
    }
    t->count = kept;
    memory_free(now);
    return true;
}

int heap_build_tree(const heap *h, size_t most, heap_tree *tree, error *e)
{
    work w = {.h = h, .tree = tree};
    bool good;

    memset(tree, 0, sizeof *tree);
    table_text_init(&w.known);
    table_text_init(&w.texts);
    w.branch_of = memory_allocate_array(h->nodes, sizeof *w.branch_of);
    good = w.branch_of != NULL &&
           array_reserve(&tree->items, &tree->capacity, 1, sizeof(heap_branch)) &&
           array_reserve(&w.depths, &w.depth_capacity, 1, 1);
    if (good) {
        tree->items[0] = (heap_branch){.type = UINT32_MAX, .retained = h->bytes};
        tree->count = 1;
    }
    for (uint32_t i = 1; good && i < h->tree.reached; i++)
        good = place(&w, h->tree.order[i]);
    memory_free(w.branch_of);
    memory_free(w.depths);
    table_text_free(&w.known);
    table_text_free(&w.texts);
    good = good && prune(tree, most < 2 ? 2 : most);
    if (good)
        return 0;
    heap_tree_free(tree);
    return error_set(e, ERROR_MEMORY, "no memory for the tree of what keeps what alive");
}

void heap_tree_free(heap_tree *tree)
{
    memory_free(tree->items);
    memset(tree, 0, sizeof *tree);
}
