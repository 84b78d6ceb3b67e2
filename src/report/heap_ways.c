/* heap_ways: the shortest ways from roots to the objects of some types, as text and data. See
 * heap_report.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/heap_threads.h"
#include "base/memory.h"
#include "report/heap_report.h"
#include "report/report.h"

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for the report");
}

typedef struct {
    const heap_paths *paths;
    const heap_report_options *options;
    uint32_t *sorted; /* steps, by parent, then by bytes */
    uint32_t *first;  /* by step: where its children begin in `sorted`; count + 1 entries */
} path_tree;

static int compare_steps(const void *a, const void *b, void *context)
{
    const path_tree *t = context;
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    const heap_step *x = &t->paths->steps[m], *y = &t->paths->steps[n];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (t->options->order == HEAP_BY_BYTES && x->bytes_below != y->bytes_below)
        return x->bytes_below > y->bytes_below ? -1 : 1;
    if (x->below != y->below)
        return x->below > y->below ? -1 : 1;
    return m < n ? -1 : m > n;
}

static bool tree_init(path_tree *t, const heap_paths *paths, const heap_report_options *o)
{
    t->paths = paths;
    t->options = o;
    t->sorted = memory_allocate_array(paths->count + 1, sizeof *t->sorted);
    t->first = memory_allocate_array(paths->count + 2, sizeof *t->first);
    if (t->sorted == NULL || t->first == NULL)
        return false;
    for (uint32_t i = 1; i < paths->count; i++) {
        t->sorted[i - 1] = i;
        t->first[paths->steps[i].parent + 1]++;
    }
    qsort_r(t->sorted, paths->count - 1, sizeof *t->sorted, compare_steps, t);
    for (size_t i = 1; i <= paths->count; i++)
        t->first[i] += t->first[i - 1];
    return true;
}

static bool is_enough(const path_tree *t, uint32_t step)
{
    const heap_step *s = &t->paths->steps[step];

    return s->below >= t->options->least_objects && s->bytes_below >= t->options->least_bytes;
}

/* Whether a step is shown at this depth, beside *shown others; then it is counted. */
static bool is_shown(const path_tree *t, uint32_t step, size_t depth, size_t *shown)
{
    const heap_report_options *o = t->options;

    if (*shown >= o->top || (o->depth != 0 && depth >= o->depth) || !is_enough(t, step))
        return false;
    ++*shown;
    return true;
}

static void tree_free(path_tree *t)
{
    memory_free(t->sorted);
    memory_free(t->first);
}

static void put_field(const heap *h, heap_field field, sink *out)
{
    buffer text = BUFFER_EMPTY;

    heap_field_text(h, field, &text);
    heap_report_clean(out, buffer_text(&text));
    buffer_free(&text);
}

/* Depth is bounded by heap_paths (64 steps). */
static void put_step(const heap *h, const path_tree *t, uint32_t step, size_t depth, sink *out)
{
    const heap_step *s = &t->paths->steps[step];
    char bytes[REPORT_AMOUNT_SIZE];
    buffer root = BUFFER_EMPTY;
    size_t shown = 0;

    sink_format(out, "%11llu %12s  %*s", (unsigned long long)s->below,
                report_amount(s->bytes_below, "bytes", bytes), (int)(2 * depth), "");
    if (depth == 0) {
        heap_root_text_with_thread(h, s->root, &root);
        heap_report_clean(out, buffer_text(&root));
        sink_text(out, " -> ");
    }
    if (s->field != 0) {
        if ((s->field & HEAP_ELEMENT) == 0)
            sink_char(out, '.');
        put_field(h, s->field, out);
        sink_text(out, " -> ");
    }
    if (s->is_dependent)
        sink_text(out, "(dependent handle) -> ");
    heap_report_clean(out, heap_report_name(h, s->type));
    if (s->repeated) {
        sink_text(out, " (several in a row");
        if (s->repeated_by != 0) {
            sink_text(out, ", by ");
            put_field(h, s->repeated_by, out);
        }
        sink_char(out, ')');
    }
    sink_char(out, '\n');
    buffer_free(&root);
    for (uint32_t i = t->first[step]; i < t->first[step + 1]; i++)
        if (is_shown(t, t->sorted[i], depth + 1, &shown))
            put_step(h, t, t->sorted[i], depth + 1, out);
}

static int find_paths(const heap *h, const heap_report_options *o, heap_paths *paths,
                      path_tree *tree, error *e)
{
    uint8_t *wanted = memory_allocate_array(h->type_count, 1);
    int code = 0;

    memset(tree, 0, sizeof *tree);
    memset(paths, 0, sizeof *paths);
    if (heap_is_quick(h)) {
        memory_free(wanted);
        error_set(e, ERROR_UNSUPPORTED, "a quick snapshot does not know what keeps objects alive");
        return error_advise(e, "take one without --quick");
    }
    if (wanted == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < h->type_count; i++)
        wanted[i] = heap_report_wants(h, i, o);
    code = heap_find_paths(h, wanted, paths, e);
    if (code == 0 && !tree_init(tree, paths, o))
        code = no_memory(e);
    memory_free(wanted);
    return code;
}

/* How many ways are not shown, and why. */
static void put_left_out(const path_tree *t, size_t shown, sink *out)
{
    size_t small = 0, more;

    for (uint32_t i = t->first[0]; i < t->first[1]; i++)
        small += !is_enough(t, t->sorted[i]);
    more = t->first[1] - t->first[0] - small - shown;
    if (small != 0)
        sink_format(out, "%zu way%s to fewer objects or bytes than asked for\n", small,
                    small == 1 ? " leads" : "s lead");
    if (more != 0)
        sink_format(out, "%zu more way%s (--top shows more)\n", more, more == 1 ? "" : "s");
}

int heap_report_paths(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    heap_paths paths;
    path_tree tree;
    char text[REPORT_AMOUNT_SIZE];
    size_t shown = 0;
    int code = find_paths(h, o, &paths, &tree, e);

    if (code == 0) {
        sink_format(out, "\n%11s %12s  %s\n", "objects", "bytes", "shortest way from a root");
        for (uint32_t i = tree.first[0]; i < tree.first[1]; i++)
            if (is_shown(&tree, tree.sorted[i], 0, &shown))
                put_step(h, &tree, tree.sorted[i], 0, out);
        put_left_out(&tree, shown, out);
        if (paths.without_path != 0)
            sink_format(out,
                        "%11llu %12s  (no root: literals, or objects that wait to be collected)\n",
                        (unsigned long long)paths.without_path,
                        report_amount(paths.bytes_without_path, "bytes", text));
    }
    tree_free(&tree);
    heap_paths_free(&paths);
    return code;
}

/* ---- data ---- */

static void json_field(const heap *h, const char *key, heap_field field, json *j)
{
    buffer text = BUFFER_EMPTY;

    heap_field_text(h, field, &text);
    if (text.length != 0)
        json_put_text(j, key, buffer_text(&text));
    buffer_free(&text);
}

static void json_step(const heap *h, const path_tree *t, uint32_t step, size_t depth, json *j)
{
    const heap_step *s = &t->paths->steps[step];
    size_t shown = 0;

    json_begin_object(j);
    if (depth == 0)
        heap_report_root_json(h, s->root, j);
    json_field(h, "field", s->field, j);
    if (s->is_dependent)
        json_put_bool(j, "dependent", true);
    json_put_text(j, "type", heap_report_name(h, s->type));
    json_put_bool(j, "repeated", s->repeated);
    if (s->repeated)
        json_field(h, "repeated_by", s->repeated_by, j);
    json_put_u64(j, "objects", s->below);
    json_put_u64(j, "bytes", s->bytes_below);
    json_begin_array_at(j, "next");
    for (uint32_t i = t->first[step]; i < t->first[step + 1]; i++)
        if (is_shown(t, t->sorted[i], depth + 1, &shown))
            json_step(h, t, t->sorted[i], depth + 1, j);
    json_end_array(j);
    json_end_object(j);
}

int heap_report_paths_json(const heap *h, const heap_report_options *o, json *j, error *e)
{
    heap_paths paths;
    path_tree tree;
    size_t shown = 0;
    int code = find_paths(h, o, &paths, &tree, e);

    if (code == 0) {
        json_begin_array_at(j, "paths");
        for (uint32_t i = tree.first[0]; i < tree.first[1]; i++)
            if (is_shown(&tree, tree.sorted[i], 0, &shown))
                json_step(h, &tree, tree.sorted[i], 0, j);
        json_end_array(j);
        json_put_u64(j, "without_path", paths.without_path);
    }
    tree_free(&tree);
    heap_paths_free(&paths);
    return code;
}
