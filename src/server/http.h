/*
 * http: the head of an HTTP/1.1 request, and the head of an answer, as bytes. No OS calls.
 *
 * Every byte of a request is foreign: what is not plain HTTP/1.1 gets a status and no second
 * guess. Bodies are counted (Content-Length); a chunked one is refused with 411.
 * Thread rules: a request belongs to one thread.
 */
#ifndef CLARINET_SERVER_HTTP_H
#define CLARINET_SERVER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { HTTP_MAX_HEAD = 16384, HTTP_MAX_FIELDS = 64 };

typedef struct {
    const char *name; /* of a header: in lower case */
    const char *value;
} http_field;

typedef struct {
    char text[HTTP_MAX_HEAD + 1]; /* the head, cut into strings */
    const char *method;
    const char *path; /* without the query, decoded; begins with a slash, holds no zero */
    http_field headers[HTTP_MAX_FIELDS];
    size_t header_count;
    http_field query[HTTP_MAX_FIELDS];
    size_t query_count;
    uint64_t content_length;
    bool keeps_alive;
    bool expects_continue;
} http_request;

/* The bytes of the head with its empty line; 0 when more are needed; -status when it is wrong. */
int http_parse_head(http_request *r, const void *bytes, size_t length);
/* NULL when there is none. Names of headers in lower case. */
const char *http_header(const http_request *r, const char *name);
const char *http_query(const http_request *r, const char *name);
/* One of the cookies, into `value`; false when there is none or it does not fit. */
bool http_cookie(const http_request *r, const char *name, char *value, size_t room);
/* The host of a Host header without its port, in lower case, into `host`; false when it is none. */
bool http_host(const char *header, char *host, size_t room);

/* "Not Found" for 404; never NULL. */
const char *http_reason(int status);

#endif
