/*
 * waits_write: the copied objects of waits.h as rows, field by field, when the runtime runs again.
 * The layout of each class is asked for once. Fields that are 0 are left out. A reference to
 * another copied object that stands in no field of its own (inside a structure, in an array) is
 * written without a name.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/waits.h"

enum { MOST_PARENTS = 12, MOST_FIELDS = 96, MODIFIER_REQUIRED = 0x1f, MODIFIER_OPTIONAL = 0x20 };

typedef struct {
    uint32_t name;
    uint32_t offset;
    uint32_t size;
} field;

typedef struct {
    ClassID class_id;
    size_t count;
    field fields[MOST_FIELDS];
} layout;

/* Bytes of a field by its signature; 0 = a structure or a type parameter. */
static uint32_t size_by_signature(const uint8_t *s, uint32_t length)
{
    uint32_t at = 1;

    while (at < length && (s[at] == MODIFIER_REQUIRED || s[at] == MODIFIER_OPTIONAL)) {
        at++;
        if (at < length)
            at += (s[at] & 0x80) == 0 ? 1 : (s[at] & 0x40) == 0 ? 2 : 4;
    }
    if (at >= length)
        return 0;
    switch (s[at]) {
    case ELEMENT_TYPE_BOOLEAN:
    case ELEMENT_TYPE_I1:
    case ELEMENT_TYPE_U1:
        return 1;
    case ELEMENT_TYPE_CHAR:
    case ELEMENT_TYPE_I2:
    case ELEMENT_TYPE_U2:
        return 2;
    case ELEMENT_TYPE_I4:
    case ELEMENT_TYPE_U4:
        return 4;
    case ELEMENT_TYPE_VALUETYPE:
    case ELEMENT_TYPE_VAR:
        return 0;
    case ELEMENT_TYPE_GENERICINST:
        return at + 1 < length && s[at + 1] == ELEMENT_TYPE_VALUETYPE ? 0 : 8;
    default:
        return 8;
    }
}

static void add_fields(layout *l, names *n, ClassID class_id, IMetaDataImport2 *import)
{
    COR_FIELD_OFFSET offsets[WAITS_LAYOUTS];
    uint32_t count = 0, size = 0;

    if (clr_info_get_class_layout(n->info, class_id, offsets, WAITS_LAYOUTS, &count, &size) != S_OK)
        return;
    for (uint32_t i = 0; i < count && i < WAITS_LAYOUTS && l->count < MOST_FIELDS; i++) {
        char memory[128];
        buffer name;
        const uint8_t *signature = NULL;
        uint32_t length = 0, bytes;

        buffer_fix(&name, memory, sizeof memory);
        if (!CLR_OK(clr_get_field(import, offsets[i].ridOfField, &name, NULL, NULL)) ||
            !CLR_OK(clr_get_signature(import, offsets[i].ridOfField, &signature, &length)))
            continue;
        bytes = size_by_signature(signature, length);
        if (bytes != 0)
            l->fields[l->count++] =
                (field){names_intern_text(n, buffer_text(&name)), offsets[i].ulOffset, bytes};
    }
}

static void make_layout(layout *l, names *n, ClassID class_id)
{
    ClassID parent = 0;

    l->class_id = class_id;
    l->count = 0;
    for (int i = 0; i < MOST_PARENTS && class_id != 0 && names_may_ask(n); i++, class_id = parent) {
        IMetaDataImport2 *import = NULL;
        ModuleID module = 0;
        mdTypeDef token = 0;
        uint32_t arguments = 0;

        if (clr_info_get_class_id_info2(n->info, class_id, &module, &token, &parent, 0, &arguments,
                                        NULL) != S_OK ||
            clr_open_import(n->info, module, &import) != S_OK)
            return;
        add_fields(l, n, class_id, import);
        clr_release(import);
    }
}

static void write_object(const waits *w, const waits_object *o, const layout *l,
                         const waits_rows *rows)
{
    uint64_t value, known;

    for (size_t i = 0; i < l->count; i++) {
        const field *f = &l->fields[i];

        value = 0;
        if (f->offset + f->size <= o->length)
            memcpy(&value, w->bytes.data + o->at + f->offset, f->size);
        if (value != 0)
            rows->field(rows->context, o->address, f->name, value);
    }
    for (uint32_t at = 8; at + 8 <= o->length; at += 8) {
        bool has_name = false;

        memcpy(&value, w->bytes.data + o->at + at, sizeof value);
        if (!table_u64_get(&w->known, value, &known))
            continue;
        for (size_t i = 0; i < l->count && !has_name; i++)
            has_name = l->fields[i].offset == at;
        if (!has_name)
            rows->field(rows->context, o->address, 0, value);
    }
}

static int compare_classes(const void *a, const void *b)
{
    const waits_object *x = a, *y = b;

    return x->class_id < y->class_id ? -1 : x->class_id > y->class_id;
}

void waits_write(waits *w, names *n, const waits_rows *rows)
{
    layout l = {0};
    waits_object *objects = (waits_object *)(void *)w->objects.data;
    const waits_link *links = (const waits_link *)(const void *)w->links.data;
    size_t count = waits_object_count(w);

    if (count != 0)
        qsort(objects, count, sizeof *objects, compare_classes);
    for (size_t i = 0; i < count; i++) {
        if (l.class_id != objects[i].class_id)
            make_layout(&l, n, objects[i].class_id);
        rows->object(rows->context, objects[i].address, names_of_class(n, objects[i].class_id));
        write_object(w, &objects[i], &l, rows);
    }
    for (size_t i = 0; i < w->links.length / sizeof *links; i++)
        rows->link(rows->context, &links[i],
                   links[i].role == WAITS_LINK_CLASS ? names_of_class(n, links[i].object) : 0);
}
