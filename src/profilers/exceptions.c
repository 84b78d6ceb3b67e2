/*
 * exceptions: every exception thrown, with type, message, stack and the method that catches it.
 *
 * On the throwing thread: the exception's class, and an allowance per thread and class. Within the
 * allowance a record with message and stack goes into the ring; beyond it only a counter per class
 * goes up, so that the totals stay exact at any rate. Allowances are refilled by the own thread's
 * tick: no clock is read for an exception that is only counted.
 *
 * Catching is reported by the runtime after the throw, on the same thread, and is matched by the
 * number of the thread's last recorded exception. Rows wait one round for it.
 *
 * Thread rules: engine.h. What callbacks share is atomic; the rest belongs to the own thread.
 */
#include <pthread.h>
#include <string.h>

#include "agent/agent.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "profilers/exception_object.h"

enum {
    SELF = ENGINE_INDEX_exceptions,
    LOSS_RING = 0,
    LOSS_DISTINCT,
    LOSS_CLASSES,
    LOSS_NO_STACK,
    RECORD_THROWN = 0,
    RECORD_CAUGHT = 1,
    FLAG_COUNTED = 1, /* counted only: `count` exceptions without message and stack */
    FLAG_CAUGHT = 2,  /* a managed method catches it */
    BUCKETS = 1024,
    CLASSES = 512,
    PROBES = 32,
    HELD = 4096,
    MESSAGE_UNITS = 512,
    MAXIMUM_NATIVE_FRAMES = 128,
};

enum { TIME, THREAD, TYPE, MESSAGE, STACK, CAUGHT_IN, FLAGS, COUNT, COLUMNS };

static const recording_column EXCEPTION_COLUMNS[COLUMNS] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STRING_ID, "type", ""}, {RECORDING_STRING_ID, "message", ""},
    {RECORDING_STACK_ID, "stack", ""}, {RECORDING_METHOD_ID, "caught_in", ""},
    {RECORDING_U64, "flags", ""},      {RECORDING_U64, "count", ""},
};
static const recording_table TABLES[] = {{"exceptions", "exceptions", EXCEPTION_COLUMNS, COLUMNS}};
static const char *const LOSSES[] = {
    "ring full",
    "stack not kept: more distinct stacks than allowed",
    "type not kept: more than 512 exception types",
    "stack not available",
};

/* A record in the ring; `frames` frames and `units` UTF-16 units follow. */
typedef struct {
    uint64_t sequence;
    uint64_t time;
    ClassID class_id;
    uint32_t thread;
    uint16_t frames;
    uint16_t units;
    uint32_t cut;
    uint32_t leaf_is_call;
} thrown;

typedef struct {
    uint64_t sequence;
    FunctionID function;
} caught;

typedef struct {
    _Atomic uintptr_t class_id;
    atomic_uint_fast64_t count;
} class_count;

/* The last recorded exception of a thread; threads that share a place lose it to each other. */
typedef struct {
    _Atomic uintptr_t thread;
    atomic_uint_fast64_t sequence;
} last_thrown;

typedef struct {
    uint64_t sequence;
    uint64_t cells[COLUMNS];
} held_row;

typedef struct {
    atomic_uint per_tick; /* allowance */
    atomic_uint burst;
    atomic_uint depth;
    atomic_bool messages;
    exception_layout layout;
    _Atomic uintptr_t main_stack_top;
    atomic_uint_fast64_t sequence;
    atomic_uint_fast64_t buckets[BUCKETS]; /* tick << 32 | left */
    last_thrown last[BUCKETS];
    class_count classes[CLASSES];
    /* own thread */
    uint64_t distinct;
    table_u64 stacks; /* hash of addresses to stack id */
    held_row *held;
    size_t held_count;
    size_t held_old; /* of them, were there a round ago */
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

/* Takes one of the allowance of this thread and class. */
static bool take_allowance(agent *a, state *s, uintptr_t thread, ClassID class_id)
{
    atomic_uint_fast64_t *bucket =
        &s->buckets[table_hash_u64(thread ^ class_id * 31) & (BUCKETS - 1)];
    uint64_t tick = (uint32_t)atomic_load_explicit(&a->tick, memory_order_relaxed) + 1u;
    uint64_t old = atomic_load_explicit(bucket, memory_order_relaxed);
    uint64_t left;

    do {
        uint64_t burst = atomic_load_explicit(&s->burst, memory_order_relaxed);
        uint64_t passed = (tick - (old >> 32)) & UINT32_MAX;

        left = old & UINT32_MAX;
        if (old >> 32 == 0) {
            left = burst; /* never used */
        } else if (passed != 0) {
            left += passed * atomic_load_explicit(&s->per_tick, memory_order_relaxed);
            left = left < burst ? left : burst;
        }
        if (left == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &old, tick << 32 | (left - 1),
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void count_only(agent *a, state *s, ClassID class_id)
{
    size_t at = (size_t)table_hash_u64(class_id) & (CLASSES - 1);

    for (size_t probe = 0; probe < PROBES; probe++, at = (at + 1) & (CLASSES - 1)) {
        uintptr_t there = atomic_load_explicit(&s->classes[at].class_id, memory_order_relaxed);

        if (there == 0)
            atomic_compare_exchange_strong(&s->classes[at].class_id, &there, class_id);
        if (there == 0 || there == class_id) {
            atomic_fetch_add_explicit(&s->classes[at].count, 1, memory_order_relaxed);
            return;
        }
    }
    agent_lose(a, SELF, LOSS_CLASSES, 1);
}

typedef struct {
    uintptr_t *addresses;
    uint32_t count;
    uint32_t capacity;
    FunctionID leaf;
    bool cut;
} walk;

static HRESULT CLR_CALL take_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    walk *w = data;

    (void)frame;
    (void)context_size;
    (void)context;
    if (function == 0)
        return S_OK; /* a run of native frames */
    if (w->count == w->capacity) {
        w->cut = true;
        return S_FALSE;
    }
    if (w->count == 0)
        w->leaf = function;
    w->addresses[w->count++] = ip;
    return S_OK;
}

/* Whether the instruction before `ip` is a call, so that `ip` is a return address. A fault of the
 * processor (a null reference, say) has the faulting instruction itself as its address. Called on
 * the throwing thread: the code cannot go away, and it has a header before its first byte. */
static bool follows_call(uintptr_t ip)
{
    const uint8_t *p = (const uint8_t *)ip;

#if defined(__x86_64__)
    return p[-5] == 0xe8 || (p[-6] == 0xff && p[-5] == 0x15) ||
           (p[-2] == 0xff && (p[-1] & 0xf8) == 0xd0) || (p[-2] == 0xff && (p[-1] & 0xf8) == 0x10) ||
           (p[-3] == 0xff && (p[-2] & 0x38) == 0x10) || (p[-6] == 0xff && (p[-5] & 0xf8) == 0x90);
#elif defined(__aarch64__)
    uint32_t instruction;

    memcpy(&instruction, p - 4, sizeof instruction);
    return (instruction & 0xfc000000u) == 0x94000000u || (instruction & 0xfffffc1fu) == 0xd63f0000u;
#else
    (void)p;
    return true;
#endif
}

/* A throw inside a catch or finally block: the runtime's walk names the method but gives the place
 * in its try block. The real place is the method's nearest return address above us, which the
 * chain of frame pointers leads to. Only loads between here and the top of this thread's stack. */
static void correct_leaf(agent *a, state *s, uintptr_t thread, thrown *record, walk *w)
{
    uintptr_t top = record->thread == (uint32_t)os_process_id()
                        ? atomic_load_explicit(&s->main_stack_top, memory_order_relaxed)
                        : thread;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    for (int i = 0; i < MAXIMUM_NATIVE_FRAMES; i++) {
        uintptr_t link[2];
        FunctionID function = 0;

        if ((frame & 7) != 0 || frame >= top || top - frame < sizeof link)
            return;
        memcpy(link, (const void *)frame, sizeof link);
        if (w->count > 1 && link[1] == w->addresses[1])
            return;
        if (clr_info_get_function_from_ip(&a->info, (const uint8_t *)link[1], &function) == S_OK &&
            function == w->leaf) {
            if (link[1] != w->addresses[0]) {
                w->addresses[0] = link[1];
                record->leaf_is_call = 1;
            }
            return;
        }
        if (link[0] <= frame)
            return;
        frame = link[0];
    }
}

static void record_thrown(agent *a, state *s, uintptr_t thread, ClassID class_id, ObjectID object)
{
    uint32_t depth = atomic_load_explicit(&s->depth, memory_order_relaxed);
    size_t reserved = sizeof(thrown) + depth * sizeof(uintptr_t) + MESSAGE_UNITS * sizeof(WCHAR);
    thrown *record = agent_reserve(a, SELF, reserved);
    last_thrown *last = &s->last[table_hash_u64(thread) & (BUCKETS - 1)];
    walk w = {NULL, 0, depth, 0, false};
    size_t length;

    if (record == NULL) {
        count_only(a, s, class_id);
        return;
    }
    w.addresses = (uintptr_t *)(record + 1);
    record->sequence = atomic_fetch_add_explicit(&s->sequence, 1, memory_order_relaxed) + 1;
    record->time = os_monotonic_ns();
    record->class_id = class_id;
    record->thread = (uint32_t)os_thread_id();
    clr_info_do_stack_snapshot(&a->info, 0, take_frame, COR_PRF_SNAPSHOT_DEFAULT, &w, NULL, 0);
    record->frames = (uint16_t)w.count;
    record->cut = w.cut;
    record->leaf_is_call = w.count != 0 && follows_call(w.addresses[0]);
    if (w.count != 0)
        correct_leaf(a, s, thread, record, &w);
    record->units = 0;
    if (atomic_load_explicit(&s->messages, memory_order_relaxed))
        record->units = (uint16_t)exception_read_message(&a->info, &s->layout, class_id, object,
                                                         (WCHAR *)(void *)(w.addresses + w.count),
                                                         MESSAGE_UNITS);
    length = sizeof *record + w.count * sizeof(uintptr_t) + record->units * sizeof(WCHAR);
    atomic_store_explicit(&last->sequence, record->sequence, memory_order_relaxed);
    atomic_store_explicit(&last->thread, thread, memory_order_release);
    agent_commit(a, SELF, record, reserved, RECORD_THROWN, length);
    agent_wake(a);
}

static void on_thrown(agent *a, ObjectID object)
{
    state *s = state_of(a);
    uintptr_t thread = (uintptr_t)pthread_self();
    ClassID class_id = 0;

    if (clr_info_get_class_from_object(&a->info, object, &class_id) != S_OK)
        return;
    if (take_allowance(a, s, thread, class_id)) {
        record_thrown(a, s, thread, class_id, object);
        return;
    }
    /* what is caught next on this thread is not the last recorded one */
    atomic_store_explicit(&s->last[table_hash_u64(thread) & (BUCKETS - 1)].thread, 0,
                          memory_order_relaxed);
    count_only(a, s, class_id);
}

static void on_catcher_found(agent *a, FunctionID function)
{
    state *s = state_of(a);
    uintptr_t thread = (uintptr_t)pthread_self();
    last_thrown *last = &s->last[table_hash_u64(thread) & (BUCKETS - 1)];
    caught *record;

    if (atomic_load_explicit(&last->thread, memory_order_acquire) != thread)
        return;
    atomic_store_explicit(&last->thread, 0, memory_order_relaxed);
    record = agent_reserve(a, SELF, sizeof *record);
    if (record == NULL)
        return;
    record->sequence = atomic_load_explicit(&last->sequence, memory_order_relaxed);
    record->function = function;
    agent_commit(a, SELF, record, sizeof *record, RECORD_CAUGHT, sizeof *record);
}

/* ---- on the own thread ---- */

/* Where the main thread's stack begins: field 28 of /proc/self/stat; 0 when not known. */
static uintptr_t read_main_stack_top(void)
{
    buffer text = BUFFER_EMPTY;
    const char *p = NULL;
    uintptr_t top = 0;

    if (os_read_file("/proc/self/stat", 4096, &text, NULL) == 0)
        p = strrchr(buffer_text(&text), ')');
    for (int field = 2; p != NULL && field < 28; field++) {
        p = strchr(p, ' ');
        if (p != NULL)
            p++;
    }
    for (; p != NULL && *p >= '0' && *p <= '9'; p++)
        top = top * 10 + (uintptr_t)(*p - '0');
    buffer_free(&text);
    return top;
}

static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL) {
        s = memory_allocate_array(1, sizeof *s);
        if (s == NULL)
            return error_set(e, ERROR_MEMORY, "no memory for the profiler 'exceptions'");
        s->held = memory_allocate_array(HELD, sizeof *s->held);
        if (s->held == NULL) {
            memory_free(s);
            return error_set(e, ERROR_MEMORY, "no memory for the profiler 'exceptions'");
        }
        table_u64_init(&s->stacks);
        atomic_store(&s->main_stack_top, read_main_stack_top());
        a->engines[SELF].state = s;
    }
    for (size_t i = 0; i < CLASSES; i++)
        atomic_store(&s->classes[i].count, 0);
    for (size_t i = 0; i < BUCKETS; i++)
        atomic_store(&s->buckets[i], 0);
    s->held_count = s->held_old = 0;
    return 0;
}

static void configure(agent *a)
{
    state *s = state_of(a);
    const catalogue_selected *user;
    uint64_t stacks = 1;
    uint64_t depth = 1;
    bool messages = false;
    size_t position = 0;

    s->distinct = 1;
    while ((user = agent_user(a, SELF, &position)) != NULL) {
        uint64_t wanted = catalogue_number(user, "stacks");
        uint64_t frames = catalogue_number(user, "depth");
        uint64_t distinct = catalogue_number(user, "distinct");

        stacks = wanted > stacks ? wanted : stacks;
        depth = frames > depth ? frames : depth;
        s->distinct = distinct > s->distinct ? distinct : s->distinct;
        messages = messages || catalogue_number(user, "messages") != 0;
    }
    atomic_store(&s->burst, (unsigned)stacks);
    atomic_store(&s->per_tick, (unsigned)(stacks < 10 ? 1 : stacks / 10));
    atomic_store(&s->depth, (unsigned)depth);
    atomic_store(&s->messages, messages);
}

static void stop(agent *a)
{
    state *s = state_of(a);

    table_u64_free(&s->stacks); /* ids may start anew with the next session */
    table_u64_init(&s->stacks);
    s->held_count = s->held_old = 0;
}

static void destroy(agent *a)
{
    state *s = state_of(a);

    table_u64_free(&s->stacks);
    memory_free(s->held);
    memory_free(s);
    a->engines[SELF].state = NULL;
}

static uint32_t stack_of(agent *a, state *s, const thrown *record, const uintptr_t *addresses)
{
    uint64_t hash = table_hash_bytes(addresses, record->frames * sizeof *addresses);
    uint64_t known;
    uint32_t stack;

    if (record->frames == 0) {
        agent_lose(a, SELF, LOSS_NO_STACK, 1);
        return 0;
    }
    if (table_u64_get(&s->stacks, hash, &known))
        return (uint32_t)known;
    if (s->stacks.count >= s->distinct) {
        agent_lose(a, SELF, LOSS_DISTINCT, 1);
        return 0;
    }
    stack = names_stack_of(&a->names, addresses, record->frames, record->leaf_is_call != 0,
                           record->cut != 0);
    table_u64_put(&s->stacks, hash, stack);
    return stack;
}

static void emit_held(agent *a, state *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        agent_row(a, SELF, 0, s->held[i].cells);
    memmove(s->held, s->held + count, (s->held_count - count) * sizeof *s->held);
    s->held_count -= count;
    s->held_old = s->held_old > count ? s->held_old - count : 0;
}

static void take_thrown(agent *a, state *s, const thrown *record, size_t length)
{
    const uintptr_t *addresses = (const uintptr_t *)(record + 1);
    const WCHAR *units = (const WCHAR *)(const void *)(addresses + record->frames);
    buffer message = BUFFER_EMPTY;
    held_row *row;

    if (length < sizeof *record)
        return;
    if (s->held_count == HELD)
        emit_held(a, s, HELD / 2);
    row = &s->held[s->held_count++];
    row->sequence = record->sequence;
    row->cells[TIME] = record->time;
    row->cells[THREAD] = record->thread;
    row->cells[TYPE] = names_of_class(&a->names, record->class_id);
    row->cells[STACK] = stack_of(a, s, record, addresses);
    row->cells[CAUGHT_IN] = 0;
    row->cells[FLAGS] = 0;
    row->cells[COUNT] = 1;
    text_append_utf16(&message, units, record->units);
    row->cells[MESSAGE] =
        message.length == 0 ? 0 : names_intern(&a->names, buffer_text(&message), message.length);
    buffer_free(&message);
}

static void take_caught(agent *a, state *s, const caught *record)
{
    for (size_t i = s->held_count; i > 0; i--) {
        if (s->held[i - 1].sequence != record->sequence)
            continue;
        s->held[i - 1].cells[CAUGHT_IN] = names_known_function(&a->names, record->function);
        s->held[i - 1].cells[FLAGS] |= FLAG_CAUGHT;
        return;
    }
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    state *s = state_of(a);

    if (kind == RECORD_THROWN)
        take_thrown(a, s, payload, length);
    else if (kind == RECORD_CAUGHT && length >= sizeof(caught))
        take_caught(a, s, payload);
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    size_t ready = last ? s->held_count : s->held_old;

    /* in order: what was there a round ago, and whatever after it is known to be caught */
    while (ready < s->held_count && (s->held[ready].cells[FLAGS] & FLAG_CAUGHT) != 0)
        ready++;
    emit_held(a, s, ready);
    s->held_old = s->held_count;
    for (size_t i = 0; i < CLASSES; i++) {
        uint64_t count;
        uint64_t cells[COLUMNS] = {0};

        if (atomic_load_explicit(&s->classes[i].count, memory_order_relaxed) == 0)
            continue;
        count = atomic_exchange_explicit(&s->classes[i].count, 0, memory_order_relaxed);
        if (!agent_enter_runtime(a))
            continue;
        cells[TIME] = os_monotonic_ns();
        cells[TYPE] = names_of_class(
            &a->names, atomic_load_explicit(&s->classes[i].class_id, memory_order_relaxed));
        cells[FLAGS] = FLAG_COUNTED;
        cells[COUNT] = count;
        agent_row(a, SELF, 0, cells);
    }
}

const engine ENGINE_exceptions = {
    .name = "exceptions",
    .mask_low = COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_ENABLE_STACK_SNAPSHOT,
    .mask_high = 0,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .loss_count = sizeof LOSSES / sizeof *LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .destroy = destroy,
    .on_exception_thrown = on_thrown,
    .on_exception_catcher_found = on_catcher_found,
};
