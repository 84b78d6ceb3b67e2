/*
 * outside_sheet: a look at threads that nobody in the process took, written as a recording with the
 * tables of the profiler `threads`. Private to src/session.
 *
 * Thread rules: one sheet belongs to one thread.
 */
#ifndef CLARINET_SESSION_OUTSIDE_SHEET_H
#define CLARINET_SESSION_OUTSIDE_SHEET_H

#include "recording/writer.h"
#include "session/outside_walk.h"

typedef struct {
    outside_walker *walker;
    buffer threads; /* payload of THREAD */
    buffer rows;    /* chunk of ROWS */
    recording_rows table;
    size_t seen;
    uint64_t stopped_ns; /* how long threads stood still, in all */
    bool is_traced;      /* another tracer had one of them */
} outside_sheet;

/* One thread. */
typedef struct {
    int id;
    const char *name;
    uint64_t stack; /* of outside_walk */
    uint64_t cpu_ns;
    long call; /* number of the system call it is in; -1 = none */
} outside_row;

/* Whose threads they are. */
typedef struct {
    int process_id;
    const char *name, *command_line, *runtime_version, *architecture;
    const char *from, *reason; /* which way the look was taken, and why */
} outside_about;

/* Of a process that runs; its root folder. */
int outside_sheet_open(outside_sheet *s, int process, const char *root, error *e);
/* Of memory that is read in another way, with its map as text. */
int outside_sheet_open_memory(outside_sheet *s, const peek *memory, const buffer *map,
                              const char *root, error *e);
void outside_sheet_add(outside_sheet *s, const outside_row *row);
int outside_sheet_write(outside_sheet *s, const outside_about *about, const char *root,
                        const char *file, error *e);
void outside_sheet_close(outside_sheet *s);

#endif
