/*
 * sampling_walk: from a captured stack to a stack id. The walk goes from the leaf to the thread's
 * start; every walk ends with a reason, and one that ends early still gives its frames, under a
 * frame that says so.
 */
#include <string.h>

#include "agent/sampling.h"
#include "agent/sampling_code.h"
#include "agent/sampling_waits.h"
#include "base/memory.h"
#include "recording/encode.h"

enum { DEEPEST = SAMPLING_MAX_DEPTH };

/* The outer part of the last stacks: the next one of the same thread mostly shares it. */
enum { MEMOS = 8, MEMO_DEPTH = 96 };
typedef struct {
    uint32_t frame, stack;
} walk_memo;

struct sampling_walker {
    agent *agent;
    walk_memo memos[MEMOS][MEMO_DEPTH]; /* outermost first; frame 0 = no more */
    sampling_code code;
    sampling_waits waits;
    uint32_t frames[DEEPEST + 4]; /* leaf first */
    uint8_t places[DEEPEST + 4];
    unsigned count;
};

sampling_walker *sampling_walker_create(agent *a)
{
    sampling_walker *w = memory_allocate_array(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->agent = a;
    sampling_code_init(&w->code, a);
    sampling_waits_init(&w->waits, a);
    return w;
}

void sampling_walker_free(sampling_walker *w)
{
    if (w == NULL)
        return;
    sampling_code_free(&w->code);
    sampling_waits_free(&w->waits);
    memory_free(w);
}

/* ---- the walk ---- */

static void push(sampling_walker *w, uint32_t frame, uint8_t place)
{
    if (frame == 0 || w->count >= DEEPEST)
        return;
    w->frames[w->count] = frame;
    w->places[w->count++] = place;
}

/* Puts a frame that names the runtime's work between the native run at the leaf and its managed
 * caller. */
static void name_work(sampling_walker *w, const char *text, bool with_native)
{
    uint32_t frame = names_frame_synthetic(&w->agent->names, text);
    unsigned at = 0;

    while (at < w->count && w->places[at] == SAMPLING_NATIVE)
        at++;
    if (frame == 0 || w->count >= DEEPEST)
        return;
    (void)with_native;
    memmove(w->frames + at + 1, w->frames + at, (w->count - at) * sizeof *w->frames);
    memmove(w->places + at + 1, w->places + at, w->count - at);
    w->frames[at] = frame;
    w->places[at] = SAMPLING_STUB;
    w->count++;
}

/* What the native run at the leaf says. */
typedef struct {
    bool at_system_call;
    bool in_compiler;
    bool stopped;
} sampling_leaf;

static bool read_copies(void *context, uint64_t address, void *out, size_t size)
{
    peek_copy *copies = context;

    return peek_copy_read(&copies[0], address, out, size) ||
           peek_copy_read(&copies[1], address, out, size);
}

static stackwalk_end walk_frames(sampling_walker *w, const sampling_capture *c, unsigned max_depth,
                                 stackwalk_registers *r, sampling_leaf *run)
{
    peek_copy copies[2] = {{c->stack_address, c->stack, (size_t)c->stack_length},
                           {c->outer_address, c->stack + c->stack_length, (size_t)c->outer_length}};
    peek stack = {read_copies, copies};
    stackwalk_code code = {sampling_code_is_code, &w->code};
    stackwalk_end end = STACKWALK_GOES_ON;
    bool leaf = true, native_run = true;

    for (unsigned depth = 0; end == STACKWALK_GOES_ON; depth++) {
        sampling_address here;

        if (depth >= max_depth)
            return STACKWALK_TRUNCATED;
        here = *sampling_code_at(&w->code, r->value[STACKWALK_RIP], leaf);
        if (here.place == SAMPLING_UNKNOWN)
            return STACKWALK_UNKNOWN_CODE;
        if (depth == 0)
            run->at_system_call = here.at_system_call;
        native_run = native_run && here.place != SAMPLING_MANAGED;
        run->in_compiler = run->in_compiler || (native_run && here.in_compiler);
        run->stopped = run->stopped || (native_run && here.stopped);
        push(w, here.frame, here.place);
        leaf = here.rule.kind == STACKWALK_RULE_SIGNAL;
        end = stackwalk_step(r, &here.rule, &stack, &code);
    }
    return end;
}

/*
 * A whole walk over managed frames went through this part of the stack: it is the thread's own, and
 * stays until the thread ends. (Native code may run on stacks that come and go; managed code never
 * does.)
 */
static void learn_readable(sampling_thread *t, const sampling_capture *c)
{
    uintptr_t end = atomic_load(&t->stack_end), known = atomic_load(&t->readable_end);
    uintptr_t from = atomic_load(&t->readable_from);

    if (!atomic_load(&t->managed) || end > c->stack_address + c->stack_length ||
        (known != 0 && known != end))
        return;
    if (known == 0)
        atomic_store(&t->readable_end, end);
    if (from == 0 || c->stack_address < from)
        atomic_store_explicit(&t->readable_from, c->stack_address, memory_order_release);
}

/* What the next capture of this thread should copy. */
static void learn(sampling_walker *w, sampling_thread *t, const sampling_capture *c,
                  stackwalk_end end, const stackwalk_registers *r)
{
    uint64_t used = r->value[STACKWALK_RSP] - c->stack_address;
    unsigned limit = atomic_load(&t->copy_limit), outermost;

    if (atomic_load(&t->thread) != c->thread || (c->flags & SAMPLING_ON_ALTERNATE) != 0)
        return;
    if (end == STACKWALK_COMPLETE) {
        atomic_store(&t->stack_end, (uintptr_t)r->value[STACKWALK_RSP] + 64);
        for (outermost = w->count; outermost > 0; outermost--) {
            if (w->places[outermost - 1] == SAMPLING_MANAGED)
                break;
        }
        if (outermost != 0) {
            if (t->start_frame == 0)
                t->start_frame = w->frames[outermost - 1];
            learn_readable(t, c);
        }
    } else if (end == STACKWALK_NOT_COPIED && c->stack_length < limit) {
        atomic_store(&t->stack_end, 0); /* it was wrong */
    } else if (end == STACKWALK_NOT_COPIED && limit < SAMPLING_LARGEST_COPY) {
        atomic_store(&t->copy_limit, limit * 2);
    } else if (end == STACKWALK_TRUNCATED && used + used / 4 + 4096 < limit) {
        atomic_store(&t->copy_limit, (unsigned)(used + used / 4 + 4096));
    }
}

/* The stack on a whole one's outer frames, from the memo as far as it is the same. */
static uint32_t stack_by_memo(sampling_walker *w, walk_memo *memo, unsigned at, uint32_t parent,
                              uint32_t frame)
{
    uint32_t stack;

    if (at < MEMO_DEPTH && memo[at].frame == frame)
        return memo[at].stack;
    stack = names_stack_on(&w->agent->names, parent, frame);
    if (at < MEMO_DEPTH) {
        memo[at] = (walk_memo){stack != 0 ? frame : 0, stack};
        if (at + 1 < MEMO_DEPTH)
            memo[at + 1].frame = 0; /* what stood on the other frame */
    }
    return stack;
}

/* Root first, so that common callers are shared. */
static uint32_t build_stack(sampling_walker *w, const sampling_thread *t, stackwalk_end end,
                            bool with_native)
{
    names *n = &w->agent->names;
    walk_memo *memo = w->memos[(size_t)(t - sampling_state.threads) % MEMOS];
    unsigned at = end == STACKWALK_COMPLETE ? 0 : MEMO_DEPTH;
    uint32_t stack = 0;

    if (end == STACKWALK_TRUNCATED) {
        if (t->start_frame != 0)
            stack = names_stack_on(n, 0, t->start_frame);
        stack = names_stack_on(n, stack, names_frame_synthetic(n, "(truncated)"));
    } else if (end != STACKWALK_COMPLETE) {
        stack = names_stack_on(n, 0, names_frame_synthetic(n, "(incomplete)"));
    }
    for (unsigned i = w->count; i > 0; i--) {
        if (with_native || w->places[i - 1] != SAMPLING_NATIVE)
            stack = stack_by_memo(w, memo, at++, stack, w->frames[i - 1]);
    }
    return stack;
}

sampling_result sampling_walk(sampling_walker *w, const sampling_capture *c, unsigned max_depth,
                              bool with_native)
{
    sampling_thread *t = &sampling_state.threads[c->slot % SAMPLING_THREADS];
    sampling_result result = {.state = RECORDING_STATE_RUNNING};
    stackwalk_registers r;
    sampling_leaf run = {false, false, false};

    w->count = 0;
    memcpy(r.value, c->registers, sizeof r.value);
    r.known = (1U << STACKWALK_REGISTERS) - 1;
    if (max_depth > DEEPEST)
        max_depth = DEEPEST;
    result.end = walk_frames(w, c, max_depth, &r, &run);
    result.blocked = run.at_system_call;
    learn(w, t, c, result.end, &r);
    if ((c->flags & SAMPLING_IN_COLLECTION) != 0)
        name_work(w, "(garbage collection)", with_native);
    else if (run.in_compiler)
        name_work(w, "(JIT compilation)", with_native);
    result.depth = w->count;
    result.stack = build_stack(w, t, result.end, with_native);
    if (result.blocked && run.stopped) {
        result.state = RECORDING_STATE_GC;
    } else if (result.blocked && result.stack != 0) {
        sampling_walked walked = {w->frames, w->places, w->count, result.stack};

        result.state = sampling_waits_find(&w->waits, &walked, c);
    }
    return result;
}
