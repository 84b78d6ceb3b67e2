/*
 * ipc: the wire of the runtime's diagnostics port: connect, send one whole request, take one
 * answer.
 *
 * A .NET process listens on a Unix socket `dotnet-diagnostic-PID-START-socket` in its temporary
 * folder. One connection carries one command. A malformed payload can crash the target, so requests
 * are only built with the functions here and sent whole, or not at all. Answers are foreign bytes:
 * they are read through base/reader and never trusted.
 *
 * Thread rules: nothing is shared; any thread may use its own ipc_address.
 */
#ifndef CLARINET_DIAGNOSTICS_IPC_H
#define CLARINET_DIAGNOSTICS_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/reader.h"

enum {
    IPC_HEADER_SIZE = 20,
    IPC_MESSAGE_LIMIT = 65535, /* the size field has 16 bits */
    IPC_DEFAULT_TIMEOUT_MS = 5000,
};

/* Where a process listens. */
typedef struct {
    int process_id;      /* as we see it; 0: not known, then the peer is not checked */
    unsigned timeout_ms; /* for one whole command; 0 = IPC_DEFAULT_TIMEOUT_MS */
    char root[32];       /* "/proc/PID/root" when the path is inside another mount namespace */
    char path[512];      /* of the socket, inside that root */
} ipc_address;

/* An answer: `bytes` holds the whole message, `payload` looks into it. */
typedef struct {
    bool refused;     /* the runtime answered with an error */
    uint32_t hresult; /* why, when refused */
    buffer bytes;
    reader payload;
} ipc_answer;

void ipc_answer_free(ipc_answer *answer);

/* Requests: payload of text as the port wants it; NULL is the absent text. */
void ipc_append_text(buffer *payload, const char *text);
/* Appends a whole message (header and payload). False when it does not fit one message. */
bool ipc_append_message(buffer *out, uint8_t set, uint8_t command, const void *payload,
                        size_t length);

/* Takes a text out of an answer and appends it as UTF-8; absent text appends nothing. */
void ipc_read_text(reader *r, buffer *out);
/* Reads an answer's header. *size becomes the size of the whole message. */
int ipc_parse_header(const void *bytes, size_t length, size_t *size, error *e);
/* Fills refused, hresult and payload from answer->bytes, which holds a whole message. */
int ipc_parse_answer(ipc_answer *answer, error *e);

/* Opens the folder a path lies in, resolving links inside `root` and never outside of it. Returns a
 * descriptor (O_PATH) and sets *name to the last part, or a negative errno. */
int ipc_open_folder(const char *root, const char *path, const char **name);

/* Connects; the caller closes *descriptor. A socket that belongs to another process than
 * address->process_id is refused. */
int ipc_connect(const ipc_address *address, int *descriptor, error *e);

/* One command: connect, send, wait for the whole answer. With `keep`, the open connection is handed
 * over (for commands that go on as a stream) when the runtime did not refuse; otherwise it is
 * closed. Returns 0 also when the runtime refused: look at answer->refused. */
int ipc_call(const ipc_address *address, uint8_t set, uint8_t command, const buffer *payload,
             ipc_answer *answer, int *keep, error *e);

/* Reads exactly `length` bytes that follow an answer, with the address's timeout. */
int ipc_receive(const ipc_address *address, int descriptor, void *bytes, size_t length, error *e);

#endif
