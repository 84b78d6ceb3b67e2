/* Unit tests of what statements box and copy: read from the code of Values.dll, and the finding
 * that is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/findings.h"
#include "base/os.h"
#include "metadata/assembly.h"
#include "recording/encode.h"
#include "recording/tables.h"
#include "symbols/symbols.h"

#define DLL TEST_SOURCE_DIR "/tests/unit/data/symbols/Values.dll"

static uint32_t token_of(const char *name)
{
    buffer bytes = BUFFER_EMPTY;
    uint32_t found = 0;
    assembly a;

    assert_int_equal(os_read_file(DLL, 0, &bytes, NULL), 0);
    assert_int_equal(assembly_open(&a, bytes.data, bytes.length, NULL), 0);
    for (uint32_t row = 1; row <= metadata_rows(&a.tables, METADATA_METHOD_DEF); row++)
        if (strcmp(metadata_cell_string(&a.tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME),
                   name) == 0)
            found = 0x06000000 | row;
    buffer_free(&bytes);
    assert_int_not_equal(found, 0);
    return found;
}

/* type NULL: nothing is found. */
static void check(symbols *s, const char *method, uint32_t il_offset, const char *type,
                  uint64_t bytes, bool is_box)
{
    symbols_value found[4];
    size_t count = symbols_values(s, DLL, NULL, token_of(method), il_offset, found, 4);

    if (count != (type != NULL))
        print_message("%s: %zu\n", method, count);
    assert_int_equal(count, type != NULL);
    if (type == NULL)
        return;
    assert_string_equal(found[0].type, type);
    assert_int_equal(found[0].is_box, is_box);
    if (bytes != 0)
        assert_int_equal(found[0].bytes, bytes);
}

static void statements_that_box_and_copy_are_known(void **state)
{
    symbols *s = symbols_open("/");

    (void)state;
    assert_non_null(s);
    check(s, "BoxInt", 0, "System.Int32", 0, true);
    check(s, "BoxOwn", 0, "Small", 16, true);
    check(s, "BoxPair", 0, "Pair<int>", 8, true);
    check(s, "BoxNothing", 0, NULL, 0, false);
    check(s, "CopyElement", 0, "Large", 104, false);
    check(s, "CopyStatic", 0, "Large", 104, false);
    check(s, "CopyListItem", 0, "Large", 104, false);
    check(s, "CopyNested", 0, "Values.Nested", 120, false);
    check(s, "CopyPair", 0, "Pair<Large>", 208, false);
    check(s, "CopyElsewhere", 0, "Other.Address", 80, false);
    check(s, "CopySmall", 0, NULL, 0, false);
    check(s, "ReadField", 0, NULL, 0, false);
    check(s, "ByReference", 0, NULL, 0, false);
    symbols_close(s);
}

static void only_the_statement_itself_is_read(void **state)
{
    symbols *s = symbols_open("/");

    (void)state;
    assert_non_null(s);
    check(s, "Statements", 0, NULL, 0, false);
    check(s, "Statements", 5, "Large", 104, false);
    check(s, "Statements", 1000, NULL, 0, false);
    assert_int_equal(symbols_values(s, DLL, NULL, 0x06ffffff, 0, NULL, 0), 0);
    symbols_close(s);
}

/* ---- the finding ---- */

enum { MS = 1000000, SAMPLES = 200, NATIVE_LEAF = 2, OTHER = 3 };
enum { TABLES_SAMPLES(TABLES_CELL) SAMPLE_CELLS };
static const recording_column SAMPLE_COLUMNS[] = {TABLES_SAMPLES(TABLES_COLUMN)};
static const recording_table CPU = {"samples", "cpu", SAMPLE_COLUMNS, SAMPLE_CELLS};
enum { TABLES_VALUES(TABLES_CELL) VALUE_CELLS };
static const recording_column VALUE_COLUMNS[] = {TABLES_VALUES(TABLES_COLUMN)};
static const recording_table VALUES = {"values", "cpu", VALUE_COLUMNS, VALUE_CELLS};
enum { TABLES_CALLEES(TABLES_CELL) CALLEE_CELLS };
static const recording_column CALLEE_COLUMNS[] = {TABLES_CALLEES(TABLES_COLUMN)};
static const recording_table CALLEES = {"callees", "cpu", CALLEE_COLUMNS, CALLEE_CELLS};
static const recording_column ALLOCATION_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_STACK_ID, "stack", ""},
    {RECORDING_STRING_ID, "type", ""}, {RECORDING_U64, "bytes", "bytes"},
    {RECORDING_U64, "size", "bytes"},
};
static const recording_table ALLOCATIONS = {"allocations", "allocations", ALLOCATION_COLUMNS, 5};

static void put_row(buffer *b, uint64_t id, const recording_table *table, const uint64_t *cells)
{
    recording_rows rows;

    recording_rows_begin(&rows, b, 0, id, table);
    for (size_t i = 0; i < table->column_count; i++)
        recording_rows_put(&rows, cells[i]);
    assert_true(recording_rows_end(&rows));
}

/* Two methods; stack 1 is the first, 2 runtime code below it, 3 the second. */
static void begin(buffer *b)
{
    static const char *const TEXTS[] = {"Shop", "Shop.Till.Sum", "Shop.Till.Rest", "libcoreclr.so",
                                        "int",  "string",        "Shop.Order"};
    static const uint8_t ID[16] = {1};
    const recording_module shop = {1, RECORDING_MODULE_MANAGED, 1, 0, ID, 16, 0, 0};
    const recording_module native = {2, RECORDING_MODULE_NATIVE, 4, 0, ID, 16, 0, 0};
    size_t chunk;

    recording_put_file_header(b);
    chunk = recording_begin_chunk(b, RECORDING_STRING, 0);
    for (uint64_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        recording_put_string(b, i + 1, TEXTS[i], strlen(TEXTS[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);
    recording_put_module(b, &shop);
    recording_put_module(b, &native);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    for (uint64_t i = 0; i < 2; i++) {
        recording_method method = {i + 1, 1, 0x06000001 + i, 2 + i, 0, 0};

        recording_put_method(b, &method);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    recording_put_frame(b, 1, RECORDING_FRAME_MANAGED, 1, 1);
    recording_put_frame(b, 2, RECORDING_FRAME_NATIVE, 2, 0x1000);
    recording_put_frame(b, 3, RECORDING_FRAME_MANAGED, 2, 1);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    recording_put_stack(b, 1, 0, 1);
    recording_put_stack(b, NATIVE_LEAF, 1, 2);
    recording_put_stack(b, OTHER, 0, 3);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    recording_put_table(b, 1, &CPU);
    recording_put_table(b, 2, &VALUES);
    recording_put_table(b, 3, &ALLOCATIONS);
    recording_put_table(b, 4, &CALLEES);
    recording_end_chunk(b, chunk);
}

/* `share` percent of two seconds of processor time on a stack, the rest on OTHER. */
static void put_samples(buffer *b, uint64_t stack, uint64_t share)
{
    for (uint64_t i = 0; i < SAMPLES; i++)
        put_row(b, 1, &CPU,
                (uint64_t[]){i * 10 * MS, 100, i * 100 / SAMPLES < share ? stack : OTHER, 10 * MS,
                             RECORDING_STATE_RUNNING});
}

static void put_objects(buffer *b, uint64_t type, uint64_t millions)
{
    put_row(b, 3, &ALLOCATIONS, (uint64_t[]){MS, 1, type, millions * 24 * 1000000, 24});
}

/* The statement of the finding about the method of stack 1 has this word; NULL: there is no such
 * finding of a known cause. */
static void judge(buffer *b, const char *word)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_END, 0);
    recording_file *file = NULL;
    bool told = false;
    findings found;
    model m;

    recording_put_end(b, "duration", UINT64_C(2000) * MS);
    recording_end_chunk(b, chunk);
    assert_int_equal(recording_file_open_bytes(b->data, b->length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, &m, NULL), 0);
    recording_file_close(file);
    buffer_free(b);
    assert_int_equal(findings_look(&m, NULL, &found, NULL), 0);
    for (size_t i = 0; i < found.count; i++) {
        const char *statement = found.items[i].statement;

        if (strstr(statement, "boxing") == NULL && strstr(statement, "lines that copy") == NULL &&
            strstr(statement, "strings together") == NULL && strstr(statement, "LINQ") == NULL)
            continue;
        assert_non_null(word);
        assert_string_equal(found.items[i].id, "cpu-hot-path");
        assert_non_null(strstr(statement, word));
        assert_string_equal(found.items[i].place, "Shop.Till.Sum");
        told = true;
    }
    assert_int_equal(told, word != NULL);
    findings_free(&found);
    model_free(&m);
}

static void boxes_are_told_by_their_objects(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    begin(&b);
    put_samples(&b, NATIVE_LEAF, 50);
    put_objects(&b, 5, 100);
    judge(&b, "50 % of the CPU time (0.50 of 1.00 processors) goes into boxing int (50 million");
    begin(&b); /* a struct of the program: its code says that it is boxed */
    put_samples(&b, NATIVE_LEAF, 50);
    put_row(&b, 2, &VALUES, (uint64_t[]){1, 1, 7, 24});
    put_objects(&b, 7, 100);
    judge(&b, "boxing Shop.Order");
    begin(&b); /* a class of that name is none */
    put_samples(&b, NATIVE_LEAF, 50);
    put_objects(&b, 7, 100);
    judge(&b, NULL);
    begin(&b); /* other objects are as many */
    put_samples(&b, NATIVE_LEAF, 50);
    put_objects(&b, 5, 100);
    put_objects(&b, 6, 100);
    judge(&b, NULL);
    begin(&b); /* too few for so much time */
    put_samples(&b, NATIVE_LEAF, 50);
    put_objects(&b, 5, 3);
    judge(&b, NULL);
    begin(&b); /* hardly any time */
    put_samples(&b, NATIVE_LEAF, 29);
    put_objects(&b, 5, 100);
    judge(&b, NULL);
}

static void copies_are_told_by_the_code(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    begin(&b);
    put_samples(&b, 1, 50);
    put_row(&b, 2, &VALUES, (uint64_t[]){1, 0, 7, 80});
    judge(&b, "lines that copy the struct Shop.Order (80 bytes), in Shop.Till.Sum");
    begin(&b); /* small enough */
    put_samples(&b, 1, 50);
    put_row(&b, 2, &VALUES, (uint64_t[]){1, 0, 7, 79});
    judge(&b, NULL);
    begin(&b); /* the runtime's work is not the copy's */
    put_samples(&b, NATIVE_LEAF, 50);
    put_row(&b, 2, &VALUES, (uint64_t[]){1, 0, 7, 80});
    judge(&b, NULL);
    begin(&b); /* hardly any time */
    put_samples(&b, 1, 29);
    put_row(&b, 2, &VALUES, (uint64_t[]){1, 0, 7, 80});
    judge(&b, NULL);
}

static void callees_without_a_frame_are_told_by_the_code(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    begin(&b); /* in the method itself */
    put_samples(&b, 1, 50);
    put_row(&b, 4, &CALLEES, (uint64_t[]){1, TABLES_CALLEE_LINQ});
    judge(&b, "LINQ itself (not what the program does inside of it), called by Shop.Till.Sum");
    begin(&b); /* and in the runtime below it */
    put_samples(&b, NATIVE_LEAF, 50);
    put_row(&b, 4, &CALLEES, (uint64_t[]){1, TABLES_CALLEE_CONCAT});
    judge(&b, "50 % of the CPU time (0.50 of 1.00 processors) goes into putting strings together");
    begin(&b); /* hardly any time */
    put_samples(&b, 1, 29);
    put_row(&b, 4, &CALLEES, (uint64_t[]){1, TABLES_CALLEE_CONCAT});
    judge(&b, NULL);
    begin(&b); /* another frame has it */
    put_samples(&b, 1, 80);
    put_row(&b, 4, &CALLEES, (uint64_t[]){3, TABLES_CALLEE_CONCAT});
    judge(&b, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_that_box_and_copy_are_known),
        cmocka_unit_test(only_the_statement_itself_is_read),
        cmocka_unit_test(boxes_are_told_by_their_objects),
        cmocka_unit_test(copies_are_told_by_the_code),
        cmocka_unit_test(callees_without_a_frame_are_told_by_the_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
