/*
 * section: what the reports in words (md) and as data (json) say about a table. A row of
 * REPORT_SECTIONS knows one kind of table; to give a profiler a section of its own, add a row and a
 * file. A table that no row knows gets the general section: its stacks ranked as a profile if it
 * has stacks, and its rows as they are.
 */
#ifndef CLARINET_REPORT_SECTION_H
#define CLARINET_REPORT_SECTION_H

#include "analysis/groups.h"
#include "report/json.h"
#include "report/report.h"
#include "report/view.h"

typedef struct {
    const model *m;
    const model_process *process;
    const model_table *table;
    const report_options *options;
    sink *out;
    error *e;
} section;

typedef struct {
    const char *table;                      /* name of the table; NULL = any */
    bool (*fits)(const section *s);         /* NULL = always */
    int (*markdown)(const section *s);      /* heading included, from ## on */
    int (*json)(const section *s, json *j); /* members of the table's object, which is open */
} report_section;

extern const report_section REPORT_SECTIONS[];
/* Never NULL: the last row fits every table. */
const report_section *report_find_section(const section *s);

int section_profile_markdown(const section *s);
int section_profile_json(const section *s, json *j);
/* Callers and callees of the methods that were asked for; see section_focus.c. */
int section_focus_markdown(const section *s, const view *v);
int section_focus_json(const section *s, const view *v, json *j);
/* What native code without names works for; see section_nameless.c. */
int section_nameless_markdown(const section *s, const view *v);
int section_nameless_json(const section *s, const view *v, json *j);
int section_exceptions_markdown(const section *s);
int section_exceptions_json(const section *s, json *j);
int section_gc_markdown(const section *s);
int section_gc_json(const section *s, json *j);
int section_contention_markdown(const section *s);
int section_contention_json(const section *s, json *j);
int section_heap_markdown(const section *s);
int section_heap_json(const section *s, json *j);
/* Of tables that another section uses. */
int section_nothing_markdown(const section *s);
int section_nothing_json(const section *s, json *j);
int section_allocations_markdown(const section *s);
int section_allocations_json(const section *s, json *j);
int section_live_markdown(const section *s);
int section_live_json(const section *s, json *j);
int section_jit_markdown(const section *s);
int section_jit_json(const section *s, json *j);
int section_inlining_markdown(const section *s);
int section_inlining_json(const section *s, json *j);
int section_transitions_markdown(const section *s);
int section_transitions_json(const section *s, json *j);
int section_counters_markdown(const section *s);
int section_counters_json(const section *s, json *j);
int section_pauses_markdown(const section *s);
int section_pauses_json(const section *s, json *j);
int section_requests_markdown(const section *s);
int section_requests_json(const section *s, json *j);
int section_trace_markdown(const section *s);
int section_trace_json(const section *s, json *j);
int section_rows_markdown(const section *s);
int section_rows_json(const section *s, json *j);

/* Entries of a ranking: what was asked for, or `standard`. */
size_t section_top(const section *s, size_t standard);

/* Text inside markdown that shows as it is, whatever is in it: a code span that no back quote or
 * line break of the text can end; in a cell of a table no pipe either. */
void markdown_code(sink *out, const char *text);
void markdown_cell(sink *out, const char *text);
/* Plain text in a table or paragraph, everything special escaped. */
void markdown_text(sink *out, const char *text);
/* A stack from the leaf up, indented, `limit` frames at most; lines where known. */
void markdown_stack(sink *out, const model *m, const model_process *p, uint32_t stack,
                    size_t limit);
/* The same as an array of {name, module, file, line}, leaf first. */
void json_stack(json *j, const model *m, const model_process *p, uint32_t stack, size_t limit);

/* A table of the quantiles of durations. */
void markdown_spread(sink *out, const char *what, const groups_spread *spread);
/* The same as an object {count, sum_ns, p50_ns, p90_ns, p99_ns, longest_ns}. */
void json_spread(json *j, const char *key, const groups_spread *spread);

#endif
