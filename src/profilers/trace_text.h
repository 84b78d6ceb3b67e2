/*
 * trace_text: dates and Guids as text, the same for what is shown and for what a condition
 * compares. Pure; allocates nothing, so that a probe may ask.
 */
#ifndef CLARINET_PROFILERS_TRACE_TEXT_H
#define CLARINET_PROFILERS_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { TRACE_VALUE_TEXT = 2 * 36 }; /* bytes of the longest */

/* The bytes of a value of TRACE_KIND_GUID or TRACE_KIND_DATE_TIME as UTF-16; returns how many
 * units. */
size_t trace_value_text(uint8_t kind, const uint8_t *bytes, uint8_t *out);

#endif
