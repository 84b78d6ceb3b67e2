/*
 * import_statics: static fields of a heap dump; see import.h.
 *
 * The events have a field's bare name. Whose it is follows from its place, where the process's
 * memory tells (import_places.c), else from the names around it, so all are kept until the walk is
 * over.
 */
#include <string.h>

#include "base/memory.h"
#include "clarinet/names.h"
#include "diagnostics/import_private.h"
#include "diagnostics/type_text.h"

static void keep(import_heap *h, import_static found)
{
    if (h->static_count == h->static_capacity) {
        size_t wish = h->static_capacity * 2 + 1024;
        import_static *grown = memory_resize(h->statics, wish * sizeof *grown);

        if (grown == NULL) {
            h->failed = true;
            return;
        }
        h->statics = grown;
        h->static_capacity = wish;
    }
    h->statics[h->static_count++] = found;
}

void import_take_statics(event_import *i, reader *r)
{
    uint32_t count = reader_u32(r);

    reader_u64(r); /* application domain */
    reader_u16(r);
    for (uint32_t k = 0; k < count && !reader_failed(r) && !i->heap.failed; k++) {
        import_static found = {.slot = reader_u64(r), .object = reader_u64(r)};
        buffer *name = &i->names.text;

        found.type = reader_u64(r);
        reader_u32(r); /* flags */
        import_read_text(r, name);
        if (reader_failed(r))
            return;
        found.name = import_string(&i->names, buffer_text(name), name->length);
        keep(&i->heap, found);
    }
}

/* Namespace.Class.field, where the class is known. */
static void put(event_import *i, const import_static *found, const char *field, const char *class)
{
    buffer *name = &i->names.spelled;

    buffer_clear(name);
    if (class != NULL) {
        type_text_append(name, class);
        buffer_append_char(name, '.');
    }
    clr_name_append_field(name, field);
    heap_writer_put_root(&i->heap.writer, RECORDING_ROOT_STATIC, 0, found->object, found->slot,
                         buffer_text(name), name->length);
}

/* One whose place says which field it is. */
static bool put_known(event_import *i, const import_static *found)
{
    uint64_t name;
    const char *text;

    if (!table_u64_get(&i->heap.static_names, found->slot, &name))
        return false;
    text = import_string_text(&i->names, (uint32_t)name);
    heap_writer_put_root(&i->heap.writer, RECORDING_ROOT_STATIC, 0, found->object, found->slot,
                         text, strlen(text));
    return true;
}

static static_told told_of(event_import *i, const import_static *found)
{
    import_heap *h = &i->heap;
    static_told told = {import_string_text(&i->names, found->name), "", 0, false};
    uint64_t number;

    if (!table_u64_get(&h->type_numbers, found->type, &number))
        return told;
    told.is_array = h->types[number].element != 0;
    told.token = h->types[number].definition;
    told.home = import_string_text(&i->names, h->writer.types[number].assembly);
    return told;
}

void import_put_statics(event_import *i)
{
    import_heap *h = &i->heap;
    const import_namer *namer = &h->namer;
    static_told *told = memory_allocate_array(h->static_count + 1, sizeof *told);
    const char **classes = memory_allocate_array(h->static_count + 1, sizeof *classes);

    if (told == NULL || classes == NULL) {
        h->failed = true;
    } else {
        for (size_t k = 0; k < h->static_count; k++)
            told[k] = told_of(i, &h->statics[k]);
        if (namer->classes_of_statics != NULL)
            namer->classes_of_statics(namer->context, told, classes, h->static_count);
        for (size_t k = 0; k < h->static_count; k++)
            if (h->statics[k].object != 0 && !put_known(i, &h->statics[k]))
                put(i, &h->statics[k], told[k].name, classes[k]);
    }
    memory_free(told);
    memory_free(classes);
}
