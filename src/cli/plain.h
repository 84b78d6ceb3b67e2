/*
 * plain: texts of a program, or of a file that came from elsewhere, for a terminal. What it would
 * obey (control characters, changes of direction) becomes '?'.
 */
#ifndef CLARINET_CLI_PLAIN_H
#define CLARINET_CLI_PLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"

void plain_put(FILE *out, const char *text);
void plain_append(buffer *out, const char *text);
/* In its place. `has_lines`: the ends of lines stay. */
void plain_clean(char *text, bool has_lines);

#endif
