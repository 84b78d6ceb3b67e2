/*
 * link: one connection between the tool and an agent. Sends commands, takes chunks out of what
 * comes back. Everything received is foreign bytes. Thread rules: one thread per link.
 */
#ifndef CLARINET_SESSION_LINK_H
#define CLARINET_SESSION_LINK_H

#include "base/buffer.h"
#include "base/error.h"
#include "control/control.h"
#include "recording/decode.h"

typedef struct {
    int descriptor; /* -1 = closed */
    buffer received;
    size_t taken; /* bytes of `received` that were handed out */
    bool failed;  /* a file that was handed over could not be read */
} session_link;

void link_init(session_link *l, int descriptor);
void link_close(session_link *l);
/* Sends a whole message; waits up to 5 s for room. */
int link_send(session_link *l, const buffer *message, error *e);
int link_send_plain(session_link *l, control_kind kind, error *e);
/* Reads what is there, without waiting. ERROR_GONE when the other side has closed. */
int link_read(session_link *l, error *e);
/* The next whole chunk that was read; false when there is none (or e->code is set: broken). The
 * payload is valid until the next link_read. */
bool link_next(session_link *l, recording_chunk *chunk, error *e);
/* Waits for the next chunk. */
int link_wait(session_link *l, recording_chunk *chunk, unsigned timeout_ms, error *e);

/* Says hello and waits for the welcome; another protocol version is explained. */
int link_greet(session_link *l, const uint8_t *token, control_welcome *welcome, error *e);
void link_put_hello(buffer *out, const uint8_t *token);
/* 0 when this tool can work with an agent that welcomes so. */
int link_check_welcome(const control_welcome *welcome, error *e);

#endif
