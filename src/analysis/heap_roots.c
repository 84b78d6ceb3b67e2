/* heap_roots: see heap_roots.h. */
#include "analysis/heap_roots.h"

#include <string.h>

#include "base/array.h"
#include "analysis/heap_thread_statics.h"
#include "base/memory.h"

uint64_t heap_static_reference(const model_heap *s, uint32_t node, uint64_t address)
{
    uint64_t place = address - s->addresses[node - 1];
    uint64_t end = node == s->object_count ? s->target_count : s->first[node];

    for (uint64_t k = s->first[node - 1]; k < end; k++)
        if (s->places[k] == place)
            return s->targets[k];
    return 0;
}

static heap_static_rows find_static_rows(const heap *h)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_statics", "heap");
    heap_static_rows r = {0};

    if (t == NULL)
        return r;
    r.slot = model_find_column(h->m, t, "slot");
    r.name = model_find_column(h->m, t, "name");
    r.length = model_find_column(h->m, t, "length");
    r.index = model_find_column(h->m, t, "index");
    r.class = model_find_column(h->m, t, "class");
    r.array = model_find_column(h->m, t, "array");
    r.thread_index = model_find_column(h->m, t, "thread_index");
    r.handle = model_find_column(h->m, t, "handle");
    r.rows =
        r.slot == NULL || r.name == NULL || r.length == NULL || r.index == NULL || r.class == NULL
            ? 0
            : t->rows;
    return r;
}

/* Static fields of generic classes, for which the runtime has no record: what is kept at their
 * slots becomes a root with the field's name. */
static bool add_generic(heap *h, heap_places *p, const heap_static_rows *rows, table_u64 *known,
                        size_t row)
{
    const model_heap *s = h->snapshot;
    uint64_t address = model_cell(rows->slot, row), ignored;
    uint32_t node = table_u64_get(known, address, &ignored) ? 0 : heap_places_before(p, address);
    uint64_t object = node == 0 ? 0 : heap_static_reference(s, node, address);

    if (object == 0 || heap_class_of(h, node)->element != 8)
        return true;
    if (!array_reserve(&h->roots, &h->root_capacity, h->root_count + 1, sizeof *h->roots))
        return false;
    h->roots[h->root_count++] =
        (model_heap_root){.kind = RECORDING_ROOT_STATIC, .object = object, .id = address};
    return table_u64_put(known, address, 1);
}

bool heap_static_is_box(const heap_static_rows *r, size_t row)
{
    return model_cell(r->slot, row) == 0 && model_cell(r->length, row) == 0 && r->array != NULL &&
           model_cell(r->array, row) != 0;
}

/* Whether the whole name of a static field ends in the bare one. */
static bool is_name_of(const char *whole, const char *bare)
{
    size_t length = strlen(bare), all = strlen(whole);

    return length != 0 && all > length && whole[all - length - 1] == '.' &&
           strcmp(whole + all - length, bare) == 0;
}

/* The class of a struct's static field whose box has moved since the snapshot: by the field's name
 * and the class of the box, where only one field has both. */
static bool name_box(heap *h, heap_places *p, const heap_static_rows *rows,
                     const model_heap_root *root)
{
    uint32_t node = heap_places_at(p, root->object);
    uint64_t name = 0;

    if (node == 0 || table_u64_get(&h->statics, root->id, &name))
        return true;
    for (size_t i = 0; i < rows->rows; i++) {
        if (model_cell(rows->slot, i) != 0 || model_cell(rows->length, i) != 0 ||
            heap_static_is_box(rows, i) ||
            model_cell(rows->class, i) != heap_class_of(h, node)->id ||
            !is_name_of(model_text(h->m, (uint32_t)model_cell(rows->name, i)),
                        model_text(h->m, root->name)))
            continue;
        if (name != 0)
            return true;
        name = model_cell(rows->name, i);
    }
    return name == 0 || table_u64_put(&h->statics, root->id, name);
}

bool heap_roots_add(heap *h, heap_places *p)
{
    const model_heap *s = h->snapshot;
    heap_static_rows rows = find_static_rows(h);
    table_u64 known;
    bool good = array_reserve(&h->roots, &h->root_capacity, s->root_count + 1, sizeof *h->roots);

    table_u64_init(&known);
    for (size_t i = 0; good && i < s->root_count; i++) {
        h->roots[h->root_count++] = s->roots[i];
        if (s->roots[i].kind == RECORDING_ROOT_STATIC)
            good = table_u64_put(&known, s->roots[i].id, 1) && name_box(h, p, &rows, &s->roots[i]);
    }
    for (size_t i = 0; good && i < rows.rows; i++)
        good = model_cell(rows.slot, i) == 0 || add_generic(h, p, &rows, &known, i);
    table_u64_free(&known);
    return good && heap_thread_statics_add(h, p, &rows);
}
