/* arena: see arena.h. Every block is preceded by a 16-byte head that names its class. */
#include "agent/arena.h"

#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

enum {
    HEAD = 16,
    SLAB = 64 << 10,
    LARGEST_SMALL = 32 << 10,
    CLASS_LARGE = 0xff,
    PAGE = 4096,
};

typedef struct {
    uint32_t class_index;
    uint32_t check; /* catches a pointer that is not ours */
    uint64_t room;  /* usable bytes */
} block_head;

enum { CHECK = 0x434c5231 };

struct arena_slab {
    arena_slab *next;
    uint64_t unused;
};

struct arena_large {
    arena_large *next;
    arena_large *previous;
    size_t mapped;
    uint64_t unused;
    block_head head;
};

struct arena_free_block {
    arena_free_block *next;
};

_Static_assert(sizeof(block_head) == HEAD, "blocks stay aligned to 16");
_Static_assert(sizeof(arena_large) % 16 == 0, "blocks stay aligned to 16");

/* Class sizes, head included: 32, 48, 64, 96, 128, … 32768. */
static size_t class_size(unsigned index)
{
    size_t base = (size_t)32 << (index / 2);

    return index % 2 == 0 ? base : base + base / 2;
}

static unsigned class_of(size_t size)
{
    unsigned index = 0;

    while (class_size(index) < size)
        index++;
    return index;
}

void arena_init(arena *a, size_t cap)
{
    memset(a, 0, sizeof *a);
    a->cap = cap;
}

void arena_lend(arena *a, void *memory, size_t size)
{
    a->slab_next = memory;
    a->slab_left = size;
}

void arena_destroy(arena *a)
{
    while (a->larges != NULL) {
        arena_large *large = a->larges;

        a->larges = large->next;
        munmap(large, large->mapped);
    }
    while (a->slabs != NULL) {
        arena_slab *slab = a->slabs;

        a->slabs = slab->next;
        munmap(slab, SLAB);
    }
    memset(a->free_blocks, 0, sizeof a->free_blocks);
    a->slab_next = NULL;
    a->slab_left = 0;
    atomic_store(&a->mapped, 0);
    atomic_store(&a->idle, 0);
    atomic_store(&a->refused, 0);
}

/* Takes `bytes` of the cap; the caller holds no lock. */
static int charge(arena *a, size_t bytes)
{
    size_t now = atomic_load_explicit(&a->mapped, memory_order_relaxed);

    do {
        if (bytes > a->cap || now > a->cap - bytes) {
            atomic_fetch_add_explicit(&a->refused, 1, memory_order_relaxed);
            return ERROR_LIMIT;
        }
    } while (!atomic_compare_exchange_weak_explicit(&a->mapped, &now, now + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return 0;
}

static void discharge(arena *a, size_t bytes)
{
    atomic_fetch_sub_explicit(&a->mapped, bytes, memory_order_relaxed);
}

int arena_charge(arena *a, ptrdiff_t bytes)
{
    if (bytes >= 0)
        return charge(a, (size_t)bytes);
    discharge(a, (size_t)-bytes);
    return 0;
}

static void *map_charged(arena *a, size_t bytes)
{
    void *memory;

    if (charge(a, bytes) != 0)
        return NULL;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        discharge(a, bytes);
        atomic_fetch_add_explicit(&a->refused, 1, memory_order_relaxed);
        return NULL;
    }
    return memory;
}

static void *allocate_small(arena *a, size_t size)
{
    unsigned index = class_of(size + HEAD);
    size_t whole = class_size(index);
    block_head *head = NULL;

    lock_take(&a->guard);
    if (a->free_blocks[index] != NULL) {
        arena_free_block *block = a->free_blocks[index];

        a->free_blocks[index] = block->next;
        atomic_fetch_sub_explicit(&a->idle, whole, memory_order_relaxed);
        head = (block_head *)(void *)((uint8_t *)block - HEAD);
    } else {
        if (a->slab_left < whole) {
            arena_slab *slab = map_charged(a, SLAB);

            if (slab != NULL) {
                slab->next = a->slabs;
                a->slabs = slab;
                a->slab_next = (uint8_t *)slab + sizeof *slab;
                a->slab_left = SLAB - sizeof *slab;
            }
        }
        if (a->slab_left >= whole) {
            head = (block_head *)(void *)a->slab_next;
            a->slab_next += whole;
            a->slab_left -= whole;
        }
    }
    lock_give(&a->guard);
    if (head == NULL)
        return NULL;
    head->class_index = index;
    head->check = CHECK;
    head->room = whole - HEAD;
    return head + 1;
}

static void *allocate_large(arena *a, size_t size)
{
    size_t bytes;
    arena_large *large;

    if (size > a->cap)
        bytes = SIZE_MAX & ~(size_t)(PAGE - 1); /* refused by the cap below */
    else
        bytes = (size + sizeof *large + PAGE - 1) & ~(size_t)(PAGE - 1);
    large = map_charged(a, bytes);
    if (large == NULL)
        return NULL;
    large->mapped = bytes;
    large->head.class_index = CLASS_LARGE;
    large->head.check = CHECK;
    large->head.room = bytes - sizeof *large;
    lock_take(&a->guard);
    large->previous = NULL;
    large->next = a->larges;
    if (a->larges != NULL)
        a->larges->previous = large;
    a->larges = large;
    lock_give(&a->guard);
    return large + 1;
}

static void release(arena *a, void *pointer)
{
    block_head *head = (block_head *)pointer - 1;

    if (head->check != CHECK)
        return; /* not ours: leaking it is the smaller harm */
    if (head->class_index == CLASS_LARGE) {
        arena_large *large = (arena_large *)pointer - 1;
        size_t bytes = large->mapped;

        lock_take(&a->guard);
        if (large->previous != NULL)
            large->previous->next = large->next;
        else
            a->larges = large->next;
        if (large->next != NULL)
            large->next->previous = large->previous;
        lock_give(&a->guard);
        munmap(large, bytes);
        discharge(a, bytes);
    } else {
        arena_free_block *block = pointer;

        lock_take(&a->guard);
        block->next = a->free_blocks[head->class_index];
        a->free_blocks[head->class_index] = block;
        atomic_fetch_add_explicit(&a->idle, class_size(head->class_index), memory_order_relaxed);
        lock_give(&a->guard);
    }
}

void *arena_resize(void *context, void *pointer, size_t size)
{
    arena *a = context;
    block_head *head;
    void *moved;

    if (size == 0) {
        if (pointer != NULL)
            release(a, pointer);
        return NULL;
    }
    if (pointer != NULL) {
        head = (block_head *)pointer - 1;
        if (head->room >= size)
            return pointer;
    }
    moved = size + HEAD <= LARGEST_SMALL ? allocate_small(a, size) : allocate_large(a, size);
    if (moved != NULL && pointer != NULL) {
        head = (block_head *)pointer - 1;
        memcpy(moved, pointer, head->room < size ? (size_t)head->room : size);
        release(a, pointer);
    }
    return moved;
}
