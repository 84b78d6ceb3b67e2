/*
 * precompiled: the machine code that a ReadyToRun dll carries: which function lies around an RVA,
 * and of which method it is. Only methods that are listed under their own token have one: those of
 * generic instances and handlers of exceptions are functions without a method. The caller keeps the
 * pe and its bytes alive. Every byte is treated as hostile. Any thread once opened.
 */
#ifndef CLARINET_METADATA_PRECOMPILED_H
#define CLARINET_METADATA_PRECOMPILED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "metadata/metadata.h"
#include "metadata/pe.h"

typedef struct {
    pe_span functions; /* begin, end, unwind: 12 bytes each, by address */
    pe_span entries;   /* of methods: from their row to a function */
    uint32_t *rows;    /* the method's row of each function; 0 = none */
    uint32_t count;    /* of functions */
} precompiled;

typedef struct {
    uint32_t start, end; /* RVAs */
    uint32_t row;        /* of METHOD_DEF; 0 = not known */
} precompiled_function;

/* false: it is not precompiled for x64 in a way that is understood. `methods` = rows of
 * METHOD_DEF. */
bool precompiled_open(precompiled *c, const pe *p, uint32_t methods);
void precompiled_close(precompiled *c);
/* false: no function is there. */
bool precompiled_find(const precompiled *c, uint32_t rva, precompiled_function *out);

/* Appends the name of a method with its type's, "Shop.Cart.Add"; nothing for a wrong row. */
void precompiled_append_name(const metadata *m, uint32_t row, buffer *out);
/* The type's metadata name with nested types after `+`, and the method's own name. */
const char *precompiled_split_name(const metadata *m, uint32_t row, buffer *type);

#endif
