/*
 * heap_fields: see heap_fields.h. A place is found by the layout of the class and of each one it
 * derives from: the field with the greatest offset that is not beyond it. The runtime reorders
 * fields, so nothing is assumed of their order.
 */
#include "agent/heap_fields.h"

#include <string.h>

#include "agent/loaded.h"
#include "agent/loaded_type.h"
#include "base/memory.h"
#include "base/text.h"
#include "cil/compressed.h"
#include "clarinet/names.h"
#include "recording/encode.h"

enum {
    MOST_FIELDS = 1024, /* of one class */
    MOST_ARGUMENTS = 8,
    DEEPEST = 4, /* structs in structs */
    BOX_HEAD = 8,
    FIELD_SIGNATURE = 0x06,
    IS_VALUE_TYPE = 0x11,
    IS_PARAMETER = 0x13,
    IS_INSTANCE = 0x15,
    MODIFIER_REQUIRED = 0x1f,
    MODIFIER_OPTIONAL = 0x20,
    /* string, class, type parameter, object and array, by bits: of a field that is no struct */
    REFERENCES = 1 << 0x0e | 1 << 0x12 | 1 << 0x13 | 1 << 0x1c | 1 << 0x1d,
    TYPE_DEF = 0x02000000,
};

typedef struct {
    const clr_info *info;
    COR_FIELD_OFFSET *fields;
    uint8_t element; /* of the field found last */
    uint32_t size;   /* of the class looked at last */
    bool is_alone;   /* its only field */
    bool goes_far;   /* into generic structs and those of other modules, too */
    table_u64 far;   /* class of a field that is one, by the field and its owner */
} search;

/* A class with what it is made of. */
typedef struct {
    ClassID class_id;
    ModuleID module;
    mdTypeDef token;
    ClassID parent;
    uint32_t count;
    ClassID arguments[MOST_ARGUMENTS];
} description;

static bool describe(const clr_info *info, ClassID class_id, description *d)
{
    memset(d, 0, sizeof *d);
    d->class_id = class_id;
    return CLR_OK(clr_info_get_class_id_info2(info, class_id, &d->module, &d->token, &d->parent,
                                              MOST_ARGUMENTS, &d->count, d->arguments)) &&
           d->module != 0;
}

static bool is_value_type(const clr_info *info, ClassID class_id)
{
    uint32_t offset;

    return class_id != 0 && clr_info_get_box_class_layout(info, class_id, &offset) == S_OK;
}

/* The same of a generic struct, or of one of another module; looked for once. */
static ClassID far_struct_of(search *s, const description *d, IMetaDataImport2 *import,
                             mdFieldDef field, const uint8_t *bytes, uint32_t size)
{
    const loaded_type_scope scope = {s->info, d->module, import, d->arguments,
                                     d->count < MOST_ARGUMENTS ? d->count : MOST_ARGUMENTS};
    uint64_t key = table_hash_u64(d->class_id) ^ field;
    uint64_t found = 0;

    if (table_u64_get(&s->far, key, &found))
        return (ClassID)found;
    found = loaded_type_of_field(&scope, bytes, size);
    table_u64_put(&s->far, key, found);
    return (ClassID)found;
}

/* The class of a field that is a struct; 0 when it is none, or not to be had without loading. */
static ClassID struct_of(search *s, const description *d, IMetaDataImport2 *import,
                         mdFieldDef field)
{
    const uint8_t *signature;
    uint32_t size, token;
    ClassID found = 0;
    uint8_t element;
    reader r;

    s->element = 0;
    if (!CLR_OK(clr_get_signature(import, field, &signature, &size)))
        return 0;
    r = reader_of(signature, size);
    if (reader_u8(&r) != FIELD_SIGNATURE)
        return 0;
    while ((element = reader_u8(&r)) == MODIFIER_REQUIRED || element == MODIFIER_OPTIONAL)
        cil_read_compressed_token(&r);
    s->element = element;
    token = element == IS_VALUE_TYPE ? cil_read_compressed_token(&r) : cil_read_compressed(&r);
    if (reader_failed(&r))
        return 0;
    if (element == IS_VALUE_TYPE && (token & 0xff000000) == TYPE_DEF)
        found = loaded_class(s->info, d->module, token);
    if (element == IS_PARAMETER && token < d->count && token < MOST_ARGUMENTS)
        found = d->arguments[token];
    if (s->goes_far && (element == IS_INSTANCE || (element == IS_VALUE_TYPE && found == 0)))
        found = far_struct_of(s, d, import, field, signature, size);
    return is_value_type(s->info, found) ? found : 0;
}

/* The field at or before the offset, of the class itself. */
static bool find_field(search *s, ClassID class_id, uint32_t offset, COR_FIELD_OFFSET *best)
{
    uint32_t count = 0;
    bool found = false;

    if (!CLR_OK(
            clr_info_get_class_layout(s->info, class_id, s->fields, MOST_FIELDS, &count, &s->size)))
        return false;
    s->is_alone = count == 1;
    for (uint32_t i = 0; i < count && i < MOST_FIELDS; i++) {
        if (s->fields[i].ulOffset <= offset && (!found || s->fields[i].ulOffset > best->ulOffset)) {
            *best = s->fields[i];
            found = true;
        }
    }
    return found;
}

/* The only field of an inline array is repeated: bytes of each; 0 = it is none, or that is not
 * known. Fields of classes are not at 0. */
static uint32_t size_of_repeated(search *s, uint32_t all, uint32_t at, ClassID inside)
{
    COR_FIELD_OFFSET ignored;
    uint32_t size = (REFERENCES >> (s->element & 31) & 1) * 8;

    if (at != 0 || all == 0)
        return 0;
    if (inside != 0)
        size = find_field(s, inside, 0, &ignored) ? s->size : 0;
    return size < all ? size : 0;
}

static bool append_place(search *s, ClassID class_id, uint32_t offset, unsigned depth, buffer *out)
{
    COR_FIELD_OFFSET best = {0, 0}, one = {0, 0};
    description d, owner = {0};
    IMetaDataImport2 *import = NULL;
    ClassID inside;
    char memory[256];
    buffer name;
    uint32_t alone = 0, repeated;
    bool found = false;

    for (int level = 0; class_id != 0 && level < 64 && describe(s->info, class_id, &d); level++) {
        if (find_field(s, class_id, offset, &one) && (!found || one.ulOffset > best.ulOffset)) {
            best = one;
            owner = d;
            alone = s->is_alone ? s->size : 0;
            found = true;
        }
        class_id = d.parent;
    }
    if (!found || clr_open_import(s->info, owner.module, &import) != S_OK)
        return false;
    inside = struct_of(s, &owner, import, best.ridOfField);
    repeated = size_of_repeated(s, alone, best.ulOffset, inside);
    offset -= best.ulOffset;
    buffer_fix(&name, memory, sizeof memory);
    if (repeated == 0 && CLR_OK(clr_get_field(import, best.ridOfField, &name, NULL, NULL)))
        clr_name_append_field(out, buffer_text(&name));
    clr_release(import);
    if (repeated != 0) { /* what the field is called says nothing */
        out->length -= depth != 0;
        buffer_format(out, "[%u]", offset / repeated);
        offset %= repeated;
    }
    if (inside != 0 && depth < DEEPEST) {
        size_t before = out->length;

        buffer_append_char(out, '.');
        if (!append_place(s, inside, offset, depth + 1, out))
            out->length = before;
    }
    return true;
}

static uint32_t name_of(search *s, names *n, ClassID class_id, uint32_t offset)
{
    char memory[512];
    buffer text;

    buffer_fix(&text, memory, sizeof memory);
    if (!append_place(s, class_id, offset, 0, &text) || text.length == 0 || buffer_failed(&text))
        return 0;
    return names_intern(n, (const char *)text.data, text.length);
}

bool heap_fields_may_ask(names *n, const heap_record_type *type)
{
    bool may_ask;

    n->is_lasting = !type->is_collectible;
    may_ask = names_may_ask(n);
    n->is_lasting = true;
    return may_ask;
}

/* Whatever place in an element may hold a reference. */
static void name_elements(search *s, names *n, const heap_record_type *type, uint32_t number,
                          heap_fields_found *found, void *context)
{
    ClassID element = 0;
    CorElementType kind;
    uint32_t rank;

    if (clr_info_is_array_class(s->info, type->class_id, &kind, &element, &rank) != S_OK ||
        !is_value_type(s->info, element))
        return;
    for (uint32_t offset = 0; offset + 8 <= type->element; offset += 8) {
        uint32_t name = name_of(s, n, element, offset);

        if (name != 0)
            found(context, number, offset, name);
    }
}

void heap_fields_name(names *n, const heap_record *r, heap_fields_found *found, void *context)
{
    search s = {.info = r->info,
                .fields = memory_allocate_array(MOST_FIELDS, sizeof(COR_FIELD_OFFSET))};
    table_u64 done;

    table_u64_init(&done);
    for (size_t i = 0; s.fields != NULL && i < r->shape_count; i++) {
        const heap_record_shape *one = &r->shapes[i];
        const heap_record_type *type = &r->types[one->type];
        bool boxed;

        if (!heap_fields_may_ask(n, type))
            continue;
        boxed = one->count != 0 && is_value_type(r->info, type->class_id);
        if ((one->flags & RECORDING_SHAPE_LISTED) != 0 && type->element != 0)
            name_elements(&s, n, type, one->type, found, context);
        for (uint32_t k = 0; k < one->count; k++) {
            uint32_t place = r->places[one->first + k];
            size_t before = done.count;
            uint32_t name;

            if (place == 0 || table_u64_at(&done, (uint64_t)one->type << 16 | place, 0) == NULL ||
                done.count == before)
                continue;
            name = name_of(&s, n, type->class_id, place * 8 - (boxed ? BOX_HEAD : 0));
            if (name != 0)
                found(context, one->type, place * 8, name);
        }
    }
    table_u64_free(&done);
    memory_free(s.fields);
}

/* The first place of each field. */
static void name_values(search *s, names *n, const heap_record *r, uint32_t number, uint32_t step,
                        heap_fields_value_found *found, void *context)
{
    const heap_record_type *type = &r->types[number];
    uint32_t end = type->base < 16 ? 8 : type->base - 8, before = 0;

    if (end > 8 + HEAP_VALUES_WORDS * 4)
        end = 8 + HEAP_VALUES_WORDS * 4;
    for (uint32_t place = 8; place < end; place += step) {
        uint32_t name = name_of(s, n, type->class_id, place);

        if (name != 0 && name != before)
            found(context, number, place, name, s->element);
        before = name;
    }
}

void heap_fields_name_values(names *n, const heap_record *r, heap_fields_value_found *found,
                             void *context)
{
    search s = {.info = r->info,
                .fields = memory_allocate_array(MOST_FIELDS, sizeof(COR_FIELD_OFFSET))};

    table_u64_init(&s.far);
    for (size_t i = 0; s.fields != NULL && i < r->type_count; i++) {
        const heap_record_type *type = &r->types[i];
        uint64_t number;

        if (!heap_fields_may_ask(n, type))
            continue;
        s.goes_far = type->is_named;
        /* boxes have no small fields that matter; the thread pool has */
        if (type->has_values || type->is_named || type->is_counted)
            name_values(&s, n, r, (uint32_t)i,
                        type->is_named                           ? 1
                        : type->machine != 0 || type->is_counted ? 4
                                                                 : 2,
                        found, context);
        if (type->machine_is_apart && table_u64_get(&r->type_numbers, type->machine, &number))
            name_values(&s, n, r, (uint32_t)number, 4, found, context);
    }
    table_u64_free(&s.far);
    memory_free(s.fields);
}

/* How many awaits a method has is not known here: the tool finds lines for those there are. */
void heap_fields_name_awaits(names *n, const heap_record *r, heap_fields_found *found,
                             void *context)
{
    for (size_t i = 0; i < r->type_count; i++) {
        IMetaDataImport2 *import = NULL;
        mdMethodDef method = 0;
        uint32_t id = 0;
        description d;

        if (r->types[i].machine == 0 || !heap_fields_may_ask(n, &r->types[i]) ||
            !describe(r->info, r->types[i].machine, &d) ||
            clr_open_import(r->info, d.module, &import) != S_OK)
            continue;
        if (clr_find_method(import, d.token, "MoveNext", &method) == S_OK)
            id = names_of_token(n, d.module, method);
        clr_release(import);
        for (uint32_t k = 0; id != 0 && k < HEAP_VALUES_AWAITS; k++)
            found(context, (uint32_t)i, k, names_frame_await(n, id, k));
    }
}

uint32_t heap_fields_flags(const heap_record *r, uint32_t number)
{
    const heap_record_type *type = &r->types[number];
    uint32_t flags = type->is_finalizable ? RECORDING_TYPE_FINALIZABLE : 0;
    char memory[64];
    buffer name;
    description d;

    if (type->is_string)
        return flags | RECORDING_TYPE_STRING;
    if (type->element != 0) /* where arrays keep references is not read, only that there are none */
        return flags | RECORDING_TYPE_ARRAY |
               (type->is_laid_out || type->is_collectible ? 0 : RECORDING_TYPE_REFERENCES);
    if (is_value_type(r->info, type->class_id))
        return flags | RECORDING_TYPE_BOXED;
    buffer_fix(&name, memory, sizeof memory);
    if (describe(r->info, type->class_id, &d) && d.parent != 0 &&
        CLR_OK(clr_append_class(r->info, d.parent, &name)) &&
        text_equal(buffer_text(&name), "System.MulticastDelegate"))
        flags |= RECORDING_TYPE_DELEGATE;
    return flags;
}
