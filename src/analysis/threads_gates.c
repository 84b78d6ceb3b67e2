/*
 * threads_gates: what the code of the methods on the stacks says of their locks. Semaphores and
 * mutexes in static fields keep no owner, and no caller needs to have them at hand. The tool has
 * read the code of the methods on the stacks (symbols/gates.h): which of these fields a frame waits
 * for, and which it has taken and not given back.
 */
#include <string.h>

#include "analysis/threads_waited.h"
#include "base/text.h"
#include "recording/tables.h"

/* Rows of the table `gates`. */
typedef struct {
    const model_table *table;
    const model_column *frame, *held, *field;
} gates;

static bool find_gates(const threads_view *v, gates *g)
{
    g->table = model_find_table(v->model, v->process, "gates", "threads");
    if (g->table == NULL)
        return false;
    g->frame = model_find_column(v->model, g->table, "frame");
    g->held = model_find_column(v->model, g->table, "held");
    g->field = model_find_column(v->model, g->table, "field");
    return g->frame != NULL && g->held != NULL && g->field != NULL &&
           g->frame->type == RECORDING_FRAME_ID && g->field->type == RECORDING_STRING_ID;
}

static bool is_waited(uint64_t kind)
{
    return kind == TABLES_GATE_WAITED || kind == TABLES_GATE_WAITED_OF;
}

/* Two lambdas of one line are one frame here: what its code says may be of either. */
static bool is_of_several(const gates *g, uint32_t frame)
{
    uint64_t field = 0;

    for (size_t row = 0; row < g->table->rows; row++) {
        if (model_cell(g->frame, row) != frame || !is_waited(model_cell(g->held, row)))
            continue;
        if (field != 0 && model_cell(g->field, row) != field)
            return true;
        field = model_cell(g->field, row);
    }
    return false;
}

/* The field that some frame of the stack waits for; 0 = none. The innermost of the program's own
 * is the one that waits. */
static uint32_t field_waited_for(const threads_view *v, const gates *g, uint32_t stack)
{
    for (; stack != 0; stack = v->process->stack_parents[stack])
        for (size_t row = 0; row < g->table->rows; row++)
            if (model_cell(g->frame, row) == v->process->stack_frames[stack] &&
                is_waited(model_cell(g->held, row)))
                return is_of_several(g, v->process->stack_frames[stack])
                           ? 0
                           : (uint32_t)model_cell(g->field, row);
    return 0;
}

/* `holder` has taken `field`: whoever waits for it waits for this thread. */
static bool add_waiters(threads_view *v, size_t holder, uint32_t field)
{
    for (size_t i = 0; i < v->count; i++) {
        threads_entry *t = &v->entries[i];

        if (i == holder || t->field != field || v->entries[holder].field == field)
            continue;
        if (t->owner == 0) {
            t->owner = v->entries[holder].os_id;
            t->owner_inferred = true;
        }
        if (!threads_add_edge(v, i, holder, true))
            return false;
    }
    return true;
}

bool threads_read_gates(threads_view *v)
{
    gates g;

    if (!find_gates(v, &g))
        return true;
    for (size_t i = 0; i < v->count; i++) {
        threads_entry *t = &v->entries[i];

        if (t->state == THREADS_SEMAPHORE || t->state == THREADS_MUTEX)
            t->field = field_waited_for(v, &g, t->stack);
    }
    for (size_t i = 0; i < v->count; i++)
        for (uint32_t stack = v->entries[i].stack; stack != 0;
             stack = v->process->stack_parents[stack])
            for (size_t row = 0; row < g.table->rows; row++)
                if (model_cell(g.frame, row) == v->process->stack_frames[stack] &&
                    model_cell(g.held, row) == TABLES_GATE_HELD &&
                    !is_of_several(&g, v->process->stack_frames[stack]) &&
                    !add_waiters(v, i, (uint32_t)model_cell(g.field, row)))
                    return false;
    return true;
}

/* The lock in the field `Shop.Till.gate` of an object that the thread has at hand: whoever waits
 * for it waits for this thread. Its own wait is for another one. */
static void add_waiters_of(waited *w, size_t holder, const char *field)
{
    const char *name = strrchr(field, '.');

    for (size_t i = 0; i < w->link_count && name != NULL; i++) {
        const char *type = waited_type(w, w->links[i].object);
        size_t length = (size_t)(name - field);
        uint64_t lock;

        if (w->links[i].entry != holder || w->links[i].role != WAITED_HAS ||
            strlen(type) != length || strncmp(type, field, length) != 0)
            continue;
        lock = waited_get(w, w->links[i].object, name + 1);
        for (size_t k = 0; k < w->view->count && lock != 0; k++)
            if (k != holder && w->view->entries[k].object == lock &&
                w->view->entries[holder].object != lock)
                waited_add_owner(w, k, holder, true);
    }
}

void waited_explain_gates(waited *w)
{
    const threads_view *v = w->view;
    gates g;

    if (!find_gates(v, &g))
        return;
    for (size_t i = 0; i < v->count; i++)
        for (uint32_t stack = v->entries[i].stack; stack != 0;
             stack = v->process->stack_parents[stack])
            for (size_t row = 0; row < g.table->rows; row++)
                if (model_cell(g.frame, row) == v->process->stack_frames[stack] &&
                    model_cell(g.held, row) == TABLES_GATE_HELD_OF &&
                    !is_of_several(&g, v->process->stack_frames[stack]))
                    add_waiters_of(w, i, model_text(v->model, (uint32_t)model_cell(g.field, row)));
}

threads_limit threads_limit_of_call(const threads_view *v, uint32_t stack)
{
    uint32_t frame = v->process->stack_frames[stack];
    gates g;

    if (!find_gates(v, &g))
        return THREADS_LIMIT_UNKNOWN;
    for (size_t row = 0; row < g.table->rows; row++) {
        uint64_t kind = model_cell(g.held, row);

        if (model_cell(g.frame, row) == frame && kind == TABLES_GATE_LIMITED)
            return THREADS_LIMITED;
        if (model_cell(g.frame, row) == frame && kind == TABLES_GATE_ENDLESS)
            return THREADS_ENDLESS;
    }
    return THREADS_LIMIT_UNKNOWN;
}
