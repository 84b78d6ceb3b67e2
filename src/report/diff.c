/* diff: see diff.h. The page is in diff_html.c. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/json.h"
#include "report/section.h"

enum { TOP_METHODS = 20, TOP_JSON_METHODS = 1000 };

static int write_markdown(difference *d, const report_options *options, sink *out, error *e);
static int write_json(difference *d, const report_options *options, sink *out, error *e);
static int write_collapsed(difference *d, const report_options *options, sink *out, error *e);

const diff_format DIFF_FORMATS[] = {
    {"md", ".md", write_markdown},
    {"json", ".json", write_json},
    {"html", ".html", diff_write_html},
    {"collapsed", ".txt", write_collapsed},
    {NULL, NULL, NULL},
};

const diff_format *diff_find_format(const char *name)
{
    for (const diff_format *format = DIFF_FORMATS; format->name != NULL; format++)
        if (text_equal(format->name, name))
            return format;
    return NULL;
}

static int add_side(difference *d, unsigned side, const model *m, const char *name,
                    const report_options *options, error *e)
{
    int code = 0;

    if (!strings_add_text(&d->strings, name, &d->sides[side].title))
        return error_set(e, ERROR_MEMORY, "no memory to compare the recordings");
    for (size_t i = 0; i < m->process_count && code == 0; i++) {
        profile_selection selection;
        profile p;

        if (!report_wants_process(m, &m->processes[i], options) ||
            !profile_find(m, &m->processes[i], options->profiler, &p))
            continue;
        code = report_select(m, p.process, options, &selection, e);
        if (code == 0)
            code = difference_add(d, side, &p, &selection, e);
        report_selection_free(&selection);
    }
    return code;
}

static bool has_profile(const model *m, const report_options *options, const char *profiler)
{
    profile p;

    for (size_t i = 0; i < m->process_count; i++)
        if (report_wants_process(m, &m->processes[i], options) &&
            profile_find(m, &m->processes[i], profiler, &p))
            return true;
    return false;
}

/* Whether there is nothing else to compare than numbers of samples. */
static bool only_samples(const model *m, const report_options *options)
{
    bool found = false;
    profile p;

    for (size_t i = 0; i < m->process_count; i++) {
        if (!report_wants_process(m, &m->processes[i], options) ||
            !profile_find(m, &m->processes[i], NULL, &p))
            continue;
        found = true;
        if (!text_equal(model_text(m, p.table->profiler), "samples"))
            return false;
    }
    return found;
}

/* What is compared when nothing is asked for: cpu, else wall, else the first that both have; NULL
 * when there is none. */
static const char *shared_profiler(const model *before, const model *after,
                                   const report_options *options)
{
    static const char *const FIRST[] = {"cpu", "wall"};

    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
        if (has_profile(before, options, FIRST[i]) && has_profile(after, options, FIRST[i]))
            return FIRST[i];
    for (size_t i = 0; i < before->process_count; i++) {
        const model_process *p = &before->processes[i];

        for (size_t k = 0; k < p->table_count; k++) {
            const char *name = model_text(before, p->tables[k].profiler);

            /* A file in pprof's format counts its samples beside what they measure. */
            if (!text_equal(name, "samples") && has_profile(before, options, name) &&
                has_profile(after, options, name))
                return name;
        }
    }
    return only_samples(before, options) && only_samples(after, options) ? "samples" : NULL;
}

/* Names the sides in the message. */
static int check_side(const model *m, const char *name, const report_options *options, error *e)
{
    int code = report_find_profiles(m, options, e);

    if (code == 0)
        code = report_check(m, options, e);
    return code == 0 ? 0 : error_prefix(e, "%s", name);
}

int diff_build(const model *before, const char *before_name, const model *after,
               const char *after_name, const report_options *options, bool scaled, difference *d,
               error *e)
{
    report_options chosen = *options;
    const char *unit;
    int code;

    if (!difference_init(d))
        return error_set(e, ERROR_MEMORY, "no memory to compare the recordings");
    code = check_side(before, before_name, options, e);
    if (code == 0)
        code = check_side(after, after_name, options, e);
    if (code == 0 && chosen.profiler == NULL)
        chosen.profiler = shared_profiler(before, after, options);
    if (code == 0 && chosen.profiler == NULL) {
        error_set(e, ERROR_USAGE, "the recordings have no profile in common");
        return error_advise(e, "`clarinet report FILE` shows what each of them has; record both "
                               "with the same -p");
    }
    d->profiler = chosen.profiler;
    if (code == 0)
        code = add_side(d, 0, before, before_name, &chosen, e);
    unit = d->unit;
    if (code == 0)
        code = add_side(d, 1, after, after_name, &chosen, e);
    if (code == 0 && !text_equal(unit, d->unit)) {
        error_set(e, ERROR_USAGE,
                  "the profiles '%s' of the recordings have different units (%s "
                  "and %s)",
                  chosen.profiler, unit, d->unit);
        return error_advise(e, "choose another with -p");
    }
    return code == 0 ? difference_finish(d, scaled, e) : code;
}

static uint64_t own_cost(const difference *d, unsigned side)
{
    return d->sides[side].cost.thread_cpu_ns + d->sides[side].cost.handler_ns;
}

static double share(const difference *d, unsigned side, uint64_t weight)
{
    return report_percent(weight, d->sides[side].total.weight);
}

static void put_method(const difference *d, const difference_method *method, bool total, sink *out)
{
    const difference_function *function = &d->functions[method->function];
    const uint64_t *weights = total ? method->total : method->self;
    double change = total ? method->total_change : method->self_change;
    double whole = (double)d->sides[1].total.weight;
    char amount[REPORT_AMOUNT_SIZE];

    sink_format(out, "| %+.1f | %.1f | %.1f | ", whole > 0 ? 100 * change / whole : 0,
                share(d, 0, weights[0]), share(d, 1, weights[1]));
    sink_format(out, "%s | ", report_amount(weights[0], d->unit, amount));
    sink_format(out, "%s | ", report_amount(weights[1], d->unit, amount));
    markdown_cell(out, strings_at(&d->strings, function->name));
    sink_text(out, " | ");
    markdown_cell(out, strings_at(&d->strings, function->module));
    sink_text(out, " |\n");
}

/* The methods whose weight grew (or shrank), most first. Changes too small to be told from
 * chance, under a tenth of a percent of everything, are left out. */
static void put_changes(const difference *d, bool total, bool grew, size_t limit, sink *out)
{
    double smallest = (double)d->sides[1].total.weight * 0.001;
    size_t shown = 0;

    sink_format(out, "## %s by %s\n\n", grew ? "Slower" : "Faster", total ? "total" : "self");
    for (size_t i = 0; i < d->method_count && shown < limit; i++) {
        const difference_method *method = &d->methods[grew ? i : d->method_count - 1 - i];
        double change = total ? method->total_change : method->self_change;

        if (grew ? change <= smallest : change >= -smallest)
            break;
        if (shown++ == 0)
            sink_text(out, "| change, % of after | before % | after % | before | after | method "
                           "| module |\n|---:|---:|---:|---:|---:|---|---|\n");
        put_method(d, method, total, out);
    }
    sink_text(out, shown == 0 ? "None.\n\n" : "\n");
}

static void put_sides(const difference *d, sink *out)
{
    char a[REPORT_AMOUNT_SIZE];
    char b[REPORT_AMOUNT_SIZE];

    sink_text(out, "# Before and after\n\n| | before | after |\n|---|---|---|\n| recording | ");
    markdown_cell(out, strings_at(&d->strings, d->sides[0].title));
    sink_text(out, " | ");
    markdown_cell(out, strings_at(&d->strings, d->sides[1].title));
    sink_format(out, " |\n| profile | %s | %s |\n| recorded | %s | %s |\n", d->profiler,
                d->profiler, report_amount(d->sides[0].duration_ns, "ns", a),
                report_amount(d->sides[1].duration_ns, "ns", b));
    sink_format(out, "| samples | %llu | %llu |\n", (unsigned long long)d->sides[0].total.samples,
                (unsigned long long)d->sides[1].total.samples);
    sink_format(out, "| weight | %s | %s |\n", report_amount(d->sides[0].total.weight, d->unit, a),
                report_amount(d->sides[1].total.weight, d->unit, b));
    sink_format(out, "| lost | %llu | %llu |\n", (unsigned long long)d->sides[0].lost,
                (unsigned long long)d->sides[1].lost);
    sink_format(out, "| own cost | %s | %s |\n\n", report_amount(own_cost(d, 0), "ns", a),
                report_amount(own_cost(d, 1), "ns", b));
    if (fabs(d->scale - 1) > 1e-9)
        sink_format(out,
                    "Shares of each side's own weight are compared: what was before is "
                    "multiplied by %.4g.\n\n",
                    d->scale);
}

static int write_markdown(difference *d, const report_options *options, sink *out, error *e)
{
    size_t limit = options->top != 0 ? options->top : TOP_METHODS;

    (void)e;
    put_sides(d, out);
    put_changes(d, false, true, limit, out);
    put_changes(d, false, false, limit, out);
    difference_sort_by_total(d);
    put_changes(d, true, true, limit, out);
    put_changes(d, true, false, limit, out);
    return 0;
}

static void json_side(const difference *d, unsigned side, json *j)
{
    json_begin_object_at(j, side == 0 ? "before" : "after");
    json_put_text(j, "recording", strings_at(&d->strings, d->sides[side].title));
    json_put_u64(j, "duration_ns", d->sides[side].duration_ns);
    json_put_u64(j, "samples", d->sides[side].total.samples);
    json_put_u64(j, "total", d->sides[side].total.weight);
    json_put_u64(j, "lost", d->sides[side].lost);
    json_put_u64(j, "own_cost_ns", own_cost(d, side));
    json_end_object(j);
}

static int write_json(difference *d, const report_options *options, sink *out, error *e)
{
    size_t limit = options->top != 0 ? options->top : TOP_JSON_METHODS;
    json j;

    (void)e;
    json_init(&j, out);
    json_begin_object(&j);
    json_put_u64(&j, "version", 1);
    json_put_text(&j, "profiler", d->profiler);
    json_put_text(&j, "unit", d->unit);
    json_put_f64(&j, "scale", d->scale);
    json_side(d, 0, &j);
    json_side(d, 1, &j);
    json_begin_array_at(&j, "methods");
    for (size_t i = 0; i < d->method_count; i++) {
        const difference_method *method = &d->methods[i];

        /* Both ends of the order: what grew most, and what shrank most. */
        if (i >= limit && i + limit < d->method_count)
            continue;
        json_begin_object(&j);
        json_put_text(&j, "name", strings_at(&d->strings, d->functions[method->function].name));
        json_put_text(&j, "module", strings_at(&d->strings, d->functions[method->function].module));
        json_put_u64(&j, "self_before", method->self[0]);
        json_put_u64(&j, "self_after", method->self[1]);
        json_put_f64(&j, "self_change", method->self_change);
        json_put_u64(&j, "total_before", method->total[0]);
        json_put_u64(&j, "total_after", method->total[1]);
        json_put_f64(&j, "total_change", method->total_change);
        json_end_object(&j);
    }
    json_end_array(&j);
    json_end_object(&j);
    sink_char(out, '\n');
    json_free(&j);
    return 0;
}

static void put_frame(sink *out, const char *name)
{
    for (; *name != '\0'; name++)
        sink_char(out, *name == ';' ? ',' : (unsigned char)*name < 0x20 ? ' ' : *name);
}

/* `root;…;leaf before after`, as differential flame graph tools read it. */
static int write_collapsed(difference *d, const report_options *options, sink *out, error *e)
{
    uint64_t divisor = text_equal(d->unit, "ns") ? 1000 : 1;
    uint64_t carried[2] = {divisor / 2, divisor / 2}; /* as in collapsed.c */

    (void)options;
    (void)e;
    for (uint32_t i = 1; i < d->node_count; i++) {
        uint32_t path[MODEL_MAXIMUM_DEPTH];
        size_t depth = 0;

        if (d->sides[0].self[i] == 0 && d->sides[1].self[i] == 0)
            continue;
        for (uint32_t node = i; node != 0; node = d->parents[node])
            path[depth++] = d->keys[node];
        while (depth-- > 0) {
            put_frame(out, strings_at(&d->strings, d->functions[path[depth]].name));
            sink_char(out, depth == 0 ? ' ' : ';');
        }
        for (unsigned side = 0; side < 2; side++) {
            carried[side] += d->sides[side].self[i];
            sink_u64(out, carried[side] / divisor);
            sink_text(out, side == 0 ? " " : "");
            carried[side] %= divisor;
        }
        sink_char(out, '\n');
    }
    return 0;
}
