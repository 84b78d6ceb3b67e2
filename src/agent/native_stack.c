/* native_stack: see native_stack.h. */
#include "agent/native_stack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEEPEST = 64, LIST_BYTES = 8192, COPIED = 4096 };

native_stack_spot native_stack_place(uint32_t os_thread)
{
    native_stack_spot spot = {0, 0, -1};
    char path[64], text[256];
    char *end = text;
    int descriptor;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", (unsigned)os_thread);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return spot;
    n = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (n <= 0 || text[0] < '0' || text[0] > '9')
        return spot;
    text[n] = '\0';
    spot.call = strtol(text, &end, 10);
    for (int i = 0; i < 6; i++)
        strtoull(end, &end, 16);
    spot.stack = (uintptr_t)strtoull(end, &end, 16);
    spot.instruction = (uintptr_t)strtoull(end, NULL, 16);
    return spot;
}

/* A stretch of the stack, copied in one go, and the memory for what is further up. */
typedef struct {
    peek_copy copy;
    const peek *memory;
} copied;

static bool read_copied(void *context, uint64_t address, void *out, size_t size)
{
    copied *c = context;

    return peek_copy_read(&c->copy, address, out, size) || peek_read(c->memory, address, out, size);
}

/* The frames up to the first managed one, leaf first; how many. */
static size_t walk(sampling_code *code, native_stack_spot spot, uint32_t *frames, bool *is_whole)
{
    uint8_t bytes[COPIED];
    copied stretch = {{spot.stack, bytes, peek_read_some(&code->memory, spot.stack, bytes, COPIED)},
                      &code->memory};
    peek stack = {read_copied, &stretch};
    stackwalk_code known = {sampling_code_is_code, code};
    stackwalk_registers r = {.known = 1u << STACKWALK_RSP | 1u << STACKWALK_RIP};
    stackwalk_end end = STACKWALK_GOES_ON;
    bool leaf = true;
    size_t count = 0;

    r.value[STACKWALK_RSP] = spot.stack;
    r.value[STACKWALK_RIP] = spot.instruction;
    while (end == STACKWALK_GOES_ON && count < DEEPEST) {
        sampling_address here = *sampling_code_at(code, r.value[STACKWALK_RIP], leaf);

        *is_whole = here.place == SAMPLING_MANAGED;
        if (here.place == SAMPLING_UNKNOWN || *is_whole)
            return count;
        if (here.frame != 0)
            frames[count++] = here.frame;
        leaf = here.rule.kind == STACKWALK_RULE_SIGNAL;
        end = stackwalk_step(&r, &here.rule, &stack, &known);
    }
    *is_whole = end == STACKWALK_COMPLETE;
    return count;
}

uint32_t native_stack_walk(sampling_code *code, uint32_t os_thread, native_stack_spot spot,
                           uint32_t managed)
{
    names *n = &code->agent->names;
    uint32_t frames[DEEPEST];
    uint32_t stack = managed;
    native_stack_spot now;
    bool is_whole = false;
    size_t count;

    if (spot.stack == 0)
        return managed;
    count = walk(code, spot, frames, &is_whole);
    now = native_stack_place(os_thread);
    if (count == 0 || now.stack != spot.stack || now.instruction != spot.instruction)
        return managed;
    if (!is_whole)
        stack = names_stack_on(n, stack, names_frame_synthetic(n, "(incomplete)"));
    while (count > 0)
        stack = names_stack_on(n, stack, frames[--count]);
    return stack;
}

typedef struct {
    uint64_t inode;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
} listed; /* as the kernel writes it */

void native_stack_each_thread(void (*visit)(void *context, uint32_t os_thread), void *context)
{
    _Alignas(8) char bytes[LIST_BYTES];
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;

    if (folder < 0)
        return;
    while ((n = syscall(SYS_getdents64, folder, bytes, sizeof bytes)) > 0) {
        for (long at = 0; at < n;) {
            const listed *item = (const listed *)(const void *)(bytes + at);
            unsigned long os_thread = strtoul(item->name, NULL, 10);

            at += item->length;
            if (os_thread != 0)
                visit(context, (uint32_t)os_thread);
        }
    }
    close(folder);
}
