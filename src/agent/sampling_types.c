/* sampling_types: see sampling_types.h. */
#include "agent/sampling_types.h"

#include <string.h>

enum {
    COPIED = 4 << 10, /* bytes of stack: our frames and the innermost of the runtime */
    ENOUGH = 24,      /* stacks */
    DEEPEST = 16,
};

/* Stacks that the callback may still take. */
static atomic_int wanted;

/* ---- in the callback ---- */

/* The registers that a walk needs, as they are here. */
#define KEEP_REGISTERS(to)                                                                         \
    __asm__ volatile("leaq 0f(%%rip), %%rax\n"                                                     \
                     "0:\n\t"                                                                      \
                     "movq %%rax, 128(%[registers])\n\t"                                           \
                     "movq %%rbx, 24(%[registers])\n\t"                                            \
                     "movq %%rbp, 48(%[registers])\n\t"                                            \
                     "movq %%rsp, 56(%[registers])\n\t"                                            \
                     "movq %%r12, 96(%[registers])\n\t"                                            \
                     "movq %%r13, 104(%[registers])\n\t"                                           \
                     "movq %%r14, 112(%[registers])\n\t"                                           \
                     "movq %%r15, 120(%[registers])"                                               \
                     :                                                                             \
                     : [registers] "r"(to)                                                         \
                     : "rax", "memory")
#define KEPT (1u << 3 | 1u << STACKWALK_RBP | 1u << STACKWALK_RSP | 0xf000u | 1u << STACKWALK_RIP)
_Static_assert(STACKWALK_RBP == 6 && STACKWALK_RSP == 7 && STACKWALK_RIP == 16, "the offsets");

static void capture(void)
{
    size_t room = sizeof(sampling_capture) + COPIED;
    sampling_capture *c = ring_reserve(&sampling_state.captures, room);

    if (c == NULL)
        return;
    memset(c, 0, sizeof *c);
    c->flags = SAMPLING_LOADS_TYPE;
    KEEP_REGISTERS(c->registers);
    c->stack_address = c->registers[STACKWALK_RSP];
    c->stack_length = sampling_read_memory(c->stack, (uintptr_t)c->stack_address, COPIED);
    ring_commit(&sampling_state.captures, c, room, 1, sizeof *c + c->stack_length);
}

void sampling_on_class_loading(agent *a)
{
    (void)a;
    if (atomic_load_explicit(&wanted, memory_order_relaxed) <= 0)
        return;
    /* As the handler does: the ring stays while somebody is inside. */
    atomic_fetch_add(&sampling_state.inside, 1);
    if (atomic_load(&sampling_state.armed) && atomic_fetch_sub(&wanted, 1) > 0)
        capture();
    atomic_fetch_sub(&sampling_state.inside, 1);
}

/* ---- on the agent's own thread ---- */

void sampling_types_start(const sampling_types *t)
{
    atomic_store(&wanted, t->stacks < ENOUGH ? (int)(ENOUGH - t->stacks) : 0);
}

/* The innermost functions of the runtime, outside of our own; how many. */
static unsigned walk(sampling_code *code, const sampling_capture *c, uint32_t *functions)
{
    peek_copy copy = {c->stack_address, c->stack, (size_t)c->stack_length};
    peek stack = {peek_copy_read, &copy};
    stackwalk_code known = {sampling_code_is_code, code};
    stackwalk_registers r = {.known = KEPT};
    stackwalk_end end = STACKWALK_GOES_ON;
    uint32_t own = 0;
    unsigned count = 0;

    memcpy(r.value, c->registers, sizeof r.value);
    for (unsigned depth = 0; depth < DEEPEST && count < SAMPLING_LOADERS; depth++) {
        sampling_address here = *sampling_code_at(code, r.value[STACKWALK_RIP], depth == 0);
        const names_frame *f = here.place == SAMPLING_NATIVE && here.frame != 0
                                   ? names_get_frame(&code->agent->names, here.frame)
                                   : NULL;

        if (f == NULL || end != STACKWALK_GOES_ON)
            return 0;
        own = depth == 0 ? f->a : own;
        if (f->a != own)
            functions[count++] = here.frame;
        end = stackwalk_step(&r, &here.rule, &stack, &known);
    }
    return count;
}

void sampling_types_learn(sampling_types *t, sampling_code *code, const sampling_capture *c)
{
    uint32_t functions[SAMPLING_LOADERS];
    unsigned same = 0;

    if (walk(code, c, functions) != SAMPLING_LOADERS)
        return;
    if (t->stacks++ == 0) {
        memcpy(t->functions, functions, sizeof functions);
        t->count = SAMPLING_LOADERS;
    }
    while (same < t->count && t->functions[same] == functions[same])
        same++;
    t->count = same;
}

bool sampling_types_has(const sampling_types *t, uint32_t frame)
{
    for (unsigned i = t->count; i > 0; i--) {
        if (t->functions[i - 1] == frame)
            return true;
    }
    return false;
}
