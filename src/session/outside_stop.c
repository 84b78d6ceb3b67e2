/*
 * outside_stop: see outside_stop.h. A thread that was seized is let go in any case: by us, or by
 * the kernel when this tool ends. A signal that arrives meanwhile is handed on.
 */
#include "session/outside_stop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/os.h"
#include "diagnostics/procfs.h"
#include "stackwalk/peek.h"

enum { PATIENCE_MS = 500, SHORT_NS = 20000, EVENT_STOP = 128 };

void outside_copy_stack(const peek *memory, outside_thread *out)
{
    out->copied =
        peek_read_some(memory, out->registers.value[STACKWALK_RSP], out->stack, sizeof out->stack);
    /* halves may stop short of a stack's end by nearly a half: the rest, in smaller steps */
    for (size_t step = 16384; step >= 8 && out->copied != 0; step /= 2)
        while (out->copied + step <= sizeof out->stack &&
               peek_read(memory, out->registers.value[STACKWALK_RSP] + out->copied,
                         out->stack + out->copied, step))
            out->copied += step;
}

static void copy_stack(int process, outside_thread *out)
{
    peek_process memory = {process, -1};

    outside_copy_stack(&(peek){peek_process_read, &memory}, out);
}

static void take_registers(const struct user_regs_struct *from, outside_thread *out)
{
    uint64_t *to = out->registers.value;

    to[STACKWALK_RAX] = from->rax;
    to[STACKWALK_RDX] = from->rdx;
    to[STACKWALK_RCX] = from->rcx;
    to[STACKWALK_RBX] = from->rbx;
    to[STACKWALK_RSI] = from->rsi;
    to[STACKWALK_RDI] = from->rdi;
    to[STACKWALK_RBP] = from->rbp;
    to[STACKWALK_RSP] = from->rsp;
    to[STACKWALK_R8] = from->r8;
    to[STACKWALK_R8 + 1] = from->r9;
    to[STACKWALK_R8 + 2] = from->r10;
    to[STACKWALK_R8 + 3] = from->r11;
    to[STACKWALK_R8 + 4] = from->r12;
    to[STACKWALK_R8 + 5] = from->r13;
    to[STACKWALK_R8 + 6] = from->r14;
    to[STACKWALK_R8 + 7] = from->r15;
    to[STACKWALK_RIP] = from->rip;
    out->registers.known = (1u << STACKWALK_REGISTERS) - 1;
    out->call = (long)from->orig_rax;
}

/* Waits until the interrupted thread stands still; false when it has ended or does not. */
static bool wait_for_stop(int thread, int *status)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)PATIENCE_MS * 1000000;
    struct timespec pause = {0, SHORT_NS};

    for (;;) {
        int got = waitpid(thread, status, __WALL | WNOHANG);

        if (got == thread)
            return WIFSTOPPED(*status);
        if ((got < 0 && errno != EINTR) || os_monotonic_ns() >= end)
            return false;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

static int stop_by_trace(int process, int thread, outside_thread *out)
{
    struct user_regs_struct registers;
    uint64_t begin;
    int status = 0, signal_number;
    bool done;

    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
        return errno == ESRCH ? ERROR_GONE : ERROR_PERMISSION;
    begin = os_monotonic_ns();
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
        return ERROR_GONE;
    if (!wait_for_stop(thread, &status))
        return WIFEXITED(status) || WIFSIGNALED(status) ? ERROR_GONE : ERROR_BUSY;
    done = ptrace(PTRACE_GETREGS, thread, NULL, &registers) == 0;
    if (done) {
        take_registers(&registers, out);
        copy_stack(process, out);
    }
    signal_number = status >> 16 == EVENT_STOP ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal_number);
    out->stopped_ns = os_monotonic_ns() - begin;
    return done ? 0 : ERROR_GONE;
}

/* The kernel's word: "running", or the call, its six arguments, stack pointer and instruction; or
 * -1 and these two. */
static int ask_kernel(int process, int thread, outside_thread *out)
{
    buffer text = BUFFER_EMPTY;
    char name[64];
    char *at;
    int code;

    snprintf(name, sizeof name, "task/%d/syscall", thread);
    code = procfs_read(process, name, 256, &text);
    if (code != 0 || text.length == 0) {
        buffer_free(&text);
        return code == -ENOENT || code == -ESRCH || code == 0 ? ERROR_GONE : ERROR_PERMISSION;
    }
    code = ERROR_BUSY;
    if (buffer_text(&text)[0] == '-' ||
        (buffer_text(&text)[0] >= '0' && buffer_text(&text)[0] <= '9')) {
        out->call = strtol(buffer_text(&text), &at, 10);
        for (int i = 0; out->call >= 0 && i < 6; i++)
            strtoull(at, &at, 16);
        out->registers.value[STACKWALK_RSP] = strtoull(at, &at, 16);
        out->registers.value[STACKWALK_RIP] = strtoull(at, NULL, 16);
        out->registers.known = 1u << STACKWALK_RSP | 1u << STACKWALK_RIP;
        code = 0;
    }
    buffer_free(&text);
    return code;
}

int outside_stop(int process, int thread, outside_thread *out)
{
    int code;

    memset(&out->registers, 0, sizeof out->registers);
    out->call = -1;
    out->copied = 0;
    out->stopped_ns = 0;
    out->is_traced = false;
    code = stop_by_trace(process, thread, out);
    if (code != ERROR_PERMISSION && code != ERROR_BUSY)
        return code;
    code = ask_kernel(process, thread, out);
    if (code == 0) {
        out->is_traced = true;
        copy_stack(process, out);
    }
    return code;
}
