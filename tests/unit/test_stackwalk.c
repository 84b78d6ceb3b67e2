/*
 * Unit tests of the walker: unwind rules of real libraries against readelf's reading of the same
 * tables, decoded prologues and epilogues, the rule for replaced methods, and walks of this very
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <link.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os.h"
#include "stackwalk/cfi.h"
#include "stackwalk/image.h"
#include "stackwalk/regions.h"
#include "stackwalk/shape.h"
#include "stackwalk/stackwalk.h"

static peek_process self_process;

static peek self_memory(void)
{
    peek memory = {peek_process_read, &self_process};

    self_process.process = getpid();
    self_process.descriptor = -1;
    return memory;
}

static bool any_code(void *context, uint64_t address)
{
    return address >= *(uint64_t *)context;
}

/* ---- .eh_frame against readelf ---- */

typedef struct {
    char name[32]; /* part of the library's path */
    uint64_t bias;
    char path[512];
} library;

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
    library *l = data;

    (void)size;
    if (strstr(info->dlpi_name, l->name) == NULL)
        return 0;
    l->bias = info->dlpi_addr;
    snprintf(l->path, sizeof l->path, "%s", info->dlpi_name);
    return 1;
}

/* readelf's words for a register: "rsp+16", "rbp+16", "exp". */
static bool same_cfa(const char *text, const stackwalk_rule *rule)
{
    static const char *const NAMES[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    char expected[32];

    if (strcmp(text, "exp") == 0)
        return rule->kind == STACKWALK_RULE_PLT || rule->kind == STACKWALK_RULE_INDIRECT ||
               rule->kind == STACKWALK_RULE_SIGNAL;
    snprintf(expected, sizeof expected, "%s%+d", NAMES[rule->base & 15], rule->cfa_offset);
    return rule->kind == STACKWALK_RULE_START || strcmp(text, expected) == 0;
}

static bool same_rbp(const char *text, const stackwalk_rule *rule)
{
    char expected[32] = "u";

    if (rule->kind == STACKWALK_RULE_SIGNAL || rule->kind == STACKWALK_RULE_START)
        return true;
    if (rule->rbp_from == STACKWALK_SAVED_AT_CFA)
        snprintf(expected, sizeof expected, "c%+d", rule->rbp_offset);
    else if (rule->rbp_from == STACKWALK_SAVED_AT_RBP)
        return strncmp(text, "exp", 3) == 0;
    /* "u": never mentioned; "s": the same value; both are unchanged on this machine. */
    if (rule->rbp_from == STACKWALK_SAVED_UNCHANGED)
        return strcmp(text, "u") == 0 || strcmp(text, "s") == 0;
    return strcmp(text, expected) == 0;
}

/* Checks every row that readelf prints for a library loaded at `bias`; returns the rows. */
static size_t compare_rows(const char *path, uint64_t bias, const cfi *c, size_t *without_rule)
{
    char command[600], row[512];
    int rbp_column = -1, ra_column = -1;
    size_t rows = 0;
    FILE *out;

    snprintf(command, sizeof command, "readelf -W --debug-dump=frames-interp '%s' 2>/dev/null",
             path);
    out = popen(command, "r");
    assert_non_null(out);
    while (fgets(row, sizeof row, out) != NULL) {
        char *words[32], *save = NULL;
        int count = 0;
        stackwalk_rule rule;
        uint64_t address, start, end;
        bool found;

        for (char *w = strtok_r(row, " \n", &save); w != NULL && count < 32;
             w = strtok_r(NULL, " \n", &save))
            words[count++] = w;
        if (count >= 2 && strcmp(words[0], "LOC") == 0) {
            rbp_column = ra_column = -1;
            for (int i = 2; i < count; i++) {
                if (strcmp(words[i], "rbp") == 0)
                    rbp_column = i;
                if (strcmp(words[i], "ra") == 0)
                    ra_column = i;
            }
            continue;
        }
        if (count < 3 || strlen(words[0]) != 16 || strspn(words[0], "0123456789abcdef") != 16 ||
            ra_column < 0 || ra_column >= count || strstr(words[1], "+") == NULL)
            continue;
        /* "r10 (r10)" is one column. */
        for (int i = 2, to = 2, words_before = count; i < words_before; i++) {
            if (words[i][0] == '(')
                count--;
            else
                words[to++] = words[i];
        }
        address = strtoull(words[0], NULL, 16) + bias;
        /* A CIE's own row has no address; a row at a function's very end covers nothing. */
        if (address == bias || !cfi_find_range(c, address, &start, &end))
            continue;
        found = cfi_find_rule(c, address, &rule);
        rows++;
        if (!found) {
            ++*without_rule;
            if (getenv("SHOW"))
                fprintf(stderr, "none %s %s\n", words[0], words[1]);
            continue;
        }
        if (!same_cfa(words[1], &rule) || (rbp_column >= 0 && !same_rbp(words[rbp_column], &rule)))
            fail_msg("%s %s: readelf has %s rbp %s, here kind %d base %d%+d rbp %d%+d", path,
                     words[0], words[1], rbp_column >= 0 ? words[rbp_column] : "-", rule.kind,
                     rule.base, rule.cfa_offset, rule.rbp_from, rule.rbp_offset);
    }
    pclose(out);
    return rows;
}

static void rules_of_real_libraries_equal_readelf(void **state)
{
    static const char *const NAMES[] = {"libc.so", "ld-linux", "libm.so"};
    peek memory = self_memory();

    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        library l = {.bias = 0};
        image im;
        cfi c;
        size_t rows, without = 0;

        snprintf(l.name, sizeof l.name, "%s", NAMES[i]);
        if (dl_iterate_phdr(find_library, &l) == 0)
            continue;
        assert_true(image_open(&im, &memory, l.bias));
        assert_true(im.bias == l.bias);
        assert_true(im.build_id_length > 0);
        assert_true(cfi_open(&c, &memory, im.eh_header));
        rows = compare_rows(l.path, l.bias, &c, &without);
        assert_true(rows > 500);
        /* Only longjmp, setcontext and the like keep the return address in a register. */
        if (without * 200 > rows)
            fail_msg("%s: %zu of %zu rows have no rule", l.path, without, rows);
        cfi_close(&c);
    }
}

/* A file as if it were loaded: its segments copied to their places, read through a copy. */
static bool load_file(const char *path, buffer *file, buffer *loaded)
{
    uint64_t headers_at;
    unsigned count;
    error e;

    if (os_read_file(path, 0, file, &e) != 0 || file->length < 64)
        return false;
    memcpy(&headers_at, file->data + 32, 8);
    count = file->data[56];
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *h = file->data + headers_at + i * 56;
        uint32_t type;
        uint64_t offset, address, size;

        memcpy(&type, h, 4);
        memcpy(&offset, h + 8, 8);
        memcpy(&address, h + 16, 8);
        memcpy(&size, h + 32, 8);
        if (type != 1)
            continue;
        if (loaded->length < address + size)
            buffer_append_fill(loaded, 0, address + size - loaded->length);
        memcpy(loaded->data + address, file->data + offset, size);
    }
    return true;
}

static void rules_of_the_runtime_equal_readelf(void **state)
{
    const char *folder = getenv("CLARINET_TEST_RUNTIME");
    char path[512];
    buffer file = BUFFER_EMPTY, loaded = BUFFER_EMPTY;
    peek_copy copy;
    peek memory = {peek_copy_read, &copy};
    size_t rows, without = 0;
    image im;
    cfi c;

    (void)state;
    if (folder == NULL)
        skip();
    snprintf(path, sizeof path, "%s/libcoreclr.so", folder);
    assert_true(load_file(path, &file, &loaded));
    copy.address = 0;
    copy.bytes = loaded.data;
    copy.length = loaded.length;
    assert_true(image_open(&im, &memory, 0));
    assert_true(cfi_open(&c, &memory, im.eh_header));
    rows = compare_rows(path, 0, &c, &without);
    assert_true(rows > 50000);
    assert_true(without == 0);
    cfi_close(&c);
    buffer_free(&file);
    buffer_free(&loaded);
}

/* ---- managed code ---- */

/* Rules as "base+offset rbp@offset". */
static const char *spell(const stackwalk_rule *rule)
{
    static char text[64];

    snprintf(text, sizeof text, "%d %s%+d %s%+d", rule->kind,
             rule->base == STACKWALK_RBP ? "rbp" : "rsp", rule->cfa_offset,
             rule->rbp_from == STACKWALK_SAVED_AT_CFA ? "saved" : "kept", rule->rbp_offset);
    return text;
}

static const uint8_t FRAMED[] = {0x55,                         /* push rbp */
                                 0x41, 0x57,                   /* push r15 */
                                 0x53,                         /* push rbx */
                                 0x48, 0x83, 0xec, 0x18,       /* sub rsp,24 */
                                 0x48, 0x8d, 0x6c, 0x24, 0x28, /* lea rbp,[rsp+40] */
                                 0x33, 0xc0};
static const uint8_t FRAMELESS[] = {0x50, 0xff, 0x15, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x08, 0xc3};

static void framed_methods_unwind_by_rbp_after_and_by_rsp_in_the_prologue(void **state)
{
    static const struct {
        size_t offset;
        const char *rule;
    } STEPS[] = {{0, "2 rsp+8 kept+0"},    {1, "2 rsp+16 saved-16"}, {3, "2 rsp+24 saved-16"},
                 {4, "2 rsp+32 saved-16"}, {8, "2 rsp+56 saved-16"}, {13, "2 rbp+16 saved-16"}};
    shape s = shape_of(FRAMED, sizeof FRAMED);
    uint8_t tail[] = {0x5d, 0xc3};
    stackwalk_rule rule;

    (void)state;
    assert_int_equal(s.kind, SHAPE_FRAMED);
    assert_int_equal(s.prologue, 13);
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        rule = shape_rule_in_prologue(FRAMED, sizeof FRAMED, STEPS[i].offset);
        assert_string_equal(spell(&rule), STEPS[i].rule);
    }
    rule = shape_rule_of_leaf(&s, tail, 0, sizeof tail, 50, 2);
    assert_string_equal(spell(&rule), "2 rbp+16 saved-16");
    rule = shape_rule_of_leaf(&s, tail, 1, sizeof tail, 51, 1);
    assert_string_equal(spell(&rule), "2 rsp+8 kept+0");
}

static void frameless_methods_unwind_by_their_depth(void **state)
{
    shape s = shape_of(FRAMELESS, sizeof FRAMELESS);
    stackwalk_rule rule;

    (void)state;
    assert_int_equal(s.kind, SHAPE_FRAMELESS);
    assert_string_equal(spell(&s.body), "2 rsp+16 kept+0");
    rule = shape_rule_of_leaf(&s, FRAMELESS, 7, sizeof FRAMELESS, 7, 5); /* at add rsp,8 */
    assert_string_equal(spell(&rule), "2 rsp+16 kept+0");
    rule = shape_rule_of_leaf(&s, FRAMELESS, 11, sizeof FRAMELESS, 11, 1); /* at ret */
    assert_string_equal(spell(&rule), "2 rsp+8 kept+0");
}

static void jumps_are_tail_calls_only_when_they_leave_the_method(void **state)
{
    static const uint8_t LOOP[] = {0xeb, 0xf0, 0x90};
    static const uint8_t AWAY[] = {0x5d, 0xe9, 0, 0, 1, 0};
    static const uint8_t SWITCH[] = {0x90, 0xff, 0xe0};
    static const uint8_t INDIRECT[] = {0x5d, 0xff, 0xe0};
    shape s = shape_of(FRAMED, sizeof FRAMED);
    stackwalk_rule rule;

    (void)state;
    rule = shape_rule_of_leaf(&s, LOOP, 0, sizeof LOOP, 40, 10);
    assert_string_equal(spell(&rule), "2 rbp+16 saved-16");
    rule = shape_rule_of_leaf(&s, AWAY, 1, sizeof AWAY, 40, 10);
    assert_string_equal(spell(&rule), "2 rsp+8 kept+0");
    rule = shape_rule_of_leaf(&s, SWITCH, 1, sizeof SWITCH, 40, 10);
    assert_string_equal(spell(&rule), "2 rbp+16 saved-16");
    rule = shape_rule_of_leaf(&s, INDIRECT, 1, sizeof INDIRECT, 40, 10);
    assert_string_equal(spell(&rule), "2 rsp+8 kept+0");
}

static void frame_probe_counts(void **state)
{
    static const uint8_t CODE[] = {0x55, 0x4c, 0x8d, 0x9c, 0x24, 0x00, 0xe0, 0xff,
                                   0xff,                                           /* -0x2000 */
                                   0xe8, 1,    2,    3,    4,    0x49, 0x8b, 0xe3, /* */
                                   0x48, 0x8d, 0xac, 0x24, 0x00, 0x20, 0x00, 0x00};
    shape s = shape_of(CODE, sizeof CODE);
    stackwalk_rule rule = shape_rule_in_prologue(CODE, sizeof CODE, 14);

    (void)state;
    assert_int_equal(s.kind, SHAPE_FRAMED);
    assert_string_equal(spell(&s.body), "2 rbp+16 saved-16");
    assert_string_equal(spell(&rule), "2 rsp+16 saved-16"); /* in the helper: nothing taken yet */
}

static void replaced_methods_find_their_true_caller(void **state)
{
    /* rbp at 0x1000: copy of the caller's rbp, stale address; then the old frame; the record. */
    uint64_t slots[16] = {0x9000, 0x500100, 1, 2, 0x9000, 7, 3, 0x9000, 0x500200, 4};
    static const uint8_t CODE[] = {0x48, 0x8b, 0x45, 0x10, 0x50, 0x48, 0x83, 0xec,
                                   0x20, 0x48, 0x8d, 0x6c, 0x24, 0x20, 0x90};
    peek_copy copy = {0x1000, (const uint8_t *)slots, sizeof slots};
    peek stack = {peek_copy_read, &copy};
    uint64_t first_code = 0x500000;
    stackwalk_code code = {any_code, &first_code};
    stackwalk_registers r = {.known = 1U << STACKWALK_RSP | 1U << STACKWALK_RBP};
    shape s = shape_of(CODE, sizeof CODE);

    (void)state;
    assert_int_equal(s.kind, SHAPE_OSR);
    r.value[STACKWALK_RSP] = 0xff0;
    r.value[STACKWALK_RBP] = 0x1000;
    assert_int_equal(stackwalk_step(&r, &s.body, &stack, &code), STACKWALK_GOES_ON);
    assert_true(r.value[STACKWALK_RIP] == 0x500200);
    assert_true(r.value[STACKWALK_RBP] == 0x9000);
    assert_true(r.value[STACKWALK_RSP] == 0x1000 + 9 * 8);
}

/* Dead variables of the first version may hold a pair that looks like the frame record. */
static void replaced_methods_do_not_take_a_stale_pair_for_their_caller(void **state)
{
    /* mov rax,[rbp]; push rax; sub rsp,16; mov [rsp+0x48],rbx; lea rbp,[rsp+16]; …; the return of a
     * finally; add rsp,72; pop rbx; pop r12; pop rbp; ret: the record is 0x48 above rbp. */
    static const uint8_t CODE[] = {0x48, 0x8b, 0x45, 0x00, 0x50, 0x48, 0x83, 0xec, 0x10, 0x48,
                                   0x89, 0x5c, 0x24, 0x48, 0x48, 0x8d, 0x6c, 0x24, 0x10, 0x90,
                                   0x48, 0x83, 0xc4, 0x08, 0x5b, 0x41, 0x5c, 0x5d, 0xc3, 0x90,
                                   0x48, 0x83, 0xc4, 0x48, 0x5b, 0x41, 0x5c, 0x5d, 0xc3};
    uint64_t slots[16] = {0x9000, 0x500100, 1, 0x9000, 0x500300, 7, 3, 8, 9, 0x9000, 0x500200, 4};
    peek_copy copy = {0x1000, (const uint8_t *)slots, sizeof slots};
    peek stack = {peek_copy_read, &copy};
    uint64_t first_code = 0x500000;
    stackwalk_code code = {any_code, &first_code};
    stackwalk_registers r = {.known = 1U << STACKWALK_RSP | 1U << STACKWALK_RBP}, again;
    shape s = shape_of(CODE, sizeof CODE);

    (void)state;
    r.value[STACKWALK_RSP] = 0xff0;
    r.value[STACKWALK_RBP] = 0x1000;
    again = r;
    assert_int_equal(s.kind, SHAPE_OSR);
    assert_int_equal(s.prologue, 19);
    assert_false(shape_find_return(&s, CODE, 30));
    assert_true(shape_find_return(&s, CODE, sizeof CODE));
    assert_int_equal(s.body.cfa_offset, 0x48 + 16);
    assert_int_equal(stackwalk_step(&r, &s.body, &stack, &code), STACKWALK_GOES_ON);
    assert_true(r.value[STACKWALK_RIP] == 0x500200);
    assert_true(r.value[STACKWALK_RSP] == 0x1000 + 11 * 8);
    /* A distance that is wrong is noticed, and the record searched as without one. */
    slots[3] = slots[4] = 0;
    s.body.cfa_offset = 64;
    assert_int_equal(stackwalk_step(&again, &s.body, &stack, &code), STACKWALK_GOES_ON);
    assert_true(again.value[STACKWALK_RIP] == 0x500200);
}

static void walks_never_go_down(void **state)
{
    uint64_t slots[4] = {0x1000, 0x500100, 0x1000, 0x500100};
    peek_copy copy = {0x1000, (const uint8_t *)slots, sizeof slots};
    peek stack = {peek_copy_read, &copy};
    uint64_t first_code = 0x500000;
    stackwalk_code code = {any_code, &first_code};
    stackwalk_rule rule = stackwalk_rule_of_frame_pointer();
    stackwalk_registers r = {.known = 1U << STACKWALK_RSP | 1U << STACKWALK_RBP};

    (void)state;
    r.value[STACKWALK_RSP] = 0x1000;
    r.value[STACKWALK_RBP] = 0x1000;
    assert_int_equal(stackwalk_step(&r, &rule, &stack, &code), STACKWALK_GOES_ON);
    assert_int_equal(stackwalk_step(&r, &rule, &stack, &code), STACKWALK_BROKEN);
    r.value[STACKWALK_RBP] = 0x7000;
    assert_int_equal(stackwalk_step(&r, &rule, &stack, &code), STACKWALK_NOT_COPIED);
}

/* Behind `pop rbp`, before the jump out, the table still says where rbp lay. */
static void a_register_that_was_taken_back_is_known(void **state)
{
    uint64_t slots[2] = {0x500100, 0};
    peek_copy copy = {0x1000, (const uint8_t *)slots, sizeof slots};
    peek stack = {peek_copy_read, &copy};
    uint64_t first_code = 0x500000;
    stackwalk_code code = {any_code, &first_code};
    stackwalk_rule rule = stackwalk_rule_of_depth(8);
    stackwalk_registers r = {.known = 1U << STACKWALK_RSP | 1U << STACKWALK_RBP};
    stackwalk_registers without = {.known = 1U << STACKWALK_RSP};

    (void)state;
    rule.rbp_from = STACKWALK_SAVED_AT_CFA;
    rule.rbp_offset = -16;
    r.value[STACKWALK_RSP] = without.value[STACKWALK_RSP] = 0x1000;
    r.value[STACKWALK_RBP] = 0x2000;
    assert_int_equal(stackwalk_step(&r, &rule, &stack, &code), STACKWALK_GOES_ON);
    assert_true(stackwalk_knows(&r, STACKWALK_RBP) && r.value[STACKWALK_RBP] == 0x2000);
    assert_int_equal(stackwalk_step(&without, &rule, &stack, &code), STACKWALK_GOES_ON);
    assert_false(stackwalk_knows(&without, STACKWALK_RBP));
}

/* ---- this process ---- */

typedef struct {
    uint64_t addresses[64];
    size_t count;
    stackwalk_end end;
} walk_result;

static void walk_self(walk_result *out, int depth);

static int compare_numbers(const void *a, const void *b)
{
    walk_result *out = *(walk_result *const *)a;

    (void)b;
    if (out->count == 0)
        walk_self(out, 0);
    return 0;
}

static void walk_self(walk_result *out, int depth)
{
    peek memory = self_memory();
    uint64_t first_code = 4096;
    stackwalk_code code = {any_code, &first_code};
    stackwalk_registers r = {.known = 1U << STACKWALK_RSP | 1U << STACKWALK_RBP |
                                      1U << STACKWALK_RIP | 1U << STACKWALK_RBX};
    buffer text = BUFFER_EMPTY;
    regions map;
    ucontext_t context;

    (void)depth;
    assert_int_equal(os_read_file("/proc/self/maps", 0, &text, NULL), 0);
    assert_true(regions_parse(&map, (const char *)text.data, text.length));
    getcontext(&context);
    r.value[STACKWALK_RIP] = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
    r.value[STACKWALK_RSP] = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
    r.value[STACKWALK_RBP] = (uint64_t)context.uc_mcontext.gregs[REG_RBP];
    r.value[STACKWALK_RBX] = (uint64_t)context.uc_mcontext.gregs[REG_RBX];
    out->end = STACKWALK_GOES_ON;
    while (out->end == STACKWALK_GOES_ON && out->count < 64) {
        uint64_t ip = r.value[STACKWALK_RIP], base, end;
        const region *item = regions_find(&map, ip);
        stackwalk_rule rule = {0};
        image im;
        cfi c;

        assert_non_null(item);
        assert_true(item->executable);
        out->addresses[out->count++] = ip;
        assert_true(regions_find_image(&map, item, &base, &end));
        assert_true(image_open(&im, &memory, base));
        assert_true(cfi_open(&c, &memory, im.eh_header));
        assert_true(cfi_find_rule(&c, ip - (out->count > 1), &rule));
        cfi_close(&c);
        out->end = stackwalk_step(&r, &rule, &memory, &code);
    }
    regions_free(&map);
    buffer_free(&text);
}

static void walk_through_qsort_reaches_the_start(void **state)
{
    walk_result result = {.count = 0};
    walk_result *items[2] = {&result, &result};

    (void)state;
    qsort(items, 2, sizeof *items, compare_numbers);
    assert_int_equal(result.end, STACKWALK_COMPLETE);
    assert_true(result.count > 5);
}

/* Memory of three pages of which the second cannot be read whole; counts what it is asked for. */
typedef struct {
    uint8_t bytes[3 * PEEK_PAGE];
    unsigned reads;
} paged_memory;

static bool read_paged(void *context, uint64_t address, void *out, size_t size)
{
    paged_memory *m = context;

    m->reads++;
    if (address > sizeof m->bytes || size > sizeof m->bytes - address ||
        (address < 2 * PEEK_PAGE && address + size > PEEK_PAGE + 100 && size > 8))
        return false;
    memcpy(out, m->bytes + address, size);
    return true;
}

static void pages_are_read_once_until_forgotten(void **state)
{
    static paged_memory memory;
    static peek_pages pages;
    peek below = {read_paged, &memory};
    uint8_t found[16];

    (void)state;
    for (size_t i = 0; i < sizeof memory.bytes; i++)
        memory.bytes[i] = (uint8_t)(i * 7);
    peek_pages_init(&pages, &below);
    for (uint64_t at = 0; at + 4 <= PEEK_PAGE; at += 100) {
        assert_true(peek_pages_read(&pages, at, found, 4));
        assert_memory_equal(found, memory.bytes + at, 4);
    }
    assert_int_equal(memory.reads, 1);
    memory.bytes[8] ^= 1;
    assert_true(peek_pages_read(&pages, 8, found, 1));
    assert_int_equal(found[0], memory.bytes[8] ^ 1);
    peek_pages_forget(&pages);
    assert_true(peek_pages_read(&pages, 8, found, 1));
    assert_int_equal(found[0], memory.bytes[8]);
    /* over the edge of a page, and in a page of which only parts are there: as without the pages */
    assert_true(peek_pages_read(&pages, PEEK_PAGE - 4, found, 8));
    assert_memory_equal(found, memory.bytes + PEEK_PAGE - 4, 8);
    assert_true(peek_pages_read(&pages, PEEK_PAGE + 200, found, 8));
    assert_memory_equal(found, memory.bytes + PEEK_PAGE + 200, 8);
    assert_false(peek_pages_read(&pages, PEEK_PAGE + 200, found, 16));
    assert_false(peek_pages_read(&pages, 3 * PEEK_PAGE, found, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_of_real_libraries_equal_readelf),
        cmocka_unit_test(rules_of_the_runtime_equal_readelf),
        cmocka_unit_test(framed_methods_unwind_by_rbp_after_and_by_rsp_in_the_prologue),
        cmocka_unit_test(frameless_methods_unwind_by_their_depth),
        cmocka_unit_test(jumps_are_tail_calls_only_when_they_leave_the_method),
        cmocka_unit_test(frame_probe_counts),
        cmocka_unit_test(replaced_methods_find_their_true_caller),
        cmocka_unit_test(replaced_methods_do_not_take_a_stale_pair_for_their_caller),
        cmocka_unit_test(walks_never_go_down),
        cmocka_unit_test(a_register_that_was_taken_back_is_known),
        cmocka_unit_test(walk_through_qsort_reaches_the_start),
        cmocka_unit_test(pages_are_read_once_until_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
