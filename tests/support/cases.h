/*
 * cases: test cases as data. A file of tests/cases has comment lines (#), blank lines, and cases of
 * a fixed number of lines each.
 */
#ifndef CLARINET_TESTS_CASES_H
#define CLARINET_TESTS_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

enum { CASES_MOST_LINES = 4096 };

typedef struct {
    buffer text;
    char *lines[CASES_MOST_LINES]; /* without comment lines; blank lines kept */
    size_t count;
    size_t next;
} cases;

/* Reads tests/cases/NAME; a test that can't read it fails. */
void cases_open(cases *c, const char *name);
void cases_close(cases *c);
/* The next `n` lines that follow a blank one; false at the end. They may be changed. */
bool cases_next(cases *c, char **lines, size_t n);
/* Cuts at `separator` in place; returns how many pieces there are (at most `most`). */
size_t cases_cut(char *text, const char *separator, char **pieces, size_t most);

#endif
