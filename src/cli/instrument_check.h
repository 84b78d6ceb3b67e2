/*
 * instrument_check: clarinet instrument check DIR [--assembly FILE]: what a home folder says, and
 * what the agent would make of it in an assembly.
 */
#ifndef CLARINET_CLI_INSTRUMENT_CHECK_H
#define CLARINET_CLI_INSTRUMENT_CHECK_H

#include "rules/home.h"
#include "rules/variables.h"

/* argv[0] is "check". Returns an exit code. */
int instrument_check(int argc, char **argv, const home_files *files, const variables *environment);

#endif
