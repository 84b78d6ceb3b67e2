/*
 * values: what code does with values: which types a method boxes, which large structs one of its
 * statements copies.
 * Read from the method's code; neither has a frame of its own on a stack.
 *
 * Sizes are what the fields add up to, and at least that: a part whose type cannot be read counts
 * as nothing. Any thread; foreign bytes are read through the assembly only.
 */
#ifndef CLARINET_SYMBOLS_VALUES_H
#define CLARINET_SYMBOLS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "metadata/assembly.h"

enum { VALUES_SMALLEST = 32 }; /* bytes: smaller ones are not called copies */

typedef struct {
    bool is_box;    /* else a copy */
    uint64_t bytes; /* of the value */
    buffer type;    /* "Shop.Order", as C# writes it */
} values_use;

/* The assembly of a name ("Shop.Model") beside the one that refers to it, or NULL. */
typedef struct {
    const assembly *(*find)(void *context, const char *name);
    void *context;
    unsigned left; /* private: fields that may still be read */
} values_finder;

/* The copies between two IL offsets of a method, then all its boxes, each type once; how many, at
 * most `most`. The caller frees each `type`. */
size_t values_find(const assembly *a, values_finder *finder, uint32_t method_token, uint32_t from,
                   uint32_t to, values_use *out, size_t most);

#endif
