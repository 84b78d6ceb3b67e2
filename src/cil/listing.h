/*
 * listing: a body as text: an instruction a line, protected regions as indented blocks.
 */
#ifndef CLARINET_CIL_LISTING_H
#define CLARINET_CIL_LISTING_H

#include "base/buffer.h"
#include "cil/body.h"

typedef struct {
    void *context;
    /* Appends what a token means; NULL: tokens are shown as numbers. */
    void (*token)(void *context, uint32_t token, buffer *out);
    /* Appends a comment that belongs before the instruction at this original offset, or nothing.
     * May be NULL. */
    void (*note)(void *context, uint32_t offset, buffer *out);
    unsigned indent; /* blanks before each line */
    bool placed;     /* offsets of the encoded body instead of the original ones */
} cil_listing;

void cil_list(const cil_body *body, const cil_listing *listing, buffer *out);

/* One instruction without its offset: "ldc.i4.s 12", "br.s IL_0007". */
void cil_list_instruction(const cil_body *body, cil_at at, const cil_listing *listing, buffer *out);

#endif
