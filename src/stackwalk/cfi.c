/*
 * cfi: see cfi.h. Algorithm: two steps find the table entry (index, then one block of 64), its FDE
 * and CIE are read, the CIE's and then the FDE's program run until the address is passed. Only the
 * CFA, the return address, rbp and rbx are followed.
 */
#include "stackwalk/cfi.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"

enum { BLOCK = 64, ENTRY_BYTES = 4096, STATES = 8, MAX_ENTRIES = 4 * 1024 * 1024 };

/* Pointer encodings of .eh_frame. */
enum { ENCODING_OMIT = 0xff, ENCODING_FORMAT = 0x0f, ENCODING_RELATIVE = 0x70 };

/* What is known of one register at the current instruction. */
typedef struct {
    stackwalk_rule rule;
    uint8_t return_from; /* STACKWALK_SAVED_… of the return address */
    int32_t return_offset;
} cfi_state;

typedef struct {
    uint64_t code_alignment;
    int64_t data_alignment;
    uint64_t return_register;
    uint8_t encoding;
    bool has_augmentation;
    bool is_signal;
    const uint8_t *program;
    size_t program_length;
} cfi_common; /* a CIE */

typedef struct {
    uint64_t start;
    uint64_t length;
    cfi_common common;
    const uint8_t *program;
    size_t program_length;
    uint8_t bytes[ENTRY_BYTES];
    uint8_t common_bytes[ENTRY_BYTES];
} cfi_entry; /* an FDE with its CIE */

typedef struct {
    cfi_state now, initial;
    cfi_state stack[STATES];
    unsigned depth;
    uint64_t location;
} cfi_machine;

static bool load_entry(const cfi *c, uint64_t address, cfi_entry *entry);
static bool find_entry(const cfi *c, uint64_t address, uint64_t *fde);
static bool run(cfi_machine *m, const cfi_common *common, const uint8_t *program, size_t length,
                uint64_t target);

bool cfi_open(cfi *c, const peek *memory, uint64_t header)
{
    uint8_t head[12];
    int32_t block[BLOCK * 2];
    uint32_t blocks;

    memset(c, 0, sizeof *c);
    c->memory = *memory;
    if (!peek_read(memory, header, head, sizeof head))
        return false;
    /* Version 1, .eh_frame as pc-relative sdata4, count as udata4, table as datarel sdata4: what
     * every linker on x86-64 writes. */
    if (head[0] != 1 || head[2] != 0x03 || head[3] != 0x3b)
        return false;
    c->header = header;
    memcpy(&c->count, head + 8, sizeof c->count);
    c->table = header + 12;
    if (c->count == 0 || c->count > MAX_ENTRIES)
        return false;
    blocks = (c->count + BLOCK - 1) / BLOCK;
    c->index = memory_allocate_array(blocks, sizeof *c->index);
    if (c->index == NULL)
        return false;
    for (uint32_t i = 0; i < blocks; i++) {
        if (!peek_read(memory, c->table + (uint64_t)i * BLOCK * 8, block, 4)) {
            cfi_close(c);
            return false;
        }
        c->index[i] = block[0];
    }
    c->index_length = blocks;
    return true;
}

void cfi_close(cfi *c)
{
    memory_free(c->index);
    c->index = NULL;
    c->index_length = 0;
}

bool cfi_find_range(const cfi *c, uint64_t address, uint64_t *start, uint64_t *end)
{
    cfi_entry entry;

    if (!load_entry(c, address, &entry))
        return false;
    *start = entry.start;
    *end = entry.start + entry.length;
    return true;
}

bool cfi_find_rule(const cfi *c, uint64_t address, stackwalk_rule *rule)
{
    cfi_entry entry;
    cfi_machine machine;

    if (!load_entry(c, address, &entry))
        return false;
    memset(&machine, 0, sizeof machine);
    machine.now.return_from = STACKWALK_SAVED_UNCHANGED;
    machine.location = entry.start;
    if (entry.common.is_signal) {
        memset(rule, 0, sizeof *rule);
        rule->kind = STACKWALK_RULE_SIGNAL;
        return true;
    }
    if (!run(&machine, &entry.common, entry.common.program, entry.common.program_length,
             UINT64_MAX))
        return false;
    machine.initial = machine.now;
    machine.location = entry.start;
    if (!run(&machine, &entry.common, entry.program, entry.program_length, address))
        return false;
    *rule = machine.now.rule;
    if (machine.now.return_from == STACKWALK_SAVED_LOST)
        rule->kind = STACKWALK_RULE_START;
    else if (machine.now.return_from != STACKWALK_SAVED_AT_CFA)
        return false;
    rule->return_offset = machine.now.return_offset;
    return rule->kind != STACKWALK_RULE_NONE;
}

/* The table entry that starts at or before `address`: the address of its FDE. */
static bool find_entry(const cfi *c, uint64_t address, uint64_t *fde)
{
    int32_t block[BLOCK * 2];
    int64_t wanted = (int64_t)(address - c->header);
    uint32_t low = 0, high = c->index_length, in_block, found;

    if (c->index_length == 0 || wanted > INT32_MAX || wanted < INT32_MIN || wanted < c->index[0])
        return false;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (c->index[middle] <= wanted)
            low = middle;
        else
            high = middle;
    }
    in_block = c->count - low * BLOCK < BLOCK ? c->count - low * BLOCK : BLOCK;
    if (!peek_read(&c->memory, c->table + (uint64_t)low * BLOCK * 8, block, (size_t)in_block * 8))
        return false;
    found = in_block;
    for (uint32_t i = 0; i < in_block && block[i * 2] <= wanted; i++)
        found = i;
    if (found == in_block)
        return false;
    *fde = c->header + (uint64_t)(int64_t)block[found * 2 + 1];
    return true;
}

/* Reads a length-prefixed entry into `bytes`; the reader stands behind the length field. */
static bool read_entry(const cfi *c, uint64_t at, uint8_t *bytes, reader *out)
{
    uint32_t length;

    if (!peek_read(&c->memory, at, &length, 4) || length < 4 || length > INT32_MAX)
        return false;
    /* A longer program is cut: addresses behind the cut have no rule. */
    if (length > ENTRY_BYTES)
        length = ENTRY_BYTES;
    if (!peek_read(&c->memory, at + 4, bytes, length))
        return false;
    *out = reader_of(bytes, length);
    return true;
}

/* A pointer in the given encoding; `at` is the address of the reader's first byte. */
static uint64_t read_pointer(reader *r, uint8_t encoding, uint64_t at)
{
    uint64_t place = at + reader_offset(r);
    uint64_t value = 0;

    switch (encoding & ENCODING_FORMAT) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = reader_u64(r);
        break;
    case 0x03:
        value = reader_u32(r);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)reader_u32(r);
        break;
    default:
        r->failed = true;
    }
    if ((encoding & ENCODING_RELATIVE) == 0x10)
        value += place;
    else if ((encoding & ENCODING_RELATIVE) != 0)
        r->failed = true;
    return value;
}

static int64_t read_sleb(reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = reader_u8(r);

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            if ((byte & 0x40) != 0 && shift + 7 < 64)
                value |= ~0ULL << (shift + 7);
            return (int64_t)value;
        }
    }
    r->failed = true;
    return 0;
}

static bool load_common(const cfi *c, uint64_t at, uint8_t *bytes, cfi_common *common)
{
    char augmentation[8] = {0};
    size_t length = 0, rest;
    reader r;

    memset(common, 0, sizeof *common);
    common->encoding = 0;
    if (!read_entry(c, at, bytes, &r) || reader_u32(&r) != 0)
        return false;
    if (reader_u8(&r) > 3)
        return false;
    for (uint8_t letter; (letter = reader_u8(&r)) != 0 && length < sizeof augmentation - 1;)
        augmentation[length++] = (char)letter;
    common->code_alignment = reader_varint(&r);
    common->data_alignment = read_sleb(&r);
    common->return_register = reader_varint(&r);
    if (augmentation[0] == 'z') {
        common->has_augmentation = true;
        rest = reader_varint(&r);
        rest += reader_offset(&r);
        for (size_t i = 1; augmentation[i] != 0; i++) {
            if (augmentation[i] == 'R') {
                common->encoding = reader_u8(&r);
            } else if (augmentation[i] == 'L') {
                reader_u8(&r);
            } else if (augmentation[i] == 'P') {
                uint8_t encoding = reader_u8(&r);

                read_pointer(&r, encoding & 0x1f, 0);
            } else if (augmentation[i] == 'S') {
                common->is_signal = true;
            }
        }
        reader_seek(&r, rest);
    } else if (augmentation[0] != 0) {
        return false;
    }
    common->program_length = reader_left(&r);
    common->program = reader_bytes(&r, common->program_length);
    return !reader_failed(&r) && common->return_register == STACKWALK_RIP &&
           common->code_alignment != 0;
}

static bool load_entry(const cfi *c, uint64_t address, cfi_entry *entry)
{
    uint64_t fde, place;
    uint32_t back;
    reader r;

    if (!find_entry(c, address, &fde) || !read_entry(c, fde, entry->bytes, &r))
        return false;
    place = fde + 4;
    back = reader_u32(&r);
    if (back == 0 || !load_common(c, place - back, entry->common_bytes, &entry->common))
        return false;
    entry->start = read_pointer(&r, entry->common.encoding, place);
    entry->length = read_pointer(&r, entry->common.encoding & ENCODING_FORMAT, place);
    if ((entry->common.encoding & ENCODING_FORMAT) == 0x0b)
        entry->length &= 0xffffffffU;
    if (entry->common.has_augmentation) {
        size_t skip = reader_varint(&r);

        reader_skip(&r, skip);
    }
    entry->program_length = reader_left(&r);
    entry->program = reader_bytes(&r, entry->program_length);
    return !reader_failed(&r) && address >= entry->start && address - entry->start < entry->length;
}

/* Sets what is known of register `number`. */
static void set_saved(cfi_state *s, uint64_t number, uint8_t from, int64_t offset)
{
    int32_t small = (int32_t)offset;

    if (small != offset)
        from = STACKWALK_SAVED_LOST;
    if (number == STACKWALK_RBP) {
        s->rule.rbp_from = from;
        s->rule.rbp_offset = small;
    } else if (number == STACKWALK_RBX) {
        s->rule.rbx_from = from;
        s->rule.rbx_offset = small;
    } else if (number == STACKWALK_RIP) {
        s->return_from = from;
        s->return_offset = small;
    }
}

static void restore_saved(cfi_machine *m, uint64_t number)
{
    if (number == STACKWALK_RBP)
        set_saved(&m->now, number, m->initial.rule.rbp_from, m->initial.rule.rbp_offset);
    else if (number == STACKWALK_RBX)
        set_saved(&m->now, number, m->initial.rule.rbx_from, m->initial.rule.rbx_offset);
    else if (number == STACKWALK_RIP)
        set_saved(&m->now, number, m->initial.return_from, m->initial.return_offset);
}

static bool set_cfa(cfi_state *s, uint64_t base, int64_t offset)
{
    if (base >= STACKWALK_RIP || offset > INT32_MAX || offset < INT32_MIN)
        return false;
    s->rule.kind = STACKWALK_RULE_FRAME;
    s->rule.base = (uint8_t)base;
    s->rule.cfa_offset = (int32_t)offset;
    return true;
}

/* The CFA as an expression: the linkage table's, or [register + offset] of a realigned stack. */
static bool set_cfa_expression(cfi_state *s, reader *r)
{
    /* rsp + 8 + ((rip & 15) >= N) * 8, N at byte 5. */
    static const uint8_t LINKAGE[11] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    size_t length;
    const uint8_t *bytes = reader_blob(r, &length);
    reader e = reader_of(bytes, length);
    uint8_t operation;
    int64_t offset;

    if (bytes == NULL || length == 0)
        return false;
    if (length == sizeof LINKAGE && memcmp(bytes, LINKAGE, 6) == 0 &&
        memcmp(bytes + 7, LINKAGE + 7, 4) == 0 && bytes[6] >= 0x30 && bytes[6] < 0x40) {
        s->rule.kind = STACKWALK_RULE_PLT;
        s->rule.cfa_offset = bytes[6] - 0x30;
        return true;
    }
    operation = reader_u8(&e);
    if (operation < 0x70 || operation > 0x8f)
        return false;
    offset = read_sleb(&e);
    if (reader_failed(&e) || !set_cfa(s, operation - 0x70U, offset))
        return false;
    if (reader_at_end(&e))
        return true;
    s->rule.kind = STACKWALK_RULE_INDIRECT;
    return reader_u8(&e) == 0x06 && reader_at_end(&e);
}

/* A saved register's place as an expression: rbp + offset, as realigned stacks have it. */
static void set_saved_expression(cfi_state *s, reader *r)
{
    uint64_t number = reader_varint(r);
    size_t length;
    const uint8_t *bytes = reader_blob(r, &length);
    reader e = reader_of(bytes, length);
    uint8_t operation = reader_u8(&e);
    int64_t offset = read_sleb(&e);

    if (operation == 0x76 && !reader_failed(&e) && reader_at_end(&e))
        set_saved(s, number, STACKWALK_SAVED_AT_RBP, offset);
    else
        set_saved(s, number, STACKWALK_SAVED_LOST, 0);
}

/* Factored offsets; wraps around on hostile input instead of overflowing. */
static int64_t scaled(uint64_t factor, const cfi_common *common)
{
    return (int64_t)(factor * (uint64_t)common->data_alignment);
}

/* One instruction beyond the three packed ones; false when it is not understood. */
static bool run_plain(cfi_machine *m, const cfi_common *common, uint8_t operation, reader *r)
{
    cfi_state *s = &m->now;
    uint64_t number;

    switch (operation) {
    case 0x00: /* nop */
        return true;
    case 0x01: /* set_loc */
        return false;
    case 0x02: /* advance by 1, 2, 4 bytes */
        m->location += reader_u8(r) * common->code_alignment;
        return true;
    case 0x03:
        m->location += reader_u16(r) * common->code_alignment;
        return true;
    case 0x04:
        m->location += reader_u32(r) * common->code_alignment;
        return true;
    case 0x05: /* offset_extended */
        number = reader_varint(r);
        set_saved(s, number, STACKWALK_SAVED_AT_CFA, scaled(reader_varint(r), common));
        return true;
    case 0x06: /* restore_extended */
        restore_saved(m, reader_varint(r));
        return true;
    case 0x07: /* undefined */
        set_saved(s, reader_varint(r), STACKWALK_SAVED_LOST, 0);
        return true;
    case 0x08: /* same_value */
        set_saved(s, reader_varint(r), STACKWALK_SAVED_UNCHANGED, 0);
        return true;
    case 0x09: /* register: only the return address would matter, and that is refused below */
        number = reader_varint(r);
        reader_varint(r);
        if (number == STACKWALK_RIP)
            return false;
        set_saved(s, number, STACKWALK_SAVED_LOST, 0);
        return true;
    case 0x0a: /* remember_state */
        if (m->depth == STATES)
            return false;
        m->stack[m->depth++] = *s;
        return true;
    case 0x0b: /* restore_state */
        if (m->depth == 0)
            return false;
        *s = m->stack[--m->depth];
        return true;
    case 0x0c: /* def_cfa */
        number = reader_varint(r);
        return set_cfa(s, number, (int64_t)reader_varint(r));
    case 0x0d: /* def_cfa_register */
        return set_cfa(s, reader_varint(r), s->rule.cfa_offset);
    case 0x0e: /* def_cfa_offset */
        return set_cfa(s, s->rule.base, (int64_t)reader_varint(r));
    case 0x0f: /* def_cfa_expression */
        return set_cfa_expression(s, r);
    case 0x10: /* expression */
        set_saved_expression(s, r);
        return true;
    case 0x11: /* offset_extended_sf */
        number = reader_varint(r);
        set_saved(s, number, STACKWALK_SAVED_AT_CFA, scaled((uint64_t)read_sleb(r), common));
        return true;
    case 0x12: /* def_cfa_sf */
        number = reader_varint(r);
        return set_cfa(s, number, scaled((uint64_t)read_sleb(r), common));
    case 0x13: /* def_cfa_offset_sf */
        return set_cfa(s, s->rule.base, scaled((uint64_t)read_sleb(r), common));
    case 0x2e: /* GNU_args_size */
        reader_varint(r);
        return true;
    default:
        return false;
    }
}

/* One instruction: the three packed ones here. */
static bool run_one(cfi_machine *m, const cfi_common *common, reader *r)
{
    uint8_t operation = reader_u8(r);

    switch (operation & 0xc0) {
    case 0x40: /* advance */
        m->location += (operation & 0x3f) * common->code_alignment;
        return true;
    case 0x80: /* offset */
        set_saved(&m->now, operation & 0x3f, STACKWALK_SAVED_AT_CFA,
                  scaled(reader_varint(r), common));
        return true;
    case 0xc0: /* restore */
        restore_saved(m, operation & 0x3f);
        return true;
    default:
        return run_plain(m, common, operation, r);
    }
}

/* Runs a program until `target` is passed or it ends. */
static bool run(cfi_machine *m, const cfi_common *common, const uint8_t *program, size_t length,
                uint64_t target)
{
    reader r = reader_of(program, length);

    while (!reader_at_end(&r) && m->location <= target) {
        if (!run_one(m, common, &r) || reader_failed(&r))
            return false;
    }
    return true;
}
