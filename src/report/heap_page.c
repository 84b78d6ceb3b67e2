/*
 * heap_page: a heap snapshot in the report page (docs/report-data.md, "heap"). The page has the
 * largest rows of everything and says how many there are in all, so that its size does not grow
 * with the heap.
 */
#include "analysis/heap_tree.h"
#include "base/memory.h"
#include "report/heap_report.h"

enum {
    TYPES = 500,
    TEXTS = 100,
    TEXT_SIZE = 160,
    WASTE = 20,
    BRANCHES = 1500,
    WAYS = 10,
    STEPS = 6
};

static void put_tree(const heap *h, const heap_tree *t, json *j)
{
    json_begin_object_at(j, "tree");
    json_begin_array_at(j, "parent");
    for (size_t i = 0; i < t->count; i++)
        json_i64(j, i == 0 ? -1 : (int64_t)t->items[i].parent);
    json_end_array(j);
    json_begin_array_at(j, "type");
    for (size_t i = 0; i < t->count; i++)
        json_text(j, i == 0 ? "" : heap_type_name(h, t->items[i].type));
    json_end_array(j);
    json_begin_array_at(j, "root");
    for (size_t i = 0; i < t->count; i++) {
        buffer text = BUFFER_EMPTY;

        if (i != 0 && t->items[i].parent == 0)
            heap_root_text(h, t->items[i].root, &text);
        json_text(j, buffer_text(&text));
        buffer_free(&text);
    }
    json_end_array(j);
    json_begin_array_at(j, "objects");
    for (size_t i = 0; i < t->count; i++)
        json_u64(j, t->items[i].count);
    json_end_array(j);
    json_begin_array_at(j, "retained");
    for (size_t i = 0; i < t->count; i++)
        json_u64(j, t->items[i].retained);
    json_end_array(j);
    json_put_u64(j, "left_out", t->left_out);
    json_end_object(j);
}

/* The ways to the objects of the types with the most bytes of their own. */
static int put_ways(const heap *h, json *j, error *e)
{
    uint32_t *sorted = heap_sorted_types(h, HEAP_BY_BYTES);
    int code = 0;

    if (sorted == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    json_begin_array_at(j, "ways");
    for (size_t i = 0; i < h->type_count && i < WAYS && code == 0; i++) {
        heap_report_options o = {.top = STEPS, .type = heap_type_name(h, sorted[i])};

        if (h->types[sorted[i]].count == 0)
            continue;
        json_begin_object(j);
        json_put_text(j, "type", o.type);
        json_put_u64(j, "count", h->types[sorted[i]].count);
        json_put_u64(j, "bytes", h->types[sorted[i]].bytes);
        code = heap_report_paths_json(h, &o, j, e);
        json_end_object(j);
    }
    json_end_array(j);
    memory_free(sorted);
    return code;
}

static int put_all(const heap *h, json *j, error *e)
{
    heap_report_options o = {.top = TYPES,
                             .order = HEAP_BY_RETAINED,
                             .texts = TEXTS,
                             .text_size = TEXT_SIZE,
                             .waste = WASTE};
    heap_tree tree;
    int code = heap_build_tree(h, BRANCHES, &tree, e);

    if (code != 0)
        return code;
    put_tree(h, &tree, j);
    heap_tree_free(&tree);
    json_put_u64(j, "type_count", h->type_count);
    json_put_u64(j, "holder_count", h->holder_count);
    code = heap_report_json(h, &o, j, e);
    return code == 0 && !heap_is_quick(h) ? put_ways(h, j, e) : code;
}

int heap_report_page(const model *m, const model_process *p, json *j, error *e)
{
    error trouble;
    const heap *h;
    int code = 0;

    json_begin_object_at(j, "heap");
    if (heap_shared(m, p, &h, &trouble) != 0)
        json_put_text(j, "trouble", trouble.message);
    else
        code = put_all(h, j, e);
    json_end_object(j);
    return code;
}
