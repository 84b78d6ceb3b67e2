/*
 * sampling_walk: from a captured stack to a stack id. The walk goes from the leaf to the thread's
 * start; every walk ends with a reason, and one that ends early still gives its frames, under a
 * frame that says so.
 */
#include <string.h>

#include "agent/sampling.h"
#include "agent/sampling_async.h"
#include "agent/sampling_code.h"
#include "agent/sampling_types.h"
#include "agent/sampling_waits.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/encode.h"

enum { DEEPEST = SAMPLING_MAX_DEPTH };

/* The outer part of the last stacks: the next one of the same thread mostly shares it. */
enum { MEMOS = 8, MEMO_DEPTH = 96 };
typedef struct {
    uint32_t frame, stack;
} walk_memo;

/* A method that may have been resumed after an await. */
enum { RESUMPTIONS = 6 };
typedef struct {
    unsigned number; /* of its frame, from 1 */
    uint64_t stack_pointer;
    bool sure;
} walk_resumption;

struct sampling_walker {
    agent *agent;
    walk_memo memos[MEMOS][MEMO_DEPTH]; /* outermost first; frame 0 = no more */
    sampling_code *code;
    sampling_waits waits;
    sampling_async async;
    sampling_types types;
    uint32_t frames[DEEPEST + 4]; /* leaf first */
    uint8_t places[DEEPEST + 4];
    unsigned count;
    walk_resumption resumptions[RESUMPTIONS]; /* innermost first */
    unsigned resumption_count;
};

sampling_walker *sampling_walker_create(agent *a)
{
    sampling_walker *w = memory_allocate_array(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->agent = a;
    w->code = sampling_code_open(a);
    if (w->code == NULL) {
        memory_free(w);
        return NULL;
    }
    sampling_waits_init(&w->waits, a);
    sampling_async_init(&w->async, a, w->code);
    return w;
}

void sampling_walker_free(sampling_walker *w)
{
    if (w == NULL)
        return;
    sampling_code_close(w->agent);
    sampling_waits_free(&w->waits);
    sampling_async_free(&w->async);
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

/* Puts a frame that names the runtime's work outside of the first `at` frames. */
static void name_work(sampling_walker *w, unsigned at, const char *text)
{
    uint32_t frame = names_frame_synthetic(&w->agent->names, text);

    if (frame == 0 || w->count >= DEEPEST)
        return;
    memmove(w->frames + at + 1, w->frames + at, (w->count - at) * sizeof *w->frames);
    memmove(w->places + at + 1, w->places + at, w->count - at);
    w->frames[at] = frame;
    w->places[at] = SAMPLING_STUB;
    w->count++;
    for (unsigned i = 0; i < w->resumption_count; i++)
        w->resumptions[i].number += w->resumptions[i].number > at;
}

/* What the native run at the leaf says. */
typedef struct {
    unsigned loader;   /* number of the outermost frame that loads types, from 1; 0 = none */
    unsigned compiler; /* … of the compiler */
    bool at_system_call;
    bool in_compiler;
    bool stopped;
    bool in_runtime; /* its outermost frame is the runtime's */
} sampling_leaf;

static bool read_copies(void *context, uint64_t address, void *out, size_t size)
{
    peek_copy *copies = context;

    return peek_copy_read(&copies[0], address, out, size) ||
           peek_copy_read(&copies[1], address, out, size);
}

/* Each method once, however many frames of the dispatch are around it. */
static void note_resumption(sampling_walker *w, const walk_resumption *inner, bool sure)
{
    walk_resumption *last =
        w->resumption_count > 0 ? &w->resumptions[w->resumption_count - 1] : NULL;

    if (last != NULL && last->number == inner->number) {
        last->sure = last->sure || sure;
    } else if (inner->number != 0 && w->resumption_count < RESUMPTIONS) {
        w->resumptions[w->resumption_count] = *inner;
        w->resumptions[w->resumption_count++].sure = sure;
    }
}

/*
 * Where rbp is not known: a method that calls native code keeps a record of it for the runtime,
 * with its own stack pointer, an address at the call or a little before it, and its rbp, in this
 * order. What the call goes on at lies right below that stack pointer; a native function whose
 * frame hangs on rbp (the CFA is `above` bytes above it; 0 = a method) is taken for the one called,
 * whose frame ends there.
 */
static void find_frame_pointer(const peek *stack, uint64_t above, stackwalk_registers *r)
{
    enum { REACH = 8192, NEAR = 1 << 16 };
    uint64_t low = r->value[STACKWALK_RSP] + above, at = low, words[3], next;

    for (; at < low + REACH && peek_read(stack, at, words, sizeof words); at += 8) {
        if (words[0] - low > (above != 0 ? at - low : 0) || words[2] - at >= NEAR ||
            !peek_read(stack, words[0] - 8, &next, sizeof next) || next - words[1] >= NEAR)
            continue;
        r->value[STACKWALK_RBP] = above != 0 ? words[0] - above : words[2];
        r->known |= 1U << STACKWALK_RBP;
        return;
    }
}

static stackwalk_end walk_frames(sampling_walker *w, const sampling_capture *c, unsigned max_depth,
                                 stackwalk_registers *r, sampling_leaf *run)
{
    peek_copy copies[2] = {{c->stack_address, c->stack, (size_t)c->stack_length},
                           {c->outer_address, c->stack + c->stack_length, (size_t)c->outer_length}};
    peek stack = {read_copies, copies};
    stackwalk_code code = {sampling_code_is_code, w->code};
    stackwalk_end end = STACKWALK_GOES_ON;
    bool leaf = true, native_run = true;
    walk_resumption inner = {0, 0, false}; /* the managed method before */

    for (unsigned depth = 0; end == STACKWALK_GOES_ON; depth++) {
        sampling_address here;

        if (depth >= max_depth)
            return STACKWALK_TRUNCATED;
        here = *sampling_code_at(w->code, r->value[STACKWALK_RIP], leaf);
        if (here.place == SAMPLING_UNKNOWN)
            return STACKWALK_UNKNOWN_CODE;
        if (depth == 0)
            run->at_system_call = here.at_system_call;
        native_run = native_run && here.place != SAMPLING_MANAGED;
        run->in_compiler = run->in_compiler || (native_run && here.in_compiler);
        run->stopped = run->stopped || (native_run && here.stopped);
        if (native_run && here.place == SAMPLING_NATIVE && here.rule.kind != STACKWALK_RULE_SIGNAL)
            run->in_runtime = here.in_runtime;
        if (here.in_box || here.resumes)
            note_resumption(w, &inner, here.in_box);
        push(w, here.frame, here.place);
        if (native_run && !run->in_compiler && sampling_types_has(&w->types, here.frame))
            run->loader = w->count;
        if (native_run && here.in_compiler)
            run->compiler = w->count;
        if (here.place == SAMPLING_MANAGED && !here.in_box && !here.resumes)
            inner = (walk_resumption){w->count, r->value[STACKWALK_RSP], false};
        leaf = here.rule.kind == STACKWALK_RULE_SIGNAL;
        if ((!native_run || here.rule.base == STACKWALK_RBP) && !stackwalk_knows(r, STACKWALK_RBP))
            find_frame_pointer(&stack, native_run ? (uint64_t)here.rule.cfa_offset : 0, r);
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

/* Whether a thread may begin with this method: what the runtime calls first is not told. */
static bool is_start(const sampling_walker *w, uint32_t frame)
{
    return !text_starts_with(sampling_code_name(&w->agent->names, frame),
                             "System.Threading.Thread.Start");
}

/* What the next capture of this thread should copy; each kind has a depth of its own. */
static void learn(sampling_walker *w, sampling_thread *t, const sampling_capture *c,
                  stackwalk_end end, const stackwalk_registers *r)
{
    uint64_t used = r->value[STACKWALK_RSP] - c->stack_address;
    atomic_uint *copied = &t->copy_limit[c->kind % SAMPLING_KINDS];
    unsigned limit = atomic_load(copied), outermost;

    if (atomic_load(&t->thread) != c->thread || (c->flags & SAMPLING_ON_ALTERNATE) != 0)
        return;
    if (end == STACKWALK_COMPLETE) {
        atomic_store(&t->stack_end, (uintptr_t)r->value[STACKWALK_RSP] + 64);
        for (outermost = w->count; outermost > 0; outermost--) {
            if (w->places[outermost - 1] == SAMPLING_MANAGED &&
                (t->start_frame != 0 || is_start(w, w->frames[outermost - 1])))
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
        atomic_store(copied, limit * 2);
    } else if (end == STACKWALK_TRUNCATED && used + used / 4 + 4096 < limit) {
        atomic_store(copied, (unsigned)(used + used / 4 + 4096));
    }
}

/* A part of a stack as it is now. */
typedef struct {
    peek_copy copy;
    uint8_t bytes[16 << 10];
} walk_window;

/* A walk goes outwards: what is asked for and all that follows. */
static bool read_window(void *context, uint64_t address, void *out, size_t size)
{
    walk_window *v = context;

    if (peek_copy_read(&v->copy, address, out, size))
        return true;
    v->copy = (peek_copy){address, v->bytes,
                          sampling_read_memory(v->bytes, (uintptr_t)address, sizeof v->bytes)};
    return peek_copy_read(&v->copy, address, out, size);
}

/*
 * The start method of a stack that is deeper than its copy: from the last frame `r` on the walk
 * goes over the stack as it is now, however deep. Frames of calls that have not returned do not
 * change, and what lies outside of `r` must still be what was copied; and a thread's
 * start stays the same for as long as it lives.
 */
static void find_start(sampling_walker *w, sampling_thread *t, const sampling_capture *c,
                       stackwalk_registers r)
{
    enum { APART_NS = 100000000, SOON = 8, TRIES = 24, MOST = 1 << 20 };
    walk_window now = {.copy.length = 0};
    peek stack = {read_window, &now};
    stackwalk_code code = {sampling_code_is_code, w->code};
    uint64_t at = r.value[STACKWALK_RSP] - c->stack_address, left = c->stack_length - at;
    uint64_t time = os_monotonic_ns();
    uint32_t outermost = 0;
    uint8_t byte;

    if (t->start_tries == TRIES || time < t->start_next_ns ||
        (c->flags & SAMPLING_ON_ALTERNATE) != 0 || atomic_load(&t->thread) != c->thread)
        return;
    if (at >= c->stack_length || !read_window(&now, r.value[STACKWALK_RSP], &byte, 1) ||
        memcmp(now.bytes, c->stack + at, left < now.copy.length ? left : now.copy.length) != 0)
        return;
    /* Samples are walked many at a time: the next try must find the thread elsewhere. */
    t->start_next_ns =
        time + ((uint64_t)APART_NS << (t->start_tries > SOON ? t->start_tries - SOON : 0));
    t->start_tries++;
    for (unsigned depth = 0; depth < MOST; depth++) {
        sampling_address here = *sampling_code_at(w->code, r.value[STACKWALK_RIP], false);
        stackwalk_end end;

        if (here.place == SAMPLING_MANAGED && here.frame != outermost && is_start(w, here.frame))
            outermost = here.frame;
        end = here.place != SAMPLING_UNKNOWN ? stackwalk_step(&r, &here.rule, &stack, &code)
                                             : STACKWALK_UNKNOWN_CODE;
        if (end == STACKWALK_COMPLETE)
            t->start_frame = outermost;
        if (end != STACKWALK_GOES_ON)
            return;
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

/* The innermost method that was resumed and whose logical callers are known: its number; 0 = none.
 * Those are in w->async then. */
static unsigned find_callers(sampling_walker *w, const sampling_capture *c)
{
    for (unsigned i = 0; i < w->resumption_count; i++) {
        const walk_resumption *r = &w->resumptions[i];

        if (sampling_async_find(&w->async, c, w->frames[r->number - 1], r->stack_pointer, r->sure))
            return r->number;
        if (r->sure)
            return 0; /* what lies outside of it has nothing to do with the leaf */
    }
    return 0;
}

/*
 * Frames that the logical callers take the place of: from here (an index, leaf first) inwards to
 * the resumed method. The thread's start stays, up to its outermost managed frame; what lies
 * between is the dispatch of whoever resumed the method.
 */
static unsigned find_dispatch(const sampling_walker *w, unsigned resumed)
{
    unsigned i = w->count;

    while (i > resumed && w->places[i - 1] != SAMPLING_MANAGED)
        i--;
    return i > resumed ? i - 1 : resumed;
}

/* Root first, so that common callers are shared. */
static uint32_t build_stack(sampling_walker *w, const sampling_thread *t, stackwalk_end end,
                            bool with_native, unsigned resumed)
{
    names *n = &w->agent->names;
    walk_memo *memo = w->memos[(size_t)(t - sampling_state.threads) % MEMOS];
    unsigned at = end == STACKWALK_COMPLETE ? 0 : MEMO_DEPTH, dispatch;
    uint32_t stack = 0;

    if (end == STACKWALK_TRUNCATED || (end == STACKWALK_NOT_COPIED && t->start_frame != 0)) {
        if (t->start_frame != 0)
            stack = names_stack_on(n, 0, t->start_frame);
        stack = names_stack_on(n, stack, names_frame_synthetic(n, "(truncated)"));
    } else if (end != STACKWALK_COMPLETE) {
        stack = names_stack_on(n, 0, names_frame_synthetic(n, "(incomplete)"));
    }
    dispatch = resumed != 0 ? find_dispatch(w, resumed) : 0;
    for (unsigned i = w->count; i > 0; i--) {
        if (i == dispatch) {
            stack = stack_by_memo(w, memo, at++, stack, names_frame_synthetic(n, "(async)"));
            for (unsigned k = w->async.count; k > 0; k--)
                stack = stack_by_memo(w, memo, at++, stack, w->async.frames[k - 1]);
            i = resumed;
        }
        if (with_native || w->places[i - 1] != SAMPLING_NATIVE)
            stack = stack_by_memo(w, memo, at++, stack, w->frames[i - 1]);
    }
    return stack;
}

/* A collection and compiling stand between the native run at the leaf and its managed caller;
 * loading a type stands where it begins, so that what the compiler asks for is below it. */
static void name_runtime_work(sampling_walker *w, bool collects, const sampling_leaf *run)
{
    unsigned native = 0;

    while (native < w->count && w->places[native] == SAMPLING_NATIVE)
        native++;
    if (collects)
        name_work(w, native, "(garbage collection)");
    else if (run->in_compiler) /* the runtime's own thread of compiling has no managed caller */
        name_work(w, native < w->count ? native : run->compiler, "(JIT compilation)");
    if (!collects && run->loader != 0)
        name_work(w, run->loader, "(type loading)");
}

void sampling_walk_start(sampling_walker *w)
{
    sampling_types_start(&w->types);
}

void sampling_walk_loading(sampling_walker *w, const sampling_capture *c)
{
    sampling_types_learn(&w->types, w->code, c);
}

sampling_result sampling_walk(sampling_walker *w, const sampling_capture *c,
                              const sampling_settings *settings)
{
    sampling_thread *t = &sampling_state.threads[c->slot % SAMPLING_THREADS];
    sampling_result result = {.state = RECORDING_STATE_RUNNING};
    stackwalk_registers r;
    sampling_leaf run = {0, 0, false, false, false, false};

    w->count = w->resumption_count = 0;
    memcpy(r.value, c->registers, sizeof r.value);
    r.known = (c->flags & SAMPLING_BARE) != 0 ? 1U << STACKWALK_RSP | 1U << STACKWALK_RIP
                                              : (1U << STACKWALK_REGISTERS) - 1;
    result.end =
        walk_frames(w, c, settings->max_depth < DEEPEST ? settings->max_depth : DEEPEST, &r, &run);
    /* A call that does not wait is left through the same instruction. */
    result.blocked = run.at_system_call && (c->flags & SAMPLING_READY) == 0;
    result.resumed = w->resumption_count != 0;
    learn(w, t, c, result.end, &r);
    if (t->start_frame == 0 &&
        (result.end == STACKWALK_TRUNCATED || result.end == STACKWALK_NOT_COPIED))
        find_start(w, t, c, r);
    name_runtime_work(w, (c->flags & SAMPLING_IN_COLLECTION) != 0, &run);
    result.depth = w->count;
    result.stack =
        build_stack(w, t, result.end, settings->native, settings->async ? find_callers(w, c) : 0);
    if (result.blocked && run.stopped) {
        result.state = RECORDING_STATE_GC;
    } else if (result.blocked && result.stack != 0) {
        sampling_walked walked = {w->frames, w->places, w->count, result.stack};

        result.state = sampling_waits_find(&w->waits, &walked, c, run.in_runtime);
    }
    return result;
}
