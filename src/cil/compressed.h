/*
 * compressed: ECMA-335's integers of 1, 2 or 4 bytes (partition II.23.2), and tokens written with
 * them. Not LEB128: the first byte tells the length, the rest is big-endian.
 */
#ifndef CLARINET_CIL_COMPRESSED_H
#define CLARINET_CIL_COMPRESSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/reader.h"

enum { CIL_COMPRESSED_MAX = 0x1FFFFFFF };

/* Reading fails the reader at a byte that starts no integer and at the end of the bytes. */
uint32_t cil_read_compressed(reader *r);
int32_t cil_read_compressed_signed(reader *r);
/* A TypeDefOrRef token (TypeDef 02, TypeRef 01, TypeSpec 1B) as it stands in signatures. */
uint32_t cil_read_compressed_token(reader *r);

/* Appending: false for a value that has no such form (then nothing was appended). */
bool cil_append_compressed(buffer *out, uint32_t value);
bool cil_append_compressed_signed(buffer *out, int32_t value);
bool cil_append_compressed_token(buffer *out, uint32_t token);

#endif
