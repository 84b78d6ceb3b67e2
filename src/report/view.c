/* view: see view.h. */
#include "report/view.h"

#include <string.h>

#include "base/memory.h"

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for the report");
}

static int sum(view *v, error *e)
{
    const model_process *p = v->process;

    v->weight_by_stack = memory_allocate_array(p->stack_count, sizeof *v->weight_by_stack);
    v->weight_by_thread = memory_allocate_array(p->thread_count, sizeof *v->weight_by_thread);
    v->samples_by_thread = memory_allocate_array(p->thread_count, sizeof *v->samples_by_thread);
    if (v->weight_by_stack == NULL || v->weight_by_thread == NULL || v->samples_by_thread == NULL)
        return no_memory(e);
    v->total = profile_sum(&v->profile, &v->selection, v->weight_by_stack, NULL);
    profile_sum_threads(&v->profile, &v->selection, v->weight_by_thread, v->samples_by_thread);
    profile_sum_states(&v->profile, &v->selection, v->states);
    return continuations_sum(&v->profile, &v->selection, &v->continuations, e);
}

static int rank_methods(view *v, size_t paths, error *e)
{
    int code = calltree_build(v->process, CALLTREE_FUNCTIONS, &v->functions, e);

    if (code != 0)
        return code;
    calltree_weigh(&v->functions, v->process, v->weight_by_stack);
    code = calltree_rank_keys(&v->functions, &v->methods, &v->method_count, e);
    if (code != 0)
        return code;
    v->methods_by_total = memory_allocate_array(v->method_count + 1, sizeof *v->methods);
    if (v->methods_by_total == NULL)
        return no_memory(e);
    memcpy(v->methods_by_total, v->methods, v->method_count * sizeof *v->methods);
    calltree_sort_by_total(v->methods_by_total, v->method_count);
    return calltree_hottest(&v->functions, paths, &v->paths, &v->path_count, e);
}

static int rank_lines(view *v, error *e)
{
    int code = calltree_build(v->process, CALLTREE_PLACES, &v->places, e);
    size_t kept = 0;

    if (code != 0)
        return code;
    calltree_weigh(&v->places, v->process, v->weight_by_stack);
    code = calltree_rank_keys(&v->places, &v->lines, &v->line_count, e);
    if (code != 0)
        return code;
    for (size_t i = 0; i < v->line_count; i++)
        if (v->process->places[v->lines[i].key].line != 0)
            v->lines[kept++] = v->lines[i];
    v->line_count = kept;
    return 0;
}

int view_open(view *v, const profile *p, const report_options *options, size_t paths, error *e)
{
    int code;

    memset(v, 0, sizeof *v);
    v->m = p->m;
    v->process = p->process;
    v->profile = *p;
    code = report_select(p->m, p->process, options, &v->selection, e);
    if (code == 0)
        code = sum(v, e);
    if (code == 0)
        code = rank_methods(v, paths, e);
    if (code == 0)
        code = rank_lines(v, e);
    return code;
}

void view_free(view *v)
{
    report_selection_free(&v->selection);
    memory_free(v->weight_by_stack);
    memory_free(v->weight_by_thread);
    memory_free(v->samples_by_thread);
    calltree_free(&v->functions);
    calltree_free(&v->places);
    memory_free(v->methods);
    memory_free(v->methods_by_total);
    memory_free(v->lines);
    memory_free(v->paths);
    memset(v, 0, sizeof *v);
}

size_t view_path(const calltree *tree, uint32_t node, uint32_t *keys, size_t limit)
{
    size_t count = 0;

    for (; node != 0 && count < limit; node = tree->parents[node])
        keys[count++] = tree->keys[node];
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t key = keys[i];

        keys[i] = keys[count - 1 - i];
        keys[count - 1 - i] = key;
    }
    return count;
}

size_t view_order_threads(const view *v, uint32_t *order)
{
    size_t count = 0;

    for (uint32_t i = 0; i < v->process->thread_count; i++) {
        size_t place = count;

        if (v->samples_by_thread[i] == 0)
            continue;
        while (place > 0 && v->weight_by_thread[order[place - 1]] < v->weight_by_thread[i]) {
            order[place] = order[place - 1];
            place--;
        }
        order[place] = i;
        count++;
    }
    return count;
}

const char *view_function_name(const view *v, uint32_t function)
{
    return model_text(v->m, v->process->functions[function].name);
}

const char *view_module_name(const view *v, uint32_t function)
{
    return model_text(v->m, v->process->modules[v->process->functions[function].module].name);
}
