/*
 * gone: methods made at run time and threads, which go while the agent's own thread asks about
 * them.
 *
 * The runtime reads its tables of such code, and its threads, without a lock: whoever asks about
 * what is being freed makes it read freed memory. So the own thread says first what it asks about.
 * The thread that is about to free something notes it here, and then waits for the own thread, but
 * only if that asks about just this. What has gone is not asked about; an address where new code
 * lies by now is, if it was taken after the old code went.
 *
 * Thread rules: gone_ask…, gone_answered, gone_from and gone_listen on the agent's own thread; the
 * rest in callbacks, on any thread.
 */
#ifndef CLARINET_AGENT_GONE_H
#define CLARINET_AGENT_GONE_H

#include "agent/ring.h"
#include "clarinet/clarinet.h"
#include "stackwalk/shape.h"

/* Where the addresses that are asked about come from. */
typedef enum { GONE_FROM_NOW, GONE_FROM_EVENTS, GONE_FROM_SAMPLES, GONE_SOURCES } gone_source;

/* Tells the ring of a source, before there is anything in it. */
void gone_watch(gone_source source, const ring *records);
/* From now on the own thread asks about what is in the oldest record of that ring, or
 * (GONE_FROM_NOW) about what it finds from this call on. */
void gone_from(gone_source source);
/* Threads will be told of from now on. Those that went before may have come again untold. */
void gone_listen(void);

/* A method that has gone. */
typedef struct {
    uintptr_t start, size; /* of its code */
    shape shape;
    ModuleID module;
    char name[64];
    char parameters[64];
} gone_method;

/* Before asking about an address in code, a function, or a thread: false = it has gone. */
bool gone_ask_code(uintptr_t inside);
bool gone_ask_function(FunctionID function);
bool gone_ask_thread(ThreadID thread);
/* After each of them that was true. */
void gone_answered(void);
/* The method that was at the address when it was taken, and has gone since; false = none. */
bool gone_code_was(uintptr_t inside, gone_method *out);
bool gone_function_was(FunctionID function, gone_method *out);
/* Whether code has ever gone from around the address: what is there now may be gone soon. */
bool gone_is_near(uintptr_t address);
/* How many such places there are: when there is a further one, what was found out there before
 * counts no longer. */
unsigned gone_blocks(void);
/* The next function that went, of which nothing must be kept: its id may be another's by now.
 * 0 = no more; GONE_MANY: too many. */
#define GONE_MANY ((FunctionID)-1)
FunctionID gone_next(unsigned *seen);
/* clr_each_thread, of those that have not gone. */
HRESULT gone_each_thread(const clr_info *info, clr_visit_id *visit, void *context);

/* In the runtime's callbacks, while what goes is still whole. */
void gone_code_goes(const clr_info *info, FunctionID function);
void gone_thread_goes(ThreadID thread);
void gone_thread_comes(ThreadID thread);

#endif
