/*
 * trace_values: values of a traced call as text: id=5, customer="Ann", when=2026-01-02 03:04:05
 * → 7. Values of parameters whose names sound secret are not shown. Own thread.
 */
#ifndef CLARINET_PROFILERS_TRACE_VALUES_H
#define CLARINET_PROFILERS_TRACE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "profilers/trace_plan.h"

/* A call and its values, as the probes left them. */
typedef struct {
    const clr_info *info;
    const trace_plan *plan; /* of the method; NULL = it has none */
    const trace_wish *wish;
    const uint8_t *values;
    size_t length;
    const char *method, *exception; /* names */
    uint64_t duration_ns;
    uint32_t thread_id;
} trace_call;

/* The values that were to be shown. */
void trace_values_text(const trace_call *call, buffer *out);
/* `text` with every {path} replaced by its value; {method}, {thread}, {duration} and {exception}
 * too. What is not there becomes ?. */
void trace_values_log(const trace_call *call, const char *text, buffer *out);

#endif
