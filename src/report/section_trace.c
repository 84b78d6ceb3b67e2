/*
 * section_trace: what the method tracer counted, in words and as data: a row per method with its
 * quantiles, and who called whom. Methods of several processes are added up, so only the first
 * process that was traced has the section.
 */
#include "analysis/trace.h"
#include "base/buffer.h"
#include "report/section.h"

enum { TOP_METHODS = 40, TOP_CALLS = 60, MOST_INDENT = 40 };

static const char *const KINDS[] = {"method", "steps", "async"};

static bool is_first(const section *s)
{
    for (const model_process *p = s->m->processes; p != s->process; p++)
        if (model_find_table(s->m, p, "trace_calls", "trace") != NULL)
            return false;
    return true;
}

static void append_name(const section *s, const trace_result *r, buffer *out)
{
    static const char *const SUFFIXES[] = {"", " (steps)", " (until complete)"};

    buffer_format(out, "%s%s%s", model_text(s->m, r->name), model_text(s->m, r->parameters),
                  SUFFIXES[r->kind]);
}

static void put_method(const section *s, const trace_result *r)
{
    char text[5][REPORT_AMOUNT_SIZE];
    buffer name = BUFFER_EMPTY;

    append_name(s, r, &name);
    sink_format(s->out, "| %llu | %llu | %s | %s | %s | %s | %s | %llu | ",
                (unsigned long long)r->calls, (unsigned long long)r->failures,
                report_amount(r->total_ns, "ns", text[0]), report_amount(r->self_ns, "ns", text[1]),
                r->p50_ns == 0 ? "" : report_amount(r->p50_ns, "ns", text[2]),
                r->p99_ns == 0 ? "" : report_amount(r->p99_ns, "ns", text[3]),
                report_amount(r->most_ns, "ns", text[4]), (unsigned long long)r->peak);
    markdown_cell(s->out, buffer_text(&name));
    sink_text(s->out, " |\n");
    buffer_free(&name);
}

static void put_tree(const section *s, const trace_call_tree *tree)
{
    sink_text(s->out, "### Who called whom\n\n| calls | total | self | method |\n"
                      "|---:|---:|---:|---|\n");
    for (size_t n = 0; n < tree->count && n < section_top(s, TOP_CALLS); n++) {
        const trace_tree_node *node = &tree->items[n];
        char text[2][REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %llu | %s | %s | ", (unsigned long long)node->calls,
                    report_amount(node->total_ns, "ns", text[0]),
                    report_amount(node->self_ns, "ns", text[1]));
        for (size_t k = 0; k < node->depth && k < MOST_INDENT; k++)
            sink_text(s->out, "· ");
        markdown_cell(s->out, model_text(s->m, node->name));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

int section_trace_markdown(const section *s)
{
    trace_results results;
    trace_call_tree tree = {0};
    size_t shown = 0, meant;
    int code;

    if (!is_first(s))
        return 0;
    code = trace_analyse(s->m, &results, s->e);
    if (code != 0)
        return code;
    code = trace_find_tree(s->m, &tree, s->e);
    if (code == 0) {
        sink_format(s->out,
                    "## Traced methods\n\n| calls | failed | total | self | median | 99 %% | "
                    "longest | at once | method |\n"
                    "|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
        for (size_t n = 0; n < results.count && shown < section_top(s, TOP_METHODS); n++) {
            if (results.items[n].calls == 0 && results.items[n].active == 0)
                continue;
            put_method(s, &results.items[n]);
            shown++;
        }
        meant = trace_count_meant(s->m, &results);
        sink_format(s->out, "\n%zu method%s meant.\n\n", meant, meant == 1 ? " was" : "s were");
        if (tree.count != 0)
            put_tree(s, &tree);
    }
    trace_tree_free(&tree);
    trace_results_free(&results);
    return code;
}

static void json_method(const section *s, json *j, const trace_result *r)
{
    json_begin_object(j);
    json_put_text(j, "method", model_text(s->m, r->name));
    json_put_text(j, "parameters", model_text(s->m, r->parameters));
    json_put_text(j, "kind", KINDS[r->kind]);
    json_put_u64(j, "calls", r->calls);
    json_put_u64(j, "exceptions", r->failures);
    json_put_u64(j, "total_ns", r->total_ns);
    json_put_u64(j, "self_ns", r->self_ns);
    json_put_u64(j, "min_ns", r->least_ns);
    json_put_u64(j, "p50_ns", r->p50_ns);
    json_put_u64(j, "p90_ns", r->p90_ns);
    json_put_u64(j, "p99_ns", r->p99_ns);
    json_put_u64(j, "p999_ns", r->p999_ns);
    json_put_u64(j, "max_ns", r->most_ns);
    json_put_u64(j, "peak", r->peak);
    json_put_u64(j, "threads", r->threads);
    json_end_object(j);
}

static void json_tree(const section *s, json *j, const trace_call_tree *tree)
{
    json_begin_array_at(j, "tree");
    for (size_t n = 0; n < tree->count; n++) {
        const trace_tree_node *node = &tree->items[n];

        json_begin_object(j);
        json_put_text(j, "method", model_text(s->m, node->name));
        json_put_text(j, "kind", KINDS[node->kind]);
        if (node->parent != SIZE_MAX)
            json_put_u64(j, "parent", node->parent);
        json_put_u64(j, "calls", node->calls);
        json_put_u64(j, "total_ns", node->total_ns);
        json_put_u64(j, "self_ns", node->self_ns);
        json_end_object(j);
    }
    json_end_array(j);
}

int section_trace_json(const section *s, json *j)
{
    trace_results results;
    trace_call_tree tree = {0};
    int code = section_rows_json(s, j);

    if (code != 0 || !is_first(s))
        return code;
    code = trace_analyse(s->m, &results, s->e);
    if (code != 0)
        return code;
    code = trace_find_tree(s->m, &tree, s->e);
    if (code == 0) {
        json_begin_array_at(j, "methods");
        for (size_t n = 0; n < results.count; n++)
            json_method(s, j, &results.items[n]);
        json_end_array(j);
        json_tree(s, j, &tree);
    }
    trace_tree_free(&tree);
    trace_results_free(&results);
    return code;
}
