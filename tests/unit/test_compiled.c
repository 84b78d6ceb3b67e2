/* Unit tests of compiled: a runtime with two versions of one method, and code that takes the place
 * of other code. The real runtime's answers are tested by the lines and stacks of tests/e2e. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/compiled.h"

/* Version 1 at 0x1000; version 2 hot at 0x2000 (0x100 bytes) and cold at 0x9000 (0x80 bytes). */
static struct {
    FunctionID at_1000; /* the function whose code lies there now */
    unsigned ranges, maps;
} now;

static HRESULT CLR_CALL function_from_ip(ICorProfilerInfo15 *self, const uint8_t *ip,
                                         FunctionID *function, ReJITID *rejit)
{
    uintptr_t at = (uintptr_t)ip;

    (void)self;
    *rejit = 0;
    if (at >= 0x1000 && at < 0x1100)
        *function = now.at_1000;
    else if ((at >= 0x2000 && at < 0x2100) || (at >= 0x9000 && at < 0x9080))
        *function = 0x77;
    else if (at == 0x5000)
        *function = 0x55; /* a stub: a method without a range */
    else
        return E_FAIL;
    return S_OK;
}

static HRESULT CLR_CALL starts_of(ICorProfilerInfo15 *self, FunctionID function, ReJITID rejit,
                                  uint32_t capacity, uint32_t *count, uintptr_t *starts)
{
    (void)self;
    (void)rejit;
    assert_true(capacity >= 2);
    if (function == 0x55)
        return E_FAIL;
    starts[0] = 0x1000;
    starts[1] = 0x2000;
    *count = function == 0x77 ? 2 : 1;
    return S_OK;
}

static HRESULT CLR_CALL code_info(ICorProfilerInfo15 *self, uintptr_t start, uint32_t capacity,
                                  uint32_t *count, COR_PRF_CODE_INFO *regions)
{
    (void)self;
    assert_true(capacity >= 2);
    now.ranges++;
    regions[0] = (COR_PRF_CODE_INFO){start, 0x100};
    regions[1] = (COR_PRF_CODE_INFO){0x9000, 0x80};
    *count = start == 0x2000 ? 2 : 1;
    return S_OK;
}

static HRESULT CLR_CALL code_info_by_function(ICorProfilerInfo15 *self, FunctionID function,
                                              ReJITID rejit, uint32_t capacity, uint32_t *count,
                                              COR_PRF_CODE_INFO *regions)
{
    (void)self;
    (void)function;
    (void)rejit;
    (void)capacity;
    (void)count;
    (void)regions;
    return E_FAIL;
}

static HRESULT CLR_CALL il_map(ICorProfilerInfo15 *self, uintptr_t start, uint32_t capacity,
                               uint32_t *count, COR_DEBUG_IL_TO_NATIVE_MAP *map)
{
    (void)self;
    assert_true(capacity >= 5);
    now.maps++;
    /* a prologue, two places, and (offset 0x110: 0x10 into the cold part) a third */
    map[0] = (COR_DEBUG_IL_TO_NATIVE_MAP){0xfffffffe, 0, 0x10};
    map[1] = (COR_DEBUG_IL_TO_NATIVE_MAP){start == 0x1000 ? 5 : 6, 0x10, 0x40};
    map[2] = (COR_DEBUG_IL_TO_NATIVE_MAP){20, 0x40, 0x100};
    map[3] = (COR_DEBUG_IL_TO_NATIVE_MAP){30, 0x110, 0x180};
    map[4] = (COR_DEBUG_IL_TO_NATIVE_MAP){0xffffffff, 0x80, 0x100}; /* of no place */
    *count = 5;
    return S_OK;
}

static const struct ICorProfilerInfo15_vtbl TABLE = {
    .GetFunctionFromIP2 = function_from_ip,
    .GetFunctionFromIP3 = function_from_ip,
    .GetNativeCodeStartAddresses = starts_of,
    .GetCodeInfo3 = code_info_by_function,
    .GetCodeInfo4 = code_info,
    .GetILToNativeMapping3 = il_map,
};

static uint32_t offset_at(compiled *c, uintptr_t address)
{
    compiled_piece *piece;

    assert_true(compiled_find(c, address, &piece) != 0);
    assert_non_null(piece);
    return compiled_place_at(c, piece, address).il_offset;
}

static void each_piece_is_asked_for_once(void **state)
{
    ICorProfilerInfo15 object = {&TABLE};
    clr_info info = {.com = &object, .version = 15};
    compiled_piece *piece;
    compiled c;

    (void)state;
    memset(&now, 0, sizeof now);
    now.at_1000 = 0x77;
    compiled_init(&c, &info);
    for (uintptr_t at = 0x1010; at < 0x1040; at++)
        assert_int_equal(offset_at(&c, at), 5 + 1);
    assert_int_equal(offset_at(&c, 0x1000), 5 + 1); /* before the first place: the next one's */
    assert_int_equal(offset_at(&c, 0x10ff), 20 + 1);
    assert_int_equal(now.maps, 1);
    assert_int_equal(now.ranges, 1);
    /* the other version of the same method has a map of its own, and its cold part goes on in it */
    assert_int_equal(offset_at(&c, 0x2010), 6 + 1);
    assert_int_equal(offset_at(&c, 0x9000), 20 + 1);
    assert_int_equal(offset_at(&c, 0x9010), 30 + 1);
    assert_int_equal(offset_at(&c, 0x1010), 5 + 1);
    assert_int_equal(now.maps, 3);
    /* no method, and a method without a range */
    assert_int_equal(compiled_find(&c, 0x4000, &piece), 0);
    assert_null(piece);
    assert_int_equal(compiled_find(&c, 0x5000, &piece), 0x55);
    assert_null(piece);
    compiled_free(&c);
}

static void code_in_the_place_of_other_code_is_told_apart(void **state)
{
    ICorProfilerInfo15 object = {&TABLE};
    clr_info info = {.com = &object, .version = 15};
    compiled_piece *first, *second;
    compiled c;

    (void)state;
    memset(&now, 0, sizeof now);
    now.at_1000 = 0x77;
    compiled_init(&c, &info);
    assert_int_equal(compiled_find(&c, 0x1020, &first), 0x77);
    now.at_1000 = 0x88;
    assert_int_equal(compiled_find(&c, 0x1020, &second), 0x88);
    assert_int_equal(second->function, 0x88);
    assert_int_equal(now.maps, 2);
    compiled_free(&c);
}

static void a_place_says_how_sure_it_is(void **state)
{
    ICorProfilerInfo15 object = {&TABLE};
    clr_info info = {.com = &object, .version = 15};
    compiled_place place;
    compiled_piece *piece;
    compiled c;

    (void)state;
    memset(&now, 0, sizeof now);
    now.at_1000 = 0x77;
    compiled_init(&c, &info);
    assert_int_equal(compiled_find(&c, 0x1020, &piece), 0x77);
    place = compiled_place_at(&c, piece, 0x1020);
    assert_int_equal(place.il_offset, 5 + 1);
    assert_int_equal(place.il_end, 20);
    assert_true(place.is_exact);
    place = compiled_place_at(&c, piece, 0x1080); /* from here on the map has nothing */
    assert_int_equal(place.il_offset, 20 + 1);
    assert_int_equal(place.il_end, 30);
    assert_false(place.is_exact);
    assert_false(compiled_place_at(&c, piece, 0x1000).is_exact);
    compiled_free(&c);
}

/* Behind the method's end, where the map has nothing: values are moved, then a jump back. */
static void a_detour_belongs_to_where_it_leads(void **state)
{
    static const uint8_t FAR_BACK[] = {0x90, 0xe9, 0x9a, 0xff, 0xff, 0xff}; /* to 0x20 */
    static const uint8_t ONWARD[] = {0xe9, 0x00, 0x01, 0x00, 0x00};         /* out of it */
    ICorProfilerInfo15 object = {&TABLE};
    clr_info info = {.com = &object, .version = 15};
    uint8_t code[0x100];
    compiled_piece moved;
    compiled_piece *piece;
    compiled c;

    (void)state;
    memset(&now, 0, sizeof now);
    memset(code, 0x90, sizeof code);
    now.at_1000 = 0x77;
    compiled_init(&c, &info);
    assert_int_equal(compiled_find(&c, 0x1020, &piece), 0x77);
    moved = *piece;
    moved.start = (uintptr_t)code;
    assert_int_equal(compiled_place_at(&c, &moved, moved.start + 0x80).il_offset, 20 + 1);
    code[0x85] = 0xeb;
    code[0x86] = 0x20 - 0x87 + 0x100;
    assert_int_equal(compiled_place_at(&c, &moved, moved.start + 0x80).il_offset, 5 + 1);
    assert_int_equal(compiled_place_at(&c, &moved, moved.start + 0x50).il_offset, 20 + 1);
    memcpy(code + 0x80, FAR_BACK, sizeof FAR_BACK);
    assert_int_equal(compiled_place_at(&c, &moved, moved.start + 0x80).il_offset, 5 + 1);
    memcpy(code + 0x80, ONWARD, sizeof ONWARD);
    code[0x85] = 0x90;
    assert_int_equal(compiled_place_at(&c, &moved, moved.start + 0x80).il_offset, 20 + 1);
    compiled_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_piece_is_asked_for_once),
        cmocka_unit_test(code_in_the_place_of_other_code_is_told_apart),
        cmocka_unit_test(a_place_says_how_sure_it_is),
        cmocka_unit_test(a_detour_belongs_to_where_it_leads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
