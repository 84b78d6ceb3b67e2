/* gc_events: see gc_events.h. */
#include "clr/gc_events.h"

enum { LARGE_SPACE = 3, HISTORY_HEAD = 2 + 6 * 8 + 6 * 4 + 8, REST_OF_SPACE = 4 * 8 };

uint64_t gc_spaces_add(gc_spaces *spaces, reader *r)
{
    uint64_t left = 0;
    uint32_t count;

    reader_skip(r, HISTORY_HEAD);
    count = reader_u32(r);
    for (uint32_t i = 0; i < count && i < GC_SPACES; i++) {
        uint64_t before = reader_u64(r);
        uint64_t after;
        uint64_t room;

        reader_skip(r, 2 * 8); /* free room before */
        after = reader_u64(r);
        room = reader_u64(r);
        room += reader_u64(r);
        reader_skip(r, REST_OF_SPACE);
        if (reader_failed(r))
            break;
        spaces->before[i] += before;
        spaces->after[i] += after;
        spaces->free += room;
        left += after;
    }
    return left;
}

uint64_t gc_spaces_allocated(gc_known_sizes *known, const gc_spaces *spaces, bool in_background)
{
    uint64_t allocated = 0;

    for (unsigned i = in_background ? 1 : 0; i < GC_SPACES; i++) {
        if (spaces->before[i] == 0 && spaces->after[i] == 0)
            continue; /* not collected */
        if ((i == 0 || i >= LARGE_SPACE) && known->is_known[i] &&
            spaces->before[i] > known->sizes[i])
            allocated += spaces->before[i] - known->sizes[i];
        known->sizes[i] = spaces->after[i];
        known->is_known[i] = true;
    }
    return allocated;
}
