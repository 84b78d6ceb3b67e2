/*
 * rule_hot_path: one method or one known cause takes most of the processor time.
 *
 * A known cause is recognised by frames on the stack: it is named when the samples under such
 * frames are a large share. Else a method of the program or of a library that is the leaf of most
 * samples is named, else one line of the program under which almost everything happens. Shares are
 * of the program's own processor time; a program that hardly uses any is left alone. Whether it
 * does is also seen from threads that want to run: on a crowded machine they get few of the
 * processors.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/calltree.h"
#include "analysis/findings_rule.h"
#include "analysis/hot_callees.h"
#include "analysis/hot_values.h"
#include "base/memory.h"
#include "base/text.h"

typedef struct {
    const char *what; /* "in regular expressions" */
    findings_frame_test test;
    const char *advice;
    bool steady; /* counts only in the last half too of a long recording of a running program, and
                  * when it is not that methods are compiled for the first time */
    bool inner;  /* what the program does when it is called back from there does not count */
    tables_callee callee; /* that a statement of the caller may have instead of a frame; 0 = none */
} cause;

static bool is_regex(const findings_context *c, uint32_t frame)
{
    return text_starts_with(findings_frame_name(c, frame), "System.Text.RegularExpressions.");
}

static bool is_concatenation(const findings_context *c, uint32_t frame)
{
    return text_starts_with(findings_frame_name(c, frame), "System.String.Concat");
}

static bool is_throwing(const findings_context *c, uint32_t frame)
{
    const char *name = findings_frame_name(c, frame);

    return text_starts_with(name, "System.Runtime.EH.") ||
           text_starts_with(name, "_Unwind_RaiseException") || text_equal(name, "__cxa_throw");
}

static bool is_linq(const findings_context *c, uint32_t frame)
{
    const char *name = findings_frame_name(c, frame);

    /* expression trees are another thing: what compiles them has its own cause */
    return text_starts_with(name, "System.Linq.") &&
           !text_starts_with(name, "System.Linq.Expressions.");
}

/* Looking members up and calling them; not the writing of code, which has its own cause. */
static bool is_reflection(const findings_context *c, uint32_t frame)
{
    const model_function *function = &c->process->functions[c->process->frames[frame].function];
    const char *name = findings_frame_name(c, frame);

    return text_starts_with(model_text(c->m, c->process->modules[function->module].name),
                            "System.Private.CoreLib") &&
           (text_starts_with(name, "System.Reflection.") ||
            text_starts_with(name, "System.RuntimeType.")) &&
           !text_starts_with(name, "System.Reflection.Emit.");
}

static bool is_compiling(const findings_context *c, uint32_t frame)
{
    const model_function *function = &c->process->functions[c->process->frames[frame].function];

    return text_equal(model_text(c->m, c->process->modules[function->module].name), "libclrjit.so");
}

static const cause CAUSES[] = {
    {"matching regular expressions", is_regex,
     "A pattern that can match the same text in many ways backtracks. Make it unambiguous (no "
     "nested repetition), give it a timeout, or use RegexOptions.NonBacktracking.",
     false, false, 0},
    {"throwing and catching exceptions", is_throwing,
     "Exceptions are used as control flow here: ask first (TryParse, TryGetValue, a result value) "
     "instead of throwing.",
     false, false, 0},
    {"putting strings together", is_concatenation,
     "Each + copies everything so far. Use a StringBuilder, string.Join or a span.", false, false,
     TABLES_CALLEE_CONCAT},
    {"LINQ itself (not what the program does inside of it)", is_linq,
     "Each operator costs calls through interfaces and delegates, and often a copy. Write this "
     "place as a loop, keep the result instead of asking again, or look it up in a dictionary.",
     false, true, TABLES_CALLEE_LINQ},
    {"reflection", is_reflection,
     "Keep what was found (PropertyInfo, MethodInfo), make a delegate of it once with "
     "CreateDelegate, or let a source generator write the code.",
     false, true, 0},
    {"compiling methods at run time", is_compiling,
     "A program that runs for a while should have compiled its methods: look for dynamic methods, "
     "expression trees or regular expressions that are made again and again.",
     true, false, 0},
};

/* Causes that no frame tells: see hot_values.h. */
static const struct {
    uint8_t *(*mark)(findings_context *c, const uint64_t *weights, char what[HOT_VALUES_TEXT]);
    const char *advice;
} VALUE_CAUSES[] = {
    {hot_values_mark_boxes,
     "A value that is given as object or as an interface gets an object of its own each time. Use "
     "generic collections and generic methods, implement IEquatable<T> in structs that are keys, "
     "and don't give values to parameters of type object in a hot loop."},
    {hot_values_mark_copies,
     "Give it by `in` or `ref`, take elements by `ref` (spans, CollectionsMarshal.AsSpan), or make "
     "it a class: a large struct is copied whole wherever it is given, returned or assigned."},
};

typedef struct {
    findings_context *c;
    profile p;
    uint64_t *weights;
    uint64_t total;
    double cores; /* used */
} hot;

static uint64_t marked_weight(const hot *h, const uint64_t *weights, const uint8_t *marks)
{
    uint64_t sum = 0;

    for (size_t i = 1; i < h->c->process->stack_count; i++)
        sum += marks[i] ? weights[i] : 0;
    return sum;
}

/* Whether compiling has its share in the last half too of a recording of 5 s or more, attached, and
 * is of code that is made again and again. */
static bool is_steady(const hot *h, const uint8_t *marks)
{
    const char *attach = model_info_value(h->c->m, h->c->process, "attach");
    profile_selection last = PROFILE_ALL;
    profile_total total;
    uint64_t *weights;
    bool steady;

    if (h->c->seconds < 5 || attach == NULL || !text_equal(attach, "attach") ||
        !findings_compiles_anew(h->c))
        return false;
    last.from = h->c->process->duration_ns / 2;
    weights = findings_weights(h->c, &h->p, &last);
    if (weights == NULL)
        return false;
    total = profile_sum(&h->p, &last, NULL, NULL);
    steady =
        total.weight != 0 && 100.0 * (double)marked_weight(h, weights, marks) >=
                                 findings_limit(h->c, THRESHOLD_HOT_CAUSE) * (double)total.weight;
    memory_free(weights);
    return steady;
}

static void tell_cause(const hot *h, const char *what, const char *link, const char *advice,
                       uint64_t weight, const uint8_t *marks)
{
    findings_context *c = h->c;
    uint32_t stack = findings_heaviest(c, h->weights, marks);
    uint32_t own = findings_own_frame(c, stack);
    char title[FINDINGS_NAME];
    finding *f = findings_add(
        c, FINDINGS_WARNING, "%.0f %% of the CPU time (%.2f of %.2f processors) goes into %s%s%s",
        100.0 * (double)weight / (double)h->total, h->cores * (double)weight / (double)h->total,
        h->cores, what, own == 0 ? "" : link, findings_frame_title(c, own, title));

    findings_show_stack(c, f, stack);
    findings_set_place(c, f, own == 0 ? what : findings_frame_name(c, own));
    findings_advise(c, f, "%s", advice);
}

/* true when a cause was told. */
static bool look_for_causes(const hot *h)
{
    bool told = false;

    for (size_t i = 0; i < sizeof CAUSES / sizeof *CAUSES; i++) {
        uint8_t *marks = CAUSES[i].inner ? findings_mark_inner_stacks(h->c, CAUSES[i].test)
                                         : findings_mark_stacks(h->c, CAUSES[i].test);
        uint64_t weight;

        if (marks == NULL)
            return true;
        if (CAUSES[i].callee != 0)
            hot_callees_mark(h->c, h->weights, CAUSES[i].callee, marks);
        weight = marked_weight(h, h->weights, marks);
        if (100.0 * (double)weight >=
                findings_limit(h->c, THRESHOLD_HOT_CAUSE) * (double)h->total &&
            (!CAUSES[i].steady || is_steady(h, marks))) {
            tell_cause(h, CAUSES[i].what, ", called by ", CAUSES[i].advice, weight, marks);
            told = true;
        }
        memory_free(marks);
    }
    return told;
}

static bool look_for_values(const hot *h)
{
    bool told = false;

    for (size_t i = 0; i < sizeof VALUE_CAUSES / sizeof *VALUE_CAUSES; i++) {
        char what[HOT_VALUES_TEXT];
        uint8_t *marks = VALUE_CAUSES[i].mark(h->c, h->weights, what);
        uint64_t weight;

        if (marks == NULL)
            return true;
        weight = marked_weight(h, h->weights, marks);
        if (what[0] != '\0' && 100.0 * (double)weight >=
                                   findings_limit(h->c, THRESHOLD_HOT_CAUSE) * (double)h->total) {
            tell_cause(h, what, ", in ", VALUE_CAUSES[i].advice, weight, marks);
            told = true;
        }
        memory_free(marks);
    }
    return told;
}

static void tell_method(const hot *h, const calltree_rank *rank)
{
    findings_context *c = h->c;
    const model_process *p = c->process;
    const model_function *function = &p->functions[rank->key];
    uint64_t part = rank->self;
    uint32_t best = 0;
    uint32_t own;
    uint64_t most = 0;
    char title[FINDINGS_NAME];
    finding *f;

    for (uint32_t i = 1; i < p->stack_count; i++)
        if (h->weights[i] > most && p->frames[p->stack_frames[i]].function == rank->key) {
            most = h->weights[i];
            best = i;
        }
    own = findings_own_frame(c, best);
    f = findings_add(c, FINDINGS_WARNING,
                     "%.0f %% of the CPU time (%.2f of %.2f processors) is spent in %s itself%s%s",
                     100.0 * (double)part / (double)h->total,
                     h->cores * (double)part / (double)h->total, h->cores,
                     model_text(c->m, function->name), own == 0 ? "" : ", most at ",
                     findings_frame_title(c, own, title));
    findings_show_stack(c, f, best);
    findings_set_place(c, f, model_text(c->m, function->name));
    findings_advise(c, f,
                    "Make this method do less, or call it less often: the flame graph of the "
                    "report shows who calls it, and the lines inside of it.");
}

static bool look_for_method(const hot *h)
{
    calltree tree;
    calltree_rank *ranks = NULL;
    size_t count = 0;
    bool told = false;

    if (calltree_build(h->c->process, CALLTREE_FUNCTIONS, &tree, NULL) != 0) {
        h->c->list->failed = true;
        return true;
    }
    calltree_weigh(&tree, h->c->process, h->weights);
    if (calltree_rank_keys(&tree, &ranks, &count, NULL) != 0)
        h->c->list->failed = true;
    else if (count != 0 && h->c->process->functions[ranks[0].key].kind == RECORDING_FRAME_MANAGED &&
             100.0 * (double)ranks[0].self >=
                 findings_limit(h->c, THRESHOLD_HOT_SHARE) * (double)h->total) {
        tell_method(h, &ranks[0]);
        told = true;
    }
    memory_free(ranks);
    calltree_free(&tree);
    return told;
}

/* By place: the weight of stacks whose innermost frame of the program's own code is there. */
static void look_for_line(const hot *h)
{
    findings_context *c = h->c;
    const model_process *p = c->process;
    uint64_t *sums = memory_allocate_array(p->place_count + 1, sizeof *sums);
    uint32_t hottest = 0;
    uint32_t stack = 0;
    finding *f;

    if (sums == NULL) {
        c->list->failed = true;
        return;
    }
    for (uint32_t i = 1; i < p->stack_count; i++)
        if (h->weights[i] != 0)
            sums[p->frames[findings_own_frame(c, i)].place] += h->weights[i];
    for (uint32_t i = 1; i < p->place_count; i++)
        hottest = sums[i] > sums[hottest] || hottest == 0 ? i : hottest;
    for (uint32_t i = 1; i < p->stack_count; i++)
        if (p->frames[findings_own_frame(c, i)].place == hottest &&
            h->weights[i] > h->weights[stack])
            stack = i;
    if (hottest != 0 && stack != 0 &&
        100.0 * (double)sums[hottest] >= findings_limit(c, THRESHOLD_HOT_LINE) * (double)h->total) {
        uint32_t own = findings_own_frame(c, stack);
        char title[FINDINGS_NAME];

        f = findings_add(
            c, FINDINGS_WARNING,
            "%.0f %% of the CPU time (%.2f of %.2f processors) goes into what %s calls",
            100.0 * (double)sums[hottest] / (double)h->total,
            h->cores * (double)sums[hottest] / (double)h->total, h->cores,
            findings_frame_title(c, own, title));
        findings_show_stack(c, f, stack);
        findings_set_place(c, f, findings_frame_name(c, own));
        findings_advise(c, f,
                        "Do this less often, or in a cheaper way: the flame graph of the report "
                        "shows what is under this line.");
    }
    memory_free(sums);
}

/* Threads that ran or wanted to, on average: on a crowded machine more than processors used. */
static double busy_threads(const findings_context *c)
{
    uint64_t states[PROFILE_STATES];
    profile wall;

    if (!profile_find(c->m, c->process, "wall", &wall))
        return 0;
    profile_sum_states(&wall, &PROFILE_ALL, states);
    return (double)states[RECORDING_STATE_RUNNING] / 1e9 / c->seconds;
}

void findings_rule_hot_path(findings_context *c)
{
    hot h = {.c = c};
    profile_total total;
    double busy = busy_threads(c);

    if (!profile_find(c->m, c->process, "cpu", &h.p) || !text_equal(h.p.unit, "ns"))
        return;
    total = profile_sum(&h.p, &PROFILE_ALL, NULL, NULL);
    h.total = total.weight;
    h.cores = (double)total.weight / 1e9 / c->seconds;
    if (h.total == 0 ||
        (busy > h.cores ? busy : h.cores) < findings_limit(c, THRESHOLD_HOT_CORES) ||
        (double)total.samples < findings_limit(c, THRESHOLD_HOT_SAMPLES))
        return;
    h.weights = findings_weights(c, &h.p, &PROFILE_ALL);
    if (h.weights != NULL) {
        bool told = look_for_causes(&h);

        told |= look_for_values(&h);
        if (!told && !look_for_method(&h))
            look_for_line(&h);
    }
    memory_free(h.weights);
}
