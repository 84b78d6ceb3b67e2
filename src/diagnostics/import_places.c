/*
 * import_places: names of static fields for a heap dump, by where they are; see import_private.h.
 * Of those of threads and of generic classes the events tell nothing, of others not the class: all
 * are read from the process's memory when the dump is over.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clarinet/names.h"
#include "diagnostics/class_statics.h"
#include "diagnostics/import_private.h"
#include "diagnostics/type_text.h"

enum {
    ARGUMENTS = 48,      /* of a class: where its type arguments are */
    ARGUMENT_COUNTS = 4, /* bytes before them: how many lists there are, how long the last is */
    MOST_LISTS = 32,
    MOST_ARGUMENTS = 8,
    DEEPEST = 4,
    MARK = '#',
    TYPE_DEF_ROW = 0xffffff,
};

static const char CORE[] = "System.Private.CoreLib";

typedef struct {
    event_import *i;
    bool is_before_9;
    table_u64 told; /* slots of static fields that the events have */
    buffer class_name, spelled;
} search;

static bool read_all(const search *s, uint64_t address, void *out, size_t size)
{
    const class_memory *m = &s->i->heap.texts.memory;

    return m->read(m->context, address, out, size) == size;
}

static bool append_class(search *s, uint64_t class_id, unsigned depth);

/* [One, Two], behind the name of a generic class. */
static bool append_arguments(search *s, uint64_t class_id, unsigned depth)
{
    uint64_t lists, list, arguments[MOST_ARGUMENTS];
    uint16_t counts[2];

    if (!read_all(s, class_id + ARGUMENTS, &lists, sizeof lists) ||
        !read_all(s, lists - ARGUMENT_COUNTS, counts, sizeof counts) || counts[0] == 0 ||
        counts[0] > MOST_LISTS || counts[1] == 0 || counts[1] > MOST_ARGUMENTS ||
        !read_all(s, lists + 8 * (counts[0] - 1u), &list, sizeof list) ||
        !read_all(s, list, arguments, 8 * (size_t)counts[1]))
        return false;
    for (uint16_t k = 0; k < counts[1]; k++) {
        buffer_append_char(&s->class_name, k == 0 ? '[' : ',');
        if (!append_class(s, arguments[k], depth + 1))
            return false;
    }
    buffer_append_char(&s->class_name, ']');
    return true;
}

static const char *name_of_module(const search *s, uint64_t module)
{
    return import_string_text(&s->i->names, import_module_name(&s->i->names, module));
}

/* By its row in the metadata of its home. */
static bool append_by_row(search *s, const char *home, uint32_t row, uint64_t class_id,
                          unsigned depth)
{
    size_t before = s->class_name.length;

    field_index_append_class(s->i->heap.namer.fields, home, row, &s->class_name);
    if (buffer_failed(&s->class_name) || s->class_name.length == before)
        return false;
    return strchr(buffer_text(&s->class_name) + before, '`') == NULL ||
           append_arguments(s, class_id, depth);
}

/* As the runtime spells it; a class that the events tell stands there as its number, between marks.
 */
static bool append_told(search *s, uint64_t class_id)
{
    const import_heap *h = &s->i->heap;
    uint64_t number;

    if (!table_u64_get(&h->type_numbers, class_id, &number) || h->writer.types[number].name == 0)
        return false;
    buffer_format(&s->class_name, "%c%" PRIu64 "%c", MARK, number, MARK);
    return true;
}

static bool append_class(search *s, uint64_t class_id, unsigned depth)
{
    class_memory_class class;

    if (append_told(s, class_id))
        return true;
    if (depth > DEEPEST || !class_memory_class_of(&s->i->heap.texts.memory, class_id, &class))
        return false;
    class_memory_class_free(&class);
    return append_by_row(s, name_of_module(s, class.module), class.rows[!s->is_before_9], class_id,
                         depth);
}

/* Namespace.Class<Argument>, which may have numbers in it. */
static void spell(search *s, buffer *out)
{
    const import_heap *h = &s->i->heap;
    const char *at;

    buffer_clear(&s->spelled);
    type_text_append(&s->spelled, buffer_text(&s->class_name));
    at = buffer_text(&s->spelled);
    while (*at != '\0') {
        char *end = NULL;
        uint64_t number = *at == MARK ? strtoull(at + 1, &end, 10) : 0;

        if (end != NULL && *end == MARK && number < h->writer.type_count) {
            buffer_append_text(out, import_string_text(&s->i->names, h->writer.types[number].name));
            at = end + 1;
        } else {
            buffer_append_char(out, *at++);
        }
    }
}

/* The field of a class with that row. */
static const field_index_field *find_in(const search *s, const char *home,
                                        const class_static *found)
{
    const field_index_field *field = field_index_find(s->i->heap.namer.fields, home, found->token);
    uint32_t mask = found->is_before_9 ? 0xffff : UINT32_MAX;

    return field != NULL && (field->class_row & mask) == found->row ? field : NULL;
}

/* Before 9.0 the module may be another one: then it counts where the field is in one only. */
static const field_index_field *find_field(const search *s, const class_static *found,
                                           const char **home)
{
    const import_heap *h = &s->i->heap;
    const field_index_field *field, *other = NULL;
    uint64_t number;

    *home = name_of_module(s, found->module);
    if (table_u64_get(&h->type_numbers, found->class_id, &number) && h->types[number].module != 0)
        *home = name_of_module(s, h->types[number].module);
    else if (found->is_before_9 && !text_equal(*home, CORE))
        other = find_in(s, CORE, found);
    field = find_in(s, *home, found);
    if (field != NULL && other != NULL)
        return NULL;
    if (field == NULL && other != NULL)
        *home = CORE;
    return field != NULL ? field : other;
}

static void take(void *context, const class_static *found)
{
    search *s = context;
    import_names *n = &s->i->names;
    const field_index *index = s->i->heap.namer.fields;
    const char *home;
    const field_index_field *field = find_field(s, found, &home);
    uint64_t ignored;
    uint32_t name;

    s->is_before_9 = found->is_before_9;
    buffer_clear(&s->class_name);
    if (field == NULL ||
        (!append_told(s, found->class_id) &&
         !append_by_row(s, home, field->class_row, found->class_id, 0)) ||
        buffer_failed(&s->class_name))
        return;
    buffer_clear(&n->spelled);
    spell(s, &n->spelled);
    buffer_append_char(&n->spelled, '.');
    clr_name_append_field(&n->spelled, field_index_name(index, field));
    name = import_string(n, buffer_text(&n->spelled), n->spelled.length);
    if (found->slot != 0 && table_u64_get(&s->told, found->slot, &ignored)) {
        if (!table_u64_put(&s->i->heap.static_names, found->slot, name))
            s->i->heap.failed = true;
        return;
    }
    import_add_place(&s->i->heap,
                     (import_place){found->slot, name, found->index, found->thread_index});
}

void import_find_places(event_import *i)
{
    import_heap *h = &i->heap;
    class_statics_known *known = memory_allocate_array(h->writer.type_count + 1, sizeof *known);
    search s = {.i = i};
    size_t count = 0;

    table_u64_init(&s.told);
    for (size_t k = 0; k < h->static_count && !h->failed; k++)
        h->failed = !table_u64_put(&s.told, h->statics[k].slot, 1);
    for (size_t k = 0; known != NULL && k < h->writer.type_count; k++)
        if (h->types[k].element == 0 && h->types[k].module != 0)
            known[count++] = (class_statics_known){
                h->writer.types[k].class, h->types[k].module,
                h->types[k].parameter_count != 0 ? 0 : h->types[k].definition & TYPE_DEF_ROW};
    if (known == NULL || (h->namer.fields != NULL && h->texts.memory.read != NULL &&
                          !class_statics_each(&h->texts.memory, known, count, take, &s)))
        h->failed = true;
    table_u64_free(&s.told);
    buffer_free(&s.class_name);
    buffer_free(&s.spelled);
    memory_free(known);
}
