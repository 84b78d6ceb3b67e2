/*
 * cli: what the verbs share. A verb is one file verb_NAME.c with one row in the table of cli.c.
 * Only src/cli prints. Exit codes: 0 done, 1 failed, 2 usage, 3 findings at or above --fail-on.
 */
#ifndef CLARINET_CLI_CLI_H
#define CLARINET_CLI_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_FINDINGS = 3 };

typedef struct {
    const char *name;
    const char *arguments;             /* as after the name in a usage line */
    const char *summary;               /* one line for --help, completions and the man page */
    int (*run)(int argc, char **argv); /* argv[0] is the verb's name */
    /* The rest of `clarinet NAME --help`: options and examples. Completions and man pages are made
     * from it: one option a line, spelled as help_options.h says. */
    const char *help;
} cli_verb;

/* All verbs, closed by a row whose name is NULL. */
extern const cli_verb CLI_VERBS[];

/* Whether enough files may be opened for this verb; says so when not. */
bool cli_has_descriptors(const cli_verb *verb);
/* Prints "clarinet: message" and the advice to stderr; returns CLI_USAGE or CLI_FAILED. */
int cli_fail(const error *e);
/* Prints the verb's usage and help to `out`. */
void cli_print_help(const cli_verb *verb, FILE *out);
/* What was typed, for the recording: `before` and the words, without secrets. */
void cli_append_typed(buffer *out, const char *before, int argc, char *const *argv);
/* Where the command begins: the index of the first `--`, or argc. Options may stand anywhere before
 * it, also behind the target. */
int cli_find_command(int argc, char *const *argv);
/* Whether colours may be used on this stream: a terminal, and NO_COLOR not set. */
bool cli_has_colour(FILE *stream);

/* Blocks the signals that ask the tool to end (Ctrl-C, TERM, HUP) and returns a descriptor that can
 * be read when one came; `before`, when not NULL, gets the mask that a command started later wants.
 */
int cli_open_stop_descriptor(sigset_t *before);

/* Puts a line on the terminal behind stderr, in place of the one before, cut to its width. */
void cli_show_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

int verb_checkup(int argc, char **argv);
int verb_completion(int argc, char **argv);
int verb_instrument(int argc, char **argv);
int verb_launch(int argc, char **argv);
int verb_ps(int argc, char **argv);
int verb_heap(int argc, char **argv);
int verb_il(int argc, char **argv);
int verb_counters(int argc, char **argv);
int verb_diff(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_profilers(int argc, char **argv);
int verb_record(int argc, char **argv);
int verb_serve(int argc, char **argv);
int verb_trace(int argc, char **argv);
int verb_tasks(int argc, char **argv);
int verb_threads(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_version(int argc, char **argv);

#endif
