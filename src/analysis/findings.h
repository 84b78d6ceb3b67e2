/*
 * findings: what is wrong with the recorded program, in words with numbers.
 *
 * A rule is a row of FINDINGS_RULES and one small function over one process of the model; it adds
 * at most a few findings, or none. Every number a rule compares with is a named threshold with a
 * default, changeable by a file. Rules say nothing where their table was not recorded.
 *
 * Thread rules: everything here only reads the model; a list belongs to its caller.
 */
#ifndef CLARINET_ANALYSIS_FINDINGS_H
#define CLARINET_ANALYSIS_FINDINGS_H

#include "analysis/model.h"
#include "base/buffer.h"

typedef enum {
    FINDINGS_OK, /* of a vital sign only */
    FINDINGS_INFO,
    FINDINGS_WARNING,
    FINDINGS_CRITICAL,
    FINDINGS_UNKNOWN, /* of a vital sign only: not recorded */
} findings_severity;

typedef struct {
    const char *id; /* of its rule */
    findings_severity severity;
    const char *title;
    char *statement; /* a sentence with numbers */
    char *advice;
    const char *doc; /* path of its page */
    char **evidence; /* lines of text: a stack from the leaf up, a cycle, … */
    size_t evidence_count, evidence_capacity;
    char *place; /* what tells it from another finding of its rule: a method, a type; may be "" */
    uint32_t process; /* index in the model */
} finding;

typedef struct {
    const char *name; /* "cpu" */
    char text[160];   /* "1.02 of 4 processors" */
    double value;
    const char *unit;
    findings_severity mark;
} findings_vital;

enum { FINDINGS_VITALS = 6 };

typedef struct {
    finding *items; /* worst first */
    size_t count, capacity;
    bool failed; /* no memory */
} findings;

typedef struct {
    const char *name; /* "exception-storm.per-second" */
    double initial;
    const char *meaning;
} findings_threshold;

/* All thresholds, closed by a row whose name is NULL; the enum below numbers them. */
#define FINDINGS_THRESHOLD_LIST(X)                                                                 \
    X(HOT_CORES, "cpu-hot-path.cores", 0.5, "processors used, or threads that run, at least")      \
    X(HOT_SHARE, "cpu-hot-path.share", 60, "percent of its CPU time in one method")                \
    X(HOT_LINE, "cpu-hot-path.line-share", 80, "percent of its CPU time under one own line")       \
    X(HOT_CAUSE, "cpu-hot-path.cause-share", 30, "percent of its CPU time in a known cause")       \
    X(HOT_COPY, "cpu-hot-path.copy-bytes", 80, "bytes of a struct whose copies are a cause")       \
    X(HOT_SAMPLES, "cpu-hot-path.samples", 20, "samples there must be at least")                   \
    X(STORM_RATE, "exception-storm.per-second", 50, "exceptions a second: a warning")              \
    X(STORM_CRITICAL, "exception-storm.critical", 2000, "exceptions a second: critical")           \
    X(GC_SHARE, "gc-pressure.pause-percent", 10, "percent of the time in collections: a warning")  \
    X(GC_CRITICAL, "gc-pressure.critical", 30, "percent of the time in collections: critical")     \
    X(GC_GEN2, "gc-pressure.gen2-per-second", 2, "blocking collections of gen 2 a second")         \
    X(GC_INDUCED, "gc-pressure.induced-per-second", 1, "GC.Collect calls a second")                \
    X(GC_COUNT, "gc-pressure.collections", 3, "collections there must be at least")                \
    X(PAUSE_LONG, "long-pauses.ms", 200, "one pause in milliseconds: a warning")                   \
    X(PAUSE_CRITICAL, "long-pauses.critical-ms", 2000, "one pause in milliseconds: critical")      \
    X(SUSPEND_MS, "slow-suspension.ms", 20, "milliseconds until all threads have stopped")         \
    X(SUSPEND_COUNT, "slow-suspension.times", 3, "how often, at one place, at least")              \
    X(SUSPEND_SHARE, "slow-suspension.percent", 2, "percent of the time lost, at least")           \
    X(LARGE_MB, "large-object-churn.mb-per-second", 20, "MB of large objects a second")            \
    X(LARGE_COUNT, "large-object-churn.per-second", 5, "large objects a second, at least")         \
    X(LEAK_COLLECTIONS, "leak-growth.collections", 3, "full collections, each leaving more")       \
    X(LEAK_MB, "leak-growth.mb", 4, "MB more after the last than after the first, and")            \
    X(LEAK_PERCENT, "leak-growth.percent", 10, "percent more, at least")                           \
    X(JIT_RATE, "jit-storm.per-second", 20, "methods made at run time and compiled, a second")     \
    X(FINALIZER_SHARE, "finalizer-backlog.share", 70, "percent of looks: finalizers run")          \
    X(HTTP_MS, "http-slow.ms", 1000, "milliseconds that one of 20 requests takes or exceeds")      \
    X(HTTP_COUNT, "http-slow.requests", 5, "requests of a name, at least")                         \
    X(MODE_MANY, "server-gc-mismatch.many-cpus", 8, "processors, with workstation GC")             \
    X(MODE_SHARE, "server-gc-mismatch.percent", 5, "percent of the time in collections, then")     \
    X(MODE_FEW, "server-gc-mismatch.few-cpus", 2, "fewer processors than this, with server GC")    \
    X(MODE_MEMORY, "server-gc-mismatch.memory-mb", 512, "less memory than this, with server GC")   \
    X(SETTINGS_METHODS, "runtime-settings.methods", 20, "own methods compiled unoptimized")        \
    X(SETTINGS_TIMES, "runtime-settings.times", 2, "PROCESSOR_COUNT so many times the limit")      \
    X(LOCK_THREADS, "lock-contention.threads", 1, "threads waiting for locks, on average")         \
    X(LOCK_CRITICAL, "lock-contention.critical", 8, "the same, critical")                          \
    X(SYNC_WORKERS, "sync-over-async.workers", 2, "pool threads blocked on tasks, on average")     \
    X(STARVED_SHARE, "thread-pool-starvation.share", 80, "percent of pool threads blocked")        \
    X(STARVED_WORKERS, "thread-pool-starvation.workers", 4, "blocked pool threads, at least")      \
    X(ZOMBIE_IDLE, "zombie-threads.idle", 100, "threads of one kind that did nothing, at least")   \
    X(STUCK_TASKS, "stuck-tasks.waits", 5, "async waits that nothing can end, at least")           \
    X(STRINGS_MB, "duplicated-strings.mb", 4, "MB of equal strings beyond the first, and")         \
    X(STRINGS_PERCENT, "duplicated-strings.percent", 20, "percent of the heap, at least")          \
    X(ROOM_MB, "collection-waste.mb", 4, "MB of empty room in collections and arrays, and")        \
    X(ROOM_PERCENT, "collection-waste.percent", 20, "percent of the heap, at least")

enum {
#define X(symbol, name, initial, meaning) THRESHOLD_##symbol,
    FINDINGS_THRESHOLD_LIST(X)
#undef X
        FINDINGS_THRESHOLDS
};

typedef struct {
    double values[FINDINGS_THRESHOLDS];
} findings_limits;

extern const findings_threshold FINDINGS_THRESHOLD_TABLE[];

void findings_limits_init(findings_limits *limits);
/* Lines "name = number"; empty lines and lines that begin with # are skipped. */
int findings_limits_read(findings_limits *limits, const char *path, error *e);

typedef struct findings_context findings_context;

typedef struct {
    const char *id;
    const char *title;
    const char *doc;
    findings_severity worst;
    void (*look)(findings_context *context);
} findings_rule;

/* All rules, closed by a row whose id is NULL. */
extern const findings_rule FINDINGS_RULES[];

/* Looks at every process. limits NULL: the defaults. On failure nothing is left to free. */
int findings_look(const model *m, const findings_limits *limits, findings *result, error *e);
void findings_free(findings *result);
/* Takes out of `result` what `baseline` has too: the same rule at the same place. */
void findings_subtract(findings *result, const findings *baseline);
/* Moves all of `more` to `result`, as of the process `process` of its model. False: no memory, and
 * `more` still has them. */
bool findings_join(findings *result, findings *more, uint32_t process);
/* One more line of evidence; false: no memory. */
bool findings_add_evidence(finding *f, const char *line);
/* Another text, taken out of the buffer, which is empty then; without memory the old one stays. */
void findings_set_statement(finding *f, buffer *text);
void findings_set_advice(finding *f, buffer *text);
/* How many are at least this severe. */
size_t findings_count(const findings *list, findings_severity least);

/* "critical", "warning", "info", "ok", "unknown". */
const char *findings_severity_name(findings_severity severity);
bool findings_parse_severity(const char *text, findings_severity *severity);

/* The vital signs of one process: cpu, gc, threads, allocation, exceptions, locks. */
void findings_vitals(const model *m, const model_process *process, const findings_limits *limits,
                     findings_vital vitals[FINDINGS_VITALS]);

#endif
