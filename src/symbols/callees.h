/*
 * callees: which known costly callees a statement has by its code, where the compiler may have made
 * them part of their caller so that no frame names them; and which statement a loop's own line
 * stands for.
 *
 * Any thread; foreign bytes are read through the assembly only.
 */
#ifndef CLARINET_SYMBOLS_CALLEES_H
#define CLARINET_SYMBOLS_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/assembly.h"
#include "recording/tables.h"

/* Bits 1 << tables_callee of the calls between two IL offsets of a method. */
uint32_t callees_find(const assembly *a, uint32_t method_token, uint32_t from, uint32_t to);

/* A loop: its branch goes back to `from`. */
typedef struct {
    uint32_t from, branch;
    uint32_t at; /* an offset in it */
} callees_loop;

/* The innermost loop around the statement between two IL offsets, or the one whose test the
 * statement goes to, as the beginning of a `for` does. */
bool callees_find_loop(const assembly *a, uint32_t method_token, uint32_t from, uint32_t to,
                       callees_loop *out);

#endif
