/*
 * tasks: see tasks.h. In turn: classes are told by the names of their fields; tasks that are not
 * done are collected; each is linked with what goes on when it is done; then every chain is walked
 * from a task that waits for no other one up to one that nobody awaits.
 */
#include "analysis/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/array.h"
#include "analysis/tasks_private.h"
#include "base/memory.h"
#include "base/text.h"

#define GENERATION UINT64_C(7) /* in what is kept of a chain beside the hash of its group */

enum {
    OLDEST = 2, /* generation */
    DEEPEST_CHAIN = 64,
    DEEPEST_CONTINUATION = 6,
    MOST_CHAINS = 4000000,
    MOST_STEPS = 40000000, /* of all searches for who refers to what */
    PLACE_HIGH = 16,
};

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to chain the tasks");
}

/* ---- what the recording says of fields ---- */

const char *tasks_field_name(const heap *h, uint32_t node, uint32_t place)
{
    return model_text(h->m, heap_field_at(h, node, place) & ~HEAP_ELEMENT);
}

uint32_t tasks_target(const heap *h, uint32_t node, const char *field)
{
    for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++)
        if (text_equal(tasks_field_name(h, node, h->places[i]), field))
            return h->targets[i];
    return 0;
}

const model_heap_valued *tasks_valued(const heap *h, uint32_t node)
{
    const model_heap *s = h->snapshot;
    size_t low = 0, high = s->valued_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->valued[middle].object < node - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->valued_count && s->valued[low].object == node - 1 ? &s->valued[low] : NULL;
}

/* A column whose cells are indexes of the model: only its type makes them so. */
static const model_column *find_typed(const heap *h, const model_table *t, const char *name,
                                      recording_column_type type)
{
    const model_column *column = model_find_column(h->m, t, name);

    return column != NULL && column->type == type ? column : NULL;
}

bool tasks_value(const heap *h, uint32_t node, const char *field, uint32_t *value)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_values", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *place = t == NULL ? NULL : model_find_column(h->m, t, "place");
    const model_column *name = t == NULL ? NULL : find_typed(h, t, "name", RECORDING_STRING_ID);
    const model_heap_valued *valued = tasks_valued(h, node);
    uint32_t number = tasks_class_number(h, node);

    for (size_t i = 0;
         valued != NULL && name != NULL && type != NULL && place != NULL && i < t->rows; i++) {
        uint32_t at = (uint32_t)model_cell(place, i);

        if (model_cell(type, i) != number ||
            !text_ends_with(model_text(h->m, (uint32_t)model_cell(name, i)), field))
            continue;
        *value = model_heap_value(h->snapshot, valued, at & ~3u);
        if ((at & 3) != 0)
            *value >>= PLACE_HIGH;
        return true;
    }
    return false;
}

static void note_field(tasks_class *c, uint32_t place, const char *name)
{
    if (text_equal(name, "m_stateFlags"))
        c->flags_at = place;
    else if (text_equal(name, "m_continuationObject"))
        c->continuation_at = place;
    else if (text_equal(name, "_valueTaskSource"))
        c->source_at = place;
    else if (text_equal(name, "_dueTime"))
        c->due_at = place;
    else if (text_equal(name, "_startTicks"))
        c->begun_at = place;
    else if (text_equal(name, "StateMachine.<>1__state"))
        c->state_at = place;
    else if (text_equal(name, "<>1__state"))
        c->own_state_at = place;
    if (strncmp(name, "StateMachine", 12) == 0 && (name[12] == '\0' || name[12] == '.') &&
        c->machine_at == 0)
        c->machine_at = place;
}

static bool read_classes(tasks_work *w)
{
    const heap *h = w->h;
    const model_table *t = model_find_table(h->m, h->p, "heap_values", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *place = t == NULL ? NULL : model_find_column(h->m, t, "place");
    const model_column *name = t == NULL ? NULL : find_typed(h, t, "name", RECORDING_STRING_ID);

    w->classes = memory_allocate_array(h->class_count + 1, sizeof *w->classes);
    if (w->classes == NULL)
        return false;
    for (size_t i = 0; i < h->class_count; i++) {
        const char *text = heap_type_name(h, h->classes[i].type);

        w->classes[i].name_hash = table_hash_bytes(text, strlen(text));
    }
    for (size_t i = 0; type != NULL && place != NULL && name != NULL && i < t->rows; i++)
        if (model_cell(type, i) < h->class_count)
            note_field(&w->classes[model_cell(type, i)], (uint32_t)model_cell(place, i),
                       model_text(h->m, (uint32_t)model_cell(name, i)));
    return true;
}

static bool read_awaits(tasks_work *w)
{
    const heap *h = w->h;
    const model_table *t = model_find_table(h->m, h->p, "heap_awaits", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *number = t == NULL ? NULL : model_find_column(h->m, t, "number");
    const model_column *frame = t == NULL ? NULL : find_typed(h, t, "frame", RECORDING_FRAME_ID);
    bool good = true;

    for (size_t i = 0; good && type != NULL && number != NULL && frame != NULL &&
                       frame->u32 != NULL && i < t->rows;
         i++)
        good =
            table_u64_put(&w->frames, model_cell(type, i) << 32 | (uint32_t)model_cell(number, i),
                          model_cell(frame, i));
    return good;
}

/* ---- tasks that are not done ---- */

/* The state machine of a box where it is an object of its own. */
static uint32_t machine_of(const tasks_work *w, uint32_t node)
{
    const heap *h = w->h;
    uint32_t place = w->classes[tasks_class_number(h, node)].machine_at;

    for (uint64_t i = h->first[node]; place != 0 && i < h->first[node + 1]; i++)
        if (h->places[i] == place)
            return h->targets[i];
    return 0;
}

static bool take_state(const tasks_work *w, const model_heap_valued *valued, tasks_task *t)
{
    const tasks_class *c = &w->classes[t->class];
    uint32_t machine;

    if (c->state_at != 0) {
        t->state = (int32_t)model_heap_value(w->h->snapshot, valued, c->state_at);
        return true;
    }
    machine = c->machine_at == 0 || valued->apart == 0 ? 0 : machine_of(w, t->node);
    if (machine == 0)
        return false;
    c = &w->classes[tasks_class_number(w->h, machine)];
    if (c->own_state_at == 0)
        return false;
    t->state = (int32_t)model_heap_apart(w->h->snapshot, valued, c->own_state_at);
    return true;
}

static bool collect(tasks_work *w)
{
    const model_heap *s = w->h->snapshot;

    w->task_of = memory_allocate_array(w->h->nodes, sizeof *w->task_of);
    w->task_count = 1;
    if (w->task_of == NULL || !array_reserve(&w->tasks, &w->task_capacity, 1, sizeof *w->tasks))
        return false;
    for (size_t i = 0; i < s->valued_count; i++) {
        tasks_task t = {.node = s->valued[i].object + 1, .valued = (uint32_t)i, .state = -1};
        const tasks_class *c;

        t.class = tasks_class_number(w->h, t.node);
        c = &w->classes[t.class];
        if (c->flags_at == 0 && c->source_at == 0)
            continue;
        t.is_box = take_state(w, &s->valued[i], &t);
        t.flags = c->flags_at == 0 ? 0 : model_heap_value(s, &s->valued[i], c->flags_at);
        /* a pooled box that is not in use has no state */
        if (c->flags_at == 0 ? !t.is_box || t.state < 0 : (t.flags & TASKS_DONE) != 0) {
            w->view->complete += c->flags_at != 0;
            continue;
        }
        if (!array_reserve(&w->tasks, &w->task_capacity, w->task_count + 1, sizeof *w->tasks))
            return false;
        w->view->runtime_async += strstr(tasks_name_of(w->h, t.node), "RuntimeAsync") != NULL;
        w->task_of[t.node] = (uint32_t)w->task_count;
        w->tasks[w->task_count++] = t;
        w->view->incomplete++;
    }
    return true;
}

/* ---- what goes on when a task is done ---- */

bool tasks_add_edge(tasks_work *w, uint32_t from, uint32_t to)
{
    if (from == to)
        return true;
    if (!array_reserve(&w->edges, &w->edge_capacity, w->edge_count + 1, sizeof *w->edges))
        return false;
    w->edges[w->edge_count++] = (tasks_edge){from, to};
    w->tasks[to].downs++;
    return true;
}

static bool leads_on(const char *field)
{
    return text_equal(field, "m_action") || text_equal(field, "m_task") ||
           text_equal(field, "_items") || text_equal(field, "_continuation") ||
           text_equal(field, "_target");
}

/* Follows a continuation to the tasks behind it. */
static bool follow(tasks_work *w, uint32_t task, uint32_t node, unsigned depth)
{
    const heap *h = w->h;
    const heap_class *class = heap_class_of(h, node);
    const char *type = heap_type_name(h, class->type);

    if (w->task_of[node] != 0)
        return tasks_add_edge(w, task, w->task_of[node]);
    if (w->classes[tasks_class_number(h, node)].flags_at != 0 || depth == DEEPEST_CONTINUATION)
        return true;
    if (text_ends_with(type, "SetOnInvokeMres") || text_ends_with(type, "SetOnCountdownMres")) {
        w->tasks[task].blocks_thread = true;
        return true;
    }
    if ((class->flags & RECORDING_TYPE_DELEGATE) != 0) {
        uint32_t target = tasks_target(h, node, "_target");

        if (target == 0 || w->task_of[target] == 0)
            w->tasks[task].has_callback = true;
        return target == 0 || w->task_of[target] == 0 ? true
                                                      : tasks_add_edge(w, task, w->task_of[target]);
    }
    for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++)
        if ((class->element != 0 || leads_on(tasks_field_name(h, node, h->places[i]))) &&
            !follow(w, task, h->targets[i], depth + 1))
            return false;
    return true;
}

static bool link_tasks(tasks_work *w)
{
    const heap *h = w->h;

    for (uint32_t t = 1; t < w->task_count; t++) {
        uint32_t node = w->tasks[t].node;
        const tasks_class *c = &w->classes[w->tasks[t].class];

        for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++) {
            uint32_t place = h->places[i];

            if (place == 0 || (c->flags_at != 0 ? place != c->continuation_at
                                                : !text_equal(tasks_field_name(h, node, place),
                                                              "_valueTaskSource")))
                continue;
            if (!follow(w, t, h->targets[i], 0))
                return false;
        }
    }
    return true;
}

static int compare_edges(const void *a, const void *b)
{
    const tasks_edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static bool sort_edges(tasks_work *w)
{
    size_t at = 0;

    if (w->edge_count != 0)
        qsort(w->edges, w->edge_count, sizeof *w->edges, compare_edges);
    w->first_edge = memory_allocate_array(w->task_count + 1, sizeof *w->first_edge);
    if (w->first_edge == NULL)
        return false;
    for (size_t t = 0; t < w->task_count; t++) {
        w->first_edge[t] = at;
        while (at < w->edge_count && w->edges[at].from == t)
            at++;
    }
    w->first_edge[w->task_count] = at;
    return true;
}

static bool turn_around(tasks_work *w)
{
    w->visited = memory_allocate_array(w->h->nodes, sizeof *w->visited);
    return w->visited != NULL && tasks_turn_around(w->h, &w->back_first, &w->back_from);
}

/* ---- chains ---- */

typedef struct {
    uint32_t tasks[DEEPEST_CHAIN]; /* innermost first */
    size_t count;
    tasks_leaf leaf;
} chain;

static tasks_step step_of(const tasks_work *w, const tasks_task *t)
{
    const heap *h = w->h;
    tasks_step step = {.type = h->types[h->classes[t->class].type].name, .state = t->state};
    uint64_t frame;

    if (t->is_box && t->state >= 0 &&
        table_u64_get(&w->frames, (uint64_t)t->class << 32 | (uint32_t)t->state, &frame)) {
        step.frame = (uint32_t)frame;
        step.has_line = true;
    } else if (t->is_box && table_u64_get(&w->frames, (uint64_t)t->class << 32, &frame)) {
        step.frame = (uint32_t)frame;
    }
    return step;
}

static bool make_group(tasks_work *w, const chain *c, tasks_end end, uint64_t hash)
{
    tasks_view *v = w->view;
    tasks_group *g;
    bool first_is_leaf = !w->tasks[c->tasks[0]].is_box && c->leaf.wait != TASKS_DELEGATE;

    if (!array_reserve(&v->groups, &v->group_capacity, v->group_count + 1, sizeof *v->groups) ||
        !array_reserve(&v->steps, &v->step_capacity, v->step_count + c->count, sizeof *v->steps))
        return false;
    g = &v->groups[v->group_count++];
    *g = (tasks_group){.wait = c->leaf.wait,
                       .end = end,
                       .type = c->leaf.type,
                       .first = v->step_count,
                       .example = w->h->snapshot->addresses[w->tasks[c->tasks[0]].node - 1],
                       .hash = hash};
    for (size_t i = first_is_leaf ? 1 : 0; i < c->count; i++)
        v->steps[v->step_count++] = step_of(w, &w->tasks[c->tasks[i]]);
    g->count = v->step_count - g->first;
    return true;
}

static bool put_chain(tasks_work *w, table_u64 *known, const chain *c, tasks_end end)
{
    const model_heap *s = w->h->snapshot;
    tasks_view *v = w->view;
    const tasks_task *last = &w->tasks[c->tasks[c->count - 1]];
    uint32_t innermost = w->tasks[c->tasks[0]].node - 1;
    const char *type = model_text(w->h->m, c->leaf.type);
    uint64_t hash = table_hash_u64((uint64_t)c->leaf.wait << 8 | end);
    uint64_t *at;
    tasks_group *g;

    if (v->chains == MOST_CHAINS) {
        v->chains_left_out++;
        return true;
    }
    hash = table_hash_u64(hash ^ table_hash_bytes(type, strlen(type)));
    for (size_t i = 0; i < c->count; i++) {
        const tasks_task *t = &w->tasks[c->tasks[i]];

        hash = table_hash_u64(hash ^ w->classes[t->class].name_hash) + (uint32_t)t->state;
    }
    hash = table_hash_u64(hash);
    at = table_u64_at(known, hash, v->group_count);
    if (at == NULL || (*at == v->group_count && !make_group(w, c, end, hash)))
        return false;
    g = &v->groups[*at];
    g->chains++;
    g->lost += c->leaf.lost;
    if (c->leaf.due_ms > g->due_ms)
        g->due_ms = c->leaf.due_ms;
    if (c->leaf.age_ms > g->age_ms)
        g->age_ms = c->leaf.age_ms;
    v->chains++;
    return table_u64_put(&v->identities,
                         table_hash_u64(hash ^ s->addresses[innermost]) +
                             s->addresses[last->node - 1],
                         (hash & ~GENERATION) | s->generations[innermost]);
}

static bool is_in(const chain *c, uint32_t task)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->tasks[i] == task)
            return true;
    return false;
}

static bool climb(tasks_work *w, table_u64 *known, chain *c)
{
    uint32_t top = c->tasks[c->count - 1];
    bool is_last = true, good = true;

    for (uint64_t i = w->first_edge[top]; good && i < w->first_edge[top + 1]; i++) {
        uint32_t next = w->edges[i].to;

        if (c->count == DEEPEST_CHAIN || is_in(c, next) || w->view->chains == MOST_CHAINS ||
            (i > w->first_edge[top] && w->edges[i - 1].to == next))
            continue;
        is_last = false;
        c->tasks[c->count++] = next;
        good = climb(w, known, c);
        c->count--;
    }
    /* whatever else comes next, a thread that blocks is worth a chain of its own */
    if (good && w->tasks[top].blocks_thread)
        return put_chain(w, known, c, TASKS_THREAD);
    return good &&
           (!is_last ||
            put_chain(w, known, c, w->tasks[top].has_callback ? TASKS_CALLBACK : TASKS_NOBODY));
}

static int compare_groups(const void *a, const void *b)
{
    const tasks_group *x = a, *y = b;

    if (tasks_is_unawaited(x) != tasks_is_unawaited(y))
        return tasks_is_unawaited(x) ? 1 : -1;
    if (x->chains != y->chains)
        return x->chains > y->chains ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool make_chains(tasks_work *w)
{
    table_u64 known;
    bool good = true;

    table_u64_init(&known);
    for (uint32_t t = 1; good && t < w->task_count; t++) {
        chain c;

        if (w->tasks[t].downs != 0)
            continue;
        c.count = 1;
        c.tasks[0] = t;
        c.leaf = tasks_find_leaf(w, t);
        good = climb(w, &known, &c);
    }
    table_u64_free(&known);
    if (good && w->view->group_count != 0)
        qsort(w->view->groups, w->view->group_count, sizeof *w->view->groups, compare_groups);
    return good;
}

/* ---- all of it ---- */

int tasks_make(const heap *h, tasks_view *view, error *e)
{
    tasks_work w = {.h = h, .view = view, .steps_left = MOST_STEPS};
    const char *origin;
    bool good;

    memset(view, 0, sizeof *view);
    view->h = h;
    table_u64_init(&view->identities);
    table_u64_init(&w.frames);
    view->has_values = h->snapshot->valued_count != 0;
    origin = model_info_value(h->m, h->p, "origin_monotonic_ns");
    if (origin != NULL && text_to_u64(origin, &w.now_ms))
        w.now_ms = (w.now_ms + h->p->duration_ns) / 1000000;
    good = read_classes(&w) && read_awaits(&w) && collect(&w) && turn_around(&w) &&
           link_tasks(&w) && tasks_link_sources(&w) && sort_edges(&w) && make_chains(&w);
    if (good)
        tasks_read_pool(h, &view->pool);
    memory_free(w.classes);
    memory_free(w.tasks);
    memory_free(w.task_of);
    memory_free(w.edges);
    memory_free(w.first_edge);
    memory_free(w.back_first);
    memory_free(w.back_from);
    memory_free(w.visited);
    table_u64_free(&w.frames);
    if (!good)
        tasks_free(view);
    return good ? 0 : no_memory(e);
}

void tasks_free(tasks_view *view)
{
    memory_free(view->steps);
    memory_free(view->groups);
    table_u64_free(&view->identities);
    memset(view, 0, sizeof *view);
}

void tasks_compare(tasks_view *later, const tasks_view *earlier)
{
    table_u64 groups;
    uint64_t before, group;

    table_u64_init(&groups);
    for (size_t i = 0; i < later->group_count; i++)
        table_u64_put(&groups, later->groups[i].hash & ~GENERATION, i);
    for (size_t i = 0; i < later->identities.capacity; i++) {
        const table_u64_slot *slot = &later->identities.slots[i];
        uint64_t generation = slot->value & GENERATION;

        /* one that was made since would be younger: it is another one at the same address */
        if (slot->used && table_u64_get(&earlier->identities, slot->key, &before) &&
            (generation >= OLDEST || generation > (before & GENERATION)) &&
            table_u64_get(&groups, slot->value & ~GENERATION, &group))
            later->groups[group].stuck++;
    }
    later->was_compared = true;
    table_u64_free(&groups);
}

/* What the library's own promises stand for. */
static bool append_combinator(const char *type, buffer *out)
{
    static const struct {
        const char *part, *text;
    } NAMES[] = {{"WhenAll", "Task.WhenAll"},
                 {"WhenAny", "Task.WhenAny"},
                 {"CompleteOnInvokePromise", "Task.WhenAny"},
                 {"UnwrapPromise", "Task.Unwrap"},
                 {"CancellationPromise", "Task.WaitAsync"},
                 {"Continuation", "Task.ContinueWith"}};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strstr(type, NAMES[i].part) != NULL) {
            buffer_append_text(out, NAMES[i].text);
            return true;
        }
    }
    return false;
}

void tasks_step_text(const tasks_view *view, const tasks_step *step, buffer *out)
{
    const model_process *p = view->h->p;
    const char *type = model_text(view->h->m, step->type);

    if (step->frame != 0)
        buffer_append_text(
            out, model_text(view->h->m, p->functions[p->frames[step->frame].function].name));
    else if (!append_combinator(type, out))
        buffer_append_text(out, type);
}

const char *tasks_wait_word(tasks_wait wait)
{
    static const char *const WORDS[] = {
#define X(identifier, word, text) word,
        TASKS_WAIT_LIST(X)
#undef X
    };

    return WORDS[wait];
}

const char *tasks_wait_text(tasks_wait wait)
{
    static const char *const TEXTS[] = {
#define X(identifier, word, text) text,
        TASKS_WAIT_LIST(X)
#undef X
    };

    return TEXTS[wait];
}
