/*
 * refusal: what the runtime means when its diagnostics port answers with an HRESULT, and what the
 * person can do about it. One table; a row per code that was seen or can be expected.
 */
#ifndef CLARINET_DIAGNOSTICS_REFUSAL_H
#define CLARINET_DIAGNOSTICS_REFUSAL_H

#include <stdint.h>

#include "base/error.h"

typedef struct {
    uint32_t hresult;
    const char *name;
    const char *meaning; /* ends a sentence that begins with what was asked for */
    const char *advice;
    int code; /* an error_code */
} refusal;

/* The row of an HRESULT, or NULL. */
const refusal *refusal_find(uint32_t hresult);

/* Fills *e: "WHAT: MEANING (NAME 0x…)" and the advice; returns the row's error code. */
int refusal_set(error *e, uint32_t hresult, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
