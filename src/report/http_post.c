/* http_post: see http_post.h. */
#include "report/http_post.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"

enum { MOST_WAITING_SECONDS = 60, MOST_RETRIES = 3, ANSWER = 1 << 16 };

bool http_is_address(const char *text)
{
    return strstr(text, "://") != NULL;
}

static bool is_clean(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text == 0x7F)
            return false;
    return true;
}

/* Takes `length` bytes of *text as a part of the address. */
static bool take(const char **text, size_t length, char *out, size_t size)
{
    if (length == 0 || length >= size)
        return false;
    memcpy(out, *text, length);
    out[length] = '\0';
    *text += length;
    return true;
}

static int wrong(error *e, const char *text)
{
    error_set(e, ERROR_USAGE, "'%.200s' is not an address of a collector", text);
    return error_advise(e, "for example http://127.0.0.1:4318/v1/traces");
}

int http_parse_address(const char *text, const char *port, const char *path, http_address *out,
                       error *e)
{
    const char *at = text;
    size_t host;

    if (text_starts_with(text, "https://")) {
        error_set(e, ERROR_UNSUPPORTED, "https is not supported: what is sent goes in the clear");
        return error_advise(e, "send them to a collector on this machine, by http, and let it "
                               "pass them on by https");
    }
    if (!text_starts_with(text, "http://") || !is_clean(text) || strchr(text, '@') != NULL)
        return wrong(e, text);
    at += strlen("http://");
    if (*at == '[') { /* an IPv6 address */
        at++;
        if (!take(&at, strcspn(at, "]"), out->host, sizeof out->host) || *at++ != ']')
            return wrong(e, text);
    } else {
        host = strcspn(at, ":/?#");
        if (!take(&at, host, out->host, sizeof out->host))
            return wrong(e, text);
    }
    snprintf(out->port, sizeof out->port, "%s", port);
    if (*at == ':') {
        at++;
        if (!take(&at, strspn(at, "0123456789"), out->port, sizeof out->port) ||
            atoi(out->port) < 1 || atoi(out->port) > 65535)
            return wrong(e, text);
    }
    snprintf(out->path, sizeof out->path, "%s", path);
    if (*at == '/' && at[1] != '\0' && !take(&at, strlen(at), out->path, sizeof out->path))
        return wrong(e, text);
    return *at == '\0' || strcmp(at, "/") == 0 ? 0 : wrong(e, text);
}

/* The next call waits for as long as the whole request still may take: a receiver that gives or
 * takes a byte now and then must not hold anybody for ever. False: the time is over. */
static bool limit_wait(int descriptor, int direction, uint64_t deadline_ns)
{
    uint64_t now = os_monotonic_ns();
    uint64_t left_us = now < deadline_ns ? (deadline_ns - now) / 1000 : 0;
    struct timeval left = {(time_t)(left_us / 1000000), (suseconds_t)(left_us % 1000000)};

    return left_us != 0 && /* 0 would be no limit at all */
           setsockopt(descriptor, SOL_SOCKET, direction, &left, sizeof left) == 0;
}

static int open_connection(const http_address *to, uint64_t deadline_ns, error *e)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int descriptor = -1;
    int number = getaddrinfo(to->host, to->port, &wanted, &found);

    if (number != 0)
        return error_set(e, ERROR_NOT_FOUND, "%s is not found: %s", to->host, gai_strerror(number));
    number = 0;
    for (struct addrinfo *a = found; a != NULL && descriptor < 0; a = a->ai_next) {
        descriptor = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (descriptor < 0) {
            number = errno;
            continue;
        }
        number = ETIMEDOUT;
        if (limit_wait(descriptor, SO_SNDTIMEO, deadline_ns))
            number = connect(descriptor, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
        if (number != 0) {
            number = number == EINPROGRESS ? ETIMEDOUT : number;
            close(descriptor);
            descriptor = -1;
        }
    }
    freeaddrinfo(found);
    if (descriptor < 0) {
        error_set_errno(e, ERROR_IO, number, "nobody answers at %s:%s", to->host, to->port);
        return error_advise(e, "is the collector running, and does it take OTLP by http there?");
    }
    return descriptor;
}

static int send_all(int descriptor, const void *bytes, size_t length, uint64_t deadline_ns)
{
    const char *p = bytes;

    while (length != 0) {
        ssize_t n;

        if (!limit_wait(descriptor, SO_SNDTIMEO, deadline_ns))
            return ETIMEDOUT;
        n = send(descriptor, p, length, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? ETIMEDOUT : errno;
        p += n;
        length -= (size_t)n;
    }
    return 0;
}

/* The value of a header, without blanks before it; NULL when it is not there. */
static const char *find_header(const char *text, const char *end, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = text; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));

        if ((size_t)(end - line) > length && strncasecmp(line, name, length) == 0 &&
            line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
        if (next == NULL)
            break;
        line = next + 1;
    }
    return NULL;
}

/* `text` is closed by a 0. */
void http_read_answer(const char *text, size_t length, http_answer *answer)
{
    const char *end = strstr(text, "\r\n\r\n");
    const char *value;
    int begin = 0;

    memset(answer, 0, sizeof *answer);
    answer->retry_after = -1;
    if (sscanf(text, "HTTP/1.%*c %n%3d", &begin, &answer->status) != 1 || begin == 0 ||
        answer->status < 100) {
        answer->status = 0;
        return;
    }
    answer->reason = text + begin;
    answer->reason_length = (int)strcspn(answer->reason, "\r\n");
    if (end == NULL)
        return;
    answer->body = end + 4;
    answer->body_length = length - (size_t)(answer->body - text);
    value = find_header(text, end, "Retry-After");
    if (value != NULL && *value >= '0' && *value <= '9')
        answer->retry_after = strtol(value, NULL, 10);
    value = find_header(text, end, "Content-Length");
    if (value != NULL)
        answer->is_whole = answer->body_length >= strtoul(value, NULL, 10);
    else if (find_header(text, end, "Transfer-Encoding") != NULL)
        answer->is_whole = strstr(answer->body, "0\r\n\r\n") != NULL;
    else
        answer->is_whole = answer->status == 204;
}

/* Reads until all has come, until nothing more comes, or until the time is over: the answer is then
 * what has come so far. */
static void receive(int descriptor, uint64_t deadline_ns, char *text, size_t size,
                    http_answer *answer)
{
    size_t length = 0;
    ssize_t n = 1;

    text[0] = '\0';
    http_read_answer(text, 0, answer);
    while (n > 0 && length < size - 1 && !answer->is_whole &&
           limit_wait(descriptor, SO_RCVTIMEO, deadline_ns)) {
        n = recv(descriptor, text + length, size - 1 - length, 0);
        if (n < 0 && errno == EINTR) {
            n = 1;
        } else if (n > 0) {
            length += (size_t)n;
            text[length] = '\0';
            http_read_answer(text, length, answer);
        }
    }
}

/* What is sent. */
typedef struct {
    const char *type, *what;
    const void *bytes;
    size_t length;
    unsigned patience_ms;
} content;

static int send_request(int descriptor, const http_address *to, const content *c,
                        uint64_t deadline_ns, error *e)
{
    buffer head = BUFFER_EMPTY;
    int number;

    buffer_format(&head,
                  "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: %s\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                  to->path, to->host, to->port, c->type, c->length);
    number = send_all(descriptor, head.data, head.length, deadline_ns);
    if (number == 0)
        number = send_all(descriptor, c->bytes, c->length, deadline_ns);
    buffer_free(&head);
    return number == 0 ? 0
                       : error_set_errno(e, ERROR_IO, number, "%s cannot be sent to %s:%s", c->what,
                                         to->host, to->port);
}

/* One request. *wait gets the seconds after which it may be tried again; negative = never. */
static int post_once(const http_address *to, const content *c, buffer *body, long *wait, error *e)
{
    static char text[ANSWER]; /* one request at a time */
    uint64_t deadline_ns = os_monotonic_ns() + c->patience_ms * UINT64_C(1000000);
    http_answer answer;
    int descriptor = open_connection(to, deadline_ns, e);
    int code;

    if (descriptor < 0)
        return descriptor;
    code = send_request(descriptor, to, c, deadline_ns, e);
    if (code == 0) {
        receive(descriptor, deadline_ns, text, sizeof text, &answer);
        if (answer.status == 0 && os_monotonic_ns() >= deadline_ns)
            code = error_set(e, ERROR_IO, "%s:%s took %s and did not answer within %g s", to->host,
                             to->port, c->what, c->patience_ms / 1e3);
        else if (answer.status == 0)
            code = error_set(e, ERROR_IO, "%s:%s does not answer as an http server does", to->host,
                             to->port);
        else if (answer.status < 200 || answer.status > 299)
            code = error_set(e, ERROR_IO, "the collector at %s:%s refused %s: %.*s", to->host,
                             to->port, c->what, answer.reason_length, answer.reason);
        else if (body != NULL)
            buffer_append(body, answer.body, answer.body_length);
        if (answer.status == 429 || (answer.status >= 502 && answer.status <= 504))
            *wait = answer.retry_after >= 0 ? answer.retry_after : *wait;
        else
            *wait = -1;
    } else {
        *wait = -1;
    }
    close(descriptor);
    return code;
}

int http_post(const http_address *to, const char *type, const char *what, const void *bytes,
              size_t length, unsigned patience_ms, error *e)
{
    content c = {type, what, bytes, length, patience_ms};
    long wait = 0;

    return post_once(to, &c, NULL, &wait, e);
}

int http_post_json(const http_address *to, const void *bytes, size_t length, buffer *body, error *e)
{
    content c = {"application/json", "the spans", bytes, length, HTTP_PATIENCE_MS};
    long patience = MOST_WAITING_SECONDS;
    int code = 0;

    for (int retry = 0; retry <= MOST_RETRIES; retry++) {
        long wait = 1L << retry;

        code = post_once(to, &c, body, &wait, e);
        if (code == 0 || wait < 0 || wait > patience || retry == MOST_RETRIES)
            break;
        patience -= wait;
        os_sleep_ms((unsigned)wait * 1000);
    }
    return code;
}
