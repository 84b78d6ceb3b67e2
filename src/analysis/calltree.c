/* calltree: see calltree.h. */
#include "analysis/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for the call tree");
}

static uint32_t key_of(const model_process *process, calltree_key by, uint32_t stack)
{
    const model_frame *frame = &process->frames[process->stack_frames[stack]];

    return by == CALLTREE_FUNCTIONS ? frame->function : frame->place;
}

bool calltree_is_repeated(const model_process *process, uint32_t stack)
{
    uint32_t parent = process->stack_parents[stack];
    uint32_t function = process->frames[process->stack_frames[stack]].function;

    return parent != 0 && process->functions[function].nameless &&
           process->frames[process->stack_frames[parent]].function == function;
}

/* A hash table of nodes by (parent, key), as large as the stacks can ever need. */
typedef struct {
    uint32_t *slots;
    size_t mask;
} node_index;

static bool index_init(node_index *index, size_t count)
{
    size_t size = 64;

    while (size < count * 2)
        size *= 2;
    index->slots = memory_allocate_array(size, sizeof *index->slots);
    index->mask = size - 1;
    return index->slots != NULL;
}

static uint32_t find_node(node_index *index, calltree *tree, uint32_t parent, uint32_t key)
{
    size_t slot = (size_t)table_hash_u64((uint64_t)parent << 32 | key) & index->mask;

    for (; index->slots[slot] != 0; slot = (slot + 1) & index->mask) {
        uint32_t node = index->slots[slot];

        if (tree->parents[node] == parent && tree->keys[node] == key)
            return node;
    }
    tree->parents[tree->count] = parent;
    tree->keys[tree->count] = key;
    index->slots[slot] = (uint32_t)tree->count;
    return (uint32_t)tree->count++;
}

int calltree_build(const model_process *process, calltree_key by, calltree *tree, error *e)
{
    size_t n = process->stack_count;
    node_index index = {NULL, 0};

    memset(tree, 0, sizeof *tree);
    tree->parents = memory_allocate_array(n, sizeof *tree->parents);
    tree->keys = memory_allocate_array(n, sizeof *tree->keys);
    tree->node_of_stack = memory_allocate_array(n, sizeof *tree->node_of_stack);
    tree->key_count = by == CALLTREE_FUNCTIONS ? process->function_count : process->place_count;
    if (tree->parents == NULL || tree->keys == NULL || tree->node_of_stack == NULL ||
        !index_init(&index, n)) {
        calltree_free(tree);
        return no_memory(e);
    }
    tree->count = 1;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t above = tree->node_of_stack[process->stack_parents[i]];

        tree->node_of_stack[i] = calltree_is_repeated(process, i)
                                     ? above
                                     : find_node(&index, tree, above, key_of(process, by, i));
    }
    memory_free(index.slots);
    tree->self = memory_allocate_array(tree->count, sizeof *tree->self);
    tree->total = memory_allocate_array(tree->count, sizeof *tree->total);
    if (tree->self == NULL || tree->total == NULL) {
        calltree_free(tree);
        return no_memory(e);
    }
    return 0;
}

void calltree_free(calltree *tree)
{
    memory_free(tree->parents);
    memory_free(tree->keys);
    memory_free(tree->node_of_stack);
    memory_free(tree->self);
    memory_free(tree->total);
    memset(tree, 0, sizeof *tree);
}

void calltree_weigh(calltree *tree, const model_process *process, const uint64_t *weight_by_stack)
{
    memset(tree->self, 0, tree->count * sizeof *tree->self);
    for (size_t i = 0; i < process->stack_count; i++)
        tree->self[tree->node_of_stack[i]] += weight_by_stack[i];
    memcpy(tree->total, tree->self, tree->count * sizeof *tree->total);
    for (size_t i = tree->count - 1; i > 0; i--)
        tree->total[tree->parents[i]] += tree->total[i];
}

/* Children as linked lists: first[node], next[node]. */
typedef struct {
    uint32_t *first;
    uint32_t *next;
} child_lists;

static bool link_children(const calltree *tree, child_lists *lists)
{
    lists->first = memory_allocate_array(tree->count, sizeof *lists->first);
    lists->next = memory_allocate_array(tree->count, sizeof *lists->next);
    if (lists->first == NULL || lists->next == NULL)
        return false;
    for (size_t i = tree->count - 1; i > 0; i--) {
        lists->next[i] = lists->first[tree->parents[i]];
        lists->first[tree->parents[i]] = (uint32_t)i;
    }
    return true;
}

static void free_children(child_lists *lists)
{
    memory_free(lists->first);
    memory_free(lists->next);
}

/* Walks the tree depth first. on_path[key] counts how often the key stands above, so that a
 * recursive method's total is taken from its outermost node only. */
static void rank_walk(const calltree *tree, const child_lists *lists, uint32_t *on_path,
                      calltree_rank *ranks)
{
    uint32_t node = lists->first[0];

    while (node != 0) {
        uint32_t key = tree->keys[node];

        ranks[key].self += tree->self[node];
        if (on_path[key]++ == 0)
            ranks[key].total += tree->total[node];
        if (lists->first[node] != 0) {
            node = lists->first[node];
            continue;
        }
        while (node != 0) {
            on_path[tree->keys[node]]--;
            if (lists->next[node] != 0) {
                node = lists->next[node];
                break;
            }
            node = tree->parents[node];
        }
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int by_self(const void *a, const void *b)
{
    const calltree_rank *x = a;
    const calltree_rank *y = b;
    int order = compare(x->self, y->self);

    if (order == 0)
        order = compare(x->total, y->total);
    return order != 0 ? order : -compare(x->key, y->key);
}

static int by_total(const void *a, const void *b)
{
    const calltree_rank *x = a;
    const calltree_rank *y = b;
    int order = compare(x->total, y->total);

    if (order == 0)
        order = compare(x->self, y->self);
    return order != 0 ? order : -compare(x->key, y->key);
}

void calltree_sort_by_total(calltree_rank *ranks, size_t count)
{
    qsort(ranks, count, sizeof *ranks, by_total);
}

/* Leaves the entries that have any weight, each with its key. */
static size_t keep_weighted(calltree_rank *ranks, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (ranks[i].self == 0 && ranks[i].total == 0)
            continue;
        ranks[kept] = ranks[i];
        ranks[kept++].key = (uint32_t)i;
    }
    return kept;
}

int calltree_rank_keys(const calltree *tree, calltree_rank **ranks, size_t *count, error *e)
{
    child_lists lists = {NULL, NULL};
    uint32_t *on_path = memory_allocate_array(tree->key_count, sizeof *on_path);
    int code = 0;

    *ranks = memory_allocate_array(tree->key_count, sizeof **ranks);
    *count = 0;
    if (on_path == NULL || *ranks == NULL || !link_children(tree, &lists)) {
        memory_free(*ranks);
        *ranks = NULL;
        code = no_memory(e);
    } else {
        rank_walk(tree, &lists, on_path, *ranks);
        *count = keep_weighted(*ranks, tree->key_count);
        qsort(*ranks, *count, sizeof **ranks, by_self);
    }
    memory_free(on_path);
    free_children(&lists);
    return code;
}

int calltree_hottest(const calltree *tree, size_t limit, uint32_t **nodes, size_t *count, error *e)
{
    uint32_t *best = memory_allocate_array(limit + 1, sizeof *best);
    size_t n = 0;

    *nodes = best;
    *count = 0;
    if (best == NULL)
        return no_memory(e);
    for (uint32_t i = 1; i < tree->count; i++) {
        size_t place = n;

        if (tree->self[i] == 0 || (n == limit && tree->self[i] <= tree->self[best[n - 1]]))
            continue;
        while (place > 0 && tree->self[best[place - 1]] < tree->self[i]) {
            best[place] = best[place - 1];
            place--;
        }
        best[place] = i;
        if (n < limit)
            n++;
    }
    *count = n;
    return 0;
}

static bool has_above(const calltree *tree, uint32_t node, uint32_t key)
{
    for (node = tree->parents[node]; node != 0; node = tree->parents[node])
        if (tree->keys[node] == key)
            return true;
    return false;
}

int calltree_callers(const calltree *tree, uint32_t key, calltree_rank **ranks, size_t *count,
                     error *e)
{
    *ranks = memory_allocate_array(tree->key_count, sizeof **ranks);
    *count = 0;
    if (*ranks == NULL)
        return no_memory(e);
    for (uint32_t i = 1; i < tree->count; i++)
        if (tree->keys[i] == key && !has_above(tree, i, key))
            (*ranks)[tree->keys[tree->parents[i]]].total += tree->total[i];
    *count = keep_weighted(*ranks, tree->key_count);
    calltree_sort_by_total(*ranks, *count);
    return 0;
}

int calltree_callees(const calltree *tree, uint32_t key, calltree_rank **ranks, size_t *count,
                     error *e)
{
    *ranks = memory_allocate_array(tree->key_count, sizeof **ranks);
    *count = 0;
    if (*ranks == NULL)
        return no_memory(e);
    for (uint32_t i = 1; i < tree->count; i++) {
        uint32_t parent = tree->parents[i];

        /* Below a recursive call the weight was already counted where it left the outer one. */
        if (parent != 0 && tree->keys[parent] == key && !has_above(tree, parent, key))
            (*ranks)[tree->keys[i]].total += tree->total[i];
    }
    *count = keep_weighted(*ranks, tree->key_count);
    calltree_sort_by_total(*ranks, *count);
    return 0;
}
