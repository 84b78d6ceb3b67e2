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
#include "clarinet/calls.h"

/* Names of a method's parameters, each closed by a newline, in order; unnamed ones are empty. */
void trace_parameter_names(const clr_info *info, ModuleID module, mdMethodDef method, buffer *out);

/* `values` as trace_value leaves them. `secret`: the result is not shown either. */
void trace_values_text(const uint8_t *values, size_t length, const char *names, bool secret,
                       buffer *out);

/* Does a name sound like something that nobody should read? */
bool trace_is_secret(const char *name, size_t length);

#endif
