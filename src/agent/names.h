/*
 * names: from what the runtime hands out (addresses, functions, classes) to the recording's ids:
 * strings, modules, methods, frames, stacks. Each thing is resolved once and kept.
 *
 * Ids are the agent's, shared by all its sessions, and dense from 1 up; each session remembers
 * which of them it has sent. 0 means not known or no memory left: a row is then written without it.
 *
 * Thread rules: the agent's own thread only. The runtime is called from here.
 */
#ifndef CLARINET_AGENT_NAMES_H
#define CLARINET_AGENT_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/call_site.h"
#include "agent/thread_names.h"
#include "base/buffer.h"
#include "base/table.h"
#include "clarinet/clarinet.h"

typedef struct {
    char *text;
    size_t length;
    uint64_t hash;
} names_string;

typedef struct {
    uint32_t kind; /* RECORDING_MODULE_… */
    uint32_t name; /* string */
    uint32_t path; /* string */
    uint8_t identity[20];
    uint32_t identity_length;
    uint64_t base;
    uint64_t size;
} names_module;

typedef struct {
    uint32_t module;
    uint32_t token;
    uint32_t name;
    uint32_t parameters;
    uint32_t flags;
} names_method;

typedef struct {
    uint32_t kind; /* RECORDING_FRAME_… */
    uint32_t a;
    uint64_t b;
} names_frame;

typedef struct {
    uint32_t parent;
    uint32_t frame;
} names_stack;

/* A growing array of one of the above; item of id i is at index i - 1. */
typedef struct {
    void *items;
    size_t count;
    size_t capacity;
} names_list;

typedef struct {
    const clr_info *info;
    names_list strings, modules, methods, frames, stacks;
    uint32_t *string_slots; /* ids by hash, open addressing */
    size_t string_capacity;
    table_u64 module_ids;  /* ModuleID */
    table_u64 method_ids;  /* FunctionID */
    table_u64 class_ids;   /* ClassID to string */
    table_u64 frame_ids;   /* kind, a, b */
    table_u64 stack_ids;   /* parent, frame */
    table_u64 address_ids; /* instruction address to frame */
    compiled code;
    cil_body body; /* scratch space of call_site */
    thread_names threads;
    buffer scratch;
    atomic_uint overtaken; /* modules that went while what was taken in them had no name yet */
    unsigned caught_up;    /* of them, those of which nothing can be left that has none */
    bool is_own;           /* on the agent's own thread (gone.h) */
    unsigned gone_seen;    /* functions that went, and were forgotten */
    unsigned gone_blocks;  /* of memory that code went from, as far as addresses were forgotten */
    bool is_lasting;       /* what is asked about now cannot be unloaded */
    uint64_t unasked;      /* names that were not asked for because of that */
} names;

void names_init(names *n, const clr_info *info);
/* Frees everything; ids start again at 1. */
void names_reset(names *n);

/* Forgets which id belongs to what of the runtime's, because that may belong to something else by
 * now. The ids themselves stay. */
void names_forget_lookups(names *n);

/* Whether the runtime may be asked about ids that were taken earlier: not while they may be those
 * of a module that did not wait for us. A no is counted. */
bool names_may_ask(names *n);

/* Before the code around an address is asked about (compiled_find), and after: gone.h. */
bool names_ask_code(names *n, uintptr_t inside);
void names_answered(const names *n);

uint32_t names_intern(names *n, const char *text, size_t length);
uint32_t names_intern_text(names *n, const char *text);
uint32_t names_of_module(names *n, ModuleID module);
uint32_t names_of_function(names *n, FunctionID function);
/* A method by its definition, whether it was ever compiled or not. Each call makes a new id. */
uint32_t names_of_token(names *n, ModuleID module, mdMethodDef token);
/* The same without asking the runtime: 0 when the function was not met yet. For ids that may have
 * become invalid since they were seen. */
uint32_t names_known_function(const names *n, FunctionID function);
/* Names the code around an address itself: a method made at run time, which may be gone by now.
 * `name` NULL takes that back. */
void names_set_made(names *n, uintptr_t inside, const char *name, const char *parameters);
/* Says which frame an address (inside of the code) is, until it is said otherwise; 0 = ask. */
void names_set_frame(names *n, uintptr_t inside, uint32_t frame);
/* A method whose module and texts the caller knows; the same one again gets the same id. */
uint32_t names_keep_method(names *n, const names_module *module, const names_method *method);
/* The type's name as a string id. */
uint32_t names_of_class(names *n, ClassID class_id);
/* As the runtime spells it (Shop.Orders+Refused`1); not kept; 0 = not known. */
uint32_t names_of_class_path(names *n, ClassID class_id);

/* A frame by address. `caller`: the address is a return address, so the call lies before it.
 * `callee`: an address in what was called, which tells the very call; 0 = not known. An address
 * that is no managed code becomes the synthetic frame (unknown). */
uint32_t names_frame_at(names *n, uintptr_t address, bool caller, uintptr_t callee);
/* The same for an instruction whose code compiled_find has found. */
uint32_t names_frame_in(names *n, FunctionID function, const compiled_piece *piece,
                        uintptr_t inside);
uint32_t names_frame_managed(names *n, uint32_t method, uint32_t il_offset_plus_1);
/* A method made at run time, by its name; module 0 = not known. */
uint32_t names_of_made(names *n, const char *name, const char *parameters, ModuleID module);
uint32_t names_frame_made(names *n, const char *name, const char *parameters, ModuleID module);
uint32_t names_frame_native(names *n, uint32_t module, uint64_t offset);
/* An await of an async method, counted from 0; the method is its MoveNext. */
uint32_t names_frame_await(names *n, uint32_t method, uint32_t number);
uint32_t names_frame_synthetic(names *n, const char *text);
/* Adds a native module (build-id as identity) that the caller knows to be new. */
uint32_t names_add_module(names *n, const names_module *module);

/* The stack whose leaf is `frame` on top of `parent` (0 = outermost). */
uint32_t names_stack_on(names *n, uint32_t parent, uint32_t frame);
/* The stack of `count` addresses, leaf first. `leaf_is_call`: the first address is a return address
 * too. Stacks cut at the outer end start with a frame (truncated). */
uint32_t names_stack_of(names *n, const uintptr_t *addresses, size_t count, bool leaf_is_call,
                        bool cut);

const names_string *names_get_string(const names *n, uint32_t id);
const names_module *names_get_module(const names *n, uint32_t id);
const names_method *names_get_method(const names *n, uint32_t id);
const names_frame *names_get_frame(const names *n, uint32_t id);
const names_stack *names_get_stack(const names *n, uint32_t id);

#endif
