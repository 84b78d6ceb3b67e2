/*
 * wire: one connection: requests in, answers out, with a limit on everything: size, time, patience.
 * Thread rules: one thread per connection.
 */
#ifndef CLARINET_SERVER_WIRE_H
#define CLARINET_SERVER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "server/http.h"

enum { WIRE_MAX_BODY = 1 << 20 };

typedef struct {
    int descriptor;
    int ending;      /* readable = the server ends; -1 = never */
    buffer received; /* not yet used */
    size_t used;
    bool closes; /* after this answer */
} wire;

/* What is answered. Zeroed but for `file` (-1) it is an empty 200. */
typedef struct {
    int status;
    const char *type; /* NULL = application/json */
    buffer body;
    int file; /* sent instead of the body, and closed */
    uint64_t file_length;
    const char *policy;   /* Content-Security-Policy; NULL = nothing may run */
    char attachment[160]; /* a file name: to be saved, not shown */
    char location[160];
    char cookie[256];
    const char *allow; /* methods, with 405 */
    bool packed;       /* the body is gzip's */
} reply;

void wire_init(wire *w, int descriptor, int ending);
void wire_close(wire *w);
/* 1 = a request's head was read; 0 = the other side has no more, or is too slow;
 * -status = it was wrong. */
int wire_read_head(wire *w, http_request *r);
/* The body, into memory (`limit` bytes at most) or into a file (descriptor >= 0). */
int wire_read_body(wire *w, const http_request *r, uint64_t limit, buffer *body, int file,
                   error *e);
/* Sends and frees the reply; false when the connection is of no use any more. */
bool wire_reply(wire *w, const http_request *r, reply *a);

/* Begins an endless answer of events, then one event each (`name` NULL: a comment that keeps the
 * connection). */
bool wire_begin_events(wire *w);
bool wire_event(wire *w, const char *name, const char *data);

void reply_free(reply *a);
/* An error as JSON: {"error": {"message", "advice"}}; replaces what was there. */
void reply_error(reply *a, int status, const char *message, const char *advice);

#endif
