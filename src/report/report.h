/*
 * report: a recording in any format. The formats are rows of one table; a format writes a whole
 * recording (or the processes and the profile that were asked for) to a sink.
 */
#ifndef CLARINET_REPORT_REPORT_H
#define CLARINET_REPORT_REPORT_H

#include "analysis/findings.h"
#include "analysis/model.h"
#include "analysis/profile.h"
#include "analysis/spans.h"
#include "report/sink.h"

typedef struct {
    const char *process;  /* pid or name; NULL = all */
    const char *profiler; /* whose profile; NULL = cpu, else wall, else the first with stacks */
    const char *thread;   /* OS id or name, * and ? allowed; NULL = all */
    const char *method;   /* md, json: callers and callees of these methods, * and ? allowed */
    uint64_t from_ns;     /* since the process's time 0 */
    uint64_t to_ns;       /* 0 = to the end */
    uint64_t state;       /* 0 = all */
    bool threads;         /* collapsed: the thread as first frame */
    bool no_source;       /* html: leave out source text found on this machine */
    size_t top;           /* entries of each ranking; 0 = the format's own number */
    const findings_limits *limits; /* html, md, json: of the findings; NULL = the defaults */
    const findings *found;         /* html: what was found already; NULL = look */
    const model *snapshot;         /* html: of the heap, taken apart; NULL = none */
} report_options;

typedef struct {
    const char *name;
    const char *extension;
    const char *media_type;
    const char *summary;
    bool is_binary; /* not for a terminal */
    int (*write)(const model *m, const report_options *options, sink *out, error *e);
} report_format;

/* All formats, closed by a row whose name is NULL. */
extern const report_format REPORT_FORMATS[];
/* NULL when there is none of that name. */
const report_format *report_find_format(const char *name);

/* Whether the recording has the process and the profiler that the options name; the error lists
 * those it has. */
int report_check(const model *m, const report_options *options, error *e);
/* Checks, writes the report and finishes the sink. */
int report_write(const model *m, const report_format *format, const report_options *options,
                 sink *out, error *e);

int report_write_json(const model *m, const report_options *options, sink *out, error *e);
int report_write_markdown(const model *m, const report_options *options, sink *out, error *e);
int report_write_collapsed(const model *m, const report_options *options, sink *out, error *e);
int report_write_speedscope(const model *m, const report_options *options, sink *out, error *e);
int report_write_pprof(const model *m, const report_options *options, sink *out, error *e);
int report_write_chrome(const model *m, const report_options *options, sink *out, error *e);
int report_write_otlp(const model *m, const report_options *options, sink *out, error *e);
int report_write_otlp_profile(const model *m, const report_options *options, sink *out, error *e);
int report_write_html(const model *m, const report_options *options, sink *out, error *e);

/* Whether the options ask for this process. */
bool report_wants_process(const model *m, const model_process *p, const report_options *options);

/* Whether the options choose a part of the profiles by thread, time or state; and that part in
 * words: "thread main, 1.00 s to 2.00 s, state lock". */
#define REPORT_PART_SIZE 300
bool report_is_part(const report_options *options);
const char *report_part(const report_options *options, char out[REPORT_PART_SIZE]);

/* The options' selection for one process; frees with report_selection_free. */
int report_select(const model *m, const model_process *p, const report_options *options,
                  profile_selection *selection, error *e);
void report_selection_free(profile_selection *selection);

/* The process's profile that the options ask for; when there is none anywhere in the recording,
 * the error names the profilers that there are. */
int report_find_profiles(const model *m, const report_options *options, error *e);

/* The traced calls that the options ask for; an error when the recording has none. */
int report_find_spans(const model *m, const report_options *options, spans *out, error *e);

/* "12.3 s", "45 ms", "830 us", "1.2 MB", "17" by unit ("ns", "bytes", "count"). */
#define REPORT_AMOUNT_SIZE 40
const char *report_amount(uint64_t value, const char *unit, char out[REPORT_AMOUNT_SIZE]);
double report_percent(uint64_t part, uint64_t whole);
/* What of one core the agent itself used, in percent of the recorded time. */
/* Whether it was recorded for long enough (0.1 s) to say a share: beginning has its price.
 */
bool report_has_own_cost_percent(const model_process *p);
double report_own_cost_percent(const model_process *p);
/* What it took to begin (names, tables: the first second), and the share of one processor after
 * that. False when the recording is too short to tell. */
bool report_own_cost_parts(const model_process *p, double *begin_ms, double *running_percent);
/* Whether the program went on after the recording's end, without anybody's wish for that. */
bool report_is_cut_short(const model *m, const model_process *p);
/* Name and pid. */
void report_process_title(const model *m, const model_process *p, char *out, size_t size);

#endif
