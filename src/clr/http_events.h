/*
 * http_events: what the events of ASP.NET Core and of HttpClient about requests hold. The agent
 * meets them in the process, the tool in the runtime's event stream.
 *
 * Nothing is allocated but by the buffers that are handed in; bytes that were cut off are read as
 * far as they go. No state; any thread.
 */
#ifndef CLARINET_CLR_HTTP_EVENTS_H
#define CLARINET_CLR_HTTP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/reader.h"

/* Ids of the sources' events; of the diagnostic source only the name is known. */
enum {
    HTTP_EVENT_SERVED_START = 3,
    HTTP_EVENT_SERVED_STOP = 4,
    HTTP_EVENT_SERVED_FAILED = 5,
    HTTP_EVENT_MADE_START = 1,
    HTTP_EVENT_MADE_STOP = 2,
    HTTP_EVENT_MADE_FAILED = 3,
};

/* What makes the diagnostic source tell the status of served requests and the values that their
 * route found in the path. */
#define HTTP_EVENT_STATUS_FILTER                                                                   \
    "FilterAndPayloadSpecs=\"Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.EndRequest"         \
    ":-status=httpContext.Response.StatusCode"                                                     \
    ";route=httpContext.Request.RouteValues.*Enumerate\""
#define HTTP_EVENT_STATUS_KEYWORDS UINT64_C(2)

/* What the diagnostic source tells of a served request. */
typedef struct {
    uint64_t status; /* 0: it does not tell */
    reader values;   /* UTF-16, "[id, 17],[name, bolt]"; empty: none, or there was no route */
} http_event_answer;

/* The next text, as UTF-8, into *out, which is emptied first; of one that was cut, what there is.
 */
void http_event_read_text(reader *r, buffer *out);
/* From the event of a request's begin: "GET /orders/{id}" of a served one, "https://bank/pay" of
 * one that was made. `values`: those of its route as UTF-8, or "" (http_route.h). `scratch` is
 * overwritten. */
void http_event_append_name(buffer *name, buffer *scratch, reader r, bool is_made,
                            const char *values);
http_event_answer http_event_read_answer(reader r);
/* From the event of the end of a request that was made; 0 when there was no answer. */
static inline uint64_t http_event_read_made_status(reader r)
{
    uint32_t status = reader_u32(&r);

    return (int32_t)status > 0 ? status : 0; /* -1: there was no answer */
}

#endif
