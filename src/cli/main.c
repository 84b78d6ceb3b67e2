/* main: finds the verb and runs it. */
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

int main(int argc, char **argv)
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
