/* blocks: see blocks.h. Things come from the front of a block, text, which needs no alignment, from
 * its back. */
#include "rules/blocks.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_SIZE = 4096, LARGEST_SIZE = 1 << 16 };

struct block {
    struct block *next;
    size_t begin; /* what is free */
    size_t end;
    max_align_t data[];
};

/* A block with so much room. */
static block *block_with(blocks *from, size_t size)
{
    block *b = from->first;
    size_t room = from->next_size == 0 ? FIRST_SIZE : from->next_size;

    if (b != NULL && b->end - b->begin >= size)
        return b;
    if (room < LARGEST_SIZE)
        from->next_size = room * 2;
    if (room < size)
        room = size;
    if (room > SIZE_MAX / 2)
        return NULL;
    b = memory_allocate(sizeof *b + room);
    if (b == NULL)
        return NULL;
    b->next = from->first;
    b->begin = 0;
    b->end = room;
    from->first = b;
    return b;
}

void *blocks_take(blocks *from, size_t size)
{
    size_t whole = (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    block *b = block_with(from, whole);
    void *taken;

    if (b == NULL)
        return NULL;
    taken = (uint8_t *)b->data + b->begin;
    b->begin += whole;
    return taken;
}

char *blocks_take_text(blocks *from, const void *bytes, size_t length)
{
    block *b = block_with(from, length + 1);
    char *text;

    if (b == NULL)
        return NULL;
    b->end -= length + 1;
    text = (char *)b->data + b->end;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return text;
}

void blocks_free(blocks *from)
{
    while (from->first != NULL) {
        block *next = from->first->next;

        memory_free(from->first);
        from->first = next;
    }
    from->next_size = 0;
}
