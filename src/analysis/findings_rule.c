/* findings_rule: see findings_rule.h. */
#include "analysis/findings_rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/text.h"

enum { INNERMOST = 3, MOST_SHOWN = 12 };

static char *vformatted(findings_context *c, const char *format, va_list arguments)
{
    char text[1200];
    char *copy;

    vsnprintf(text, sizeof text, format, arguments);
    copy = memory_copy_text(text);
    if (copy == NULL)
        c->list->failed = true;
    return copy;
}

finding *findings_add(findings_context *c, findings_severity severity, const char *format, ...)
{
    findings *list = c->list;
    finding *f;
    va_list arguments;

    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        list->failed = true;
        return NULL;
    }
    f = &list->items[list->count++];
    memset(f, 0, sizeof *f);
    f->id = c->rule->id;
    f->title = c->rule->title;
    f->doc = c->rule->doc;
    f->severity = severity;
    f->process = (uint32_t)(c->process - c->m->processes);
    va_start(arguments, format);
    f->statement = vformatted(c, format, arguments);
    va_end(arguments);
    f->advice = memory_copy_text("");
    f->place = memory_copy_text("");
    if (f->statement == NULL || f->advice == NULL || f->place == NULL) {
        list->failed = true;
        return NULL;
    }
    return f;
}

void findings_advise(findings_context *c, finding *f, const char *format, ...)
{
    va_list arguments;
    char *text;

    if (f == NULL)
        return;
    va_start(arguments, format);
    text = vformatted(c, format, arguments);
    va_end(arguments);
    if (text == NULL)
        return;
    memory_free(f->advice);
    f->advice = text;
}

void findings_show(findings_context *c, finding *f, const char *format, ...)
{
    va_list arguments;
    char *text;

    if (f == NULL)
        return;
    va_start(arguments, format);
    text = vformatted(c, format, arguments);
    va_end(arguments);
    if (text == NULL)
        return;
    if (!findings_add_evidence(f, text))
        c->list->failed = true;
    memory_free(text);
}

void findings_set_place(findings_context *c, finding *f, const char *place)
{
    char *copy;

    if (f == NULL)
        return;
    copy = memory_copy_text(place);
    if (copy == NULL) {
        c->list->failed = true;
        return;
    }
    memory_free(f->place);
    f->place = copy;
}

const char *findings_frame_name(const findings_context *c, uint32_t frame)
{
    return model_text(c->m, c->process->functions[c->process->frames[frame].function].name);
}

static const char *module_of(const findings_context *c, uint32_t frame)
{
    const model_function *function = &c->process->functions[c->process->frames[frame].function];

    return model_text(c->m, c->process->modules[function->module].name);
}

static bool is_own_code(const findings_context *c, uint32_t frame)
{
    static const char *const FRAMEWORK[] = {"System.", "Microsoft.", "netstandard", "mscorlib"};
    const char *module = module_of(c, frame);

    if (c->process->frames[frame].kind != RECORDING_FRAME_MANAGED || module[0] == '\0')
        return false;
    for (size_t i = 0; i < sizeof FRAMEWORK / sizeof *FRAMEWORK; i++)
        if (text_starts_with(module, FRAMEWORK[i]))
            return false;
    return true;
}

uint32_t findings_own_frame(const findings_context *c, uint32_t stack)
{
    for (; stack != 0; stack = c->process->stack_parents[stack])
        if (is_own_code(c, c->process->stack_frames[stack]))
            return c->process->stack_frames[stack];
    return 0;
}

const char *findings_frame_title(const findings_context *c, uint32_t frame, char out[FINDINGS_NAME])
{
    const model_frame *f = &c->process->frames[frame];
    const char *file = model_text(c->m, f->file);
    const char *slash = strrchr(file, '/');

    if (frame == 0)
        out[0] = '\0';
    else if (f->line == 0)
        snprintf(out, FINDINGS_NAME, "%s", findings_frame_name(c, frame));
    else
        snprintf(out, FINDINGS_NAME, "%s (%s:%u)", findings_frame_name(c, frame),
                 slash == NULL ? file : slash + 1, f->line);
    return out;
}

/* Frames that only carry async methods from one thread to the next, and native ones. */
static bool is_plumbing(const findings_context *c, uint32_t frame)
{
    static const char *const PLUMBING[] = {"System.Runtime.CompilerServices.Async",
                                           "System.Threading.ExecutionContext."};

    if (c->process->frames[frame].kind != RECORDING_FRAME_MANAGED)
        return true;
    for (size_t i = 0; i < sizeof PLUMBING / sizeof *PLUMBING; i++)
        if (text_starts_with(findings_frame_name(c, frame), PLUMBING[i]))
            return true;
    return false;
}

void findings_show_stack(findings_context *c, finding *f, uint32_t stack)
{
    const model_process *p = c->process;
    uint32_t own = findings_own_frame(c, stack);
    size_t shown = 0;
    size_t skipped = 0;
    bool reached = own == 0;
    char title[FINDINGS_NAME];

    for (; stack != 0 && shown < MOST_SHOWN; stack = p->stack_parents[stack]) {
        uint32_t frame = p->stack_frames[stack];

        if (is_plumbing(c, frame))
            continue;
        reached = reached || frame == own;
        if (!reached && shown >= INNERMOST) {
            skipped++;
            continue;
        }
        if (skipped != 0)
            findings_show(c, f, "… %zu frame%s of the framework", skipped, skipped == 1 ? "" : "s");
        skipped = 0;
        findings_show(c, f, "%s", findings_frame_title(c, frame, title));
        shown++;
    }
}

/* Whether what it calls is no longer the work of the framework's code around it. */
static bool leaves_framework(const findings_context *c, uint32_t frame)
{
    const char *module = module_of(c, frame);

    return c->process->frames[frame].kind == RECORDING_FRAME_MANAGED && module[0] != '\0' &&
           !text_starts_with(module, "System.");
}

static uint8_t *mark(findings_context *c, findings_frame_test test, bool is_inner)
{
    enum { PASSES = 1, LEAVES = 2 };
    const model_process *p = c->process;
    uint8_t *frames = memory_allocate_array(p->frame_count + 1, 1);
    uint8_t *stacks = memory_allocate_array(p->stack_count + 1, 1);

    if (frames == NULL || stacks == NULL) {
        c->list->failed = true;
        memory_free(frames);
        memory_free(stacks);
        return NULL;
    }
    for (uint32_t i = 1; i < p->frame_count; i++)
        frames[i] = is_inner && leaves_framework(c, i) ? LEAVES : test(c, i) ? PASSES : 0;
    /* A parent stands before its children. */
    for (size_t i = 1; i < p->stack_count; i++) {
        uint8_t own = frames[p->stack_frames[i]];

        stacks[i] = own == LEAVES ? 0 : own == PASSES ? 1 : stacks[p->stack_parents[i]];
    }
    memory_free(frames);
    return stacks;
}

uint8_t *findings_mark_stacks(findings_context *c, findings_frame_test test)
{
    return mark(c, test, false);
}

uint8_t *findings_mark_inner_stacks(findings_context *c, findings_frame_test test)
{
    return mark(c, test, true);
}

uint64_t *findings_weights(findings_context *c, const profile *p, const profile_selection *s)
{
    uint64_t *weights = memory_allocate_array(c->process->stack_count + 1, sizeof *weights);

    if (weights == NULL)
        c->list->failed = true;
    else
        profile_sum(p, s, weights, NULL);
    return weights;
}

uint32_t findings_heaviest(const findings_context *c, const uint64_t *weights, const uint8_t *marks)
{
    uint32_t best = 0;
    uint64_t most = 0;

    for (uint32_t i = 1; i < c->process->stack_count; i++)
        if (weights[i] > most && (marks == NULL || marks[i])) {
            most = weights[i];
            best = i;
        }
    return best;
}

const char *findings_number(double value, char out[32])
{
    char digits[32];
    char *to = out;
    size_t length;

    if (value < 100) {
        snprintf(out, 32, value < 10 ? "%.1f" : "%.0f", value);
        return out;
    }
    length = (size_t)snprintf(digits, sizeof digits, "%.0f", value > 1e15 ? 1e15 : value);
    for (size_t i = 0; i < length; i++) {
        if (i != 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}
