/* clarinet version */
#include <stdio.h>

#include "cli/cli.h"

int verb_version(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "clarinet: version takes no '%s'\n", argv[1]);
        return CLI_USAGE;
    }
    printf("clarinet %s\n", CLARINET_VERSION);
    return CLI_DONE;
}
