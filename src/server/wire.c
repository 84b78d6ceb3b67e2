/* wire: see wire.h. */
#include "server/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "report/json.h"

enum { IDLE_MS = 30000, HEAD_MS = 10000, STALL_MS = 20000, LINGER_MS = 2000 };

void wire_init(wire *w, int descriptor, int ending)
{
    *w = (wire){.descriptor = descriptor, .ending = ending};
    buffer_init(&w->received);
}

/* Waits until the socket can be read or written; false: too long, or the server ends. */
static bool wait_for(wire *w, short what, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd waits[2] = {{.fd = w->descriptor, .events = what},
                                  {.fd = w->ending, .events = POLLIN}};
        uint64_t now = os_monotonic_ns();

        if (now >= deadline_ns)
            return false;
        if (poll(waits, w->ending >= 0 && what == POLLIN ? 2 : 1,
                 (int)((deadline_ns - now) / 1000000) + 1) <= 0)
            continue;
        return waits[0].revents != 0; /* what ends with us is not begun */
    }
}

static uint64_t in_ms(unsigned milliseconds)
{
    return os_monotonic_ns() + milliseconds * UINT64_C(1000000);
}

/* Reads what is there; > 0, 0 at the end, or < 0. */
static ssize_t read_more(wire *w, size_t most)
{
    ssize_t got;

    if (!buffer_reserve(&w->received, most))
        return -1;
    do
        got = recv(w->descriptor, w->received.data + w->received.length, most, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        w->received.length += (size_t)got;
        w->received.data[w->received.length] = 0;
    }
    return got;
}

/* Somebody who still sends would see a broken connection instead of the answer: what comes is read
 * for a moment and thrown away. */
static void linger(wire *w)
{
    uint64_t deadline = in_ms(LINGER_MS);
    char rest[4096];
    ssize_t got;

    if (shutdown(w->descriptor, SHUT_WR) != 0)
        return;
    while (wait_for(w, POLLIN, deadline)) {
        got = recv(w->descriptor, rest, sizeof rest, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return;
    }
}

void wire_close(wire *w)
{
    if (w->closes)
        linger(w);
    buffer_free(&w->received);
    close(w->descriptor);
}

static void drop_used(wire *w)
{
    memmove(w->received.data, w->received.data + w->used, w->received.length - w->used);
    w->received.length -= w->used;
    w->used = 0;
}

int wire_read_head(wire *w, http_request *r)
{
    uint64_t deadline = 0;

    if (w->used != 0)
        drop_used(w);
    for (;;) {
        int size =
            w->received.length == 0 ? 0 : http_parse_head(r, w->received.data, w->received.length);

        if (size < 0)
            return size;
        if (size > 0) {
            w->used = (size_t)size;
            w->closes = !r->keeps_alive;
            return 1;
        }
        if (deadline == 0 || w->received.length == 0)
            deadline = in_ms(w->received.length == 0 ? IDLE_MS : HEAD_MS);
        if (!wait_for(w, POLLIN, deadline))
            return w->received.length == 0 ? 0 : -408;
        if (w->received.length == 0)
            deadline = in_ms(HEAD_MS);
        if (read_more(w, 4096) <= 0)
            return 0;
    }
}

static bool send_all(wire *w, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t sent = send(w->descriptor, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(w, POLLOUT, in_ms(STALL_MS)))
                return false;
            continue;
        }
        if (sent <= 0)
            return false;
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

int wire_read_body(wire *w, const http_request *r, uint64_t limit, buffer *body, int file, error *e)
{
    uint64_t left = r->content_length;

    if (left > limit) {
        w->closes = true;
        error_set(e, ERROR_LIMIT, "the body is larger than %llu bytes", (unsigned long long)limit);
        return e->code;
    }
    if (r->expects_continue && left != 0 && w->received.length == w->used &&
        !send_all(w, "HTTP/1.1 100 Continue\r\n\r\n", 25))
        return error_set(e, ERROR_GONE, "the other side has gone");
    while (left > 0) {
        size_t have = w->received.length - w->used;

        if (have > left)
            have = (size_t)left;
        if (have > 0) {
            int failed = 0;

            if (file < 0)
                buffer_append(body, w->received.data + w->used, have);
            else
                failed = os_write_all(file, w->received.data + w->used, have);
            w->used += have;
            left -= have;
            if (failed != 0 || (file < 0 && buffer_failed(body))) {
                w->closes = true;
                return failed != 0 ? error_set_errno(e, ERROR_IO, -failed, "cannot keep the body")
                                   : error_set(e, ERROR_MEMORY, "no memory for the body");
            }
            continue;
        }
        buffer_clear(&w->received);
        w->used = 0;
        if (!wait_for(w, POLLIN, in_ms(STALL_MS)) || read_more(w, 65536) <= 0) {
            w->closes = true;
            return error_set(e, ERROR_TIMEOUT, "the body did not come whole");
        }
    }
    return 0;
}

static void put_head(const wire *w, const reply *a, uint64_t length, buffer *head)
{
    buffer_format(head, "HTTP/1.1 %d %s\r\n", a->status, http_reason(a->status));
    if (a->status != 204)
        buffer_format(head, "Content-Length: %llu\r\n", (unsigned long long)length);
    if (length != 0 || a->status == 200)
        buffer_format(head, "Content-Type: %s\r\n",
                      a->type != NULL ? a->type : "application/json; charset=utf-8");
    buffer_format(head,
                  "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                  "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
                  "X-Frame-Options: DENY\r\nContent-Security-Policy: %s\r\n",
                  a->policy != NULL ? a->policy : "default-src 'none'; frame-ancestors 'none'");
    if (a->attachment[0] != '\0')
        buffer_format(head, "Content-Disposition: attachment; filename=\"%s\"\r\n", a->attachment);
    if (a->location[0] != '\0')
        buffer_format(head, "Location: %s\r\n", a->location);
    if (a->cookie[0] != '\0')
        buffer_format(head, "Set-Cookie: %s\r\n", a->cookie);
    if (a->packed)
        buffer_append_text(head, "Content-Encoding: gzip\r\n");
    if (a->allow != NULL)
        buffer_format(head, "Allow: %s\r\n", a->allow);
    if (a->status == 401)
        buffer_append_text(head, "WWW-Authenticate: Bearer\r\n");
    buffer_format(head, "Connection: %s\r\n\r\n", w->closes ? "close" : "keep-alive");
}

static bool send_file(wire *w, int file, uint64_t length)
{
    off_t at = 0;

    while ((uint64_t)at < length) {
        size_t rest = length - (uint64_t)at < (1 << 20) ? (size_t)(length - (uint64_t)at) : 1 << 20;
        ssize_t sent;

        if (!wait_for(w, POLLOUT, in_ms(STALL_MS)))
            return false;
        sent = sendfile(w->descriptor, file, &at, rest);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (sent <= 0)
            return false;
    }
    return true;
}

bool wire_reply(wire *w, const http_request *r, reply *a)
{
    buffer head = BUFFER_EMPTY;
    bool only_head = r != NULL && text_equal(r->method, "HEAD");
    bool sent;

    if (buffer_failed(&a->body))
        reply_error(a, 500, "no memory for the answer", "");
    put_head(w, a, a->file >= 0 ? a->file_length : a->body.length, &head);
    if (a->file < 0 && !only_head)
        buffer_append(&head, a->body.data, a->body.length);
    sent = !buffer_failed(&head) && send_all(w, head.data, head.length);
    if (sent && a->file >= 0 && !only_head)
        sent = send_file(w, a->file, a->file_length);
    buffer_free(&head);
    reply_free(a);
    return sent && !w->closes;
}

bool wire_begin_events(wire *w)
{
    static const char HEAD[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                               "Connection: close\r\n\r\n";

    w->closes = true;
    return send_all(w, HEAD, sizeof HEAD - 1);
}

bool wire_event(wire *w, const char *name, const char *data)
{
    struct pollfd gone = {.fd = w->descriptor, .events = POLLIN | POLLRDHUP};
    buffer text = BUFFER_EMPTY;
    bool sent;

    if (poll(&gone, 1, 0) > 0 && (gone.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        return false;
    if (name == NULL)
        buffer_append_text(&text, ":\n\n");
    else
        buffer_format(&text, "event: %s\ndata: %s\n\n", name, data);
    sent = !buffer_failed(&text) && send_all(w, text.data, text.length);
    buffer_free(&text);
    return sent;
}

void reply_free(reply *a)
{
    buffer_free(&a->body);
    if (a->file >= 0)
        close(a->file);
    a->file = -1;
}

void reply_error(reply *a, int status, const char *message, const char *advice)
{
    sink out;
    json j;

    reply_free(a);
    a->status = status;
    a->type = NULL;
    a->attachment[0] = '\0';
    a->packed = false;
    sink_init(&out, -1);
    json_init(&j, &out);
    json_begin_object(&j);
    json_begin_object_at(&j, "error");
    json_put_text(&j, "message", message);
    json_put_text(&j, "advice", advice);
    json_end_object(&j);
    json_end_object(&j);
    json_free(&j);
    a->body = out.pending; /* handed over */
}
