/*
 * trace_text: dates, times of day and Guids as text, the same for what is shown and for what a
 * condition compares. Pure; allocates nothing, so that a probe may ask.
 */
#ifndef CLARINET_PROFILERS_TRACE_TEXT_H
#define CLARINET_PROFILERS_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_VALUE_TEXT = 2 * 36 }; /* bytes of the longest */

/* Is a value of this kind shown so? */
bool trace_value_is_text(uint8_t kind);
/* Its bytes as UTF-16; returns how many units. */
size_t trace_value_text(uint8_t kind, const uint8_t *bytes, uint8_t *out);

#endif
