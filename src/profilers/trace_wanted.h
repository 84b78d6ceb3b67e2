/*
 * trace_wanted: what a session asks of the tracer, read from its parameters once. Callbacks may
 * still read the last session's: it is never freed before the library is. Own thread.
 */
#ifndef CLARINET_PROFILERS_TRACE_WANTED_H
#define CLARINET_PROFILERS_TRACE_WANTED_H

#include "catalogue/catalogue.h"
#include "catalogue/condition.h"
#include "cil/pattern.h"
#include "profilers/trace_plan.h"

typedef struct trace_wanted {
    struct trace_wanted *before;
    cil_patterns patterns;
    bool dry_run;
    bool tree;
    bool spans;       /* every call as a span, instead of counting */
    bool single;      /* single calls are recorded, of some method at least */
    unsigned moments; /* TRACE_WISH_… of every method */
    int rate;         /* single calls a second */
    trace_wish wish;
    bool has_condition;
    condition condition;
    uint8_t numbers[CONDITION_TERMS]; /* of the values that its terms mean */
    bool has_log;
    unsigned log_moment; /* TRACE_WISH_LOG_… */
    cil_patterns log_methods;
    char *log_text; /* with {path} in it */
} trace_wanted;

/* NULL when something cannot be understood (the tool has checked it before) or without memory. */
trace_wanted *trace_wanted_read(const catalogue_selected *parameters);

/* Of `Type::Method text`: where the text begins; NULL = there is none. */
const char *trace_log_text(const char *log);

#endif
