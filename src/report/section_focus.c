/*
 * section_focus: who calls a method and whom it calls, for the methods whose names match what was
 * asked for with --method, the heaviest first.
 */
#include "base/memory.h"
#include "base/text.h"
#include "report/section.h"

enum { MAXIMUM_METHODS = 10, MAXIMUM_NEIGHBOURS = 30 };

typedef struct {
    calltree_rank *callers;
    calltree_rank *callees;
    size_t caller_count;
    size_t callee_count;
} neighbours;

static int find_neighbours(const view *v, uint32_t function, neighbours *n, error *e)
{
    int code = calltree_callers(&v->functions, function, &n->callers, &n->caller_count, e);

    n->callees = NULL;
    if (code == 0)
        code = calltree_callees(&v->functions, function, &n->callees, &n->callee_count, e);
    return code;
}

static void free_neighbours(neighbours *n)
{
    memory_free(n->callers);
    memory_free(n->callees);
}

/* The name, or any part of it with * and ?. */
static bool is_wanted(const section *s, const view *v, uint32_t function)
{
    return text_matches(view_function_name(v, function), s->options->method);
}

/* Key 0 among callers is the root: the method was the outermost frame. */
static const char *neighbour_name(const view *v, uint32_t key)
{
    return key == 0 ? "(outermost)" : view_function_name(v, key);
}

static void put_list(const section *s, const view *v, const char *title, const calltree_rank *ranks,
                     size_t count)
{
    char amount[REPORT_AMOUNT_SIZE];

    sink_format(s->out, "| %s | weight | %% |\n|---|---:|---:|\n", title);
    for (size_t i = 0; i < count && i < MAXIMUM_NEIGHBOURS; i++) {
        sink_text(s->out, "| ");
        markdown_cell(s->out, neighbour_name(v, ranks[i].key));
        sink_format(s->out, " | %s | %.1f |\n",
                    report_amount(ranks[i].total, v->profile.unit, amount),
                    report_percent(ranks[i].total, v->total.weight));
    }
    sink_char(s->out, '\n');
}

static void put_method(const section *s, const view *v, const calltree_rank *rank,
                       const neighbours *n)
{
    char self[REPORT_AMOUNT_SIZE];
    char total[REPORT_AMOUNT_SIZE];

    sink_text(s->out, "### Around ");
    markdown_code(s->out, view_function_name(v, rank->key));
    sink_format(s->out, "\n\nself %s, total %s\n\n",
                report_amount(rank->self, v->profile.unit, self),
                report_amount(rank->total, v->profile.unit, total));
    put_list(s, v, "called by", n->callers, n->caller_count);
    if (n->callee_count != 0)
        put_list(s, v, "calls", n->callees, n->callee_count);
}

int section_focus_markdown(const section *s, const view *v)
{
    size_t shown = 0;
    int code = 0;

    if (s->options->method == NULL)
        return 0;
    for (size_t i = 0; i < v->method_count && shown < MAXIMUM_METHODS && code == 0; i++) {
        const calltree_rank *rank = &v->methods_by_total[i];
        neighbours n;

        if (!is_wanted(s, v, rank->key))
            continue;
        code = find_neighbours(v, rank->key, &n, s->e);
        if (code == 0)
            put_method(s, v, rank, &n);
        free_neighbours(&n);
        shown++;
    }
    if (shown == 0) {
        sink_text(s->out, "No method in this profile is called ");
        markdown_code(s->out, s->options->method);
        sink_text(s->out, ".\n\n");
    }
    return code;
}

static void json_list(const view *v, json *j, const char *key, const calltree_rank *ranks,
                      size_t count)
{
    json_begin_array_at(j, key);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(j);
        json_put_text(j, "name", neighbour_name(v, ranks[i].key));
        json_put_u64(j, "weight", ranks[i].total);
        json_put_f64(j, "percent", report_percent(ranks[i].total, v->total.weight));
        json_end_object(j);
    }
    json_end_array(j);
}

int section_focus_json(const section *s, const view *v, json *j)
{
    size_t shown = 0;
    int code = 0;

    if (s->options->method == NULL)
        return 0;
    json_begin_array_at(j, "around");
    for (size_t i = 0; i < v->method_count && shown < MAXIMUM_METHODS && code == 0; i++) {
        const calltree_rank *rank = &v->methods_by_total[i];
        neighbours n;

        if (!is_wanted(s, v, rank->key))
            continue;
        code = find_neighbours(v, rank->key, &n, s->e);
        if (code == 0) {
            json_begin_object(j);
            json_put_text(j, "name", view_function_name(v, rank->key));
            json_put_u64(j, "self", rank->self);
            json_put_u64(j, "total", rank->total);
            json_list(v, j, "callers", n.callers, n.caller_count);
            json_list(v, j, "callees", n.callees, n.callee_count);
            json_end_object(j);
        }
        free_neighbours(&n);
        shown++;
    }
    json_end_array(j);
    return code;
}
