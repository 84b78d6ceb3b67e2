/* hot_callees: see hot_callees.h. */
#include "analysis/hot_callees.h"

#include "base/memory.h"
#include "base/text.h"

/* What may stand below: a statement has other calls too, whose time is not the callee's. */
static const char *const CONCAT_HELPERS[] = {"System.String.", "System.Buffer.",
                                             "System.SpanHelpers.", NULL};
static const char *const LINQ_HELPERS[] = {"System.Linq.",   "System.Collections.", "System.Array",
                                           "System.Span",    "System.Buffer.",      "System.Memory",
                                           "System.Compari", "System.String.Comp",  NULL};

static bool is_helper(const findings_context *c, uint32_t frame, tables_callee callee)
{
    const char *const *names = callee == TABLES_CALLEE_LINQ ? LINQ_HELPERS : CONCAT_HELPERS;

    if (c->process->frames[frame].kind == RECORDING_FRAME_NATIVE)
        return true;
    for (; *names != NULL; names++)
        if (text_starts_with(findings_frame_name(c, frame), *names))
            return true;
    return false;
}

/* By frame: 1 where its statement has the callee. NULL: none has, or no memory. */
static uint8_t *find_frames(findings_context *c, tables_callee callee)
{
    const model_table *table = model_find_table(c->m, c->process, "callees", "cpu");
    const model_column *frame, *kind;
    uint8_t *frames;

    if (table == NULL)
        return NULL;
    frame = model_find_column(c->m, table, "frame");
    kind = model_find_column(c->m, table, "kind");
    if (frame == NULL || frame->u32 == NULL || kind == NULL)
        return NULL;
    frames = memory_allocate_array(c->process->frame_count + 1, 1);
    if (frames == NULL) {
        c->list->failed = true;
        return NULL;
    }
    for (size_t row = 0; row < table->rows; row++)
        if (model_cell(kind, row) == (uint64_t)callee)
            frames[frame->u32[row]] = 1;
    frames[0] = 0;
    return frames;
}

void hot_callees_mark(findings_context *c, const uint64_t *weights, tables_callee callee,
                      uint8_t *marks)
{
    const model_process *p = c->process;
    uint8_t *frames = find_frames(c, callee);

    for (uint32_t i = 1; frames != NULL && i < p->stack_count; i++) {
        uint32_t stack = i;

        if (weights[i] == 0)
            continue;
        while (stack != 0 && !frames[p->stack_frames[stack]] &&
               is_helper(c, p->stack_frames[stack], callee))
            stack = p->stack_parents[stack];
        if (stack != 0 && frames[p->stack_frames[stack]])
            marks[i] = 1;
    }
    memory_free(frames);
}
