/*
 * emit: tokens for rewritten code. Finds or makes references and signatures in a module's metadata,
 * each once: what the module has already is used, what was made is remembered.
 *
 * Thread rules: any thread. The lock guards our tables only, is never held across a call into the
 * runtime and never waited for; two threads may then make the same row, which is harmless.
 * Every function answers 0 (the nil token) when it fails; clr_emitter_result tells the last reason.
 */
#ifndef CLARINET_EMIT_H
#define CLARINET_EMIT_H

#include <stddef.h>
#include <stdint.h>

#include "clarinet/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clr_emitter clr_emitter;

HRESULT clr_emitter_open(const clr_info *info, ModuleID module, clr_emitter **emitter);
void clr_emitter_free(clr_emitter *emitter);
HRESULT clr_emitter_result(const clr_emitter *emitter);

/* The module's reference to an assembly of this simple name, or a new one of version 0.0.0.0
 * without a key, which binds to what is loaded. */
mdToken clr_emitter_assembly(clr_emitter *e, const char *name);
/* A type of the core library, by full name, through System.Runtime (or what the module itself uses
 * for it). */
mdToken clr_emitter_core_type(clr_emitter *e, const char *full_name);
mdToken clr_emitter_type(clr_emitter *e, mdToken scope, const char *full_name);
mdToken clr_emitter_member(clr_emitter *e, mdToken parent, const char *name,
                           const uint8_t *signature, size_t size);
mdToken clr_emitter_type_spec(clr_emitter *e, const uint8_t *signature, size_t size);
mdToken clr_emitter_method_spec(clr_emitter *e, mdToken method, const uint8_t *signature,
                                size_t size);
/* A StandAloneSig: locals, or the signature of a calli. */
mdToken clr_emitter_signature(clr_emitter *e, const uint8_t *signature, size_t size);
mdToken clr_emitter_string(clr_emitter *e, const char *text);

IMetaDataImport2 *clr_emitter_import(clr_emitter *e);

#ifdef __cplusplus
}
#endif

#endif
