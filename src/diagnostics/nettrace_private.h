/* nettrace_private: shared by the files of the nettrace parser; see nettrace.h. */
#ifndef CLARINET_DIAGNOSTICS_NETTRACE_PRIVATE_H
#define CLARINET_DIAGNOSTICS_NETTRACE_PRIVATE_H

#include "base/buffer.h"
#include "base/reader.h"
#include "base/table.h"
#include "diagnostics/nettrace.h"

struct nettrace {
    nettrace_sink sink;
    nettrace_trace trace;
    bool has_trace;
    bool started;      /* the stream's head was read */
    bool ended;        /* the stream's own end was read */
    int failed;        /* the error code that ended it */
    buffer input;      /* bytes not yet taken */
    uint64_t position; /* of input's first byte in the stream: blocks are aligned in the stream */
    nettrace_metadata **metadata; /* in the order they came; owned */
    size_t metadata_count;
    table_u64 metadata_index; /* id → index + 1 */
    buffer stacks;            /* bytes of the stacks since the last sequence point */
    table_u64 stack_index;    /* id → offset << 24 | length */
    table_u64 sequence;       /* capture thread → last sequence number */
};

/* Each takes the content of one block; 0 or an error code. */
int nettrace_take_events(nettrace *parser, reader block, bool metadata, error *e);
int nettrace_take_stacks(nettrace *parser, reader block, error *e);
int nettrace_take_sequence_point(nettrace *parser, reader block, error *e);

/* Takes the payload of a metadata event. */
int nettrace_take_metadata(nettrace *parser, reader payload, error *e);
const nettrace_metadata *nettrace_find_metadata(const nettrace *parser, uint32_t id);
void nettrace_free_metadata(nettrace *parser);

#endif
