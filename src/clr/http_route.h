/*
 * http_route: the path of a request without what differs from one request to the next, so that
 * requests for different things by the same code have one name.
 *
 * The runtime tells of a route only the values that it found in the path. Put back, they give the
 * route: "/orders/17/lines" with "[id, 17]" is "/orders/{id}/lines". Nothing is allocated but by
 * the buffer. No state; any thread.
 */
#ifndef CLARINET_CLR_HTTP_ROUTE_H
#define CLARINET_CLR_HTTP_ROUTE_H

#include "base/buffer.h"

/* Appends the path without its query. `values` as the runtime spells them, "[id, 17],[name, bolt]",
 * or "". Where none of them stands, numbers become {id}. */
void http_route_append(buffer *out, const char *path, const char *values);

#endif
