/*
 * template: the code that is put around a method so that it reports to the managed agent.
 *
 *   t = null; e = null
 *   try { t = <ask the agent for a delegate, with eleven facts> } catch { }
 *   try { the method } catch (Exception) { e = …; tell t, swallowing what it throws; rethrow }
 *   tell t the result, swallowing what it throws
 *   return
 *
 * That is the reference's form. The cached one catches only while there is little on the stack
 * above the method (`is_shallow` is asked, in a filter) and enough is left of it (the runtime is
 * asked): a handler keeps its part of the stack until the last one around it is done, so that an
 * exception which leaves a thousand instrumented calls, or ten on a small stack, would overflow it.
 * Beyond that the exception goes its way, and the agent is told in passing:
 *
 *   try { try { the method } catch when (e = …; shallow && room) { tell; t = null; rethrow } }
 *   fault { if e and t: tell t, swallowing what it throws }
 *
 * Two forms of the first try, with the same calls seen by the agent: `reference` finds the agent by
 * reflection at every call; `cached` does that once per process and keeps a delegate behind a
 * GCHandle whose number stands in memory of ours.
 *
 * Pure: tokens come through an interface, so that bodies can be built and compared without a
 * runtime.
 */
#ifndef CLARINET_INSTRUMENTATION_TEMPLATE_H
#define CLARINET_INSTRUMENTATION_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cil/body.h"
#include "cil/signature.h"

/* Where tokens come from; each answers 0 when it can't. */
typedef struct {
    void *context;
    uint32_t (*core_type)(void *context, const char *full_name);
    uint32_t (*member)(void *context, uint32_t parent, const char *name, const uint8_t *signature,
                       size_t size);
    uint32_t (*type_spec)(void *context, const uint8_t *signature, size_t size);
    uint32_t (*signature)(void *context, const uint8_t *signature, size_t size);
    uint32_t (*string)(void *context, const char *text);
} template_tokens;

typedef struct {
    const char *agent_path;
    const char *shim_type; /* NULL = the managed agent's */
    const char *factory;
    uint32_t arguments;
    const char *metric;
    const char *assembly;
    uint32_t type_token; /* TypeDef of the declaring type */
    const char *type_name;
    const char *method;
    const char *parameters;
    uint64_t function_id;
    const cil_signature *signature; /* of the method */
    const uint8_t *locals;          /* its local signature, NULL when it has none */
    size_t locals_length;
    bool can_box_result;
    const bool *can_box; /* per parameter */
    bool reference_form;
    /* cached form */
    uint64_t slot;       /* address of the word that holds the delegate's handle */
    uint64_t is_shallow; /* of a C function: gets an address in the method's frame; 1 = catch */
} template_facts;

/* Rewrites the decoded body in place; cil_encode with CIL_ENCODE_FAT makes the bytes.
 * ERROR_UNSUPPORTED: the method is left as it was, and the message says why. */
int template_apply(cil_body *body, const template_facts *facts, const template_tokens *tokens,
                   error *e);

/* The same for a method of the agent's API: it asks the managed agent and is itself what runs when
 * there is none. Of the facts, agent_path, method, signature, locals and the boxes are used. */
int template_apply_api(cil_body *body, const template_facts *facts, const template_tokens *tokens,
                       error *e);

#endif
