/* snapshot: see snapshot.h. */
#include "agent/snapshot.h"

enum { MAXIMUM_FRAMES = 4096 };

typedef struct {
    snapshot *result;
    size_t seen;
    size_t limit; /* of frames that are looked at */
} walk;

static HRESULT CLR_CALL take_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    walk *w = data;
    snapshot *s = w->result;

    (void)frame;
    (void)context_size;
    (void)context;
    if (function == 0)
        return S_OK; /* a run of native frames */
    s->cut = s->count == s->capacity;
    if (w->seen++ == w->limit) {
        s->outermost = 0;
        return S_FALSE;
    }
    if (!s->cut)
        s->addresses[s->count++] = ip;
    if (s->leaf == 0)
        s->leaf = function;
    s->outermost = function;
    return S_OK;
}

static void take(const clr_info *info, snapshot *s, size_t limit)
{
    walk w = {s, 0, limit};

    clr_info_do_stack_snapshot(info, 0, take_frame, COR_PRF_SNAPSHOT_DEFAULT, &w, NULL, 0);
}

void snapshot_walk(const clr_info *info, snapshot *s)
{
    take(info, s, MAXIMUM_FRAMES);
}

typedef struct {
    FunctionID function;
    uint32_t count;
} counting;

static HRESULT CLR_CALL count_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                    uint32_t context_size, uint8_t *context, void *data)
{
    counting *c = data;

    (void)ip;
    (void)frame;
    (void)context_size;
    (void)context;
    c->count += function == c->function;
    return S_OK;
}

uint32_t snapshot_count(const clr_info *info, FunctionID function)
{
    counting c = {function, 0};

    clr_info_do_stack_snapshot(info, 0, count_frame, COR_PRF_SNAPSHOT_DEFAULT, &c, NULL, 0);
    return c.count;
}

typedef struct {
    FunctionID function;
    uintptr_t address;
} finding;

static HRESULT CLR_CALL find_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    finding *f = data;

    (void)frame;
    (void)context_size;
    (void)context;
    if (function != f->function || function == 0)
        return S_OK;
    f->address = ip;
    return S_FALSE;
}

uintptr_t snapshot_address_of(const clr_info *info, FunctionID function)
{
    finding f = {function, 0};

    clr_info_do_stack_snapshot(info, 0, find_frame, COR_PRF_SNAPSHOT_DEFAULT, &f, NULL, 0);
    return f.address;
}

size_t snapshot_take(const clr_info *info, uintptr_t *addresses, size_t capacity, bool *cut)
{
    snapshot s = {.addresses = addresses, .capacity = capacity};

    take(info, &s, capacity);
    *cut = s.cut;
    return s.count;
}
