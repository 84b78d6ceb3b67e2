/*
 * collapsed: `root;…;leaf weight`, one line per distinct stack, as flame graph tools read it.
 * Weights: microseconds for times, else bytes or counts. What is below a whole microsecond is
 * carried on to the next line: tools want whole numbers, and many small weights are still a large
 * one. A semicolon or a line break inside a name
 * would be read as structure: they become a comma and a space. With several processes the process
 * is the first frame; with options->threads the thread comes next.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate.h"
#include "analysis/calltree.h"

static void put_frame(sink *out, const char *name)
{
    size_t start = 0;
    size_t i;

    for (i = 0; name[i] != '\0'; i++) {
        if (name[i] != ';' && (unsigned char)name[i] >= 0x20)
            continue;
        sink_bytes(out, name + start, i - start);
        sink_char(out, name[i] == ';' ? ',' : ' ');
        start = i + 1;
    }
    sink_bytes(out, name + start, i - start);
}

typedef struct {
    const profile *p;
    const calltree *tree;
    sink *out;
    const char *process; /* NULL: not shown */
    const char *thread;
} lines;

static void put_line(const lines *l, uint32_t node, uint64_t weight)
{
    const model_process *process = l->p->process;
    uint32_t path[MODEL_MAXIMUM_DEPTH];
    size_t depth = 0;
    bool separator = false;

    if (l->process != NULL) {
        put_frame(l->out, l->process);
        separator = true;
    }
    if (l->thread != NULL) {
        if (separator)
            sink_char(l->out, ';');
        put_frame(l->out, l->thread);
        separator = true;
    }
    if (node == 0) {
        sink_text(l->out, separator ? ";(no stack)" : "(no stack)");
    }
    for (; node != 0; node = l->tree->parents[node])
        path[depth++] = l->tree->keys[node];
    while (depth-- > 0) {
        if (separator)
            sink_char(l->out, ';');
        put_frame(l->out, model_text(l->p->m, process->functions[path[depth]].name));
        separator = true;
    }
    sink_char(l->out, ' ');
    sink_u64(l->out, weight);
    sink_char(l->out, '\n');
}

static int by_thread_then_node(const void *a, const void *b)
{
    const aggregate_row *x = a;
    const aggregate_row *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void put_rows(lines *l, aggregate *rows, bool threads)
{
    bool is_time = strcmp(l->p->unit, "ns") == 0;
    uint64_t carried = 500; /* ns; begins at a half: a single line is rounded */
    char title[200];

    if (rows->count != 0)
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_thread_then_node);
    for (size_t i = 0; i < rows->count; i++) {
        const aggregate_row *row = &rows->rows[i];
        uint64_t weight = row->weight;

        if (is_time) {
            carried += weight;
            weight = carried / 1000;
            carried %= 1000;
        }
        if (weight == 0)
            continue;
        if (threads) {
            model_thread_title(l->p->m, &l->p->process->threads[row->thread], title, sizeof title);
            l->thread = title;
        }
        put_line(l, row->node, weight);
    }
    l->thread = NULL;
}

static int put_process(const profile *p, const report_options *options, const char *title,
                       sink *out, error *e)
{
    calltree tree = {0};
    aggregate rows = {0};
    profile_selection selection;
    aggregate_options how = {NULL, options->threads, false, 1, 1, 0};
    lines l = {p, &tree, out, title, NULL};
    int code = report_select(p->m, p->process, options, &selection, e);

    if (code == 0)
        code = calltree_build(p->process, CALLTREE_FUNCTIONS, &tree, e);
    how.node_of_stack = tree.node_of_stack;
    if (code == 0)
        code = aggregate_build(p, &selection, &how, &rows, e);
    if (code == 0)
        put_rows(&l, &rows, options->threads && p->thread != NULL);
    report_selection_free(&selection);
    calltree_free(&tree);
    aggregate_free(&rows);
    return code;
}

int report_write_collapsed(const model *m, const report_options *options, sink *out, error *e)
{
    int code = report_find_profiles(m, options, e);
    size_t processes = 0;

    for (size_t i = 0; i < m->process_count; i++)
        processes += report_wants_process(m, &m->processes[i], options);
    for (size_t i = 0; i < m->process_count && code == 0; i++) {
        char title[200];
        profile p;

        if (!report_wants_process(m, &m->processes[i], options) ||
            !profile_find(m, &m->processes[i], options->profiler, &p))
            continue;
        report_process_title(m, &m->processes[i], title, sizeof title);
        code = put_process(&p, options, processes > 1 ? title : NULL, out, e);
    }
    return code;
}
