/*
 * instrument_spans: the spans out of a recording that grows, to a file or to a collector.
 *
 * The recording is what they wait in: while the program runs, a thread of low priority writes them
 * as far as the processor is free, so that it takes nothing from the program and from what records
 * it; the rest is written at the end. A file gets whole requests only, a line each, so it is good
 * at every moment. Memory is needed for one request and for async calls under way.
 *
 * What the destination does not take, and all that comes after it, is kept in a file of its own.
 *
 * Thread rules: start, finish and free on one thread; between start and finish nothing else.
 */
#ifndef CLARINET_CLI_INSTRUMENT_SPANS_H
#define CLARINET_CLI_INSTRUMENT_SPANS_H

#include "analysis/flow.h"
#include "report/http_post.h"

typedef struct instrument_spans instrument_spans;

typedef struct {
    const char *recording;         /* not packed */
    const char *destination;       /* a file, or - */
    const http_address *collector; /* NULL = a file */
    const char *kept;              /* file for what the destination does not take */
} instrument_spans_options;

typedef struct {
    uint64_t delivered;  /* spans */
    uint64_t kept;       /* in the other file */
    uint64_t rejected;   /* by the collector, of those delivered */
    const char *words;   /* the first that the collector said; "" = nothing */
    uint64_t bytes_left; /* of the recording, when there was no time for the rest */
} instrument_spans_counts;

/* The recording need not have anything in it yet. */
int instrument_spans_start(const instrument_spans_options *options, instrument_spans **out,
                           error *e);
/* The recording is complete: writes the rest, until `stop` (a signalfd) tells of a new signal, or
 * for so many milliseconds (0 = as long as it takes). Fails when not all could be delivered; what
 * there was no time for is no failure. */
int instrument_spans_finish(instrument_spans *s, int stop, unsigned patience_ms, error *e);
instrument_spans_counts instrument_spans_result(const instrument_spans *s);
/* What was recorded but for the spans; after finish. */
const model *instrument_spans_model(const instrument_spans *s);
const flow *instrument_spans_flow(const instrument_spans *s);
/* NULL is allowed; also when it was not finished. */
void instrument_spans_free(instrument_spans *s);

#endif
