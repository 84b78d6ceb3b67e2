/*
 * eventpipe: the runtime's event stream from inside a profiler (.NET 5 and later).
 *
 * To receive: COR_PRF_HIGH_MONITOR_EVENT_PIPE in the high event mask (clr_info_set_event_mask2),
 * the callback eventpipe_event_delivered, and a session. The callback runs on the thread that
 * raised the event. To write: a provider, its events, and clr_eventpipe_write from any thread.
 */
#ifndef CLARINET_EVENTPIPE_H
#define CLARINET_EVENTPIPE_H

#include "clarinet/lookup.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLR_EVENTPIPE_MOST = 16, CLR_EVENTPIPE_SOURCES = 48, CLR_EVENTPIPE_NAME = 128 };

/* What a session listens to. */
typedef struct {
    const char *name;   /* "Microsoft-Windows-DotNETRuntime" */
    uint64_t keywords;  /* which groups of events; 0 = all without one */
    uint32_t level;     /* COR_PRF_EVENTPIPE_LEVEL */
    const char *filter; /* "key=value;…", or NULL */
} clr_eventpipe_source;

/* 1 to CLR_EVENTPIPE_SOURCES sources; names below CLR_EVENTPIPE_NAME units, filters below 1,024,
 * all of them together below 6,144, else E_INVALIDARG. */
HRESULT clr_eventpipe_start(const clr_info *info, const clr_eventpipe_source *sources, size_t count,
                            EVENTPIPE_SESSION *session);
/* Only for a provider that is made after this call: of one that exists already the runtime says
 * S_OK and delivers nothing. Name that one when the session starts. */
HRESULT clr_eventpipe_add(const clr_info *info, EVENTPIPE_SESSION session,
                          const clr_eventpipe_source *source);
HRESULT clr_eventpipe_stop(const clr_info *info, EVENTPIPE_SESSION session);
/* Whose event was delivered. */
HRESULT clr_eventpipe_get_provider_name(const clr_info *info, EVENTPIPE_PROVIDER provider,
                                        clr_text *name);

/* An event of one's own; at most CLR_EVENTPIPE_MOST parameters, which end with a NULL name. */
typedef struct {
    const char *name;
    uint32_t type;         /* COR_PRF_EVENTPIPE_PARAM_TYPE */
    uint32_t element_type; /* of an array */
} clr_eventpipe_parameter;
typedef struct {
    const char *name;
    uint32_t id;
    uint32_t version;
    uint64_t keywords;
    uint32_t level;
    uint8_t opcode;
    BOOL with_stack;
    const clr_eventpipe_parameter *parameters; /* NULL = none */
} clr_eventpipe_description;

HRESULT clr_eventpipe_create_provider(const clr_info *info, const char *name,
                                      EVENTPIPE_PROVIDER *provider);
HRESULT clr_eventpipe_define(const clr_info *info, EVENTPIPE_PROVIDER provider,
                             const clr_eventpipe_description *description, EVENTPIPE_EVENT *event);
/* Values in the order of the parameters: COR_PRF_EVENT_DATA d[] = {clr_event_data(&n, sizeof n)}.
 * A string is UTF-16 with its closing zero. */
static inline COR_PRF_EVENT_DATA clr_event_data(const void *value, size_t size)
{
    COR_PRF_EVENT_DATA data;

    data.ptr = (uint64_t)(uintptr_t)value;
    data.size = (uint32_t)size;
    data.reserved = 0;
    return data;
}
HRESULT clr_eventpipe_write(const clr_info *info, EVENTPIPE_EVENT event,
                            const COR_PRF_EVENT_DATA *data, size_t count);

#ifdef __cplusplus
}
#endif

#endif
