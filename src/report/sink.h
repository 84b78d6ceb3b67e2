/*
 * sink: where a report goes: a descriptor, written as it grows, or memory. A failed write is
 * kept and told by sink_finish; until then writing goes on into nothing.
 */
#ifndef CLARINET_REPORT_SINK_H
#define CLARINET_REPORT_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

typedef struct {
    buffer pending; /* with descriptor -1: everything */
    int descriptor;
    int failure; /* errno of the first failed write */
    uint64_t written;
} sink;

/* descriptor -1 keeps everything in out->pending. */
void sink_init(sink *out, int descriptor);
void sink_free(sink *out);
void sink_bytes(sink *out, const void *bytes, size_t length);
void sink_text(sink *out, const char *text);
void sink_char(sink *out, char c);
void sink_u64(sink *out, uint64_t value);
void sink_format(sink *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the rest; 0 or an error. */
int sink_finish(sink *out, error *e);

#endif
