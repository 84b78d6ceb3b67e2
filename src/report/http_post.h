/*
 * http_post: sends JSON to a collector by one HTTP/1.1 request, in the clear. There is no TLS here:
 * an https address is refused with the way out (a collector on this machine).
 */
#ifndef CLARINET_REPORT_HTTP_POST_H
#define CLARINET_REPORT_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct {
    char host[256];
    char port[8];
    char path[1024];
} http_address;

/* Is it an address at all, of whatever scheme? */
bool http_is_address(const char *text);
/* http://HOST[:PORT][/PATH]; without a port `port`, without a path `path`. */
int http_parse_address(const char *text, const char *port, const char *path, http_address *out,
                       error *e);
/* An answer other than 2xx is an error with what the receiver said. */
int http_post_json(const http_address *to, const void *bytes, size_t length, error *e);

#endif
