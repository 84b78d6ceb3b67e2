/*
 * exceptions_private: what the two halves of the profiler share: the callbacks on the target's
 * threads (exceptions.c) put records into the ring; the own thread (exceptions_rows.c) makes rows
 * of them. See exceptions.c for the whole.
 *
 * Thread rules: in the state, what stands above the mark belongs to all threads and is atomic.
 */
#ifndef CLARINET_PROFILERS_EXCEPTIONS_PRIVATE_H
#define CLARINET_PROFILERS_EXCEPTIONS_PRIVATE_H

#include "agent/agent.h"
#include "agent/tally.h"
#include "base/table.h"
#include "profilers/exception_catch.h"
#include "profilers/exception_classes.h"
#include "profilers/exception_leaving.h"
#include "profilers/exception_object.h"
#include "profilers/exception_stack.h"

enum {
    EXCEPTIONS_SELF = ENGINE_INDEX_exceptions,
    EXCEPTIONS_LOSS_RING = 0,
    EXCEPTIONS_LOSS_DISTINCT,
    EXCEPTIONS_LOSS_CLASSES,
    EXCEPTIONS_LOSS_NO_STACK,
    EXCEPTIONS_RECORD_THROWN = 0,
    EXCEPTIONS_RECORD_CAUGHT,
    EXCEPTIONS_RECORD_UNCAUGHT,
    EXCEPTIONS_RECORD_CLASS,
    EXCEPTIONS_RECORD_FOUND,    /* a catcher; it is not entered yet */
    EXCEPTIONS_RECORD_DOUBT,    /* one that was thrown on its way to the catcher is caught */
    EXCEPTIONS_RECORD_GOES_ON,  /* it is on its way all the same */
    EXCEPTIONS_RECORD_RUNTIME,  /* the runtime itself took it */
    EXCEPTIONS_RECORD_SEARCHED, /* the search for a catcher has reached the last frame */
    EXCEPTIONS_RECORD_LEAVING,  /* a frame of code that may be gone soon */
    EXCEPTIONS_COLUMNS = 10,
    EXCEPTIONS_MOST_FRAMES = 512, /* the catalogue's limit of `depth` */
    EXCEPTION_INNER = 4,          /* inner exceptions that are kept */
};

typedef struct {
    exception_class class;
    uint32_t units;
} exception_inner_part;

/* A record in the ring; `frames` addresses follow (exception_leaving_mark), then the units of all
 * messages, outer first, then name and parameters of the methods made at run time, each with a 0
 * behind it: such a method may be gone, and another in its place, when the record is taken. */
typedef struct {
    uint64_t number;
    uint64_t time;
    exception_class class;
    uint32_t thread;
    uint32_t units;
    uint16_t frames;
    uint16_t inner_count;
    bool is_cut; /* the stack */
    bool message_is_cut;
    bool leaf_is_call;
    uint8_t made_count;
    uint16_t made_frames[EXCEPTION_MADE];
    uint32_t made_length; /* bytes of their texts */
    exception_inner_part inner[EXCEPTION_INNER];
} exception_thrown;

/* What became of it. Where a catcher was found, `function` is that, and `address` is one of its
 * frame (exception_leaving_mark), 0 = none. */
typedef struct {
    uint64_t number;
    FunctionID function;
    uintptr_t address;
} exception_end;

/* The name of a class, when it is first thrown; `length` bytes follow. */
typedef struct {
    exception_class class;
    uint32_t length;
} exception_class_name;

/* A row that waits for its end. One that waits longer than a round is sent as it is; a row with the
 * same number takes its place later. */
typedef struct {
    uint64_t cells[EXCEPTIONS_COLUMNS];
    uint64_t doubted; /* since when it may have been replaced; 0 = not */
    uint32_t catcher; /* method that was found; 0 = none, or not known */
    uint64_t sent;    /* the flags it was sent with, and 1 << 63; 0 = not sent */
    bool is_found;    /* a catcher is */
    bool is_searched; /* the search went to the end */
} exception_row;

typedef struct {
    uint32_t generation;
    uint32_t string; /* 0 = there was no room for it */
    bool told;
} exception_type;

typedef struct {
    allowance allowed;
    atomic_uint depth;
    atomic_bool messages;
    atomic_uint class_way;
    exception_layout layout;
    _Atomic uintptr_t main_stack_top;
    atomic_uint_fast64_t number;
    atomic_uint_fast64_t unnamed; /* counted, but there was no place for its class */
    exception_catch catch;
    exception_classes classes;
    exception_leaving leaving;
    /* own thread */
    exception_type types[EXCEPTION_CLASSES];
    uint64_t distinct;
    table_u64 stacks; /* hash of addresses to stack id */
    uint64_t kept;    /* stacks put there */
    unsigned unloads; /* after how many the table was emptied */
    exception_row *held;
    size_t held_count;
    uint64_t drained; /* when */
    bool busy;        /* something came since the last tick */
} exceptions_state;

static inline exceptions_state *exceptions_state_of(agent *a)
{
    return a->engines[EXCEPTIONS_SELF].state;
}

/* The own thread's half of the engine. */
extern const recording_table EXCEPTIONS_TABLE;

int exceptions_start(agent *a, error *e);
void exceptions_stop(agent *a);
void exceptions_configure(agent *a);
void exceptions_take(agent *a, unsigned kind, const void *payload, size_t length);
void exceptions_drain(agent *a, bool last);
unsigned exceptions_longest_wait_ms(agent *a);
void exceptions_destroy(agent *a);

#endif
