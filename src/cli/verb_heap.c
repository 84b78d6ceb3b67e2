/*
 * clarinet heap PID | FILE, clarinet heap diff A B, clarinet heap watch PID: what fills the memory
 * of a program, what keeps it alive, and what grows. Takes snapshots with the profiler `heap`, or
 * reads them.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/heap_options.h"
#include "cli/input.h"
#include "cli/take.h"
#include "cli/way.h"
#include "report/report.h"

enum { COUNT = 3, END_TRIES = 10, END_PAUSE_MS = 50 };
#define EVERY_NS UINT64_C(60000000000)

/* ---- reading ---- */

/* Whether Ctrl-C came while this command takes a snapshot into `path`. */
static bool is_stopped(const heap_options *q, const char *path)
{
    struct pollfd polled = {q->session.stop, POLLIN, 0};

    return path == q->file && poll(&polled, 1, 0) > 0;
}

/* Of a snapshot that did not come whole: whether the process has ended, or does so now. */
static bool has_ended(const heap_options *q)
{
    for (int i = 0; i < END_TRIES; i++) {
        diagnostics_process process;
        error ignored;

        error_clear(&ignored);
        if (diagnostics_find_process(q->names[0], &process, &ignored) != 0)
            return true;
        diagnostics_process_free(&process);
        os_sleep_ms(END_PAUSE_MS);
    }
    return false;
}

/* What a file that is read lacks, whether or not the snapshot in it is whole. */
static void tell_cut(const char *path, const model *m)
{
    if (m->cut[0] != '\0')
        fprintf(stderr, "clarinet: %s: %s\n", path, m->cut);
    if (m->damaged_chunks != 0)
        fprintf(stderr, "clarinet: %s: %llu damaged %s skipped\n", path,
                (unsigned long long)m->damaged_chunks,
                m->damaged_chunks == 1 ? "chunk was" : "chunks were");
}

static int load(const heap_options *q, const char *path, model *m, const heap **h, error *e)
{
    const model_process *p;
    int code = input_load(path, m, e);

    if (code != 0)
        return code;
    if (path != q->file)
        tell_cut(path, m);
    p = heap_find(m);
    if (p == NULL && is_stopped(q, path)) {
        code = error_set(e, ERROR_NOT_FOUND,
                         "stopped before the snapshot was taken; the process goes on");
    } else if (p == NULL) {
        error_set(e, ERROR_NOT_FOUND, "there is no heap snapshot in %s", path);
        code = error_advise(e, "take one with: clarinet heap PID -o FILE");
    } else {
        code = heap_shared(m, p, h, e);
    }
    /* taken just now: then it is the process, and not the file */
    if ((code == ERROR_NOT_FOUND || code == ERROR_CORRUPT) && path == q->file &&
        !is_stopped(q, path) && has_ended(q)) {
        error_set(e, ERROR_GONE, "process %s ended while the snapshot was taken", q->names[0]);
        code = error_advise(e, "`clarinet ps` lists the processes there are");
    }
    if (code != 0)
        model_free(m);
    return code;
}

static int write_one(const heap_options *q, const heap *h, sink *out, error *e)
{
    char title[200];
    json j;
    int code;

    if (q->json) {
        json_init(&j, out);
        json_begin_object(&j);
        json_put_u64(&j, "pid", h->p->pid);
        json_put_text(&j, "name", model_text(h->m, h->p->name));
        code = q->one ? heap_report_object_json(h, q->address, q->report.top, &j, e)
                      : heap_report_json(h, &q->report, &j, e);
        json_end_object(&j);
        sink_char(out, '\n');
        json_free(&j);
        return code;
    }
    report_process_title(h->m, h->p, title, sizeof title);
    if (q->one)
        return heap_report_object(h, q->address, q->report.top, out, e);
    sink_format(out, "%s: ", title);
    return heap_report_text(h, &q->report, out, e);
}

static int write_diff(const heap_options *q, heap_series *series, const heap *last, error *e)
{
    sink out;
    json j;
    int code;

    sink_init(&out, 1);
    if (q->json) {
        json_init(&j, &out);
        json_begin_object(&j);
        code = heap_report_diff_json(series, last, &q->report, &j, e);
        json_end_object(&j);
        sink_char(&out, '\n');
        json_free(&j);
    } else {
        code = heap_report_diff(series, last, &q->report, &out, e);
    }
    if (code == 0)
        code = sink_finish(&out, e);
    sink_free(&out);
    return code;
}

/* Takes a snapshot's sums into the series; after the last one, writes what grew. */
static int add_file(const heap_options *q, heap_series *series, const char *file, bool is_last,
                    error *e)
{
    const heap *h;
    model m;
    int code = load(q, file, &m, &h, e);

    if (code != 0)
        return code;
    code = heap_series_add(series, h, e);
    if (code == 0 && is_last)
        code = write_diff(q, series, h, e);
    model_free(&m);
    return code;
}

/* Of enough snapshots to tell what grows. The first one of a process starts the runtime's events in
 * it, which grow after that; they would be taken for what grows with every one. */
static void keep_ways(heap_series *series, size_t snapshots)
{
    series->keeps_ways = snapshots >= HEAP_SERIES_LEAST_LEAK;
    series->ways_of = 1;
}

static int show_diff(const heap_options *q, error *e)
{
    heap_series series;
    int code = 0;

    heap_series_init(&series);
    keep_ways(&series, q->name_count);
    for (size_t i = 0; i < q->name_count && code == 0; i++)
        code = add_file(q, &series, q->names[i], i + 1 == q->name_count, e);
    heap_series_free(&series);
    return code;
}

/* The type at `name`; type arguments may be any. */
static void append_pattern(const char *name, size_t length, buffer *pattern)
{
    unsigned depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (name[i] == '<' && depth++ == 0)
            buffer_append_text(pattern, "<*>");
        else if (name[i] == '>' && depth != 0)
            depth--;
        else if (depth == 0 && name[i] != ' ')
            buffer_append_char(pattern, name[i] == '+' ? '.' : name[i]);
    }
}

/* A name of --fields that led to nothing, or to more than there was room for. */
static void tell_lack(const heap *h, const char *name, size_t length)
{
    const model_heap *s = h->snapshot;
    buffer pattern = BUFFER_EMPTY;
    uint64_t objects = 0, kept = 0;

    append_pattern(name, length, &pattern);
    for (uint32_t i = 0; i < h->type_count; i++)
        if (h->types[i].count != 0 && text_matches(heap_type_name(h, i), buffer_text(&pattern)))
            objects += h->types[i].count;
    for (size_t i = 0; i < s->valued_count; i++)
        kept += text_matches(heap_type_name(h, h->type[s->valued[i].object + 1]),
                             buffer_text(&pattern));
    if (objects == 0)
        fprintf(stderr, "--fields: no object of the type %.*s is on the heap\n", (int)length, name);
    else if (kept < objects)
        fprintf(stderr,
                "--fields: %llu of %llu objects of the type %.*s have their values; there is room "
                "for 4 MB of objects in all\n",
                (unsigned long long)kept, (unsigned long long)objects, (int)length, name);
    buffer_free(&pattern);
}

/* What --fields asked for and did not get. */
static void tell_missing(const heap_options *q, const heap *h)
{
    unsigned depth = 0;
    const char *begin = q->fields_said;

    for (const char *at = begin; begin != NULL; at++) {
        depth += *at == '<';
        depth -= *at == '>' && depth != 0;
        if (*at != '\0' && (*at != ',' || depth != 0))
            continue;
        tell_lack(h, begin, (size_t)(at - begin));
        if (*at == '\0')
            break;
        begin = at + 1 + strspn(at + 1, " ");
        at = begin - 1;
    }
}

/* Without the agent there are no values at all, which was said when the snapshot was taken. */
static bool came_through_port(const heap *h)
{
    const char *way = model_info_value(h->m, h->p, "attach");

    return way != NULL && text_equal(way, "port");
}

static int show(const heap_options *q, const char *file, error *e)
{
    sink out;
    const heap *h;
    model m;
    int code = load(q, file, &m, &h, e);

    if (code != 0)
        return code;
    if (!came_through_port(h))
        tell_missing(q, h);
    sink_init(&out, 1);
    code = write_one(q, h, &out, e);
    if (code == 0)
        code = sink_finish(&out, e);
    sink_free(&out);
    model_free(&m);
    return code;
}

/* ---- taking ---- */

/* `number`: of a snapshot of watch, from 1 on; 0 = the only one. */
static int choose_file(heap_options *q, size_t number, error *e)
{
    size_t length = strlen(q->kept);

    q->session.file = q->file;
    if (length != 0 && number == 0)
        snprintf(q->file, sizeof q->file, "%s", q->kept);
    if (length != 0 && number != 0) {
        /* before the ending, so that it stays a recording by its name */
        bool ends = length > 9 && text_equal(q->kept + length - 9, ".clarinet");

        snprintf(q->file, sizeof q->file, "%.*s-%zu.clarinet", (int)(ends ? length - 9 : length),
                 q->kept, number);
    }
    return length != 0 ? 0 : take_temporary(q->file, sizeof q->file, e);
}

static int take(heap_options *q, size_t number, error *e)
{
    int code = choose_file(q, number, e);

    return code == 0 ? take_look_at(&q->session, q->names[0], e) : code;
}

/* A name that can only be a file's. */
static bool is_name_of_file(const char *name)
{
    return strchr(name, '/') != NULL || text_ends_with(name, ".clarinet") ||
           text_ends_with(name, ".gcdump") || text_ends_with(name, ".nettrace");
}

static void forget_file(heap_options *q)
{
    if (q->kept[0] == '\0')
        take_forget(q->file);
}

static int take_and_show(heap_options *q, error *e)
{
    int code = take(q, 0, e);

    if (code == 0)
        code = show(q, q->file, e);
    forget_file(q);
    return code;
}

/* Waits for the next snapshot's time; true: Ctrl-C came first. */
static bool wait_until(const heap_options *q, uint64_t time_ns)
{
    for (;;) {
        uint64_t now = os_monotonic_ns();
        struct pollfd polled = {q->session.stop, POLLIN, 0};
        uint64_t left = now >= time_ns ? 0 : (time_ns - now) / 1000000 + 1;
        int ready = poll(&polled, 1, (int)(left > 60000 ? 60000 : left));

        if (ready > 0)
            return true;
        if (now >= time_ns)
            return false;
    }
}

/* Takes the next snapshot into the series. Its recording stays until the next one is in: what was
 * taken so far can then be compared whatever becomes of that one. */
static int watch_once(heap_options *q, heap_series *series, size_t number, bool is_last, error *e)
{
    char before[sizeof q->file];
    int code;

    memcpy(before, q->file, sizeof before);
    code = take(q, number, e);
    if (code == 0)
        code = add_file(q, series, q->file, is_last, e);
    if (q->kept[0] == '\0')
        take_forget(code == 0 ? before : q->file);
    if (code != 0)
        memcpy(q->file, before, sizeof before);
    return code;
}

/* What the snapshots say; of one alone nothing. */
static int compare_watched(const heap_options *q, heap_series *series, error *e)
{
    const heap *h;
    model m;
    int code;

    if (series->count < 2) {
        fprintf(stderr, "stopped after one snapshot: there is nothing to compare\n");
        return 0;
    }
    code = load(q, q->file, &m, &h, e);
    if (code != 0)
        return code;
    code = write_diff(q, series, h, e);
    model_free(&m);
    return code;
}

/* Ctrl-C, or a process that ends: what is there is compared. */
static int watch(heap_options *q, error *e)
{
    uint64_t every = q->every_ns != 0 ? q->every_ns : EVERY_NS;
    size_t count = q->count != 0 ? q->count : COUNT;
    uint64_t next = os_monotonic_ns();
    heap_series series;
    bool stopped = false;
    int code = 0, compared = 0;

    heap_series_init(&series);
    keep_ways(&series, count);
    for (size_t i = 1; i <= count && code == 0 && !stopped; i++) {
        code = watch_once(q, &series, i, i == count, e);
        if (code != 0)
            break;
        next += every;
        fprintf(stderr, "snapshot %zu of %zu is taken\n", i, count);
        stopped = i < count && wait_until(q, next);
    }
    if (code != 0 && series.count != 0 && is_stopped(q, q->file)) {
        fprintf(stderr, "stopped in snapshot %zu, which is left out\n", series.count + 1);
        error_clear(e);
        code = 0;
    }
    if (series.count != count && (code == 0 || series.count > 1)) {
        error trouble;

        error_clear(&trouble);
        compared = compare_watched(q, &series, &trouble);
        if (compared != 0 && code == 0)
            *e = trouble;
    }
    forget_file(q);
    heap_series_free(&series);
    return code != 0 ? code : compared;
}

static int prepare(heap_options *q, int argc, char **argv, error *e)
{
    int code = way_choose(&q->session.way, false, e);

    if (code == 0 && q->quick && q->session.way == SESSION_BY_PORT) {
        error_set(e, ERROR_USAGE, "a quick look needs the agent in the process");
        code = error_advise(e, "leave out --quick, or unset CLARINET_WAY");
    }
    if (q->quick)
        q->session.way = SESSION_BY_AGENT;
    if (code == 0)
        code = catalogue_add(&q->selection, "heap", e);
    if (code == 0 && q->fields_said != NULL)
        code = catalogue_set(&q->selection, "heap", "fields", q->fields, e);
    if (code == 0 && !q->quick && !q->no_threads &&
        (q->threads || q->session.way != SESSION_BY_PORT))
        code = catalogue_add(&q->selection, "threads", e);
    if (code == 0 && q->strings_off)
        code = catalogue_set(&q->selection, "heap", "strings", "off", e);
    if (code == 0 && q->quick)
        code = catalogue_set(&q->selection, "heap", "quick", "true", e);
    cli_append_typed(&q->typed, "clarinet", argc, argv);
    q->session.selection = &q->selection;
    q->session.command = buffer_text(&q->typed);
    q->session.short_lived = q->kept[0] == '\0';
    q->session.stop = cli_open_stop_descriptor(NULL);
    q->session.enough = take_whole_snapshot;
    return code;
}

int verb_heap(int argc, char **argv)
{
    static heap_options q; /* large; the one of this process */
    error e;
    int code;

    error_clear(&e);
    code = heap_options_parse(argc, argv, &q, &e);
    if (code == 0 && q.diff) {
        code = show_diff(&q, &e);
    } else if (code == 0 && !q.watch &&
               (heap_options_is_file(q.names[0]) || text_equal(q.names[0], "-"))) {
        code = show(&q, q.names[0], &e);
    } else if (code == 0 && is_name_of_file(q.names[0])) {
        struct stat status;

        code = stat(q.names[0], &status) == 0
                   ? error_set(&e, ERROR_USAGE, "%s is a folder", q.names[0])
                   : error_set(&e, ERROR_NOT_FOUND, "there is no file %s", q.names[0]);
    } else if (code == 0) {
        code = prepare(&q, argc, argv, &e);
        if (code == 0)
            code = q.watch ? watch(&q, &e) : take_and_show(&q, &e);
        buffer_free(&q.typed);
    }
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
