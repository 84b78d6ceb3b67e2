/*
 * sampling_signal: the signal handler, and choosing, installing and sending its signal.
 *
 * The handler allocates nothing, locks nothing, calls nothing of the runtime or of libc beyond
 * plain system calls, keeps errno, and touches only memory that is never freed. It blocks every
 * other signal while it runs: a signal of the runtime's then interrupts the program, not us. Only
 * SIGSEGV comes through, for loads that may fail (sampling_chain.h).
 */
#include "agent/sampling.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/sampling_chain.h"
#include "base/os.h"

/* Small code: once per session. */
#define SELDOM __attribute__((cold))

sampling_shared sampling_state;

/* si_code of a timer's signal, and of ours that carry a value. */
enum { FROM_TIMER = -2, FROM_QUEUE = -1, LIKED_REAL_TIME = 53, LAST_REAL_TIME = 62 };

/* What sigqueue-like system calls read: the kernel's siginfo, 128 bytes. */
typedef struct {
    int number, error, code, padding;
    int process;
    unsigned user;
    void *value;
    char rest[128 - 32];
} queued_info;

/* The slot that a timer's or our own signal comes for; NULL = it is another's. */
SIGNAL_SAFE static sampling_thread *find_slot(const siginfo_t *info)
{
    uintptr_t at = (uintptr_t)info->si_value.sival_ptr - (uintptr_t)sampling_state.threads;

    if ((info->si_code != FROM_TIMER && info->si_code != FROM_QUEUE) ||
        at >= sizeof sampling_state.threads || at % sizeof(sampling_thread) != 0)
        return NULL;
    return &sampling_state.threads[at / sizeof(sampling_thread)];
}

/*
 * Where the limit of the user's pending signals is reached (or no memory is left) the kernel
 * delivers a signal below the real-time ones without what was sent with it. Those of timers have
 * room from the start.
 */
SIGNAL_SAFE static bool is_bare(const siginfo_t *info)
{
    return info->si_signo < SAMPLING_REAL_TIME && info->si_code == SI_USER && info->si_pid == 0;
}

SIGNAL_SAFE static void lose(sampling_kind kind, unsigned reason, uint64_t count)
{
    atomic_fetch_add_explicit(&sampling_state.lost[kind][reason], count, memory_order_relaxed);
}

/* Whether the interrupted code is itself a signal handler on the alternate stack. */
SIGNAL_SAFE static bool is_on_alternate(const ucontext_t *context)
{
    uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    uintptr_t start = (uintptr_t)context->uc_stack.ss_sp;

    return (context->uc_stack.ss_flags & SS_DISABLE) == 0 && at > start &&
           at - start <= context->uc_stack.ss_size;
}

/*
 * Where the thread's own stack stood when the handler on the alternate stack began; 0 = not to be
 * seen. The kernel builds the first frame at the stack's very end: the floating point state,
 * aligned to 64, then the frame of 440 bytes. The frame's own pointer to that state proves the
 * place.
 */
SIGNAL_SAFE static uintptr_t find_outer_stack(const ucontext_t *context)
{
    enum { FRAME = 440, SAVED_SIZE = 468, RSP_IN_CONTEXT = 160, STATE_IN_CONTEXT = 224 };
    const uint8_t *own_state = (const uint8_t *)context->uc_mcontext.fpregs;
    uintptr_t end = (uintptr_t)context->uc_stack.ss_sp + context->uc_stack.ss_size;
    uintptr_t state, frame, found;
    uint32_t size;

    if (own_state == NULL)
        return 0;
    memcpy(&size, own_state + SAVED_SIZE, sizeof size);
    if (size < 512 || size > context->uc_stack.ss_size / 2)
        return 0;
    state = (end - size) & ~(uintptr_t)63;
    frame = ((state - FRAME) & ~(uintptr_t)15) - 8;
    if (frame < (uintptr_t)context->uc_mcontext.gregs[REG_RSP])
        return 0;
    memcpy(&found, (const void *)(frame + 8 + STATE_IN_CONTEXT), sizeof found);
    if (found != state)
        return 0;
    memcpy(&found, (const void *)(frame + 8 + RSP_IN_CONTEXT), sizeof found);
    return found;
}

/* Gives the interrupted thread a larger alternate stack: the kernel installs what the frame says
 * when the handler returns. */
SIGNAL_SAFE static void swap_stack(sampling_thread *t, ucontext_t *context)
{
    uintptr_t stack = atomic_load_explicit(&t->alternate, memory_order_relaxed);

    if ((context->uc_stack.ss_flags & SS_DISABLE) != 0 ||
        context->uc_stack.ss_size >= SAMPLING_STACK_SIZE || is_on_alternate(context))
        return;
    if (stack == 0)
        stack = sampling_stacks_take();
    if (stack == 0)
        return;
    atomic_store_explicit(&t->replaced_size, context->uc_stack.ss_size, memory_order_relaxed);
    atomic_store_explicit(&t->replaced, (uintptr_t)context->uc_stack.ss_sp, memory_order_relaxed);
    atomic_store_explicit(&t->alternate, stack, memory_order_release);
    context->uc_stack.ss_sp = (void *)stack;
    context->uc_stack.ss_size = SAMPLING_STACK_SIZE;
}

SIGNAL_SAFE size_t sampling_read_memory(uint8_t *to, uintptr_t from, size_t length)
{
    struct iovec local = {to, length};
    struct iovec remote = {(void *)from, length};
    long n;

    if (sampling_state.memory >= 0)
        n = syscall(SYS_pread64, sampling_state.memory, to, length, (long)from);
    else
        n = syscall(SYS_process_vm_readv, sampling_state.process, &local, 1UL, &remote, 1UL, 0UL);
    return n > 0 ? (size_t)n : 0;
}

/* Copies stack memory: a system call, but for the part of the thread's own stack that is known to
 * be there: live frames do not go away. */
SIGNAL_SAFE static size_t copy_stack(const sampling_thread *t, uint8_t *to, uintptr_t from,
                                     size_t length)
{
    uintptr_t readable = atomic_load_explicit(&t->readable_from, memory_order_acquire);
    uintptr_t end = atomic_load_explicit(&t->readable_end, memory_order_relaxed);

    if (readable != 0 && from >= readable && from < end && length <= end - from) {
        memcpy(to, (const void *)from, length);
        return length;
    }
    return sampling_read_memory(to, from, length);
}

SIGNAL_SAFE static void copy_registers(uint64_t *to, const ucontext_t *context)
{
    static const uint8_t FROM[STACKWALK_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

    for (unsigned i = 0; i < STACKWALK_REGISTERS; i++)
        to[i] = (uint64_t)context->uc_mcontext.gregs[FROM[i]];
}

SIGNAL_SAFE size_t sampling_copy_length(const sampling_thread *t, sampling_kind kind,
                                        uintptr_t from)
{
    uintptr_t end = atomic_load_explicit(&t->stack_end, memory_order_relaxed);
    size_t limit = atomic_load_explicit(&t->copy_limit[kind], memory_order_relaxed);

    return end > from && end - from < limit ? end - from : limit;
}

/* The same of the running thread. Where nothing is known of its stack yet: libc keeps what belongs
 * to a thread at the end of the stack that it made for it. */
SIGNAL_SAFE static size_t own_copy_length(const sampling_thread *t, sampling_kind kind,
                                          uintptr_t from)
{
    size_t length = sampling_copy_length(t, kind, from);
    uintptr_t own = (uintptr_t)__builtin_thread_pointer();

    return own > from && own - from < length ? own - from : length;
}

SIGNAL_SAFE static bool take(sampling_thread *t, sampling_kind kind, uint64_t now, unsigned weight,
                             uint64_t cpu, ucontext_t *context)
{
    uintptr_t from = (uintptr_t)context->uc_mcontext.gregs[REG_RSP] - SAMPLING_RED_ZONE, outer = 0;
    bool nested = is_on_alternate(context);
    bool chained = !nested && atomic_load_explicit(&chain_state.low, memory_order_relaxed) != 0;
    size_t length, outer_length = 0, room;
    sampling_capture *c;

    atomic_fetch_add_explicit(&t->taken, 1, memory_order_relaxed);
    if (nested) {
        length = (uintptr_t)context->uc_stack.ss_sp + context->uc_stack.ss_size - from;
        outer = find_outer_stack(context);
        outer_length = outer != 0 ? own_copy_length(t, kind, outer) : 0;
    } else {
        length = own_copy_length(t, kind, from);
    }
    room = sizeof *c + length + outer_length + (chained ? CHAIN_WORDS * sizeof(uint64_t) : 0);
    c = ring_reserve(&sampling_state.captures, room);
    if (c == NULL) {
        lose(kind, SAMPLING_LOST_RING, weight);
        return false;
    }
    c->time_ns = now;
    c->slot = (uint32_t)(t - sampling_state.threads);
    c->thread = atomic_load_explicit(&t->thread, memory_order_relaxed);
    c->weight = weight;
    c->kind = (uint16_t)kind;
    c->cpu_ns = cpu;
    c->period_ns = atomic_load_explicit(kind == SAMPLING_LATE ? &t->late_for : &t->period_ns,
                                        memory_order_relaxed);
    c->flags = (uint16_t)((nested ? SAMPLING_ON_ALTERNATE : 0) | sampling_runtime_flags(t));
    if (kind == SAMPLING_WALL)
        c->flags |= (uint16_t)atomic_load_explicit(&t->sent_flags, memory_order_relaxed);
    copy_registers(c->registers, context);
    c->stack_address = from;
    c->stack_length = copy_stack(t, c->stack, from, length);
    c->outer_address = outer;
    c->outer_length =
        outer_length != 0 ? copy_stack(t, c->stack + c->stack_length, outer, outer_length) : 0;
    c->chain_length = 0;
    if (c->stack_length == 0) {
        lose(kind, SAMPLING_LOST_COPY, weight);
        ring_commit(&sampling_state.captures, c, room, 0, 0);
        return false;
    }
    if (chained)
        c->chain_length =
            sampling_chain_collect(context, &t->chain, c->stack, from, (size_t)c->stack_length,
                                   c->stack + c->stack_length);
    if (kind == SAMPLING_WALL)
        atomic_fetch_add_explicit(&t->unread, 1, memory_order_relaxed);
    ring_commit(&sampling_state.captures, c, room, 1,
                sizeof *c + c->stack_length + c->outer_length + c->chain_length);
    return true;
}

static void on_signal(int number, siginfo_t *info, void *context);

/* A signal that is not ours: what would have happened without us. */
SIGNAL_SAFE static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &sampling_state.previous;
    struct sigaction standard;

    if ((before->sa_flags & SA_SIGINFO) != 0 && before->sa_sigaction != NULL) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler == SIG_DFL) {
        if (number == SIGURG)
            return; /* its default is nothing */
        /* A handler of the program that came after us and calls ours too has taken it. */
        if (sigaction(number, NULL, &standard) != 0 || standard.sa_sigaction != on_signal)
            return;
        /* The default ends the process: let it, as soon as this handler returns. */
        memset(&standard, 0, sizeof standard);
        standard.sa_handler = SIG_DFL;
        sigaction(number, &standard, NULL);
        syscall(SYS_tgkill, sampling_state.process, syscall(SYS_gettid), number);
    } else if (before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    }
}

SIGNAL_SAFE static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The handler's own time is taken with the CPU clock, which costs a system call: of a thread's
 * first signal, and then of every eighth, which stands for eight; and of the first of cpu, whose
 * sample stands for what the clock says. 0 = not this one. */
SIGNAL_SAFE static unsigned weight_of_measure(const sampling_thread *t, bool is_timed)
{
    uint64_t taken = atomic_load_explicit(&t->taken, memory_order_relaxed);

    if (taken == 0 || (is_timed && !atomic_load(&t->ticked)))
        return 1;
    return taken % 8 == 4 ? 8 : 0;
}

/* Reading the clock is part of what is measured once, and of what is done twice. */
SIGNAL_SAFE static void count_time(uint64_t elapsed, unsigned count)
{
    uint64_t reading = sampling_state.clock_cost_ns;
    uint64_t work = elapsed > reading ? elapsed - reading : 0;

    atomic_fetch_add_explicit(&sampling_state.handler_ns, work * count + 2 * reading,
                              memory_order_relaxed);
}

/* A sample of one kind, and what its profiler has to know of it. */
SIGNAL_SAFE static void sample(sampling_thread *t, sampling_kind kind, unsigned weight,
                               uint64_t start, ucontext_t *context)
{
    bool taken = take(t, kind, clock_ns(CLOCK_MONOTONIC), weight, start, context);

    if (kind == SAMPLING_CPU) {
        if (taken)
            atomic_store_explicit(&t->ticked, true, memory_order_relaxed);
        return;
    }
    /* The time we took is not the thread's: it must not look as if it had gone on. Of a holder
     * without a stack it does: it is asked again, the one before may be from elsewhere. */
    if (kind == SAMPLING_WALL)
        atomic_store_explicit(&t->clock_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID),
                              memory_order_relaxed);
    else
        atomic_store_explicit(&sampling_state.held, true, memory_order_release);
    if (kind == SAMPLING_HOLDER)
        atomic_store_explicit(&t->held_clock_ns, taken ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0,
                              memory_order_relaxed);
    atomic_fetch_and_explicit(&t->pending, ~(1u << kind), memory_order_release);
}

/*
 * Of signals below the real-time ones a thread keeps only the first: what was sent behind it, ours
 * or another's, is gone. So who asks for a sample leaves a bit, and any signal takes all that are
 * asked for. Those of timers tell themselves.
 */
SIGNAL_SAFE static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    sampling_thread *t = find_slot(info);
    bool is_ours = t != NULL || is_bare(info);
    bool is_timed = t != NULL && info->si_code == FROM_TIMER;
    unsigned pending;

    if (t == NULL)
        t = sampling_own_slot();
    atomic_fetch_add(&sampling_state.inside, 1);
    /* A slot is freed only when its thread is gone, and signals come to that thread alone. */
    pending = t != NULL && atomic_load(&sampling_state.armed) &&
                      atomic_load_explicit(&t->thread, memory_order_relaxed) != 0
                  ? atomic_load_explicit(&t->pending, memory_order_acquire) | (unsigned)is_timed
                                                                                  << SAMPLING_CPU
                  : 0;
    if (pending != 0) {
        unsigned count = weight_of_measure(t, is_timed);
        uint64_t start = count != 0 ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
        unsigned ticks = is_timed && info->si_overrun > 0 ? (unsigned)info->si_overrun + 1 : 1;

        swap_stack(t, context);
        for (unsigned kind = 0; kind < SAMPLING_KINDS; kind++, ticks = 1) {
            if ((pending >> kind & 1) != 0)
                sample(t, kind, ticks, start, context);
        }
        if (count != 0)
            count_time(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start, count);
        atomic_fetch_add_explicit(&sampling_state.handler_calls, 1, memory_order_relaxed);
    }
    atomic_fetch_sub(&sampling_state.inside, 1);
    if (!is_ours)
        pass_on(number, info, context);
    errno = saved;
}

SELDOM static bool is_free(int number, struct sigaction *found)
{
    return sigaction(number, NULL, found) == 0 && (found->sa_flags & SA_SIGINFO) == 0 &&
           found->sa_handler == SIG_DFL;
}

/*
 * SIGURG, where it is free: a program that sets signals back to their default, as some libraries do
 * with all of them, is not ended by it, and gdb passes it on without a word. Else a free
 * real-time signal, from the middle of them downwards and then from the end. (Programs count theirs
 * from either end, from SIGRTMIN or SIGRTMAX.) First those that the main thread does not block: the
 * program may take a blocked one by sigwait, without any handler. Not SIGPROF while there is
 * another: a program may begin to use that at any time after us, and would then get our ticks, and
 * we no samples.
 *
 * None (-1) where SIGURG has a handler on alternate stacks: so does Go's runtime, whose stacks have
 * no room for our handler, while the .NET runtime's alternate ones are in use when they look free.
 */
SELDOM static int choose_signal(struct sigaction *found)
{
    uint64_t blocked = sampling_status_of(os_process_id()).blocked;
    struct itimerval timer;

    if (sigaction(SIGURG, NULL, found) == 0 && (found->sa_flags & SA_ONSTACK) != 0)
        return -1;
    memset(&timer, 0, sizeof timer);
    getitimer(ITIMER_PROF, &timer);
    sampling_state.own_profile_signal =
        !is_free(SIGPROF, found) || timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
    for (int pass = 0; pass < 2; pass++, blocked = 0) {
        for (int i = -1; i <= LAST_REAL_TIME - SAMPLING_REAL_TIME; i++) {
            int number = i < 0 ? SIGURG : LIKED_REAL_TIME - i;

            if (i >= 0 && number < SAMPLING_REAL_TIME)
                number += LAST_REAL_TIME - SAMPLING_REAL_TIME + 1;
            if ((blocked >> (number - 1) & 1) == 0 && is_free(number, found))
                return number;
        }
    }
    return sampling_state.own_profile_signal || !is_free(SIGPROF, found) ? 0 : SIGPROF;
}

/* Whether process_vm_readv works on ourselves; a strict seccomp filter may forbid it. */
SELDOM static void choose_reading(void)
{
    uint64_t from = 42, to = 0;
    struct iovec local = {&to, sizeof to};
    struct iovec remote = {&from, sizeof from};

    sampling_state.process = os_process_id();
    if (sampling_state.memory > 0)
        return;
    sampling_state.memory = -1;
    if (syscall(SYS_process_vm_readv, sampling_state.process, &local, 1UL, &remote, 1UL, 0UL) !=
            (long)sizeof to ||
        to != 42)
        sampling_state.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

/* What reading a thread's CPU clock takes, at its quickest. */
SELDOM static void measure_clock(void)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 16; i++) {
        uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t elapsed = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;

        least = elapsed < least ? elapsed : least;
    }
    sampling_state.clock_cost_ns = least;
}

/* The library must never be unmapped again: a late signal needs its handler. */
SELDOM static bool stay_mapped(void)
{
    Dl_info self;

    return dladdr((void *)(uintptr_t)on_signal, &self) != 0 && self.dli_fname != NULL &&
           dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE | RTLD_NOLOAD) != NULL;
}

bool sampling_is_installed(void)
{
    struct sigaction found;
    int number = atomic_load(&sampling_state.number);

    return number != 0 && sigaction(number, NULL, &found) == 0 &&
           (found.sa_flags & (SA_SIGINFO | SA_ONSTACK)) == SA_SIGINFO &&
           found.sa_sigaction == on_signal;
}

SELDOM static int install(int number)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    /* Not on the alternate stack: the runtime's SIGSEGV handler goes back to the thread's own
     * stack while its frames on the alternate one are still in use. */
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);
    return sigaction(number, &action, NULL);
}

SELDOM int sampling_arm(error *e)
{
    struct sigaction found;
    int number;

    choose_reading();
    measure_clock();
    sampling_stacks_fill();
    if (!sampling_is_installed()) {
        if (!stay_mapped())
            return error_set(e, ERROR_RUNTIME, "the agent cannot keep itself loaded (%s)",
                             dlerror());
        number = choose_signal(&found);
        sampling_state.refusal = number > 0    ? NULL
                                 : number == 0 ? "uses SIGURG, SIGPROF and all real-time signals"
                                               : "handles SIGURG on other stacks, as Go does: "
                                                 "its own are too small for samples";
        if (number <= 0)
            return 0;
        sampling_state.previous = found;
        if (install(number) != 0)
            return error_set_errno(e, ERROR_IO, errno, "cannot handle signal %d", number);
        atomic_store(&sampling_state.number, number);
        atomic_store(&sampling_state.armed_ns, os_monotonic_ns());
    }
    atomic_store(&sampling_state.armed, true);
    return 0;
}

SELDOM void sampling_keep_signal(void)
{
    uint64_t interval = sampling_state.interval_ns[SAMPLING_CPU];

    if (sampling_is_installed())
        return;
    sampling_threads_hear(true);
    sampling_timers_set(0, sampling_state.monotonic); /* what they send is the program's now */
    atomic_store(&sampling_state.number, 0);
    sampling_arm(NULL);
    if (interval != 0)
        sampling_timers_set(interval, sampling_state.monotonic);
}

/* To ignore a signal discards those that wait behind a thread's mask: nobody shall find them there
 * after we have gone. Of SIGURG the default is to ignore it; of the others a late one would end the
 * process, and still needs its handler. */
SELDOM static void discard_pending(void)
{
    struct sigaction ignore;
    int number = atomic_load(&sampling_state.number);

    if (!sampling_is_installed())
        return;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = number == SIGURG ? SIG_DFL : SIG_IGN;
    if (sigaction(number, &ignore, NULL) == 0 && number != SIGURG)
        install(number);
}

SELDOM bool sampling_disarm(void)
{
    atomic_store(&sampling_state.armed, false);
    discard_pending();
    for (int i = 0; i < 1000 && atomic_load(&sampling_state.inside) != 0; i++)
        os_sleep_ms(1);
    return atomic_load(&sampling_state.inside) == 0;
}

bool sampling_send(sampling_thread *t, sampling_kind kind)
{
    int number = atomic_load(&sampling_state.number);
    unsigned bit = 1u << kind, before;
    queued_info info;

    /* The program may have set it to something else since, or back to what ends the process. */
    if (!sampling_is_installed()) {
        lose(kind, SAMPLING_LOST_SIGNAL, 1);
        return false;
    }
    if (sampling_is_deaf(t)) {
        lose(kind, SAMPLING_LOST_DEAF, 1);
        return false;
    }
    memset(&info, 0, sizeof info);
    info.number = number;
    info.code = FROM_QUEUE;
    info.process = sampling_state.process;
    info.user = getuid();
    info.value = t;
    before = atomic_fetch_or(&t->pending, bit);
    if (syscall(SYS_rt_tgsigqueueinfo, sampling_state.process, atomic_load(&t->thread), number,
                &info) == 0)
        return true;
    if (errno != ESRCH) /* it has just ended */
        lose(kind, SAMPLING_LOST_SIGNAL, 1);
    if ((before & bit) == 0)
        atomic_fetch_and(&t->pending, ~bit);
    return false;
}

/*
 * A thread that stands still is not woken again, as with wall: its last stack is still the one. One
 * that has not taken the last signal, because it blocks it or does not run, gets few more: those of
 * real time would pile up. Some, since the program may have thrown the last one away.
 */
bool sampling_ask_holder(int os_thread)
{
    enum { APART_NS = 10000000, ASKING_APART_NS = 1000000000, MOVED_NS = 40000 };
    sampling_thread *t = os_thread > 0 ? sampling_thread_at(os_thread, SAMPLING_MEET) : NULL;
    uint64_t now = os_monotonic_ns(), before, clock, seen;

    if (t == NULL)
        return false;
    before = atomic_load(&t->asked_ns);
    if (now - before < (sampling_is_asked(t, SAMPLING_HOLDER) ? ASKING_APART_NS : APART_NS) ||
        !atomic_compare_exchange_strong(&t->asked_ns, &before, now))
        return false;
    atomic_store(&t->managed, true); /* who else holds a lock */
    clock = sampling_thread_clock(os_thread);
    seen = atomic_load(&t->held_clock_ns);
    if (seen != 0 && clock <= seen + MOVED_NS)
        return true;
    if (clock != 0)
        sampling_send(t, SAMPLING_HOLDER);
    return false;
}

SELDOM sampling_thread *sampling_find_running(uint64_t deadline_ns)
{
    int self = os_thread_id();
    sampling_thread *found = NULL;

    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];
        int os_thread = atomic_load(&t->thread);
        sampling_status seen;

        if (!atomic_load(&t->managed) || os_thread == self)
            continue;
        if (os_monotonic_ns() >= deadline_ns)
            return NULL;
        seen = sampling_status_of(os_thread);
        if (!seen.runs || seen.compiles)
            continue;
        if (found != NULL)
            return NULL;
        found = t;
    }
    return found;
}
