/*
 * resolve: the part of names that asks the runtime: which method an address belongs to, where in
 * its CIL, what it is called, which module it is from. See names.h for the rules.
 */
#include <string.h>

#include "agent/names.h"
#include "agent/names_private.h"
#include "base/memory.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    MAXIMUM_ADDRESSES = 1 << 17, /* then the cache of addresses starts anew */
    MAXIMUM_REGIONS = 8,         /* hot and cold parts of one compiled method */
    MAXIMUM_VERSIONS = 32,       /* compiled versions of one method that are looked at */
    MAXIMUM_MAP = 4096,          /* entries of one IL map that are looked at */
};

static uint32_t add_module(names *n, ModuleID module);
static uint32_t add_method(names *n, FunctionID function);
static uint32_t il_offset_at(names *n, FunctionID function, ReJITID rejit, uintptr_t address);

uint32_t names_of_module(names *n, ModuleID module)
{
    uint64_t known;
    uint32_t id;

    if (module == 0)
        return 0;
    if (table_u64_get(&n->module_ids, module, &known))
        return (uint32_t)known;
    id = add_module(n, module);
    table_u64_put(&n->module_ids, module, id);
    return id;
}

uint32_t names_of_function(names *n, FunctionID function)
{
    uint64_t known;
    uint32_t id;

    if (function == 0)
        return 0;
    if (table_u64_get(&n->method_ids, function, &known))
        return (uint32_t)known;
    id = add_method(n, function);
    table_u64_put(&n->method_ids, function, id);
    return id;
}

uint32_t names_of_token(names *n, ModuleID module, mdMethodDef token)
{
    names_method made = {.token = token};
    buffer name = BUFFER_EMPTY;
    buffer parameters = BUFFER_EMPTY;
    IMetaDataImport2 *import = NULL;
    uint32_t id = 0;

    if (CLR_OK(clr_open_import(n->info, module, &import)) &&
        CLR_OK(clr_append_method_token(import, token, &name, &parameters))) {
        made.module = names_of_module(n, module);
        made.name = names_intern(n, buffer_text(&name), name.length);
        made.parameters = names_intern(n, buffer_text(&parameters), parameters.length);
        id = names_add_method(n, &made);
    }
    clr_release(import);
    buffer_free(&name);
    buffer_free(&parameters);
    return id;
}

uint32_t names_of_class(names *n, ClassID class_id)
{
    uint64_t known;
    uint32_t id;

    if (class_id == 0)
        return 0;
    if (table_u64_get(&n->class_ids, class_id, &known))
        return (uint32_t)known;
    buffer_clear(&n->scratch);
    names_write_class(n, class_id, &n->scratch);
    id = names_intern(n, buffer_text(&n->scratch), n->scratch.length);
    table_u64_put(&n->class_ids, class_id, id);
    return id;
}

uint32_t names_frame_at(names *n, uintptr_t address, bool caller)
{
    uintptr_t inside = caller ? address - 1 : address;
    FunctionID function = 0;
    ReJITID rejit = 0;
    uint64_t known;
    uint32_t frame;
    uint32_t method;
    HRESULT hr;

    if (table_u64_get(&n->address_ids, (uint64_t)inside, &known))
        return (uint32_t)known;
    if (n->address_ids.count >= MAXIMUM_ADDRESSES)
        table_u64_free(&n->address_ids);
    hr = clr_info_get_function_from_ip3(n->info, (const uint8_t *)inside, &function, &rejit);
    if (hr != S_OK || function == 0)
        hr = clr_info_get_function_from_ip2(n->info, (const uint8_t *)inside, &function, &rejit);
    method = hr == S_OK && function != 0 ? names_of_function(n, function) : 0;
    if (method == 0)
        frame = names_frame_synthetic(n, "(unknown)");
    else
        frame = names_frame_managed(n, method, il_offset_at(n, function, rejit, inside));
    table_u64_put(&n->address_ids, (uint64_t)inside, frame);
    return frame;
}

/* The offset of `address` in the code whose regions these are; false when it is in none. */
static bool offset_in_regions(const COR_PRF_CODE_INFO *regions, uint32_t count, uintptr_t address,
                              uint32_t *offset)
{
    size_t before = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (address >= regions[i].startAddress &&
            address - regions[i].startAddress < regions[i].size) {
            *offset = (uint32_t)(before + (address - regions[i].startAddress));
            return true;
        }
        before += regions[i].size;
    }
    return false;
}

/* The IL offset + 1 of the nearest entry at or before `offset`, else of the first one behind it
 * (the first calls of an optimised method may have no entry of their own); 0 when there is none. */
static uint32_t nearest_entry(const COR_DEBUG_IL_TO_NATIVE_MAP *map, uint32_t count,
                              uint32_t offset)
{
    uint32_t best = 0;
    uint32_t best_start = 0;
    uint32_t behind = 0;
    uint32_t behind_start = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = map[i].nativeStartOffset;

        /* the special values (no mapping, prolog, epilog) are the highest three */
        if (map[i].ilOffset >= 0xfffffffdu)
            continue;
        if (start <= offset && (best == 0 || start >= best_start)) {
            best = map[i].ilOffset + 1;
            best_start = start;
        } else if (start > offset && start < behind_start) {
            behind = map[i].ilOffset + 1;
            behind_start = start;
        }
    }
    return best != 0 ? best : behind;
}

/* By the start of the compiled code: right for every tier. Info9, runtime 2.1 and later. */
static bool map_by_start(names *n, FunctionID function, ReJITID rejit, uintptr_t address,
                         COR_DEBUG_IL_TO_NATIVE_MAP *map, uint32_t *count, uint32_t *offset)
{
    uintptr_t starts[MAXIMUM_VERSIONS];
    COR_PRF_CODE_INFO regions[MAXIMUM_REGIONS];
    uint32_t versions = 0;

    if (clr_info_get_native_code_start_addresses(n->info, function, rejit, MAXIMUM_VERSIONS,
                                                 &versions, starts) != S_OK)
        return false;
    for (uint32_t i = 0; i < versions && i < MAXIMUM_VERSIONS; i++) {
        uint32_t parts = 0;

        if (clr_info_get_code_info4(n->info, starts[i], MAXIMUM_REGIONS, &parts, regions) != S_OK)
            continue;
        if (parts > MAXIMUM_REGIONS)
            parts = MAXIMUM_REGIONS;
        if (!offset_in_regions(regions, parts, address, offset))
            continue;
        return clr_info_get_il_to_native_mapping3(n->info, starts[i], MAXIMUM_MAP, count, map) ==
               S_OK;
    }
    return false;
}

static bool map_by_function(names *n, FunctionID function, ReJITID rejit, uintptr_t address,
                            COR_DEBUG_IL_TO_NATIVE_MAP *map, uint32_t *count, uint32_t *offset)
{
    COR_PRF_CODE_INFO regions[MAXIMUM_REGIONS];
    uint32_t parts = 0;

    if (clr_info_get_code_info3(n->info, function, rejit, MAXIMUM_REGIONS, &parts, regions) != S_OK)
        return false;
    if (parts > MAXIMUM_REGIONS)
        parts = MAXIMUM_REGIONS;
    return offset_in_regions(regions, parts, address, offset) &&
           clr_info_get_il_to_native_mapping2(n->info, function, rejit, MAXIMUM_MAP, count, map) ==
               S_OK;
}

static uint32_t il_offset_at(names *n, FunctionID function, ReJITID rejit, uintptr_t address)
{
    COR_DEBUG_IL_TO_NATIVE_MAP *map = memory_allocate(MAXIMUM_MAP * sizeof *map);
    uint32_t count = 0;
    uint32_t offset = 0;
    uint32_t result = 0;

    if (map == NULL)
        return 0;
    if (map_by_start(n, function, rejit, address, map, &count, &offset) ||
        map_by_function(n, function, rejit, address, map, &count, &offset))
        result = nearest_entry(map, count < MAXIMUM_MAP ? count : MAXIMUM_MAP, offset);
    memory_free(map);
    return result;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static uint32_t add_module(names *n, ModuleID module)
{
    WCHAR path[1024];
    uint32_t length = 0;
    const uint8_t *base = NULL;
    AssemblyID assembly = 0;
    uint32_t flags = 0;
    names_module made = {0};

    if (clr_info_get_module_info2(n->info, module, &base, 1024, &length, path, &assembly, &flags) <
        0)
        return 0;
    path[1023] = 0;
    buffer_clear(&n->scratch);
    text_append_utf16(&n->scratch, path, text_utf16_length(path, 1024));
    made.kind = n->scratch.length == 0 || (flags & COR_PRF_MODULE_DYNAMIC) != 0
                    ? RECORDING_MODULE_NO_FILE
                    : RECORDING_MODULE_MANAGED;
    made.path = names_intern(n, buffer_text(&n->scratch), n->scratch.length);
    made.name = names_intern_text(n, last_part(buffer_text(&n->scratch)));
    made.base = (uint64_t)(uintptr_t)base;
    made.identity_length = names_write_mvid(n, module, made.identity);
    return names_add_module(n, &made);
}

static uint32_t add_method(names *n, FunctionID function)
{
    names_method made = {0};
    buffer parameters = BUFFER_EMPTY;
    ModuleID module = 0;
    uint32_t id = 0;

    buffer_clear(&n->scratch);
    if (names_write_method(n, function, &n->scratch, &parameters, &module, &made)) {
        made.name = names_intern(n, buffer_text(&n->scratch), n->scratch.length);
        made.parameters = parameters.length == 0
                              ? 0
                              : names_intern(n, buffer_text(&parameters), parameters.length);
        made.module = names_of_module(n, module);
        id = names_add_method(n, &made);
    }
    buffer_free(&parameters);
    return id;
}
