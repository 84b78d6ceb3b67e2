/* clarinet ps: the .NET processes of this machine, as a table, as JSON, or again and again. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os.h"
#include "base/screen.h"
#include "base/text.h"
#include "cli/cli.h"
#include "diagnostics/processes.h"
#include "server/describe.h"

enum { WATCH_INTERVAL_MS = 2000, COLUMNS_MAX = 9, WIDTH_WITHOUT_TERMINAL = 0 };

typedef struct {
    bool json;
    bool watch;
} ps_options;

static volatile sig_atomic_t interrupted;

static int parse_options(int argc, char **argv, ps_options *options);
static int show_once(const ps_options *options);
static void print_table(const diagnostics_process_list *list, FILE *out);
static size_t terminal_width(FILE *out);
static void print_cut(const char *text, size_t room, FILE *out);
static int print_json(const diagnostics_process_list *list, bool one_line, FILE *out);

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

int verb_ps(int argc, char **argv)
{
    ps_options options = {false, false};
    struct sigaction action = {.sa_handler = on_interrupt};
    int code = parse_options(argc, argv, &options);

    if (code != 0)
        return code;
    if (!options.watch)
        return show_once(&options);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    while (!interrupted) {
        bool terminal = isatty(STDOUT_FILENO) && !options.json;

        if (terminal)
            fputs("\033[H\033[2J", stdout);
        if ((code = show_once(&options)) != CLI_DONE)
            return code;
        if (!terminal && !options.json)
            putchar('\n');
        if (fflush(stdout) != 0 ||
            ferror(stdout)) /* the reader of a pipe has gone; anything else is told by main */
            return errno == EPIPE ? CLI_FAILED : CLI_DONE;
        for (int i = 0; i < WATCH_INTERVAL_MS / 100 && !interrupted; i++)
            os_sleep_ms(100);
    }
    return CLI_DONE;
}

static int parse_options(int argc, char **argv, ps_options *options)
{
    error e;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (strcmp(argv[i], "--watch") == 0 || strcmp(argv[i], "-w") == 0) {
            options->watch = true;
        } else {
            error_set(&e, ERROR_USAGE, "ps does not know '%s'", argv[i]);
            error_advise(&e, "`clarinet ps --help` tells its options");
            return cli_fail(&e);
        }
    }
    return 0;
}

/* On a screen that is drawn again and again the note must not wrap. */
static void print_stale(const diagnostics_process_list *list, size_t width)
{
    buffer note = BUFFER_EMPTY;
    char *line = NULL; /* stderr has no buffer: byte by byte it would be 100 system calls */
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);

    buffer_format(&note,
                  "%zu diagnostics socket%s left behind by processes that have ended, such as %s",
                  list->stale_count, list->stale_count == 1 ? " was" : "s were", list->stale[0]);
    if (out != NULL) {
        putc('\n', out);
        print_cut(buffer_text(&note), width == WIDTH_WITHOUT_TERMINAL ? SIZE_MAX : width, out);
        putc('\n', out);
        fclose(out);
        fwrite(line, 1, length, stderr);
    }
    free(line);
    buffer_free(&note);
}

static int show_once(const ps_options *options)
{
    diagnostics_process_list list;
    error e;
    int code = CLI_DONE;

    if (diagnostics_list_processes(0, &list, &e) != 0)
        return cli_fail(&e);
    if (options->json)
        code = print_json(&list, options->watch, stdout);
    else
        print_table(&list, stdout);
    if (list.stale_count > 0 && !options->json)
        print_stale(&list, options->watch ? terminal_width(stderr) : WIDTH_WITHOUT_TERMINAL);
    diagnostics_process_list_free(&list);
    return code;
}

/* --- the table --- */

typedef struct {
    const char *title;
    bool right;
    bool needed; /* shown at all */
    size_t width;
} ps_column;

enum {
    COLUMN_PID,
    COLUMN_RUNTIME,
    COLUMN_ARCHITECTURE,
    COLUMN_UPTIME,
    COLUMN_USER,
    COLUMN_CONTAINER,
    COLUMN_PROFILER,
    COLUMN_NAME,
    COLUMN_COMMAND,
};

static void format_uptime(buffer *out, double seconds)
{
    unsigned long s = (unsigned long)seconds;

    if (s < 120)
        buffer_format(out, "%lu s", s);
    else if (s < 7200)
        buffer_format(out, "%lu min", s / 60);
    else if (s < 172800)
        buffer_format(out, "%lu h", s / 3600);
    else
        buffer_format(out, "%lu d", s / 86400);
}

static void format_cell(const diagnostics_process *process, int column, buffer *out)
{
    buffer_clear(out);
    switch (column) {
    case COLUMN_PID:
        if (process->process_id != 0)
            buffer_format(out, "%d", process->process_id);
        break;
    case COLUMN_RUNTIME:
        buffer_append_text(out, process->runtime_version);
        break;
    case COLUMN_ARCHITECTURE:
        buffer_append_text(out, process->architecture);
        break;
    case COLUMN_UPTIME:
        format_uptime(out, process->uptime_seconds);
        break;
    case COLUMN_USER:
        buffer_append_text(out, process->user);
        break;
    case COLUMN_CONTAINER:
        if (process->container)
            buffer_format(out, "as %d", process->inner_pid);
        break;
    case COLUMN_PROFILER:
        buffer_append_text(out, process->profiler);
        break;
    case COLUMN_NAME:
        buffer_append_text(out, process->name);
        break;
    case COLUMN_COMMAND:
        buffer_append_text(out, process->command_line);
        break;
    default:
        break;
    }
    if (out->length == 0)
        buffer_append_char(out, '-');
}

/* Characters, not bytes. */
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Prints at most `room` characters, control characters as '?'. */
static void print_cut(const char *text, size_t room, FILE *out)
{
    size_t width = text_width(text);

    for (; *text != '\0' && room > 0; text++) {
        bool begins = ((unsigned char)*text & 0xc0) != 0x80;
        size_t control = screen_control_length(text);

        if (begins && room == 1 && width > 1) {
            fputs("…", out);
            return;
        }
        putc(control != 0 ? '?' : *text, out);
        text += control == 0 ? 0 : control - 1;
        if (((unsigned char)text[1] & 0xc0) != 0x80) {
            room--;
            width--;
        }
    }
}

static size_t terminal_width(FILE *out)
{
    struct winsize size = {0};

    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_WITHOUT_TERMINAL;
    return size.ws_col;
}

/* Cut at the terminal's edge; the last column takes what is left of the line. */
static void print_row(const char *const *cells, const ps_column *columns, size_t width, FILE *out)
{
    size_t left = width == WIDTH_WITHOUT_TERMINAL ? SIZE_MAX : width;

    for (int c = 0; c < COLUMNS_MAX; c++) {
        size_t cell = text_width(cells[c]);
        int padding = (int)(columns[c].width > cell ? columns[c].width - cell : 0);

        if (!columns[c].needed)
            continue;
        if (c == COLUMN_COMMAND || left < columns[c].width + 3) {
            print_cut(cells[c], left, out);
            break;
        }
        if (columns[c].right)
            fprintf(out, "%*s", padding, "");
        print_cut(cells[c], columns[c].width, out);
        if (!columns[c].right)
            fprintf(out, "%*s", padding, "");
        fputs("  ", out);
        left -= columns[c].width + 2;
    }
    putc('\n', out);
}

/* Makes the wide columns narrower until the line fits, with some room for the command. */
static void fit_columns(ps_column *columns, size_t width)
{
    enum { ROOM_FOR_COMMAND = 12, NARROWEST = 6 };
    static const int SHRINKABLE[] = {COLUMN_PROFILER, COLUMN_NAME, COLUMN_USER};

    while (width > 0) {
        size_t used = ROOM_FOR_COMMAND;
        int widest = SHRINKABLE[0];

        for (int c = 0; c < COLUMN_COMMAND; c++)
            used += columns[c].needed ? columns[c].width + 2 : 0;
        for (size_t i = 0; i < sizeof SHRINKABLE / sizeof *SHRINKABLE; i++) {
            if (columns[SHRINKABLE[i]].needed &&
                (!columns[widest].needed || columns[SHRINKABLE[i]].width > columns[widest].width))
                widest = SHRINKABLE[i];
        }
        if (used <= width || columns[widest].width <= NARROWEST)
            return;
        columns[widest].width--;
    }
}

static void print_table(const diagnostics_process_list *list, FILE *out)
{
    ps_column columns[COLUMNS_MAX] = {
        {"PID", true, true, 3},        {"RUNTIME", false, true, 7}, {"ARCH", false, true, 4},
        {"UPTIME", true, true, 6},     {"USER", false, true, 4},    {"CONTAINER", false, false, 9},
        {"PROFILER", false, false, 8}, {"NAME", false, true, 4},    {"COMMAND", false, true, 7},
    };
    const char *cells[COLUMNS_MAX];
    buffer texts[COLUMNS_MAX] = {0};
    size_t width = terminal_width(out);
    bool colour = cli_has_colour(out);

    if (list->count == 0) {
        fputs("No .NET process is running that can be seen from here.\n"
              "Start one, or run clarinet as root (or with sudo) to see other users' processes;\n"
              "`clarinet launch -- CMD…` starts a program under a profiler.\n",
              out);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        for (int c = 0; c < COLUMNS_MAX; c++) {
            size_t cell;

            format_cell(&list->items[i], c, &texts[c]);
            cell = text_width(buffer_text(&texts[c]));
            columns[c].needed |= strcmp(buffer_text(&texts[c]), "-") != 0;
            if (cell > columns[c].width)
                columns[c].width = c >= COLUMN_USER && cell > 40 ? 40 : cell;
        }
    }
    fit_columns(columns, width);
    for (int c = 0; c < COLUMNS_MAX; c++)
        cells[c] = columns[c].title;
    fputs(colour ? "\033[1m" : "", out);
    print_row(cells, columns, width, out);
    fputs(colour ? "\033[0m" : "", out);
    for (size_t i = 0; i < list->count; i++) {
        const diagnostics_process *process = &list->items[i];

        for (int c = 0; c < COLUMNS_MAX; c++) {
            format_cell(process, c, &texts[c]);
            cells[c] = buffer_text(&texts[c]);
        }
        print_row(cells, columns, width, out);
        if (!process->attachable)
            fprintf(out, "%s%*s  not attachable: %s%s%s%s\n", colour ? "\033[33m" : "",
                    (int)columns[COLUMN_PID].width, "", process->reason,
                    process->advice[0] == '\0' ? "" : "; ", process->advice,
                    colour ? "\033[0m" : "");
    }
    for (int c = 0; c < COLUMNS_MAX; c++)
        buffer_free(&texts[c]);
}

/* --- JSON --- */

static int print_json(const diagnostics_process_list *list, bool one_line, FILE *out)
{
    json_t *array = json_array();
    error e;
    int failed;

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, describe_process(&list->items[i]));
    failed = json_dumpf(array, out,
                        (one_line ? JSON_COMPACT : JSON_INDENT(2)) | JSON_REAL_PRECISION(12));
    putc('\n', out);
    json_decref(array);
    if (failed != 0 && !ferror(out)) { /* what could not be written is told at the end */
        error_set(&e, ERROR_MEMORY, "no memory for the list");
        return cli_fail(&e);
    }
    return CLI_DONE;
}
