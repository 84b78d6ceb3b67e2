/* dump: see dump.h. */
#include "instrumentation/dump.h"

#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cil/listing.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "instrumentation/platform.h"

enum { LONGEST_NAME = 160, LONGEST_METADATA_NAME = 1024, HEX_ROW = 16 };

static const char *const KIND_NAMES[] = {"original", "clarinet-instrumented"};

/* ---- names of files ---- */

/* Letters, digits and what no file system minds stay; everything else becomes '_'. */
static void append_escaped(buffer *out, const char *text)
{
    for (; *text != '\0' && out->length < LONGEST_NAME; text++) {
        char c = *text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '+' || c == '-';

        buffer_append_char(out, plain ? c : '_');
    }
}

void dump_append_name(buffer *out, const char *assembly, const char *type, const char *method,
                      const char *parameters)
{
    buffer whole = BUFFER_EMPTY;
    buffer name = BUFFER_EMPTY;

    buffer_format(&whole, "[%s]%s.%s(%s)", assembly, type, method, parameters);
    append_escaped(&name, type);
    append_escaped(&name, ".");
    append_escaped(&name, method);
    buffer_format(out, "%s-%08x", buffer_text(&name),
                  (unsigned)(table_hash_bytes(whole.data, whole.length) & 0xFFFFFFFF));
    buffer_free(&whole);
    buffer_free(&name);
}

/* ---- tokens as names ---- */

static void append_member(IMetaDataImport2 *import, mdToken token, buffer *out)
{
    WCHAR name[LONGEST_METADATA_NAME];
    uint32_t length = 0;
    mdToken parent = 0;

    if (!CLR_OK(clr_import_get_member_ref_props(import, token, &parent, name, LONGEST_METADATA_NAME,
                                                &length, NULL, NULL)))
        return;
    clr_append_type_token(import, parent, out, CLR_NAME_PLAIN);
    buffer_append_text(out, "::");
    text_append_utf16(out, (const uint16_t *)name,
                      text_utf16_length((const uint16_t *)name, LONGEST_METADATA_NAME));
}

static void append_token(void *context, uint32_t token, buffer *out)
{
    IMetaDataImport2 *import = context;
    size_t before = out->length;
    mdToken parent = 0;

    switch (CLR_TOKEN_TYPE(token)) {
    case mdtTypeDef:
    case mdtTypeRef:
    case mdtTypeSpec:
        clr_append_type_token(import, token, out, CLR_NAME_PLAIN);
        break;
    case mdtMethodDef:
        clr_append_method_token(import, token, out, NULL);
        break;
    case mdtMemberRef:
        append_member(import, token, out);
        break;
    case mdtMethodSpec:
        if (CLR_OK(clr_import_get_method_spec_props(import, token, &parent, NULL, NULL)) &&
            CLR_TOKEN_TYPE(parent) != mdtMethodSpec)
            append_token(import, parent, out);
        break;
    case mdtFieldDef:
        clr_get_field(import, token, out, NULL, NULL);
        break;
    case mdtString:
        buffer_append_char(out, '"');
        clr_get_user_string(import, token, out);
        buffer_append_char(out, '"');
        break;
    default:
        break;
    }
    if (out->length == before)
        buffer_format(out, "0x%08x", token);
}

/* ---- text ---- */

static void append_hex(buffer *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += HEX_ROW) {
        buffer_format(out, "%06zx ", i);
        for (size_t j = i; j < i + HEX_ROW && j < size; j++)
            buffer_format(out, " %02X", bytes[j]);
        buffer_append_char(out, '\n');
    }
}

static void append_text(buffer *out, const method_module *module, const method_facts *f,
                        IMetaDataImport2 *import, const uint8_t *bytes, size_t size)
{
    cil_listing listing = {import, append_token, NULL, 0, false};
    cil_body body;
    error e;

    buffer_format(out, "[%s]%s.%s(%s)\n", buffer_text(&module->assembly_name),
                  buffer_text(&f->type_name), buffer_text(&f->name), buffer_text(&f->parameters));
    cil_body_init(&body);
    error_clear(&e);
    if (cil_decode(&body, bytes, size, &e) != 0) {
        buffer_format(out, "not readable: %s\n", e.message);
    } else {
        buffer_format(out,
                      "%s header, flags 0x%x, max stack %u, code %u bytes, locals 0x%08x, %u "
                      "clauses\n\n",
                      body.tiny ? "tiny" : "fat", body.header_flags, body.max_stack, body.code_size,
                      body.local_signature, body.clause_count);
        cil_list(&body, &listing, out);
        buffer_append_char(out, '\n');
    }
    append_hex(out, bytes, size);
    cil_body_free(&body);
}

static void write_file(const char *folder, const char *name, dump_kind kind, const char *ending,
                       const void *bytes, size_t size)
{
    buffer path = BUFFER_EMPTY;
    intptr_t file;

    buffer_format(&path, "%s%c%s.%s.%s", folder, PLATFORM_SEPARATOR, name, KIND_NAMES[kind],
                  ending);
    if (!buffer_failed(&path)) {
        file = platform_open_log(buffer_text(&path));
        if (file >= 0) {
            platform_write_line(file, bytes, size);
            platform_close_log(file);
        }
    }
    buffer_free(&path);
}

void dump_body(const char *folder, dump_kind kind, const method_module *module,
               const method_facts *f, IMetaDataImport2 *import, const void *bytes, size_t size)
{
    buffer name = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;

    dump_append_name(&name, buffer_text(&module->assembly_name), buffer_text(&f->type_name),
                     buffer_text(&f->name), buffer_text(&f->parameters));
    append_text(&text, module, f, import, bytes, size);
    if (!buffer_failed(&name) && !buffer_failed(&text)) {
        write_file(folder, buffer_text(&name), kind, "bin", bytes, size);
        write_file(folder, buffer_text(&name), kind, "txt", text.data, text.length);
    }
    buffer_free(&name);
    buffer_free(&text);
}
