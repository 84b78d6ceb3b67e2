/*
 * pdb: a portable PDB: from a method's token and an IL offset to file and line; from a state
 * machine's MoveNext to the method it was made of. Nothing is copied: the caller keeps the bytes
 * alive. Every byte is treated as hostile. Any thread once opened.
 */
#ifndef CLARINET_SYMBOLS_PDB_H
#define CLARINET_SYMBOLS_PDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "metadata/metadata.h"

enum { PDB_ID = 20, PDB_HIDDEN_LINE = 0xfeefee };

typedef struct {
    metadata tables;
    uint8_t id[PDB_ID]; /* 16 bytes GUID, 4 bytes stamp: as in the dll's debug directory */
} pdb;

typedef struct {
    uint32_t il_offset;
    uint32_t document; /* row; 0 = none */
    uint32_t line;     /* 0 = hidden */
    uint32_t column;
    uint32_t end_line;
    uint32_t end_column;
} pdb_point;

int pdb_open(pdb *p, const void *bytes, size_t length, error *e);

/* Walks the sequence points of a method in IL order. */
typedef struct {
    const pdb *p;
    const uint8_t *position, *end;
    pdb_point point;
    uint32_t last_line, last_column; /* of the last point that was not hidden */
    bool has_point, has_line, failed;
} pdb_points;

/* false when the method has none. */
bool pdb_points_of(const pdb *p, uint32_t token, pdb_points *out);
/* The next point into out->point; false at the end or at broken data. */
bool pdb_points_next(pdb_points *points);

/* The line at an IL offset: the last shown point at or before it, else the first one; false when
 * the method has no lines. */
bool pdb_find_line(const pdb *p, uint32_t token, uint32_t il_offset, pdb_point *out);

/* Appends the path of a document as the compiler wrote it. */
void pdb_append_document(const pdb *p, uint32_t document, buffer *out);

/* Where an async method's MoveNext waits for its await `number`, counted from 0 in the order of the
 * code; false when it has no such await. */
bool pdb_find_await(const pdb *p, uint32_t token, uint64_t number, uint32_t *il_offset);

/* The method whose state machine has this MoveNext; 0 = it is none. */
uint32_t pdb_find_kickoff(const pdb *p, uint32_t token);
/* The MoveNext of the state machine that this method starts; 0 = it starts none. */
uint32_t pdb_find_move_next(const pdb *p, uint32_t token);

#endif
