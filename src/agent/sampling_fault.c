/*
 * sampling_fault: stands before the runtime's SIGSEGV handler while signals are armed.
 *
 * A thread gets its larger alternate stack with its first signal (sampling_signal.c). If that first
 * signal came while the runtime's SIGSEGV handler is deep on the small stack (9.5 of 12 KB were
 * seen used; a signal frame with AVX-512 state takes 3.3 KB), it would run over the end. So the
 * first fault of such a thread moves here: the kernel's frame is copied to a large stack, that
 * stack becomes the alternate one, and the runtime's handler runs there. Every later fault of the
 * thread goes straight through.
 *
 * The runtime leaves its handler in two ways: it returns (then what it changed in the frame is
 * copied back), or it never does (then the copy is simply left behind).
 *
 * The handler of samples may load words of memory that is gone (sampling_try_load): such a fault
 * ends here, and the load answers that there is nothing.
 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/sampling_chain.h"
#include "base/os.h"

enum {
    STATE_SIZE_AT = 468,
    STATE_ALIGNMENT = 64,
    KERNEL_CONTEXT = 304,
    SETTLE_MS = 200,
    ASK_EVERY = 7
};

/* The handler that was there before; set before ours is installed. */
static struct sigaction before_fault;

/* Whether ours is still installed: the program may put another one in its place. Asking the kernel
 * takes half a microsecond, so only every few samples do; no divisor of the eight of which one is
 * measured (sampling_signal.c), so that the cost is seen. Whoever stands before ours meanwhile and
 * does not know an address hands the fault on to ours, as it would to the runtime. */
static atomic_bool in_place;
static atomic_uint asked;

typedef struct {
    int number;
    siginfo_t *info;
    ucontext_t *context;
    stack_t stack;
} fault;

/* Runs on the large stack. */
SIGNAL_SAFE static void continue_fault(fault *f)
{
    sigaltstack(&f->stack, NULL);
    before_fault.sa_sigaction(f->number, f->info, f->context);
}

/* Calls continue_fault with the stack pointer at `top`. */
SIGNAL_SAFE static void call_on(uintptr_t top, fault *f)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[function]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(f)
                     : [top] "r"(top), [function] "r"(continue_fault)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

/* Copies the kernel's frame to the top of the large stack and goes on there. */
SIGNAL_SAFE static void move_fault(sampling_thread *t, uintptr_t stack, int number, siginfo_t *info,
                                   ucontext_t *context, uint32_t state_size)
{
    uintptr_t state =
        (stack + SAMPLING_STACK_SIZE - state_size) & ~(uintptr_t)(STATE_ALIGNMENT - 1);
    ucontext_t *copy = (ucontext_t *)((state - KERNEL_CONTEXT) & ~(uintptr_t)15);
    siginfo_t *info_copy = (siginfo_t *)((uintptr_t)copy - sizeof *info_copy);
    fault *f = (fault *)(((uintptr_t)info_copy - sizeof *f) & ~(uintptr_t)15);

    memcpy((void *)state, context->uc_mcontext.fpregs, state_size);
    memcpy(copy, context, KERNEL_CONTEXT);
    memcpy(info_copy, info, sizeof *info_copy);
    copy->uc_mcontext.fpregs = (void *)state;
    copy->uc_stack.ss_sp = (void *)stack;
    copy->uc_stack.ss_size = SAMPLING_STACK_SIZE;
    atomic_store_explicit(&t->replaced_size, context->uc_stack.ss_size, memory_order_relaxed);
    atomic_store_explicit(&t->replaced, (uintptr_t)context->uc_stack.ss_sp, memory_order_relaxed);
    atomic_store_explicit(&t->alternate, stack, memory_order_release);
    *f = (fault){number, info_copy, copy, copy->uc_stack};
    call_on((uintptr_t)f, f);
    /* It returned: the kernel goes on as the copy says, and with the large stack. */
    memcpy(context->uc_mcontext.fpregs, (void *)state, state_size);
    copy->uc_mcontext.fpregs = context->uc_mcontext.fpregs;
    memcpy(context, copy, KERNEL_CONTEXT);
}

/* bool sampling_try_load(uintptr_t address, uintptr_t *out): the first instruction may fault, and
 * on_fault then goes on at the second label. */
extern const char sampling_try_load_failed[];
__asm__(".pushsection .text\n\t"
        ".p2align 4\n\t"
        ".hidden sampling_try_load\n\t"
        ".globl sampling_try_load\n\t"
        ".type sampling_try_load, @function\n"
        "sampling_try_load:\n\t"
        "movq (%rdi), %rax\n\t"
        "movq %rax, (%rsi)\n\t"
        "movl $1, %eax\n\t"
        "ret\n"
        ".hidden sampling_try_load_failed\n\t"
        ".globl sampling_try_load_failed\n"
        "sampling_try_load_failed:\n\t"
        "xorl %eax, %eax\n\t"
        "ret\n\t"
        ".size sampling_try_load, . - sampling_try_load\n\t"
        ".popsection");

SIGNAL_SAFE static bool mend_load(ucontext_t *context)
{
    if (context->uc_mcontext.gregs[REG_RIP] != (greg_t)(uintptr_t)sampling_try_load)
        return false;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)sampling_try_load_failed;
    return true;
}

SIGNAL_SAFE static void on_fault(int number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t start = (uintptr_t)context->uc_stack.ss_sp;
    const uint8_t *state = (const uint8_t *)context->uc_mcontext.fpregs;
    sampling_thread *t = NULL;
    uintptr_t stack = 0;
    uint32_t size = 0;

    if (mend_load(context))
        return;
    if ((context->uc_stack.ss_flags & SS_DISABLE) == 0 &&
        context->uc_stack.ss_size < SAMPLING_STACK_SIZE && here > start &&
        here - start < context->uc_stack.ss_size && state != NULL) {
        memcpy(&size, state + STATE_SIZE_AT, sizeof size);
        t = sampling_own_slot();
        if (t != NULL && size >= 512 && size < SAMPLING_STACK_SIZE / 2) {
            /* One that it has already is not in use: this handler is on the small one. */
            stack = atomic_load_explicit(&t->alternate, memory_order_relaxed);
            stack = stack != 0 ? stack : sampling_stacks_take();
        }
    }
    if (stack != 0)
        move_fault(t, stack, number, info, context, size);
    else
        before_fault.sa_sigaction(number, info, context);
}

SIGNAL_SAFE bool sampling_fault_can_mend(const ucontext_t *context)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } found = {NULL, 0, NULL, 0}; /* as the kernel has it */
    uint64_t blocked;

    memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
    if ((blocked >> (SIGSEGV - 1) & 1) != 0)
        return false;
    if (atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) % ASK_EVERY == 0)
        atomic_store(&in_place,
                     syscall(SYS_rt_sigaction, SIGSEGV, NULL, &found, sizeof found.mask) == 0 &&
                         found.handler == (void *)(uintptr_t)on_fault);
    return atomic_load_explicit(&in_place, memory_order_relaxed);
}

/* Whether a thread has SIGSEGV blocked: it is inside a handler that began before ours stood. */
static bool is_in_fault(int os_thread)
{
    return (sampling_status_of(os_thread).blocked >> (SIGSEGV - 1) & 1) != 0;
}

void sampling_fault_arm(void)
{
    struct sigaction action;

    if (sigaction(SIGSEGV, NULL, &action) != 0 ||
        (action.sa_flags & (SA_SIGINFO | SA_ONSTACK)) != (SA_SIGINFO | SA_ONSTACK) ||
        action.sa_sigaction == on_fault)
        return;
    before_fault = action;
    action.sa_sigaction = on_fault;
    if (sigaction(SIGSEGV, &action, NULL) != 0)
        return;
    /* Handlers that were running are over in microseconds, unless their thread waits for a CPU. */
    for (unsigned waited = 0; waited < SETTLE_MS; waited += 5) {
        bool busy = false;

        for (size_t i = 0; i < SAMPLING_THREADS && !busy; i++) {
            int os_thread = atomic_load(&sampling_state.owners[i]);

            busy = os_thread != 0 && atomic_load(&sampling_state.threads[i].managed) &&
                   atomic_load(&sampling_state.threads[i].alternate) == 0 && is_in_fault(os_thread);
        }
        if (!busy)
            return;
        os_sleep_ms(5);
    }
}

void sampling_fault_disarm(void)
{
    struct sigaction action;

    atomic_store(&in_place, false);
    atomic_store(&asked, 0);
    if (sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_sigaction == on_fault)
        sigaction(SIGSEGV, &before_fault, NULL);
}
