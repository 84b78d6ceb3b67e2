/* callees: see callees.h. */
#include "symbols/callees.h"

#include "base/text.h"
#include "cil/body.h"

static const struct {
    const char *name; /* with * */
    tables_callee callee;
} CALLEES[] = {
    {"System.String::Concat", TABLES_CALLEE_CONCAT},
    {"System.Linq.*", TABLES_CALLEE_LINQ},
};

static uint32_t callee_of(const assembly *a, uint32_t token)
{
    buffer name = BUFFER_EMPTY;
    uint32_t found = 0;

    assembly_member_name(a, token, &name);
    for (size_t i = 0; i < sizeof CALLEES / sizeof *CALLEES && !buffer_failed(&name); i++)
        if (text_matches(buffer_text(&name), CALLEES[i].name))
            found = UINT32_C(1) << CALLEES[i].callee;
    buffer_free(&name);
    return found;
}

static bool open_body(const assembly *a, uint32_t method_token, cil_body *body)
{
    pe_span span = assembly_body(a, method_token & 0xffffff);

    cil_body_init(body);
    return span.data != NULL && cil_decode(body, span.data, span.length, NULL) == 0;
}

uint32_t callees_find(const assembly *a, uint32_t method_token, uint32_t from, uint32_t to)
{
    uint32_t found = 0;
    cil_body body;

    if (open_body(a, method_token, &body))
        for (cil_at at = cil_first(&body); at != CIL_END; at = cil_get(&body, at)->next) {
            const cil_instruction *i = cil_get(&body, at);

            if (i->offset >= from && i->offset < to &&
                (i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT))
                found |= callee_of(a, i->operand.token);
        }
    cil_body_free(&body);
    return found;
}

/* Where a branch goes to. */
static uint32_t target_of(const cil_body *body, const cil_instruction *i)
{
    return cil_opcode_is_branch(i->opcode) && i->operand.target != CIL_END
               ? cil_get(body, i->operand.target)->offset
               : UINT32_MAX;
}

/* Where the statement's loop goes on. */
static uint32_t offset_in_loop(const cil_body *body, uint32_t from, uint32_t to)
{
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);
        uint32_t target = target_of(body, i);

        if (i->offset >= from && i->offset < to && (i->opcode == CIL_BR || i->opcode == CIL_BR_S) &&
            target >= to && target != UINT32_MAX)
            return target;
    }
    return from;
}

bool callees_find_loop(const assembly *a, uint32_t method_token, uint32_t from, uint32_t to,
                       callees_loop *out)
{
    bool found = false;
    cil_body body;

    if (open_body(a, method_token, &body)) {
        out->at = offset_in_loop(&body, from, to);
        for (cil_at at = cil_first(&body); at != CIL_END; at = cil_get(&body, at)->next) {
            const cil_instruction *i = cil_get(&body, at);
            uint32_t back = target_of(&body, i);

            if (i->offset < out->at || back > out->at ||
                (found && i->offset - back >= out->branch - out->from))
                continue;
            out->from = back;
            out->branch = i->offset;
            found = true;
        }
    }
    cil_body_free(&body);
    return found;
}
