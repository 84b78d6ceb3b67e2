/* gone: see gone.h. */
#include "agent/gone.h"

#include "base/buffer.h"
#include "base/os.h"
#include "clarinet/names.h"

enum {
    CODES = 1024, /* the newest of them; older ones have been freed long ago */
    THREADS = 256,
    QUESTIONS = 4, /* one within the other */
    LONGEST_WAIT_MS = 1000,
    BLOCKS = 4096,
    BLOCK_BITS = 16, /* the least that the runtime takes for such code */
};

typedef struct {
    atomic_uintptr_t start; /* 0 = being written */
    atomic_uintptr_t function;
    atomic_uint_fast64_t heads[GONE_SOURCES]; /* of the rings: what is before was taken before */
    gone_method method;
} code;

static struct {
    _Atomic(const ring *) rings[GONE_SOURCES];
    code codes[CODES];
    atomic_uint code_count;
    /* A bit for each block of memory that code ever went from, by its hash. */
    atomic_uint_fast64_t blocks[BLOCKS / 64];
    atomic_uint block_count;
    atomic_uintptr_t threads[THREADS];
    atomic_uint thread_count;
    atomic_uintptr_t asked[QUESTIONS];
    /* Of the own thread. */
    unsigned depth;
    gone_source source;
    unsigned since; /* of GONE_FROM_NOW: how many had gone before */
} gone;

void gone_watch(gone_source source, const ring *records)
{
    for (unsigned i = 0; i < CODES; i++) /* of a ring before this one */
        atomic_store(&gone.codes[i].heads[source], 0);
    atomic_store(&gone.rings[source], records);
}

void gone_from(gone_source source)
{
    gone.source = source;
    gone.since = atomic_load(&gone.code_count);
}

void gone_listen(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        atomic_store(&gone.threads[i], 0);
}

/* ---- the own thread ---- */

static bool is_of(const code *c, uintptr_t what, bool is_function)
{
    uintptr_t start = atomic_load(&c->start);

    return is_function ? what == atomic_load(&c->function)
                       : start != 0 && what - start < c->method.size;
}

static unsigned block_of(uintptr_t address)
{
    return (unsigned)(((uint64_t)address >> BLOCK_BITS) * 0x9e3779b97f4a7c15u >> 52) % BLOCKS;
}

bool gone_is_near(uintptr_t address)
{
    unsigned block = block_of(address);

    return (atomic_load(&gone.blocks[block / 64]) >> block % 64 & 1) != 0;
}

unsigned gone_blocks(void)
{
    return atomic_load(&gone.block_count);
}

/* What was there when the address was taken, and has gone since; NULL = nothing. The same place may
 * have been another's before that, and has been yet another's since. */
static const code *find_gone(uintptr_t what, bool is_function)
{
    unsigned count = atomic_load(&gone.code_count);
    const ring *records = atomic_load_explicit(&gone.rings[gone.source], memory_order_relaxed);
    uint64_t taken = records != NULL ? atomic_load(&records->tail) : 0;
    const code *found = NULL;

    if (!is_function && !gone_is_near(what))
        return NULL;
    for (unsigned i = 0; i < CODES && i < count; i++) {
        const code *c = &gone.codes[(count - 1 - i) % CODES];

        if (records != NULL ? taken >= atomic_load(&c->heads[gone.source])
                            : count - gone.since == i)
            break; /* it went before */
        if (is_of(c, what, is_function))
            found = c;
    }
    return found;
}

static bool copy_gone(const code *c, gone_method *out)
{
    if (c != NULL)
        *out = c->method;
    return c != NULL;
}

bool gone_code_was(uintptr_t inside, gone_method *out)
{
    return copy_gone(find_gone(inside, false), out);
}

bool gone_function_was(FunctionID function, gone_method *out)
{
    return copy_gone(find_gone(function, true), out);
}

FunctionID gone_next(unsigned *seen)
{
    unsigned count = atomic_load(&gone.code_count);

    if (*seen == count)
        return 0;
    if (count - *seen > CODES) {
        *seen = count;
        return GONE_MANY;
    }
    return atomic_load(&gone.codes[(*seen)++ % CODES].function);
}

static bool ask(uintptr_t what)
{
    if (gone.depth == QUESTIONS)
        return false;
    atomic_store(&gone.asked[gone.depth++], what); /* before looking whether it has gone */
    return true;
}

void gone_answered(void)
{
    atomic_store(&gone.asked[--gone.depth], 0);
}

static bool ask_code(uintptr_t what, bool is_function)
{
    if (!ask(what))
        return false;
    if (find_gone(what, is_function) != NULL) {
        gone_answered();
        return false;
    }
    return true;
}

bool gone_ask_code(uintptr_t inside)
{
    return ask_code(inside, false);
}

bool gone_ask_function(FunctionID function)
{
    return ask_code(function, true);
}

bool gone_ask_thread(ThreadID thread)
{
    if (!ask(thread))
        return false;
    for (unsigned i = 0; i < THREADS; i++) {
        if (atomic_load(&gone.threads[i]) == thread) {
            gone_answered();
            return false;
        }
    }
    return true;
}

typedef struct {
    clr_visit_id *visit;
    void *context;
} visitor;

static int visit_thread(void *context, uintptr_t thread)
{
    const visitor *v = context;
    int more = 1;

    if (gone_ask_thread(thread)) {
        more = v->visit(v->context, thread);
        gone_answered();
    }
    return more;
}

HRESULT gone_each_thread(const clr_info *info, clr_visit_id *visit, void *context)
{
    visitor v = {visit, context};

    return clr_each_thread(info, visit_thread, &v);
}

/* ---- callbacks ---- */

static bool is_asked(uintptr_t function, uintptr_t start, uintptr_t end)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        uintptr_t what = atomic_load(&gone.asked[i]);

        if (what != 0 && (what == function || (what >= start && what < end)))
            return true;
    }
    return false;
}

/* It is about one answer of the runtime's; the limit is for a runtime that waits for us. */
static void wait_for_answer(uintptr_t function, uintptr_t start, uintptr_t end)
{
    for (unsigned i = 0; i < LONGEST_WAIT_MS && is_asked(function, start, end); i++)
        os_sleep_ms(1);
}

/* All that is needed to show a frame of it later. */
static bool describe(const clr_info *info, FunctionID function, gone_method *m)
{
    COR_PRF_CODE_INFO region = {0, 0};
    uint32_t count = 0;
    buffer name, parameters;
    clr_function about;

    /* Such code is one piece; none when it was never compiled. */
    if (clr_info_get_code_info3(info, function, 0, 1, &count, &region) != S_OK || count == 0 ||
        region.size == 0)
        return false;
    m->start = region.startAddress;
    m->size = region.size;
    m->shape = shape_of((const uint8_t *)m->start,
                        m->size < SHAPE_PROLOGUE_BYTES ? m->size : SHAPE_PROLOGUE_BYTES);
    buffer_fix(&name, m->name, sizeof m->name);
    buffer_fix(&parameters, m->parameters, sizeof m->parameters);
    clr_append_function(info, function, 0, &name, &parameters, &about);
    m->module = about.module;
    m->name[name.length] = m->parameters[parameters.length] = '\0';
    return true;
}

void gone_code_goes(const clr_info *info, FunctionID function)
{
    gone_method m = {.size = 0};
    code *c;

    if (!describe(info, function, &m))
        return;
    for (uintptr_t at = m.start >> BLOCK_BITS; at <= (m.start + m.size - 1) >> BLOCK_BITS; at++) {
        unsigned block = block_of(at << BLOCK_BITS);
        uint64_t bit = (uint64_t)1 << block % 64;

        if ((atomic_fetch_or(&gone.blocks[block / 64], bit) & bit) == 0)
            atomic_fetch_add(&gone.block_count, 1);
    }
    /* One after the other: the finalizer's thread frees them. */
    c = &gone.codes[atomic_load(&gone.code_count) % CODES];
    atomic_store(&c->start, 0);
    atomic_store(&c->function, function);
    c->method = m;
    for (unsigned i = 0; i < GONE_SOURCES; i++) {
        const ring *records = atomic_load(&gone.rings[i]);

        atomic_store(&c->heads[i], records != NULL ? atomic_load(&records->head) : 0);
    }
    atomic_store(&c->start, m.start);
    atomic_fetch_add(&gone.code_count, 1);
    wait_for_answer(function, m.start, m.start + m.size);
}

void gone_thread_goes(ThreadID thread)
{
    atomic_store(&gone.threads[atomic_fetch_add(&gone.thread_count, 1) % THREADS], thread);
    wait_for_answer(thread, 0, 0);
}

void gone_thread_comes(ThreadID thread)
{
    for (unsigned i = 0; i < THREADS; i++) {
        uintptr_t there = atomic_load_explicit(&gone.threads[i], memory_order_relaxed);

        if (there == thread)
            atomic_compare_exchange_strong(&gone.threads[i], &there, 0);
    }
}
