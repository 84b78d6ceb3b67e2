/*
 * call_site: the very call in a method's CIL that a frame of a stack stands at.
 *
 * The runtime's map from machine code to CIL loses entries when code is optimised, most of all in
 * code that replaced a running method: the frame then gets the line of another statement, in the
 * runtime's own stack traces too. A stack says more than one address: it says whom the frame has
 * called. So the call is looked for in the CIL around the place that the map names.
 *
 * Thread rules: the agent's own thread only.
 */
#ifndef CLARINET_AGENT_CALL_SITE_H
#define CLARINET_AGENT_CALL_SITE_H

#include "agent/compiled.h"
#include "cil/body.h"

/* Whether the token of a call may mean the method that was called. */
typedef bool call_site_match(void *context, uint32_t token);

/* The IL offset + 1 of the call; the map's own when no call fits better. */
uint32_t call_site_choose(const cil_body *body, const compiled_place *place,
                          call_site_match *matches, void *context);
/* The same for the frame of `caller` that has called `callee`. `body` is scratch space. */
uint32_t call_site_find(const clr_info *info, cil_body *body, FunctionID caller, FunctionID callee,
                        const compiled_place *place);

#endif
