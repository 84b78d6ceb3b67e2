/* main: finds the verb and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int print_overview(FILE *out)
{
    fputs("clarinet: the doctor for running .NET programs\n\n"
          "usage: clarinet VERB [OPTION…]\n\n",
          out);
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++)
        fprintf(out, "  %-12s %s\n", verb->name, verb->summary);
    fputs("\n`clarinet VERB --help` tells more about a verb.\n", out);
    return out == stdout ? CLI_DONE : CLI_USAGE;
}

static int run(int argc, char **argv)
{
    if (argc < 2)
        return print_overview(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return print_overview(stdout);
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = (char *)"version";
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++) {
        if (strcmp(verb->name, argv[1]) != 0)
            continue;
        for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
            if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
                cli_print_help(verb, stdout);
                return CLI_DONE;
            }
        }
        if (!cli_has_descriptors(verb))
            return CLI_FAILED;
        return verb->run(argc - 1, argv + 1);
    }
    fprintf(stderr, "clarinet: there is no verb '%s'\n  `clarinet --help` lists them\n", argv[1]);
    return CLI_USAGE;
}

/* What was said must have arrived: a file on a full disk is not the answer. A reader that has gone
 * (`clarinet ps | head -1`) had enough. */
static int check_output(int code)
{
    error e;
    int reason = fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;

    if (reason == 0 || reason == EPIPE || code != CLI_DONE)
        return code;
    error_clear(&e);
    error_set_errno(&e, ERROR_IO, reason, "cannot write all of the output");
    error_advise(&e, "what stands in its file is not whole: make room, or write it somewhere else");
    return cli_fail(&e);
}

static void do_nothing(int number)
{
    (void)number;
}

/* A file that may not grow (ulimit -f) is an error to be told, not an end. A handler, and not
 * SIG_IGN, which commands that we start would inherit. */
static void outlive_file_limit(void)
{
    struct sigaction before, action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    outlive_file_limit();
    return check_output(run(argc, argv));
}
