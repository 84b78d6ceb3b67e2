/*
 * zombies: see zombies.h. One pass over the rows of all looks gives for each thread whether it
 * stood still and from which look to which it was there; the last look says what it waits for.
 *
 * A profiler that samples may signal a thread once, early: a little processor time in the first
 * half is therefore nothing. In the second half a thread that did nothing has used none at all.
 */
#include "analysis/zombies.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

enum { FEWEST_LOOKS = 3, FEWEST_NEW = 3, SIGNALLED_NS = 1000000 };

/* A thread over all looks; looks count from 1, 0 = in none. */
typedef struct {
    uint64_t first, last;
    uint32_t stack;
    uint64_t cpu_first, cpu_middle, cpu_last;
    bool has_moved;
} history;

/* One place where threads begin. */
typedef struct {
    uint32_t start;
    uint32_t stack;
    size_t at_first, at_middle, at_late, at_last;
    bool has_ended; /* one of them */
} beginning;

typedef struct {
    const threads_view *view;
    zombies *out;
    history *histories; /* by thread of the model */
    uint8_t *causes;    /* by entry */
    beginning *beginnings;
    size_t beginning_count, beginning_capacity;
    uint64_t last, middle, late; /* looks */
    bool failed;
} work;

/* ---- where a thread began ---- */

static const model_frame *frame_of(const threads_view *v, uint32_t stack)
{
    return &v->process->frames[v->process->stack_frames[stack]];
}

static const char *name_of(const threads_view *v, const model_frame *frame)
{
    return model_text(v->model, v->process->functions[frame->function].name);
}

/* The outermost frame of the program's own; else the outermost one that does not only start
 * threads. */
static uint32_t start_of(const threads_view *v, uint32_t stack, bool *is_own)
{
    uint32_t own = 0, other = 0;

    for (; stack != 0; stack = v->process->stack_parents[stack]) {
        const model_frame *frame = frame_of(v, stack);

        if (frame->kind != RECORDING_FRAME_MANAGED)
            continue;
        if (!threads_is_framework(name_of(v, frame)))
            own = v->process->stack_frames[stack];
        else if (!text_starts_with(name_of(v, frame), "System.Threading.Thread.") &&
                 !text_starts_with(name_of(v, frame), "System.Threading.ThreadHelper.") &&
                 !text_starts_with(name_of(v, frame), "System.Threading.ExecutionContext."))
            other = v->process->stack_frames[stack];
    }
    *is_own = own != 0;
    return own != 0 ? own : other;
}

/* Equal methods are equal beginnings, whatever line their frames stand at. */
static bool is_same_method(const threads_view *v, uint32_t a, uint32_t b)
{
    return a == b ||
           (a != 0 && b != 0 && v->process->frames[a].function == v->process->frames[b].function);
}

/* ---- over the looks ---- */

/* The native part of a stack is walked when the threads run again, and may be missing. */
static uint32_t managed_of(const threads_view *v, uint32_t stack)
{
    while (stack != 0 && frame_of(v, stack)->kind != RECORDING_FRAME_MANAGED)
        stack = v->process->stack_parents[stack];
    return stack;
}

static void note_row(work *w, history *h, uint64_t look, uint32_t stack, uint64_t cpu)
{
    if (h->first == 0) {
        h->first = look;
        h->stack = stack;
        h->cpu_first = cpu;
    }
    h->has_moved = h->has_moved || managed_of(w->view, stack) != managed_of(w->view, h->stack);
    if (look <= w->middle)
        h->cpu_middle = cpu;
    h->cpu_last = cpu;
    h->last = look;
}

static beginning *beginning_of(work *w, uint32_t stack)
{
    bool is_own;
    uint32_t start = start_of(w->view, stack, &is_own);

    for (size_t i = 0; i < w->beginning_count; i++)
        if (is_same_method(w->view, w->beginnings[i].start, start))
            return &w->beginnings[i];
    if (!array_reserve(&w->beginnings, &w->beginning_capacity, w->beginning_count + 1,
                       sizeof *w->beginnings)) {
        w->failed = true;
        return NULL;
    }
    w->beginnings[w->beginning_count] = (beginning){.start = start, .stack = stack};
    return &w->beginnings[w->beginning_count++];
}

static bool is_pools(const threads_view *v, uint32_t stack)
{
    return threads_stack_has(v, stack, "System.Threading.PortableThreadPool.*") ||
           threads_stack_has(v, stack, "System.Threading.LowLevelLifoSemaphore.*") ||
           threads_stack_has(v, stack, "System.Threading.ThreadPoolWorkQueue.*");
}

static void count_row(work *w, const history *h, uint64_t look, uint32_t stack)
{
    beginning *b;

    if (look != 1 && look != w->middle && look != w->late && look != w->last && h->last == w->last)
        return;
    if (is_pools(w->view, stack) || (b = beginning_of(w, stack)) == NULL || b->start == 0)
        return;
    b->at_first += look == 1;
    b->at_middle += look == w->middle;
    b->at_late += look == w->late;
    b->at_last += look == w->last;
    b->has_ended = b->has_ended || h->last != w->last;
}

static bool read_histories(work *w)
{
    const threads_view *v = w->view;
    const model_table *t = model_find_table(v->model, v->process, "threads", "threads");
    const model_column *look = model_find_column(v->model, t, "look");
    const model_column *thread = model_find_column(v->model, t, "thread");
    const model_column *stack = model_find_column(v->model, t, "stack");
    const model_column *cpu = model_find_column(v->model, t, "cpu");

    /* the view could not have been made without these columns */
    w->histories = memory_allocate_array(v->process->thread_count + 1, sizeof *w->histories);
    if (w->histories == NULL)
        return false;
    for (size_t i = 0; i < t->rows; i++)
        note_row(w, &w->histories[model_cell(thread, i)], model_cell(look, i),
                 (uint32_t)model_cell(stack, i), model_cell(cpu, i));
    for (size_t i = 0; i < t->rows && !w->failed && w->out->looks >= FEWEST_LOOKS; i++)
        count_row(w, &w->histories[model_cell(thread, i)], model_cell(look, i),
                  (uint32_t)model_cell(stack, i));
    return !w->failed;
}

static void read_times(work *w)
{
    const threads_view *v = w->view;
    const model_table *t = model_find_table(v->model, v->process, "looks", "threads");
    const model_column *look = t == NULL ? NULL : model_find_column(v->model, t, "look");
    const model_column *time = t == NULL ? NULL : model_find_column(v->model, t, "time");
    uint64_t first = UINT64_MAX, last = 0;

    w->last = threads_last_look(v->model, v->process);
    w->middle = (w->last + 1) / 2;
    w->late = w->last - w->last / 4 - (w->last / 4 == 0 && w->last > 1);
    w->out->looks = (size_t)w->last;
    for (size_t i = 0; look != NULL && time != NULL && i < t->rows; i++) {
        if (model_cell(time, i) < first)
            first = model_cell(time, i);
        if (model_cell(time, i) > last)
            last = model_cell(time, i);
    }
    w->out->observed_ns = last > first ? last - first : 0;
}

/* ---- blocked for ever ---- */

/* A thread that the program began for itself, and that waits for something of the program. */
static bool is_programs(const threads_view *v, const threads_entry *t)
{
    bool is_own;

    start_of(v, t->stack, &is_own);
    return is_own && text_equal(threads_role(v, t), "thread") && t->state != THREADS_IO &&
           t->state != THREADS_RUNNING && t->state != THREADS_POOL_IDLE && !is_pools(v, t->stack);
}

static bool has_limit(const threads_view *v, const threads_entry *t)
{
    return threads_stack_has(v, t->stack, "System.Threading.Monitor.TryEnter*");
}

static void mark_stuck(work *w, const threads_heap *known)
{
    const threads_view *v = w->view;
    bool changed = true;

    for (size_t i = 0; i < v->cycle_count; i++)
        for (size_t k = 0; k < v->cycles[i].count && !v->cycles[i].suspected; k++)
            w->causes[v->cycles[i].members[k]] = ZOMBIES_DEADLOCK;
    for (size_t i = 0; i < v->chain_count; i++)
        w->causes[v->chains[i].entry] = ZOMBIES_DEADLOCK;
    for (size_t i = 0; i < v->count; i++)
        if (threads_waits_for_ended(v, &v->entries[i]))
            w->causes[i] = ZOMBIES_OWNER_ENDED;
        else if (w->causes[i] == ZOMBIES_NO_CAUSE && known != NULL && i < known->count &&
                 known->is_lost[i] && is_programs(v, &v->entries[i]))
            w->causes[i] = ZOMBIES_UNREACHABLE;
    for (size_t i = 0; i < v->count; i++)
        if (has_limit(v, &v->entries[i]))
            w->causes[i] = ZOMBIES_NO_CAUSE;
    while (changed) { /* and whoever waits for one of these */
        changed = false;
        for (size_t i = 0; i < v->edge_count; i++) {
            const threads_edge *edge = &v->edges[i];

            if (edge->inferred || w->causes[edge->from] != ZOMBIES_NO_CAUSE ||
                w->causes[edge->to] == ZOMBIES_NO_CAUSE || has_limit(v, &v->entries[edge->from]))
                continue;
            w->causes[edge->from] = w->causes[edge->to];
            changed = true;
        }
    }
}

/* ---- groups ---- */

static zombies_group *add_group(work *w, const zombies_group *made)
{
    zombies *z = w->out;

    if (!array_reserve(&z->groups, &z->capacity, z->count + 1, sizeof *z->groups)) {
        w->failed = true;
        return NULL;
    }
    z->groups[z->count] = *made;
    return &z->groups[z->count++];
}

static void add_thread(work *w, zombies_group *g, uint64_t os_id)
{
    if (g == NULL || !array_reserve(&g->os_ids, &g->capacity, g->count + 1, sizeof *g->os_ids)) {
        w->failed = true;
        return;
    }
    g->os_ids[g->count++] = os_id;
}

static zombies_group *find_group(work *w, const zombies_group *like)
{
    for (size_t i = 0; i < w->out->count; i++) {
        zombies_group *g = &w->out->groups[i];

        if (g->kind == like->kind && is_same_method(w->view, g->start, like->start) &&
            (like->kind == ZOMBIES_LEAKING ||
             (g->cause == like->cause && g->state == like->state && g->type == like->type)))
            return g;
    }
    return NULL;
}

/* It grew in the first half, in the second, and still towards the end; and nobody left. */
static bool is_leak(const beginning *b)
{
    return !b->has_ended && b->at_first < b->at_middle && b->at_middle < b->at_last &&
           b->at_late < b->at_last && b->at_last - b->at_first >= FEWEST_NEW;
}

static void add_leaks(work *w)
{
    for (size_t i = 0; i < w->beginning_count; i++) {
        const beginning *b = &w->beginnings[i];
        zombies_group made = {
            .kind = ZOMBIES_LEAKING, .start = b->start, .stack = b->stack, .before = b->at_first};

        if (is_leak(b))
            add_group(w, &made);
    }
}

static const history *history_of(const work *w, const threads_entry *t)
{
    for (size_t i = 0; i < w->view->process->thread_count; i++)
        if (w->view->process->threads[i].os_id == t->os_id && w->histories[i].last == w->last)
            return &w->histories[i];
    return NULL;
}

static bool did_nothing(const work *w, const threads_entry *t)
{
    const history *h = history_of(w, t);

    return h != NULL && h->first == 1 && !h->has_moved && h->cpu_last == h->cpu_middle &&
           h->cpu_middle - h->cpu_first < SIGNALLED_NS;
}

static void add_entry(work *w, size_t entry)
{
    const threads_view *v = w->view;
    const threads_entry *t = &v->entries[entry];
    zombies_group made = {.stack = t->stack, .state = t->state, .type = t->object_type};
    zombies_group *g;
    bool is_own;

    made.start = start_of(v, t->stack, &is_own);
    made.kind = ZOMBIES_LEAKING;
    g = made.start == 0 || is_pools(v, t->stack) ? NULL : find_group(w, &made);
    if (g != NULL) {
        g->state = t->state;
        add_thread(w, g, t->os_id);
        return;
    }
    made.cause = w->causes[entry];
    made.kind = made.cause != ZOMBIES_NO_CAUSE ? ZOMBIES_STUCK : ZOMBIES_IDLE;
    if (made.kind == ZOMBIES_IDLE && (w->out->looks < 2 || !is_programs(v, t)))
        return;
    if (!did_nothing(w, t))
        return;
    g = find_group(w, &made);
    add_thread(w, g != NULL ? g : add_group(w, &made), t->os_id);
}

static void count_worker(work *w, size_t entry)
{
    const threads_entry *t = &w->view->entries[entry];
    const history *h;

    if (w->out->looks < 2 || !text_equal(threads_role(w->view, t), "pool"))
        return;
    h = history_of(w, t);
    w->out->workers_added += h != NULL && h->first > 1;
}

static int compare_groups(const void *a, const void *b)
{
    const zombies_group *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->count > y->count ? -1 : x->count < y->count;
}

/* ---- public ---- */

int zombies_find(const threads_view *view, const threads_heap *known, zombies *z, error *e)
{
    work w = {.view = view, .out = z};

    memset(z, 0, sizeof *z);
    read_times(&w);
    w.causes = memory_allocate_array(view->count + 1, 1);
    w.failed = w.causes == NULL || !read_histories(&w);
    if (!w.failed) {
        mark_stuck(&w, known);
        add_leaks(&w);
        for (size_t i = 0; i < view->count && !w.failed; i++) {
            add_entry(&w, i);
            count_worker(&w, i);
        }
        if (z->count > 1)
            qsort(z->groups, z->count, sizeof *z->groups, compare_groups);
        w.failed = w.failed || !zombies_find_starters(view, z);
    }
    memory_free(w.histories);
    memory_free(w.causes);
    memory_free(w.beginnings);
    if (!w.failed)
        return 0;
    zombies_free(z);
    return error_set(e, ERROR_MEMORY, "no memory to compare the looks");
}

void zombies_free(zombies *z)
{
    for (size_t i = 0; i < z->count; i++) {
        memory_free(z->groups[i].os_ids);
        memory_free(z->groups[i].starters);
    }
    memory_free(z->groups);
    memset(z, 0, sizeof *z);
}

const char *zombies_kind_name(zombies_kind kind)
{
    static const char *const NAMES[] = {"leaking", "stuck", "idle"};

    return NAMES[kind];
}

const char *zombies_cause_text(zombies_cause cause)
{
    static const char *const TEXTS[] = {"", "the owner has ended", "deadlock",
                                        "nobody else refers to it"};

    return TEXTS[cause];
}

double zombies_workers_a_second(const zombies *z)
{
    return z->observed_ns == 0 ? 0 : (double)z->workers_added * 1e9 / (double)z->observed_ns;
}

size_t zombies_threads(const zombies *z, zombies_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < z->count; i++)
        count += z->groups[i].kind == kind ? z->groups[i].count : 0;
    return count;
}
