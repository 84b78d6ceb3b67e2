/*
 * thread_names: the whole name of a thread. The kernel keeps 15 bytes of it; the managed Thread
 * object has all. Names of threads that end are kept for a while: their rows are written later.
 *
 * The object is found through the runtime's native thread, in which a handle to it is looked for by
 * what it must point at; nothing is assumed about where. It may be moved while it is read: every
 * read goes through the kernel, and only a name that begins with what the kernel has is believed.
 *
 * Thread rules: the agent's own thread only, but for thread_names_whole, _keep and _drop.
 */
#ifndef CLARINET_AGENT_THREAD_NAMES_H
#define CLARINET_AGENT_THREAD_NAMES_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "clarinet/clarinet.h"

/* What is known of the runtime's types; starts zeroed. */
typedef struct {
    ClassID class_id;     /* of System.Threading.Thread; 0 = not found */
    uint32_t name_offset; /* in the object */
    uint32_t string_length, string_start;
    uint32_t handle_offset; /* in the native thread, where it was found last */
} thread_names;

enum { THREAD_NAMES_ENDED = 4096, THREAD_NAMES_KEPT = 60 };
/* A thread that has ended; its place is its id's remainder. */
typedef struct {
    atomic_int thread; /* 0 = none, or it is being written */
    char name[THREAD_NAMES_KEPT];
} thread_names_ended;

/* Appends the name (UTF-8) of a thread that the kernel calls `short_name`; false when it is not to
 * be found. The caller has made this thread known to the runtime. */
bool thread_names_find(thread_names *t, const clr_info *info, uint32_t os_thread,
                       const char *short_name, buffer *out);

/* Finds out from one of the runtime's threads what thread_names_whole needs. */
void thread_names_learn(thread_names *t, const clr_info *info, ThreadID thread);
/* Appends the name of one of the runtime's threads, without asking the runtime: on any thread. */
bool thread_names_whole(const thread_names *t, ThreadID thread, const char *short_name,
                        buffer *out);

enum { THREAD_NAMES_KERNEL = 32 };
/* What the kernel calls the thread; its length, 0 when the thread is gone. */
size_t thread_names_kernel(uint64_t os_thread, char name[THREAD_NAMES_KERNEL]);
/* Appends the name of a thread that the kernel calls `name`: whole where it was cut and is known.
 * `info` NULL: the runtime cannot be asked. */
void thread_names_append(thread_names *t, const clr_info *info, uint64_t os_thread,
                         const char *name, buffer *out);

/* Keeps the name of this thread, which ends. */
void thread_names_keep(const thread_names *t, thread_names_ended *ended, ThreadID thread);
/* There is another thread of that id now. */
void thread_names_drop(thread_names_ended *ended, uint32_t os_thread);
/* The kept name; "" = there is none. */
void thread_names_kept(thread_names_ended *ended, uint64_t os_thread, char name[THREAD_NAMES_KEPT]);

#endif
