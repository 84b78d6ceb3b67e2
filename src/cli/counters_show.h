/* counters_show: counters as lines, CSV, JSON and in Prometheus' text format. */
#ifndef CLARINET_CLI_COUNTERS_SHOW_H
#define CLARINET_CLI_COUNTERS_SHOW_H

#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cli/counters_live.h"

void counters_show_csv_head(FILE *out);
void counters_show_csv(FILE *out, const counters_series *s, const counters_value *v);
void counters_show_line(FILE *out, const counters_series *s, const counters_value *v);
/* The last value of each series, a line each, on a cleared screen. */
void counters_show_screen(FILE *out, const counters_live *c);
/* Everything, one document. */
int counters_show_json(int descriptor, const counters_live *c, error *e);
/* The last value of each series; what grows is added up from the begin of the recording. A last
 * value that is no number is told as it is. */
void counters_show_prometheus(buffer *out, const counters_live *c);

#endif
