/* counters_listen: see counters_listen.h. */
#include "cli/counters_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ASK_MS = 500, MOST_ASKED = 4096, WAITING = 16 };

int counters_listen_open(unsigned *port, error *e)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t length = sizeof address;
    int yes = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener >= 0)
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, WAITING) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        error_set_errno(e, ERROR_IO, errno, "port %u of 127.0.0.1 cannot be listened on", *port);
        error_advise(e, "choose another port; 0 takes a free one");
        if (listener >= 0)
            close(listener);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return listener;
}

/* Reads up to the empty line that ends a request; false when it does not come in time. */
static bool read_request(int client, char *text, size_t room)
{
    size_t length = 0;

    while (length < room - 1) {
        struct pollfd wait = {client, POLLIN, 0};
        ssize_t got;

        if (poll(&wait, 1, ASK_MS) <= 0)
            return false;
        got = recv(client, text + length, room - 1 - length, 0);
        if (got <= 0)
            return false;
        length += (size_t)got;
        text[length] = '\0';
        if (strstr(text, "\r\n\r\n") != NULL)
            return true;
    }
    return false;
}

/* A page of another site that has its own name point at 127.0.0.1 must not read this. */
static bool is_host_allowed(const char *request)
{
    const char *host = strcasestr(request, "\r\nhost:");

    if (host == NULL)
        return true;
    host += strlen("\r\nhost:");
    host += strspn(host, " \t");
    return strncmp(host, "127.0.0.1", 9) == 0 || strncasecmp(host, "localhost", 9) == 0;
}

static void send_all(int client, const char *bytes, size_t length)
{
    while (length > 0) {
        struct pollfd wait = {client, POLLOUT, 0};
        ssize_t sent;

        if (poll(&wait, 1, ASK_MS) <= 0)
            return;
        sent = send(client, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void answer(int client, const buffer *text)
{
    char request[MOST_ASKED];
    char head[256];
    const char *status = "200 OK";
    const char *body = text == NULL ? "" : buffer_text(text);

    if (!read_request(client, request, sizeof request))
        return;
    if (!is_host_allowed(request))
        status = "403 Forbidden";
    else if (strncmp(request, "GET ", 4) != 0)
        status = "405 Method Not Allowed";
    else if (strncmp(request + 4, "/metrics ", 9) != 0)
        status = "404 Not Found";
    else if (text == NULL)
        status = "503 Service Unavailable";
    if (*status != '2')
        body = "";
    snprintf(head, sizeof head,
             "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\n",
             status, strlen(body));
    send_all(client, head, strlen(head));
    send_all(client, body, strlen(body));
}

void counters_listen_serve(int listener, const buffer *text)
{
    for (int i = 0; i < WAITING; i++) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0)
            return;
        answer(client, text);
        shutdown(client, SHUT_WR);
        close(client);
    }
}
