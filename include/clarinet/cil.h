/*
 * cil: the body of a method: read, changed by instructions and labels, checked, written, listed.
 *
 * Branches, switch cases and exception clauses name instructions, never offsets, so they follow
 * every change. An instruction is named by a cil_at, which stays the same while the body lives;
 * CIL_END is the place after the last one. Code inserted before an instruction is run by who falls
 * into it, not by who jumps to it, until clr_cil_redirect says so.
 *
 *     clr_cil_read_method(cil, info, module, method, why);
 *     clr_cil_insert_probe(cil, clr_cil_first(cil), (int64_t)&counters, on_call, signature);
 *     clr_cil_write_method(cil, info, module, method, why);
 *
 * Functions that can fail answer S_OK, or a failure with the reason in `why` (a clr_text, or NULL):
 * COR_E_BADIMAGEFORMAT for bytes that are no body, E_NOTIMPL for what a method has that cannot be
 * changed so, E_OUTOFMEMORY, or what the runtime said. Inserting never fails loudly: without memory
 * the place is CIL_END, and encoding says so.
 * Thread rules: a clr_cil belongs to one thread at a time; two of them have nothing in common.
 */
#ifndef CLARINET_CIL_H
#define CLARINET_CIL_H

#include "clarinet/cil_types.h"
#include "clarinet/emit.h"
#include "clarinet/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clr_cil clr_cil;

/* An empty body (NULL without memory), and its end; free accepts NULL. One object serves any number
 * of methods after each other and keeps its memory. */
clr_cil *clr_cil_create(void);
void clr_cil_free(clr_cil *cil);
void clr_cil_clear(clr_cil *cil);

/* From bytes: header, code and exception sections at `bytes`, of which at most `length` are read.
 */
HRESULT clr_cil_decode(clr_cil *cil, const void *bytes, size_t length, clr_text *why);
/* To bytes, which stay until the next clr_cil_encode, _clear or _free. An untouched body gives the
 * bytes it came from. `options`: CIL_ENCODE_…, or 0. Sets `placed` of every instruction. */
HRESULT clr_cil_encode(clr_cil *cil, unsigned options, const uint8_t **bytes, size_t *length,
                       clr_text *why);
/* After encoding: the old and new offset of every instruction that was there before; writes up to
 * `limit` and answers how many there are. */
size_t clr_cil_offset_map(const clr_cil *cil, cil_map_entry *entries, size_t limit);

/* The header. Locals are a StandAloneSig token or 0. */
uint32_t clr_cil_max_stack(const clr_cil *cil);
void clr_cil_set_max_stack(clr_cil *cil, uint32_t depth);
mdToken clr_cil_locals(const clr_cil *cil);
void clr_cil_set_locals(clr_cil *cil, mdToken signature);

/* The code. `get` accepts every place that this body has handed out, also CIL_END: its next is the
 * first instruction, its previous the last. Pointers hold until the next insertion. */
cil_at clr_cil_first(const clr_cil *cil);
cil_at clr_cil_last(const clr_cil *cil);
cil_instruction *clr_cil_get(const clr_cil *cil, cil_at at);
/* The instruction that started at an offset of the original code; CIL_END when none did. */
cil_at clr_cil_at_offset(const clr_cil *cil, uint32_t offset);
/* Where case `index` of a switch goes, to be read or changed; NULL when there is none. */
cil_at *clr_cil_case(const clr_cil *cil, cil_at at, uint32_t index);
/* "ldarg.0"; NULL when there is no such instruction. And what kind of operand it has. */
const char *clr_cil_opcode_name(unsigned opcode);
cil_operand_kind clr_cil_opcode_operand(unsigned opcode);

/* Inserts before `at` (CIL_END: at the end of the code) and answers the new instruction. */
cil_at clr_cil_insert(clr_cil *cil, cil_at at, unsigned opcode);
cil_at clr_cil_insert_number(clr_cil *cil, cil_at at, unsigned opcode, int64_t number);
cil_at clr_cil_insert_token(clr_cil *cil, cil_at at, unsigned opcode, mdToken token);
cil_at clr_cil_insert_branch(clr_cil *cil, cil_at at, unsigned opcode, cil_at target);
cil_at clr_cil_insert_switch(clr_cil *cil, cil_at at, const cil_at *targets, uint32_t count);
/* A place to branch to that takes no bytes. */
cil_at clr_cil_insert_label(clr_cil *cil, cil_at at);
/* The shortest form by number. */
cil_at clr_cil_insert_constant(clr_cil *cil, cil_at at, int32_t value);
cil_at clr_cil_insert_load_argument(clr_cil *cil, cil_at at, uint32_t number);
cil_at clr_cil_insert_load_local(clr_cil *cil, cil_at at, uint32_t number);
cil_at clr_cil_insert_store_local(clr_cil *cil, cil_at at, uint32_t number);

/* Makes another instruction of it, to which everybody still branches; set the operand after. */
void clr_cil_replace(clr_cil *cil, cil_at at, unsigned opcode);
/* Takes it out: branches and clauses that named it name the next one. */
void clr_cil_remove(clr_cil *cil, cil_at at);
/* Branches and cases that go to `from` go to `to`; clauses stay. */
void clr_cil_redirect(clr_cil *cil, cil_at from, cil_at to);

/* Exception clauses, innermost first. Inserting finds the right place and answers it; UINT32_MAX
 * without memory. */
uint32_t clr_cil_clause_count(const clr_cil *cil);
const cil_clause *clr_cil_clause(const clr_cil *cil, uint32_t index);
uint32_t clr_cil_insert_clause(clr_cil *cil, const cil_clause *clause);

/* Puts everything into a try with one way out; *wrap tells the places to insert before. Refused
 * with E_NOTIMPL, and the body untouched, when the method has `jmp`, or `tail.` that may not be
 * dropped. A result needs a local of its type: clr_signature_append_locals. */
HRESULT clr_cil_wrap(clr_cil *cil, const cil_wrap_options *options, cil_wrap *wrap, clr_text *why);

/* A call of a C function before `at`. `signature` comes from clr_cil_probe_signature with count 1.
 * The function runs without a change of the thread's mode: it must be short, and neither block nor
 * call the runtime. */
typedef void clr_cil_probe(int64_t argument);
void clr_cil_insert_probe(clr_cil *cil, cil_at at, int64_t argument, clr_cil_probe *function,
                          mdToken signature);
/* The StandAloneSig of such a function with `count` arguments (up to 127) of int64 and no result,
 * made once a module; 0 when it cannot be, see clr_emitter_result. */
mdToken clr_cil_probe_signature(clr_emitter *emitter, uint32_t count);

/* What the checker has to know of the method. `resolve` hands out the signature behind a token and
 * answers 0 when there is none; the bytes stay until it is called again. */
typedef struct {
    const uint8_t *signature;
    size_t signature_size;
    const uint8_t *locals; /* NULL: none */
    size_t locals_size;
    int (*resolve)(void *context, mdToken token, const uint8_t **bytes, uint32_t *size);
    void *context;
} clr_cil_method;
/* Can the runtime compile it? Follows every path. Refused with "IL_0010 ret: …" as the reason, the
 * instruction in *at; otherwise the deepest stack in *max_stack. Both may be NULL. */
HRESULT clr_cil_check(clr_cil *cil, const clr_cil_method *method, uint32_t *max_stack, cil_at *at,
                      clr_text *why);

/* As text, an instruction a line. `token` appends what a token means (NULL: numbers); offsets are
 * those of the original, or with `placed` of the encoded body. */
typedef struct {
    void (*token)(void *context, mdToken token, clr_text *out);
    void *context;
    unsigned indent;
    int placed;
} clr_cil_listing;
void clr_cil_list(const clr_cil *cil, const clr_cil_listing *listing, clr_text *out);

/*
 * With the runtime. Reading gives the method's body as it is now. Writing checks it, raises the
 * stack where that is needed, and hands it over:
 *   write_method   for a method that was not compiled yet (in module_load_finished, or the first
 *                  jit_compilation_started); precompiled code is used all the same if there is some
 *   write_rejit    in get_rejit_parameters, with the map that keeps lines in stack traces
 */
HRESULT clr_cil_read_method(clr_cil *cil, const clr_info *info, ModuleID module, mdMethodDef method,
                            clr_text *why);
HRESULT clr_cil_write_method(clr_cil *cil, const clr_info *info, ModuleID module,
                             mdMethodDef method, clr_text *why);
HRESULT clr_cil_write_rejit(clr_cil *cil, const clr_info *info, ModuleID module, mdMethodDef method,
                            ICorProfilerFunctionControl *control, clr_text *why);

#ifdef __cplusplus
}
#endif

#endif
