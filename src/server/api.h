/* api: what is answered to which request. Private to src/server. Thread rules: any thread. */
#ifndef CLARINET_SERVER_API_H
#define CLARINET_SERVER_API_H

#include "server/machine.h"
#include "server/sessions.h"
#include "server/watch.h"
#include "server/wire.h"

typedef struct {
    sessions *kept;
    machine *here;
    watch *watched; /* NULL = nobody is */
    const char *program;
    const char *folder;
    const char *token;  /* "" = none is asked for */
    const char *cookie; /* its name */
    const char *hosts;  /* names that the Host header may have, with commas; NULL = any */
    bool web_ui;
    bool rest_api; /* for others than the page */
    bool commands; /* sessions may start a program */
} api;

/* Reads the rest of the request, answers; false when the connection is to be closed. */
bool api_serve(const api *a, wire *w, const http_request *r);

/* The page and the description of the API; zero-terminated, from web/. */
extern const char serve_page[];
extern const char serve_openapi[];

#endif
