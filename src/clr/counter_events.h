/*
 * counter_events: what the events of counters (EventCounters) hold. The agent meets them in the
 * process, the tool in the runtime's event stream. No state; any thread.
 */
#ifndef CLARINET_CLR_COUNTER_EVENTS_H
#define CLARINET_CLR_COUNTER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

/* What a value is; the column `kind`. */
enum {
    COUNTER_LEVEL = 0,    /* now, or its mean over the interval */
    COUNTER_INCREASE = 1, /* by how much it grew in the interval */
};

/* A text in place: UTF-16, `units` of it; NULL = there is none. */
typedef struct {
    const uint8_t *bytes;
    size_t units;
} counter_text;

typedef struct {
    counter_text name;
    counter_text title;
    counter_text unit;
    uint64_t interval_ns;
    unsigned kind;
    double value;
} counter_event;

/* Libraries whose counters are read without being named, besides those that `http` listens to. */
#define COUNTER_LIBRARIES "System.Net.NameResolution,System.Net.Security,System.Net.Sockets"

/* Of sources known by name only: 32 that are named or found, and the libraries. */
enum { COUNTER_MOST_SOURCES = 36, COUNTER_SOURCE_NAME = 128 };

/* The next of names that stand apart by commas, without the blanks around it; 0 = no further. */
size_t counter_next_source(const char **list, const char **name);

/* The payload of an event EventCounters; false when it is not understood. */
bool counter_event_read(reader payload, counter_event *event);

#endif
