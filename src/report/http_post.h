/*
 * http_post: sends something to a collector by one HTTP/1.1 request, in the clear. There is no TLS
 * here: an https address is refused with the way out (a collector on this machine).
 */
#ifndef CLARINET_REPORT_HTTP_POST_H
#define CLARINET_REPORT_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

enum { HTTP_PATIENCE_MS = 30000 }; /* for a whole request */

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
/* What a receiver answered, as far as it matters here. `at` of the parts points into the text. */
typedef struct {
    int status;         /* 0 = this is no answer of an http server */
    long retry_after;   /* seconds; -1 = it does not say, or by a date */
    bool is_whole;      /* nothing more will come */
    const char *reason; /* the rest of the status line */
    int reason_length;
    const char *body; /* what is between the headers and the end, chunks not joined */
    size_t body_length;
} http_answer;
/* Takes apart what has come so far. */
void http_read_answer(const char *text, size_t length, http_answer *answer);

/* Sends, and sends again when the receiver says that it is too busy now (429, 502, 503, 504): after
 * the time that it asks for, or after 1, 2 and 4 s; three times, and never a minute later. *body
 * (NULL = not wanted) gets what a receiver that took it says about it. An answer other than 2xx is
 * an error with what the receiver said. */
int http_post_json(const http_address *to, const void *bytes, size_t length, buffer *body,
                   error *e);
/* Any content, sent once: a receiver that is too busy misses it. `what` ("the profile") is for
 * errors. `patience_ms` is for the whole request once the host's name is found, from the connection
 * to the end of the answer; of an answer that is not whole by then its status counts. */
int http_post(const http_address *to, const char *type, const char *what, const void *bytes,
              size_t length, unsigned patience_ms, error *e);

#endif
