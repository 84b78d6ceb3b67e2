/*
 * meter_events: what the event source of meters (System.Diagnostics.Metrics) says, which collects
 * the instruments of a program for whoever asks, at an interval. Foreign bytes; no state; any
 * thread. Docs: docs/profilers/counters.md.
 */
#ifndef CLARINET_DIAGNOSTICS_METER_EVENTS_H
#define CLARINET_DIAGNOSTICS_METER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/reader.h"

#define METER_EVENTS_PROVIDER "System.Diagnostics.Metrics"
#define METER_EVENTS_KEYWORDS UINT64_C(2)

/* One value. Texts are good during the call only. */
typedef struct {
    const char *meter;
    const char *name;
    const char *title; /* the name with its tags */
    const char *unit;
    const char *tags; /* "route=/orders,quantile=0.5"; "" = none */
    unsigned kind;    /* COUNTER_LEVEL, COUNTER_INCREASE */
    double value;
} meter_value;

typedef void (*meter_put)(void *context, const meter_value *value);

/* The source's filter for a list of meters ("A,B"; an instrument as A\b) and an interval. The
 * session is one that several readers may share. */
void meter_events_append_filter(buffer *out, const char *meters, uint64_t interval_ns);

/* The values of one event: one of a counter, gauge or up-down counter, several of a histogram (its
 * quantiles, how many there were, their sum); none of other events. False: not understood. */
bool meter_events_read(uint32_t id, reader payload, meter_put put, void *context);

/* Whether the event is the source's word that it tells nothing; then the sentence for it. */
bool meter_events_read_trouble(uint32_t id, reader payload, buffer *out);
/* The same where it leaves something out and tells the rest: a callback of the program's that
 * fails, more series than were asked for. */
bool meter_events_read_note(uint32_t id, reader payload, buffer *out);

#endif
