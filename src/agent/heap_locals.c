/* heap_locals: see heap_locals.h. */
#include "agent/heap_locals.h"

#include <string.h>

#include "agent/read_self.h"
#include "base/memory.h"

enum {
    THREAD_WORDS = 512, /* of a thread that are looked at */
    MOST_MODULES = 4096,
    MOST_CLASSES = 1 << 20, /* of one module */
    MOST_ASKED = 64,
    FEWEST_LEARNT = 2,
    LOCAL_PLAIN = 16, /* of what a thread has for a module: the handle of the plain classes */
    CLASS_STEP = 16,  /* between the generic ones */
};

/* A table and how many it has room for. */
typedef struct {
    uint64_t at, count;
} table;

typedef struct {
    heap_locals *locals;
    uint8_t (*taken)[MOST_MODULES / 8]; /* numbers, for each place of a module */
} numbering;

static bool is_place(uint64_t word)
{
    return (word & 7) == 0 && word >= 4096;
}

/* What a place leads to; 0 = nothing. */
static uint64_t follow(uint64_t address)
{
    uint64_t word = is_place(address) ? read_self_word(address) : 0;

    return is_place(word) ? word : 0;
}

static bool read_table(uint64_t address, uint64_t most, table *found)
{
    return read_self(address, found, sizeof *found) && is_place(found->at) && found->count <= most;
}

static int visit_module(void *context, uintptr_t module)
{
    numbering *n = context;
    uint32_t numbers[HEAP_LOCALS_NUMBERS];

    if (!read_self(module, numbers, sizeof numbers))
        return 1;
    for (size_t i = 0; i < HEAP_LOCALS_NUMBERS; i++) {
        uint32_t number = numbers[i] < MOST_MODULES ? numbers[i] : 0;
        uint8_t bit = (uint8_t)(1u << number % 8);

        n->locals->is_out[i] |= number != numbers[i] || (n->taken[i][number / 8] & bit) != 0;
        n->taken[i][number / 8] |= bit;
    }
    return 1;
}

bool heap_locals_open(heap_locals *l, const clr_info *info)
{
    numbering n = {.locals = l};

    memset(l, 0, sizeof *l);
    n.taken = memory_allocate_array(HEAP_LOCALS_NUMBERS, sizeof *n.taken);
    if (n.taken == NULL)
        return false;
    clr_each_module(info, visit_module, &n);
    memory_free(n.taken);
    return true;
}

/* By which number the thread has the array in the table at that word; false: it has not. */
static bool find_number(ThreadID thread, size_t word, uint64_t array, uint64_t *number)
{
    table t;

    if (!read_table(thread + 8 * word, MOST_MODULES, &t))
        return false;
    for (*number = 0; *number < t.count; ++*number) {
        uint64_t local = follow(t.at + 8 * *number);

        if (local != 0 && follow(follow(local + LOCAL_PLAIN)) == array)
            return true;
    }
    return false;
}

void heap_locals_learn(heap_locals *l, ThreadID thread, ModuleID module, uint64_t array)
{
    size_t word = l->thread_word != 0 ? l->thread_word : 1;
    size_t end = l->thread_word != 0 ? word + 1 : THREAD_WORDS;
    uint32_t numbers[HEAP_LOCALS_NUMBERS];
    uint64_t number = 0;

    if (module == l->module || l->asked == MOST_ASKED ||
        !read_self(module, numbers, sizeof numbers))
        return;
    l->asked++;
    while (word < end && !find_number(thread, word, array, &number))
        word++;
    if (word == end)
        return;
    l->thread_word = word;
    l->module = module;
    l->learnt++;
    for (size_t i = 0; i < HEAP_LOCALS_NUMBERS; i++)
        l->is_out[i] |= numbers[i] != number;
}

bool heap_locals_is_clear(heap_locals *l)
{
    size_t left = 0;

    for (size_t i = 0; i < HEAP_LOCALS_NUMBERS; i++) {
        if (l->is_out[i])
            continue;
        l->number = i;
        left++;
    }
    return left == 1 && l->learnt >= FEWEST_LEARNT;
}

uint64_t heap_locals_find(const heap_locals *l, ThreadID thread, ModuleID module, uint64_t number)
{
    uint32_t index;
    table modules, classes;

    if (!read_self(module + 4 * l->number, &index, sizeof index) ||
        !read_table(thread + 8 * l->thread_word, MOST_MODULES, &modules) ||
        index >= modules.count ||
        !read_table(follow(modules.at + 8 * index), MOST_CLASSES, &classes) ||
        number >= classes.count)
        return 0;
    return follow(follow(classes.at + CLASS_STEP * number));
}
