/*
 * instrument_run: clarinet instrument run --otlp FILE|URL … -- CMD…: the calls of the methods that
 * extension files name, as spans.
 */
#ifndef CLARINET_CLI_INSTRUMENT_RUN_H
#define CLARINET_CLI_INSTRUMENT_RUN_H

#include "rules/home.h"
#include "rules/variables.h"

/* argv[0] is "run". Returns an exit code. */
int instrument_run(int argc, char **argv, const home_files *files, const variables *environment);

#endif
