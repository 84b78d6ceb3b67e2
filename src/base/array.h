/* array: growing arrays of any item; sizes are checked, growth doubles. */
#ifndef CLARINET_BASE_ARRAY_H
#define CLARINET_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

/* Makes `*items` hold at least `needed` items of `size` bytes, new ones cleared; false when there
 * is no memory: then everything is as it was. */
static inline bool array_reserve(void *items, size_t *capacity, size_t needed, size_t size)
{
    size_t wish = *capacity < 16 ? 16 : *capacity;
    void *old;
    void *grown;

    if (needed <= *capacity)
        return true;
    while (wish < needed)
        wish *= 2;
    if (wish > SIZE_MAX / 2 / size)
        return false;
    memcpy(&old, items, sizeof old);
    grown = memory_resize(old, wish * size);
    if (grown == NULL)
        return false;
    memset((char *)grown + *capacity * size, 0, (wish - *capacity) * size);
    memcpy(items, &grown, sizeof grown);
    *capacity = wish;
    return true;
}

/* Gives back the room of items that did not come; the array may move. */
static inline void array_trim(void *items, size_t *capacity, size_t count, size_t size)
{
    void *old;
    void *less;

    if (count == 0 || count >= *capacity)
        return;
    memcpy(&old, items, sizeof old);
    less = memory_resize(old, count * size);
    if (less == NULL)
        return;
    memcpy(items, &less, sizeof less);
    *capacity = count;
}

#endif
