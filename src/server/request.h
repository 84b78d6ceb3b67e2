/*
 * request: what somebody asks for with POST /api/sessions, checked against the catalogue. Both
 * forms are understood: {processId or command, profilers: [{name, parameters}], duration, tags} and
 * {profilerGuid, processId, parameters: [{key, value}]}. Foreign bytes. No state.
 */
#ifndef CLARINET_SERVER_REQUEST_H
#define CLARINET_SERVER_REQUEST_H

#include <jansson.h>

#include "base/error.h"
#include "catalogue/catalogue.h"

typedef struct {
    int process_id;
    json_t *command; /* an array of texts, instead of a process; NULL = none */
    uint64_t duration_ns;
    catalogue_selection *selection;
    json_t *tags;
} session_request;

/* ERROR_USAGE: wrong; ERROR_NOT_FOUND: there is no such profiler. */
int request_parse(const void *bytes, size_t length, session_request *request, error *e);
void request_free(session_request *request);
/* An array of up to 20 short texts; a new reference, NULL with *e. */
json_t *request_tags(json_t *value, error *e);

#endif
