/*
 * exception_leaving: frames in code that may be unloaded (collectible assemblies, and generic code
 * over their types). When the own thread comes to such a frame its module may be gone, and nobody
 * can name it any more; so the throwing thread names it, once for each address, and sends the name
 * through the ring ahead of the exception. Most programs have no such code: then nothing is asked.
 *
 * A frame that was told carries EXCEPTION_LEAVING in its address. Records keep their order in the
 * ring, and what was told is forgotten when a module goes, so an address always means what it meant
 * when the exception was thrown.
 *
 * Thread rules: mark, loaded and forget on any thread, without locks; the others on the own thread.
 * Zeroed memory is an empty one.
 */
#ifndef CLARINET_PROFILERS_EXCEPTION_LEAVING_H
#define CLARINET_PROFILERS_EXCEPTION_LEAVING_H

#include "agent/agent.h"
#include "base/table.h"

#define EXCEPTION_LEAVING ((uintptr_t)1 << 63)

enum { EXCEPTION_LEAVING_PLACES = 2048 };

typedef struct {
    atomic_uint modules;                                /* whether any module may be unloaded */
    _Atomic uintptr_t looked[EXCEPTION_LEAVING_PLACES]; /* address << 1 | was told */
    table_u64 frames;                                   /* own thread: address to frame */
} exception_leaving;

/* Inside a callback, on the thread whose frame it is: the address, with EXCEPTION_LEAVING when it
 * was told. `kind` is the record's; the other arguments are those of names_frame_at. */
uintptr_t exception_leaving_mark(agent *a, exception_leaving *l, unsigned kind, uintptr_t address,
                                 bool caller, uintptr_t callee);
void exception_leaving_loaded(agent *a, exception_leaving *l, ModuleID module);
/* A module is going: its addresses may be another's next. */
void exception_leaving_forget(exception_leaving *l);

void exception_leaving_reset(exception_leaving *l);
/* Looks at the modules that were there before us; once. */
void exception_leaving_look(agent *a, exception_leaving *l);
void exception_leaving_take(agent *a, exception_leaving *l, const void *payload, size_t length);
/* The frame of a marked address; 0 when it is not known. */
uint32_t exception_leaving_frame(const exception_leaving *l, uintptr_t address, bool caller);

#endif
