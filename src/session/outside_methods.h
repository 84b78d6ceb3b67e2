/*
 * outside_methods: which managed method was compiled to the code at an address, read from the
 * memory of another process or of a core dump. Private to src/session.
 *
 * The layout comes from the runtime's own contract descriptor (9.0 and later). The code's header
 * stands before its first instruction and is found by going back from the address: a word counts
 * as one only when it leads to a header, a method, its chunk, a class and back to that class, and
 * when the header's own unwind table says that the address is inside. Nothing is guessed: where one
 * of these fails there is no method.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_SESSION_OUTSIDE_METHODS_H
#define CLARINET_SESSION_OUTSIDE_METHODS_H

#include <stdbool.h>
#include <stdint.h>

#include "stackwalk/peek.h"
#include "stackwalk/regions.h"

/* Where fields are. */
typedef struct {
    uint32_t chunk_index, remainder, flags;             /* of a method */
    uint32_t chunk_size, chunk_class, chunk_token;      /* of a chunk of methods */
    uint32_t class_module, class_details;               /* of a class */
    uint32_t details_class;                             /* of its details */
    uint32_t module_path;                               /* of a module */
    uint32_t dynamic_name;                              /* of a method made at run time */
    uint32_t header_method, header_count, header_table; /* of code */
    uint32_t alignment, token_bits;
} outside_layout;

typedef struct {
    peek memory;
    const regions *map;
    outside_layout layout;
    bool is_usable;
} outside_methods;

typedef struct {
    uint64_t start, end;
    uint32_t token;  /* 0 = made at run time */
    char path[1024]; /* of its dll; "" = made at run time */
    char name[200];  /* of one made at run time; else "" */
} outside_method;

/* Looks for the descriptor in the runtime's library. Without one, or with one of another version,
 * nothing is ever found. `map` must stay. */
void outside_methods_open(outside_methods *m, const peek *memory, const regions *map);
bool outside_methods_find(const outside_methods *m, uint64_t address, outside_method *out);

#endif
