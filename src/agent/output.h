/*
 * output: what one session is sent. Rows come in, and with each row the definitions it needs
 * (strings, methods, stacks, …) that this session has not been sent yet; now and then everything is
 * gathered into chunks and put on the socket as far as the socket takes it.
 *
 * Invariant: a definition is in the stream before the first row that uses it. A tool that reads too
 * slowly, or memory that ran out, costs whole rows, which are counted; never the definitions of
 * rows that were sent. Thread rules: the agent's own thread only.
 */
#ifndef CLARINET_AGENT_OUTPUT_H
#define CLARINET_AGENT_OUTPUT_H

#include "agent/engine.h"
#include "agent/names.h"
#include "base/table.h"
#include "recording/encode.h"

enum { OUTPUT_LIMIT = 4 << 20 }; /* bytes waiting for a slow tool before rows are dropped */

/* One bit per id. */
typedef struct {
    uint8_t *bits;
    size_t size; /* bytes */
} output_sent;

typedef struct {
    const recording_table *table;
    uint32_t id;
    bool open;
    buffer bytes;
    recording_rows rows;
} output_table;

enum {
    OUTPUT_STRINGS,
    OUTPUT_MODULES,
    OUTPUT_METHODS,
    OUTPUT_FRAMES,
    OUTPUT_STACKS,
    OUTPUT_THREADS,
    OUTPUT_KINDS,
};

typedef struct {
    agent *agent; /* asked whether the runtime may be asked; NULL = it may not */
    names *names;
    uint64_t origin_ns; /* times are sent relative to this */
    output_sent sent[OUTPUT_THREADS];
    table_u64 threads_sent;
    buffer definitions[OUTPUT_KINDS]; /* records, without their chunk's head */
    output_table *tables[ENGINE_COUNT * ENGINE_MAX_TABLES];
    size_t waiting; /* bytes in definitions and tables */
    uint64_t rows;
    uint64_t more_rows; /* that the rows stand for; may be below 0 */
    uint64_t dropped;   /* rows: the tool is too slow, or there is no memory */
    bool broken;        /* an append failed since the last gather */
    buffer pending;     /* whole chunks on their way */
    size_t pending_sent;
} output;

void output_init(output *o, agent *a, names *n, uint64_t origin_ns);
void output_free(output *o);
/* Adds a row: one value per column; times are CLOCK_MONOTONIC, f64 is given as its bits. */
void output_row(output *o, unsigned engine_index, unsigned table, const uint64_t *cells);
/* For whoever writes many rows of one table at once: the table's rows, valid until output_gather;
 * NULL = the tool is too slow, or there is no memory. Ids are defined first, and what is written is
 * counted in `rows` here as well. */
recording_rows *output_rows(output *o, unsigned engine_index, unsigned table);
void output_define(output *o, recording_column_type type, uint64_t value);
/* The thread has another name now: it is told where the thread is known already. */
void output_rename_thread(output *o, uint64_t os_id);
/* Moves what has gathered into `pending`, as chunks. */
void output_gather(output *o);
/* Writes pending bytes to the socket without waiting: 0, or -errno when the connection is gone. */
int output_send(output *o, int descriptor);
/* For a process that is about to end, when the tool does not read: what is pending goes into a file
 * in memory, and its descriptor to the tool (docs/agent-protocol.md). 0, or -errno: it is still
 * pending. */
int output_hand_over(output *o, int descriptor);
static inline bool output_has_pending(const output *o)
{
    return o->pending.length > o->pending_sent;
}

#endif
