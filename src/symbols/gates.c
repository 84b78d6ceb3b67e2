/* gates: see gates.h. */
#include "symbols/gates.h"

#include <string.h>

#include "base/text.h"
#include "cil/body.h"
#include "cil/opcode.h"

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

/* Calls that wait for somebody: for ever, unless they are told how long. */
static const char *const WAITING[] = {
    "System.Threading.Monitor::Enter",
    "System.Threading.Lock::Enter",
    "System.Threading.Lock::EnterScope",
    "System.Threading.ReaderWriterLockSlim::EnterReadLock",
    "System.Threading.ReaderWriterLockSlim::EnterWriteLock",
    "System.Threading.ReaderWriterLockSlim::EnterUpgradeableReadLock",
    "System.Threading.Monitor::TryEnter",
    "System.Threading.Lock::TryEnter",
    "System.Threading.ReaderWriterLockSlim::TryEnterReadLock",
    "System.Threading.ReaderWriterLockSlim::TryEnterWriteLock",
    "System.Threading.ReaderWriterLockSlim::TryEnterUpgradeableReadLock",
    "System.Threading.ReaderWriterLock::AcquireReaderLock",
    "System.Threading.ReaderWriterLock::AcquireWriterLock",
    "System.Threading.ReaderWriterLock::UpgradeToWriterLock",
    "System.Threading.Thread::Join",
    "System.Threading.SemaphoreSlim::Wait",
    "System.Threading.WaitHandle::WaitOne",
    "System.Threading.Tasks.Task::Wait",
    "System.Threading.Tasks.Task::WaitAll",
    "System.Threading.Tasks.Task*::get_Result",
    "System.Runtime.CompilerServices.*Await*::GetResult",
};

static bool is_waiting_call(const assembly *a, uint32_t token)
{
    buffer name = BUFFER_EMPTY;
    bool is = false;

    assembly_member_name(a, token, &name);
    for (size_t i = 0; i < sizeof WAITING / sizeof *WAITING && !buffer_failed(&name); i++)
        is = is || text_matches(buffer_text(&name), WAITING[i]);
    buffer_free(&name);
    return is;
}

/* How long a call waits, by its parameters. One that a token may end is not known. */
static bool limit_of_call(const assembly *a, uint32_t token, bool is_told_for_ever,
                          tables_gate *limit)
{
    buffer text = BUFFER_EMPTY;
    const char *parameters = NULL;
    bool is_known;

    if (!is_waiting_call(a, token))
        return false;
    assembly_token_text(a, token, &text);
    if (!buffer_failed(&text) && (parameters = strstr(buffer_text(&text), "::")) != NULL)
        parameters = strchr(parameters, '(');
    is_known = parameters != NULL && strstr(parameters, "CancellationToken") == NULL;
    if (is_known)
        *limit = !is_told_for_ever && (strstr(parameters, "int") != NULL ||
                                       strstr(parameters, "TimeSpan") != NULL)
                     ? TABLES_GATE_LIMITED
                     : TABLES_GATE_ENDLESS;
    buffer_free(&text);
    return is_known;
}

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
    uint32_t field = 0;     /* that was loaded last */
    bool of_object = false; /* it is not static */
    size_t count = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);
        bool is_here = i->offset >= il_offset;
        call_kind kind;

        if ((i->opcode == CIL_LDSFLD || i->opcode == CIL_LDFLD) && is_gate(a, i->operand.token)) {
            field = i->operand.token;
            of_object = i->opcode == CIL_LDFLD;
        }
        if (i->opcode != CIL_CALL && i->opcode != CIL_CALLVIRT)
            continue;
        kind = field == 0 ? CALL_OTHER : kind_of_call(a, i->operand.token);
        if (kind != CALL_OTHER && !is_here)
            count = forget(out, count, field);
        if (kind == CALL_WAITS && count < most)
            out[count++] = (gates_gate){
                field, of_object ? (is_here ? TABLES_GATE_WAITED_OF : TABLES_GATE_HELD_OF)
                                 : (is_here ? TABLES_GATE_WAITED : TABLES_GATE_HELD)};
        if (kind != CALL_OTHER)
            field = 0;
        if (is_here)
            return count;
    }
    return 0;
}

static bool ends_statement(const cil_instruction *i)
{
    const cil_opcode_info *info = cil_opcode_of(i->opcode);

    return info->flow > CIL_FLOW_CALL || (info->pops[0] != '\0' && info->pushes[0] == '\0');
}

static bool gives_nothing(const assembly *a, uint32_t call)
{
    buffer text = BUFFER_EMPTY;
    bool is;

    assembly_token_text(a, call, &text);
    is = buffer_failed(&text) || text_starts_with(buffer_text(&text), "void ") ||
         text_starts_with(buffer_text(&text), "instance void ");
    buffer_free(&text);
    return is;
}

/* How long the waiting call of the statement at `il_offset` waits. Lines are known by statement:
 * the calls that make what is waited for, as in `Load().Wait(50)`, come first. */
static bool read_limit(const assembly *a, const cil_body *body, uint32_t il_offset,
                       tables_gate *limit)
{
    bool is_told_for_ever = false; /* -1 was loaded last: Timeout.Infinite */

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);
        bool is_here = i->offset >= il_offset; /* at the statement, or at the call itself */

        if (is_here && (i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT)) {
            if (limit_of_call(a, i->operand.token, is_told_for_ever, limit))
                return true;
            if (gives_nothing(a, i->operand.token))
                return false;
        } else if (is_here && ends_statement(i)) {
            return false;
        }
        is_told_for_ever = i->opcode == CIL_LDC_I4_M1;
    }
    return false;
}

size_t gates_find(const assembly *a, uint32_t method_token, uint32_t il_offset, gates_gate *out,
                  size_t most)
{
    pe_span span = assembly_body(a, method_token & 0xffffff);
    cil_body body;
    size_t count = 0;
    tables_gate limit;

    cil_body_init(&body);
    if (span.data != NULL && cil_decode(&body, span.data, span.length, NULL) == 0)
        count = read_code(a, &body, il_offset, out, most);
    if (count < most && read_limit(a, &body, il_offset, &limit))
        out[count++] = (gates_gate){0, limit};
    cil_body_free(&body);
    return count;
}
