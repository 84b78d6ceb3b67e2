/* The checker: one body per rule, refused with the instruction and the reason; and good ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cil/check.h"
#include "cil/encode.h"

static uint8_t nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'A' + 10);
}

static size_t from_hex(const char *text, uint8_t *bytes)
{
    size_t count = 0;

    for (; *text != '\0'; text++) {
        if (*text == ' ')
            continue;
        bytes[count++] = (uint8_t)(nibble(text[0]) << 4 | nibble(text[1]));
        text++;
    }
    return count;
}

/* Token 06000001 is static void (int32), 06000002 is instance object (), 0A000003 is unknown,
 * 11000004 is the unmanaged signature void (int64). */
static bool signature(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    static const uint8_t one[] = {0x00, 1, 0x01, 0x08};
    static const uint8_t two[] = {0x20, 0, 0x1C};
    static const uint8_t four[] = {0x01, 1, 0x01, 0x0A};

    (void)context;
    *bytes = token == 0x06000001 ? one : token == 0x06000002 ? two : four;
    *length = token == 0x06000002 ? sizeof two : sizeof one;
    return token != 0x0A000003;
}

typedef struct {
    const char *name;
    const char *method; /* signature in hex */
    const char *code;
    const char *clauses; /* fat clauses in hex, 24 bytes each */
    const char *reason;  /* NULL: accepted */
    unsigned max_stack;
} check_case;

#define U32(x) x " 00 00 00 "
#define CLAUSE(kind, try, try_length, handler, handler_length, last)                               \
    U32(kind) U32(try) U32(try_length) U32(handler) U32(handler_length) U32(last)
#define STATIC_VOID "00 00 01"
#define STATIC_INT  "00 00 08"
#define VOID_OF_INT "00 01 01 08"

static const check_case CASES[] = {
    {"ret", STATIC_VOID, "2A", "", NULL, 0},
    {"constant", STATIC_INT, "17 2A", "", NULL, 1},
    {"calls", VOID_OF_INT, "02 28 01 00 00 06 2A", "", NULL, 1},
    {"probe", STATIC_VOID, "17 6A 21 00 00 00 00 00 00 00 00 D3 29 04 00 00 11 2A", "", NULL, 2},
    {"dup", STATIC_INT, "17 25 58 2A", "", NULL, 2},
    {"endless loop", STATIC_INT, "2B FE", "", NULL, 0},
    {"stacks after throw are not looked at", STATIC_VOID, "14 7A 26 26 2A", "", NULL, 1},
    {"dead code that falls off", STATIC_VOID, "2A 00", "", "runs past its end", 0},
    {"dead code that falls into a handler", STATIC_VOID, "DE 04 00 26 DE 00 2A",
     CLAUSE("00", "00", "03", "03", "03", "01"), "IL_0002 nop: control goes into or out", 0},
    {"dead branch out of a try", STATIC_VOID, "DE 05 2B 03 26 DE 00 2A",
     CLAUSE("00", "00", "04", "04", "03", "01"), "IL_0002 br.s: control goes into or out", 0},
    {"dead ret in a try", STATIC_VOID, "DE 04 2A 26 DE 00 2A",
     CLAUSE("00", "00", "03", "03", "03", "01"), "IL_0002 ret: it stands in a protected", 0},
    {"dead leave", STATIC_VOID, "DE 05 DE 03 26 DE 00 2A",
     CLAUSE("00", "00", "04", "04", "03", "01"), NULL, 1},
    {"a signature of locals", "07 00", "2A", "", "not a method's", 0},
    {"a signature of arguments", "0A 01 08", "2A", "", "not a method's", 0},
    {"empty ret", STATIC_INT, "2A", "", "IL_0000 ret: it needs exactly its result", 0},
    {"full ret", STATIC_VOID, "17 2A", "", "the stack is not empty", 0},
    {"two results", STATIC_INT, "17 17 2A", "", "exactly its result", 0},
    {"wrong result", STATIC_INT, "14 2A", "", "wrong kind", 0},
    {"underflow", STATIC_VOID, "26 2A", "", "IL_0000 pop: the stack is too short", 0},
    {"call underflow", STATIC_VOID, "28 01 00 00 06 2A", "", "too short", 0},
    {"this underflow", STATIC_VOID, "6F 02 00 00 06 26 2A", "", "too short", 0},
    {"unknown callee", STATIC_VOID, "28 03 00 00 0A 2A", "", "not known", 0},
    {"falls off", STATIC_VOID, "00", "", "runs past its end", 0},
    {"branch falls off", STATIC_VOID, "17 2D FD", "", "runs past its end", 0},
    {"depths differ", VOID_OF_INT, "02 2D 01 17 2A", "", "one path comes to", 0},
    {"kinds differ", VOID_OF_INT, "02 2D 03 14 2B 01 17 26 2A", "", "two paths meet", 0},
    {"argument", VOID_OF_INT, "03 26 2A", "", "no such argument", 0},
    {"local", STATIC_VOID, "06 26 2A", "", "no such local", 0},
    {"object wanted", STATIC_VOID, "17 7A", "", "wrong kind", 0},
    {"branch behind a prefix", VOID_OF_INT, "02 2C 02 FE 13 02 4A 26 2A", "", "between a prefix",
     0},
    {"prefix at the end", STATIC_VOID, "FE 13", "", "prefix stands at the end", 0},
    {"catch", STATIC_VOID, "00 DE 03 26 DE 00 2A", CLAUSE("00", "00", "03", "03", "03", "01"), NULL,
     1},
    {"finally", STATIC_VOID, "00 DE 01 DC 2A", CLAUSE("02", "00", "03", "03", "01", "00"), NULL, 0},
    {"filter", STATIC_VOID, "00 DE 07 26 17 FE 11 26 DE 00 2A",
     CLAUSE("01", "00", "03", "07", "03", "03"), NULL, 1},
    {"catch leaves to its try", STATIC_VOID, "00 00 DE 03 26 DE FB 2A",
     CLAUSE("00", "00", "04", "04", "03", "01"), NULL, 1},
    {"ret in try", STATIC_VOID, "2A 00 26 DE 00 2A", CLAUSE("00", "00", "02", "02", "03", "01"),
     "stands in a protected region", 0},
    {"falls into the handler", STATIC_VOID, "00 00 00 26 DE 00 2A",
     CLAUSE("00", "00", "03", "03", "03", "01"), "protected region", 0},
    {"branches out of a try", STATIC_VOID, "00 2B 03 26 DE 00 2A",
     CLAUSE("00", "00", "03", "03", "03", "01"), "protected region", 0},
    {"branches into a try", STATIC_VOID, "2B 01 00 00 DE 03 26 DE 00 2A",
     CLAUSE("00", "02", "04", "06", "03", "01"), "protected region", 0},
    {"branches to the start of a try", STATIC_VOID, "2B 00 00 00 DE 03 26 DE 00 2A",
     CLAUSE("00", "02", "04", "06", "03", "01"), NULL, 1},
    {"leaves a finally", STATIC_VOID, "00 DE 02 DE 00 2A",
     CLAUSE("02", "00", "03", "03", "02", "00"), "it may not leave", 0},
    {"endfinally in a catch", STATIC_VOID, "00 DE 02 26 DC 2A",
     CLAUSE("00", "00", "03", "03", "02", "01"), "finally or fault", 0},
    {"endfinally alone", STATIC_VOID, "DC", "", "finally or fault", 0},
    {"endfilter alone", STATIC_VOID, "17 FE 11", "", "in a filter", 0},
    {"rethrow alone", STATIC_VOID, "FE 1A", "", "in a catch handler", 0},
    {"rethrow", STATIC_VOID, "00 DE 03 26 FE 1A 2A", CLAUSE("00", "00", "03", "03", "03", "01"),
     NULL, 1},
    {"try with a full stack", STATIC_VOID, "17 00 DE 03 26 DE 00 2A",
     CLAUSE("00", "01", "03", "04", "03", "01"), "a try is entered with", 0},
    {"localloc with more", STATIC_VOID, "17 17 FE 0F 26 26 2A", "", "nothing but the size", 0},
    {"outer before inner", STATIC_VOID, "00 DE 03 26 DE 00 DE 01 DC 2A",
     CLAUSE("02", "00", "08", "08", "01", "00") CLAUSE("00", "00", "03", "03", "03", "01"),
     "stands after a clause", 0},
    {"inner before outer", STATIC_VOID, "00 DE 03 26 DE 00 DE 01 DC 2A",
     CLAUSE("00", "00", "03", "03", "03", "01") CLAUSE("02", "00", "08", "08", "01", "00"), NULL,
     1},
    {"overlap", STATIC_VOID, "00 00 00 DE 01 DC DE 01 DC 2A",
     CLAUSE("02", "00", "02", "05", "01", "00") CLAUSE("02", "01", "04", "08", "01", "00"),
     "overlaps", 0},
    {"handler in its try", STATIC_VOID, "00 DE 01 DC 2A",
     CLAUSE("02", "00", "04", "03", "01", "00"), "its try and its handler overlap", 0},
};

static size_t build(const check_case *c, uint8_t *bytes)
{
    uint8_t code[128], clauses[128];
    size_t code_size = from_hex(c->code, code);
    size_t clause_size = from_hex(c->clauses, clauses);
    size_t length = 12;

    memset(bytes, 0, 300);
    bytes[0] = clause_size != 0 ? 0x0B : 0x03;
    bytes[1] = 0x30;
    bytes[4] = (uint8_t)code_size;
    memcpy(bytes + length, code, code_size);
    length += code_size;
    if (clause_size == 0)
        return length;
    length = (length + 3) & ~(size_t)3;
    bytes[length] = 0x41;
    bytes[length + 1] = (uint8_t)(clause_size + 4);
    memcpy(bytes + length + 4, clauses, clause_size);
    return length + 4 + clause_size;
}

static void follows_the_rules(void **state)
{
    cil_resolver resolver = {NULL, signature};
    cil_checker *checker = cil_checker_create();
    cil_body body;

    (void)state;
    cil_body_init(&body);
    for (size_t n = 0; n < sizeof CASES / sizeof CASES[0]; n++) {
        const check_case *c = &CASES[n];
        uint8_t bytes[300], method[16];
        cil_check_method m = {.signature = method, .resolver = &resolver};
        cil_check_result result;
        error e = {0};
        int code;

        m.signature_length = from_hex(c->method, method);
        if (cil_decode(&body, bytes, build(c, bytes), &e) != 0)
            fail_msg("%s: decode: %s", c->name, e.message);
        code = cil_check(checker, &body, &m, &result, &e);
        if (c->reason == NULL && code != 0)
            fail_msg("%s: refused: %s", c->name, e.message);
        if (c->reason == NULL && result.max_stack != c->max_stack)
            fail_msg("%s: max stack %u", c->name, result.max_stack);
        if (c->reason != NULL && (code == 0 || strstr(e.message, c->reason) == NULL))
            fail_msg("%s: '%s' instead of '%s'", c->name, code == 0 ? "accepted" : e.message,
                     c->reason);
    }
    cil_body_free(&body);
    cil_checker_free(checker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_rules)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
