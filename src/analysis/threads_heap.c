/* threads_heap: see threads_heap.h. */
#include "analysis/threads_heap.h"

#include <string.h>

#include "analysis/tasks_private.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

enum { FARTHEST = 4096, MOST_SEARCHES = 2000 };

typedef struct {
    const threads_view *view;
    const heap *h;
    threads_heap *out;
    uint64_t *back_first; /* who refers to a node */
    uint32_t *back_from;
    uint32_t *visited; /* by node: the search that was there */
    uint32_t search;
    uint32_t open[FARTHEST]; /* nodes of a search, nearest first */
    table_u64 nodes;         /* address to node, of what threads wait for */
    table_u64 threads;       /* managed id to the node of its Thread object */
} work;

/* ---- who refers to whom ---- */

static bool index_references(work *w)
{
    w->visited = memory_allocate_array(w->h->nodes, sizeof *w->visited);
    return w->visited != NULL && tasks_turn_around(w->h, &w->back_first, &w->back_from);
}

/* Adds those who refer to a node to a search; false when one of them is a root. */
static bool open_referrers(work *w, uint32_t node, size_t *count)
{
    bool has_root = false;

    for (uint64_t i = w->back_first[node]; i < w->back_first[node + 1]; i++) {
        uint32_t from = w->back_from[i];

        has_root = has_root || from == 0;
        if (from == 0 || w->visited[from] == w->search || *count == FARTHEST)
            continue;
        w->visited[from] = w->search;
        w->open[(*count)++] = from;
    }
    return !has_root;
}

static size_t begin_search(work *w, uint32_t node)
{
    w->search++;
    w->visited[node] = w->search;
    w->open[0] = node;
    return 1;
}

/* ---- the field that leads to an object ---- */

static uint32_t place_in(const heap *h, uint32_t from, uint32_t to)
{
    for (uint64_t i = h->first[from]; i < h->first[from + 1]; i++)
        if (h->targets[i] == to)
            return h->places[i];
    return 0;
}

static bool is_telling(const heap *h, uint32_t node)
{
    return heap_class_of(h, node)->element == 0 && !threads_is_framework(tasks_name_of(h, node)) &&
           !text_ends_with(tasks_name_of(h, node), "[]");
}

static bool name_static(const heap *h, uint32_t node, buffer *text)
{
    static const char PREFIX[] = "static field ";
    uint64_t root;

    if (!table_u64_get(&h->root_of, node, &root) || h->roots[root].kind != RECORDING_ROOT_STATIC ||
        (h->roots[root].flags & RECORDING_ROOT_THREAD) != 0)
        return false;
    heap_root_text(h, (uint32_t)root, text);
    if (!text_starts_with(buffer_text(text), PREFIX) ||
        threads_is_framework(buffer_text(text) + strlen(PREFIX))) {
        buffer_clear(text);
        return false;
    }
    memmove(text->data, text->data + strlen(PREFIX), text->length - strlen(PREFIX));
    text->length -= strlen(PREFIX);
    return true;
}

/* A field of the object at hand that leads to `node`, when that object is the program's. */
static bool name_field(const work *w, uint32_t node, buffer *text)
{
    const heap *h = w->h;

    for (uint64_t i = w->back_first[node]; i < w->back_first[node + 1]; i++) {
        uint32_t from = w->back_from[i];
        heap_field field;

        if (from == 0 || !is_telling(h, from))
            continue;
        field = heap_field_at(h, from, place_in(h, from, node));
        if (field == 0)
            continue;
        buffer_format(text, "%s.", tasks_name_of(h, from));
        heap_field_text(h, field, text);
        return true;
    }
    return false;
}

/* The nearest named one, through collections and other objects of the framework. To be freed. */
static char *field_of(work *w, uint32_t node)
{
    buffer text = BUFFER_EMPTY;
    size_t count = begin_search(w, node);
    char *copy = NULL;

    for (size_t done = 0; done < count && text.length == 0; done++) {
        if (name_static(w->h, w->open[done], &text) || name_field(w, w->open[done], &text))
            break;
        open_referrers(w, w->open[done], &count);
    }
    if (text.length != 0 && !buffer_failed(&text)) {
        copy = memory_allocate(text.length + 1);
        if (copy != NULL) {
            memcpy(copy, text.data, text.length);
            copy[text.length] = '\0';
        }
    }
    buffer_free(&text);
    return copy;
}

/* ---- whether somebody else could signal it ---- */

/* A root of the waiter's own: a local variable of a method on its stack, or one that the runtime
 * keeps for it while it waits. */
static bool is_own_root(const work *w, const threads_entry *t, const model_heap_root *root,
                        bool is_waited)
{
    uint64_t name;

    if ((root->flags & RECORDING_ROOT_WEAK) != 0 || root->kind == RECORDING_ROOT_DEPENDENT)
        return true;
    if (root->kind != RECORDING_ROOT_STACK)
        return false;
    if (root->id == 0)
        return is_waited; /* else thread statics */
    if (!table_u64_get(&w->h->functions, root->id, &name))
        return true;
    for (uint32_t stack = t->stack; stack != 0; stack = w->view->process->stack_parents[stack]) {
        const model_process *p = w->view->process;
        uint32_t function = p->frames[p->stack_frames[stack]].function;

        if (text_equal(model_text(w->view->model, p->functions[function].name),
                       model_text(w->h->m, (uint32_t)name)))
            return true;
    }
    return false;
}

static bool has_own_roots_only(const work *w, const threads_entry *t, uint32_t node, bool is_waited)
{
    uint64_t address = w->h->snapshot->addresses[node - 1];

    for (size_t i = 0; i < w->h->root_count; i++)
        if (w->h->roots[i].object == address && !is_own_root(w, t, &w->h->roots[i], is_waited))
            return false;
    return true;
}

static bool can_be_lost(threads_state state)
{
    return state == THREADS_EVENT || state == THREADS_SEMAPHORE || state == THREADS_MONITOR_WAIT ||
           state == THREADS_TASK;
}

static bool is_lost(work *w, const threads_entry *t, uint32_t node)
{
    size_t count = begin_search(w, node);
    uint64_t own;

    if (table_u64_get(&w->threads, t->managed_id, &own))
        w->visited[own] = w->search; /* what leads to its own Thread object leads nowhere else */
    for (size_t done = 0; done < count; done++)
        if (count == FARTHEST || (!open_referrers(w, w->open[done], &count) &&
                                  !has_own_roots_only(w, t, w->open[done], done == 0)))
            return false;
    return true;
}

/* ---- objects of the look in the snapshot ---- */

static bool is_thread_object(const heap *h, uint32_t node)
{
    return text_equal(tasks_name_of(h, node), "System.Threading.Thread");
}

static bool find_nodes(work *w)
{
    const model_heap *s = w->h->snapshot;
    bool good = true;

    for (size_t i = 0; i < w->view->count && good; i++)
        if (w->view->entries[i].object != 0)
            good = table_u64_put(&w->nodes, w->view->entries[i].object, 0);
    for (uint32_t node = 1; node < w->h->nodes && good; node++) {
        uint64_t known;
        uint32_t id;

        if (table_u64_get(&w->nodes, s->addresses[node - 1], &known))
            good = table_u64_put(&w->nodes, s->addresses[node - 1], node);
        if (is_thread_object(w->h, node) && tasks_value(w->h, node, "_managedThreadId", &id) &&
            id != 0)
            good = good && table_u64_put(&w->threads, id, node);
    }
    return good;
}

static uint32_t node_of(const work *w, const threads_entry *t)
{
    uint64_t node;

    if (t->object == 0 || !table_u64_get(&w->nodes, t->object, &node) || node == 0 ||
        !text_equal(tasks_name_of(w->h, (uint32_t)node),
                    model_text(w->view->model, t->object_type)))
        return 0;
    return (uint32_t)node;
}

/* ---- Thread objects ---- */

static bool has_thread(const threads_view *v, uint32_t managed_id)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->entries[i].managed_id == managed_id)
            return true;
    return false;
}

/* Those that the program keeps: others are about to be collected. */
static void count_threads(work *w)
{
    const heap *h = w->h;
    size_t searches = 0;

    for (uint32_t node = 1; node < h->nodes; node++) {
        char *field = NULL;
        uint32_t id;

        if (!is_thread_object(h, node) || !tasks_value(h, node, "_managedThreadId", &id) || id == 0)
            continue;
        w->out->objects++;
        if (has_thread(w->view, id))
            continue;
        if (searches++ < MOST_SEARCHES)
            field = field_of(w, node);
        w->out->ended += field != NULL || (searches > MOST_SEARCHES && w->out->ended != 0);
        if (w->out->ended_field == NULL)
            w->out->ended_field = field;
        else
            memory_free(field);
    }
}

/* ---- public ---- */

int threads_heap_make(const threads_view *view, const heap *h, threads_heap *out, error *e)
{
    work *w = memory_allocate_array(1, sizeof *w);
    bool good = w != NULL;

    memset(out, 0, sizeof *out);
    if (!good)
        return error_set(e, ERROR_MEMORY, "no memory to look at the heap");
    *w = (work){.view = view, .h = h, .out = out};
    table_u64_init(&w->nodes);
    table_u64_init(&w->threads);
    out->count = view->count;
    out->fields = memory_allocate_array(view->count + 1, sizeof *out->fields);
    out->is_lost = memory_allocate_array(view->count + 1, 1);
    good = out->fields != NULL && out->is_lost != NULL && index_references(w) && find_nodes(w);
    for (size_t i = 0; good && i < view->count; i++) {
        uint32_t node = node_of(w, &view->entries[i]);

        if (node == 0)
            continue;
        out->fields[i] = field_of(w, node);
        out->is_lost[i] =
            can_be_lost(view->entries[i].state) && is_lost(w, &view->entries[i], node);
    }
    if (good)
        count_threads(w);
    memory_free(w->back_first);
    memory_free(w->back_from);
    memory_free(w->visited);
    table_u64_free(&w->nodes);
    table_u64_free(&w->threads);
    memory_free(w);
    if (good)
        return 0;
    threads_heap_free(out);
    return error_set(e, ERROR_MEMORY, "no memory to look at the heap");
}

void threads_heap_free(threads_heap *t)
{
    for (size_t i = 0; t->fields != NULL && i < t->count; i++)
        memory_free(t->fields[i]);
    memory_free(t->fields);
    memory_free(t->is_lost);
    memory_free(t->ended_field);
    memset(t, 0, sizeof *t);
}
