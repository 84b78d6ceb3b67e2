/*
 * Names and signatures from foreign bytes: whatever they are, reading stays inside them and the
 * answer is text. The first byte says how many bytes are the signature; the rest is a type's path,
 * a line end, and a method's name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "clarinet/names.h"

static void append_path(void *context, mdToken token, clr_text *out)
{
    clr_text_append(out, token & 1 ? context : "System.ValueTuple`2");
}

static const char *by_reference(void *context, uint32_t number)
{
    static const char *const WORDS[] = {"ref", "out", "in", "ref readonly"};

    (void)context;
    return WORDS[number % 4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const ARGUMENTS[] = {"int", "System.Collections.Generic.List<string>[]"};
    size_t signature_size = size == 0 ? 0 : data[0] < size - 1 ? data[0] : size - 1;
    const uint8_t *signature = data + (size != 0);
    size_t text_size = size == 0 ? 0 : size - 1 - signature_size;
    char *path = calloc(1, text_size + 1);
    char *line;
    const char *method = "";
    buffer out = BUFFER_EMPTY;
    clr_signature_names names = {append_path, path, ARGUMENTS, 2, ARGUMENTS, 1, by_reference};

    if (path == NULL)
        return 0;
    if (text_size > 0)
        memcpy(path, signature + signature_size, text_size);
    line = strchr(path, '\n');
    if (line != NULL) {
        *line = '\0';
        method = line + 1;
    }
    for (unsigned style = 0; style < 4; style++) {
        const uint8_t *position = signature;

        clr_name_append_type(&out, path, ARGUMENTS, 2, style);
        clr_signature_append_parameters(&out, signature, signature_size, &names, style);
        clr_signature_append_type(&out, &position, signature + signature_size, &names, style);
        if (position < signature || position > signature + signature_size)
            abort();
    }
    clr_name_append_method(&out, path, ARGUMENTS, 2, method, ARGUMENTS, 1);
    clr_name_append_method(&out, path, NULL, 0, method, NULL, 0);
    if (!buffer_failed(&out) && strlen(buffer_text(&out)) != out.length)
        abort();
    buffer_free(&out);
    free(path);
    return 0;
}
