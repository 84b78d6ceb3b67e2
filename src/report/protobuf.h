/*
 * protobuf: writes the wire format of protocol buffers into a buffer, and gzip to a sink. Only
 * what a profile needs: numbers, texts, packed numbers and nested messages.
 */
#ifndef CLARINET_REPORT_PROTOBUF_H
#define CLARINET_REPORT_PROTOBUF_H

#include <stdbool.h>
#include <zlib.h>

#include "report/sink.h"

/* A field; number 0 values are left out, as proto3 does. */
void protobuf_put_number(buffer *b, unsigned field, uint64_t value);
void protobuf_put_bytes(buffer *b, unsigned field, const void *bytes, size_t length);
void protobuf_put_text(buffer *b, unsigned field, const char *text);
void protobuf_put_packed(buffer *b, unsigned field, const uint64_t *values, size_t count);
/* A nested message that was built in `message`; empties it. */
void protobuf_put_message(buffer *b, unsigned field, buffer *message);

typedef struct {
    z_stream stream;
    sink *out;
    bool failed;
} gzip;

bool gzip_begin(gzip *z, sink *out);
void gzip_write(gzip *z, const void *bytes, size_t length);
/* Ends the stream; false when anything failed. */
bool gzip_end(gzip *z);

#endif
