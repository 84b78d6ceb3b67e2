/* heap_sites: see heap_sites.h. */
#include "analysis/heap_sites.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/allocations.h"
#include "base/array.h"
#include "analysis/calltree.h"
#include "base/memory.h"

enum { FRAMES = 3, MOST_PLACES = 500 };

void heap_sites_init(heap_sites *s)
{
    memset(s, 0, sizeof *s);
    table_text_init(&s->known);
}

void heap_sites_free(heap_sites *s)
{
    for (size_t i = 0; i < s->count; i++) {
        memory_free(s->items[i].type);
        memory_free(s->items[i].place);
    }
    memory_free(s->items);
    table_text_free(&s->known);
    memset(s, 0, sizeof *s);
}

static void append_place(const model *m, const model_process *p, uint32_t stack, buffer *out)
{
    size_t shown = 0;

    for (; stack != 0 && shown < FRAMES; stack = p->stack_parents[stack]) {
        const model_frame *frame = &p->frames[p->stack_frames[stack]];

        if (calltree_is_repeated(p, stack))
            continue;
        buffer_format(out, "%s%s", shown++ == 0 ? "" : " <- ",
                      model_text(m, p->functions[frame->function].name));
        if (frame->line != 0) {
            const char *file = model_text(m, frame->file);
            const char *slash = strrchr(file, '/');

            buffer_format(out, " (%s:%u)", slash == NULL ? file : slash + 1, frame->line);
        }
    }
    if (shown == 0)
        buffer_append_text(out, "(stack not known)");
}

/* The site with this key, made when it is new; NULL without memory. */
static heap_site *site_of(heap_sites *s, const char *type, const char *place, bool alive)
{
    buffer key = BUFFER_EMPTY;
    uint64_t *at;

    buffer_format(&key, "%d%s\n%s", alive, type, place);
    at = buffer_failed(&key) ? NULL
                             : table_text_at(&s->known, buffer_text(&key), key.length, s->count);
    buffer_free(&key);
    if (at == NULL)
        return NULL;
    if (*at == s->count) {
        heap_site site = {memory_copy_text(type), memory_copy_text(place), 0, 0, alive};

        if (site.type == NULL || site.place == NULL ||
            !array_reserve(&s->items, &s->capacity, s->count + 1, sizeof *s->items)) {
            memory_free(site.type);
            memory_free(site.place);
            return NULL;
        }
        s->items[s->count++] = site;
    }
    return &s->items[*at];
}

int heap_sites_add(heap_sites *s, const model *m, const model_process *p, error *e)
{
    const model_table *alive = model_find_table(m, p, "live", "allocations");
    const model_table *table =
        alive != NULL ? alive : model_find_table(m, p, "allocations", "allocations");
    buffer place = BUFFER_EMPTY;
    allocations found;
    int code;

    if (table == NULL)
        return 0;
    code = allocations_summarise(m, p, table, &found, e);
    if (code != 0)
        return code;
    for (size_t i = 0; i < found.places.count && i < MOST_PLACES && code == 0; i++) {
        const allocations_group *group = &found.places.items[i];
        heap_site *site;

        buffer_clear(&place);
        append_place(m, p, group->stack, &place);
        site = site_of(s, model_text(m, group->type), buffer_text(&place), alive != NULL);
        if (site == NULL) {
            code = error_set(e, ERROR_MEMORY, "no memory for the places of allocations");
            break;
        }
        site->bytes += group->bytes;
        site->objects += group->objects;
    }
    buffer_free(&place);
    allocations_free(&found);
    return code;
}

static int compare(const void *a, const void *b)
{
    const heap_site *x = a, *y = b;
    int order;

    if (x->alive != y->alive)
        return x->alive ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    order = strcmp(x->type, y->type);
    return order != 0 ? order : strcmp(x->place, y->place);
}

void heap_sites_sort(heap_sites *s)
{
    if (s->count == 0)
        return;
    qsort(s->items, s->count, sizeof *s->items, compare);
    if (s->items[0].alive) /* then that is all that counts */
        while (!s->items[s->count - 1].alive) {
            s->count--;
            memory_free(s->items[s->count].type);
            memory_free(s->items[s->count].place);
        }
}
