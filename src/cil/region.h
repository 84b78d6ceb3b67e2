/*
 * region: the protected regions of a body as a tree: which innermost try, filter or handler each
 * instruction stands in, and what a jump may cross. Internal to the checker.
 *
 * Region 0 is the method. Clause n has regions 3n+1 (its try; shared by clauses of the same try),
 * 3n+2 (filter) and 3n+3 (handler). Built only after clauses were found to be nested and innermost
 * first, so that painting them from the last to the first leaves the innermost on top.
 */
#ifndef CLARINET_CIL_REGION_H
#define CLARINET_CIL_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "cil/body.h"

typedef struct {
    uint32_t *order;  /* per instruction place: its number in the code */
    uint32_t *region; /* per instruction place: innermost region */
    uint32_t capacity;
    uint32_t *parent; /* per region */
    uint32_t parent_capacity;
    uint32_t instruction_total;
    bool plain; /* no clauses: every region is 0 and the arrays above are not filled */
} cil_regions;

enum { CIL_REGION_METHOD = 0, CIL_REGION_TRY = 1, CIL_REGION_FILTER = 2, CIL_REGION_HANDLER = 3 };

void cil_regions_free(cil_regions *r);
/* NULL, or what is wrong; *clause tells which one. "no memory" without memory. */
const char *cil_regions_build(cil_regions *r, const cil_body *body, uint32_t *clause);

static inline uint32_t cil_region_of(const cil_regions *r, cil_at at)
{
    return r->plain ? 0 : r->region[at];
}
static inline unsigned cil_region_kind(uint32_t region)
{
    return region == 0 ? CIL_REGION_METHOD : (region - 1) % 3 + 1;
}
static inline uint32_t cil_region_clause(uint32_t region)
{
    return (region - 1) / 3;
}

/* May control go from one instruction to the other by branch or by falling into it? */
bool cil_region_may_branch(const cil_regions *r, const cil_body *body, cil_at from, cil_at to);
/* …by leave? */
bool cil_region_may_leave(const cil_regions *r, const cil_body *body, cil_at from, cil_at to);
/* Does it stand in a catch handler, at any depth? */
bool cil_region_in_catch(const cil_regions *r, const cil_body *body, cil_at at);

#endif
