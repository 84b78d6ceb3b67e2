/*
 * push: hands a finished session on: its profile as pprof to a receiver that understands
 * Pyroscope's /ingest, its vital signs and findings as OTLP metrics (JSON, by HTTP) to an
 * OpenTelemetry Collector, its profile as OTLP's signal in development. In the clear: see
 * report/http_post.h. Thread rules: one thread.
 */
#ifndef CLARINET_SERVER_PUSH_H
#define CLARINET_SERVER_PUSH_H

#include <jansson.h>

#include "base/buffer.h"
#include "report/http_post.h"

typedef struct {
    const char *program;
    const char *folder; /* of the session */
    const char *name;   /* of the program that was looked at */
    int process_id;
    uint64_t from_ns, until_ns; /* since 1970 */
} push_session;

/* The profile of `cpu`. */
int push_pprof(const http_address *to, const push_session *s, error *e);
int push_otlp(const http_address *to, const push_session *s, error *e);
/* The same profile as push_pprof, as OTLP's signal for profiles. */
int push_otlp_profile(const http_address *to, const push_session *s, error *e);

/* The metrics themselves, out of what `clarinet checkup --json` says; false: no memory. */
bool push_metrics(const json_t *checkup, const push_session *s, buffer *out);

#endif
