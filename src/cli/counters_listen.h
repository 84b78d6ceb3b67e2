/*
 * counters_listen: answers GET /metrics on loopback with a text that the caller makes. No threads:
 * the caller looks in a few times a second. A client that is slow to ask or to read is dropped.
 */
#ifndef CLARINET_CLI_COUNTERS_LISTEN_H
#define CLARINET_CLI_COUNTERS_LISTEN_H

#include "base/buffer.h"
#include "base/error.h"

/* Listens on 127.0.0.1; *port 0 takes a free one and is set to it. The descriptor, or negative. */
int counters_listen_open(unsigned *port, error *e);
/* Answers who has connected; text NULL = not ready yet (503). */
void counters_listen_serve(int listener, const buffer *text);

#endif
