/* allocations_live: see allocations_live.h. */
#include "profilers/allocations_live.h"

#include <string.h>

#include "base/memory.h"

enum { MOST_OBJECTS = 20000, MOST_SHIFT = 20 };

static bool stays(uint64_t draw, unsigned shift)
{
    return (draw & ((UINT64_C(1) << shift) - 1)) == 0;
}

ObjectHandleID allocations_live_hold(agent *a, allocations_live *l, ObjectID object, uint64_t draw)
{
    ObjectHandleID handle = 0;

    if (object == 0 || !atomic_load_explicit(&l->wanted, memory_order_relaxed) ||
        !stays(draw, atomic_load_explicit(&l->shift, memory_order_relaxed)))
        return 0;
    return CLR_OK(clr_info_create_handle(&a->info, object, COR_PRF_HANDLE_TYPE_WEAK, &handle))
               ? handle
               : 0;
}

static bool is_alive(agent *a, const allocations_live_object *o)
{
    ObjectID object = 0;

    return CLR_OK(clr_info_get_object_id_from_handle(&a->info, o->handle, &object)) && object != 0;
}

static void let_go(agent *a, ObjectHandleID handle)
{
    if (agent_enter_runtime(a))
        clr_info_destroy_handle(&a->info, handle);
}

/* Drops what is dead and, of the rest, what the shift leaves out. */
static void thin_out(agent *a, allocations_live *l)
{
    unsigned shift = atomic_load(&l->shift);
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (stays(l->objects[i].draw, shift) && is_alive(a, &l->objects[i]))
            l->objects[kept++] = l->objects[i];
        else
            let_go(a, l->objects[i].handle);
    }
    l->count = kept;
}

void allocations_live_keep(agent *a, allocations_live *l, ObjectHandleID handle, uint64_t draw,
                           const uint64_t *cells)
{
    allocations_live_object *o;

    if (l->count == MOST_OBJECTS)
        thin_out(a, l);
    while (l->count > MOST_OBJECTS * 3 / 4 && atomic_load(&l->shift) < MOST_SHIFT) {
        atomic_fetch_add(&l->shift, 1);
        thin_out(a, l);
    }
    if (!atomic_load(&l->wanted) || l->count == MOST_OBJECTS ||
        !stays(draw, atomic_load(&l->shift))) {
        let_go(a, handle);
        return;
    }
    o = &l->objects[l->count++];
    o->handle = handle;
    o->draw = draw;
    memcpy(o->cells, cells, sizeof o->cells);
}

bool allocations_live_want(agent *a, allocations_live *l, bool wanted)
{
    if (wanted && a->info.version < 13)
        return false;
    if (wanted && l->objects == NULL) {
        l->objects = memory_allocate_array(MOST_OBJECTS, sizeof *l->objects);
        if (l->objects == NULL)
            return false;
    }
    atomic_store(&l->wanted, wanted);
    return true;
}

static void tell_one(agent *a, unsigned engine_index, const uint64_t *cells)
{
    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        client *c = &a->clients[i];
        catalogue_selected *user = c->is_stopping && (c->engines & 1ull << engine_index) != 0
                                       ? catalogue_selected_by_name(c->selection, "allocations")
                                       : NULL;

        if (user != NULL && catalogue_number(user, "live") != 0)
            output_row(&c->out, engine_index, 1, cells);
    }
}

void allocations_live_tell(agent *a, allocations_live *l, unsigned engine_index)
{
    unsigned shift = atomic_load(&l->shift);

    if (!atomic_load(&l->wanted) || l->count == 0 || !agent_enter_runtime(a))
        return;
    clr_info_force_gc(&a->info);
    for (size_t i = 0; i < l->count; i++) {
        uint64_t cells[ALLOCATIONS_COLUMNS];

        if (!is_alive(a, &l->objects[i]))
            continue;
        memcpy(cells, l->objects[i].cells, sizeof cells);
        cells[ALLOCATIONS_BYTES] <<= shift;
        if (shift != 0)
            cells[ALLOCATIONS_KIND] = 0; /* an estimate, whatever it was */
        tell_one(a, engine_index, cells);
    }
}

void allocations_live_forget(agent *a, allocations_live *l)
{
    for (size_t i = 0; i < l->count; i++)
        let_go(a, l->objects[i].handle);
    l->count = 0;
    atomic_store(&l->shift, 0);
}
