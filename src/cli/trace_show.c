/* trace_show: see trace_show.h. */
#include "cli/trace_show.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/buffer.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/plain.h"
#include "cli/trace_hint.h"

enum { ROWS = 40, REFRESH_NS = 1000000000 };

#define HOME "\033[H\033[J" /* the terminal's top left corner, and nothing below it */

/* 1.23 ms, 45 us, 8 s: three figures. */
static const char *duration_text(uint64_t ns, char text[32])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t n = 0;
    double value;

    while (n < 3 && (double)ns < units[n].unit)
        n++;
    value = (double)ns / units[n].unit;
    snprintf(text, 32,
             value < 10 && n < 3    ? "%.2f %s"
             : value < 100 && n < 3 ? "%.1f %s"
                                    : "%.0f %s",
             value, units[n].name);
    return text;
}

/* One that is not known (calls too deep or too many to be timed) is left out. */
static const char *quantile_text(uint64_t ns, char text[32])
{
    return ns == 0 ? "" : duration_text(ns, text);
}

static json_t *quantile_json(const trace_result *r, uint64_t ns)
{
    return ns == 0 && r->most_ns != 0 ? json_null() : json_integer((json_int_t)ns);
}

static json_t *clean_text(const char *text)
{
    buffer cleaned = BUFFER_EMPTY;
    json_t *value;

    text_append_cleaned(&cleaned, text, strlen(text));
    value = json_string(buffer_text(&cleaned));
    buffer_free(&cleaned);
    return value;
}

static const char *const KINDS[] = {"method", "steps", "async"};

static const char *type_name(const model *m, uint32_t type)
{
    return type == 0 ? "(unknown)" : model_text(m, type);
}

static json_t *types_json(const model *m, const trace_result *r)
{
    json_t *types = json_object();

    for (size_t n = 0; n < r->by_type_count; n++) {
        buffer name = BUFFER_EMPTY;

        text_append_cleaned(&name, type_name(m, r->by_type[n].type),
                            strlen(type_name(m, r->by_type[n].type)));
        json_object_set_new(types, buffer_text(&name),
                            json_integer((json_int_t)r->by_type[n].count));
        buffer_free(&name);
    }
    return types;
}

static json_t *result_json(const model *m, const trace_result *r)
{
    buffer name = BUFFER_EMPTY;
    json_t *o = json_object();

    buffer_format(&name, "%s%s", model_text(m, r->name), model_text(m, r->parameters));
    json_object_set_new(o, "method", clean_text(buffer_text(&name)));
    buffer_free(&name);
    json_object_set_new(o, "module", clean_text(model_text(m, r->module)));
    json_object_set_new(o, "state", clean_text(model_text(m, r->state)));
    json_object_set_new(o, "calls", json_integer((json_int_t)r->calls));
    json_object_set_new(o, "exceptions", json_integer((json_int_t)r->failures));
    json_object_set_new(o, "total_ns", json_integer((json_int_t)r->total_ns));
    json_object_set_new(o, "self_ns", json_integer((json_int_t)r->self_ns));
    json_object_set_new(o, "min_ns", json_integer((json_int_t)r->least_ns));
    json_object_set_new(o, "p50_ns", quantile_json(r, r->p50_ns));
    json_object_set_new(o, "p90_ns", quantile_json(r, r->p90_ns));
    json_object_set_new(o, "p99_ns", quantile_json(r, r->p99_ns));
    json_object_set_new(o, "p999_ns", quantile_json(r, r->p999_ns));
    json_object_set_new(o, "max_ns", json_integer((json_int_t)r->most_ns));
    json_object_set_new(o, "active", json_integer((json_int_t)r->active));
    json_object_set_new(o, "peak", json_integer((json_int_t)r->peak));
    json_object_set_new(o, "threads", json_integer((json_int_t)r->threads));
    json_object_set_new(o, "kind", json_string(KINDS[r->kind]));
    if (r->kind != TRACE_KIND_METHOD)
        json_object_set_new(o, "completions", json_integer((json_int_t)r->completions));
    if (r->by_type_count != 0)
        json_object_set_new(o, "exception_types", types_json(m, r));
    return o;
}

/* What a row of trace_events is. */
enum { EVENT_CALL, EVENT_LOG, EVENT_ENTRY, EVENT_ASYNC };

typedef struct {
    uint32_t name; /* string */
    uint64_t time, duration, thread;
    bool failed;
    uint32_t values, exception;
    uint64_t kind;
} single_call;

static uint64_t cell(const model *m, const model_table *t, const char *column, size_t row)
{
    const model_column *c = model_find_column(m, t, column);

    return c == NULL ? 0 : model_cell(c, row);
}

/* Visits the single calls of a recording as they were recorded, process by process. */
static void each_call(const model *m, void *context,
                      void (*visit)(void *context, const model *m, const single_call *c))
{
    for (size_t n = 0; n < m->process_count; n++) {
        const model_process *p = &m->processes[n];
        const model_table *t = model_find_table(m, p, "trace_events", "trace");

        for (size_t row = 0; t != NULL && row < t->rows; row++) {
            single_call c = {.name = p->methods[cell(m, t, "method", row)].name,
                             .time = cell(m, t, "time", row),
                             .duration = cell(m, t, "duration", row),
                             .thread = p->threads[cell(m, t, "thread", row)].os_id,
                             .failed = cell(m, t, "failed", row) != 0,
                             .values = (uint32_t)cell(m, t, "values", row),
                             .exception = (uint32_t)cell(m, t, "exception", row),
                             .kind = cell(m, t, "kind", row)};

            visit(context, m, &c);
        }
    }
}

static bool has_duration(const single_call *c)
{
    return c->kind == EVENT_CALL || c->kind == EVENT_ASYNC;
}

static void append_clean(buffer *out, const model *m, uint32_t text)
{
    plain_append(out, model_text(m, text));
}

typedef struct {
    trace_show *show;
    size_t number;
} call_printing;

static void print_call(void *context, const model *m, const single_call *c)
{
    call_printing *p = context;
    buffer text = BUFFER_EMPTY;
    char time[32];

    if (p->number++ < p->show->printed)
        return;
    append_clean(&text, m, c->name);
    if (c->kind == EVENT_ASYNC)
        buffer_append_text(&text, " (until complete)");
    if (has_duration(c) && c->failed) {
        buffer_append_text(&text, " failed");
        if (c->exception != 0)
            buffer_append_text(&text, " (");
        append_clean(&text, m, c->exception);
        if (c->exception != 0)
            buffer_append_char(&text, ')');
    }
    if (c->kind == EVENT_ENTRY)
        buffer_append_text(&text, " entered");
    if (model_text(m, c->values)[0] != '\0')
        buffer_append_text(&text, c->kind == EVENT_LOG ? " " : ": ");
    append_clean(&text, m, c->values);
    fprintf(p->show->out, "%10.3f s %9s  %s\n", (double)c->time / 1e9,
            has_duration(c) ? duration_text(c->duration, time) : "", buffer_text(&text));
    buffer_free(&text);
}

/* Those that were not printed yet. */
static void print_calls(trace_show *s, const model *m)
{
    call_printing printing = {s, 0};

    each_call(m, &printing, print_call);
    s->printed = printing.number;
    fflush(s->out);
}

static void add_call(void *context, const model *m, const single_call *c)
{
    json_t *o = json_object();

    json_object_set_new(o, "method", clean_text(model_text(m, c->name)));
    json_object_set_new(o, "time_ns", json_integer((json_int_t)c->time));
    json_object_set_new(o, "thread", json_integer((json_int_t)c->thread));
    if (c->kind == EVENT_LOG) {
        json_object_set_new(o, "log", clean_text(model_text(m, c->values)));
    } else {
        json_object_set_new(o, "values", clean_text(model_text(m, c->values)));
        if (c->kind == EVENT_ENTRY)
            json_object_set_new(o, "entry", json_true());
    }
    if (c->kind == EVENT_ASYNC)
        json_object_set_new(o, "async", json_true());
    if (has_duration(c)) {
        json_object_set_new(o, "duration_ns", json_integer((json_int_t)c->duration));
        json_object_set_new(o, "failed", json_boolean(c->failed));
        if (c->exception != 0)
            json_object_set_new(o, "exception", clean_text(model_text(m, c->exception)));
    }
    json_array_append_new(context, o);
}

/* ---- the call tree ---- */

static json_t *tree_json(const model *m, const trace_call_tree *tree)
{
    json_t *nodes = json_array();

    for (size_t n = 0; n < tree->count; n++) {
        const trace_tree_node *node = &tree->items[n];
        json_t *o = json_object();

        json_object_set_new(o, "method", clean_text(model_text(m, node->name)));
        json_object_set_new(o, "kind", json_string(KINDS[node->kind]));
        json_object_set_new(o, "parent",
                            node->parent == SIZE_MAX ? json_null()
                                                     : json_integer((json_int_t)node->parent));
        json_object_set_new(o, "calls", json_integer((json_int_t)node->calls));
        json_object_set_new(o, "total_ns", json_integer((json_int_t)node->total_ns));
        json_object_set_new(o, "self_ns", json_integer((json_int_t)node->self_ns));
        json_array_append_new(nodes, o);
    }
    return nodes;
}

static void print_tree(const trace_show *s, const model *m, const trace_call_tree *tree)
{
    char text[2][32];

    fprintf(s->out, "\n%10s %9s %9s  %s\n", "calls", "total", "self", "call tree");
    for (size_t n = 0; n < tree->count; n++) {
        const trace_tree_node *node = &tree->items[n];
        buffer name = BUFFER_EMPTY;

        append_clean(&name, m, node->name);
        if (node->kind == TRACE_KIND_STEPS)
            buffer_append_text(&name, " (steps)");
        fprintf(s->out, "%10llu %9s %9s  %*s%s\n", (unsigned long long)node->calls,
                duration_text(node->total_ns, text[0]), duration_text(node->self_ns, text[1]),
                (int)(node->depth < 60 ? 2 * node->depth : 120), "", buffer_text(&name));
        buffer_free(&name);
    }
}

/* ---- all of it ---- */

static int print_json(const trace_show *s, const model *m, const trace_results *results,
                      const trace_call_tree *tree, error *e)
{
    bool failed;
    json_t *array = json_array();
    FILE *out = s->json_file != NULL ? fopen(s->json_file, "w") : s->out;

    if (out == NULL) {
        json_decref(array);
        error_set_errno(e, ERROR_IO, errno, "%s cannot be written", s->json_file);
        return cli_fail(e);
    }
    for (size_t n = 0; n < results->count; n++)
        json_array_append_new(array, result_json(m, &results->items[n]));
    if (s->calls || s->tree) {
        json_t *both = json_object();
        json_t *calls = json_array();

        json_object_set_new(both, "methods", array);
        each_call(m, calls, add_call);
        json_object_set_new(both, "calls", calls);
        if (s->tree)
            json_object_set_new(both, "tree", tree_json(m, tree));
        array = both;
    }
    failed = json_dumpf(array, out, JSON_INDENT(2)) != 0 || fputc('\n', out) == EOF;
    json_decref(array);
    if (s->json_file == NULL)
        return CLI_DONE; /* whether all of it could be written is asked at the end */
    if ((fclose(out) != 0) | failed) {
        error_set_errno(e, ERROR_IO, errno, "cannot write all of %s", s->json_file);
        return cli_fail(e);
    }
    return CLI_DONE;
}

static void print_name(FILE *out, const model *m, const trace_result *r)
{
    buffer name = BUFFER_EMPTY;

    append_clean(&name, m, r->name);
    append_clean(&name, m, r->parameters);
    if (r->kind == TRACE_KIND_STEPS)
        buffer_append_text(&name, " (steps)");
    if (r->kind == TRACE_KIND_ASYNC)
        buffer_format(&name, " (until complete; %llu are)", (unsigned long long)r->completions);
    fprintf(out, "%s\n", buffer_text(&name));
    buffer_free(&name);
}

static size_t count_lost(const model *m, const char *word)
{
    size_t count = 0;

    for (size_t k = 0; k < m->process_count; k++)
        for (size_t n = 0; n < m->processes[k].loss_count; n++)
            if (strstr(model_text(m, m->processes[k].losses[n].reason), word) != NULL)
                count += (size_t)m->processes[k].losses[n].total;
    return count;
}

static void print_rows(const trace_show *q, const model *m, const trace_results *results,
                       size_t most)
{
    size_t shown = 0, called = 0, meant = trace_count_meant(m, results), rows = 0;
    char text[6][32];

    fprintf(q->out, "%10s %6s %9s %9s %9s %9s %9s %6s %6s  %s\n", "calls", "failed", "total",
            "self", "p50", "p99", "max", "active", "peak", "method");
    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];

        if (r->calls == 0 && r->active == 0)
            continue;
        called += r->kind == TRACE_KIND_METHOD;
        rows++;
        if (shown >= most)
            continue;
        shown++;
        fprintf(q->out, "%10llu %6llu %9s %9s %9s %9s %9s %6llu %6llu  ",
                (unsigned long long)r->calls, (unsigned long long)r->failures,
                duration_text(r->total_ns, text[0]), duration_text(r->self_ns, text[1]),
                quantile_text(r->p50_ns, text[2]), quantile_text(r->p99_ns, text[3]),
                duration_text(r->most_ns, text[4]), (unsigned long long)r->active,
                (unsigned long long)r->peak);
        print_name(q->out, m, r);
        for (size_t k = 0; k < r->by_type_count; k++) {
            buffer name = BUFFER_EMPTY;

            plain_append(&name, type_name(m, r->by_type[k].type));
            fprintf(q->out, "%17llu %*s%s\n", (unsigned long long)r->by_type[k].count, 68, "",
                    buffer_text(&name));
            buffer_free(&name);
        }
    }
    fprintf(q->out, "\n%zu method%s meant, %zu called", meant, meant == 1 ? "" : "s", called);
    if (shown < rows)
        fprintf(q->out, ", %zu rows not shown (--all shows them)", rows - shown);
    fputc('\n', q->out);
}

static void print_left_alone(const trace_show *q, const model *m, const trace_results *results)
{
    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];
        const char *state = model_text(m, r->state);

        if (!text_starts_with(state, "left alone"))
            continue;
        plain_put(q->out, state);
        fputs(": ", q->out);
        print_name(q->out, m, r);
    }
}

static void print_meant(const trace_show *s, const model *m, const trace_results *results)
{
    size_t meant = count_lost(m, "not listed"), left_alone = 0;

    for (size_t n = 0; n < results->count; n++) {
        if (results->items[n].kind == TRACE_KIND_ASYNC)
            continue;
        meant++;
        left_alone += text_starts_with(model_text(m, results->items[n].state), "left alone");
        print_name(s->out, m, &results->items[n]);
    }
    print_left_alone(s, m, results);
    fprintf(s->out, "\n%zu method%s meant; nothing was changed\n", meant, meant == 1 ? "" : "s");
    if (left_alone != 0)
        fprintf(s->out, "%zu of them would be left alone\n", left_alone);
}

static int print_all(trace_show *s, const model *m, const trace_results *results,
                     const trace_call_tree *tree, error *e)
{
    if (s->json)
        return print_json(s, m, results, tree, e);
    if (s->dry_run) {
        print_meant(s, m, results);
        return CLI_DONE;
    }
    if (s->live)
        fputs(HOME, s->out);
    if (s->calls)
        print_calls(s, m);
    print_rows(s, m, results, s->all ? SIZE_MAX : ROWS);
    print_left_alone(s, m, results);
    if (s->tree)
        print_tree(s, m, tree);
    return CLI_DONE;
}

/* How to come by what is missing. */
static const char *advice_for(const char *reason)
{
    static const char *const ADVICE[][2] = {
        {"beyond the rate", " (--rate sets it)"},
        {"or no memory", "\n  a narrower pattern, or CLARINET_MEMORY=128M in the program's "
                         "environment, helps"},
        {"memory is short", " (a narrower pattern lists them)"},
        {"has no CIL", " (abstract, native or made by the runtime)"},
    };

    for (size_t n = 0; n < sizeof ADVICE / sizeof *ADVICE; n++)
        if (strstr(reason, ADVICE[n][0]) != NULL)
            return ADVICE[n][1];
    return "";
}

/* Nothing is missing in silence. */
static void print_losses(const model *m)
{
    for (size_t k = 0; k < m->process_count; k++) {
        const model_process *p = &m->processes[k];

        for (size_t n = 0; n < p->loss_count; n++) {
            const char *reason = model_text(m, p->losses[n].reason);

            if (p->losses[n].total == 0 ||
                strcmp(model_text(m, p->losses[n].profiler), "trace") != 0)
                continue;
            fputs("clarinet: ", stderr);
            plain_put(stderr, reason);
            fprintf(stderr, ": %llu%s\n", (unsigned long long)p->losses[n].total,
                    advice_for(reason));
        }
    }
}

/* A name that no method has, most often because it is misspelt, would just show nothing. */
static void print_missing(const model *m)
{
    for (size_t k = 0; k < m->process_count; k++) {
        const model_table *t = model_find_table(m, &m->processes[k], "trace_missing", "trace");

        for (size_t row = 0; t != NULL && row < t->rows; row++) {
            buffer path = BUFFER_EMPTY;

            append_clean(&path, m, (uint32_t)cell(m, t, "path", row));
            fprintf(stderr,
                    "clarinet: no traced method that was called has '%s'\n  a value is a "
                    "parameter's name, argN, this or result, and fields after dots\n",
                    buffer_text(&path));
            buffer_free(&path);
        }
    }
}

/* Killed, or crashed: then the profiler was never stopped, and the last counts were still in the
 * program. */
static bool was_cut_off(const model *m)
{
    for (size_t k = 0; k < m->process_count; k++)
        for (size_t n = 0; n < m->processes[k].profiler_count; n++)
            if (m->processes[k].profilers[n].state == RECORDING_STARTED)
                return true;
    return false;
}

static void tell_cut_off(const trace_show *s)
{
    if (s->file_failed) {
        fputs("clarinet: what was counted after that is not shown\n", stderr);
        return;
    }
    fputs("clarinet: the program ended before its last counts came: calls of its last half second "
          "may be missing\n",
          stderr);
}

/* Whoever sees no call at all asks why. What a dynamic method has inlined cannot be asked back. */
static void explain_silence(const model *m, const trace_results *results)
{
    for (size_t n = 0; n < results->count; n++) {
        if (results->items[n].calls != 0 || results->items[n].active != 0) {
            trace_hint_print(m, results, stderr);
            return;
        }
    }
    if (was_cut_off(m))
        return; /* there may have been calls; that is told */
    fputs("clarinet: no call was seen: there was none, or code made at run time (compiled "
          "expressions, as around\n  ASP.NET Core's handlers) has inlined the method; then trace "
          "what it calls, or from the start:\n  clarinet trace PATTERN -- CMD\n",
          stderr);
}

int trace_show_recording(trace_show *s, const char *file, error *e)
{
    model m;
    trace_results results;
    trace_call_tree tree = {0};
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return cli_fail(e);
    code = trace_analyse(&m, &results, e);
    if (code == 0 && s->tree && (code = trace_find_tree(&m, &tree, e)) != 0)
        trace_results_free(&results);
    if (code != 0) {
        model_free(&m);
        return cli_fail(e);
    }
    code = print_all(s, &m, &results, &tree, e);
    print_losses(&m);
    print_missing(&m);
    if (results.count == 0 && count_lost(&m, "has no CIL") != 0) {
        code = CLI_FAILED;
        fprintf(stderr,
                "clarinet: what '%s' matches cannot be traced: it has no CIL\n  an abstract method "
                "runs as one that overrides it; of a native one (P/Invoke) trace who calls it\n",
                s->patterns);
    } else if (results.count == 0) {
        code = CLI_FAILED;
        fprintf(stderr,
                "clarinet: no loaded method matches '%s'\n  wildcards are * and ?; `clarinet il "
                "ASSEMBLY --list` lists the methods of an assembly\n",
                s->patterns);
    } else if (code == CLI_DONE && !s->dry_run) {
        if (was_cut_off(&m))
            tell_cut_off(s);
        if (!s->started)
            explain_silence(&m, &results);
    }
    trace_tree_free(&tree);
    trace_results_free(&results);
    model_free(&m);
    return code;
}

/* Rows of the terminal that the table may take. */
static size_t rows_of_terminal(const FILE *out)
{
    struct winsize size;

    if (ioctl(fileno((FILE *)(uintptr_t)out), TIOCGWINSZ, &size) != 0 || size.ws_row < 8)
        return ROWS;
    return size.ws_row - 5u < ROWS ? size.ws_row - 5u : ROWS;
}

void trace_show_progress(trace_show *s, const char *file)
{
    uint64_t now = os_monotonic_ns();
    trace_results results;
    model m;
    error e;

    if (s->json || s->dry_run || (!s->live && !s->calls) || now < s->next_ns)
        return;
    error_clear(&e);
    if (model_load_path(file, 0, &m, &e) != 0)
        return;
    if (s->calls) {
        print_calls(s, &m);
    } else if (trace_analyse(&m, &results, &e) == 0) {
        fputs(HOME, s->out);
        print_rows(s, &m, &results, rows_of_terminal(s->out));
        fflush(s->out);
        trace_results_free(&results);
    }
    model_free(&m);
    /* reading a long recording again must not take more than a tenth of the time */
    s->next_ns = now + REFRESH_NS + 10 * (os_monotonic_ns() - now);
}
