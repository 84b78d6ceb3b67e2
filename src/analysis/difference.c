/* difference: see difference.h. */
#include "analysis/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to compare the recordings");
}

static bool reserve_node(difference *d, size_t node)
{
    for (unsigned i = 0; i < 2; i++)
        if (!array_reserve(&d->sides[i].self, &d->self_capacity[i], node + 1,
                           sizeof *d->sides[i].self))
            return false;
    return array_reserve(&d->parents, &d->parent_capacity, node + 1, sizeof *d->parents) &&
           array_reserve(&d->keys, &d->key_capacity, node + 1, sizeof *d->keys);
}

bool difference_init(difference *d)
{
    memset(d, 0, sizeof *d);
    d->unit = "count";
    d->profiler = "";
    d->scale = 1;
    if (!strings_init(&d->strings) || !reserve_node(d, 0) ||
        !array_reserve(&d->functions, &d->function_capacity, 1, sizeof *d->functions))
        return false;
    d->function_count = 1;
    d->node_count = 1;
    return true;
}

void difference_free(difference *d)
{
    strings_free(&d->strings);
    memory_free(d->functions);
    memory_free(d->parents);
    memory_free(d->keys);
    for (unsigned i = 0; i < 2; i++) {
        memory_free(d->sides[i].self);
        memory_free(d->sides[i].sum);
    }
    memory_free(d->methods);
    table_u64_free(&d->function_index);
    table_u64_free(&d->node_index);
    memset(d, 0, sizeof *d);
}

/* The function of the difference for one of a process; 0 when there is no memory. */
static uint32_t find_function(difference *d, const model *m, const model_process *p,
                              const model_function *function)
{
    uint32_t name;
    uint32_t module;
    uint64_t *place;

    if (!strings_add_text(&d->strings, model_text(m, function->name), &name) ||
        !strings_add_text(&d->strings, model_text(m, p->modules[function->module].name), &module))
        return 0;
    place = table_u64_at(&d->function_index, (uint64_t)name << 32 | module, 0);
    if (place == NULL)
        return 0;
    if (*place == 0) {
        if (!array_reserve(&d->functions, &d->function_capacity, d->function_count + 1,
                           sizeof *d->functions))
            return 0;
        d->functions[d->function_count] = (difference_function){name, module, function->kind};
        *place = d->function_count++;
    }
    return (uint32_t)*place;
}

/* 0 when there is no memory. */
static uint32_t find_node(difference *d, uint32_t parent, uint32_t function)
{
    uint64_t *place = table_u64_at(&d->node_index, (uint64_t)parent << 32 | function, 0);

    if (place == NULL)
        return 0;
    if (*place == 0) {
        if (d->node_count == UINT32_MAX || !reserve_node(d, d->node_count))
            return 0;
        d->parents[d->node_count] = parent;
        d->keys[d->node_count] = function;
        *place = d->node_count++;
    }
    return (uint32_t)*place;
}

static bool add_tree(difference *d, unsigned side, const profile *p, const calltree *tree)
{
    uint32_t *functions = memory_allocate_array(p->process->function_count, sizeof *functions);
    uint32_t *nodes = memory_allocate_array(tree->count, sizeof *nodes);
    bool done = functions != NULL && nodes != NULL;

    for (size_t i = 0; i < p->process->function_count && done; i++) {
        functions[i] = find_function(d, p->m, p->process, &p->process->functions[i]);
        done = functions[i] != 0;
    }
    if (done)
        d->sides[side].self[0] += tree->self[0];
    for (size_t i = 1; i < tree->count && done; i++) {
        if (tree->total[i] == 0)
            continue; /* nothing of the selection is here or below */
        nodes[i] = find_node(d, nodes[tree->parents[i]], functions[tree->keys[i]]);
        done = nodes[i] != 0;
        if (done)
            d->sides[side].self[nodes[i]] += tree->self[i];
    }
    memory_free(functions);
    memory_free(nodes);
    return done;
}

static void add_losses(difference_side *side, const profile *p)
{
    const model_process *process = p->process;

    for (size_t i = 0; i < process->loss_count; i++)
        if (process->losses[i].profiler == p->table->profiler)
            side->lost += process->losses[i].total;
    side->cost.thread_cpu_ns += process->cost.thread_cpu_ns;
    side->cost.handler_ns += process->cost.handler_ns;
    side->cost.handler_calls += process->cost.handler_calls;
    if (process->cost.memory_bytes > side->cost.memory_bytes)
        side->cost.memory_bytes = process->cost.memory_bytes;
}

int difference_add(difference *d, unsigned side, const profile *p,
                   const profile_selection *selection, error *e)
{
    calltree tree = {0};
    uint64_t *weights = memory_allocate_array(p->process->stack_count, sizeof *weights);
    int code = weights == NULL ? no_memory(e) : 0;

    if (code == 0)
        code = calltree_build(p->process, CALLTREE_FUNCTIONS, &tree, e);
    if (code == 0) {
        profile_total total = profile_sum(p, selection, weights, NULL);

        calltree_weigh(&tree, p->process, weights);
        d->unit = p->unit;
        d->sides[side].total.weight += total.weight;
        d->sides[side].total.samples += total.samples;
        if (p->process->duration_ns > d->sides[side].duration_ns)
            d->sides[side].duration_ns = p->process->duration_ns;
        add_losses(&d->sides[side], p);
        if (!add_tree(d, side, p, &tree))
            code = no_memory(e);
    }
    calltree_free(&tree);
    memory_free(weights);
    return code;
}

static bool sum_side(difference *d, difference_side *side)
{
    side->sum = memory_allocate_array(d->node_count, sizeof *side->sum);
    if (side->sum == NULL)
        return false;
    memcpy(side->sum, side->self, d->node_count * sizeof *side->sum);
    for (size_t i = d->node_count - 1; i > 0; i--)
        side->sum[d->parents[i]] += side->sum[i];
    return true;
}

/* Puts the ranks of one side into the methods, which are indexed by function here. */
static int rank_side(difference *d, unsigned side, error *e)
{
    calltree tree = {.parents = d->parents,
                     .keys = d->keys,
                     .count = d->node_count,
                     .key_count = d->function_count,
                     .self = d->sides[side].self,
                     .total = d->sides[side].sum};
    calltree_rank *ranks;
    size_t count;
    int code = calltree_rank_keys(&tree, &ranks, &count, e);

    if (code != 0)
        return code;
    for (size_t i = 0; i < count; i++) {
        d->methods[ranks[i].key].self[side] = ranks[i].self;
        d->methods[ranks[i].key].total[side] = ranks[i].total;
    }
    memory_free(ranks);
    return 0;
}

static int compare(double a, double b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int by_self(const void *a, const void *b)
{
    const difference_method *x = a;
    const difference_method *y = b;
    int order = compare(x->self_change, y->self_change);

    return order != 0 ? order : x->function < y->function ? -1 : 1;
}

static int by_total(const void *a, const void *b)
{
    const difference_method *x = a;
    const difference_method *y = b;
    int order = compare(x->total_change, y->total_change);

    return order != 0 ? order : by_self(a, b);
}

void difference_sort_by_self(difference *d)
{
    qsort(d->methods, d->method_count, sizeof *d->methods, by_self);
}

void difference_sort_by_total(difference *d)
{
    qsort(d->methods, d->method_count, sizeof *d->methods, by_total);
}

static void finish_methods(difference *d)
{
    for (uint32_t i = 1; i < d->function_count; i++) {
        difference_method *method = &d->methods[i];

        if (method->total[0] == 0 && method->total[1] == 0)
            continue;
        method->function = i;
        method->self_change = (double)method->self[1] - (double)method->self[0] * d->scale;
        method->total_change = (double)method->total[1] - (double)method->total[0] * d->scale;
        d->methods[d->method_count++] = *method;
    }
    difference_sort_by_self(d);
}

int difference_finish(difference *d, bool scaled, error *e)
{
    int code = 0;

    if (scaled && d->sides[0].total.weight != 0)
        d->scale = (double)d->sides[1].total.weight / (double)d->sides[0].total.weight;
    d->methods = memory_allocate_array(d->function_count, sizeof *d->methods);
    if (d->methods == NULL)
        return no_memory(e);
    for (unsigned i = 0; i < 2 && code == 0; i++) {
        if (!sum_side(d, &d->sides[i]))
            return no_memory(e);
        code = rank_side(d, i, e);
    }
    if (code == 0)
        finish_methods(d);
    return code;
}
