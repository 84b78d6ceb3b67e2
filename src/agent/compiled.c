/* compiled: see compiled.h. */
#include "agent/compiled.h"

#include <string.h>

#include "agent/read_self.h"
#include "base/memory.h"

enum {
    MAXIMUM_PIECES = 1 << 15, /* then all is forgotten and asked for again */
    MAXIMUM_ENTRIES = 1 << 18,
    MAXIMUM_REGIONS = 8,   /* hot and cold parts of one compiled method */
    MAXIMUM_VERSIONS = 32, /* compiled versions of one method that are looked at */
    MAXIMUM_MAP = 4096,    /* entries of one IL map that are looked at */
};

/* The highest three IL offsets are none. */
#define FIRST_SPECIAL 0xfffffffdu
#define NO_MAPPING    0xffffffffu

/* What the runtime says about the code around an address. */
typedef struct {
    uintptr_t start; /* of the version; 0 = known by function and rejit only */
    COR_PRF_CODE_INFO regions[MAXIMUM_REGIONS];
    uint32_t count;
    uint32_t hit; /* index of the region around the address */
} code_version;

void compiled_init(compiled *c, const clr_info *info)
{
    memset(c, 0, sizeof *c);
    c->info = info;
    table_u64_init(&c->first);
}

void compiled_free(compiled *c)
{
    memory_free(c->pieces);
    memory_free(c->map);
    memory_free(c->scratch);
    table_u64_free(&c->first);
    compiled_init(c, c->info);
}

static bool find_region(code_version *v, uintptr_t address)
{
    if (v->count > MAXIMUM_REGIONS)
        v->count = MAXIMUM_REGIONS;
    for (v->hit = 0; v->hit < v->count; v->hit++) {
        const COR_PRF_CODE_INFO *region = &v->regions[v->hit];

        if (address >= region->startAddress && address - region->startAddress < region->size)
            return true;
    }
    return false;
}

/* By the start of the compiled code: right for every tier. Info9, runtime 2.1 and later. */
static bool ask_version(const compiled *c, FunctionID function, ReJITID rejit, uintptr_t address,
                        code_version *v)
{
    uintptr_t starts[MAXIMUM_VERSIONS];
    uint32_t versions = 0;

    if (clr_info_get_native_code_start_addresses(c->info, function, rejit, MAXIMUM_VERSIONS,
                                                 &versions, starts) == S_OK) {
        for (uint32_t i = 0; i < versions && i < MAXIMUM_VERSIONS; i++) {
            v->start = starts[i];
            if (clr_info_get_code_info4(c->info, starts[i], MAXIMUM_REGIONS, &v->count,
                                        v->regions) == S_OK &&
                find_region(v, address))
                return true;
        }
    }
    v->start = 0;
    return clr_info_get_code_info3(c->info, function, rejit, MAXIMUM_REGIONS, &v->count,
                                   v->regions) == S_OK &&
           find_region(v, address);
}

static uint32_t ask_map(compiled *c, FunctionID function, ReJITID rejit, uintptr_t start)
{
    uint32_t count = 0;
    HRESULT hr;

    if (c->scratch == NULL)
        c->scratch = memory_allocate(MAXIMUM_MAP * sizeof *c->scratch);
    if (c->scratch == NULL)
        return 0;
    hr = start != 0
             ? clr_info_get_il_to_native_mapping3(c->info, start, MAXIMUM_MAP, &count, c->scratch)
             : clr_info_get_il_to_native_mapping2(c->info, function, rejit, MAXIMUM_MAP, &count,
                                                  c->scratch);
    if (hr != S_OK)
        return 0;
    return count < MAXIMUM_MAP ? count : MAXIMUM_MAP;
}

/* Makes room for `more` items; false when there is no memory. */
static bool make_room(void **items, size_t *capacity, size_t count, size_t more, size_t size)
{
    size_t wanted = *capacity == 0 ? 256 : *capacity;
    void *bigger;

    while (wanted < count + more)
        wanted *= 2;
    if (wanted == *capacity)
        return true;
    bigger = memory_resize(*items, wanted * size);
    if (bigger == NULL)
        return false;
    *items = bigger;
    *capacity = wanted;
    return true;
}

static void keep_map(compiled *c, compiled_piece *piece, uint32_t count)
{
    piece->map_first = (uint32_t)c->map_count;
    if (!make_room((void **)&c->map, &c->map_capacity, c->map_count, count, sizeof *c->map))
        return;
    for (uint32_t i = 0; i < count; i++) {
        /* the others of the special values are the prolog and the epilog */
        if (c->scratch[i].ilOffset < FIRST_SPECIAL || c->scratch[i].ilOffset == NO_MAPPING)
            c->map[c->map_count++] =
                (compiled_entry){c->scratch[i].nativeStartOffset, c->scratch[i].ilOffset};
    }
    piece->map_count = (uint32_t)c->map_count - piece->map_first;
}

static compiled_piece *add_piece(compiled *c, FunctionID function, ReJITID rejit, uintptr_t address)
{
    compiled_piece made = {.function = function, .rejit = rejit};
    code_version version = {0};
    uint64_t *first;

    if (!ask_version(c, function, rejit, address, &version))
        return NULL;
    if (c->piece_count >= MAXIMUM_PIECES || c->map_count >= MAXIMUM_ENTRIES)
        compiled_free(c);
    if (!make_room((void **)&c->pieces, &c->piece_capacity, c->piece_count, 1, sizeof *c->pieces))
        return NULL;
    first = table_u64_at(&c->first, function, 0);
    if (first == NULL)
        return NULL;
    made.start = version.regions[version.hit].startAddress;
    made.size = version.regions[version.hit].size;
    for (uint32_t i = 0; i < version.hit; i++)
        made.before += (uint32_t)version.regions[i].size;
    keep_map(c, &made, ask_map(c, function, rejit, version.start));
    made.next = (uint32_t)*first;
    c->pieces[c->piece_count++] = made;
    *first = c->piece_count;
    return &c->pieces[c->piece_count - 1];
}

FunctionID compiled_find(compiled *c, uintptr_t address, compiled_piece **piece)
{
    FunctionID function = 0;
    ReJITID rejit = 0;
    uint64_t at = 0;

    *piece = NULL;
    if ((clr_info_get_function_from_ip3(c->info, (const uint8_t *)address, &function, &rejit) !=
             S_OK ||
         function == 0) &&
        clr_info_get_function_from_ip2(c->info, (const uint8_t *)address, &function, &rejit) !=
            S_OK)
        return 0;
    if (function == 0)
        return 0;
    table_u64_get(&c->first, function, &at);
    for (; at != 0; at = c->pieces[at - 1].next) {
        compiled_piece *known = &c->pieces[at - 1];

        if (known->rejit == rejit && address >= known->start &&
            address - known->start < known->size) {
            *piece = known;
            return function;
        }
    }
    *piece = add_piece(c, function, rejit, address);
    return function;
}

static uint32_t next_il_offset(const compiled *c, const compiled_piece *piece, uint32_t il_offset)
{
    uint32_t next = UINT32_MAX;

    for (uint32_t i = 0; i < piece->map_count; i++) {
        uint32_t other = c->map[piece->map_first + i].il_offset;

        if (other > il_offset && other < next)
            next = other;
    }
    return next;
}

/* Values that are moved at the edge of a loop have no place in CIL; such code stands behind the
 * method's end and jumps back to what it belongs to. The address of that, or 0. Found by its bytes
 * alone: another one of the same method at worst. */
static uintptr_t end_of_detour(const compiled_piece *piece, uintptr_t address, uintptr_t end)
{
    uint8_t code[48] = {0};
    size_t length = end - address < sizeof code - 4 ? end - address : sizeof code - 4;

    if (!read_self(address, code, length))
        return 0;
    for (size_t i = 0; i < length; i++) {
        uintptr_t target = address + i;
        int32_t far;

        memcpy(&far, &code[i + 1], sizeof far);
        if (code[i] == 0xeb)
            target += 2 + (uintptr_t)(int8_t)code[i + 1];
        else if (code[i] == 0xe9)
            target += 5 + (uintptr_t)far;
        if (target - piece->start < piece->size && (target < address || target >= end))
            return target;
    }
    return 0;
}

/* Of the nearest entry at or before the address, else of the first one behind it (the first calls
 * of an optimised method may have no entry of their own). */
compiled_place compiled_place_at(const compiled *c, const compiled_piece *piece, uintptr_t address)
{
    uint32_t offset = (uint32_t)(piece->before + (address - piece->start));
    uint32_t best = 0, best_start = 0, behind = 0, behind_start = UINT32_MAX, gap_start = 0;
    uint32_t end = piece->before + (uint32_t)piece->size;
    compiled_place place = {0};
    uintptr_t detour;

    for (uint32_t i = 0; i < piece->map_count; i++) {
        const compiled_entry *entry = &c->map[piece->map_first + i];

        if (entry->offset > offset && entry->offset < end)
            end = entry->offset;
        if (entry->il_offset == NO_MAPPING) {
            if (entry->offset <= offset && entry->offset > gap_start)
                gap_start = entry->offset;
        } else if (entry->offset <= offset && (best == 0 || entry->offset >= best_start)) {
            best = entry->il_offset + 1;
            best_start = entry->offset;
        } else if (entry->offset > offset && entry->offset < behind_start) {
            behind = entry->il_offset + 1;
            behind_start = entry->offset;
        }
    }
    if (gap_start > best_start) {
        detour = end_of_detour(piece, address, address + (end - offset));
        /* towards lower addresses only: one that leads on and on must end */
        if (detour != 0 && detour < address)
            return compiled_place_at(c, piece, detour);
    }
    place.il_offset = best != 0 ? best : behind;
    place.is_exact = best != 0 && best_start >= gap_start;
    place.il_end = place.il_offset == 0 ? 0 : next_il_offset(c, piece, place.il_offset - 1);
    return place;
}
