/* event_sources: see event_sources.h. */
#include "symbols/event_sources.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"
#include "base/text.h"
#include "cil/body.h"
#include "cil/compressed.h"
#include "metadata/assembly.h"

enum {
    MOST_BASES = 8, /* between a source and EventSource */
    FLAG_ABSTRACT = 0x80,
    PROLOG = 1, /* of an attribute's value */
    NAMED_PROPERTY = 0x54,
    ELEMENT_STRING = 0x0E,
};

typedef struct {
    assembly a;
    cil_body body;
    buffer *names;
} work;

/* ---- what a token is ---- */

static bool is_tracing_type(const metadata *m, uint32_t token, const char *name)
{
    uint32_t row = token & 0xFFFFFF;

    return token >> 24 == METADATA_TYPE_REF &&
           strcmp(metadata_cell_string(m, METADATA_TYPE_REF, row, METADATA_TYPE_REF_NAME), name) ==
               0 &&
           strcmp(metadata_cell_string(m, METADATA_TYPE_REF, row, METADATA_TYPE_REF_NAMESPACE),
                  "System.Diagnostics.Tracing") == 0;
}

static bool makes_counters(const metadata *m)
{
    static const char *const KINDS[] = {"EventCounter", "PollingCounter",
                                        "IncrementingEventCounter", "IncrementingPollingCounter"};

    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_TYPE_REF); row++)
        for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
            if (is_tracing_type(m, METADATA_TYPE_REF << 24 | row, KINDS[i]))
                return true;
    return false;
}

static bool is_source(const metadata *m, uint32_t row)
{
    for (int i = 0; i < MOST_BASES; i++) {
        uint32_t base = metadata_token(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_EXTENDS);

        if (base >> 24 != METADATA_TYPE_DEF)
            return is_tracing_type(m, base, "EventSource");
        row = base & 0xFFFFFF;
    }
    return false;
}

/* EventSource(string name, …) */
static bool is_named_constructor(const metadata *m, uint32_t token)
{
    uint32_t row = token & 0xFFFFFF;
    metadata_span signature;

    if (token >> 24 != METADATA_MEMBER_REF ||
        strcmp(metadata_cell_string(m, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_NAME),
               ".ctor") != 0 ||
        !is_tracing_type(m, metadata_token(m, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_PARENT),
                         "EventSource"))
        return false;
    /* convention, count of parameters, void, the first one */
    signature = metadata_cell_blob(m, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_SIGNATURE);
    return signature.length >= 4 && signature.data[3] == ELEMENT_STRING;
}

/* ---- names ---- */

/* A comma would make two of it. */
static void append(buffer *names, const buffer *name)
{
    if (name->length == 0 || memchr(name->data, ',', name->length) != NULL)
        return;
    buffer_append(names, name->data, name->length);
    buffer_append_char(names, ',');
}

/* The text that a constructor hands to EventSource's. */
static bool append_literal(work *w, uint32_t method)
{
    pe_span bytes = assembly_body(&w->a, method);
    uint32_t literal = 0;
    bool found = false;

    if (bytes.data == NULL || cil_decode(&w->body, bytes.data, bytes.length, NULL) != 0)
        return false;
    for (cil_at at = cil_first(&w->body); at != CIL_END; at = cil_get(&w->body, at)->next) {
        const cil_instruction *i = cil_get(&w->body, at);

        if (i->opcode == CIL_LDARG_0)
            literal = 0;
        else if (i->opcode == CIL_LDSTR && literal == 0)
            literal = i->operand.token;
        else if (i->opcode == CIL_CALL && literal != 0 &&
                 is_named_constructor(&w->a.tables, i->operand.token)) {
            metadata_span units = metadata_user_string(&w->a.tables, literal & 0xFFFFFF);
            buffer name = BUFFER_EMPTY;

            if (units.data != NULL)
                text_append_utf16_bytes(&name, units.data, units.length / 2);
            append(w->names, &name);
            found = found || name.length != 0;
            buffer_free(&name);
        }
    }
    return found;
}

static bool append_literals(work *w, uint32_t type)
{
    uint32_t first, end;
    bool found = false;

    metadata_list(&w->a.tables, METADATA_TYPE_DEF, type, METADATA_TYPE_DEF_METHODS, &first, &end);
    for (uint32_t row = first; row < end; row++)
        if (strcmp(
                metadata_cell_string(&w->a.tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME),
                ".ctor") == 0)
            found = append_literal(w, row) || found;
    return found;
}

static reader read_text(reader *r)
{
    uint32_t length = cil_read_compressed(r);
    const uint8_t *begin = r->position;

    reader_skip(r, length);
    return reader_of(begin, reader_failed(r) ? 0 : length);
}

/* [EventSource(Name = "…")]: all its properties are texts. */
static bool append_attribute(work *w, metadata_span value)
{
    reader r = reader_of(value.data, value.length);
    unsigned count;

    if (reader_u16(&r) != PROLOG)
        return false;
    for (count = reader_u16(&r); count != 0; count--) {
        uint8_t kind = reader_u8(&r);
        uint8_t type = reader_u8(&r);
        reader key = read_text(&r);
        reader text = read_text(&r);

        if (kind != NAMED_PROPERTY || type != ELEMENT_STRING || reader_failed(&r))
            return false;
        if (reader_left(&key) == 4 && memcmp(key.position, "Name", 4) == 0) {
            buffer name = BUFFER_EMPTY;

            text_append_cleaned(&name, (const char *)text.position, reader_left(&text));
            append(w->names, &name);
            buffer_free(&name);
            return true;
        }
    }
    return false;
}

static bool append_attributes(work *w, uint32_t type)
{
    const metadata *m = &w->a.tables;
    uint32_t coded, row;

    if (!metadata_code(METADATA_CUSTOM_ATTRIBUTE, METADATA_ATTRIBUTE_PARENT,
                       METADATA_TYPE_DEF << 24 | type, &coded))
        return false;
    row = metadata_find(m, METADATA_CUSTOM_ATTRIBUTE, METADATA_ATTRIBUTE_PARENT, coded);
    for (; row != 0 && row <= metadata_rows(m, METADATA_CUSTOM_ATTRIBUTE) &&
           metadata_cell(m, METADATA_CUSTOM_ATTRIBUTE, row, METADATA_ATTRIBUTE_PARENT) == coded;
         row++) {
        uint32_t made_by =
            metadata_token(m, METADATA_CUSTOM_ATTRIBUTE, row, METADATA_ATTRIBUTE_TYPE);

        if (made_by >> 24 == METADATA_MEMBER_REF &&
            is_tracing_type(m,
                            metadata_token(m, METADATA_MEMBER_REF, made_by & 0xFFFFFF,
                                           METADATA_MEMBER_REF_PARENT),
                            "EventSourceAttribute") &&
            append_attribute(
                w, metadata_cell_blob(m, METADATA_CUSTOM_ATTRIBUTE, row, METADATA_ATTRIBUTE_VALUE)))
            return true;
    }
    return false;
}

static void append_type(work *w, uint32_t type)
{
    const char *text =
        metadata_cell_string(&w->a.tables, METADATA_TYPE_DEF, type, METADATA_TYPE_DEF_NAME);
    buffer name = BUFFER_EMPTY;

    if (append_literals(w, type) || append_attributes(w, type))
        return;
    text_append_cleaned(&name, text, strlen(text));
    append(w->names, &name);
    buffer_free(&name);
}

void event_sources_append(buffer *names, const void *bytes, size_t length)
{
    work *w = memory_allocate_array(1, sizeof *w);
    error e;

    if (w == NULL)
        return;
    w->names = names;
    if (assembly_open(&w->a, bytes, length, &e) == 0 && makes_counters(&w->a.tables)) {
        const metadata *m = &w->a.tables;

        cil_body_init(&w->body);
        for (uint32_t row = 1; row <= metadata_rows(m, METADATA_TYPE_DEF); row++)
            if ((metadata_cell(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FLAGS) &
                 FLAG_ABSTRACT) == 0 &&
                is_source(m, row))
                append_type(w, row);
        cil_body_free(&w->body);
    }
    memory_free(w);
}
