/*
 * sampling_still: the stack of a thread that waits where it has waited before, without a signal.
 *
 * A signal ends some waits, and the runtime begins them anew with the whole of their time: poll,
 * and a receive with a timeout. The kernel tells where a blocked thread stands. Where instruction
 * and stack pointer are those of an earlier sample of the thread, so are the registers that its
 * callers' frames hang on; the stack is copied as it is now, and the walk shows whether all of it
 * fits. A thread whose CPU clock has not moved meanwhile stood still.
 *
 * Some calls end for good with a signal, for whoever called them: a native sleep is over. There the
 * walk is tried with instruction and stack pointer alone, the first time too. Unwind tables and the
 * runtime's record of a native call mostly tell the rest (sampling_walk.c).
 *
 * Thread rules: sampling_still_take on the sampler of wall; the rest on the agent's own thread,
 * which walks the samples.
 */
#include <string.h>
#include <sys/syscall.h>

#include "agent/native_stack.h"
#include "agent/sampling.h"
#include "recording/encode.h"

static still_place *find_place(sampling_thread *t, uint64_t stack, uint64_t instruction)
{
    for (unsigned i = 0; i < STILL_PLACES && stack != 0; i++) {
        still_place *place = &t->still.places[i];

        /* A call that the kernel would begin again has the instruction itself. */
        if (atomic_load(&place->stack) == stack &&
            (place->registers[STACKWALK_RIP] == instruction ||
             place->registers[STACKWALK_RIP] + 2 == instruction))
            return place;
    }
    return NULL;
}

uint32_t sampling_still_state(long call)
{
    switch (call) {
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return RECORDING_STATE_SLEEP;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        return RECORDING_STATE_IO;
    case SYS_pause:
    case SYS_semtimedop:
        return RECORDING_STATE_WAIT;
    default:
        return 0;
    }
}

void sampling_still_learn(sampling_thread *t, const sampling_capture *c, bool whole)
{
    uint64_t stack = c->registers[STACKWALK_RSP];
    still_place *place = find_place(t, stack, c->registers[STACKWALK_RIP]);

    if (place != NULL && !whole)
        atomic_store(&place->stack, 0);
    if (place != NULL || !whole)
        return;
    place = &t->still.places[atomic_fetch_add(&t->still.learned, 1) % STILL_PLACES];
    atomic_store(&place->stack, 0);
    memcpy(place->registers, c->registers, sizeof c->registers);
    atomic_store(&place->stack, stack);
}

enum { BARE_TRIES = 4 };

bool sampling_still_take(sampling_thread *t, uint64_t clock, uint64_t now, uint64_t period,
                         bool busy)
{
    int os_thread = atomic_load(&t->thread);
    native_stack_spot spot = {.call = -1}; /* it runs */
    still_place *place;
    sampling_capture *c;
    uintptr_t from;
    size_t length;
    bool bare;

    /* Most threads that run have never waited: the kernel need not be asked. */
    if (!busy || atomic_load(&t->still.learned) != 0)
        spot = native_stack_place((uint32_t)os_thread);
    /* A thread that waits is woken by the signal, and may have to wait for a processor until the
     * collection is over for which it was stopped. */
    atomic_store(&t->sent_flags,
                 (sampling_runtime_flags(t) & SAMPLING_STOPPING) |
                     (spot.call < 0 && spot.stack == 0 ? (unsigned)SAMPLING_READY : 0u));
    if (spot.call == SYS_rt_sigtimedwait)
        atomic_store(&t->deaf_ns, now); /* it takes signals there, and would ours */
    place = find_place(t, spot.stack, spot.instruction);
    bare = place == NULL && sampling_still_state(spot.call) != 0 &&
           atomic_load(&t->bare_failures) < BARE_TRIES;
    if (place == NULL && !bare)
        return false;
    t->bare |= bare;
    from = spot.stack - SAMPLING_RED_ZONE;
    length = sampling_copy_length(t, SAMPLING_WALL, from);
    c = ring_reserve(&sampling_state.captures, sizeof *c + length);
    if (c == NULL)
        return false;
    memset(c, 0, sizeof *c);
    c->time_ns = now;
    c->slot = (uint32_t)(t - sampling_state.threads);
    c->thread = os_thread;
    c->weight = 1;
    c->kind = SAMPLING_WALL;
    c->flags = (uint16_t)(SAMPLING_STILL | (bare ? SAMPLING_BARE : 0) | sampling_runtime_flags(t));
    c->period_ns = period;
    if (!bare)
        memcpy(c->registers, place->registers, sizeof c->registers);
    c->registers[STACKWALK_RSP] = spot.stack;
    c->registers[STACKWALK_RIP] = spot.instruction;
    c->registers[STACKWALK_RAX] = (uint64_t)spot.call;
    c->stack_address = from;
    c->stack_length = sampling_read_memory(c->stack, from, length);
    if (c->stack_length == 0 || sampling_thread_clock(os_thread) != clock ||
        (!bare && atomic_load(&place->stack) != spot.stack)) {
        ring_commit(&sampling_state.captures, c, sizeof *c + length, 0, 0);
        return false;
    }
    atomic_fetch_add(&t->unread, 1);
    ring_commit(&sampling_state.captures, c, sizeof *c + length, 1, sizeof *c + c->stack_length);
    return true;
}
