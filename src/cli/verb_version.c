/* clarinet version */
#include <stdio.h>

#include "cli/cli.h"

int verb_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("clarinet %s\n", CLARINET_VERSION);
    return CLI_DONE;
}
