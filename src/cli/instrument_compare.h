/*
 * instrument_compare: `clarinet instrument compare A B`: two event logs, or two folders of bodies,
 * of the instrumentation agent or of a profiler that it replaces.
 */
#ifndef CLARINET_CLI_INSTRUMENT_COMPARE_H
#define CLARINET_CLI_INSTRUMENT_COMPARE_H

/* argv[0] is "compare". Exit code 0 when nothing critical differs, 1 when something does. */
int instrument_compare(int argc, char **argv);

#endif
