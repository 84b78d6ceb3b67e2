/*
 * clarinet heap PID | FILE, clarinet heap diff A B, clarinet heap watch PID: what fills the memory
 * of a program, what keeps it alive, and what grows. Takes snapshots with the profiler `heap`, or
 * reads them.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/take.h"
#include "cli/way.h"
#include "report/heap_report.h"
#include "report/report.h"
#include "session/session.h"

enum { ROWS = 25, TEXTS = 10, TEXT_SIZE = 48, WASTE = 5, COUNT = 3, LONGEST_NAME = 512 };
#define EVERY_NS UINT64_C(60000000000)

typedef struct {
    heap_report_options report;
    bool json;
    bool diff, watch;
    uint64_t every_ns; /* between two snapshots of watch */
    size_t count;      /* of them */
    bool one;          /* --object */
    uint64_t address;  /* of it */
    char **names;      /* PID, process or file; files with diff */
    size_t name_count;
    char kept[LONGEST_NAME]; /* -o; "" = snapshots are not kept */
    char file[LONGEST_NAME]; /* the recording that is made */
    bool strings_off, strings_said, quick;
    const char *fields_said; /* --fields: types whose values are kept; NULL = none */
    char fields[CATALOGUE_MAX_TEXT];
    bool threads; /* a look at the threads, too: whose stack keeps what */
    catalogue_selection selection;
    session_options session;
    buffer typed;
} request;

static int usage(error *e, const char *what)
{
    error_set(e, ERROR_USAGE, "%s", what);
    return error_advise(e, "for example: clarinet heap 1234, or: clarinet heap diff a.clarinet "
                           "b.clarinet");
}

static int take_order(const char *value, heap_order *order, error *e)
{
    static const char *const NAMES[] = {"retained", "bytes", "count"};

    for (int i = 0; i < 3; i++) {
        if (text_equal(NAMES[i], value)) {
            *order = (heap_order)i;
            return 0;
        }
    }
    return error_set(e, ERROR_USAGE, "--by wants retained, bytes or count, not '%s'", value);
}

static int take_group(const char *value, heap_group_kind *group, error *e)
{
    if (text_equal(value, "namespace"))
        *group = HEAP_GROUP_NAMESPACE;
    else if (text_equal(value, "assembly"))
        *group = HEAP_GROUP_ASSEMBLY;
    else
        return error_set(e, ERROR_USAGE, "--group wants namespace or assembly, not '%s'", value);
    return 0;
}

/* --strings 20, --strings off: how many are shown; off keeps them out of a snapshot too. */
static int take_strings(request *q, const char *value, error *e)
{
    uint64_t count;

    q->strings_off = text_equal(value, "off");
    if (q->strings_off)
        return 0;
    if (!text_to_u64(value, &count) || count > 1000000)
        return error_set(e, ERROR_USAGE, "--strings wants a number up to 1000000, or off, not '%s'",
                         value);
    q->report.texts = (size_t)count;
    q->strings_said = true;
    return 0;
}

/* --fields 'Shop.Order,Shop.Cache<T>': as metadata has the names, Shop.Order,Shop.Cache`1. */
static int take_fields(request *q, const char *value, error *e)
{
    unsigned depth = 0, arguments = 0;
    buffer out;

    buffer_fix(&out, q->fields, sizeof q->fields);
    for (const char *at = value; *at != '\0'; at++) {
        if (*at == '<' && depth++ == 0)
            arguments = 1;
        else if (*at == ',' && depth == 1)
            arguments++;
        else if (*at == '>' && depth != 0 && --depth == 0)
            buffer_format(&out, "`%u", arguments);
        else if (depth == 0 && *at != ' ')
            buffer_append_char(&out, *at);
    }
    if (out.length == 0 || depth != 0 || buffer_failed(&out))
        return error_set(e, ERROR_USAGE, "--fields wants names of types, by commas, not '%s'",
                         value);
    q->fields_said = value;
    return 0;
}

static int take_option(request *q, int option, const char *name, error *e)
{
    uint64_t top;
    char *end;

    switch (option) {
    case 'o':
        if (strlen(optarg) >= sizeof q->kept - 16)
            return error_set(e, ERROR_USAGE, "the file's name is too long");
        snprintf(q->kept, sizeof q->kept, "%s", optarg);
        return 0;
    case 'e':
        return catalogue_parse_duration(optarg, &q->every_ns, e);
    case 'n':
        if (!text_to_u64(optarg, &top) || top < 2 || top > HEAP_SERIES_MOST)
            return error_set(e, ERROR_USAGE, "--count wants a number from 2 to %d, not '%s'",
                             HEAP_SERIES_MOST, optarg);
        q->count = (size_t)top;
        return 0;
    case 't':
        if (!text_to_u64(optarg, &top) || top == 0 || top > 1000000)
            return error_set(e, ERROR_USAGE, "--top wants a number from 1 to 1000000, not '%s'",
                             optarg);
        q->report.top = (size_t)top;
        return 0;
    case 'b':
        return take_order(optarg, &q->report.order, e);
    case 'd':
    case 'O':
    case 'B':
        if (!text_to_u64(optarg, &top) || top > UINT32_MAX)
            return error_set(e, ERROR_USAGE, "%s wants a number, not '%s'", name, optarg);
        if (option == 'd')
            q->report.depth = (size_t)top;
        else
            *(option == 'O' ? &q->report.least_objects : &q->report.least_bytes) = top;
        return 0;
    case 'g':
        return take_group(optarg, &q->report.group, e);
    case 'y':
        q->report.type = optarg;
        return 0;
    case 'a':
        q->one = true;
        q->address = strtoull(optarg, &end, 16);
        if (end == optarg || *end != '\0')
            return error_set(e, ERROR_USAGE, "--object wants an address like 0x7f00a0, not '%s'",
                             optarg);
        return 0;
    case 's':
        return take_strings(q, optarg, e);
    case 'p':
        q->report.paths = true;
        return 0;
    case 'f':
        return take_fields(q, optarg, e);
    case 'i':
        q->report.objects = true;
        return 0;
    case 'h':
        q->threads = true;
        return 0;
    case 'q':
        q->quick = true;
        return 0;
    case 'j':
        q->json = true;
        return 0;
    default:
        error_set(e, ERROR_USAGE, "heap does not know the option %s", name);
        return error_advise(e, "`clarinet heap --help` lists the options");
    }
}

/* A number is a process; anything else that can be opened is a file. */
static bool is_file(const char *name)
{
    struct stat status;
    uint64_t number;

    return !text_to_u64(name, &number) && stat(name, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* What stands after the options. */
static int take_names(request *q, int count, char **names, error *e)
{
    q->diff = count > 0 && text_equal(names[0], "diff");
    q->watch = count > 0 && text_equal(names[0], "watch");
    if (q->diff || q->watch) {
        names++;
        count--;
    }
    if (count == 0)
        return usage(e, "no process and no file is named");
    if (q->diff && count < 2)
        return usage(e, "diff compares two or more snapshots");
    if (q->diff && count > HEAP_SERIES_MOST)
        return error_set(e, ERROR_USAGE, "diff compares at most %d snapshots", HEAP_SERIES_MOST);
    if (!q->diff && count != 1)
        return usage(e, "heap takes one process or one file");
    if (!q->watch && (q->every_ns != 0 || q->count != 0))
        return usage(e, "--every and --count belong to watch");
    if (q->watch && is_file(names[0]))
        return usage(e, "watch looks at a process");
    if (q->one && (q->diff || !is_file(names[0])))
        return error_set(e, ERROR_USAGE,
                         "--object reads a snapshot: addresses change from one to "
                         "the next");
    if (q->report.paths && q->report.type == NULL)
        return error_set(e, ERROR_USAGE, "--paths needs --type NAME: the paths to these objects");
    if (q->report.objects && q->report.type == NULL)
        return error_set(e, ERROR_USAGE, "--objects needs --type NAME: these objects are shown");
    if (q->fields_said != NULL && (q->diff || is_file(names[0])))
        return error_set(e, ERROR_USAGE, "--fields belongs to taking a snapshot");
    if (q->threads && (q->quick || q->diff || is_file(names[0])))
        return error_set(e, ERROR_USAGE,
                         "--threads belongs to taking a snapshot with what keeps objects alive");
    q->names = names;
    q->name_count = (size_t)count;
    return 0;
}

static int parse(int argc, char **argv, request *q, error *e)
{
    static const struct option OPTIONS[] = {{"output", required_argument, NULL, 'o'},
                                            {"top", required_argument, NULL, 't'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"type", required_argument, NULL, 'y'},
                                            {"paths", no_argument, NULL, 'p'},
                                            {"objects", no_argument, NULL, 'i'},
                                            {"fields", required_argument, NULL, 'f'},
                                            {"threads", no_argument, NULL, 'h'},
                                            {"object", required_argument, NULL, 'a'},
                                            {"quick", no_argument, NULL, 'q'},
                                            {"strings", required_argument, NULL, 's'},
                                            {"every", required_argument, NULL, 'e'},
                                            {"count", required_argument, NULL, 'n'},
                                            {"depth", required_argument, NULL, 'd'},
                                            {"least-objects", required_argument, NULL, 'O'},
                                            {"least-bytes", required_argument, NULL, 'B'},
                                            {"group", required_argument, NULL, 'g'},
                                            {"json", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    int option;

    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "o:", OPTIONS, NULL)) != -1) {
        int code = take_option(q, option, argv[optind - 1], e);

        if (code != 0)
            return code;
    }
    if (q->report.top == 0)
        q->report.top = q->json ? 1000000 : ROWS;
    if (!q->strings_said && !q->strings_off)
        q->report.texts = TEXTS;
    q->report.waste = q->json ? q->report.top : WASTE;
    q->report.text_size = q->json ? 0 : TEXT_SIZE;
    return take_names(q, argc - optind, argv + optind, e);
}

/* ---- reading ---- */

/* Whether Ctrl-C came while this command takes a snapshot into `path`. */
static bool is_stopped(const request *q, const char *path)
{
    struct pollfd polled = {q->session.stop, POLLIN, 0};

    return path == q->file && poll(&polled, 1, 0) > 0;
}

static int load(const request *q, const char *path, model *m, const heap **h, error *e)
{
    const model_process *p;
    int code = input_load(path, m, e);

    if (code != 0)
        return code;
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
    if (code != 0)
        model_free(m);
    return code;
}

static int write_one(const request *q, const heap *h, sink *out, error *e)
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

static int write_diff(const request *q, heap_series *series, const heap *last, error *e)
{
    sink out;
    json j;
    int code;

    sink_init(&out, 1);
    if (q->json) {
        json_init(&j, &out);
        json_begin_object(&j);
        code = heap_report_diff_json(series, last, q->report.top, &j, e);
        json_end_object(&j);
        sink_char(&out, '\n');
        json_free(&j);
    } else {
        code = heap_report_diff(series, last, q->report.top, &out, e);
    }
    if (code == 0)
        code = sink_finish(&out, e);
    sink_free(&out);
    return code;
}

/* Takes a snapshot's sums into the series; after the last one, writes what grew. */
static int add_file(const request *q, heap_series *series, const char *file, bool is_last, error *e)
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

static int show_diff(const request *q, error *e)
{
    heap_series series;
    int code = 0;

    heap_series_init(&series);
    for (size_t i = 0; i < q->name_count && code == 0; i++)
        code = add_file(q, &series, q->names[i], i + 1 == q->name_count, e);
    heap_series_free(&series);
    return code;
}

/* Whether an object of the type at `name` is on the heap; type arguments may be any. */
static bool has_type(const heap *h, const char *name, size_t length)
{
    buffer pattern = BUFFER_EMPTY;
    unsigned depth = 0;
    bool found = false;

    for (size_t i = 0; i < length; i++) {
        if (name[i] == '<' && depth++ == 0)
            buffer_append_text(&pattern, "<*>");
        else if (name[i] == '>' && depth != 0)
            depth--;
        else if (depth == 0 && name[i] != ' ')
            buffer_append_char(&pattern, name[i] == '+' ? '.' : name[i]);
    }
    for (uint32_t i = 0; i < h->type_count && !found; i++)
        found = h->types[i].count != 0 && text_matches(heap_type_name(h, i), buffer_text(&pattern));
    buffer_free(&pattern);
    return found;
}

/* Names of --fields that led to nothing. */
static void tell_missing(const request *q, const heap *h)
{
    unsigned depth = 0;
    const char *begin = q->fields_said;

    for (const char *at = begin; begin != NULL; at++) {
        depth += *at == '<';
        depth -= *at == '>' && depth != 0;
        if (*at != '\0' && (*at != ',' || depth != 0))
            continue;
        if (!has_type(h, begin, (size_t)(at - begin)))
            fprintf(stderr, "--fields: no object of the type %.*s is on the heap\n",
                    (int)(at - begin), begin);
        if (*at == '\0')
            break;
        begin = at + 1 + strspn(at + 1, " ");
        at = begin - 1;
    }
}

static int show(const request *q, const char *file, error *e)
{
    sink out;
    const heap *h;
    model m;
    int code = load(q, file, &m, &h, e);

    if (code != 0)
        return code;
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
static int choose_file(request *q, size_t number, error *e)
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

static int take(request *q, size_t number, error *e)
{
    int code = choose_file(q, number, e);

    return code == 0 ? take_look_at(&q->session, q->names[0], e) : code;
}

static void forget_file(request *q)
{
    if (q->kept[0] == '\0')
        take_forget(q->file);
}

static int take_and_show(request *q, error *e)
{
    int code = take(q, 0, e);

    if (code == 0)
        code = show(q, q->file, e);
    forget_file(q);
    return code;
}

/* Waits for the next snapshot's time; true: Ctrl-C came first. */
static bool wait_until(const request *q, uint64_t time_ns)
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

/* Ctrl-C between two snapshots: what is there is compared. */
static int watch(request *q, error *e)
{
    uint64_t every = q->every_ns != 0 ? q->every_ns : EVERY_NS;
    size_t count = q->count != 0 ? q->count : COUNT;
    uint64_t next = os_monotonic_ns();
    heap_series series;
    bool stopped = false;
    int code = 0;

    heap_series_init(&series);
    for (size_t i = 1; i <= count && code == 0 && !stopped; i++) {
        code = take(q, i, e);
        if (code != 0)
            break;
        next += every;
        fprintf(stderr, "snapshot %zu of %zu is taken\n", i, count);
        stopped = i < count && wait_until(q, next);
        code = add_file(q, &series, q->file, i == count || (stopped && i > 1), e);
        forget_file(q);
    }
    if (code == 0 && series.count == 1)
        fprintf(stderr, "stopped after one snapshot: there is nothing to compare\n");
    heap_series_free(&series);
    return code;
}

static int prepare(request *q, int argc, char **argv, error *e)
{
    int code = way_choose(&q->session.way, false, e);

    if (code == 0 && q->quick && q->session.way == SESSION_BY_PORT)
        code = error_set(e, ERROR_USAGE, "a quick look needs the agent in the process");
    if (q->quick)
        q->session.way = SESSION_BY_AGENT;
    if (code == 0)
        code = catalogue_add(&q->selection, "heap", e);
    if (code == 0 && q->fields_said != NULL && q->session.way == SESSION_BY_PORT)
        code = error_set(e, ERROR_USAGE, "--fields needs the agent in the process");
    if (code == 0 && q->fields_said != NULL)
        code = catalogue_set(&q->selection, "heap", "fields", q->fields, e);
    if (code == 0 && q->threads)
        code = catalogue_add(&q->selection, "threads", e);
    if (code == 0 && q->strings_off)
        code = catalogue_set(&q->selection, "heap", "strings", "off", e);
    if (code == 0 && q->quick)
        code = catalogue_set(&q->selection, "heap", "quick", "true", e);
    for (int i = 0; i < argc; i++)
        buffer_format(&q->typed, "%s%s", i == 0 ? "clarinet " : " ", argv[i]);
    q->session.selection = &q->selection;
    q->session.command = buffer_text(&q->typed);
    q->session.short_lived = q->kept[0] == '\0';
    q->session.stop = cli_open_stop_descriptor(NULL);
    q->session.enough = take_whole_snapshot;
    return code;
}

int verb_heap(int argc, char **argv)
{
    static request q; /* large; the one of this process */
    error e;
    int code;

    error_clear(&e);
    code = parse(argc, argv, &q, &e);
    if (code == 0 && q.diff) {
        code = show_diff(&q, &e);
    } else if (code == 0 && !q.watch && (is_file(q.names[0]) || text_equal(q.names[0], "-"))) {
        code = show(&q, q.names[0], &e);
    } else if (code == 0) {
        code = prepare(&q, argc, argv, &e);
        if (code == 0)
            code = q.watch ? watch(&q, &e) : take_and_show(&q, &e);
        buffer_free(&q.typed);
    }
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
