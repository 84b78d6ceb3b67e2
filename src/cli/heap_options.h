/*
 * heap_options: what the person asks `clarinet heap` for.
 *
 * Thread rules: the tool's main thread.
 */
#ifndef CLARINET_CLI_HEAP_OPTIONS_H
#define CLARINET_CLI_HEAP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "catalogue/catalogue.h"
#include "report/heap_report.h"
#include "session/session.h"

enum { HEAP_OPTIONS_NAME = 512 }; /* longest name of a file */

typedef struct {
    heap_report_options report;
    bool json;
    bool diff, watch;
    uint64_t every_ns; /* between two snapshots of watch */
    size_t count;      /* of them */
    bool one;          /* --object */
    uint64_t address;  /* of it */
    char **names;      /* PID, process or file; files with diff */
    size_t name_count;
    char kept[HEAP_OPTIONS_NAME]; /* -o; "" = snapshots are not kept */
    char file[HEAP_OPTIONS_NAME]; /* the recording that is made */
    bool strings_off, strings_said, quick;
    const char *fields_said; /* --fields: types whose values are kept; NULL = none */
    char fields[CATALOGUE_MAX_TEXT];
    bool threads;    /* --threads was said, which is so without it too */
    bool no_threads; /* no look at the threads: whose stack keeps what is not known */
    bool by_said;    /* --by */
    catalogue_selection selection;
    session_options session;
    buffer typed;
} heap_options;

/* Reads the command line into what is all zero. */
int heap_options_parse(int argc, char **argv, heap_options *q, error *e);
/* A number is a process; anything else that can be opened is a file. */
bool heap_options_is_file(const char *name);

#endif
