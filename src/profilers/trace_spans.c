/* trace_spans: see trace_spans.h. */
#include "profilers/trace_spans.h"

#include <string.h>

#include "agent/agent.h"
#include "base/os.h"
#include "cil/compressed.h"
#include "cil/edit.h"
#include "cil/signature.h"
#include "clarinet/lookup.h"
#include "profilers/trace_clock.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_memory.h"

#define CORE "System.Private.CoreLib"

enum { NORMAL_HANDLE = 2, HAS_THIS = 0x20, LOOKS = 16, LEAST_MS = 50 };
/* Locals of a rewritten method, from its first_local on. */
enum { AROUND, OWN, START, BEFORE, WITHIN };

/* ---- the probes ---- */

static void report(const trace_method *m, trace_span_part part, int64_t id, int64_t parent,
                   uint64_t start, uint64_t end, bool failed, uint16_t exception)
{
    ring *r = m->counters->span_ring;
    trace_span *s = r == NULL ? NULL : ring_reserve(r, sizeof *s);

    if (s == NULL)
        return;
    *s = (trace_span){(uint64_t)id,     start,    end,
                      (uint32_t)parent, m->owner, trace_memory_thread_number(),
                      (uint8_t)part,    failed,   exception};
    ring_commit(r, s, sizeof *s, 1, sizeof *s);
    if (failed) /* the program may die of it the next moment */
        agent_tell_news(m->counters->wake_context);
}

/* A new span inside `parent`; without a session the span around stays the current one. */
static void span_enter(const trace_method *m, int64_t parent, int64_t *id, int64_t *start)
{
    trace_counters *c = m->counters;
    uint64_t number;

    *id = parent;
    *start = 0;
    if (!atomic_load_explicit(&c->active, memory_order_acquire))
        return;
    do
        number = atomic_fetch_add_explicit(&c->last_span, 1, memory_order_relaxed) & UINT32_MAX;
    while (number == 0);
    *id = (int64_t)(parent == 0 ? number << 32 | number
                                : ((uint64_t)parent & ~(uint64_t)UINT32_MAX) | number);
    *start = (int64_t)trace_clock_ticks(c->counter);
}

static void span_begin(const trace_method *m, int64_t parent, int64_t *id, int64_t *start)
{
    span_enter(m, parent, id, start);
    if (*start != 0)
        report(m, TRACE_SPAN_BEGIN, *id, parent, (uint64_t)*start, 0, false, 0);
}

static void span_leave(const trace_method *m, int64_t id, int64_t parent, int64_t start)
{
    if (start != 0)
        report(m, TRACE_SPAN_WHOLE, id, parent, (uint64_t)start,
               trace_clock_ticks(m->counters->counter), false, 0);
}

static void span_fail(const trace_method *m, int64_t id, int64_t parent, int64_t start)
{
    if (start != 0)
        report(m, TRACE_SPAN_WHOLE, id, parent, (uint64_t)start,
               trace_clock_ticks(m->counters->counter), true,
               trace_exceptions_number(m->counters, false));
}

/* An async method completes: its span is the current one of its steps. */
static void span_complete(const trace_method *m, int64_t id, int64_t failed)
{
    if (id != 0)
        report(m, TRACE_SPAN_END, id, 0, 0, trace_clock_ticks(m->counters->counter), failed != 0,
               failed != 0 ? trace_exceptions_number(m->counters, true) : 0);
}

/* Two threads may come at once: the first one's counts, the other's handle is never used. */
static void span_publish(trace_counters *c, int64_t handle)
{
    intptr_t none = 0;

    atomic_compare_exchange_strong(&c->span_local, &none, (intptr_t)handle);
}

/* ---- their clock ---- */

/* Both clocks at one moment: of several looks the one that nothing came between. */
static void look(const trace_counters *c, uint64_t *ticks, uint64_t *ns)
{
    uint64_t least = UINT64_MAX;

    for (int n = 0; n < LOOKS; n++) {
        uint64_t before = os_monotonic_ns();
        uint64_t now = trace_clock_ticks(c->counter);
        uint64_t after = os_monotonic_ns();

        if (after - before < least) {
            least = after - before;
            *ticks = now;
            *ns = before + (after - before) / 2;
        }
    }
}

void trace_span_clock_start(trace_span_clock *k, const trace_counters *c)
{
    k->tick_ns = 0;
    look(c, &k->ticks, &k->ns);
}

void trace_span_clock_settle(trace_span_clock *k, const trace_counters *c)
{
    uint64_t passed = os_monotonic_ns() - k->ns;
    uint64_t then = 0;
    uint64_t ns = 0;

    if (k->tick_ns != 0)
        return;
    if (passed < LEAST_MS * (uint64_t)1000000) /* far enough that the line is exact */
        os_sleep_ms(LEAST_MS - (unsigned)(passed / 1000000));
    look(c, &then, &ns);
    k->tick_ns = then > k->ticks ? (double)(ns - k->ns) / (double)(then - k->ticks) : 1;
}

/* ---- the code around them ---- */

typedef struct {
    cil_body *body;
    const trace_spans_code *code;
    mdToken constructor, get_value, set_value; /* of AsyncLocal<long> */
    mdToken allocate, to_pointer;              /* of GCHandle */
    mdToken capture, restore;                  /* of ExecutionContext */
} inserting;

mdToken trace_core_type(clr_emitter *emitter, const char *name)
{
    mdTypeDef type = 0;

    /* In the core library itself the type is at hand; elsewhere it is referred to. */
    if (clr_find_type(clr_emitter_import(emitter), name, 0, &type) == S_OK && type != 0)
        return type;
    return clr_emitter_type(emitter, clr_emitter_assembly(emitter, CORE), name);
}

static bool find_async_local(inserting *i)
{
    static const uint8_t CONSTRUCTOR[] = {HAS_THIS, 0, CIL_TYPE_VOID};
    static const uint8_t GETTER[] = {HAS_THIS, 0, CIL_TYPE_VARIABLE, 0};
    static const uint8_t SETTER[] = {HAS_THIS, 1, CIL_TYPE_VOID, CIL_TYPE_VARIABLE, 0};
    clr_emitter *emitter = i->code->module->emitter;
    buffer signature = BUFFER_EMPTY;
    mdToken type = trace_core_type(emitter, "System.Threading.AsyncLocal`1");
    mdToken local = 0;

    buffer_append_u8(&signature, CIL_TYPE_GENERIC);
    buffer_append_u8(&signature, CIL_TYPE_CLASS);
    cil_append_compressed_token(&signature, type);
    cil_append_compressed(&signature, 1);
    buffer_append_u8(&signature, CIL_TYPE_I8);
    if (type != 0 && !buffer_failed(&signature))
        local = clr_emitter_type_spec(emitter, signature.data, signature.length);
    buffer_free(&signature);
    if (local == 0)
        return false;
    i->constructor = clr_emitter_member(emitter, local, ".ctor", CONSTRUCTOR, sizeof CONSTRUCTOR);
    i->get_value = clr_emitter_member(emitter, local, "get_Value", GETTER, sizeof GETTER);
    i->set_value = clr_emitter_member(emitter, local, "set_Value", SETTER, sizeof SETTER);
    return i->constructor != 0 && i->get_value != 0 && i->set_value != 0;
}

static bool find_handle(inserting *i)
{
    clr_emitter *emitter = i->code->module->emitter;
    buffer signature = BUFFER_EMPTY;
    mdToken handle = trace_core_type(emitter, "System.Runtime.InteropServices.GCHandle");
    mdToken kind = trace_core_type(emitter, "System.Runtime.InteropServices.GCHandleType");

    if (handle == 0 || kind == 0)
        return false;
    buffer_append_u8(&signature, 0);
    buffer_append_u8(&signature, 2);
    buffer_append_u8(&signature, CIL_TYPE_VALUETYPE);
    cil_append_compressed_token(&signature, handle);
    buffer_append_u8(&signature, CIL_TYPE_OBJECT);
    buffer_append_u8(&signature, CIL_TYPE_VALUETYPE);
    cil_append_compressed_token(&signature, kind);
    if (!buffer_failed(&signature))
        i->allocate =
            clr_emitter_member(emitter, handle, "Alloc", signature.data, signature.length);
    buffer_clear(&signature);
    buffer_append_u8(&signature, 0);
    buffer_append_u8(&signature, 1);
    buffer_append_u8(&signature, CIL_TYPE_INT_PTR);
    buffer_append_u8(&signature, CIL_TYPE_VALUETYPE);
    cil_append_compressed_token(&signature, handle);
    if (!buffer_failed(&signature))
        i->to_pointer =
            clr_emitter_member(emitter, handle, "ToIntPtr", signature.data, signature.length);
    buffer_free(&signature);
    return i->allocate != 0 && i->to_pointer != 0;
}

static bool find_context(inserting *i)
{
    clr_emitter *emitter = i->code->module->emitter;
    buffer signature = BUFFER_EMPTY;
    mdToken type = trace_core_type(emitter, "System.Threading.ExecutionContext");

    if (type == 0)
        return false;
    buffer_append_u8(&signature, 0);
    buffer_append_u8(&signature, 0);
    buffer_append_u8(&signature, CIL_TYPE_CLASS);
    cil_append_compressed_token(&signature, type);
    if (!buffer_failed(&signature))
        i->capture = clr_emitter_member(emitter, type, "Capture", signature.data, signature.length);
    buffer_clear(&signature);
    buffer_append_u8(&signature, 0);
    buffer_append_u8(&signature, 1);
    buffer_append_u8(&signature, CIL_TYPE_VOID);
    buffer_append_u8(&signature, CIL_TYPE_CLASS);
    cil_append_compressed_token(&signature, type);
    if (!buffer_failed(&signature))
        i->restore = clr_emitter_member(emitter, type, "Restore", signature.data, signature.length);
    buffer_free(&signature);
    return i->capture != 0 && i->restore != 0;
}

static void push_number(inserting *i, cil_at at, int64_t number)
{
    cil_insert_number(i->body, at, CIL_LDC_I8, number);
}

static void push_method(inserting *i, cil_at at)
{
    push_number(i, at, (int64_t)(intptr_t)i->code->method);
}

static void push_local_address(inserting *i, cil_at at, uint32_t which)
{
    cil_insert_number(i->body, at, CIL_LDLOCA, i->code->first_local + which);
    cil_insert(i->body, at, CIL_CONV_U);
    cil_insert(i->body, at, CIL_CONV_U8);
}

static void pop_local(inserting *i, cil_at at, uint32_t which)
{
    cil_insert_store_local(i->body, at, i->code->first_local + which);
}

static void push_local(inserting *i, cil_at at, uint32_t which)
{
    cil_insert_load_local(i->body, at, i->code->first_local + which);
}

static void call_probe(inserting *i, cil_at at, const void *function, mdToken signature)
{
    push_number(i, at, (int64_t)(intptr_t)function);
    cil_insert(i->body, at, CIL_CONV_I);
    cil_insert_token(i->body, at, CIL_CALLI, signature);
}

/* The handle's slot holds the object: what GCHandle.Target does. */
static void push_async_local(inserting *i, cil_at at)
{
    push_number(i, at, (int64_t)(intptr_t)&i->code->method->counters->span_local);
    cil_insert(i->body, at, CIL_CONV_I);
    cil_insert(i->body, at, CIL_LDIND_I);
    cil_insert(i->body, at, CIL_LDIND_REF);
}

static void insert_first_use(inserting *i, cil_at at)
{
    const trace_counters *c = i->code->method->counters;
    cil_at there = cil_insert_label(i->body, at);

    push_number(i, there, (int64_t)(intptr_t)&c->span_local);
    cil_insert(i->body, there, CIL_CONV_I);
    cil_insert(i->body, there, CIL_LDIND_I);
    cil_insert_branch(i->body, there, CIL_BRTRUE, there);
    push_number(i, there, (int64_t)(intptr_t)c);
    cil_insert_token(i->body, there, CIL_NEWOBJ, i->constructor);
    cil_insert_constant(i->body, there, NORMAL_HANDLE);
    cil_insert_token(i->body, there, CIL_CALL, i->allocate);
    cil_insert_token(i->body, there, CIL_CALL, i->to_pointer);
    cil_insert(i->body, there, CIL_CONV_I8);
    call_probe(i, there, (const void *)(uintptr_t)span_publish, i->code->module->step_signature);
}

static void insert_enter(inserting *i, cil_at at)
{
    const trace_spans_code *code = i->code;

    insert_first_use(i, at);
    push_async_local(i, at);
    cil_insert_token(i->body, at, CIL_CALL, i->get_value);
    if (code->is_step) { /* of the call whose step this is */
        pop_local(i, at, OWN);
        return;
    }
    pop_local(i, at, AROUND);
    push_method(i, at);
    push_local(i, at, AROUND);
    push_local_address(i, at, OWN);
    push_local_address(i, at, START);
    call_probe(i, at, (const void *)(uintptr_t)(code->is_async ? span_begin : span_enter),
               code->module->span_signature);
    cil_insert_token(i->body, at, CIL_CALL, i->capture);
    pop_local(i, at, BEFORE);
    push_async_local(i, at);
    push_local(i, at, OWN);
    cil_insert_token(i->body, at, CIL_CALL, i->set_value);
    cil_insert_token(i->body, at, CIL_CALL, i->capture);
    pop_local(i, at, WITHIN);
}

/* A context is null where the program has suppressed the flow: that cannot be put back. */
static void insert_put_back(inserting *i, cil_at at)
{
    cil_at done = cil_insert_label(i->body, at);
    cil_at changed = cil_insert_label(i->body, done);

    push_local(i, changed, BEFORE);
    cil_insert_branch(i->body, changed, CIL_BRFALSE, changed);
    push_local(i, changed, WITHIN);
    cil_insert_branch(i->body, changed, CIL_BRFALSE, changed);
    cil_insert_token(i->body, changed, CIL_CALL, i->capture);
    push_local(i, changed, WITHIN);
    cil_insert_branch(i->body, changed, CIL_BNE_UN, changed);
    push_local(i, changed, BEFORE);
    cil_insert_token(i->body, changed, CIL_CALL, i->restore);
    cil_insert_branch(i->body, changed, CIL_BR, done);
    push_async_local(i, done);
    push_local(i, done, AROUND);
    cil_insert_token(i->body, done, CIL_CALL, i->set_value);
}

static void insert_end(inserting *i, cil_at at, const void *function)
{
    if (function != NULL) {
        push_method(i, at);
        push_local(i, at, OWN);
        push_local(i, at, AROUND);
        push_local(i, at, START);
        call_probe(i, at, function, i->code->module->span_signature);
    }
    insert_put_back(i, at);
}

uint32_t trace_spans_locals(buffer *types)
{
    buffer_append_fill(types, CIL_TYPE_I8, BEFORE);
    buffer_append_fill(types, CIL_TYPE_OBJECT, WITHIN + 1 - BEFORE);
    return WITHIN + 1;
}

__attribute__((cold)) int trace_spans_insert(cil_body *body, const trace_spans_code *code, error *e)
{
    inserting i = {.body = body, .code = code};

    if (!find_async_local(&i) || !find_handle(&i) || !find_context(&i))
        return error_set(e, ERROR_RUNTIME, "the runtime refused a reference to AsyncLocal");
    insert_enter(&i, code->wrap.enter);
    if (code->is_step)
        return 0;
    insert_end(&i, code->wrap.failed, (const void *)(uintptr_t)span_fail);
    insert_end(&i, code->wrap.leave, code->is_async ? NULL : (const void *)(uintptr_t)span_leave);
    return 0;
}

__attribute__((cold)) void trace_spans_insert_end(cil_body *body, const trace_spans_code *code,
                                                  cil_at at, bool failed)
{
    inserting i = {.body = body, .code = code};

    push_method(&i, at);
    push_local(&i, at, OWN);
    push_number(&i, at, failed);
    call_probe(&i, at, (const void *)(uintptr_t)span_complete, code->module->value_signature);
}
