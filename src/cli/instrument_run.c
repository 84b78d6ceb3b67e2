/*
 * instrument_run: see instrument_run.h. The points become patterns of the method tracer, which
 * records every call as a span; instrument_spans writes or sends them.
 */
#include "cli/instrument_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/instrument_spans.h"
#include "cli/library.h"
#include "cli/take.h"
#include "session/place.h"
#include "session/session.h"

enum {
    MOST_FILES = 64,
    SPAN_BYTES = 13, /* of the recording, about */
    END_MS = 3000,   /* whoever tells us to end does not wait for ever */
};

typedef struct {
    const home_files *files;
    const variables *environment;
    const char *destination;
    const char *home;
    const char *points[MOST_FILES];
    size_t point_files;
    char *const *command;
    bool by_http;
    http_address collector;
    points *set;
    catalogue_selection selection;
    session_options session;
    char folder[96]; /* of our own: the recording and the patterns */
    int lock;        /* held on it while we are at work */
    buffer recording, patterns, library, typed;
    buffer kept;             /* file for spans that their destination does not take */
    instrument_spans *spans; /* NULL = nothing is recorded yet */
} request;

/* ---- what the person wants ---- */

static int usage(error *e, const char *what)
{
    error_set(e, ERROR_USAGE, "%s", what);
    return error_advise(e, "for example: clarinet instrument run --otlp spans.json --points "
                           "shop.xml -- dotnet Shop.dll");
}

static int parse(int argc, char **argv, request *q, error *e)
{
    static const char LETTERS[] = "+";
    static const struct option OPTIONS[] = {{"otlp", required_argument, NULL, 'o'},
                                            {"home", required_argument, NULL, 'h'},
                                            {"points", required_argument, NULL, 'p'},
                                            {NULL, 0, NULL, 0}};
    int option;

    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        if (option == 'o')
            q->destination = optarg;
        else if (option == 'h')
            q->home = optarg;
        else if (option == 'p' && q->point_files < MOST_FILES)
            q->points[q->point_files++] = optarg;
        else if (option == 'p')
            return usage(e, "too many files with points: put them into a home folder");
        else
            return bad_option("instrument run", LETTERS, OPTIONS, argv, e);
    }
    if (optind >= argc || strcmp(argv[optind - 1], "--") != 0)
        return usage(e, "run needs a command after --");
    q->command = argv + optind;
    if (q->home != NULL && q->point_files != 0)
        return usage(e, "name the files with --points or their home with --home, not both");
    if (q->destination == NULL)
        return usage(e, "where shall the spans go? --otlp names a file or a collector");
    q->by_http = http_is_address(q->destination);
    if (q->by_http)
        return http_parse_address(q->destination, "4318", "/v1/traces", &q->collector, e);
    return 0;
}

/* ---- the points ---- */

static void warn(void *context, bool is_error, const char *sentence)
{
    (void)context;
    (void)is_error;
    fprintf(stderr, "clarinet: %s\n", sentence);
}

static int read_files(request *q, error *e)
{
    int code = 0;

    q->set = points_new((points_log){warn, NULL});
    if (q->set == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    for (size_t n = 0; n < q->point_files && code == 0; n++) {
        buffer bytes = BUFFER_EMPTY;

        code = os_read_file(q->points[n], 0, &bytes, e);
        if (code == 0)
            code =
                points_add_file(q->set, q->points[n], buffer_text(&bytes), bytes.length, NULL, e);
        buffer_free(&bytes);
    }
    if (code == 0)
        code = points_finish(q->set, e);
    if (code == 0)
        home_warn_of_file_names(q->set, (points_log){warn, NULL});
    return code;
}

static int read_home(request *q, error *e)
{
    home_folders folders;
    configuration settings;
    int code;

    home_find(&folders, q->files, q->environment, true);
    if (q->home != NULL)
        folders.home = q->home;
    if (folders.home == NULL || folders.home[0] == '\0')
        return usage(e, "no extension files: name them with --points, or their home with --home");
    code = home_read_configuration(&folders, q->environment, &settings, e);
    if (code != 0)
        return code;
    code = home_read_points(&folders, q->environment, &settings, NULL, 0, (points_log){warn, NULL},
                            &q->set, e);
    configuration_free(&settings);
    return code;
}

/* A parameter's type as patterns spell it: C#'s keyword, else anything. */
static void append_parameter(buffer *out, const char *type, size_t length)
{
    static const char *const NAMES[][2] = {
        {"System.Boolean", "bool"},  {"System.Byte", "byte"},     {"System.SByte", "sbyte"},
        {"System.Char", "char"},     {"System.Int16", "short"},   {"System.UInt16", "ushort"},
        {"System.Int32", "int"},     {"System.UInt32", "uint"},   {"System.Int64", "long"},
        {"System.UInt64", "ulong"},  {"System.Single", "float"},  {"System.Double", "double"},
        {"System.String", "string"}, {"System.Object", "object"},
    };

    for (size_t n = 0; n < sizeof NAMES / sizeof NAMES[0]; n++) {
        if (strlen(NAMES[n][0]) == length && strncmp(NAMES[n][0], type, length) == 0) {
            buffer_append_text(out, NAMES[n][1]);
            return;
        }
    }
    buffer_append_char(out, '*');
}

/* [Assembly]Type::Method(types) */
static void append_pattern(buffer *out, const point *p)
{
    buffer_format(out, "[%s]%s::%s", p->assembly, p->class_name, p->method);
    if (p->parameters != NULL) {
        const char *at = p->parameters;

        buffer_append_char(out, '(');
        while (*at != '\0') {
            size_t length = 0;
            int depth = 0;

            /* Commas inside of [] belong to a generic type. */
            for (; at[length] != '\0' && (depth != 0 || at[length] != ','); length++)
                depth += (at[length] == '[') - (at[length] == ']');
            append_parameter(out, at, length);
            at += length;
            if (*at == ',') {
                buffer_append_char(out, ',');
                at++;
            }
        }
        buffer_append_char(out, ')');
    }
    buffer_append_char(out, '\n');
}

static int make_patterns(request *q, error *e)
{
    bool every_assembly = false;
    size_t windows = 0;

    for (size_t n = 0; n < points_count(q->set); n++) {
        const point *p = points_at(q->set, n);

        append_pattern(&q->patterns, p);
        every_assembly = every_assembly || strcmp(p->assembly, "*") == 0;
        windows += p->has_minimum || p->has_maximum;
    }
    if (points_count(q->set) == 0)
        return error_set(e, ERROR_NOT_FOUND, "the extension files name no method");
    /* spans are made with the core library: one of its own would need another first, without end */
    if (every_assembly)
        buffer_append_text(&q->patterns, "![System.Private.CoreLib]*::*\n");
    if (windows != 0)
        fprintf(stderr,
                "clarinet: %zu point%s with a window of versions: taken for every version\n",
                windows, windows == 1 ? "" : "s");
    return buffer_failed(&q->patterns) ? error_set(e, ERROR_MEMORY, "no memory for the points") : 0;
}

/* ---- recording ---- */

static int prepare(request *q, error *e)
{
    char recording[64];
    buffer file = BUFFER_EMPTY;
    int code = place_make_folder("clarinet-spans-", false, q->patterns.length, q->folder,
                                 sizeof q->folder, e);

    if (code != 0)
        return code;
    q->lock = place_hold_folder(q->folder);
    code = take_temporary(recording, sizeof recording, e);
    if (code != 0)
        return code;
    buffer_append_text(&q->recording, recording);
    buffer_format(&q->kept, "%s/spans.json", q->folder);
    buffer_format(&file, "%s/points", q->folder);
    code = os_write_file(buffer_text(&file), q->patterns.data, q->patterns.length, e);
    if (code == 0)
        code = catalogue_add(&q->selection, "trace", e);
    if (code == 0)
        code = catalogue_set(&q->selection, "trace", "methods_file", buffer_text(&file), e);
    if (code == 0)
        code = catalogue_set(&q->selection, "trace", "spans", "true", e);
    buffer_free(&file);
    return code != 0 ? code : library_find(LIBRARY_AGENT, &q->library, e);
}

static void clean_up(request *q)
{
    buffer file = BUFFER_EMPTY;

    instrument_spans_free(q->spans);
    if (q->folder[0] != '\0') {
        buffer_format(&file, "%s/points", q->folder);
        unlink(buffer_text(&file));
        take_forget((char *)q->recording.data);
        rmdir(q->folder); /* only if it is empty */
        close(q->lock);
    }
    buffer_free(&file);
    buffer_free(&q->recording);
    buffer_free(&q->patterns);
    buffer_free(&q->library);
    buffer_free(&q->typed);
    buffer_free(&q->kept);
    points_free(q->set);
}

/* ---- the spans ---- */

/* Before the program is started: a file that cannot be written shall not cost a run. */
static int check_destination(const request *q, error *e)
{
    int descriptor;

    if (q->by_http || strcmp(q->destination, "-") == 0)
        return 0;
    descriptor = open(q->destination, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        error_set_errno(e, ERROR_IO, errno, "%s cannot be written", q->destination);
        return error_advise(e, "name a file in a folder that exists; the program was not started");
    }
    close(descriptor);
    return 0;
}

static int start_spans(request *q, error *e)
{
    instrument_spans_options options = {.recording = buffer_text(&q->recording),
                                        .destination = q->destination,
                                        .collector = q->by_http ? &q->collector : NULL,
                                        .kept = buffer_text(&q->kept)};
    int code = instrument_spans_start(&options, &q->spans, e);

    if (code != 0) {
        instrument_spans_free(q->spans);
        q->spans = NULL;
    }
    return code;
}

/* While the program runs; what fails here is tried again at its end. */
static void look_at_spans(void *context, const session_progress *progress)
{
    request *q = context;
    error ignored;

    error_clear(&ignored);
    if (progress->started && q->spans == NULL)
        start_spans(q, &ignored);
}

/* What the collector says about spans that it took. */
static void tell_rejected(const instrument_spans_counts *counts)
{
    if (counts->rejected != 0)
        fprintf(stderr, "clarinet: the collector rejected %llu span%s%s%s\n",
                (unsigned long long)counts->rejected, counts->rejected == 1 ? "" : "s",
                counts->words[0] == '\0' ? "" : ": ", counts->words);
    else if (counts->words[0] != '\0')
        fprintf(stderr, "clarinet: the collector warns: %s\n", counts->words);
}

/* Spans that did not reach their destination are kept where there is room, to be sent by hand;
 * those that did are not among them, or they would be there twice. */
static void tell_kept(const request *q, const instrument_spans_counts *counts)
{
    if (counts->delivered != 0)
        fprintf(stderr, "clarinet: %llu of %llu spans were %s before\n",
                (unsigned long long)counts->delivered,
                (unsigned long long)counts->delivered + counts->kept,
                q->by_http ? "sent" : "written");
    if (counts->kept != 0)
        fprintf(stderr, "clarinet: the %sspans are kept in %s (OTLP/JSON, one request a line)\n",
                counts->delivered != 0 ? "other " : "", buffer_text(&q->kept));
}

static void tell_delivered(const request *q, const instrument_spans_counts *counts, int code)
{
    tell_rejected(counts);
    if (code == 0)
        fprintf(stderr, "clarinet: %llu span%s %s %s\n", (unsigned long long)counts->delivered,
                counts->delivered == 1 ? "" : "s", q->by_http ? "sent to" : "in", q->destination);
    else
        tell_kept(q, counts);
    if (counts->bytes_left != 0)
        fprintf(stderr,
                "clarinet: a signal ended it before the rest, about %llu spans, was written\n",
                (unsigned long long)counts->bytes_left / SPAN_BYTES + 1);
}

static bool has_no_body(const model *m, const trace_result *r)
{
    return strstr(model_text(m, r->state), "it has no body") != NULL;
}

/* Methods that are named but have no spans: their number, and the first with its reason. */
static void tell_left_alone(const model *m, const trace_results *results)
{
    static const char STATE[] = "left alone";
    const trace_result *first = NULL;
    size_t count = 0;

    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];

        if (r->kind == TRACE_KIND_ASYNC || !text_starts_with(model_text(m, r->state), STATE) ||
            has_no_body(m, r))
            continue; /* (every wildcard means methods without a body) */
        if (first == NULL)
            first = r;
        count++;
    }
    if (first != NULL)
        fprintf(stderr, "clarinet: %zu method%s named and %s no spans; %s%s, %s\n", count,
                count == 1 ? " is" : "s are", count == 1 ? "has" : "have",
                count == 1 ? "" : "the first is ", model_text(m, first->name),
                model_text(m, first->state));
}

static bool is_of_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           (c & 0x80) != 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        if ((at == text || !is_of_name(at[-1])) && !is_of_name(at[length]))
            return true;
    return false;
}

/* Is the last piece of a point's name in the text? Reports spell generic and nested names in
 * another way, so only what both have is looked for: up to a back tick, behind the last dot or
 * plus. */
static bool has_piece(const char *text, const char *name)
{
    size_t end = strcspn(name, "`");
    size_t begin = end;
    char *piece;
    bool found;

    if (point_is_any(name))
        return true;
    while (begin > 0 && name[begin - 1] != '.' && name[begin - 1] != '+')
        begin--;
    piece = memory_copy_text_n(name + begin, end - begin);
    found = piece == NULL || has_word(text, piece);
    memory_free(piece);
    return found;
}

static bool is_of_assembly(const char *module, const char *assembly)
{
    size_t length = strlen(assembly);

    return point_is_any(assembly) ||
           (strncmp(module, assembly, length) == 0 &&
            (module[length] == '\0' || strchr(module + length + 1, '.') == NULL));
}

/* What a point has found; of methods with and without a body those that have one. */
static const trace_result *find_result(const model *m, const trace_results *results, const point *p)
{
    const trace_result *found = NULL;

    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];

        if (is_of_assembly(model_text(m, r->module), p->assembly) &&
            has_piece(model_text(m, r->name), p->class_name) &&
            has_piece(model_text(m, r->name), p->method)) {
            found = r;
            if (!has_no_body(m, r))
                break;
        }
    }
    return found;
}

static void tell_points(size_t count, const char *what, const point *first)
{
    fprintf(stderr, "clarinet: %zu point%s %s%s[%s]%s::%s (%s, line %u)", count,
            count == 1 ? " names" : "s name", what, count == 1 ? ": " : "; the first is ",
            first->assembly, first->class_name, first->method, first->file, first->line);
}

/* Points that found nothing (a typing error, or an assembly that the program did not load), where
 * that is of interest; and those that found nothing with a body. */
static void tell_useless(const request *q, const model *m, const trace_results *results,
                         bool nothing)
{
    const point *first = NULL, *first_empty = NULL;
    const char *reason = "";
    size_t count = 0, empty = 0;

    for (size_t n = 0; n < points_count(q->set); n++) {
        const point *p = points_at(q->set, n);
        const trace_result *found = find_result(m, results, p);

        if (found == NULL && count++ == 0)
            first = p;
        if (found != NULL && has_no_body(m, found) && empty++ == 0) {
            first_empty = p;
            reason = model_text(m, found->state);
        }
    }
    if (first != NULL && nothing) {
        tell_points(count, "no method that was loaded", first);
        fprintf(stderr, "\n");
    }
    if (first_empty != NULL) {
        tell_points(empty, "no method with a body", first_empty);
        fprintf(stderr, ", %s\n", reason);
    }
}

static int tell_of_points(const request *q, const model *m, uint64_t spans, error *e)
{
    trace_results results;
    int code = trace_analyse(m, &results, e);

    if (code != 0)
        return code;
    tell_left_alone(m, &results);
    /* A home folder has points for many libraries, most of which a program does not have. */
    tell_useless(q, m, &results, q->point_files != 0 || spans == 0);
    trace_results_free(&results);
    return 0;
}

/* A program that was ended takes what it had not handed over with it. */
static void tell_signal(int signal, uint64_t missing)
{
    fprintf(stderr, "clarinet: the program was ended by signal %d: calls of its last 0.1 s may be ",
            signal);
    if (missing == 0)
        fprintf(stderr, "missing\n");
    else
        fprintf(stderr, "missing, and %llu that had begun before %s running or %s lost\n",
                (unsigned long long)missing, missing == 1 ? "was" : "were",
                missing == 1 ? "is" : "are");
}

/* What is not among the spans, by reason. */
static void tell_losses(const model *m, const flow *f, int signal)
{
    uint64_t lost[FLOW_LOSS_NOTHING + 1] = {0};
    uint64_t calls, methods, assemblies, missing;

    for (size_t n = 0; n < m->process_count; n++)
        for (size_t i = 0; i < m->processes[n].loss_count; i++) {
            const model_loss *loss = &m->processes[n].losses[i];

            lost[flow_loss_of(model_text(m, loss->reason))] += loss->total;
        }
    calls = lost[FLOW_LOSS_CALLS];
    methods = lost[FLOW_LOSS_METHODS];
    assemblies = lost[FLOW_LOSS_ASSEMBLIES];
    if (calls != 0)
        fprintf(stderr, "clarinet: %llu call%s too many at once and %s not among them\n",
                (unsigned long long)calls, calls == 1 ? " was" : "s were",
                calls == 1 ? "is" : "are");
    if (methods != 0)
        fprintf(
            stderr,
            "clarinet: no memory for %llu method%s, whose calls have no spans: fewer points, or "
            "CLARINET_MEMORY=128M in the environment, helps\n",
            (unsigned long long)methods, methods == 1 ? "" : "s");
    if (assemblies != 0)
        fprintf(stderr,
                "clarinet: left alone, since code that can be unloaded is not traced: %llu %s\n",
                (unsigned long long)assemblies, assemblies == 1 ? "assembly" : "assemblies");
    missing = flow_missing(f);
    if (signal != 0)
        tell_signal(signal, missing > calls ? missing - calls : 0);
}

static int deliver(request *q, const session_result *result, error *e)
{
    instrument_spans_counts counts;
    const model *m;
    int code = q->spans == NULL ? start_spans(q, e) : 0;

    if (code != 0)
        return code;
    code = instrument_spans_finish(q->spans, q->session.stop, result->told_to_end ? END_MS : 0, e);
    counts = instrument_spans_result(q->spans);
    m = instrument_spans_model(q->spans);
    tell_delivered(q, &counts, code);
    tell_losses(m, instrument_spans_flow(q->spans), result->signal);
    if (strcmp(result->reason, "stopped") == 0)
        fprintf(stderr, "clarinet: it was stopped before the program ended: later calls have no "
                        "spans\n");
    return code != 0 ? code : tell_of_points(q, m, counts.delivered, e);
}

static int run(request *q, error *e)
{
    session_result result;
    int code;

    q->session.selection = &q->selection;
    q->session.library = buffer_text(&q->library);
    q->session.file = buffer_text(&q->recording);
    q->session.short_lived = true;
    q->session.command = buffer_text(&q->typed);
    q->session.stop = cli_open_stop_descriptor(NULL);
    q->session.progress = look_at_spans;
    q->session.context = q;
    code = session_record_command(&q->session, q->command, &result, e);
    if (code != 0)
        return cli_fail(e);
    if (result.trouble.code != 0)
        cli_fail(&result.trouble);
    if (result.total.started && deliver(q, &result, e) != 0) {
        code = cli_fail(e);
        return result.exit_code != 0 ? result.exit_code : code;
    }
    return result.exit_code;
}

int instrument_run(int argc, char **argv, const home_files *files, const variables *environment)
{
    static request q; /* large; the one of this process */
    error e;
    int code;

    error_clear(&e);
    q.files = files;
    q.environment = environment;
    code = parse(argc, argv, &q, &e);
    if (code == 0)
        code = q.point_files != 0 ? read_files(&q, &e) : read_home(&q, &e);
    if (code == 0)
        code = make_patterns(&q, &e);
    if (code == 0)
        code = check_destination(&q, &e);
    if (code == 0)
        code = prepare(&q, &e);
    cli_append_typed(&q.typed, "clarinet instrument", argc, argv);
    code = code != 0 ? cli_fail(&e) : run(&q, &e);
    clean_up(&q);
    return code;
}
