/*
 * wrap: puts a whole body into a try with one way out, so that code can be added at entry, at
 * every normal return and at every exception. Both the method tracer and the instrumentation agent
 * stand on this.
 *
 *   <enter>                                   code before wrap.enter
 *   try { user code; every ret is now: store the result, leave to the epilogue }
 *   fault { <failed> endfinally }             code before wrap.failed
 *   epilogue: <leave> load the result; ret    code before wrap.leave
 *
 * The new clause is the outermost, so it stands last. The result goes through a local that the
 * caller appended to the local signature (signature.h); locals of the method keep their numbers.
 */
#ifndef CLARINET_CIL_WRAP_H
#define CLARINET_CIL_WRAP_H

#include "base/error.h"
#include "cil/body.h"

/* ERROR_UNSUPPORTED names what the method has that cannot be wrapped (`jmp`, `tail.`); the body is
 * then untouched. */
int cil_wrap_body(cil_body *body, const cil_wrap_options *options, cil_wrap *wrap, error *e);

/* Makes every ret a branch to one place at the end of the user code, and returns it: a nop that
 * all paths reach with the result on the stack. CIL_END when there is no ret; `tail.` must not be
 * there any more. */
cil_at cil_join_returns(cil_body *body);
/* `tail.` becomes two nops; returns how many. */
uint32_t cil_drop_tail_calls(cil_body *body);

/* A call straight into C before `at`: pushes `argument` as int64 and the address, calls through
 * the signature (a StandAloneSig of an unmanaged function with one int64 and no result). */
void cil_insert_probe(cil_body *body, cil_at at, int64_t argument, uint64_t address,
                      uint32_t signature);

#endif
