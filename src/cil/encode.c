/*
 * encode: placing instructions and writing them. See encode.h.
 *
 * Placing and writing repeat until no short branch has to grow. Branches only ever grow, so it
 * ends, and starting from all-short it finds the smallest code.
 */
#include "cil/encode.h"

#include <string.h>

enum { SMALL_CLAUSE = 12, FAT_CLAUSE = 24, SECTION_SIZE_LIMIT = 0xFFFFFF, OPERAND_ROOM = 8 };

static void shorten(cil_instruction *i);

static uint32_t size_of(const cil_instruction *i)
{
    const cil_opcode_info *info = cil_opcode_of(i->opcode);
    uint32_t size = (uint32_t)info->size + info->operand_size;

    if (i->opcode == CIL_SWITCH)
        size += 4 * i->operand.cases.count;
    return size;
}

static int place(cil_body *body, error *e)
{
    uint64_t offset = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        cil_instruction *i = cil_get(body, at);

        i->placed = (uint32_t)offset;
        offset += size_of(i);
    }
    if (offset > CIL_CODE_LIMIT)
        return error_set(e, ERROR_LIMIT, "the method's code grew over %u bytes",
                         (unsigned)CIL_CODE_LIMIT);
    cil_get(body, CIL_END)->placed = (uint32_t)offset;
    return 0;
}

static inline uint8_t *put_u32(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    p[2] = (uint8_t)(value >> 16);
    p[3] = (uint8_t)(value >> 24);
    return p + 4;
}

/* Always 8 bytes, of which `size` count: one store and no jump by size. The room is there. */
static inline uint8_t *put(uint8_t *p, uint64_t value, unsigned size)
{
    put_u32(put_u32(p, (uint32_t)value), (uint32_t)(value >> 32));
    return p + size;
}

static uint8_t *put_switch(const cil_body *body, const cil_instruction *i, uint8_t *p)
{
    uint32_t end = i->placed + size_of(i);

    p = put_u32(p, i->operand.cases.count);
    for (uint32_t n = 0; n < i->operand.cases.count; n++) {
        cil_at target = body->cases[i->operand.cases.first + n];

        p = put_u32(p, cil_get(body, target)->placed - end);
    }
    return p;
}

/* A short branch that does not reach becomes a long one, and *grown is set. */
static inline uint8_t *put_instruction(const cil_body *body, cil_instruction *i, uint8_t *p,
                                       bool *grown)
{
    const cil_opcode_info *info = cil_opcode_of(i->opcode);

    if (info->size != 1) {
        if (info->size == 0)
            return p;
        *p++ = 0xFE;
    }
    *p++ = (uint8_t)i->opcode;
    if (info->operand == CIL_OPERAND_SWITCH)
        return put_switch(body, i, p);
    if (cil_opcode_is_branch(i->opcode)) {
        uint32_t end = i->placed + (uint32_t)info->size + info->operand_size;
        int64_t distance = (int64_t)cil_get(body, i->operand.target)->placed - (int64_t)end;

        if (info->operand == CIL_OPERAND_BRANCH8 && (distance < -128 || distance > 127)) {
            i->opcode = (uint16_t)cil_opcode_long(i->opcode);
            *grown = true;
        }
        return put(p, (uint64_t)distance, info->operand_size);
    }
    return put(p, i->operand.bits, info->operand_size);
}

static uint32_t placed(const cil_body *body, cil_at at)
{
    return cil_get(body, at)->placed;
}

static bool fits_small(const cil_body *body)
{
    if (4 + (uint64_t)body->clause_count * SMALL_CLAUSE > 0xFF)
        return false;
    for (uint32_t n = 0; n < body->clause_count; n++) {
        const cil_clause *c = &body->clauses[n];

        if (placed(body, c->try_begin) > 0xFFFF || placed(body, c->handler_begin) > 0xFFFF ||
            placed(body, c->try_end) - placed(body, c->try_begin) > 0xFF ||
            placed(body, c->handler_end) - placed(body, c->handler_begin) > 0xFF)
            return false;
    }
    return true;
}

static void put_clauses(const cil_body *body, bool small, buffer *out)
{
    uint32_t size = 4 + body->clause_count * (small ? SMALL_CLAUSE : FAT_CLAUSE);

    buffer_append_u32(out, (small ? 0x01u : 0x41u) | size << 8);
    for (uint32_t n = 0; n < body->clause_count; n++) {
        const cil_clause *c = &body->clauses[n];
        uint32_t try_length = placed(body, c->try_end) - placed(body, c->try_begin);
        uint32_t handler_length = placed(body, c->handler_end) - placed(body, c->handler_begin);

        if (small) {
            buffer_append_u16(out, (uint16_t)c->kind);
            buffer_append_u16(out, (uint16_t)placed(body, c->try_begin));
            buffer_append_u8(out, (uint8_t)try_length);
            buffer_append_u16(out, (uint16_t)placed(body, c->handler_begin));
            buffer_append_u8(out, (uint8_t)handler_length);
        } else {
            buffer_append_u32(out, c->kind);
            buffer_append_u32(out, placed(body, c->try_begin));
            buffer_append_u32(out, try_length);
            buffer_append_u32(out, placed(body, c->handler_begin));
            buffer_append_u32(out, handler_length);
        }
        buffer_append_u32(out, c->kind == CIL_FILTER ? placed(body, c->filter_begin) : c->token);
    }
}

/* Tiny only if it was tiny: a fat header that could be tiny is somebody's choice. */
static void put_header(const cil_body *body, unsigned options, buffer *out)
{
    uint32_t code_size = placed(body, CIL_END);
    uint16_t flags = body->header_flags;

    if (body->tiny && (options & CIL_ENCODE_FAT) == 0 && code_size < 64 &&
        body->clause_count == 0 && body->local_signature == 0 && body->max_stack <= 8) {
        buffer_append_u8(out, (uint8_t)(code_size << 2 | 2));
        return;
    }
    if (body->tiny)
        flags |= CIL_HEADER_INIT_LOCALS;
    flags = (uint16_t)(flags & ~CIL_HEADER_MORE_SECTIONS);
    if (body->clause_count != 0)
        flags |= CIL_HEADER_MORE_SECTIONS;
    buffer_append_u16(out, (uint16_t)(0x3003 | flags));
    buffer_append_u16(out, body->max_stack);
    buffer_append_u32(out, code_size);
    buffer_append_u32(out, body->local_signature);
}

/* Header and code, placed as they are now. */
static int put_code(cil_body *body, unsigned options, buffer *out, bool *grown, error *e)
{
    int result = place(body, e);
    uint8_t *p;

    *grown = false;
    if (result != 0)
        return result;
    put_header(body, options, out);
    if (!buffer_reserve(out, (size_t)placed(body, CIL_END) + OPERAND_ROOM))
        return 0;
    p = out->data + out->length;
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next)
        p = put_instruction(body, cil_get(body, at), p, grown);
    *p = 0;
    out->length += placed(body, CIL_END);
    return 0;
}

int cil_encode(cil_body *body, unsigned options, buffer *out, error *e)
{
    size_t start = out->length;
    bool grown = true;

    if (body->failed)
        return error_set(e, ERROR_MEMORY, "no memory for a method body");
    if (4 + (uint64_t)body->clause_count * FAT_CLAUSE > SECTION_SIZE_LIMIT)
        return error_set(e, ERROR_LIMIT, "the method has too many exception clauses");
    if (options & CIL_ENCODE_SHORTEST)
        for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next)
            shorten(cil_get(body, at));
    while (grown) {
        int result;

        out->length = start;
        result = put_code(body, options, out, &grown, e);
        if (result != 0)
            return result;
    }
    if (body->clause_count != 0) {
        while (!out->failed && (out->length - start) % 4 != 0)
            buffer_append_u8(out, 0);
        put_clauses(
            body, body->small_clauses && (options & CIL_ENCODE_FAT) == 0 && fits_small(body), out);
    }
    return buffer_failed(out) ? error_set(e, ERROR_MEMORY, "no memory for a method body") : 0;
}

size_t cil_offset_map(const cil_body *body, cil_map_entry *entries, size_t limit)
{
    size_t count = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);

        if (i->offset == CIL_NEW)
            continue;
        if (count < limit)
            entries[count] = (cil_map_entry){i->offset, i->placed};
        count++;
    }
    return count;
}

/* --- the shortest form --- */

/* Families of the variable instructions: the forms for 0 to 3, one byte, two bytes. */
static const struct {
    uint16_t first, byte, word;
    bool numbered;
} VARIABLES[] = {
    {CIL_LDARG_0, CIL_LDARG_S, CIL_LDARG, true}, {CIL_LDLOC_0, CIL_LDLOC_S, CIL_LDLOC, true},
    {CIL_STLOC_0, CIL_STLOC_S, CIL_STLOC, true}, {0, CIL_LDARGA_S, CIL_LDARGA, false},
    {0, CIL_STARG_S, CIL_STARG, false},          {0, CIL_LDLOCA_S, CIL_LDLOCA, false},
};

static void shorten(cil_instruction *i)
{
    if (i->opcode == CIL_LDC_I4 || i->opcode == CIL_LDC_I4_S) {
        int64_t value = i->operand.number;

        if (value >= -1 && value <= 8) {
            i->opcode = (uint16_t)(CIL_LDC_I4_0 + value);
            i->operand.number = 0;
        } else if (value >= -128 && value <= 127) {
            i->opcode = CIL_LDC_I4_S;
        }
        return;
    }
    for (size_t n = 0; n < sizeof VARIABLES / sizeof VARIABLES[0]; n++) {
        if (i->opcode != VARIABLES[n].byte && i->opcode != VARIABLES[n].word)
            continue;
        if (VARIABLES[n].numbered && i->operand.number <= 3) {
            i->opcode = (uint16_t)(VARIABLES[n].first + i->operand.number);
            i->operand.number = 0;
        } else if (i->operand.number <= 255) {
            i->opcode = VARIABLES[n].byte;
        }
        return;
    }
    i->opcode = (uint16_t)cil_opcode_short(i->opcode);
}
