/*
 * server: the web UI and the REST API (docs/serve.md, web/openapi.json).
 *
 * One thread accepts, one thread serves each connection, one thread runs each session; analysis is
 * done by children of this same program, so that neither its memory nor its trouble is ours.
 * Safe by default: loopback, a random token, the Host header checked, no CORS. Nothing is printed
 * here. Thread rules: server_run belongs to the thread that opened the server.
 */
#ifndef CLARINET_SERVER_SERVER_H
#define CLARINET_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "server/watch.h"

typedef struct {
    const char *address; /* to bind; NULL with a socket */
    uint16_t port;       /* 0 = any free one */
    const char *socket;  /* path of a Unix socket instead; NULL = none */
    const char *token;   /* NULL = a random one, or none on a Unix socket */
    const char *hosts;   /* further names for the Host header, with commas; NULL = none */
    const char *folder;  /* of the sessions; made when it is missing */
    const char *library; /* libclarinet.so */
    const char *program; /* this program, for reports */
    bool web_ui;         /* pages */
    bool rest_api;       /* for others than the page */
    bool commands;       /* sessions may start a program */
    uint64_t keep_bytes; /* of all sessions; 0 = no limit */
    uint64_t keep_ns;    /* age of a session; 0 = no limit */
    int stop;            /* readable = end */
    watch_options watch;
} server_options;

typedef struct server server;

/* Binds and reads the sessions that there are; nobody is served yet. */
int server_open(const server_options *options, server **out, error *e);
/* Where a browser finds it, with the token; valid until closed. */
const char *server_url(const server *s);
uint16_t server_port(const server *s);
/* Serves until options->stop is readable; then sessions that run are stopped and kept. */
void server_run(server *s);
void server_close(server *s);

#endif
