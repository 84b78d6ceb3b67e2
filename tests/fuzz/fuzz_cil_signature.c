/* Fuzz target: signatures. What was read is written, read again and must be the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cil/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(void *context, uint32_t token, buffer *out)
{
    (void)context;
    buffer_format(out, "T%x", (unsigned)token);
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cil_type_namer namer = {name, NULL, (size & 1) != 0};
    buffer first = BUFFER_EMPTY, second = BUFFER_EMPTY, text = BUFFER_EMPTY, locals = BUFFER_EMPTY;
    cil_signature s;
    cil_call_shape shape;
    uint8_t element;
    uint32_t number;

    cil_signature_init(&s);
    if (cil_signature_read(&s, data, size, NULL) == 0) {
        cil_signature_parameters_text(&s, &namer, &text);
        cil_type_copy(&s, 0, &text);
        cil_signature_write(&s, &first);
        must(cil_signature_read(&s, first.data, first.length, NULL) == 0);
        cil_signature_write(&s, &second);
        must(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    }
    if (cil_signature_read_type(&s, data, size, NULL) == 0)
        cil_type_text(&s, 0, &namer, &text);
    cil_signature_call_shape(data, size, &shape);
    cil_signature_field_element(data, size, &element);
    cil_signature_append_locals(data, size, &text, 1, &locals, &number, NULL);
    cil_signature_free(&s);
    buffer_free(&first);
    buffer_free(&second);
    buffer_free(&text);
    buffer_free(&locals);
    return 0;
}
