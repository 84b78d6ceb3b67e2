/*
 * output: where a report goes: a descriptor, written as it grows, or memory. A failed write is
 * kept and told by output_finish; until then writing goes on into nothing.
 */
#ifndef CLARINET_REPORT_OUTPUT_H
#define CLARINET_REPORT_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

typedef struct {
    buffer pending; /* with descriptor -1: everything */
    int descriptor;
    int failure; /* errno of the first failed write */
    uint64_t written;
} output;

/* descriptor -1 keeps everything in out->pending. */
void output_init(output *out, int descriptor);
void output_free(output *out);
void output_bytes(output *out, const void *bytes, size_t length);
void output_text(output *out, const char *text);
void output_char(output *out, char c);
void output_u64(output *out, uint64_t value);
void output_format(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the rest; 0 or an error. */
int output_finish(output *out, error *e);

#endif
