/*
 * otlp: spans in the JSON form of the OpenTelemetry protocol (one ExportTraceServiceRequest), as a
 * collector takes it at /v1/traces or from a file.
 *
 * Order of calls: otlp_begin; for each process otlp_begin_resource, its spans, otlp_end_resource;
 * otlp_end. Between otlp_begin_span and otlp_end_span attributes may be put.
 */
#ifndef CLARINET_REPORT_OTLP_H
#define CLARINET_REPORT_OTLP_H

#include "report/json.h"

typedef struct {
    const char *name;
    uint64_t trace[2]; /* not both 0 */
    uint64_t id;       /* not 0 */
    uint64_t parent;   /* 0 = none */
    uint64_t start_unix_ns, end_unix_ns;
    bool failed;
    const char *exception; /* type of what made it fail; NULL or "" = not known */
} otlp_span;

void otlp_begin(json *j);
/* `service` becomes service.name. */
void otlp_begin_resource(json *j, const char *service, uint64_t pid, const char *runtime_version);
void otlp_begin_span(json *j, const otlp_span *span);
void otlp_attribute_text(json *j, const char *key, const char *value);
void otlp_attribute_number(json *j, const char *key, uint64_t value);
void otlp_end_span(json *j);
void otlp_end_resource(json *j);
void otlp_end(json *j);

/* An id from a number: spread, never 0, the same for the same number. */
uint64_t otlp_id(uint64_t number);

#endif
