/* clarinet diff BEFORE AFTER: what got slower between two recordings. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/file_name.h"
#include "report/diff.h"

typedef struct {
    const char *files[2];
    const char *format;
    const char *out;
    bool absolute;
    report_options report;
} arguments;

static int take_valued(arguments *a, const char *option, const char *value, error *e)
{
    uint64_t top;

    if (text_equal(option, "-f") || text_equal(option, "--format")) {
        a->format = value;
    } else if (text_equal(option, "-o") || text_equal(option, "--output")) {
        a->out = value;
    } else if (text_equal(option, "-p") || text_equal(option, "--profiler")) {
        a->report.profiler = value;
    } else if (text_equal(option, "--process")) {
        a->report.process = value;
    } else if (text_equal(option, "--thread")) {
        a->report.thread = value;
    } else if (text_equal(option, "--top")) {
        if (!text_to_u64(value, &top) || top == 0 || top > 1000000)
            return error_set(e, ERROR_USAGE, "--top wants a number from 1 to 1000000, not '%s'",
                             value);
        a->report.top = (size_t)top;
    } else {
        error_set(e, ERROR_USAGE, "diff has no option '%s'", option);
        return error_advise(e, "`clarinet diff --help` lists the options");
    }
    return 0;
}

static int parse(int argc, char **argv, arguments *a, error *e)
{
    size_t files = 0;

    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        int code;

        if (option[0] != '-' || option[1] == '\0') {
            if (files == 2)
                return error_set(e, ERROR_USAGE, "diff takes two recordings, not also '%s'",
                                 option);
            a->files[files++] = option;
        } else if (text_equal(option, "--absolute")) {
            a->absolute = true;
        } else if (i + 1 == argc) {
            error_set(e, ERROR_USAGE, "the option '%s' is unknown or has no value", option);
            return error_advise(e, "`clarinet diff --help` lists the options");
        } else {
            code = take_valued(a, option, argv[++i], e);
            if (code != 0)
                return code;
        }
    }
    if (files != 2) {
        error_set(e, ERROR_USAGE, "diff needs two recordings");
        return error_advise(e, "clarinet diff before.clarinet after.clarinet");
    }
    return 0;
}

static int choose_format(const arguments *a, const diff_format **format, error *e)
{
    *format = NULL;
    if (a->format != NULL) {
        *format = diff_find_format(a->format);
        if (*format == NULL) {
            error_set(e, ERROR_USAGE, "diff has no format '%s'", a->format);
            return error_advise(e, "formats: md, json, html, collapsed");
        }
        return 0;
    }
    for (const diff_format *f = DIFF_FORMATS; f->name != NULL && a->out != NULL; f++)
        if (text_ends_with(a->out, f->extension))
            *format = f;
    if (*format == NULL)
        *format = diff_find_format("md");
    return 0;
}

static int load(const char *path, model *m, error *e)
{
    int code = input_load(path, m, e);

    if (code == 0 && m->cut[0] != '\0')
        fprintf(stderr, "clarinet: %s: %s\n", path, m->cut);
    return code;
}

static int write_out(const arguments *a, const diff_format *format, difference *d, error *e)
{
    int descriptor = 1;
    sink out;
    int code;

    if (a->out != NULL && !text_equal(a->out, "-")) {
        descriptor = open(a->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (descriptor < 0) {
            error_set_errno(e, ERROR_IO, errno, "cannot write %s", a->out);
            return error_advise(e, "choose another place with -o");
        }
    }
    sink_init(&out, descriptor);
    code = format->write(d, &a->report, &out, e);
    if (code == 0)
        code = sink_finish(&out, e);
    sink_free(&out);
    if (descriptor != 1 && close(descriptor) != 0 && code == 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot write %s", a->out);
    return code;
}

int verb_diff(int argc, char **argv)
{
    const diff_format *format;
    arguments a = {0};
    error e = {0};
    model models[2] = {0};
    difference d = {0};
    int code = parse(argc, argv, &a, &e);

    for (size_t i = 0; i < 2 && code == 0; i++)
        code = file_name_check_apart(a.files[i], a.out, &e);
    if (code == 0)
        code = choose_format(&a, &format, &e);
    if (code == 0)
        code = load(a.files[0], &models[0], &e);
    if (code == 0)
        code = load(a.files[1], &models[1], &e);
    if (code == 0)
        code = diff_build(&models[0], a.files[0], &models[1], a.files[1], &a.report, !a.absolute,
                          &d, &e);
    if (code == 0)
        code = write_out(&a, format, &d, &e);
    difference_free(&d);
    model_free(&models[0]);
    model_free(&models[1]);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
