/* hot_values: see hot_values.h. */
#include "analysis/hot_values.h"

#include <stdio.h>
#include <string.h>

#include "analysis/allocations.h"
#include "base/memory.h"
#include "base/text.h"

/* A method whose objects are boxes to this part, each of which takes so long at most, boxes. */
static const double BOXES_OF_OBJECTS = 0.8;
enum { MOST_NS_OF_A_BOX = 250 };

typedef struct {
    const model_table *table;
    const model_column *frame, *boxed, *type, *bytes;
} value_rows;

static bool find_rows(const findings_context *c, value_rows *v)
{
    v->table = model_find_table(c->m, c->process, "values", "cpu");
    if (v->table == NULL)
        return false;
    v->frame = model_find_column(c->m, v->table, "frame");
    v->boxed = model_find_column(c->m, v->table, "boxed");
    v->type = model_find_column(c->m, v->table, "type");
    v->bytes = model_find_column(c->m, v->table, "bytes");
    return v->frame != NULL && v->frame->u32 != NULL && v->boxed != NULL && v->type != NULL &&
           v->type->u32 != NULL && v->bytes != NULL;
}

static const model_frame *leaf_of(const findings_context *c, uint32_t stack)
{
    return &c->process->frames[c->process->stack_frames[stack]];
}

/* The stack without the native frames at its end; 0 = all of them are. */
static uint32_t managed_part(const findings_context *c, uint32_t stack)
{
    while (stack != 0 && leaf_of(c, stack)->kind == RECORDING_FRAME_NATIVE)
        stack = c->process->stack_parents[stack];
    return stack != 0 && leaf_of(c, stack)->kind == RECORDING_FRAME_MANAGED ? stack : 0;
}

/* ---- boxes ---- */

typedef struct {
    double objects;
    double boxes;
    double most; /* boxes of the type below */
    uint32_t type;
    uint64_t weight; /* processor time in the runtime straight below */
} boxer;

/* Objects of these types are always boxes: a program names them so and cannot derive from them. */
static bool is_known_value(const char *type)
{
    static const char *const VALUES[] = {
        "bool",
        "byte",
        "sbyte",
        "char",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "nint",
        "nuint",
        "float",
        "double",
        "decimal",
        "System.DateTime",
        "System.Guid",
        "System.Half",
        "System.TimeSpan",
        "System.DateTimeOffset",
        "System.DateOnly",
        "System.TimeOnly",
    };

    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (text_equal(type, VALUES[i]))
            return true;
    return text_starts_with(type, "System.ValueTuple<") ||
           text_starts_with(type, "System.Collections.Generic.KeyValuePair<");
}

/* Whether the code of the function boxes this type. */
static bool is_boxed_there(const findings_context *c, const value_rows *v, uint32_t function,
                           uint32_t type)
{
    const char *name = model_text(c->m, type);

    for (size_t row = 0; v->table != NULL && row < v->table->rows; row++)
        if (model_cell(v->boxed, row) != 0 &&
            c->process->frames[v->frame->u32[row]].function == function &&
            text_equal(model_text(c->m, v->type->u32[row]), name))
            return true;
    return false;
}

static void take_objects(const findings_context *c, const value_rows *v,
                         const allocations_group *group, boxer *boxers)
{
    uint32_t stack = managed_part(c, group->stack);
    uint32_t function = leaf_of(c, stack)->function;
    boxer *b = &boxers[function];

    if (stack == 0)
        return;
    b->objects += group->objects;
    if (!is_known_value(model_text(c->m, group->type)) &&
        !is_boxed_there(c, v, function, group->type))
        return;
    b->boxes += group->objects;
    if (group->objects > b->most) {
        b->most = group->objects;
        b->type = group->type;
    }
}

static bool boxes(const boxer *b)
{
    return b->boxes > 0 && b->boxes >= BOXES_OF_OBJECTS * b->objects &&
           (double)b->weight <= MOST_NS_OF_A_BOX * b->boxes;
}

/* Who allocates what. */
static bool find_boxers(findings_context *c, boxer *boxers)
{
    const model_table *table = model_find_table(c->m, c->process, "allocations", "allocations");
    allocations all;
    value_rows v;

    if (table == NULL)
        return false;
    if (allocations_summarise(c->m, c->process, table, &all, NULL) != 0) {
        c->list->failed = true;
        return false;
    }
    if (!find_rows(c, &v))
        v.table = NULL;
    for (size_t i = 0; i < all.places.count; i++)
        take_objects(c, &v, &all.places.items[i], boxers);
    allocations_free(&all);
    return true;
}

static void mark_boxers(const findings_context *c, const uint64_t *weights, boxer *boxers,
                        uint8_t *marks)
{
    for (uint32_t i = 1; i < c->process->stack_count; i++) {
        uint32_t stack = weights[i] == 0 ? 0 : managed_part(c, i);

        if (stack != 0 && stack != i)
            boxers[leaf_of(c, stack)->function].weight += weights[i];
    }
    for (uint32_t i = 1; i < c->process->stack_count; i++) {
        uint32_t stack = weights[i] == 0 ? 0 : managed_part(c, i);

        marks[i] = stack != 0 && stack != i && boxes(&boxers[leaf_of(c, stack)->function]);
    }
}

static void tell_boxes(const findings_context *c, const boxer *boxers, char what[HOT_VALUES_TEXT])
{
    const boxer *first = NULL;
    double all = 0;

    for (size_t i = 0; i < c->process->function_count; i++) {
        if (boxers[i].weight == 0 || !boxes(&boxers[i]))
            continue;
        all += boxers[i].boxes;
        first = first == NULL || boxers[i].weight > first->weight ? &boxers[i] : first;
    }
    if (first != NULL)
        snprintf(what, HOT_VALUES_TEXT, "boxing %.250s (%.3g million boxes a second)",
                 model_text(c->m, first->type), all / 1e6 / c->seconds);
}

uint8_t *hot_values_mark_boxes(findings_context *c, const uint64_t *weights,
                               char what[HOT_VALUES_TEXT])
{
    uint8_t *marks = memory_allocate_array(c->process->stack_count, 1);
    boxer *boxers = memory_allocate_array(c->process->function_count, sizeof *boxers);

    what[0] = '\0';
    if (marks == NULL || boxers == NULL) {
        c->list->failed = true;
        memory_free(marks);
        marks = NULL;
    } else if (find_boxers(c, boxers)) {
        mark_boxers(c, weights, boxers, marks);
        tell_boxes(c, boxers, what);
    }
    memory_free(boxers);
    return marks;
}

/* ---- copies ---- */

/* What the compiler calls to move memory, below the method that copies. */
static bool moves_memory(const findings_context *c, uint32_t frame)
{
    const char *name = findings_frame_name(c, frame);

    return text_starts_with(name, "__memmove") || text_starts_with(name, "__memcpy") ||
           text_equal(name, "memmove") || text_equal(name, "memcpy") ||
           text_starts_with(name, "System.Buffer.") ||
           text_starts_with(name, "System.SpanHelpers.Memmove");
}

/* By frame: the row + 1 of the largest struct over the threshold that its statement copies. */
static uint32_t *find_copies(findings_context *c, const value_rows *v)
{
    uint32_t *rows = memory_allocate_array(c->process->frame_count, sizeof *rows);

    if (rows == NULL) {
        c->list->failed = true;
        return NULL;
    }
    for (uint32_t row = 0; row < v->table->rows; row++) {
        uint32_t *kept = &rows[v->frame->u32[row]];

        if (model_cell(v->boxed, row) == 0 &&
            (double)model_cell(v->bytes, row) >= findings_limit(c, THRESHOLD_HOT_COPY) &&
            (*kept == 0 || model_cell(v->bytes, row) > model_cell(v->bytes, *kept - 1)))
            *kept = row + 1;
    }
    rows[0] = 0;
    return rows;
}

static void mark_copies(findings_context *c, const value_rows *v, const uint64_t *weights,
                        const uint32_t *rows, uint8_t *marks, char what[HOT_VALUES_TEXT])
{
    uint64_t heaviest = 0;

    for (uint32_t i = 1; i < c->process->stack_count; i++) {
        uint32_t stack = managed_part(c, i), row;

        if (weights[i] == 0)
            continue;
        if (stack == 0 || !moves_memory(c, c->process->stack_frames[stack]))
            stack = i; /* native code below it is not known to move anything */
        while (stack != 0 && moves_memory(c, c->process->stack_frames[stack]))
            stack = c->process->stack_parents[stack];
        row = stack == 0 ? 0 : rows[c->process->stack_frames[stack]];
        marks[i] = row != 0;
        if (row == 0 || weights[i] <= heaviest)
            continue;
        heaviest = weights[i];
        snprintf(what, HOT_VALUES_TEXT, "lines that copy the struct %.250s (%llu bytes)",
                 model_text(c->m, v->type->u32[row - 1]),
                 (unsigned long long)model_cell(v->bytes, row - 1));
    }
}

uint8_t *hot_values_mark_copies(findings_context *c, const uint64_t *weights,
                                char what[HOT_VALUES_TEXT])
{
    uint8_t *marks = memory_allocate_array(c->process->stack_count, 1);
    uint32_t *rows = NULL;
    value_rows v;

    what[0] = '\0';
    if (marks == NULL)
        c->list->failed = true;
    else if (find_rows(c, &v) && (rows = find_copies(c, &v)) != NULL)
        mark_copies(c, &v, weights, rows, marks, what);
    memory_free(rows);
    return marks;
}
