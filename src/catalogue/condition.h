/*
 * condition: which calls a person wants to see: `id > 100 && customer.Name == "Ann" || flag`.
 *
 * A term is a path, an operator (== != < <= > >= ~) and a constant: a number, "text" or 'text',
 * true, false or null. ~ is "contains". A path alone means that it is true, or not null; && binds
 * closer than ||. A term whose value is not there, or of another kind, does not hold. Parsed by the
 * tool (to complain) and by the agent; condition_holds allocates nothing and may run in a probe.
 */
#ifndef CLARINET_CATALOGUE_CONDITION_H
#define CLARINET_CATALOGUE_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { CONDITION_TERMS = 8, CONDITION_PATH = 64, CONDITION_UNITS = 64 };

typedef enum {
    CONDITION_IS_TRUE, /* a path alone */
    CONDITION_EQUAL,
    CONDITION_NOT_EQUAL,
    CONDITION_LESS,
    CONDITION_LESS_OR_EQUAL,
    CONDITION_GREATER,
    CONDITION_GREATER_OR_EQUAL,
    CONDITION_CONTAINS,
} condition_operator;

typedef enum {
    CONDITION_NOTHING, /* there is no such value */
    CONDITION_NULL,
    CONDITION_OBJECT, /* not null, and nothing else is known */
    CONDITION_WHOLE,
    CONDITION_REAL,
    CONDITION_TEXT,
} condition_kind;

typedef struct {
    condition_kind kind;
    int64_t whole;
    bool above; /* the whole number is `whole` taken as unsigned, beyond INT64_MAX */
    double real;
    bool single;         /* a float: the constant is taken as one too */
    const uint8_t *text; /* UTF-16 */
    size_t units;
} condition_value;

typedef struct {
    char path[CONDITION_PATH];
    condition_operator operator;
    bool begins_group; /* after || */
    condition_kind kind;
    int64_t whole;
    bool above; /* as of a value */
    double real;
    uint16_t text[CONDITION_UNITS];
    size_t units;
} condition_term;

typedef struct {
    condition_term terms[CONDITION_TERMS];
    size_t count;
} condition;

/* ERROR_USAGE says what is wrong and where. */
int condition_parse(condition *c, const char *text, error *e);
/* `value` fills in the value of a term's path. */
bool condition_holds(const condition *c, void *context,
                     void (*value)(void *context, size_t term, condition_value *out));
/* value * 10^power, rounded once: what a compiler makes of these digits, up to 15 of them. */
double condition_scale(double value, int power);
/* The length of the path at the start of a text (names apart by dots); 0 = there is none. */
size_t condition_path_length(const char *text);

#endif
