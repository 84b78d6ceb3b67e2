/* diff: a difference of two recordings in any of its formats. */
#ifndef CLARINET_REPORT_DIFF_H
#define CLARINET_REPORT_DIFF_H

#include "analysis/difference.h"
#include "report/report.h"

/* Builds the difference of two recordings; the options choose processes, profiler and what is
 * selected, the same on both sides. difference_free, also after a failure. */
int diff_build(const model *before, const char *before_name, const model *after,
               const char *after_name, const report_options *options, bool scaled, difference *d,
               error *e);

typedef struct {
    const char *name;
    const char *extension;
    int (*write)(difference *d, const report_options *options, sink *out, error *e);
} diff_format;

extern const diff_format DIFF_FORMATS[];
/* NULL when there is none of that name. */
const diff_format *diff_find_format(const char *name);

int diff_write_html(difference *d, const report_options *options, sink *out, error *e);

#endif
