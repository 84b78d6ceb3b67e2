/*
 * top_window: what an agent sent in the last seconds, as a recording in memory. Rows older than the
 * window are dropped; names and stacks are kept, because later rows may mean them.
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_CLI_TOP_WINDOW_H
#define CLARINET_CLI_TOP_WINDOW_H

#include "analysis/model.h"
#include "recording/decode.h"

typedef struct {
    uint64_t arrived_ns;
    size_t length; /* in `rows` */
} top_window_part;

typedef struct {
    buffer definitions; /* whole chunks */
    buffer rows;        /* whole chunks, oldest first */
    top_window_part *parts;
    size_t part_count;
    size_t part_capacity;
    uint64_t first_ns; /* when the first rows came; 0 = none did */
} top_window;

/* A zeroed one is empty. */
void top_window_feed(top_window *w, const recording_chunk *chunk, uint64_t now_ns);
/* What came since now_ns - span_ns, as a model of one process. */
int top_window_load(top_window *w, uint64_t now_ns, uint64_t span_ns, model *m, error *e);
void top_window_free(top_window *w);

#endif
