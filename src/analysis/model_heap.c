/* model_heap: see model_heap.h. */
#include "analysis/model_heap.h"

#include "analysis/model_load.h"

void model_heap_free(model_heap *heap)
{
    if (heap == NULL)
        return;
    memory_free(heap->addresses);
    memory_free(heap->types);
    memory_free(heap->sizes);
    memory_free(heap->first);
    memory_free(heap->targets);
    memory_free(heap->roots);
    memory_free(heap);
}

static bool begin_object(model *m, model_heap *h, reader *r)
{
    uint64_t type;
    uint64_t size = 0;
    size_t n = h->object_count;

    h->previous += (uint64_t)reader_zigzag(r) * 8;
    type = reader_varint(r);
    if ((type & 1) != 0)
        size = reader_varint(r);
    if (reader_failed(r))
        return true;
    if (n >= UINT32_MAX - 2 || type >> 1 > UINT32_MAX) {
        r->failed = true;
        return true;
    }
    if (!MODEL_GROW(m, h->addresses, n, h->address_capacity) ||
        !MODEL_GROW(m, h->types, n, h->type_capacity) ||
        !MODEL_GROW(m, h->sizes, n, h->size_capacity) ||
        !MODEL_GROW(m, h->first, n, h->first_capacity))
        return false;
    h->addresses[n] = h->previous;
    h->types[n] = (uint32_t)(type >> 1);
    h->sizes[n] = size;
    h->first[n] = h->target_count;
    h->object_count++;
    h->in_object = true;
    return true;
}

/* A run of numbers that may be cut between any two chunks. */
static bool load_objects(model *m, model_heap *h, reader *r)
{
    while (!reader_at_end(r)) {
        uint64_t step;

        if (!h->in_object) {
            if (!begin_object(m, h, r))
                return false;
            continue;
        }
        step = reader_varint(r);
        if (reader_failed(r))
            break;
        if (step == 0) {
            h->in_object = false;
            continue;
        }
        if (!MODEL_GROW(m, h->targets, h->target_count, h->target_capacity))
            return false;
        step--;
        h->targets[h->target_count++] = h->previous + (step >> 1 ^ (0 - (step & 1))) * 8;
    }
    return true;
}

static bool load_roots(model *m, model_heap *h, reader *r)
{
    while (!reader_at_end(r)) {
        model_heap_root root = {0};
        uint64_t kind = reader_varint(r);

        root.flags = (uint32_t)reader_varint(r);
        root.object = reader_varint(r);
        root.id = reader_varint(r);
        root.kind = kind >= RECORDING_ROOT_KINDS ? RECORDING_ROOT_OTHER : (uint32_t)kind;
        if (kind == RECORDING_ROOT_STATIC) {
            recording_text name;

            name.bytes = (const char *)reader_blob(r, &name.length);
            if (!reader_failed(r) && !model_add_string(m, name, &root.name))
                return false;
        }
        if (reader_failed(r))
            break;
        if (!MODEL_GROW(m, h->roots, h->root_count, h->root_capacity))
            return false;
        h->roots[h->root_count++] = root;
    }
    return true;
}

static bool load_end(model *m, model_heap *h, reader *r)
{
    uint64_t status = reader_varint(r);
    recording_text trouble;

    h->objects_said = reader_varint(r);
    h->references_said = reader_varint(r);
    h->roots_said = reader_varint(r);
    h->walk_ns = reader_varint(r);
    h->session_ns = reader_varint(r);
    trouble.bytes = (const char *)reader_blob(r, &trouble.length);
    if (reader_failed(r))
        return true;
    h->ended = true;
    h->trouble = 0;
    if (status == 0 && h->objects_said == h->object_count && h->references_said == h->target_count)
        return true;
    if (status == 0)
        trouble = (recording_text){"a part of it is missing", 23};
    return model_add_string(m, trouble, &h->trouble);
}

bool model_load_heap(model *m, model_process *p, reader *r)
{
    uint64_t section = reader_varint(r);
    uint64_t attempt = reader_varint(r);
    model_heap *h = p->heap;

    if (reader_failed(r))
        return true;
    if (h == NULL) {
        h = p->heap = memory_allocate_array(1, sizeof *h);
        if (h == NULL)
            return false;
    }
    if (attempt != h->attempt) {
        h->attempt = attempt;
        h->object_count = h->target_count = h->root_count = 0;
        h->previous = 0;
        h->in_object = false;
    }
    switch (section) {
    case RECORDING_HEAP_OBJECTS:
        return load_objects(m, h, r);
    case RECORDING_HEAP_ROOTS:
        return load_roots(m, h, r);
    case RECORDING_HEAP_END:
        return load_end(m, h, r);
    default:
        return true;
    }
}
