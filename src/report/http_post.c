/* http_post: see http_post.h. */
#include "report/http_post.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"

enum { PATIENCE_SECONDS = 30, ANSWER = 4096 };

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
        error_set(e, ERROR_UNSUPPORTED, "https is not supported: spans are sent in the clear");
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

static int open_connection(const http_address *to, error *e)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct timeval patience = {PATIENCE_SECONDS, 0};
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
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (connect(descriptor, a->ai_addr, a->ai_addrlen) != 0) {
            number = errno;
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

static int send_all(int descriptor, const void *bytes, size_t length)
{
    const char *p = bytes;

    while (length != 0) {
        ssize_t n = send(descriptor, p, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        p += n;
        length -= (size_t)n;
    }
    return 0;
}

/* The status line, and what else comes in one piece, for the message. */
static int read_answer(int descriptor, const http_address *to, error *e)
{
    char answer[ANSWER];
    size_t length = 0;
    ssize_t n = 1;
    int status = 0;

    while (n > 0 && length < sizeof answer - 1 && memchr(answer, '\n', length) == NULL) {
        n = recv(descriptor, answer + length, sizeof answer - 1 - length, 0);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            length += (size_t)n;
    }
    answer[length] = '\0';
    if (sscanf(answer, "HTTP/1.%*c %3d", &status) == 1 && status >= 200 && status < 300)
        return 0;
    if (status == 0)
        return error_set(e, ERROR_IO, "%s:%s does not answer as an http server does", to->host,
                         to->port);
    return error_set(e, ERROR_IO, "the collector at %s:%s refused the spans: %.*s", to->host,
                     to->port, (int)strcspn(answer, "\r\n"), answer);
}

int http_post_json(const http_address *to, const void *bytes, size_t length, error *e)
{
    buffer head = BUFFER_EMPTY;
    int descriptor = open_connection(to, e);
    int number;
    int code;

    if (descriptor < 0)
        return descriptor;
    buffer_format(&head,
                  "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                  to->path, to->host, to->port, length);
    number = send_all(descriptor, head.data, head.length);
    if (number == 0)
        number = send_all(descriptor, bytes, length);
    code = number != 0 ? error_set_errno(e, ERROR_IO, number, "the spans cannot be sent to %s:%s",
                                         to->host, to->port)
                       : read_answer(descriptor, to, e);
    close(descriptor);
    buffer_free(&head);
    return code;
}
