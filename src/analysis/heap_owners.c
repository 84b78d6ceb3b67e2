/* heap_owners: see heap_owners.h. The owner of a container inside another one is that one's, so
 * each is looked at once, however long a chain of them is. */
#include "analysis/heap_owners.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

static bool is_name_of_container(const char *name)
{
    return text_ends_with(name, "]") || strncmp(name, "System.Collections.", 19) == 0;
}

bool heap_owners_init(heap_owners *o, const heap *h)
{
    memset(o, 0, sizeof *o);
    table_text_init(&o->known);
    o->h = h;
    o->is_container = memory_allocate_array(h->type_count + 1, 1);
    o->of_node = memory_allocate_array(h->nodes, sizeof *o->of_node);
    if (o->is_container == NULL || o->of_node == NULL ||
        !array_reserve(&o->texts, &o->capacity, 1, sizeof *o->texts))
        return false;
    o->count = 1;
    for (uint32_t i = 0; i < h->type_count; i++)
        o->is_container[i] = is_name_of_container(heap_type_name(h, i));
    return true;
}

void heap_owners_finish(heap_owners *o)
{
    memory_free(o->is_container);
    memory_free(o->of_node);
    table_text_free(&o->known);
    o->is_container = NULL;
    o->of_node = NULL;
}

void heap_owners_free(heap_owners *o)
{
    heap_owners_finish(o);
    for (size_t i = 1; i < o->count; i++)
        memory_free(o->texts[i]);
    memory_free(o->texts);
    memset(o, 0, sizeof *o);
}

void heap_owners_append_root(const heap *h, uint32_t root, buffer *out)
{
    static const char STATIC_FIELD[] = "static field ";
    buffer text = BUFFER_EMPTY;
    const char *name;

    heap_root_text(h, root, &text);
    name = buffer_text(&text);
    if (strncmp(name, STATIC_FIELD, sizeof STATIC_FIELD - 1) == 0)
        name += sizeof STATIC_FIELD - 1;
    buffer_append_text(out, name);
    buffer_free(&text);
}

/* The number of an owner's text; 0 without memory. */
static uint32_t number_of(heap_owners *o, const buffer *text)
{
    uint64_t *at = table_text_at(&o->known, buffer_text(text), text->length, o->count);
    char *copy;

    if (at == NULL || !array_reserve(&o->texts, &o->capacity, o->count + 1, sizeof *o->texts))
        return 0;
    if (*at < o->count)
        return (uint32_t)*at;
    copy = memory_allocate(text->length + 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, text->data, text->length);
    copy[text->length] = '\0';
    o->texts[o->count] = copy;
    return (uint32_t)o->count++;
}

static bool is_open(const heap_owners *o, uint32_t node)
{
    return o->is_container[o->h->type[node]] && o->of_node[node] == 0;
}

/* Of a container that an object of another kind holds, by this field, or that a root holds
 * (`before` 0). */
static bool name_owner(heap_owners *o, uint32_t node, uint32_t before, heap_field field)
{
    const heap *h = o->h;
    buffer text = BUFFER_EMPTY;
    uint64_t root;
    uint32_t owner;

    if (before != 0) {
        buffer_append_text(&text, heap_type_name(h, h->type[before]));
        if (field != 0)
            buffer_append_char(&text, '.');
        heap_field_text(h, field, &text);
    } else if (table_u64_get(&h->root_of, node, &root)) {
        heap_owners_append_root(h, (uint32_t)root, &text);
    }
    owner = text.length == 0 ? 0 : number_of(o, &text);
    if (owner != 0 || text.length == 0)
        o->of_node[node] = owner + 1;
    buffer_free(&text);
    return o->of_node[node] != 0;
}

/* Of all containers that an object holds: it may hold many. */
static bool name_held(heap_owners *o, uint32_t holder)
{
    const heap *h = o->h;
    bool good = true;

    for (uint64_t k = h->first[holder]; good && k < h->first[holder + 1]; k++) {
        uint32_t node = h->targets[k];

        if (is_open(o, node) && h->towards_root[node] == holder)
            good = name_owner(o, node, holder, heap_field_at(h, holder, h->places[k]));
    }
    return good;
}

bool heap_owners_find(heap_owners *o, uint32_t node, uint32_t *owner)
{
    const heap *h = o->h;
    uint32_t top = node, before;

    *owner = 0;
    if (!o->is_container[h->type[node]] || h->towards_root[node] == DOMINATORS_NONE)
        return true;
    while (is_open(o, top) && h->towards_root[top] != 0 &&
           o->is_container[h->type[h->towards_root[top]]])
        top = h->towards_root[top];
    before = h->towards_root[top];
    if (is_open(o, top) && before != 0 && !name_held(o, before))
        return false;
    if (is_open(o, top) && !name_owner(o, top, before, 0)) /* no field leads to it */
        return false;
    *owner = o->of_node[top] - 1;
    for (; node != top; node = h->towards_root[node])
        o->of_node[node] = *owner + 1;
    return true;
}
