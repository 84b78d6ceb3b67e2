/* findings: the table of rules, thresholds and the list. See findings.h. */
#include "analysis/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/findings_rule.h"
#include "base/memory.h"
#include "base/text.h"

/* In the order of looking: deadlock marks threads that lock-contention must leave out, and long
 * pauses that slow-suspension explains are not told twice. */
const findings_rule FINDINGS_RULES[] = {
    {"deadlock", "Deadlock", "docs/findings/deadlock.md", FINDINGS_CRITICAL,
     findings_rule_deadlock},
    {"thread-pool-starvation", "Thread pool starvation", "docs/findings/thread-pool-starvation.md",
     FINDINGS_CRITICAL, findings_rule_pool},
    {"exception-storm", "Exception storm", "docs/findings/exception-storm.md", FINDINGS_CRITICAL,
     findings_rule_exceptions},
    {"gc-pressure", "Pressure on the garbage collector", "docs/findings/gc-pressure.md",
     FINDINGS_CRITICAL, findings_rule_gc},
    {"slow-suspension", "A thread that is slow to stop", "docs/findings/slow-suspension.md",
     FINDINGS_WARNING, findings_rule_suspension},
    {"long-pauses", "Long pauses", "docs/findings/long-pauses.md", FINDINGS_CRITICAL,
     findings_rule_pauses},
    {"finalizer-backlog", "Finalizers pile up", "docs/findings/finalizer-backlog.md",
     FINDINGS_WARNING, findings_rule_finalizer},
    {"large-object-churn", "Many large objects", "docs/findings/large-object-churn.md",
     FINDINGS_WARNING, findings_rule_large},
    {"leak-growth", "Memory that grows", "docs/findings/leak-growth.md", FINDINGS_WARNING,
     findings_rule_leak},
    {"jit-storm", "Compiling without end", "docs/findings/jit-storm.md", FINDINGS_WARNING,
     findings_rule_jit},
    {"lock-contention", "Lock contention", "docs/findings/lock-contention.md", FINDINGS_CRITICAL,
     findings_rule_locks},
    {"sync-over-async", "Pool threads blocked on tasks", "docs/findings/sync-over-async.md",
     FINDINGS_WARNING, findings_rule_sync},
    {"zombie-threads", "Threads of no use", "docs/findings/zombie-threads.md", FINDINGS_WARNING,
     findings_rule_zombies},
    {"stuck-tasks", "Tasks that never complete", "docs/findings/stuck-tasks.md", FINDINGS_WARNING,
     findings_rule_stuck_tasks},
    {"duplicated-strings", "Equal strings", "docs/findings/duplicated-strings.md", FINDINGS_WARNING,
     findings_rule_strings},
    {"collection-waste", "Empty room in collections", "docs/findings/collection-waste.md",
     FINDINGS_WARNING, findings_rule_collections},
    {"http-slow", "Slow requests", "docs/findings/http-slow.md", FINDINGS_WARNING,
     findings_rule_http},
    {"server-gc-mismatch", "The collector's mode does not fit",
     "docs/findings/server-gc-mismatch.md", FINDINGS_WARNING, findings_rule_mode},
    {"runtime-settings", "Settings that do harm", "docs/findings/runtime-settings.md",
     FINDINGS_WARNING, findings_rule_settings},
    {"cpu-hot-path", "Hot path", "docs/findings/cpu-hot-path.md", FINDINGS_WARNING,
     findings_rule_hot_path},
    {NULL, NULL, NULL, FINDINGS_INFO, NULL},
};

const findings_threshold FINDINGS_THRESHOLD_TABLE[] = {
#define X(symbol, name, initial, meaning) {name, initial, meaning},
    FINDINGS_THRESHOLD_LIST(X)
#undef X
        {NULL, 0, NULL},
};

void findings_limits_init(findings_limits *limits)
{
    for (size_t i = 0; i < FINDINGS_THRESHOLDS; i++)
        limits->values[i] = FINDINGS_THRESHOLD_TABLE[i].initial;
}

static char *trimmed(char *text)
{
    char *end;

    while (*text == ' ' || *text == '\t')
        text++;
    end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1]) != NULL)
        *--end = '\0';
    return text;
}

static int take_line(findings_limits *limits, char *line, const char *path, int number, error *e)
{
    char *name = trimmed(line);
    char *equals = strchr(name, '=');
    char *end;
    double value;

    if (*name == '\0' || *name == '#')
        return 0;
    if (equals == NULL)
        return error_set(e, ERROR_USAGE, "%s, line %d is not 'name = number'", path, number);
    *equals = '\0';
    name = trimmed(name);
    equals = trimmed(equals + 1);
    value = strtod(equals, &end);
    if (end == equals || *end != '\0' || !(value >= 0 && value < 1e12))
        return error_set(e, ERROR_USAGE, "%s, line %d: '%s' is not a number from 0 on", path,
                         number, equals);
    for (size_t i = 0; i < FINDINGS_THRESHOLDS; i++)
        if (text_equal(name, FINDINGS_THRESHOLD_TABLE[i].name)) {
            limits->values[i] = value;
            return 0;
        }
    error_set(e, ERROR_USAGE, "%s, line %d: there is no threshold '%s'", path, number, name);
    return error_advise(e, "docs/findings/README.md lists the pages that have them");
}

int findings_limits_read(findings_limits *limits, const char *path, error *e)
{
    char line[512];
    FILE *file = fopen(path, "re");
    int number = 0;
    int code = 0;

    if (file == NULL)
        return error_set_errno(e, ERROR_IO, errno, "cannot read %s", path);
    while (code == 0 && fgets(line, sizeof line, file) != NULL)
        code = take_line(limits, line, path, ++number, e);
    fclose(file);
    return code;
}

static void free_finding(finding *f)
{
    for (size_t i = 0; i < f->evidence_count; i++)
        memory_free(f->evidence[i]);
    memory_free(f->evidence);
    memory_free(f->statement);
    memory_free(f->advice);
    memory_free(f->place);
}

void findings_free(findings *result)
{
    for (size_t i = 0; i < result->count; i++)
        free_finding(&result->items[i]);
    memory_free(result->items);
    memset(result, 0, sizeof *result);
}

/* Worst first; what was found first stays first (the list is short). */
static void sort(findings *list)
{
    for (size_t i = 1; i < list->count; i++)
        for (size_t k = i; k > 0 && list->items[k].severity > list->items[k - 1].severity; k--) {
            finding swapped = list->items[k];

            list->items[k] = list->items[k - 1];
            list->items[k - 1] = swapped;
        }
}

static bool look_at(const model *m, const model_process *process, const findings_limits *limits,
                    findings *result)
{
    findings_context c = {
        .m = m,
        .process = process,
        .limits = limits,
        .list = result,
        .seconds = (double)process->duration_ns / 1e9,
        .locked = memory_allocate_array(process->thread_count + 1, 1),
    };

    if (c.locked == NULL)
        return false;
    for (c.rule = FINDINGS_RULES; c.rule->id != NULL && c.seconds > 0; c.rule++)
        c.rule->look(&c);
    memory_free(c.locked);
    return !result->failed;
}

static bool has_line(const finding *f, const char *line)
{
    for (size_t i = 0; i < f->evidence_count; i++)
        if (text_equal(f->evidence[i], line))
            return true;
    return false;
}

/* What another process of the recording says of the same setting comes to the first. */
static bool take_over(const model *m, finding *first, const finding *other)
{
    buffer line = BUFFER_EMPTY;
    bool good = true;

    for (size_t i = 0; i < other->evidence_count && good; i++) {
        if (has_line(first, other->evidence[i]))
            continue;
        buffer_clear(&line);
        buffer_format(&line, "pid %d: %s", (int)m->processes[other->process].pid,
                      other->evidence[i]);
        good = !buffer_failed(&line) && findings_add_evidence(first, buffer_text(&line));
    }
    buffer_free(&line);
    return good;
}

/* Processes that one command starts have their settings from one another: told once. */
static bool join_settings(const model *m, findings *list)
{
    bool good = true;

    for (size_t i = 0; i < list->count && good; i++) {
        finding *first = &list->items[i];
        size_t kept = i + 1, others = 0;
        buffer text = BUFFER_EMPTY;

        if (!text_equal(first->id, "runtime-settings"))
            continue;
        for (size_t k = i + 1; k < list->count; k++) {
            finding *other = &list->items[k];

            if (!text_equal(other->id, first->id) || !text_equal(other->place, first->place)) {
                list->items[kept++] = *other;
                continue;
            }
            good = take_over(m, first, other) && good;
            free_finding(other);
            others++;
        }
        list->count = kept;
        if (others == 0)
            continue;
        buffer_format(&text, "%s (in this process and %zu other%s)", first->statement, others,
                      others == 1 ? "" : "s");
        findings_set_statement(first, &text);
        buffer_free(&text);
    }
    return good;
}

int findings_look(const model *m, const findings_limits *limits, findings *result, error *e)
{
    findings_limits defaults;
    bool done = true;

    findings_limits_init(&defaults);
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < m->process_count && done; i++)
        done = look_at(m, &m->processes[i], limits == NULL ? &defaults : limits, result);
    done = done && join_settings(m, result);
    if (!done) {
        findings_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to look for problems");
    }
    sort(result);
    return 0;
}

void findings_subtract(findings *result, const findings *baseline)
{
    size_t kept = 0;

    for (size_t i = 0; i < result->count; i++) {
        finding *f = &result->items[i];
        bool known = false;

        for (size_t k = 0; k < baseline->count && !known; k++)
            known = text_equal(f->id, baseline->items[k].id) &&
                    text_equal(f->place, baseline->items[k].place);
        if (known)
            free_finding(f);
        else
            result->items[kept++] = *f;
    }
    result->count = kept;
}

bool findings_join(findings *result, findings *more, uint32_t process)
{
    if (!array_reserve(&result->items, &result->capacity, result->count + more->count,
                       sizeof *result->items))
        return false;
    for (size_t i = 0; i < more->count; i++) {
        result->items[result->count] = more->items[i];
        result->items[result->count++].process = process;
    }
    more->count = 0;
    findings_free(more);
    sort(result);
    return true;
}

bool findings_add_evidence(finding *f, const char *line)
{
    char *text = memory_copy_text(line);

    if (text == NULL || !array_reserve(&f->evidence, &f->evidence_capacity, f->evidence_count + 1,
                                       sizeof *f->evidence)) {
        memory_free(text);
        return false;
    }
    f->evidence[f->evidence_count++] = text;
    return true;
}

static void replace(char **old, buffer *text)
{
    char *made = buffer_take_text(text);

    if (made == NULL)
        return;
    memory_free(*old);
    *old = made;
}

void findings_set_statement(finding *f, buffer *text)
{
    replace(&f->statement, text);
}

void findings_set_advice(finding *f, buffer *text)
{
    replace(&f->advice, text);
}

size_t findings_count(const findings *list, findings_severity least)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].severity >= least;
    return count;
}

static const char *const SEVERITIES[] = {"ok", "info", "warning", "critical", "unknown"};

const char *findings_severity_name(findings_severity severity)
{
    return SEVERITIES[severity <= FINDINGS_UNKNOWN ? severity : FINDINGS_UNKNOWN];
}

bool findings_parse_severity(const char *text, findings_severity *severity)
{
    for (findings_severity s = FINDINGS_INFO; s <= FINDINGS_CRITICAL; s++)
        if (text_equal(text, SEVERITIES[s])) {
            *severity = s;
            return true;
        }
    return false;
}
