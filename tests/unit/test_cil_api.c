/* The SDK's words for CIL, as an author uses them: bytes in, changed, checked, listed, bytes out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clarinet/cil.h"
#include "clarinet/signatures.h"

/* int (int): if (a > 9) return 1; return a; */
static const uint8_t BODY[] = {0x26, 0x02, 0x1F, 0x09, 0x31, 0x02, 0x17, 0x2A, 0x02, 0x2A};
static const uint8_t SIGNATURE[] = {0x00, 0x01, 0x08, 0x08};
static const uint8_t PROBE[] = {0x09, 0x01, 0x01, 0x0A};

enum { PROBE_TOKEN = 0x11000001 };

static int resolve(void *context, mdToken token, const uint8_t **bytes, uint32_t *size)
{
    (void)context;
    *bytes = PROBE;
    *size = sizeof PROBE;
    return token == PROBE_TOKEN;
}

static const clr_cil_method METHOD = {SIGNATURE, sizeof SIGNATURE, NULL, 0, resolve, NULL};

static void on_call(int64_t argument)
{
    (void)argument;
}

typedef struct {
    clr_cil *cil;
    clr_text *text;
} state;

static state start(void)
{
    state s = {clr_cil_create(), clr_text_create()};

    assert_non_null(s.cil);
    assert_non_null(s.text);
    assert_int_equal(clr_cil_decode(s.cil, BODY, sizeof BODY, s.text), S_OK);
    return s;
}

static void end(state *s)
{
    clr_cil_free(s->cil);
    clr_text_free(s->text);
}

static void test_untouched_is_the_same(void **unused)
{
    state s = start();
    const uint8_t *bytes;
    size_t length;

    (void)unused;
    assert_int_equal(clr_cil_encode(s.cil, 0, &bytes, &length, s.text), S_OK);
    assert_int_equal(length, sizeof BODY);
    assert_memory_equal(bytes, BODY, sizeof BODY);
    end(&s);
}

static void test_probe(void **unused)
{
    state s = start();
    clr_cil_listing listing = {NULL, NULL, 0, 1};
    cil_map_entry map[8];
    const uint8_t *bytes;
    size_t length;
    uint32_t depth = 0;
    cil_at at = CIL_NEW;

    (void)unused;
    assert_string_equal(clr_cil_opcode_name(clr_cil_get(s.cil, clr_cil_first(s.cil))->opcode),
                        "ldarg.0");
    clr_cil_insert_probe(s.cil, clr_cil_first(s.cil), 77, on_call, PROBE_TOKEN);
    assert_int_equal(clr_cil_check(s.cil, &METHOD, &depth, &at, s.text), S_OK);
    assert_int_equal(depth, 2);
    assert_int_equal(at, CIL_END);
    assert_int_equal(clr_cil_encode(s.cil, 0, &bytes, &length, s.text), S_OK);
    assert_int_equal(clr_cil_offset_map(s.cil, map, 8), 7);
    assert_int_equal(map[0].old_offset, 0);
    assert_true(map[0].new_offset > 0);
    clr_cil_list(s.cil, &listing, s.text);
    assert_non_null(strstr(clr_text_value(s.text), "calli"));
    assert_non_null(strstr(clr_text_value(s.text), "ldc.i4.s"));
    end(&s);
}

static void test_refused_with_the_reason(void **unused)
{
    state s = start();
    cil_at last = clr_cil_last(s.cil);
    cil_at at = CIL_END;
    static const uint8_t broken[] = {0x06, 0x24};

    (void)unused;
    clr_cil_insert(s.cil, last, CIL_POP);
    assert_int_equal(clr_cil_check(s.cil, &METHOD, NULL, &at, s.text), COR_E_BADIMAGEFORMAT);
    assert_int_equal(at, last);
    assert_non_null(strstr(clr_text_value(s.text), "ret"));
    clr_text_clear(s.text);
    assert_int_equal(clr_cil_decode(s.cil, broken, sizeof broken, s.text), COR_E_BADIMAGEFORMAT);
    assert_true(clr_text_length(s.text) > 0);
    assert_int_equal(clr_cil_first(s.cil), CIL_END);
    end(&s);
}

static void test_wrap(void **unused)
{
    state s = start();
    clr_text *types = clr_text_create();
    clr_text *locals = clr_text_create();
    clr_signature *signature = clr_signature_create();
    cil_wrap_options options = {.handler = CIL_FAULT, .has_result = true};
    clr_cil_method method = METHOD;
    cil_wrap wrap;

    (void)unused;
    assert_int_equal(clr_signature_read(signature, SIGNATURE, sizeof SIGNATURE, s.text), S_OK);
    assert_int_equal(clr_signature_count(signature), 1);
    clr_signature_copy_type(signature, 0, types);
    assert_int_equal(
        clr_signature_append_locals(NULL, 0, types, 1, locals, &options.result_local, s.text),
        S_OK);
    assert_int_equal(options.result_local, 0);
    assert_memory_equal(clr_text_value(locals), "\x07\x01\x08", 3);
    assert_int_equal(clr_cil_wrap(s.cil, &options, &wrap, s.text), S_OK);
    assert_int_equal(wrap.returns, 2);
    assert_int_equal(clr_cil_clause_count(s.cil), 1);
    assert_int_equal(clr_cil_clause(s.cil, 0)->kind, CIL_FAULT);
    assert_null(clr_cil_clause(s.cil, 1));
    clr_cil_insert_probe(s.cil, wrap.enter, 1, on_call, PROBE_TOKEN);
    clr_cil_insert_probe(s.cil, wrap.failed, 1, on_call, PROBE_TOKEN);
    clr_cil_insert_probe(s.cil, wrap.leave, 1, on_call, PROBE_TOKEN);
    method.locals = (const uint8_t *)clr_text_value(locals);
    method.locals_size = clr_text_length(locals);
    assert_int_equal(clr_cil_check(s.cil, &method, NULL, NULL, s.text), S_OK);
    clr_signature_free(signature);
    clr_text_free(types);
    clr_text_free(locals);
    end(&s);
}

/* ---- handing a body to the runtime ---- */

enum { METHOD_TOKEN = 0x06000001, MOST_CODE = 256, MOST_MAP = 32 };

/* What the runtime was given. */
static struct {
    uint8_t body[MOST_CODE];
    uint32_t size;
    COR_IL_MAP map[MOST_MAP];
    uint32_t map_count;
    HRESULT answer; /* to the body */
} given;

static uint32_t CLR_CALL one_import(IMetaDataImport2 *self)
{
    (void)self;
    return 1;
}

static HRESULT CLR_CALL method_props(IMetaDataImport2 *self, mdMethodDef method, mdTypeDef *type,
                                     WCHAR *name, uint32_t capacity, uint32_t *length,
                                     uint32_t *attributes, const uint8_t **signature,
                                     uint32_t *signature_size, uint32_t *rva, uint32_t *flags)
{
    (void)self, (void)type, (void)name, (void)capacity, (void)length, (void)attributes;
    (void)rva, (void)flags;
    if (method != METHOD_TOKEN)
        return E_INVALIDARG;
    *signature = SIGNATURE;
    *signature_size = sizeof SIGNATURE;
    return S_OK;
}

static HRESULT CLR_CALL signature_of_token(IMetaDataImport2 *self, mdSignature token,
                                           const uint8_t **bytes, uint32_t *size)
{
    (void)self;
    return resolve(NULL, token, bytes, size) ? S_OK : E_INVALIDARG;
}

static HRESULT CLR_CALL metadata_of_module(ICorProfilerInfo15 *self, ModuleID module,
                                           uint32_t flags, const GUID *iid, clr_unknown **out)
{
    static const struct IMetaDataImport2_vtbl vtbl = {.AddRef = one_import,
                                                      .Release = one_import,
                                                      .GetMethodProps = method_props,
                                                      .GetSigFromToken = signature_of_token};
    static IMetaDataImport2 import = {&vtbl};

    (void)self, (void)module, (void)flags, (void)iid;
    *out = (clr_unknown *)(void *)&import;
    return S_OK;
}

static HRESULT CLR_CALL take_body(ICorProfilerFunctionControl *self, uint32_t size,
                                  const uint8_t *body)
{
    (void)self;
    assert_true(size <= MOST_CODE);
    memcpy(given.body, body, size);
    given.size = size;
    return given.answer;
}

static HRESULT CLR_CALL take_map(ICorProfilerFunctionControl *self, uint32_t count,
                                 const COR_IL_MAP *map)
{
    (void)self;
    assert_true(count <= MOST_MAP);
    memcpy(given.map, map, count * sizeof *map);
    given.map_count = count;
    return S_OK;
}

static void test_written_for_rejit(void **unused)
{
    static const struct ICorProfilerInfo15_vtbl info_vtbl = {.GetModuleMetaData =
                                                                 metadata_of_module};
    static const struct ICorProfilerFunctionControl_vtbl control_vtbl = {
        .SetILFunctionBody = take_body, .SetILInstrumentedCodeMap = take_map};
    /* old offsets, and where they are now: everything behind the probe, 20 bytes further */
    static const uint32_t old[] = {0, 1, 3, 5, 6, 7, 8};
    ICorProfilerInfo15 runtime = {&info_vtbl};
    ICorProfilerFunctionControl control = {&control_vtbl};
    const clr_info info = {&runtime, 15};
    state s = start();
    clr_cil *again = clr_cil_create();

    (void)unused;
    memset(&given, 0, sizeof given);
    clr_cil_insert_probe(s.cil, clr_cil_first(s.cil), INT64_MAX, on_call, PROBE_TOKEN);
    assert_int_equal(clr_cil_write_rejit(s.cil, &info, 1, METHOD_TOKEN, &control, s.text), S_OK);
    assert_int_equal(given.body[0] & 3, 3); /* a fat header */
    assert_int_equal(clr_cil_decode(again, given.body, given.size, s.text), S_OK);
    assert_true(clr_cil_max_stack(again) >= 2);
    assert_int_equal(given.map_count, sizeof old / sizeof old[0]);
    for (uint32_t n = 0; n < given.map_count; n++) {
        assert_int_equal(given.map[n].oldOffset, old[n]);
        assert_int_equal(given.map[n].newOffset, given.map[0].newOffset + old[n]);
        assert_true(given.map[n].fAccurate);
    }
    assert_true(given.map[0].newOffset >= 20);

    /* what the runtime says comes back, with no map after a body that it did not take */
    given.answer = E_INVALIDARG;
    given.map_count = 0;
    assert_int_equal(clr_cil_write_rejit(s.cil, &info, 1, METHOD_TOKEN, &control, s.text),
                     E_INVALIDARG);
    assert_non_null(strstr(clr_text_value(s.text), "the new body"));
    assert_int_equal(given.map_count, 0);
    /* and a body that is wrong never reaches it */
    given.size = 0;
    clr_cil_insert(s.cil, clr_cil_first(s.cil), CIL_POP);
    assert_int_not_equal(clr_cil_write_rejit(s.cil, &info, 1, METHOD_TOKEN, &control, s.text),
                         S_OK);
    assert_int_equal(given.size, 0);
    clr_cil_free(again);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untouched_is_the_same),   cmocka_unit_test(test_probe),
        cmocka_unit_test(test_refused_with_the_reason), cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_written_for_rejit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
