/* port_providers: see port_providers.h. */
#include "session/port_providers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clr/http_events.h"
#include "diagnostics/meter_events.h"

enum { SAMPLING_MAJOR = 10 }; /* the first .NET that samples allocations by itself */
#define KEYWORD_GC          UINT64_C(0x1)
#define KEYWORD_JIT         UINT64_C(0x10)
#define KEYWORD_CONTENTION  UINT64_C(0x4000)
#define KEYWORD_EXCEPTION   UINT64_C(0x8000)
#define KEYWORD_WAIT_HANDLE UINT64_C(0x40000000000)
#define KEYWORD_ALLOCATION  UINT64_C(0x80000000000)
/* Collections and their ranges of generations, the heap dump, one collection for it, types */
#define KEYWORDS_HEAP UINT64_C(0x1d80001)
#define KEYWORD_FLOW  UINT64_C(0x80) /* of tasks: requests get an activity */

/* What is the same for all: the runtime's own events. */
static const struct {
    const char *profiler;
    uint64_t keywords;
    uint32_t level;
} ROWS[] = {
    {"gc", KEYWORD_GC, 4},      {"pauses", KEYWORD_GC, 4},
    {"allocations", 0, 4},      {"exceptions", KEYWORD_EXCEPTION, 4},
    {"jit", KEYWORD_JIT, 5},    {"contention", KEYWORD_CONTENTION, 4},
    {"counters", 0, 0},         {"http", 0, 0},
    {"heap", KEYWORDS_HEAP, 5},
};

bool port_providers_know(const char *profiler)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (text_equal(ROWS[i].profiler, profiler))
            return true;
    return false;
}

static void add(port_providers *p, const char *name, uint64_t keywords, uint32_t level,
                const char *filter)
{
    for (size_t i = 0; i < p->count; i++) {
        eventpipe_provider *item = &p->items[i];

        if (!text_equal(item->name, name))
            continue;
        item->keywords |= keywords;
        item->level = item->level > level ? item->level : level;
        item->filter = item->filter != NULL ? item->filter : filter;
        return;
    }
    p->items[p->count++] = (eventpipe_provider){name, keywords, level, filter};
}

/* Sources of counters that are known by name only. */
static void add_named(port_providers *p, const char *list)
{
    char *at = p->sources;
    const char *name;
    size_t length;

    snprintf(p->sources, sizeof p->sources, COUNTER_LIBRARIES ",%s", list);
    list = p->sources;
    /* each name becomes a text of its own, in place: what is left of the list lies behind it */
    while ((length = counter_next_source(&list, &name)) != 0 && p->count < PORT_PROVIDERS) {
        char after = *list;

        memmove(at, name, length);
        list += after != '\0';
        at[length] = '\0';
        add(p, at, PORT_NO_KEYWORDS, 1, p->interval);
        at += length + 1;
    }
}

static void add_counters(port_providers *p, const catalogue_selected *item)
{
    static const char *const SOURCES[] = {"System.Runtime", "Microsoft.AspNetCore.Hosting",
                                          "Microsoft-AspNetCore-Server-Kestrel", "System.Net.Http"};
    uint64_t interval = catalogue_number(item, "interval");
    const char *meters = catalogue_text(item, "meters");
    buffer filter;

    /* before the counters: 8.0 can lock up when they are published while this is switched on */
    p->meter_interval = interval;
    if (meters[0] != '\0') {
        buffer_fix(&filter, p->meters, sizeof p->meters);
        meter_events_append_filter(&filter, meters, interval);
        add(p, METER_EVENTS_PROVIDER, METER_EVENTS_KEYWORDS, 4, p->meters);
    }
    snprintf(p->interval, sizeof p->interval, "EventCounterIntervalSec=%u.%03u",
             (unsigned)(interval / 1000000000), (unsigned)(interval / 1000000 % 1000));
    for (size_t i = 0; i < sizeof SOURCES / sizeof *SOURCES; i++)
        add(p, SOURCES[i], PORT_NO_KEYWORDS, 1, p->interval);
    add_named(p, catalogue_text(item, "sources"));
}

static void add_requests(port_providers *p, const catalogue_selected *item)
{
    add(p, "Microsoft.AspNetCore.Hosting", PORT_NO_KEYWORDS, 4, NULL);
    add(p, "System.Net.Http", PORT_NO_KEYWORDS, 4, NULL);
    add(p, "System.Threading.Tasks.TplEventSource", KEYWORD_FLOW, 4, NULL);
    if (catalogue_number(item, "status") != 0)
        add(p, "Microsoft-Diagnostics-DiagnosticSource", HTTP_EVENT_STATUS_KEYWORDS, 4,
            HTTP_EVENT_STATUS_FILTER);
}

void port_providers_choose(port_providers *p, const catalogue_selection *selection,
                           const char *version)
{
    bool samples = atoi(version) >= SAMPLING_MAJOR;

    memset(p, 0, sizeof *p);
    p->with_messages = true;
    for (size_t i = 0; i < selection->count; i++) {
        const catalogue_selected *item = &selection->items[i];
        const char *name = item->profiler->name;

        for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++)
            if (text_equal(ROWS[k].profiler, name) && ROWS[k].level != 0)
                add(p, PORT_RUNTIME, ROWS[k].keywords, ROWS[k].level, NULL);
        if (text_equal(name, "allocations"))
            add(p, PORT_RUNTIME, samples ? KEYWORD_ALLOCATION : KEYWORD_GC, samples ? 4 : 5, NULL);
        else if (text_equal(name, "contention") && catalogue_number(item, "waits") != 0)
            add(p, PORT_RUNTIME, KEYWORD_WAIT_HANDLE, 5, NULL);
        else if (text_equal(name, "exceptions"))
            p->with_messages = catalogue_number(item, "messages") != 0;
        else if (text_equal(name, "heap"))
            p->with_heap = true;
        else if (text_equal(name, "counters"))
            add_counters(p, item);
        else if (text_equal(name, "http"))
            add_requests(p, item);
    }
}
