/*
 * model_names: names of frames, and the two forms that merge them: functions (same name and
 * module) and places (same function, file and line). See model_load.h.
 */
#include "analysis/model_load.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

typedef struct {
    model *m;
    model_process *p;
    table_u64 functions; /* name and module to function */
    table_u64 places;    /* function and line to the first place of a chain by file */
    uint32_t unknown;    /* string */
} naming;

/* A native frame without a symbol is named after its module: one box for all of it. The kernel's
 * own, [vdso], has its brackets already. */
static bool name_by_module(naming *n, uint32_t module, uint32_t *name)
{
    const char *text = model_text(n->m, n->p->modules[module].name);
    char title[300];

    if (module == 0 || text[0] == '\0') {
        *name = n->unknown;
        return true;
    }
    if (text[0] == '[') {
        *name = n->p->modules[module].name;
        return true;
    }
    snprintf(title, sizeof title, "[%s]", text);
    return strings_add_text(&n->m->strings, title, name);
}

/* `memcpy@@GLIBC_2.14` is memcpy for the reader of a report. */
static bool without_version(naming *n, uint32_t *name)
{
    const char *text = model_text(n->m, *name);
    size_t length = strcspn(text, "@");
    char title[300];

    if (length == 0 || text[length] == '\0' || length >= sizeof title)
        return true;
    memcpy(title, text, length);
    title[length] = '\0';
    return strings_add_text(&n->m->strings, title, name);
}

static bool name_frame(naming *n, const model_frame *frame, uint32_t *name, uint32_t *module)
{
    *name = frame->symbol;
    *module = 0;
    switch (frame->kind) {
    case RECORDING_FRAME_MANAGED:
    case RECORDING_FRAME_AWAIT:
        if (*name == 0)
            *name = n->p->methods[frame->owner].name;
        *module = n->p->methods[frame->owner].module;
        break;
    case RECORDING_FRAME_NATIVE:
        *module = frame->owner;
        if (*name == 0 ? !name_by_module(n, frame->owner, name) : !without_version(n, name))
            return false;
        break;
    case RECORDING_FRAME_SYNTHETIC:
        if (*name == 0)
            *name = frame->owner;
        break;
    default:
        break;
    }
    if (*name == 0)
        *name = n->unknown;
    return true;
}

/* Modules loaded twice under one name are one for the reader of a report. */
static uint32_t module_name(const naming *n, uint32_t module)
{
    return n->p->modules[module].name;
}

static bool find_function(naming *n, uint32_t name, uint32_t module, const model_frame *frame,
                          uint32_t *function)
{
    model_process *p = n->p;
    uint64_t key = (uint64_t)name << 32 | module_name(n, module);
    uint64_t *place = table_u64_at(&n->functions, key, 0);

    if (place == NULL)
        return false;
    if (*place == 0) {
        if (!model_charge(n->m, 64) || !array_reserve(&p->functions, &p->function_capacity,
                                                      p->function_count + 1, sizeof *p->functions))
            return false;
        p->functions[p->function_count] = (model_function){
            name, module, frame->kind, frame->kind == RECORDING_FRAME_NATIVE && frame->symbol == 0};
        *place = p->function_count++;
    }
    *function = (uint32_t)*place;
    return true;
}

static bool find_place(naming *n, uint32_t function, uint32_t file, uint32_t line,
                       uint32_t *place_index)
{
    model_process *p = n->p;
    /* A function is in one file but for odd cases, so file is mixed into the key and compared. */
    uint64_t key = ((uint64_t)function << 32 | line) ^ (uint64_t)file * 0x9E3779B97F4A7C15ull;
    uint64_t *place;

    for (;;) {
        place = table_u64_at(&n->places, key, 0);
        if (place == NULL)
            return false;
        if (*place == 0)
            break;
        if (p->places[*place].function == function && p->places[*place].file == file &&
            p->places[*place].line == line) {
            *place_index = (uint32_t)*place;
            return true;
        }
        key = table_hash_u64(key + 1);
    }
    if (!model_charge(n->m, 64) ||
        !array_reserve(&p->places, &p->place_capacity, p->place_count + 1, sizeof *p->places))
        return false;
    p->places[p->place_count] = (model_place){function, file, line};
    *place_index = (uint32_t)p->place_count;
    *place = p->place_count++;
    return true;
}

static bool resolve_all(naming *n)
{
    model_process *p = n->p;

    for (size_t i = 1; i < p->frame_count; i++) {
        model_frame *frame = &p->frames[i];
        uint32_t name;
        uint32_t module;

        if (!name_frame(n, frame, &name, &module) ||
            !find_function(n, name, module, frame, &frame->function) ||
            !find_place(n, frame->function, frame->file, frame->line, &frame->place))
            return false;
    }
    return true;
}

bool model_resolve_names(model *m, model_process *p)
{
    naming n = {m, p, {0}, {0}, 0};
    bool done;

    table_u64_init(&n.functions);
    table_u64_init(&n.places);
    done = strings_add_text(&m->strings, "(unknown)", &n.unknown) &&
           array_reserve(&p->functions, &p->function_capacity, 1, sizeof *p->functions) &&
           array_reserve(&p->places, &p->place_capacity, 1, sizeof *p->places);
    if (done) {
        /* Index 0: a stack node whose frame was never defined. */
        p->functions[0].name = n.unknown;
        p->functions[0].kind = RECORDING_FRAME_SYNTHETIC;
        p->function_count = 1;
        p->place_count = 1;
        done = resolve_all(&n);
    }
    table_u64_free(&n.functions);
    table_u64_free(&n.places);
    return done;
}

/* Whether this frame is the runtime's own way into a wait: it raises its events there, or (10.0)
 * goes on from Monitor.Enter. Nobody looks for waits in these. */
static bool leads_into_wait(const model *m, const model_process *p, uint32_t stack)
{
    const model_frame *frame = &p->frames[p->stack_frames[stack]];
    const char *name = model_text(m, p->functions[frame->function].name);

    return frame->kind == RECORDING_FRAME_MANAGED &&
           (text_starts_with(name, "System.Diagnostics.Tracing.NativeRuntimeEventSource.") ||
            text_matches(name, "System.Threading.Monitor.*Enter_Slowpath"));
}

void model_trim_waits(model *m, model_process *p)
{
    const model_table *waits = model_find_table(m, p, "waits", "contention");
    const model_column *column = waits == NULL ? NULL : model_find_column(m, waits, "stack");

    if (column == NULL || column->type != RECORDING_STACK_ID)
        return;
    for (size_t row = 0; row < waits->rows; row++) {
        uint32_t stack = column->u32[row];

        while (stack != 0 && leads_into_wait(m, p, stack))
            stack = p->stack_parents[stack];
        if (stack != 0)
            column->u32[row] = stack;
    }
}

/* Of each stack the first one with the same places: methods with their lines. */
static bool find_same_stacks(const model_process *p, uint32_t *same)
{
    table_u64 known;
    bool done = true;

    table_u64_init(&known);
    same[0] = 0;
    for (size_t i = 1; i < p->stack_count && done; i++) { /* a parent is before its children */
        uint64_t key =
            (uint64_t)same[p->stack_parents[i]] << 32 | p->frames[p->stack_frames[i]].place;
        uint64_t *first = table_u64_at(&known, key, i);

        done = first != NULL;
        same[i] = done ? (uint32_t)*first : 0;
    }
    table_u64_free(&known);
    return done;
}

bool model_merge_stacks(model *m, model_process *p)
{
    enum { COST = 48 }; /* bytes a stack, until it is done */
    uint64_t used = m->memory_used;
    uint32_t *same = NULL;
    bool done = model_charge(m, p->stack_count * COST) &&
                (same = memory_allocate_array(p->stack_count, sizeof *same)) != NULL &&
                find_same_stacks(p, same);

    for (size_t t = 0; t < p->table_count && done; t++) {
        const model_table *table = &p->tables[t];

        for (size_t c = 0; c < table->column_count; c++) {
            uint32_t *cells = table->columns[c].u32;

            if (table->columns[c].type == RECORDING_STACK_ID && cells != NULL)
                for (size_t row = 0; row < table->rows; row++)
                    cells[row] = same[cells[row]];
        }
    }
    memory_free(same);
    if (done)
        m->memory_used = used;
    return done;
}
