/* server: see server.h. */
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os.h"
#include "server/api.h"

enum { MAX_CONNECTIONS = 512, TOKEN_BYTES = 16 };

struct server {
    server_options options;
    api api;
    int listener;
    int ending; /* eventfd: every thread sees it */
    uint16_t port;
    bool made_socket;
    char token[TOKEN_BYTES * 2 + 1];
    char cookie[32];
    buffer hosts;
    buffer url;
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned connections;
};

typedef struct {
    server *owner;
    int descriptor;
} visitor;

/* ---- listening ------------------------------------------------------------------------------ */

static int listen_on_address(server *s, error *e)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct sockaddr_storage name = {0};
    struct sockaddr_in either;
    socklen_t size = sizeof name;
    char port[8];
    int one = 1;
    int failed;

    snprintf(port, sizeof port, "%u", s->options.port);
    failed = getaddrinfo(s->options.address, port, &hints, &found);
    if (failed != 0) {
        error_set(e, ERROR_USAGE, "cannot bind to '%s': %s", s->options.address,
                  gai_strerror(failed));
        return error_advise(e, "as in --bind 127.0.0.1");
    }
    s->listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    failed = s->listener < 0 || bind(s->listener, found->ai_addr, found->ai_addrlen) != 0 ||
             listen(s->listener, 256) != 0;
    freeaddrinfo(found);
    if (failed) {
        error_set_errno(e, ERROR_IO, errno, "cannot listen on %s port %u", s->options.address,
                        s->options.port);
        return error_advise(e, "choose another one with --port; 0 takes any that is free");
    }
    getsockname(s->listener, (struct sockaddr *)&name, &size);
    memcpy(&either, &name, sizeof either); /* the port is at the same place in both families */
    s->port = ntohs(either.sin_port);
    return 0;
}

static int listen_on_socket(server *s, error *e)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct stat status;
    mode_t before;
    int failed;

    if (snprintf(name.sun_path, sizeof name.sun_path, "%s", s->options.socket) >=
        (int)sizeof name.sun_path)
        return error_set(e, ERROR_USAGE, "the socket's path is too long");
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (lstat(name.sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        connect(s->listener, (struct sockaddr *)&name, sizeof name) != 0 && errno == ECONNREFUSED)
        unlink(name.sun_path); /* left behind by a server that is gone */
    before = umask(0177);
    failed = s->listener < 0 || bind(s->listener, (struct sockaddr *)&name, sizeof name) != 0 ||
             listen(s->listener, 256) != 0;
    umask(before);
    if (failed) {
        int failed_with = errno;

        error_set_errno(e, ERROR_IO, failed_with, "cannot listen on %s", s->options.socket);
        return error_advise(e, failed_with == EADDRINUSE
                                   ? "another server may use it; choose another path with --socket"
                                   : "choose another path with --socket");
    }
    s->made_socket = true;
    return 0;
}

static int choose_token(server *s, error *e)
{
    uint8_t bytes[TOKEN_BYTES];

    s->api.token = s->options.token != NULL ? s->options.token : "";
    if (s->options.token != NULL || s->options.socket != NULL)
        return 0;
    if (os_random(bytes, sizeof bytes) != 0)
        return error_set(e, ERROR_IO, "no random bytes for a token");
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
    s->api.token = s->token;
    return 0;
}

static bool is_any(const char *address)
{
    return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

/* The names by which this server may be called. */
static void choose_names(server *s)
{
    const char *address = s->options.address;

    if (s->options.socket != NULL) {
        buffer_format(&s->url, "unix:%s", s->options.socket);
        sessions_tell_address(s->api.kept, buffer_text(&s->url));
        return;
    }
    buffer_append_text(&s->hosts, "localhost,127.0.0.1,[::1]");
    if (strchr(address, ':') != NULL)
        buffer_format(&s->hosts, ",[%s]", address);
    else
        buffer_format(&s->hosts, ",%s", address);
    if (s->options.hosts != NULL)
        buffer_format(&s->hosts, ",%s", s->options.hosts);
    s->api.hosts = buffer_text(&s->hosts);
    buffer_format(&s->url, strchr(address, ':') != NULL ? "http://[%s]:%u/" : "http://%s:%u/",
                  is_any(address) ? "127.0.0.1" : address, s->port);
    sessions_tell_address(s->api.kept, buffer_text(&s->url)); /* without the token */
    if (s->api.token[0] != '\0')
        buffer_format(&s->url, "?token=%s", s->api.token);
}

int server_open(const server_options *options, server **out, error *e)
{
    server *s = memory_allocate_array(1, sizeof *s);
    sessions_options kept = {.folder = options->folder,
                             .library = options->library,
                             .program = options->program,
                             .keep_bytes = options->keep_bytes,
                             .keep_ns = options->keep_ns};
    int code;

    if (s == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the server");
    mallopt(M_ARENA_MAX, 1); /* many threads, little memory: what is free can be given back */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    s->options = *options;
    s->listener = s->ending = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->left, NULL);
    s->api.program = options->program;
    s->api.folder = options->folder;
    s->api.web_ui = options->web_ui;
    s->api.rest_api = options->rest_api;
    s->api.commands = options->commands;
    s->api.here = machine_open();
    s->ending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    code = s->api.here == NULL || s->ending < 0
               ? error_set(e, ERROR_MEMORY, "no memory for the server")
               : sessions_open(&kept, &s->api.kept, e);
    if (code == 0)
        code = options->socket != NULL ? listen_on_socket(s, e) : listen_on_address(s, e);
    if (code == 0)
        code = choose_token(s, e);
    if (code == 0 && options->watch.name != NULL)
        code = watch_open(&s->options.watch, s->api.kept, options->program, &s->api.watched, e);
    if (code != 0) {
        server_close(s);
        return code;
    }
    /* cookies do not know ports: two servers of one person must not take each other's */
    snprintf(s->cookie, sizeof s->cookie, "clarinet-%u", s->port);
    s->api.cookie = s->cookie;
    choose_names(s);
    *out = s;
    return 0;
}

const char *server_url(const server *s)
{
    return buffer_text(&s->url);
}

uint16_t server_port(const server *s)
{
    return s->port;
}

/* ---- serving -------------------------------------------------------------------------------- */

static void *serve_connection(void *context)
{
    visitor *v = context;
    server *s = v->owner;
    http_request *r = memory_allocate(sizeof *r);
    wire w;

    wire_init(&w, v->descriptor, s->ending);
    memory_free(v);
    for (bool goes_on = r != NULL; goes_on;) {
        int code = wire_read_head(&w, r);

        goes_on = code == 1 && api_serve(&s->api, &w, r);
        if (code < 0) {
            reply out = {.file = -1};

            w.closes = true;
            reply_error(&out, -code, "this is no request that can be understood",
                        "HTTP/1.1, with a Content-Length for a body");
            wire_reply(&w, NULL, &out);
        }
    }
    memory_free(r);
    wire_close(&w);
    pthread_mutex_lock(&s->lock);
    s->connections--;
    pthread_cond_broadcast(&s->left);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void refuse(int descriptor)
{
    static const char BUSY[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                               "Retry-After: 5\r\nConnection: close\r\n\r\n";

    send(descriptor, BUSY, sizeof BUSY - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(descriptor);
}

static void take_visitor(server *s)
{
    int descriptor = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    visitor *v;
    pthread_attr_t attributes;
    pthread_t thread;
    bool full;

    if (descriptor < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            os_sleep_ms(50); /* somebody has to leave first */
        return;
    }
    pthread_mutex_lock(&s->lock);
    full = s->connections == MAX_CONNECTIONS;
    s->connections += !full;
    pthread_mutex_unlock(&s->lock);
    v = full ? NULL : memory_allocate(sizeof *v);
    if (full || v == NULL) {
        refuse(descriptor);
    } else {
        *v = (visitor){s, descriptor};
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, 256 << 10);
        if (pthread_create(&thread, &attributes, serve_connection, v) == 0) {
            pthread_attr_destroy(&attributes);
            return;
        }
        pthread_attr_destroy(&attributes);
        memory_free(v);
        refuse(descriptor);
    }
    if (!full) {
        pthread_mutex_lock(&s->lock);
        s->connections--;
        pthread_mutex_unlock(&s->lock);
    }
}

void server_run(server *s)
{
    for (;;) {
        struct pollfd waits[2] = {{.fd = s->listener, .events = POLLIN},
                                  {.fd = s->options.stop, .events = POLLIN}};

        if (poll(waits, 2, -1) < 0 && errno != EINTR)
            break;
        if (waits[1].revents != 0)
            break;
        if (waits[0].revents != 0)
            take_visitor(s);
    }
    eventfd_write(s->ending, 1);
}

void server_close(server *s)
{
    if (s->listener >= 0)
        close(s->listener);
    if (s->made_socket)
        unlink(s->options.socket);
    if (s->ending >= 0)
        eventfd_write(s->ending, 1);
    if (s->api.watched != NULL)
        watch_close(s->api.watched);
    s->api.watched = NULL;
    if (s->api.kept != NULL)
        sessions_stop_all(s->api.kept);
    pthread_mutex_lock(&s->lock);
    while (s->connections != 0)
        pthread_cond_wait(&s->left, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (s->api.kept != NULL)
        sessions_close(s->api.kept);
    if (s->api.here != NULL)
        machine_close(s->api.here);
    if (s->ending >= 0)
        close(s->ending);
    pthread_cond_destroy(&s->left);
    pthread_mutex_destroy(&s->lock);
    buffer_free(&s->hosts);
    buffer_free(&s->url);
    memory_free(s);
}
