/* link: see link.h. */
#include "session/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

enum {
    SEND_TIMEOUT_MS = 10000,
    GREET_TIMEOUT_MS = 15000,
    READ_STEP = 256 << 10,
    HANDED_LIMIT = 64 << 20, /* bytes of a file that an agent hands over */
};

void link_init(session_link *l, int descriptor)
{
    memset(l, 0, sizeof *l);
    l->descriptor = descriptor;
}

void link_close(session_link *l)
{
    if (l->descriptor >= 0)
        close(l->descriptor);
    buffer_free(&l->received);
    link_init(l, -1);
}

int link_send(session_link *l, const buffer *message, error *e)
{
    size_t sent = 0;

    if (buffer_failed(message))
        return error_set(e, ERROR_MEMORY, "no memory for a message to the agent");
    while (sent < message->length) {
        ssize_t n = send(l->descriptor, message->data + sent, message->length - sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd polled = {l->descriptor, POLLOUT, 0};

        if (n > 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return error_set(e, ERROR_GONE, "the agent has closed the connection");
        if (poll(&polled, 1, SEND_TIMEOUT_MS) == 0)
            return error_set(e, ERROR_TIMEOUT, "the agent takes no commands");
    }
    return 0;
}

int link_send_plain(session_link *l, control_kind kind, error *e)
{
    buffer message = BUFFER_EMPTY;
    int code;

    control_put_plain(&message, kind);
    code = link_send(l, &message, e);
    buffer_free(&message);
    return code;
}

/* What the agent could not send before its process ended. Only a file in memory is read: any other
 * could make us wait (it is a stranger's), and only as much of it as an agent may have. */
static bool append_file(session_link *l, int file)
{
    struct stat status;
    size_t size;
    size_t at = 0;

    if (fcntl(file, F_GET_SEALS) < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size < 0 || status.st_size > HANDED_LIMIT)
        return false;
    size = (size_t)status.st_size;
    if (!buffer_reserve(&l->received, size))
        return false;
    while (at < size) {
        ssize_t n = pread(file, l->received.data + l->received.length, size - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        l->received.length += (size_t)n;
        at += (size_t)n;
    }
    return true;
}

/* The descriptor that came with a message, -1 = none; further ones are closed. */
static int take_descriptor(struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int found = -1;
    size_t count;

    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return -1;
    count = (header->cmsg_len - CMSG_LEN(0)) / sizeof found;
    for (size_t i = 0; i < count; i++) {
        int one;

        memcpy(&one, CMSG_DATA(header) + i * sizeof one, sizeof one);
        if (found < 0)
            found = one;
        else
            close(one);
    }
    return found;
}

/* As recv; a byte that carries a descriptor ends what is received at once, and what is in the file
 * stands in its place. */
static ssize_t receive(session_link *l)
{
    alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
    struct iovec room = {l->received.data + l->received.length, READ_STEP};
    struct msghdr message = {.msg_iov = &room,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(l->descriptor, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int file = n > 0 ? take_descriptor(&message) : -1;

    if (n <= 0)
        return n;
    l->received.length += (size_t)n;
    if (file >= 0) {
        l->received.length--;
        l->failed = !append_file(l, file) || l->failed;
        close(file);
    }
    return n;
}

int link_read(session_link *l, error *e)
{
    if (l->taken != 0) {
        memmove(l->received.data, l->received.data + l->taken, l->received.length - l->taken);
        l->received.length -= l->taken;
        l->taken = 0;
    }
    for (;;) {
        ssize_t n;

        if (!buffer_reserve(&l->received, READ_STEP))
            return error_set(e, ERROR_MEMORY, "no memory for what the agent sends");
        n = receive(l);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return error_set(e, ERROR_GONE, "the agent has closed the connection");
        if (l->failed)
            return error_set(e, ERROR_CORRUPT, "what the agent handed over cannot be read");
        if ((size_t)n < READ_STEP || l->received.length > 4 * READ_STEP)
            return 0;
    }
}

bool link_next(session_link *l, recording_chunk *chunk, error *e)
{
    recording_chunk_state state =
        recording_take_chunk(l->received.data + l->taken, l->received.length - l->taken, chunk);

    if (state == RECORDING_CHUNK_BROKEN)
        error_set(e, ERROR_CORRUPT, "what the agent sends is broken");
    if (state != RECORDING_CHUNK_WHOLE)
        return false;
    l->taken += chunk->whole;
    return true;
}

int link_wait(session_link *l, recording_chunk *chunk, unsigned timeout_ms, error *e)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)timeout_ms * 1000000;

    error_clear(e);
    for (;;) {
        struct pollfd polled = {l->descriptor, POLLIN, 0};
        uint64_t now = os_monotonic_ns();
        int code;

        if (l->received.length > l->taken && link_next(l, chunk, e))
            return 0;
        if (e->code != 0)
            return e->code;
        if (now >= end)
            return error_set(e, ERROR_TIMEOUT, "the agent does not answer");
        if (poll(&polled, 1, (int)((end - now) / 1000000) + 1) <= 0)
            continue;
        code = link_read(l, e);
        if (code != 0)
            return code;
    }
}

void link_put_hello(buffer *out, const uint8_t *token)
{
    control_hello hello = {.protocol = CONTROL_PROTOCOL, .version = CLARINET_VERSION};

    memcpy(hello.token, token, sizeof hello.token);
    control_put_hello(out, CONTROL_HELLO, &hello);
}

int link_check_welcome(const control_welcome *welcome, error *e)
{
    if (welcome->protocol == CONTROL_PROTOCOL)
        return 0;
    error_set(e, ERROR_UNSUPPORTED,
              "an agent of clarinet %s is loaded in the process; it speaks protocol %u, this "
              "clarinet (%s) speaks %u",
              welcome->version, (unsigned)welcome->protocol, CLARINET_VERSION,
              (unsigned)CONTROL_PROTOCOL);
    return error_advise(e,
                        "wait until its session has ended; if it stays, use clarinet %s for this "
                        "process, or restart the process",
                        welcome->version);
}

int link_greet(session_link *l, const uint8_t *token, control_welcome *welcome, error *e)
{
    buffer message = BUFFER_EMPTY;
    recording_chunk chunk;
    int code;

    link_put_hello(&message, token);
    code = link_send(l, &message, e);
    buffer_free(&message);
    if (code == 0)
        code = link_wait(l, &chunk, GREET_TIMEOUT_MS, e);
    if (code != 0)
        return code;
    if (chunk.kind == CONTROL_REFUSED)
        return control_get_refused(reader_of(chunk.payload, chunk.length), e);
    if (chunk.kind != CONTROL_WELCOME)
        return error_set(e, ERROR_CORRUPT, "the agent does not answer a hello with a welcome");
    code = control_get_welcome(reader_of(chunk.payload, chunk.length), welcome, e);
    return code != 0 ? code : link_check_welcome(welcome, e);
}
