/*
 * body: memory of bodies, and decoding. See body.h.
 *
 * Decoding goes twice over the code: first every instruction is read, with branch targets as
 * offsets, and by_offset learns where instructions start; then targets and clauses become places.
 */
#include "cil/body.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"

enum {
    TINY = 2,
    FAT = 3,
    FAT_HEADER = 12,
    SECTION_CLAUSES = 0x01,
    SECTION_FAT = 0x40,
    SECTION_MORE = 0x80,
    SECTION_LIMIT = 64
};

static bool grow(void *array, uint32_t *capacity, uint32_t needed, size_t size)
{
    void **memory = array;
    uint32_t wanted = *capacity < 32 ? 32 : *capacity;
    void *more;

    if (needed <= *capacity)
        return true;
    while (wanted < needed)
        wanted *= 2;
    more = memory_resize(*memory, (size_t)wanted * size);
    if (more == NULL)
        return false;
    *memory = more;
    *capacity = wanted;
    return true;
}

void cil_body_init(cil_body *body)
{
    memset(body, 0, sizeof *body);
    cil_body_clear(body);
}

void cil_body_free(cil_body *body)
{
    memory_free(body->instructions);
    memory_free(body->cases);
    memory_free(body->clauses);
    memory_free(body->by_offset);
    memset(body, 0, sizeof *body);
}

void cil_body_clear(cil_body *body)
{
    body->instruction_count = body->case_count = body->clause_count = 0;
    body->tiny = true;
    body->small_clauses = true;
    body->header_flags = 0;
    body->max_stack = 8;
    body->local_signature = 0;
    body->code_size = 0;
    body->size = 0;
    body->failed =
        !grow(&body->instructions, &body->instruction_capacity, 1, sizeof *body->instructions);
    if (!body->failed) {
        memset(&body->instructions[0], 0, sizeof body->instructions[0]);
        body->instructions[0].opcode = CIL_LABEL;
        body->instruction_count = 1;
    }
}

cil_at cil_body_add(cil_body *body)
{
    if (body->failed || !grow(&body->instructions, &body->instruction_capacity,
                              body->instruction_count + 1, sizeof *body->instructions)) {
        body->failed = true;
        return CIL_END;
    }
    return body->instruction_count++;
}

bool cil_body_add_case(cil_body *body, cil_at target)
{
    if (body->failed ||
        !grow(&body->cases, &body->case_capacity, body->case_count + 1, sizeof *body->cases)) {
        body->failed = true;
        return false;
    }
    body->cases[body->case_count++] = target;
    return true;
}

cil_clause *cil_body_add_clause(cil_body *body)
{
    if (body->failed || !grow(&body->clauses, &body->clause_capacity, body->clause_count + 1,
                              sizeof *body->clauses)) {
        body->failed = true;
        return NULL;
    }
    memset(&body->clauses[body->clause_count], 0, sizeof *body->clauses);
    return &body->clauses[body->clause_count++];
}

cil_at cil_at_offset(const cil_body *body, uint32_t offset)
{
    return offset < body->code_size ? body->by_offset[offset] : 0;
}

/* --- decoding --- */

static int read_header(cil_body *body, reader *r, error *e)
{
    uint8_t first = reader_u8(r);
    uint16_t word;

    if ((first & 3) == TINY) {
        body->code_size = first >> 2;
    } else if ((first & 3) == FAT) {
        body->tiny = false;
        word = (uint16_t)(first | reader_u8(r) << 8);
        body->header_flags = word & 0x0FFC;
        body->max_stack = reader_u16(r);
        body->code_size = reader_u32(r);
        body->local_signature = reader_u32(r);
        if (!reader_failed(r) && word >> 12 != FAT_HEADER / 4)
            return error_set(e, ERROR_CORRUPT, "the method header says it has %u bytes",
                             (unsigned)(word >> 12) * 4);
    } else {
        return error_set(e, ERROR_CORRUPT, "the method header is neither tiny nor fat");
    }
    if (reader_failed(r) || body->code_size > reader_left(r))
        return error_set(e, ERROR_CORRUPT, "the method body is cut off");
    if (body->code_size == 0 || body->code_size > CIL_CODE_LIMIT)
        return error_set(e, ERROR_CORRUPT, "the method has %u bytes of code",
                         (unsigned)body->code_size);
    return 0;
}

static inline uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool read_switch(cil_body *body, reader *r, cil_instruction *i)
{
    uint32_t count = reader_u32(r);

    if (count > reader_left(r) / 4)
        return false;
    i->operand.cases.first = body->case_count;
    i->operand.cases.count = count;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t base = (uint32_t)reader_offset(r) + 4 * (count - n);

        if (!cil_body_add_case(body, reader_u32(r) + base))
            return false;
    }
    return !reader_failed(r);
}

/* The operand of i; false when the code ends in it. Branch targets stay offsets for now. */
static inline bool read_operand(cil_body *body, reader *r, cil_instruction *i,
                                const cil_opcode_info *info)
{
    const uint8_t *p;

    i->operand.number = 0;
    if (info->operand == CIL_OPERAND_NONE)
        return true;
    if (info->operand == CIL_OPERAND_SWITCH)
        return read_switch(body, r, i);
    p = reader_take(r, info->operand_size);
    if (p == NULL)
        return false;
    switch (info->operand) {
    case CIL_OPERAND_INT8:
        i->operand.number = (int64_t)(int8_t)p[0];
        break;
    case CIL_OPERAND_BRANCH8:
        i->operand.number = (int8_t)p[0] + (int64_t)reader_offset(r);
        break;
    case CIL_OPERAND_VARIABLE8:
        i->operand.number = p[0];
        break;
    case CIL_OPERAND_VARIABLE16:
        i->operand.number = p[0] | p[1] << 8;
        break;
    case CIL_OPERAND_INT32:
        i->operand.number = (int32_t)word_at(p);
        break;
    case CIL_OPERAND_BRANCH32:
        i->operand.number = (int32_t)word_at(p) + (int64_t)reader_offset(r);
        break;
    case CIL_OPERAND_INT64:
    case CIL_OPERAND_REAL64:
        i->operand.bits = word_at(p) | (uint64_t)word_at(p + 4) << 32;
        break;
    default: /* real32 and tokens */
        i->operand.bits = word_at(p);
        break;
    }
    return true;
}

static int cut_off(const cil_body *body, uint32_t offset, error *e)
{
    if (body->failed)
        return error_set(e, ERROR_MEMORY, "no memory for a method body");
    return error_set(e, ERROR_CORRUPT, "IL_%04X: the code ends inside of an instruction",
                     (unsigned)offset);
}

/* *has_targets: there are branches, whose targets are still offsets. */
static int read_code(cil_body *body, reader *code, bool *has_targets, error *e)
{
    cil_at previous = CIL_END;

    *has_targets = false;
    while (!reader_at_end(code)) {
        uint32_t offset = (uint32_t)reader_offset(code);
        unsigned opcode = *reader_take(code, 1);
        const cil_opcode_info *info;
        const uint8_t *second;
        cil_instruction *i;
        cil_at at;

        if (opcode == 0xFE) {
            second = reader_take(code, 1);
            if (second == NULL)
                return cut_off(body, offset, e);
            opcode = 0x100u + *second;
        }
        info = cil_opcode_of(opcode);
        if (info->size == 0) /* unknown, or our own label */
            return error_set(e, ERROR_CORRUPT, "IL_%04X: there is no instruction %s%02X",
                             (unsigned)offset, opcode > 0xFF ? "FE " : "", opcode & 0xFF);
        at = body->instruction_count < body->instruction_capacity ? body->instruction_count++
                                                                  : cil_body_add(body);
        if (at == CIL_END)
            return error_set(e, ERROR_MEMORY, "no memory for a method body");
        i = cil_get(body, at);
        i->opcode = (uint16_t)opcode;
        i->offset = offset;
        i->placed = offset;
        i->previous = previous;
        body->instructions[previous].next = at;
        body->by_offset[offset] = at;
        previous = at;
        if (!read_operand(body, code, i, info))
            return cut_off(body, offset, e);
        *has_targets |= cil_opcode_is_branch(opcode);
    }
    body->instructions[previous].next = CIL_END;
    body->instructions[CIL_END].previous = previous;
    return 0;
}

/* Offsets become places. */
static int resolve_targets(cil_body *body, error *e)
{
    for (uint32_t n = 1; n < body->instruction_count; n++) {
        cil_instruction *i = &body->instructions[n];

        if (cil_opcode_is_branch(i->opcode)) {
            int64_t offset = i->operand.number;
            cil_at target = offset < 0 || offset >= body->code_size ? 0 : body->by_offset[offset];

            if (target == CIL_END)
                return error_set(
                    e, ERROR_CORRUPT, "IL_%04X: %s goes to %lld, where no instruction starts",
                    (unsigned)i->offset, cil_opcode_of(i->opcode)->name, (long long)offset);
            i->operand.bits = 0;
            i->operand.target = target;
        }
    }
    for (uint32_t n = 0; n < body->case_count; n++) {
        cil_at target = cil_at_offset(body, body->cases[n]);

        if (target == CIL_END)
            return error_set(e, ERROR_CORRUPT, "a switch goes to %u, where no instruction starts",
                             (unsigned)body->cases[n]);
        body->cases[n] = target;
    }
    return 0;
}

/* The place of a region's begin or end; ends may be the end of the code. */
static bool place_of(const cil_body *body, uint64_t offset, bool end, cil_at *place)
{
    *place = offset < body->code_size ? body->by_offset[offset] : CIL_END;
    return *place != CIL_END || (end && offset == body->code_size);
}

static int read_clause(cil_body *body, reader *r, bool fat, error *e)
{
    uint32_t kind = fat ? reader_u32(r) : reader_u16(r);
    uint32_t try_offset = fat ? reader_u32(r) : reader_u16(r);
    uint32_t try_length = fat ? reader_u32(r) : reader_u8(r);
    uint32_t handler_offset = fat ? reader_u32(r) : reader_u16(r);
    uint32_t handler_length = fat ? reader_u32(r) : reader_u8(r);
    uint32_t last = reader_u32(r);
    cil_clause *c = cil_body_add_clause(body);

    if (c == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for exception clauses");
    c->kind = kind & 7;
    if (kind != CIL_CATCH && kind != CIL_FILTER && kind != CIL_FINALLY && kind != CIL_FAULT)
        return error_set(e, ERROR_CORRUPT, "an exception clause is of unknown kind %u",
                         (unsigned)kind);
    if (kind != CIL_FILTER) /* nothing in finally and fault clauses, but kept as it was */
        c->token = last;
    if (!place_of(body, try_offset, false, &c->try_begin) ||
        !place_of(body, (uint64_t)try_offset + try_length, true, &c->try_end) ||
        !place_of(body, handler_offset, false, &c->handler_begin) ||
        !place_of(body, (uint64_t)handler_offset + handler_length, true, &c->handler_end) ||
        (kind == CIL_FILTER && !place_of(body, last, false, &c->filter_begin)))
        return error_set(e, ERROR_CORRUPT,
                         "exception clause %u begins or ends where no instruction starts",
                         (unsigned)body->clause_count - 1);
    return 0;
}

static int read_sections(cil_body *body, reader *r, error *e)
{
    uint8_t kind = SECTION_MORE;

    for (int n = 0; kind & SECTION_MORE; n++) {
        uint32_t size;
        bool fat;

        reader_align(r, 4);
        kind = reader_u8(r);
        fat = (kind & SECTION_FAT) != 0;
        size = reader_u8(r);
        size |= (uint32_t)reader_u8(r) << 8;
        size |= (uint32_t)reader_u8(r) << 16;
        if (!fat)
            size &= 0xFF;
        if (reader_failed(r) || n == SECTION_LIMIT)
            return error_set(e, ERROR_CORRUPT, "the method's extra section is cut off");
        if ((kind & 0x3F) != SECTION_CLAUSES)
            return error_set(e, ERROR_UNSUPPORTED, "the method has a section of unknown kind %02X",
                             kind);
        if (fat)
            body->small_clauses = false;
        /* Some compilers leave the 4 bytes of the head out of a small section's size. */
        for (uint32_t left = size / (fat ? 24 : 12); left > 0; left--) {
            int code = read_clause(body, r, fat, e);

            if (reader_failed(r))
                return error_set(e, ERROR_CORRUPT, "the exception clauses are cut off");
            if (code != 0)
                return code;
        }
    }
    return 0;
}

int cil_decode(cil_body *body, const void *bytes, size_t length, error *e)
{
    reader r = reader_of(bytes, length);
    reader code;
    bool has_targets;
    int result;

    cil_body_clear(body);
    result = body->failed ? error_set(e, ERROR_MEMORY, "no memory for a method body")
                          : read_header(body, &r, e);
    if (result != 0)
        goto out;
    if (!grow(&body->by_offset, &body->by_offset_capacity, body->code_size,
              sizeof *body->by_offset)) {
        result = error_set(e, ERROR_MEMORY, "no memory for a method body");
        goto out;
    }
    memset(body->by_offset, 0, (size_t)body->code_size * sizeof *body->by_offset);
    code = reader_of(r.position, body->code_size);
    reader_skip(&r, body->code_size);
    result = read_code(body, &code, &has_targets, e);
    if (result == 0 && (has_targets || body->case_count != 0))
        result = resolve_targets(body, e);
    if (result == 0 && body->header_flags & CIL_HEADER_MORE_SECTIONS)
        result = read_sections(body, &r, e);
    body->size = reader_offset(&r);
out:
    if (result != 0)
        cil_body_clear(body);
    return result;
}
