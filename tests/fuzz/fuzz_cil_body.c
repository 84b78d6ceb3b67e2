/* Fuzz target: method bodies. What decodes must encode to the same bytes, and what the checker
 * accepts must still be accepted after wrapping, encoding and decoding. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cil/check.h"
#include "cil/edit.h"
#include "cil/encode.h"
#include "cil/listing.h"
#include "cil/wrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t METHOD[] = {0x00, 2, 0x08, 0x08, 0x1C};
static const uint8_t LOCALS[] = {0x07, 3, 0x08, 0x1C, 0x08};

/* Every call takes an int32 and gives an int32 back, or nothing, by its token. */
static bool signature(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    static const uint8_t with[] = {0x00, 1, 0x08, 0x08};
    static const uint8_t without[] = {0x00, 0, 0x01};

    (void)context;
    *bytes = token & 1 ? with : without;
    *length = token & 1 ? sizeof with : sizeof without;
    return true;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Several sections, and small ones with odd bytes, come back as one clean section. */
static bool is_plain(const cil_body *b, const uint8_t *data, const buffer *out)
{
    return b->clause_count == 0 && b->size == out->length && (data[0] & 3) == 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cil_resolver resolver = {NULL, signature};
    cil_check_method method = {METHOD, sizeof METHOD, LOCALS, sizeof LOCALS, &resolver};
    cil_wrap_options options = {
        .handler = CIL_FAULT, .has_result = true, .result_local = 2, .drop_tail_calls = true};
    cil_listing listing = {0};
    cil_checker *checker = cil_checker_create();
    cil_check_result result;
    cil_wrap wrap;
    cil_body body;
    buffer out = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    bool good;

    cil_body_init(&body);
    if (cil_decode(&body, data, size, NULL) == 0) {
        must(cil_encode(&body, 0, &out, NULL) == 0);
        if (is_plain(&body, data, &out))
            must(memcmp(data, out.data, out.length) == 0);
        cil_list(&body, &listing, &text);
        good = cil_check(checker, &body, &method, &result, NULL) == 0;
        if (good && cil_wrap_body(&body, &options, &wrap, NULL) == 0) {
            cil_insert_constant(&body, wrap.enter, 1);
            cil_insert_token(&body, wrap.enter, CIL_CALL, 0x06000001);
            cil_insert(&body, wrap.enter, CIL_POP);
            cil_insert(&body, wrap.leave, CIL_NOP);
            must(cil_check(checker, &body, &method, &result, NULL) == 0);
            body.max_stack = (uint16_t)result.max_stack;
            buffer_clear(&out);
            must(cil_encode(&body, CIL_ENCODE_FAT | CIL_ENCODE_SHORTEST, &out, NULL) == 0);
            must(cil_decode(&body, out.data, out.length, NULL) == 0);
            must(cil_check(checker, &body, &method, &result, NULL) == 0);
        }
    }
    buffer_free(&out);
    buffer_free(&text);
    cil_body_free(&body);
    cil_checker_free(checker);
    return 0;
}
