/*
 * port_providers: what to ask of the runtime's event stream for a selection of profilers. Private
 * to src/session. No state; any thread.
 */
#ifndef CLARINET_SESSION_PORT_PROVIDERS_H
#define CLARINET_SESSION_PORT_PROVIDERS_H

#include "catalogue/catalogue.h"
#include "clr/counter_events.h"
#include "diagnostics/eventpipe.h"

#define PORT_RUNTIME "Microsoft-Windows-DotNETRuntime"
/* A bit that no provider has. */
#define PORT_NO_KEYWORDS (UINT64_C(1) << 40)
enum { PORT_PROVIDERS = 16 + COUNTER_MOST_SOURCES };

typedef struct {
    eventpipe_provider items[PORT_PROVIDERS];
    size_t count;
    bool with_messages;      /* of exceptions */
    bool with_heap;          /* a heap dump comes at once */
    uint64_t meter_interval; /* ns; 0 = none are asked for */
    char interval[64];       /* of counters, as the sources' filter */
    char meters[CATALOGUE_MAX_TEXT + 160];
    char sources[2 * CATALOGUE_MAX_TEXT]; /* names of sources of counters, each with its zero */
} port_providers;

bool port_providers_know(const char *profiler);
/* `version`: the runtime's, "" = not known. The result points into itself. */
void port_providers_choose(port_providers *p, const catalogue_selection *selection,
                           const char *version);

#endif
