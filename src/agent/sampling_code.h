/*
 * sampling_code: what an address is, worked out once: how to walk over it, what frame it shows.
 *
 * Native code is found through the memory map and walked by its library's unwind table; managed
 * code through the runtime and walked by its decoded prologue; executable memory that is neither
 * holds the runtime's stubs. Libraries that come later are found when an address misses.
 *
 * Thread rules: the agent's own thread only.
 */
#ifndef CLARINET_AGENT_SAMPLING_CODE_H
#define CLARINET_AGENT_SAMPLING_CODE_H

#include "agent/agent.h"
#include "base/table.h"
#include "stackwalk/cfi.h"
#include "stackwalk/image.h"
#include "stackwalk/regions.h"
#include "stackwalk/stackwalk.h"

typedef enum { SAMPLING_UNKNOWN, SAMPLING_NATIVE, SAMPLING_MANAGED, SAMPLING_STUB } sampling_place;

typedef struct {
    uint64_t key; /* address * 2 + leaf; 0 = a free place of the table */
    stackwalk_rule rule;
    uint32_t frame; /* id; 0 = shows none */
    uint8_t place;  /* sampling_place */
    bool at_system_call;
    bool in_compiler; /* in libclrjit */
    bool in_runtime;
    bool stopped; /* in the helper that stops a thread for a collection */
    bool in_box;  /* a method of the box of an async method: what it calls was resumed */
    bool resumes; /* a method that calls boxes, and may have them inlined */
} sampling_address;

typedef struct {
    uint64_t base, end, inode;
    image image;
    cfi table;
    bool has_table;
    bool is_compiler;
    bool is_runtime;
    uint32_t module;
} sampling_library;

typedef struct sampling_code {
    agent *agent;
    bool frame_pointers; /* CLARINET_WALKER=fp: walk by rbp alone, for tests */
    peek_process process;
    peek memory;      /* of this process */
    peek_pages pages; /* of libraries */
    peek files;       /* libraries' memory, through the pages */
    regions map;
    uint64_t map_ns;
    unsigned map_pause_ms;
    sampling_library *libraries;
    size_t library_count, library_capacity;
    sampling_address *addresses; /* by hash of their key, probed linearly, at most 2/3 full */
    size_t address_count, address_capacity;
    unsigned unloads;     /* of the agent's unloads_met, when they were kept */
    unsigned gone_blocks; /* of gone_blocks, then */
    sampling_address nowhere;
    unsigned users;
} sampling_code;

/* The agent has one, which all who walk share: made by the first, gone with the last. NULL = there
 * is no memory. */
sampling_code *sampling_code_open(agent *a);
void sampling_code_close(agent *a);

/* `leaf`: the address is where the thread stands, else it is a return address. Valid until the
 * next call. */
const sampling_address *sampling_code_at(sampling_code *s, uint64_t address, bool leaf);

/* The name of a managed frame's method; "" = it is none. */
const char *sampling_code_name(const names *n, uint32_t frame);

/* For stackwalk: executable memory that is known. Context is the sampling_code. */
bool sampling_code_is_code(void *context, uint64_t address);

#endif
