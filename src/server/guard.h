/* guard: who may ask, and how often. Private to src/server. Thread rules: any thread. */
#ifndef CLARINET_SERVER_GUARD_H
#define CLARINET_SERVER_GUARD_H

#include <stdbool.h>

#include "server/api.h"

/* True when the request may be answered; else the reply says why not. A browser that comes with
 * the token in the address is sent on with a cookie instead. */
bool guard_admit(const api *a, const http_request *r, reply *out);
/* False when sessions are begun faster than anybody looks at them. */
bool guard_may_start(void);
/* Whether the server ends. */
bool guard_is_ending(int descriptor);

/* What --no-rest-api switches off, and --no-web-ui does not. */
bool guard_is_api(const char *path);

#endif
