/*
 * encode: a body back to bytes. An untouched body gives the bytes it was decoded from; an edited
 * one keeps every instruction's form, except that a short branch that no longer reaches becomes
 * long. Several exception sections become one.
 */
#ifndef CLARINET_CIL_ENCODE_H
#define CLARINET_CIL_ENCODE_H

#include "base/buffer.h"
#include "base/error.h"
#include "cil/body.h"

/* Appends to *out and sets `placed` of every instruction. The bytes must stand at a multiple of 4
 * when the body has clauses (counted from the first byte appended). Changes forms in *body. */
int cil_encode(cil_body *body, unsigned options, buffer *out, error *e);

/* Where original instructions went: for every instruction that was there before, its old and new
 * offset, in order of the new ones. Valid after cil_encode. Writes up to `limit` entries and
 * returns how many there are. */
size_t cil_offset_map(const cil_body *body, cil_map_entry *entries, size_t limit);

#endif
