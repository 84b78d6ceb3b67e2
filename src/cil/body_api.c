/* body_api: see clarinet/cil.h. The SDK's names for the body, and the way to and from the runtime.
 */
#include "clarinet/cil.h"

#include <string.h>

#include "base/memory.h"
#include "cil/api_error.h"
#include "cil/check.h"
#include "cil/edit.h"
#include "cil/encode.h"
#include "cil/listing.h"
#include "cil/wrap.h"

struct clr_cil {
    cil_body body;
    buffer bytes; /* of the last encoding */
    cil_checker *checker;
};

clr_cil *clr_cil_create(void)
{
    clr_cil *cil = memory_allocate_array(1, sizeof *cil);

    if (cil == NULL)
        return NULL;
    cil_body_init(&cil->body);
    cil_body_clear(&cil->body);
    cil->checker = cil_checker_create();
    if (cil->checker == NULL || cil->body.instructions == NULL) {
        clr_cil_free(cil);
        return NULL;
    }
    return cil;
}

void clr_cil_free(clr_cil *cil)
{
    if (cil == NULL)
        return;
    cil_checker_free(cil->checker);
    buffer_free(&cil->bytes);
    cil_body_free(&cil->body);
    memory_free(cil);
}

void clr_cil_clear(clr_cil *cil)
{
    buffer_clear(&cil->bytes);
    cil_body_clear(&cil->body);
}

HRESULT clr_cil_decode(clr_cil *cil, const void *bytes, size_t length, clr_text *why)
{
    error e;

    return api_result(cil_decode(&cil->body, bytes, length, &e), &e, why);
}

HRESULT clr_cil_encode(clr_cil *cil, unsigned options, const uint8_t **bytes, size_t *length,
                       clr_text *why)
{
    error e;
    HRESULT hr;

    *bytes = NULL;
    *length = 0;
    buffer_clear(&cil->bytes);
    hr = api_result(cil_encode(&cil->body, options, &cil->bytes, &e), &e, why);
    if (hr == S_OK) {
        *bytes = cil->bytes.data;
        *length = cil->bytes.length;
    }
    return hr;
}

size_t clr_cil_offset_map(const clr_cil *cil, cil_map_entry *entries, size_t limit)
{
    return cil_offset_map(&cil->body, entries, limit);
}

uint32_t clr_cil_max_stack(const clr_cil *cil)
{
    return cil->body.max_stack;
}

void clr_cil_set_max_stack(clr_cil *cil, uint32_t depth)
{
    cil->body.max_stack = depth > UINT16_MAX ? UINT16_MAX : (uint16_t)depth;
}

mdToken clr_cil_locals(const clr_cil *cil)
{
    return cil->body.local_signature;
}

void clr_cil_set_locals(clr_cil *cil, mdToken signature)
{
    cil->body.local_signature = signature;
}

cil_at clr_cil_first(const clr_cil *cil)
{
    return cil_first(&cil->body);
}

cil_at clr_cil_last(const clr_cil *cil)
{
    return cil_last(&cil->body);
}

cil_instruction *clr_cil_get(const clr_cil *cil, cil_at at)
{
    return cil_get(&cil->body, at);
}

cil_at clr_cil_at_offset(const clr_cil *cil, uint32_t offset)
{
    return cil_at_offset(&cil->body, offset);
}

cil_at *clr_cil_case(const clr_cil *cil, cil_at at, uint32_t index)
{
    const cil_instruction *i = cil_get(&cil->body, at);

    if (i->opcode != CIL_SWITCH || index >= i->operand.cases.count)
        return NULL;
    return &cil->body.cases[i->operand.cases.first + index];
}

const char *clr_cil_opcode_name(unsigned opcode)
{
    const char *name = cil_opcode_of(opcode)->name;

    return opcode < CIL_OPCODE_LIMIT && name[0] != '\0' ? name : NULL;
}

cil_operand_kind clr_cil_opcode_operand(unsigned opcode)
{
    return (cil_operand_kind)cil_opcode_of(opcode)->operand;
}

cil_at clr_cil_insert(clr_cil *cil, cil_at at, unsigned opcode)
{
    return cil_insert(&cil->body, at, opcode);
}

cil_at clr_cil_insert_number(clr_cil *cil, cil_at at, unsigned opcode, int64_t number)
{
    return cil_insert_number(&cil->body, at, opcode, number);
}

cil_at clr_cil_insert_token(clr_cil *cil, cil_at at, unsigned opcode, mdToken token)
{
    return cil_insert_token(&cil->body, at, opcode, token);
}

cil_at clr_cil_insert_branch(clr_cil *cil, cil_at at, unsigned opcode, cil_at target)
{
    return cil_insert_branch(&cil->body, at, opcode, target);
}

cil_at clr_cil_insert_switch(clr_cil *cil, cil_at at, const cil_at *targets, uint32_t count)
{
    return cil_insert_switch(&cil->body, at, targets, count);
}

cil_at clr_cil_insert_label(clr_cil *cil, cil_at at)
{
    return cil_insert_label(&cil->body, at);
}

cil_at clr_cil_insert_constant(clr_cil *cil, cil_at at, int32_t value)
{
    return cil_insert_constant(&cil->body, at, value);
}

cil_at clr_cil_insert_load_argument(clr_cil *cil, cil_at at, uint32_t number)
{
    return cil_insert_load_argument(&cil->body, at, number);
}

cil_at clr_cil_insert_load_local(clr_cil *cil, cil_at at, uint32_t number)
{
    return cil_insert_load_local(&cil->body, at, number);
}

cil_at clr_cil_insert_store_local(clr_cil *cil, cil_at at, uint32_t number)
{
    return cil_insert_store_local(&cil->body, at, number);
}

void clr_cil_replace(clr_cil *cil, cil_at at, unsigned opcode)
{
    cil_replace(&cil->body, at, opcode);
}

void clr_cil_remove(clr_cil *cil, cil_at at)
{
    cil_remove(&cil->body, at);
}

void clr_cil_redirect(clr_cil *cil, cil_at from, cil_at to)
{
    cil_redirect(&cil->body, from, to);
}

uint32_t clr_cil_clause_count(const clr_cil *cil)
{
    return cil->body.clause_count;
}

const cil_clause *clr_cil_clause(const clr_cil *cil, uint32_t index)
{
    return index < cil->body.clause_count ? &cil->body.clauses[index] : NULL;
}

uint32_t clr_cil_insert_clause(clr_cil *cil, const cil_clause *clause)
{
    return cil_insert_clause(&cil->body, clause);
}

HRESULT clr_cil_wrap(clr_cil *cil, const cil_wrap_options *options, cil_wrap *wrap, clr_text *why)
{
    error e;

    return api_result(cil_wrap_body(&cil->body, options, wrap, &e), &e, why);
}

void clr_cil_insert_probe(clr_cil *cil, cil_at at, int64_t argument, clr_cil_probe *function,
                          mdToken signature)
{
    cil_insert_probe(&cil->body, at, argument, (uint64_t)(uintptr_t)function, signature);
}

/* The checker's question in its own words. */
static bool resolve(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    const clr_cil_method *method = context;
    uint32_t size = 0;

    *bytes = NULL;
    *length = 0;
    if (method->resolve == NULL || !method->resolve(method->context, token, bytes, &size))
        return false;
    *length = size;
    return true;
}

HRESULT clr_cil_check(clr_cil *cil, const clr_cil_method *method, uint32_t *max_stack, cil_at *at,
                      clr_text *why)
{
    cil_resolver resolver = {(void *)(uintptr_t)method, resolve};
    cil_check_method m = {method->signature, method->signature_size, method->locals,
                          method->locals_size, &resolver};
    cil_check_result result = {0, CIL_END};
    error e;
    HRESULT hr = api_result(cil_check(cil->checker, &cil->body, &m, &result, &e), &e, why);

    if (max_stack != NULL)
        *max_stack = hr == S_OK ? result.max_stack : 0;
    if (at != NULL)
        *at = hr == S_OK ? CIL_END : result.at;
    return hr;
}

void clr_cil_list(const clr_cil *cil, const clr_cil_listing *listing, clr_text *out)
{
    cil_listing own = {listing->context, listing->token, NULL, listing->indent,
                       listing->placed != 0};

    cil_list(&cil->body, &own, out);
}
