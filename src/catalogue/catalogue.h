/*
 * catalogue: what profilers there are, and the checking of what somebody asks of them.
 *
 * One constant table, shared by the tool (listing, checking a command line) and the agent (checking
 * what came over the socket). A profiler's name and GUID never change once released; parameters are
 * only ever added. Thread rules: the table is constant; a selection belongs to its caller.
 */
#ifndef CLARINET_CATALOGUE_CATALOGUE_H
#define CLARINET_CATALOGUE_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    CATALOGUE_MAX_PARAMETERS = 16, /* of one profiler */
    CATALOGUE_MAX_SELECTED = 16,   /* profilers in one recording */
    CATALOGUE_MAX_TEXT = 512,      /* bytes of a text value, with its zero */
};

typedef enum {
    CATALOGUE_NUMBER,   /* whole number */
    CATALOGUE_BOOLEAN,  /* true, false (also yes, no, on, off, 1, 0) */
    CATALOGUE_DURATION, /* 10ms, 5s, 250us; kept in nanoseconds */
    CATALOGUE_SIZE,     /* 64, 100K, 4M; kept in bytes */
    CATALOGUE_CHOICE,   /* one of `choices`; kept as its index */
    CATALOGUE_TEXT,
} catalogue_type;

typedef struct {
    const char *name;
    catalogue_type type;
    const char *initial;       /* the default, as a person would type it */
    uint64_t minimum, maximum; /* of numbers, durations (ns) and sizes */
    const char *choices;       /* of a CHOICE: "a|b|c" */
    const char *description;
} catalogue_parameter;

/* Where a profiler works. */
enum {
    CATALOGUE_ATTACH = 1, /* on a running process */
    CATALOGUE_START = 2,  /* on a process that the tool starts */
    CATALOGUE_BESIDE = 4, /* beside another profiler, as notification-only */
    CATALOGUE_MAIN = 8,   /* needs the main profiler's place */
};

typedef struct {
    const char *name;
    const char *guid; /* this and the next two: NULL inside the target */
    const char *description;
    const char *cost; /* in plain words, for a person who has to decide */
    unsigned where;
    bool exclusive;                        /* one session at a time */
    const catalogue_parameter *parameters; /* closed by a NULL name; NULL = none */
} catalogue_profiler;

/* All profilers, closed by a row whose name is NULL. */
extern const catalogue_profiler CATALOGUE[];

typedef struct {
    uint64_t number; /* number, boolean, nanoseconds, bytes, index of the choice */
    char text[CATALOGUE_MAX_TEXT];
} catalogue_value;

typedef struct {
    const catalogue_profiler *profiler;
    catalogue_value values[CATALOGUE_MAX_PARAMETERS]; /* in the order of the parameters */
} catalogue_selected;

/* The profilers of one recording, each with all its parameters. */
typedef struct {
    size_t count;
    catalogue_selected items[CATALOGUE_MAX_SELECTED];
} catalogue_selection;

/* NULL when there is none of that name. */
const catalogue_profiler *catalogue_find(const char *name);

/* Adds one profiler with its defaults. Unknown names list the known ones. */
int catalogue_add(catalogue_selection *s, const char *name, error *e);
/* The same for "cpu,exceptions". */
int catalogue_add_list(catalogue_selection *s, const char *names, error *e);
/* Sets one parameter of a profiler that was added. */
int catalogue_set(catalogue_selection *s, const char *profiler, const char *parameter,
                  const char *value, error *e);
/* The same for "exceptions.stacks=100". */
int catalogue_set_text(catalogue_selection *s, const char *setting, error *e);

/* Refuses what the runtime offers only to who comes with its start. */
int catalogue_check_attach(const catalogue_selection *s, error *e);

catalogue_selected *catalogue_selected_by_name(catalogue_selection *s, const char *name);
/* The value of a parameter that the table has (asking for another one is a bug: answers 0 / ""). */
uint64_t catalogue_number(const catalogue_selected *item, const char *parameter);
const char *catalogue_text(const catalogue_selected *item, const char *parameter);

/* "10ms", "5s", "1m30s", "250us", "2h"; a number without unit is seconds. */
int catalogue_parse_duration(const char *text, uint64_t *nanoseconds, error *e);
/* "64", "100K", "4M", "1G". */
int catalogue_parse_size(const char *text, uint64_t *bytes, error *e);
/* "number", "boolean", …; never NULL. */
const char *catalogue_type_name(catalogue_type type);

#endif
