/*
 * load: HTTP GET requests at a fixed rate on kept connections, for bench/aspnet.py.
 *
 *     load PORT PATH RATE SECONDS CONNECTIONS
 *
 * Every request has its moment on a fixed schedule and its latency counts from that moment, not
 * from when it could be sent: a server that stalls is seen by every request that was due. RATE 0:
 * as fast as answers come. Prints one line: requests, elapsed seconds, then the latencies' median,
 * 90th, 99th and 99.9th percentile and the largest, in microseconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 256, MOST_LATENCIES = 4000000, ROOM = 64 << 10 };

typedef struct {
    int socket;
    uint64_t due_ns; /* of the request under way; 0 = idle */
    size_t length;   /* bytes of the answer so far */
    char bytes[ROOM];
} connection;

static connection connections[MOST_CONNECTIONS];
static uint32_t latencies[MOST_LATENCIES];
static size_t answered;

static void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_connection(connection *c, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->socket < 0 || connect(c->socket, (struct sockaddr *)&to, sizeof to) != 0)
        fail("connect");
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Whether the answer is whole: its head, and as many bytes as the head says or the last chunk. */
static int is_whole(connection *c)
{
    char *end, *length;

    c->bytes[c->length] = '\0';
    end = strstr(c->bytes, "\r\n\r\n");
    if (end == NULL)
        return 0;
    length = strstr(c->bytes, "Content-Length: ");
    if (length != NULL && length < end)
        return c->length >= (size_t)(end + 4 - c->bytes) + strtoul(length + 16, NULL, 10);
    return strstr(end, "\r\n0\r\n\r\n") != NULL;
}

static void receive(connection *c)
{
    ssize_t n = recv(c->socket, c->bytes + c->length, ROOM - 1 - c->length, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        fail("the server closed a connection");
    c->length += (size_t)n;
    if (!is_whole(c))
        return;
    if (strncmp(c->bytes, "HTTP/1.1 200", 12) != 0)
        fail("an answer is not 200");
    if (answered < MOST_LATENCIES)
        latencies[answered++] = (uint32_t)((now_ns() - c->due_ns) / 1000);
    c->due_ns = 0;
    c->length = 0;
}

static void ask(connection *c, const char *request, size_t length, uint64_t due_ns)
{
    c->due_ns = due_ns;
    if (send(c->socket, request, length, MSG_NOSIGNAL) != (ssize_t)length)
        fail("send");
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void print(double seconds)
{
    static const double AT[] = {0.5, 0.9, 0.99, 0.999, 1};

    qsort(latencies, answered, sizeof *latencies, by_value);
    printf("%zu %.3f", answered, seconds);
    for (size_t i = 0; i < sizeof AT / sizeof *AT && answered > 0; i++)
        printf(" %u", latencies[(size_t)((double)(answered - 1) * AT[i])]);
    printf("\n");
}

static void run(const char *request, int count, double rate, double seconds)
{
    uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9), sent = 0;
    size_t length = strlen(request);
    struct pollfd polled[MOST_CONNECTIONS];

    for (;;) {
        uint64_t now = now_ns(), due = begin + (rate > 0 ? (uint64_t)(sent * 1e9 / rate) : 0);
        struct timespec wait = {0, 1000000};
        int busy = 0;

        for (int i = 0; i < count; i++) {
            if (connections[i].due_ns == 0 && due < end && (rate > 0 ? due <= now : now < end)) {
                ask(&connections[i], request, length, rate > 0 ? due : now);
                sent++;
                due = begin + (rate > 0 ? (uint64_t)(sent * 1e9 / rate) : 0);
            }
            busy += connections[i].due_ns != 0;
            polled[i] = (struct pollfd){connections[i].socket, POLLIN, 0};
        }
        if (busy == 0 && (rate > 0 ? due >= end : now >= end))
            break;
        if (rate > 0 && due > now && due - now < 1000000)
            wait.tv_nsec = (long)(due - now);
        if (ppoll(polled, (nfds_t)count, &wait, NULL) < 0 && errno != EINTR)
            fail("poll");
        for (int i = 0; i < count; i++) {
            if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
                connections[i].due_ns != 0)
                receive(&connections[i]);
        }
    }
    print((double)(now_ns() - begin) / 1e9);
}

int main(int argc, char **argv)
{
    char request[1024];
    int count;

    if (argc != 6) {
        fprintf(stderr, "usage: load PORT PATH RATE SECONDS CONNECTIONS\n");
        return 2;
    }
    count = atoi(argv[5]);
    if (count < 1 || count > MOST_CONNECTIONS)
        return 2;
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n", argv[2],
             argv[1]);
    for (int i = 0; i < count; i++)
        open_connection(&connections[i], atoi(argv[1]));
    run(request, count, atof(argv[3]), atof(argv[4]));
    return 0;
}
