/* The injected code as a pure function, with tokens that are numbered as they are asked for: bodies
 * against tests/cases/template.txt, and every one accepted by the checker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/os.h"
#include "cil/check.h"
#include "cil/encode.h"
#include "instrumentation/template.h"
#include "support/cases.h"

enum { MOST_ROWS = 256, MOST_BYTES = 512 };

/* ---- tokens without a runtime ---- */

typedef struct {
    uint32_t token;
    char text[MOST_BYTES]; /* what makes the row what it is */
    uint8_t signature[MOST_BYTES];
    size_t size;
} row;

typedef struct {
    row rows[MOST_ROWS];
    size_t count;
} module;

static uint32_t row_of(module *m, uint32_t table, const char *text, const uint8_t *signature,
                       size_t size)
{
    char key[MOST_BYTES];
    uint32_t same_table = 0;
    row *r;

    snprintf(key, sizeof key, "%x %s ", table, text);
    for (size_t i = 0; i < size; i++)
        snprintf(key + strlen(key), sizeof key - strlen(key), "%02X", signature[i]);
    for (size_t i = 0; i < m->count; i++) {
        same_table += m->rows[i].token >> 24 == table;
        if (strcmp(m->rows[i].text, key) == 0)
            return m->rows[i].token;
    }
    assert_true(m->count < MOST_ROWS && size <= MOST_BYTES);
    r = &m->rows[m->count++];
    r->token = table << 24 | (same_table + 1);
    snprintf(r->text, sizeof r->text, "%s", key);
    if (size != 0)
        memcpy(r->signature, signature, size);
    r->size = size;
    return r->token;
}

static uint32_t core_type(void *context, const char *name)
{
    return row_of(context, 0x01, name, NULL, 0);
}

static uint32_t member(void *context, uint32_t parent, const char *name, const uint8_t *signature,
                       size_t size)
{
    char text[256];

    snprintf(text, sizeof text, "%08x %s", parent, name);
    return row_of(context, 0x0A, text, signature, size);
}

static uint32_t type_spec(void *context, const uint8_t *signature, size_t size)
{
    return row_of(context, 0x1B, "", signature, size);
}

static uint32_t local_signature(void *context, const uint8_t *signature, size_t size)
{
    return row_of(context, 0x11, "", signature, size);
}

static uint32_t string(void *context, const char *text)
{
    return row_of(context, 0x70, text, NULL, 0);
}

static const row *find_row(const module *m, uint32_t token)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->rows[i].token == token)
            return &m->rows[i];
    }
    return NULL;
}

/* Members that the template asked for; the case's own code calls 0A000001 (void, no parameter when
 * it is not one of ours) and takes a string. */
static bool resolve(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    static const uint8_t INT_TO_INT[] = {0x00, 0x01, 0x08, 0x08};
    static const uint8_t TAKES_STRING[] = {0x00, 0x01, 0x01, 0x0E};
    const row *r = find_row(context, token);

    if (token == 0x0AFFFF01) {
        *bytes = TAKES_STRING;
        *length = sizeof TAKES_STRING;
    } else if (token == 0x0AFFFF02) {
        *bytes = INT_TO_INT;
        *length = sizeof INT_TO_INT;
    } else if (r != NULL) {
        *bytes = r->signature;
        *length = r->size;
    } else {
        return false;
    }
    return true;
}

/* ---- one case ---- */

typedef struct {
    char *form;
    uint8_t signature[MOST_BYTES], locals[MOST_BYTES], code[MOST_BYTES];
    size_t signature_size, locals_size, code_size;
    char *header;
    char *clauses;
} given;

static size_t read_hex(const char *text, uint8_t *bytes)
{
    size_t count = 0;

    if (strcmp(text, "-") == 0)
        return 0;
    for (char *end; *text != '\0'; text = end) {
        assert_true(count < MOST_BYTES);
        bytes[count++] = (uint8_t)strtoul(text, &end, 16);
        assert_true(end != text);
        while (*end == ' ')
            end++;
    }
    return count;
}

static void take_case(given *g, char *line)
{
    char *pieces[6];

    assert_int_equal(cases_cut(line, " | ", pieces, 6), 6);
    g->form = pieces[0];
    g->signature_size = read_hex(pieces[1], g->signature);
    g->locals_size = read_hex(pieces[2], g->locals);
    g->header = pieces[3];
    g->code_size = read_hex(pieces[4], g->code);
    g->clauses = pieces[5];
}

/* Header, code and small clauses as a compiler writes them. */
static void write_body(const given *g, buffer *out)
{
    unsigned flags = 0;
    unsigned stack = 8;

    if (strcmp(g->header, "tiny") == 0) {
        buffer_append_u8(out, (uint8_t)(g->code_size << 2 | 2));
        buffer_append(out, g->code, g->code_size);
        return;
    }
    assert_int_equal(sscanf(g->header, "fat %x %x", &flags, &stack), 2);
    if (strcmp(g->clauses, "-") != 0)
        flags |= 8;
    buffer_append_u16(out, (uint16_t)(0x3003 | flags));
    buffer_append_u16(out, (uint16_t)stack);
    buffer_append_u32(out, (uint32_t)g->code_size);
    buffer_append_u32(out, g->locals_size != 0 ? 0x11FFFFFF : 0);
    buffer_append(out, g->code, g->code_size);
    if (strcmp(g->clauses, "-") != 0) {
        buffer section = BUFFER_EMPTY;
        unsigned kind, try_begin, try_length, handler, length;
        int used;

        for (const char *p = g->clauses; sscanf(p, "%u,%u,%u,%u,%u%n", &kind, &try_begin,
                                                &try_length, &handler, &length, &used) == 5;
             p += used) {
            buffer_append_u16(&section, (uint16_t)kind);
            buffer_append_u16(&section, (uint16_t)try_begin);
            buffer_append_u8(&section, (uint8_t)try_length);
            buffer_append_u16(&section, (uint16_t)handler);
            buffer_append_u8(&section, (uint8_t)length);
            buffer_append_u32(&section, kind == 0 ? 0x01000003 : 0);
        }
        buffer_append_fill(out, 0, (4 - out->length % 4) % 4);
        buffer_append_u8(out, 1);
        buffer_append_u8(out, (uint8_t)(section.length + 4));
        buffer_append_u16(out, 0);
        buffer_append(out, section.data, section.length);
        buffer_free(&section);
    }
}

static uint32_t word(const buffer *b, size_t at)
{
    uint32_t value;

    assert_true(at + 4 <= b->length);
    memcpy(&value, b->data + at, 4);
    return value;
}

/* What came out, in the words of the cases: from the bytes, not from our own structures. */
static void show(const module *m, const buffer *bytes, buffer *out)
{
    uint32_t size = word(bytes, 4);
    const row *locals = find_row(m, word(bytes, 8));
    size_t at = (12 + size + 3) / 4 * 4;
    size_t end;

    assert_non_null(locals);
    buffer_format(out, "%u | %u | %x | ", size, word(bytes, 0) >> 16, word(bytes, 0) & 0xFFF);
    for (size_t i = 0; i < locals->size; i++)
        buffer_format(out, "%02X ", locals->signature[i]);
    buffer_append_text(out, "|");
    assert_int_equal(bytes->data[at], 0x41);
    end = at + (word(bytes, at) >> 8);
    assert_int_equal(end, bytes->length);
    for (at += 4; at < end; at += 24) {
        buffer_format(out, " (%u,%X,%u,%X,%u", word(bytes, at), word(bytes, at + 4),
                      word(bytes, at + 8), word(bytes, at + 12), word(bytes, at + 16));
        if (word(bytes, at) == CIL_FILTER)
            buffer_format(out, ",%X", word(bytes, at + 20));
        buffer_append_text(out, ")");
    }
}

static void check_body(module *m, cil_body *body, const given *g)
{
    cil_resolver resolver = {m, resolve};
    const row *locals = find_row(m, body->local_signature);
    cil_check_method method = {g->signature, g->signature_size, locals->signature, locals->size,
                               &resolver};
    cil_check_result result;
    cil_checker *checker = cil_checker_create();
    error e;

    error_clear(&e);
    if (cil_check(checker, body, &method, &result, &e) != 0)
        fail_msg("the checker refuses it: %s", e.message);
    assert_true(result.max_stack <= body->max_stack);
    cil_checker_free(checker);
}

/* Pointers and by-refs can't be boxed; types by their first byte are enough here. */
static void find_boxes(const cil_signature *s, bool *can_box)
{
    uint32_t type = cil_signature_first(s);

    for (uint32_t i = 0; i < s->count; i++, type = cil_signature_after(s, type))
        can_box[i] = s->types[type].element != CIL_TYPE_BYREF &&
                     s->types[type].element != CIL_TYPE_POINTER &&
                     s->types[type].element != CIL_TYPE_FUNCTION;
}

static void run_case(const given *g, buffer *shown)
{
    module *m = calloc(1, sizeof *m);
    template_tokens tokens = {m, core_type, member, type_spec, local_signature, string};
    template_facts f = {.agent_path = "/home/NewRelic.Agent.Core.dll",
                        .factory = "Factory",
                        .arguments = 0x3400,
                        .metric = "",
                        .assembly = "Assembly",
                        .type_token = 0x02000002,
                        .type_name = "Type",
                        .method = "Method",
                        .parameters = "",
                        .function_id = 0x1234,
                        .can_box_result = true,
                        .slot = 0x5678,
                        .is_shallow = 0x9ABC};
    static const uint8_t NO_LOCALS[] = {0x07, 0x00};
    bool can_box[32];
    cil_signature signature;
    cil_body body;
    buffer bytes = BUFFER_EMPTY;
    buffer result = BUFFER_EMPTY;
    error e;
    int code;

    error_clear(&e);
    cil_signature_init(&signature);
    cil_body_init(&body);
    assert_int_equal(cil_signature_read(&signature, g->signature, g->signature_size, &e), 0);
    write_body(g, &bytes);
    if (cil_decode(&body, bytes.data, bytes.length, &e) != 0)
        fail_msg("the case's own body: %s", e.message);
    find_boxes(&signature, can_box);
    f.signature = &signature;
    f.locals = g->locals_size != 0 ? g->locals : NULL;
    f.locals_length = g->locals_size;
    f.can_box = can_box;
    f.reference_form = strcmp(g->form, "reference") == 0;
    code = strcmp(g->form, "api") == 0 ? template_apply_api(&body, &f, &tokens, &e)
                                       : template_apply(&body, &f, &tokens, &e);
    if (code != 0) {
        buffer_format(shown, "refused: %s", e.message);
    } else {
        if (body.local_signature == 0 || body.local_signature == 0x11FFFFFF)
            body.local_signature = g->locals_size != 0
                                       ? local_signature(m, g->locals, g->locals_size)
                                       : local_signature(m, NO_LOCALS, sizeof NO_LOCALS);
        assert_int_equal(cil_encode(&body, CIL_ENCODE_FAT, &result, &e), 0);
        check_body(m, &body, g);
        show(m, &result, shown);
    }
    cil_signature_free(&signature);
    cil_body_free(&body);
    buffer_free(&bytes);
    buffer_free(&result);
    free(m);
}

static void bodies_are_as_specified(void **state)
{
    cases c;
    char *lines[2];
    size_t count = 0;

    (void)state;
    cases_open(&c, "template.txt");
    while (cases_next(&c, lines, 2)) {
        char copy[1024];
        given g;
        buffer shown = BUFFER_EMPTY;

        memset(&g, 0, sizeof g);
        snprintf(copy, sizeof copy, "%s", lines[0]);
        take_case(&g, lines[0]);
        run_case(&g, &shown);
        if (strncmp(lines[1], "refused ", 8) == 0
                ? strstr(buffer_text(&shown), lines[1] + 8) == NULL ||
                      strncmp(buffer_text(&shown), "refused", 7) != 0
                : strcmp(buffer_text(&shown), lines[1]) != 0)
            fail_msg("%s:\nexpected %s\ngot      %s", copy, lines[1], buffer_text(&shown));
        buffer_free(&shown);
        count++;
    }
    print_message("%zu template cases\n", count);
    assert_true(count >= 20);
    cases_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_as_specified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
