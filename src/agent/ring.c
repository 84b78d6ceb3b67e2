/* ring: see ring.h. */
#include "agent/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The head word of a record, never 0 once committed:
 * bits 0-3 state, 4-15 kind, 16-39 bytes used, 40-63 room in units of 8 bytes, head included. */
enum { HEAD = 8, STATE_RECORD = 1, STATE_PADDING = 2 };

static uint64_t head_word(unsigned state, unsigned kind, size_t length, size_t room)
{
    return (uint64_t)state | (uint64_t)kind << 4 | (uint64_t)length << 16 |
           (uint64_t)(room / 8) << 40;
}

static size_t room_for(size_t length)
{
    return (length + HEAD + 7) & ~(size_t)7;
}

static _Atomic uint64_t *head_at(ring *r, uint64_t position)
{
    return (_Atomic uint64_t *)(void *)(r->data + (position & (r->size - 1)));
}

__attribute__((cold)) int ring_create(ring *r, size_t size, int wake, error *e)
{
    void *memory;

    memset(r, 0, sizeof *r);
    r->wake = wake;
    if (size < 4096 || (size & (size - 1)) != 0 || size > ((size_t)32 << 20))
        return error_set(e, ERROR_BUG, "a ring cannot have %zu bytes", size);
    memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return error_set_errno(e, ERROR_MEMORY, errno, "no memory for a ring of %zu bytes", size);
    r->data = memory;
    r->size = size;
    return 0;
}

void ring_destroy(ring *r)
{
    if (r->data != NULL)
        munmap(r->data, r->size);
    r->data = NULL;
    r->size = 0;
}

static SIGNAL_SAFE void wake_consumer(ring *r, uint64_t fill)
{
    uint64_t one = 1;
    int saved;

    if (r->wake < 0 || fill < r->size / 2 ||
        atomic_load_explicit(&r->waking, memory_order_relaxed) ||
        atomic_exchange_explicit(&r->waking, true, memory_order_relaxed))
        return;
    saved = errno;
    if (write(r->wake, &one, sizeof one) < 0)
        atomic_store_explicit(&r->waking, false, memory_order_relaxed);
    errno = saved;
}

SIGNAL_SAFE void *ring_reserve(ring *r, size_t length)
{
    size_t room = room_for(length);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    size_t padding;
    uint64_t tail;

    if (r->size == 0 || length > r->size / 4)
        goto full;
    do {
        size_t to_end = r->size - (size_t)(head & (r->size - 1));

        tail = atomic_load_explicit(&r->seen, memory_order_acquire);
        padding = to_end < room ? to_end : 0;
        if (head + padding + room - tail > r->size / 2) {
            tail = atomic_load_explicit(&r->tail, memory_order_acquire);
            atomic_store_explicit(&r->seen, tail, memory_order_release);
        }
        /* `tail` may be newer than `head`: then the compare-and-swap fails and we look again */
        if (head >= tail && head + padding + room - tail > r->size)
            goto full;
    } while (!atomic_compare_exchange_weak_explicit(&r->head, &head, head + padding + room,
                                                    memory_order_acq_rel, memory_order_relaxed));
    if (padding != 0)
        atomic_store_explicit(head_at(r, head), head_word(STATE_PADDING, 0, 0, padding),
                              memory_order_release);
    wake_consumer(r, head + padding + room - tail);
    return (uint8_t *)head_at(r, head + padding) + HEAD;
full:
    atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
    return NULL;
}

SIGNAL_SAFE void ring_commit(ring *r, void *payload, size_t reserved, unsigned kind, size_t length)
{
    _Atomic uint64_t *head = (_Atomic uint64_t *)(void *)((uint8_t *)payload - HEAD);
    unsigned state = kind == 0 ? STATE_PADDING : STATE_RECORD;

    (void)r;
    atomic_store_explicit(head, head_word(state, kind, length, room_for(reserved)),
                          memory_order_release);
}

static void give_back(ring *r, uint64_t tail, size_t room)
{
    memset(r->data + (tail & (r->size - 1)), 0, room);
    atomic_store_explicit(&r->tail, tail + room, memory_order_release);
}

bool ring_next(ring *r, ring_record *record)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    if (r->size == 0)
        return false;
    if (atomic_load_explicit(&r->waking, memory_order_relaxed))
        atomic_store_explicit(&r->waking, false, memory_order_relaxed);
    for (;;) {
        uint64_t word = atomic_load_explicit(head_at(r, tail), memory_order_acquire);
        size_t room = (size_t)(word >> 40) * 8;

        if (word == 0) /* not committed, or nothing is there */
            return false;
        if ((word & 15) == STATE_RECORD) {
            record->kind = (unsigned)(word >> 4 & 0xfff);
            record->length = (size_t)(word >> 16 & 0xffffff);
            record->payload = (uint8_t *)head_at(r, tail) + HEAD;
            return true;
        }
        give_back(r, tail, room);
        tail += room;
    }
}

void ring_release(ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t word = atomic_load_explicit(head_at(r, tail), memory_order_relaxed);

    give_back(r, tail, (size_t)(word >> 40) * 8);
}
