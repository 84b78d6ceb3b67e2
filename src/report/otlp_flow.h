/*
 * otlp_flow: spans by execution flow as requests in the JSON form of the OpenTelemetry protocol. A
 * request holds at most OTLP_FLOW_BATCH spans; a file has one request a line.
 */
#ifndef CLARINET_REPORT_OTLP_FLOW_H
#define CLARINET_REPORT_OTLP_FLOW_H

#include "analysis/flow.h"
#include "report/sink.h"

enum { OTLP_FLOW_BATCH = 5000 };

/* Writes one request with these spans, to a sink that keeps all. */
void otlp_flow_write(const model *m, const flow_span *spans, size_t count, sink *out);

#endif
