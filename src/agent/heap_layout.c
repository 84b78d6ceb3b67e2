/* heap_layout: see heap_layout.h. */
#include "agent/heap_layout.h"

#include "agent/read_self.h"

enum {
    HAS_ELEMENTS = INT32_MIN,
    HAS_REFERENCES = 0x01000000,
    MOST_RUNS = 16,
};

/* A run of references; its length is told less the object's. */
typedef struct {
    int64_t length;
    int64_t start;
} run;

int heap_layout_read(ClassID class_id, uint32_t flags, uint32_t base,
                     uint16_t places[HEAP_LAYOUT_PLACES])
{
    int64_t run_count = (int64_t)read_self_word(class_id - sizeof(uintptr_t));
    int count = 0;

    if ((flags & HEAP_LAYOUT_COLLECTIBLE) != 0)
        return HEAP_LAYOUT_UNKNOWN;
    if ((flags & HAS_REFERENCES) == 0)
        return 0;
    if ((flags & (uint32_t)HAS_ELEMENTS) != 0 || run_count < 1 || run_count > MOST_RUNS)
        return HEAP_LAYOUT_UNKNOWN;
    for (int64_t i = 1; i <= run_count; i++) {
        run one;

        if (!read_self(class_id - sizeof(uintptr_t) - (uintptr_t)i * sizeof one, &one, sizeof one))
            return HEAP_LAYOUT_UNKNOWN;
        one.length += base;
        if (one.start < 8 || one.length < 0 || one.start % 8 != 0 || one.length % 8 != 0 ||
            one.start > base || one.length > base - one.start ||
            one.length / 8 > HEAP_LAYOUT_PLACES - count)
            return HEAP_LAYOUT_UNKNOWN;
        for (int64_t at = one.start; at < one.start + one.length; at += 8)
            places[count++] = (uint16_t)(at / 8);
    }
    return count;
}

bool heap_layout_is_references(ClassID class_id, uint32_t flags, uint32_t base)
{
    const uint32_t all = (uint32_t)HAS_ELEMENTS | HAS_REFERENCES;
    run one;

    return (flags & (all | HEAP_LAYOUT_COLLECTIBLE)) == all &&
           (flags & 0xffff) == sizeof(uintptr_t) &&
           read_self_word(class_id - sizeof(uintptr_t)) == 1 &&
           read_self(class_id - sizeof(uintptr_t) - sizeof one, &one, sizeof one) &&
           one.start == (int64_t)base - 8 && one.length == -(int64_t)base;
}
