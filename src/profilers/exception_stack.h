/*
 * exception_stack: the exact place of a throw, where the runtime's walk does not tell it, and
 * whether a method can catch at all. Thread rules: the throwing thread, inside the callback.
 */
#ifndef CLARINET_PROFILERS_EXCEPTION_STACK_H
#define CLARINET_PROFILERS_EXCEPTION_STACK_H

#include "agent/snapshot.h"

enum { EXCEPTION_MADE = 4, EXCEPTION_SIGNAL_RETURN_BYTES = 9 };

/* Frames of methods that were made at run time, by their index; more of them are not kept. */
typedef struct {
    size_t count;
    size_t frames[EXCEPTION_MADE];
    FunctionID functions[EXCEPTION_MADE];
} exception_made;

/* Whether the instruction before `ip` is a call, so that `ip` is a return address. A fault of the
 * processor (a null reference, say) has the faulting instruction itself as its address. The code
 * must not go away meanwhile: on the throwing thread it does not. */
bool exception_follows_call(uintptr_t ip);
enum { EXCEPTION_CALL_BYTES = 8 }; /* before `ip` that it looks at, at most */
/* Whether this is the code that a signal's handler returns to. */
bool exception_is_signal_return(const uint8_t code[EXCEPTION_SIGNAL_RETURN_BYTES]);
/* What the runtime's walk does not tell. Frames inside a catch or finally block: it names the
 * method but gives the place in its try block. The real place is the method's own return address
 * above us, which the chain of frame pointers leads to; it is put into s->addresses. Methods that
 * were made at run time: they are put in, and told in *made. Returns whether the leaf is a call. s
 * has at least one frame. Only loads between here and `top`, where this thread's stack begins. */
bool exception_correct_stack(const clr_info *info, snapshot *s, uintptr_t top,
                             exception_made *made);
/* Whether the function has a catch or filter clause; true when that cannot be told. */
bool exception_may_be_caught_in(const clr_info *info, FunctionID function);
/* Where the main thread's stack begins; 0 when not known. */
uintptr_t exception_main_stack_top(void);

#endif
