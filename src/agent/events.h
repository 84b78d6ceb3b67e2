/*
 * events: the runtime's own events inside the process, through one EventPipe session that serves
 * every active engine: it asks for the union of what they want and is replaced when that changes.
 *
 * Thread rules: events_apply and events_stop on the agent's own thread (or inside Initialize). An
 * event is delivered on the thread that raised it; engines copy into the ring and return. The
 * session is off when the agent lets go: no event comes after events_stop has returned.
 */
#ifndef CLARINET_AGENT_EVENTS_H
#define CLARINET_AGENT_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/heap_quick.h"
#include "base/error.h"
#include "base/reader.h"
#include "clarinet/clarinet.h"

/* Providers that engines know. X(identifier, name) */
#define EVENTS_PROVIDER_LIST(X)                                                                    \
    X(EVENTS_RUNTIME, "Microsoft-Windows-DotNETRuntime")                                           \
    X(EVENTS_COUNTERS, "System.Runtime")                                                           \
    X(EVENTS_FRAMEWORK, "System.Diagnostics.Eventing.FrameworkEventSource")                        \
    X(EVENTS_TASKS, "System.Threading.Tasks.TplEventSource")                                       \
    X(EVENTS_HTTP_CLIENT, "System.Net.Http")                                                       \
    X(EVENTS_HOSTING, "Microsoft.AspNetCore.Hosting")                                              \
    X(EVENTS_KESTREL, "Microsoft-AspNetCore-Server-Kestrel")                                       \
    X(EVENTS_METRICS, "System.Diagnostics.Metrics")                                                \
    X(EVENTS_DIAGNOSTIC_SOURCE, "Microsoft-Diagnostics-DiagnosticSource")

typedef enum {
#define X(identifier, name) identifier,
    EVENTS_PROVIDER_LIST(X)
#undef X
        EVENTS_PROVIDER_COUNT,
    EVENTS_OTHER = EVENTS_PROVIDER_COUNT
} events_provider;

/* Keywords of the runtime's provider. */
#define EVENTS_KEYWORD_GC                  UINT64_C(0x1)
#define EVENTS_KEYWORD_JIT                 UINT64_C(0x10)
#define EVENTS_KEYWORD_JIT_TRACING         UINT64_C(0x1000)
#define EVENTS_KEYWORD_CONTENTION          UINT64_C(0x4000)
#define EVENTS_KEYWORD_EXCEPTION           UINT64_C(0x8000)
#define EVENTS_KEYWORD_THREADING           UINT64_C(0x10000)
#define EVENTS_KEYWORD_COMPILATION         UINT64_C(0x1000000000)
#define EVENTS_KEYWORD_WAIT_HANDLE         UINT64_C(0x40000000000)
#define EVENTS_KEYWORD_ALLOCATION_SAMPLING UINT64_C(0x80000000000)

/* Of EVENTS_TASKS: Start and Stop events of managed sources get an activity of their own. */
#define EVENTS_KEYWORD_FLOW UINT64_C(0x80)

/* What an engine wants of one provider. */
typedef struct {
    events_provider provider;
    uint64_t keywords;
    uint32_t level;
    const char *filter; /* "key=value;…" or NULL; of EVENTS_OTHER: names of sources, by commas, that
                           get the filter of EVENTS_COUNTERS */
} events_wish;

typedef struct {
    events_provider provider;
    EVENTPIPE_PROVIDER handle; /* stable while the session runs */
    uint32_t id;
    uint32_t version;
    reader data;
    const uint8_t *metadata; /* describes managed events: events_name */
    uint32_t metadata_length;
    const GUID *activity; /* what it belongs to, while somebody asked for EVENTS_KEYWORD_FLOW */
    const GUID *related;  /* of a Start event: what that was begun by; may be NULL as well */
} events_event;

enum { EVENTS_KNOWN_HANDLES = 64 };

/* What the agent keeps of it. */
typedef struct {
    EVENTPIPE_SESSION session;
    bool is_running;
    uint64_t replaced; /* times that a session was ended while somebody may have listened */
    uint64_t keywords[EVENTS_OTHER + 1]; /* in force */
    uint32_t levels[EVENTS_OTHER + 1];
    const char *filters[EVENTS_OTHER + 1];
    struct {
        _Atomic uintptr_t handle;
        atomic_int provider; /* + 1 */
    } handles[EVENTS_KNOWN_HANDLES];
    heap_guard guard; /* follows collections while their events are asked for */
} events;

/* Before the mask changes: ends a session that is no longer what the engines want. */
void events_prepare(agent *a);
/* After it: asks for what they want. The mask must allow events by then
 * (COR_PRF_HIGH_MONITOR_EVENT_PIPE in the engines' mask_high). */
int events_apply(agent *a, error *e);
/* Before any session in a process that runs already: a process of .NET 8 can lock up when it is
 * asked in its first moments (docs/nettrace.md), so the rest of its first second is waited out. */
void events_let_settle(const agent *a);
void events_stop(agent *a);

/* From the runtime's callback: everything of *event but its provider. */
void events_deliver(agent *a, events_event *event);

/* Whether a managed event has this name (native ones have none). */
bool events_is_named(const events_event *event, const char *name);
/* Text of an event: UTF-16 up to its zero, in place; *units counts them without it. */
const uint8_t *events_read_text(reader *r, size_t *units);

#endif
