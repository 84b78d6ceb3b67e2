/* gates: see gates.h. */
#include "symbols/gates.h"

#include <string.h>

#include "base/text.h"
#include "cil/body.h"

typedef enum { CALL_OTHER, CALL_WAITS, CALL_RELEASES } call_kind;

static const struct {
    const char *name;
    call_kind kind;
} CALLS[] = {
    {"System.Threading.SemaphoreSlim::Wait", CALL_WAITS},
    {"System.Threading.SemaphoreSlim::WaitAsync", CALL_WAITS},
    {"System.Threading.WaitHandle::WaitOne", CALL_WAITS},
    {"System.Threading.SemaphoreSlim::Release", CALL_RELEASES},
    {"System.Threading.Mutex::ReleaseMutex", CALL_RELEASES},
};

static call_kind kind_of_call(const assembly *a, uint32_t token)
{
    buffer name = BUFFER_EMPTY;
    call_kind kind = CALL_OTHER;

    assembly_member_name(a, token, &name);
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS && !buffer_failed(&name); i++)
        if (text_equal(buffer_text(&name), CALLS[i].name))
            kind = CALLS[i].kind;
    buffer_free(&name);
    return kind;
}

static bool is_gate(const assembly *a, uint32_t field)
{
    buffer text = BUFFER_EMPTY;
    bool is;

    assembly_token_text(a, field, &text);
    is = !buffer_failed(&text) &&
         (strstr(buffer_text(&text), "System.Threading.SemaphoreSlim ") != NULL ||
          strstr(buffer_text(&text), "System.Threading.Mutex ") != NULL);
    buffer_free(&text);
    return is;
}

static size_t forget(gates_gate *gates, size_t count, uint32_t field)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (gates[i].field != field)
            gates[kept++] = gates[i];
    return kept;
}

static size_t read_code(const assembly *a, const cil_body *body, uint32_t il_offset,
                        gates_gate *out, size_t most)
{
    uint32_t field = 0; /* that was loaded last */
    size_t count = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);
        bool is_here = i->offset >= il_offset;
        call_kind kind;

        if (i->opcode == CIL_LDSFLD && is_gate(a, i->operand.token))
            field = i->operand.token;
        if (i->opcode != CIL_CALL && i->opcode != CIL_CALLVIRT)
            continue;
        kind = field == 0 ? CALL_OTHER : kind_of_call(a, i->operand.token);
        if (kind != CALL_OTHER && !is_here)
            count = forget(out, count, field);
        if (kind == CALL_WAITS && count < most)
            out[count++] = (gates_gate){field, !is_here};
        if (kind != CALL_OTHER)
            field = 0;
        if (is_here)
            return count;
    }
    return 0;
}

size_t gates_find(const assembly *a, uint32_t method_token, uint32_t il_offset, gates_gate *out,
                  size_t most)
{
    pe_span span = assembly_body(a, method_token & 0xffffff);
    cil_body body;
    size_t count = 0;

    cil_body_init(&body);
    if (span.data != NULL && cil_decode(&body, span.data, span.length, NULL) == 0)
        count = read_code(a, &body, il_offset, out, most);
    cil_body_free(&body);
    return count;
}
