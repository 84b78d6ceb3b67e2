/*
 * checkup: findings and vital signs in words: for a terminal, as markdown, as JSON, and the parts
 * that other reports put in front. Names of the target come out harmless in each of them.
 */
#ifndef CLARINET_REPORT_CHECKUP_H
#define CLARINET_REPORT_CHECKUP_H

#include "analysis/findings.h"
#include "report/json.h"
#include "report/report.h"

/* The largest types of a snapshot of the heap. */
enum { CHECKUP_TYPES = 10 };
typedef struct {
    char *name;
    uint64_t count, bytes;
} checkup_type;
typedef struct {
    checkup_type items[CHECKUP_TYPES];
    size_t count;
    uint64_t objects, bytes; /* of all */
    bool is_quick;           /* dead objects are in it */
} checkup_types;

typedef struct {
    const model *m;
    const findings *list;
    const findings_limits *limits; /* NULL = the defaults */
    bool only_new;                 /* a baseline was taken off */
    bool colour;                   /* text only */
    const char *page;              /* file names to mention; NULL = none */
    const char *recording;
    const char *snapshot;       /* of the heap */
    const checkup_types *types; /* of the snapshot; NULL = none */
} checkup;

int checkup_write_text(const checkup *c, sink *out, error *e);
int checkup_write_markdown(const checkup *c, sink *out, error *e);
int checkup_write_json(const checkup *c, sink *out, error *e);

/* "findings": […] of the processes that the options ask for (NULL = all). */
void checkup_put_findings(const model *m, const findings *list, const report_options *options,
                          json *j);
/* A part "# Findings"; nothing when there are none. */
void checkup_put_markdown(const model *m, const findings *list, const report_options *options,
                          sink *out);

#endif
