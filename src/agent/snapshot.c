/* snapshot: see snapshot.h. */
#include "agent/snapshot.h"

typedef struct {
    uintptr_t *addresses;
    size_t count;
    size_t capacity;
    bool cut;
} walk;

static HRESULT CLR_CALL take_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    walk *w = data;

    (void)frame;
    (void)context_size;
    (void)context;
    if (function == 0)
        return S_OK; /* a run of native frames */
    if (w->count == w->capacity) {
        w->cut = true;
        return S_FALSE;
    }
    w->addresses[w->count++] = ip;
    return S_OK;
}

size_t snapshot_take(const clr_info *info, uintptr_t *addresses, size_t capacity, bool *cut)
{
    walk w = {addresses, 0, capacity, false};

    clr_info_do_stack_snapshot(info, 0, take_frame, COR_PRF_SNAPSHOT_DEFAULT, &w, NULL, 0);
    *cut = w.cut;
    return w.count;
}
