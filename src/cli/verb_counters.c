/*
 * clarinet counters PID: the counters of the runtime and of libraries, live, for machines and for
 * Prometheus. Records with the profiler `counters` and takes the values out as they come.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/counters_listen.h"
#include "cli/counters_show.h"
#include "cli/plain.h"
#include "cli/take.h"
#include "cli/way.h"
#include "clr/counter_events.h"
#include "report/number.h"
#include "session/session.h"

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_PROMETHEUS } format;

typedef struct {
    const char *target;
    const char *interval;
    const char *meters;  /* NULL = none */
    const char *sources; /* NULL = none by name */
    const char *file;    /* -o; NULL = a temporary one */
    format format;
    uint64_t duration_ns;
    bool listens;
    unsigned port;
    int listener;
    bool on_terminal;
    counters_live live;
    size_t shown; /* values so far, on a terminal: drawn when there are more */
    size_t taken;
    bool is_ready; /* listens, and has values to tell */
    bool has_told_way;
} request;

/* Between two scrapes a step can come and go: what a total does not have is said, once for each. */
static void note_not_added(const counters_series *s, const counters_value *v)
{
    char value[NUMBER_TEXT];

    if (s->kind != COUNTERS_INCREASE || isfinite(v->value) || s->not_added != 1)
        return;
    fputs("clarinet: ", stderr);
    plain_put(stderr, s->provider);
    fputs(": ", stderr);
    plain_put(stderr, s->title[0] != '\0' ? s->title : s->name);
    fprintf(stderr, " grew by %s: totals are added up without such steps\n",
            number_text(value, 10, v->value));
}

static void on_value(void *context, const counters_series *s, const counters_value *v)
{
    request *q = context;

    q->taken++;
    if (q->listens || q->format == FORMAT_PROMETHEUS)
        note_not_added(s, v);
    if (q->format == FORMAT_CSV)
        counters_show_csv(stdout, s, v);
    else if (q->format == FORMAT_TEXT && !q->listens && !q->on_terminal)
        counters_show_line(stdout, s, v);
}

static bool on_chunk(void *context, const recording_chunk *chunk)
{
    request *q = context;

    counters_live_feed(&q->live, chunk);
    return false;
}

/* Who comes before the first values is told to come again, not that there are none. */
static void serve(request *q)
{
    buffer text = BUFFER_EMPTY;

    if (q->taken != 0 && !q->is_ready) {
        fprintf(stderr, "clarinet: listening on http://127.0.0.1:%u/metrics; Ctrl-C ends it\n",
                q->port);
        q->is_ready = true;
    }
    counters_show_prometheus(&text, &q->live);
    counters_listen_serve(q->listener, q->is_ready ? &text : NULL);
    buffer_free(&text);
}

static void on_progress(void *context, const session_progress *now)
{
    request *q = context;

    if (now->port_reason != NULL && !q->has_told_way) {
        q->has_told_way = true;
        fprintf(stderr,
                "clarinet: through the diagnostics port, without the agent in the process%s",
                now->port_reason->code == 0 ? "" : ": ");
        plain_put(stderr, now->port_reason->message);
        fputc('\n', stderr);
    }
    if (q->listens) {
        serve(q);
    } else if (q->on_terminal && q->taken != q->shown) {
        counters_show_screen(stdout, &q->live);
        q->shown = q->taken;
    }
    fflush(stdout);
}

static int take_format(const char *name, format *which, error *e)
{
    static const char *const NAMES[] = {"text", "json", "csv", "prometheus"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (text_equal(name, NAMES[i])) {
            *which = (format)i;
            return 0;
        }
    }
    error_set(e, ERROR_USAGE, "counters has no format '%s'", name);
    return error_advise(e, "it has text, json, csv and prometheus");
}

static int take_port(const char *text, request *q, error *e)
{
    uint64_t port;

    if (!text_to_u64(text, &port) || port > 65535)
        return error_set(e, ERROR_USAGE, "--listen needs a port, 0 to 65535, not '%s'", text);
    q->listens = true;
    q->port = (unsigned)port;
    return 0;
}

static int parse(int argc, char **argv, request *q, error *e)
{
    static const char LETTERS[] = "d:i:f:o:";
    static const struct option OPTIONS[] = {{"duration", required_argument, NULL, 'd'},
                                            {"interval", required_argument, NULL, 'i'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"meters", required_argument, NULL, 'm'},
                                            {"listen", required_argument, NULL, 'l'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"sources", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    int option;
    int code = 0;

    opterr = 0;
    optind = 1;
    while (code == 0 && (option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        if (option == 'd')
            code = catalogue_parse_duration(optarg, &q->duration_ns, e);
        else if (option == 'i')
            q->interval = optarg;
        else if (option == 'm')
            q->meters = optarg;
        else if (option == 's')
            q->sources = optarg;
        else if (option == 'f')
            code = take_format(optarg, &q->format, e);
        else if (option == 'j')
            q->format = FORMAT_JSON;
        else if (option == 'l')
            code = take_port(optarg, q, e);
        else if (option == 'o')
            q->file = optarg;
        else
            code = bad_option("counters", LETTERS, OPTIONS, argv, e);
    }
    if (code == 0 && optind + 1 != argc) {
        error_set(e, ERROR_USAGE, "counters needs one process");
        code = error_advise(e, "name a PID or a process: clarinet ps");
    }
    q->target = code == 0 ? argv[optind] : NULL;
    return code;
}

static int record(request *q, const char *file, error *e)
{
    catalogue_selection selection = {0};
    session_options session = {0};
    int code = way_choose(&session.way, false, e);

    if (code == 0)
        code = catalogue_add(&selection, "counters", e);

    if (code == 0 && q->interval != NULL)
        code = catalogue_set(&selection, "counters", "interval", q->interval, e);
    if (code == 0 && q->meters != NULL)
        code = catalogue_set(&selection, "counters", "meters", q->meters, e);
    if (code == 0 && q->sources != NULL)
        code = catalogue_set(&selection, "counters", "sources", q->sources, e);
    if (code != 0)
        return code;
    session.selection = &selection;
    session.file = file;
    session.short_lived = q->file == NULL;
    session.tells_way = true;
    session.command = "clarinet counters";
    session.duration_ns = q->duration_ns;
    session.stop = cli_open_stop_descriptor(NULL);
    session.progress = on_progress;
    session.enough = on_chunk;
    session.context = q;
    return take_look_at(&session, q->target, e);
}

static int show_at_end(request *q, error *e)
{
    buffer text = BUFFER_EMPTY;

    if (q->listens)
        return 0;
    if (q->format == FORMAT_JSON)
        return counters_show_json(STDOUT_FILENO, &q->live, e);
    if (q->format == FORMAT_PROMETHEUS) {
        counters_show_prometheus(&text, &q->live);
        fputs(buffer_text(&text), stdout);
        buffer_free(&text);
    }
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : error_set(e, ERROR_IO, "the counters could not be written");
}

static bool has_series_of(const counters_live *live, const char *provider, size_t length)
{
    for (size_t i = 0; i < live->count; i++)
        if (strlen(live->series[i].provider) == length &&
            memcmp(live->series[i].provider, provider, length) == 0)
            return true;
    return false;
}

/* Names that somebody asked for and that told nothing. */
static void note_silent(const request *q, const char *what, const char *names)
{
    const char *list = names == NULL ? "" : names;
    const char *name;
    size_t length;

    while ((length = counter_next_source(&list, &name)) != 0) {
        const char *instrument = memchr(name, '\\', length);

        if (instrument != NULL)
            length = (size_t)(instrument - name);
        if (!has_series_of(&q->live, name, length))
            fprintf(stderr,
                    "clarinet: the %s '%.*s' told no value: is the name right, and does "
                    "the program use it?\n",
                    what, (int)length, name);
    }
}

/* An empty answer says why it is empty: too short a look, or a name that nobody knows. */
static void note_silence(const request *q)
{
    if (q->taken == 0) {
        fprintf(stderr,
                "clarinet: no value came: the first are there after one interval (%s); "
                "look for longer (-d) or more often (-i)\n",
                q->interval == NULL ? "1s" : q->interval);
        return;
    }
    note_silent(q, "meter", q->meters);
    note_silent(q, "source", q->sources);
}

static int start_listening(request *q, error *e)
{
    if (!q->listens)
        return 0;
    q->listener = counters_listen_open(&q->port, e);
    if (q->listener < 0)
        return e->code;
    fprintf(stderr, "clarinet: waiting for the first values, which come after one interval (%s)\n",
            q->interval == NULL ? "1s" : q->interval);
    return 0;
}

int verb_counters(int argc, char **argv)
{
    char temporary[512] = "";
    request q = {.listener = -1};
    error e;
    int code;

    error_clear(&e);
    code = parse(argc, argv, &q, &e);
    q.on_terminal = isatty(STDOUT_FILENO) && q.format == FORMAT_TEXT && !q.listens;
    q.live.last_only = q.format != FORMAT_JSON || q.listens;
    q.live.on_value = on_value;
    q.live.context = &q;
    if (code == 0 && q.file == NULL)
        code = take_temporary(temporary, sizeof temporary, &e);
    if (code == 0)
        code = start_listening(&q, &e);
    if (code == 0 && q.format == FORMAT_CSV)
        counters_show_csv_head(stdout);
    if (code == 0)
        code = record(&q, q.file == NULL ? temporary : q.file, &e);
    if (code == 0)
        code = show_at_end(&q, &e);
    if (code == 0)
        note_silence(&q);
    take_forget(temporary);
    if (q.listener >= 0)
        close(q.listener);
    counters_live_free(&q.live);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
