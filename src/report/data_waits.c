/*
 * data_waits: the last look at the threads for the page (docs/report-data.md, "waits"): who waits
 * for what, whose it is, and the cycles. Threads that take part come first, so that a limit on
 * their number never cuts an edge.
 */
#include "analysis/threads.h"
#include "base/memory.h"
#include "report/data.h"

enum { MOST_THREADS = 1000 };

typedef struct {
    const threads_view *view;
    const calltree *tree;
    size_t *numbers; /* of each entry in the page, + 1; 0 = left out */
    json *j;
} waits;

static bool owner_is_gone(const threads_view *v, const threads_entry *t)
{
    return t->owner != 0 && threads_by_id(v, t->owner) == NULL;
}

static void put_thread(waits *w, const threads_entry *t)
{
    const threads_view *v = w->view;
    const char *kind = threads_state_kind(t->state);
    json *j = w->j;

    json_begin_object(j);
    json_put_u64(j, "id", t->os_id);
    json_put_u64(j, "managed", t->managed_id);
    json_put_text(j, "name", model_text(v->model, t->name));
    json_put_text(j, "role", threads_role(v, t));
    json_put_text(j, "state", threads_state_name(t->state));
    json_put_u64(j, "stack", w->tree->node_of_stack[t->stack]);
    json_put_text(j, "kind", kind == NULL ? "" : kind);
    json_put_text(j, "type", model_text(v->model, t->object_type));
    json_put_u64(j, "owner", t->owner);
    json_put_bool(j, "gone", owner_is_gone(v, t));
    json_put_u64(j, "waited", t->waited_ns / 1000);
    json_end_object(j);
}

/* Numbers the entries as they are written. */
static void put_threads(waits *w)
{
    const threads_view *v = w->view;
    size_t count = 0;

    for (size_t i = 0; i < v->edge_count; i++)
        w->numbers[v->edges[i].from] = w->numbers[v->edges[i].to] = 1;
    for (size_t i = 0; i < v->count; i++)
        if (owner_is_gone(v, &v->entries[i]))
            w->numbers[i] = 1;
    json_begin_array_at(w->j, "threads");
    for (size_t i = 0; i < v->count; i++) {
        if (w->numbers[i] != 0) {
            w->numbers[i] = ++count;
            put_thread(w, &v->entries[i]);
        }
    }
    for (size_t i = 0; i < v->count && count < MOST_THREADS; i++) {
        if (w->numbers[i] == 0) {
            w->numbers[i] = ++count;
            put_thread(w, &v->entries[i]);
        }
    }
    json_end_array(w->j);
    json_put_u64(w->j, "thread_count", v->count);
}

static void put_edges(const waits *w)
{
    json_begin_array_at(w->j, "edges");
    for (size_t i = 0; i < w->view->edge_count; i++) {
        const threads_edge *edge = &w->view->edges[i];

        json_begin_object(w->j);
        json_put_u64(w->j, "from", w->numbers[edge->from] - 1);
        json_put_u64(w->j, "to", w->numbers[edge->to] - 1);
        json_put_bool(w->j, "inferred", edge->inferred);
        json_end_object(w->j);
    }
    json_end_array(w->j);
}

static void put_cycles(const waits *w)
{
    json_begin_array_at(w->j, "cycles");
    for (size_t i = 0; i < w->view->cycle_count; i++) {
        const threads_cycle *cycle = &w->view->cycles[i];

        json_begin_object(w->j);
        json_put_bool(w->j, "suspected", cycle->suspected);
        json_begin_array_at(w->j, "members");
        for (size_t k = 0; k < cycle->count; k++)
            json_u64(w->j, w->numbers[cycle->members[k]] - 1);
        json_end_array(w->j);
        json_end_object(w->j);
    }
    json_end_array(w->j);
}

int data_put_waits(const model *m, const model_process *p, const calltree *tree, json *j, error *e)
{
    threads_view view;
    waits w = {.view = &view, .tree = tree, .j = j};
    int code = threads_make(m, p, &view, e);

    if (code == ERROR_NOT_FOUND) {
        error_clear(e);
        return 0;
    }
    if (code != 0)
        return code;
    w.numbers = memory_allocate_array(view.count + 1, sizeof *w.numbers);
    if (w.numbers == NULL) {
        code = error_set(e, ERROR_MEMORY, "no memory for the report");
    } else {
        json_begin_object_at(j, "waits");
        put_threads(&w);
        put_edges(&w);
        put_cycles(&w);
        json_end_object(j);
    }
    memory_free(w.numbers);
    threads_free(&view);
    return code;
}
