/*
 * help_options: the options of a verb, read from its help text, so that shell completions and man
 * pages cannot differ from what --help says. An option is a line like one of these, the text after
 * two or more spaces:
 *     "  -o, --output FILE      where to write"
 *     "  -f, --format json|md   how to write it"
 *     "      --json             for machines"
 * All other lines are skipped. Pure functions; nothing is allocated.
 */
#ifndef CLARINET_CLI_HELP_OPTIONS_H
#define CLARINET_CLI_HELP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char short_name[4]; /* "-o", or empty */
    char long_name[48]; /* "--output", or empty */
    char argument[96];  /* "FILE", or empty */
    char summary[160];  /* what stands on the same line; may be empty */
} help_option;

/* Reads the next option at *help and moves *help behind it; false when there is none left. Text
 * that does not fit its field is cut. */
bool help_options_next(const char **help, help_option *option);

/* Whether an argument names its possible values, as in "json|md". */
bool help_options_is_choice(const char *argument);

/* Whether a usage line has this word, not as part of a longer one: "PID" in "(PID|NAME)". */
bool help_options_has_word(const char *arguments, const char *word);

#endif
