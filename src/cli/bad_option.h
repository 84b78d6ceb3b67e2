/* bad_option: what is wrong with an option that getopt_long did not take. */
#ifndef CLARINET_CLI_BAD_OPTION_H
#define CLARINET_CLI_BAD_OPTION_H

#include <getopt.h>

#include "base/error.h"

/* After getopt_long, called with opterr 0 and these options, has answered '?'. Says whether the
 * option is unknown, lacks its value, or has one that it does not take. */
int bad_option(const char *verb, const char *letters, const struct option *options,
               char *const *argv, error *e);

#endif
