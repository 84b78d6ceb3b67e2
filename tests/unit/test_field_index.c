/* Unit tests of the names of fields, and of references inside of structs: Fields.dll is made of
 * Fields.cs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "symbols/type_index.h"

#define DLL TEST_SOURCE_DIR "/tests/unit/data/symbols/Fields.dll"

enum { FIELDS = 64 };

static type_index names;

static int read_assembly(void **state)
{
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(DLL, "rb");
    size_t size;

    (void)state;
    assert_non_null(file);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    type_index_init(&names);
    type_index_add(&names, bytes, size);
    return 0;
}

static int forget_assembly(void **state)
{
    (void)state;
    type_index_free(&names);
    return 0;
}

/* By its token, as the runtime would ask. */
static const field_index_field *field_named(const char *name)
{
    for (uint32_t row = 1; row < FIELDS; row++) {
        const field_index_field *field = field_index_find(&names.fields, "Fields", 4u << 24 | row);

        if (field != NULL && text_equal(field_index_name(&names.fields, field), name))
            return field;
    }
    return NULL;
}

static void spell(buffer *out, const char *field)
{
    buffer_append_text(out, field);
}

/* The names of all references in a struct, by commas; "-" where they are not known. */
static void are(const char *field, const field_index_arguments *arguments, uint32_t all,
                const char *expected)
{
    buffer found = BUFFER_EMPTY;

    for (uint32_t k = 0; k < all; k++) {
        buffer_append_text(&found, k == 0 ? "" : ",");
        if (!field_index_name_inside(&names.fields, field_named(field), arguments, k, all, spell,
                                     &found))
            buffer_append_char(&found, '-');
    }
    assert_string_equal(buffer_text(&found), expected);
    buffer_free(&found);
}

static void fields_have_names(void **state)
{
    buffer text = BUFFER_EMPTY;

    (void)state;
    assert_non_null(field_named("Plain"));
    assert_non_null(field_named("Shared"));
    assert_null(field_named("LITERAL"));
    assert_null(field_index_find(&names.fields, "Elsewhere", 4u << 24 | 1));
    field_index_append_class(&names.fields, "Fields", field_named("Plain")->class_row, &text);
    assert_string_equal(buffer_text(&text), "Kept.Holder`1");
    buffer_clear(&text);
    field_index_append_class(&names.fields, "Fields",
                             field_named("<Automatic>k__BackingField")->class_row, &text);
    assert_string_equal(buffer_text(&text), "Kept.Holder`1+Nested");
    buffer_free(&text);
}

static void references_in_structs_have_their_order(void **state)
{
    field_index_arguments references = {.count = 1}, numbers = {.count = 1}, none = {.count = 0};
    field_index_arguments structs = {.count = 1};
    buffer reference = BUFFER_EMPTY, number = BUFFER_EMPTY, inner = BUFFER_EMPTY;

    (void)state;
    field_index_put_reference(&reference);
    field_index_put_number(&number);
    field_index_put_struct(&names.fields, "Fields", 2u << 24 | field_named("Own")->class_row, 0,
                           &inner);
    references.shapes[0] = reference.data;
    numbers.shapes[0] = number.data;
    structs.shapes[0] = inner.data;
    are("Inside", &references, 2, "Value,Name");
    are("Inside", &numbers, 1, "Name");
    are("Inside", &structs, 4, "Name,Value.Own,Value.Deep.Value,Value.Deep.Name");
    are("Whole", &none, 3, "Own,Deep.Value,Deep.Name");
    are("Twice", &references, 3, "Name,Value.Value,Value.Name");
    /* not as many as there are */
    are("Inside", &references, 1, "-");
    are("Inside", &numbers, 2, "-,-");
    /* of a class, of one elsewhere, of one whose fields are where it says; of nobody knows what */
    are("Plain", &references, 1, "-");
    are("Elsewhere", &references, 2, "-,-");
    are("Laid", &references, 2, "-,-");
    are("Inside", &none, 2, "-,-");
    buffer_free(&reference);
    buffer_free(&number);
    buffer_free(&inner);
}

static void a_class_is_known_by_its_fields(void **state)
{
    const field_index_field *own = field_named("Own"), *deep = field_named("Deep"),
                            *nothing = field_named("Nothing");
    uint32_t row = own->class_row;
    uint32_t tokens[] = {own->row, nothing->row, deep->row};

    (void)state;
    assert_true(field_index_is_class(&names.fields, "Kept.Outer", 10, row, tokens, 3));
    assert_false(field_index_is_class(&names.fields, "Kept.Outer", 10, row, tokens, 2));
    assert_false(field_index_is_class(&names.fields, "Kept.Outer", 10, row + 1, tokens, 3));
    assert_false(field_index_is_class(&names.fields, "Kept.Inner`1", 12, row, tokens, 3));
    assert_false(field_index_is_class(&names.fields, "Kept.Nothing", 12, row, tokens, 3));
    tokens[1] = field_named("Plain")->row;
    assert_false(field_index_is_class(&names.fields, "Kept.Outer", 10, row, tokens, 3));
    /* as a person writes it */
    row = field_named("<Automatic>k__BackingField")->class_row;
    tokens[0] = field_named("<Automatic>k__BackingField")->row;
    assert_true(field_index_is_class(&names.fields, "Kept.Holder`1.Nested", 20, row, tokens, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_names),
        cmocka_unit_test(references_in_structs_have_their_order),
        cmocka_unit_test(a_class_is_known_by_its_fields),
    };

    return cmocka_run_group_tests(tests, read_assembly, forget_assembly);
}
