/*
 * otlp_answer: what a collector says about spans that it took: that it threw some away, and why.
 */
#ifndef CLARINET_REPORT_OTLP_ANSWER_H
#define CLARINET_REPORT_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Reads ExportTraceServiceResponse as JSON. Returns how many spans were rejected; *message (an
 * empty buffer) gets the collector's words, which may also be a warning when none was. What is not
 * such an answer says nothing. */
uint64_t otlp_answer_rejected(const char *body, size_t length, buffer *message);

#endif
