/*
 * compiled: the machine code of methods: where it lies, which CIL each part of it is from.
 *
 * The runtime is asked once for each piece of code (its range and its IL map are dear to ask for:
 * the map is unpacked anew at every call), and only which method an address belongs to is asked
 * for each address: that is quick, and it keeps code that took the place of other code apart.
 *
 * Thread rules: the agent's own thread only.
 */
#ifndef CLARINET_AGENT_COMPILED_H
#define CLARINET_AGENT_COMPILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "clarinet/clarinet.h"
#include "stackwalk/shape.h"

/* A run of machine code of one version of a method. */
typedef struct {
    uintptr_t start, size;
    FunctionID function;
    ReJITID rejit;
    uint32_t next;                 /* piece of the same function; 0 = last */
    uint32_t before;               /* bytes of code in the version's earlier pieces */
    uint32_t map_first, map_count; /* its part of `map` */
    bool has_shape;                /* for who walks: `shape` was worked out */
    shape shape;
} compiled_piece;

/* Where machine code begins that belongs to a place in CIL, or to none that the runtime knows. */
typedef struct {
    uint32_t offset, il_offset;
} compiled_entry;

/* What the map says of an address. Optimised code may have lost the entry of the very statement:
 * then this is the one before it. */
typedef struct {
    uint32_t il_offset; /* + 1; 0 = not known */
    uint32_t il_end;    /* the next place in CIL that the map names; UINT32_MAX = none */
    bool is_exact;      /* the address has an entry of its own */
} compiled_place;

typedef struct {
    const clr_info *info;
    compiled_piece *pieces;
    size_t piece_count, piece_capacity;
    compiled_entry *map;
    size_t map_count, map_capacity;
    COR_DEBUG_IL_TO_NATIVE_MAP *scratch; /* what the runtime answers */
    table_u64 first;                     /* FunctionID: its first piece */
} compiled;

void compiled_init(compiled *c, const clr_info *info);
void compiled_free(compiled *c);

/* The method around an address; 0 when there is none. `piece` is NULL for code whose range the
 * runtime does not tell (marshalling stubs), else valid until the next call. */
FunctionID compiled_find(compiled *c, uintptr_t address, compiled_piece **piece);
compiled_place compiled_place_at(const compiled *c, const compiled_piece *piece, uintptr_t address);

#endif
