/*
 * waits: the objects that blocked threads wait for (a Lock, a semaphore, a task, a thread to join),
 * copied while the runtime stands still and written down field by field afterwards. What they mean
 * is worked out by the tool.
 *
 * No heap walk: the object stands in a register or on the stack of the frames that wait, and is
 * told from other words by its method table, which must lead to its class and back and, from parent
 * to parent, to System.Object. The types are
 * looked up by name before the runtime is stopped; while it stands still no metadata is asked for,
 * because that may take a lock of a stopped thread.
 *
 * Thread rules: the agent's own thread. waits_begin before the suspension, waits_look and
 * waits_look_at_statics within it, waits_write after it.
 */
#ifndef CLARINET_AGENT_WAITS_H
#define CLARINET_AGENT_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/names.h"
#include "agent/native_stack.h"
#include "base/buffer.h"
#include "base/table.h"
#include "clarinet/clarinet.h"
#include "stackwalk/peek.h"

enum {
    WAITS_FRAMES = 16,   /* innermost ones that are looked at */
    WAITS_REGISTERS = 6, /* of a frame, that keep their value through calls */
    WAITS_TYPES = 18,    /* that are known by name */
    WAITS_LAYOUTS = 48,  /* fields of one class */
    WAITS_JOIN_METHODS = 8,
    WAITS_STRANGERS = 8192,
    WAITS_HEADS = 4096,
};

/* How a thread and an object belong together; numbers of the recording. */
enum {
    WAITS_LINK_WAITS = 0,   /* found where it waits */
    WAITS_LINK_SELF = 1,    /* its own Thread object */
    WAITS_LINK_RUNS = 2,    /* the task that it runs */
    WAITS_LINK_READS = 3,   /* its list of reader locks */
    WAITS_LINK_CLASS = 4,   /* a class that stands where it waits in the runtime */
    WAITS_LINK_REFERS = 5,  /* its callers have it at hand */
    WAITS_LINK_ENTERED = 6, /* its list of ReaderWriterLock, the old one */
    WAITS_LINK_HAS = 7,     /* its callers have it at hand, and it has a semaphore or a mutex */
};

/* The innermost managed frames of a thread. */
typedef struct {
    FunctionID function;
    uintptr_t stack_pointer;
    uintptr_t registers[WAITS_REGISTERS];
} waits_frame;

typedef struct {
    uintptr_t address;
    ClassID class_id;
    uint32_t length; /* bytes copied */
    size_t at;       /* where they are in `bytes` */
    uint8_t type;
    uint8_t depth;
} waits_object;

typedef struct {
    uint32_t os_thread;
    uint32_t role;
    uintptr_t object;
} waits_link;

/* The first word at an address; 0 = it cannot be read. */
typedef struct {
    uintptr_t address;
    uintptr_t word;
} waits_head;

/* A thread that stands still. */
typedef struct {
    ThreadID id;
    uint32_t os_thread;
    bool waits_for_monitor;
    uintptr_t stack_end; /* the stack pointer of its outermost frame */
    waits_frame frames[WAITS_FRAMES];
    size_t count;
} waits_thread;

typedef struct {
    const clr_info *info;
    ModuleID core;        /* 0 = not found: nothing can be told */
    ModuleID threading;   /* System.Threading.dll, which has one lock; 0 = not loaded */
    ClassID object_class; /* System.Object */
    mdTypeDef tokens[WAITS_TYPES];
    ClassID classes_seen[WAITS_TYPES]; /* one class of each type, once met */
    mdFieldDef running_task, reader_counts, native_thread, lock_entries, lock_state;
    mdMethodDef join_methods[WAITS_JOIN_METHODS];
    size_t join_method_count;
    uint32_t native_offset; /* of the native thread in a Thread object; 0 = not known yet */
    uint32_t handle_offset; /* of the handle to the Thread object in a native thread */
    uint32_t state_offset;  /* of the state in a ReaderWriterLock */
    peek_process process;
    peek memory;
    /* one look */
    peek_pages pages;                     /* of the memory */
    table_u64 modules;                    /* of the runtime */
    table_u64 classes;                    /* to type + 1; 0 = no class, or none of ours */
    table_u64 known;                      /* objects by address, to index + 1 */
    uintptr_t strangers[WAITS_STRANGERS]; /* words that are no object of ours; with bit 0,
                                           * no class */
    waits_head heads[WAITS_HEADS];
    buffer objects; /* of waits_object */
    buffer links;   /* of waits_link */
    buffer bytes;
} waits;

void waits_begin(waits *w, const clr_info *info);
/* `spot` is where the thread stood before the suspension; asked for again where it counts. */
void waits_look(waits *w, const waits_thread *t, native_stack_spot *spot);
/* What belongs to all threads, after each was looked at. */
void waits_look_at_statics(waits *w, ThreadID thread, uint32_t os_thread);
void waits_free(waits *w);

static inline size_t waits_object_count(const waits *w)
{
    return w->objects.length / sizeof(waits_object);
}

/* Rows: `object` (address, type), `field` (address, name or 0, value), `link`. */
typedef struct {
    void (*object)(void *context, uint64_t address, uint32_t type);
    void (*field)(void *context, uint64_t address, uint32_t name, uint64_t value);
    void (*link)(void *context, const waits_link *link, uint32_t type);
    void *context;
} waits_rows;
void waits_write(waits *w, names *n, const waits_rows *rows);

#endif
