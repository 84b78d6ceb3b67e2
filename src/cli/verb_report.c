/* clarinet report FILE -f FORMAT [-o OUT]: a recording in any format. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/file_name.h"
#include "cli/input.h"
#include "cli/plain.h"
#include "report/report.h"

typedef struct {
    const char *file;
    const char *format;
    const char *out;
    report_options report;
} arguments;

/* "1.5s", "200ms", "2m", or seconds without a unit; -1 when it is not a time. */
static double parse_seconds(const char *text)
{
    static const struct {
        const char *suffix;
        double factor;
    } UNITS[] = {{"", 1}, {"s", 1}, {"ms", 0.001}, {"us", 0.000001}, {"m", 60}, {"h", 3600}};
    char *end;
    double value = strtod(text, &end);

    if (end == text || !(value >= 0) || value > 1e9)
        return -1;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (text_equal(end, UNITS[i].suffix))
            return value * UNITS[i].factor;
    return -1;
}

static int take_time(const char *option, const char *value, uint64_t *ns, error *e)
{
    double seconds = parse_seconds(value);

    if (seconds < 0) {
        error_set(e, ERROR_USAGE, "%s wants a time, not '%s'", option, value);
        return error_advise(e, "for example 1.5s or 200ms, counted from the recording's start");
    }
    *ns = (uint64_t)(seconds * 1e9);
    return 0;
}

static int take_state(const char *value, uint64_t *state, error *e)
{
    for (uint64_t i = 1; i < PROFILE_STATES; i++) {
        if (text_equal(profile_state_name(i), value)) {
            *state = i;
            return 0;
        }
    }
    error_set(e, ERROR_USAGE, "there is no state '%s'", value);
    return error_advise(e, "states: running, lock, sleep, io, gc, wait");
}

static int take_valued(arguments *a, const char *option, const char *value, error *e)
{
    if (text_equal(option, "-f") || text_equal(option, "--format")) {
        a->format = value;
    } else if (text_equal(option, "-o") || text_equal(option, "--output")) {
        a->out = value;
    } else if (text_equal(option, "--process")) {
        a->report.process = value;
    } else if (text_equal(option, "-p") || text_equal(option, "--profiler")) {
        a->report.profiler = value;
    } else if (text_equal(option, "--method")) {
        a->report.method = value;
    } else if (text_equal(option, "--thread")) {
        a->report.thread = value;
    } else if (text_equal(option, "--state")) {
        return take_state(value, &a->report.state, e);
    } else if (text_equal(option, "--from")) {
        return take_time(option, value, &a->report.from_ns, e);
    } else if (text_equal(option, "--to")) {
        return take_time(option, value, &a->report.to_ns, e);
    } else if (text_equal(option, "--top")) {
        uint64_t top;

        if (!text_to_u64(value, &top) || top == 0 || top > 1000000)
            return error_set(e, ERROR_USAGE, "--top wants a number from 1 to 1000000, not '%s'",
                             value);
        a->report.top = (size_t)top;
    } else {
        error_set(e, ERROR_USAGE, "report has no option '%s'", option);
        return error_advise(e, "`clarinet report --help` lists the options");
    }
    return 0;
}

static int parse(int argc, char **argv, arguments *a, error *e)
{
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        int code;

        if (option[0] != '-' || option[1] == '\0') {
            if (a->file != NULL)
                return error_set(e, ERROR_USAGE, "report takes one recording, not also '%s'",
                                 option);
            a->file = option;
        } else if (text_equal(option, "--threads")) {
            a->report.threads = true;
        } else if (text_equal(option, "--no-source")) {
            a->report.no_source = true;
        } else if (i + 1 == argc) {
            error_set(e, ERROR_USAGE, "the option '%s' is unknown or has no value", option);
            return error_advise(e, "`clarinet report --help` lists the options");
        } else {
            code = take_valued(a, option, argv[++i], e);
            if (code != 0)
                return code;
        }
    }
    if (a->file == NULL) {
        error_set(e, ERROR_USAGE, "report needs a recording");
        return error_advise(e, "clarinet report FILE.clarinet -f html -o report.html");
    }
    if (a->report.to_ns != 0 && a->report.to_ns <= a->report.from_ns) {
        error_set(e, ERROR_USAGE, "--to is not after --from");
        return error_advise(e, "both are counted from the recording's start");
    }
    return 0;
}

/* -f, or what the name given with -o ends in, or md. */
static int choose_format(const arguments *a, const report_format **format, error *e)
{
    *format = NULL;
    if (a->format != NULL) {
        *format = report_find_format(a->format);
        if (*format == NULL) {
            error_set(e, ERROR_USAGE, "there is no format '%s'", a->format);
            return error_advise(e, "formats: html, md, json, speedscope, pprof, collapsed, chrome, "
                                   "otlp, otlp-profile");
        }
        return 0;
    }
    if (a->out != NULL)
        for (const report_format *f = REPORT_FORMATS; f->name != NULL; f++)
            if (text_ends_with(a->out, f->extension) &&
                (*format == NULL || strlen(f->extension) > strlen((*format)->extension)))
                *format = f;
    if (*format == NULL)
        *format = report_find_format("md");
    return 0;
}

static int open_output(const arguments *a, const report_format *format, int *descriptor, error *e)
{
    *descriptor = 1;
    if (a->out != NULL && !text_equal(a->out, "-")) {
        *descriptor = open(a->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (*descriptor < 0) {
            error_set_errno(e, ERROR_IO, errno, "cannot write %s", a->out);
            return error_advise(e, "choose another place with -o");
        }
        return 0;
    }
    if (format->is_binary && isatty(1)) {
        error_set(e, ERROR_USAGE, "%s is binary and not meant for a terminal", format->name);
        return error_advise(e, "give a file with -o, or pipe the output");
    }
    return 0;
}

/* What a reader must know wherever the report itself cannot say it. */
static void print_warnings(const model *m)
{
    uint64_t missing = model_not_recorded(m);

    if (m->cut[0] != '\0')
        fprintf(stderr, "clarinet: %s\n", m->cut);
    if (missing != 0)
        fprintf(stderr, "clarinet: %llu more process%s not recorded\n", (unsigned long long)missing,
                missing == 1 ? " was" : "es were");
    if (m->damaged_chunks != 0)
        fprintf(stderr, "clarinet: %llu damaged chunks were skipped\n",
                (unsigned long long)m->damaged_chunks);
}

static void print_loss(const model *m, const model_loss *loss)
{
    fputs("clarinet: ", stderr);
    plain_put(stderr, model_text(m, loss->profiler));
    fprintf(stderr, " lost %llu: ", (unsigned long long)loss->total);
    plain_put(stderr, model_text(m, loss->reason));
    fputc('\n', stderr);
}

static void print_losses(const model *m)
{
    for (size_t i = 0; i < m->process_count; i++) {
        const model_process *p = &m->processes[i];

        for (size_t k = 0; k < p->loss_count; k++)
            if (p->losses[k].total != 0)
                print_loss(m, &p->losses[k]);
        if (report_has_own_cost_percent(p))
            fprintf(stderr, "clarinet: own cost %.3f %% of one processor\n",
                    report_own_cost_percent(p));
    }
}

/* Half a report would pass for a whole one. Only what is a file is removed. */
static void remove_half(const char *path)
{
    struct stat status;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}

static int write_report(const arguments *a, const report_format *format, const model *m, error *e)
{
    sink out;
    int descriptor;
    int code = open_output(a, format, &descriptor, e);

    if (code != 0)
        return code;
    sink_init(&out, descriptor);
    code = report_write(m, format, &a->report, &out, e);
    sink_free(&out);
    if (descriptor != 1 && close(descriptor) != 0 && code == 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot write %s", a->out);
    if (code != 0 && descriptor != 1)
        remove_half(a->out);
    return code;
}

int verb_report(int argc, char **argv)
{
    const report_format *format;
    arguments a = {0};
    error e = {0};
    model m;

    if (parse(argc, argv, &a, &e) != 0 || file_name_check_apart(a.file, a.out, &e) != 0 ||
        choose_format(&a, &format, &e) != 0 || input_load(a.file, &m, &e) != 0)
        return cli_fail(&e);
    print_warnings(&m);
    if (m.process_count == 0) {
        error_set(&e, ERROR_CORRUPT, "there is no process in %s: nothing to report", a.file);
        error_advise(&e, "the recording was cut off at its start; make it again");
        model_free(&m);
        return cli_fail(&e);
    }
    /* checked first: a slip of the pen must not cost an earlier report its file */
    if (report_check(&m, &a.report, &e) != 0 || write_report(&a, format, &m, &e) != 0) {
        model_free(&m);
        return cli_fail(&e);
    }
    if (text_equal(format->name, "collapsed") || text_equal(format->name, "speedscope") ||
        text_equal(format->name, "chrome") || text_starts_with(format->name, "otlp"))
        print_losses(&m);
    model_free(&m);
    return CLI_DONE;
}
