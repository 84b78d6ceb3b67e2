/* Unit tests of the known causes of a hot path, on frames as .NET 8.0, 9.0 and 10.0 have them: each
 * is told by its frames, and not for what the program does when it is called back from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/findings.h"
#include "recording/encode.h"

enum { MS = 1000000, SAMPLES = 100, MOST_FRAMES = 8 };
enum { SHOP = 1, CORE, LINQ, METADATA, HOST, MODULES = HOST };

static const char *const MODULE_NAMES[] = {"Shop", "System.Private.CoreLib", "System.Linq",
                                           "System.Reflection.Metadata", "Microsoft.Build"};

static const recording_column COLUMNS[] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_STACK_ID, "stack", ""},
    {RECORDING_DURATION, "weight", "ns"},
};
static const recording_table SAMPLED = {"samples", "cpu", COLUMNS, 3};

typedef struct {
    uint64_t module; /* 0 = made at run time */
    const char *name;
} frame;

static void put_modules(buffer *b)
{
    static const uint8_t MVID[16] = {1};
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (uint64_t i = 0; i < MODULES; i++)
        recording_put_string(b, i + 1, MODULE_NAMES[i], strlen(MODULE_NAMES[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);
    for (uint64_t i = 0; i < MODULES; i++) {
        recording_module module = {i + 1, RECORDING_MODULE_MANAGED, i + 1, 0, MVID, 16, 0, 0};

        recording_put_module(b, &module);
    }
    recording_end_chunk(b, chunk);
}

/* From the root to the leaf; the stack has the number `count`. */
static void put_stack(buffer *b, const frame *frames, size_t count)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (uint64_t i = 0; i < count; i++)
        recording_put_string(b, 100 + i, frames[i].name, strlen(frames[i].name));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    for (uint64_t i = 0; i < count; i++) {
        recording_method method = {i + 1, frames[i].module, 0x06000001 + i, 100 + i, 0, 0};

        recording_put_method(b, &method);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    for (uint64_t i = 0; i < count; i++)
        recording_put_frame(b, i + 1, RECORDING_FRAME_MANAGED, i + 1, 0);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    for (uint64_t i = 0; i < count; i++)
        recording_put_stack(b, i + 1, i, i + 1);
    recording_end_chunk(b, chunk);
}

static void put_samples(buffer *b, uint64_t stack)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(b, 1, &SAMPLED);
    recording_end_chunk(b, chunk);
    recording_rows_begin(&rows, b, 0, 1, &SAMPLED);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        recording_rows_put(&rows, i * 20 * MS);
        recording_rows_put(&rows, stack);
        recording_rows_put(&rows, UINT64_C(20) * MS);
    }
    assert_true(recording_rows_end(&rows));
    chunk = recording_begin_chunk(b, RECORDING_END, 0);
    recording_put_end(b, "duration", UINT64_C(20) * SAMPLES * MS);
    recording_end_chunk(b, chunk);
}

/* A processor is busy with one stack for two seconds: the finding says `words` and no other of the
 * causes. */
static void judge(const frame *frames, const char *words)
{
    recording_file *file = NULL;
    buffer b = BUFFER_EMPTY;
    size_t count = 0;
    findings found;
    model m;

    while (count < MOST_FRAMES && frames[count].name != NULL)
        count++;
    recording_put_file_header(&b);
    put_modules(&b);
    put_stack(&b, frames, count);
    put_samples(&b, count);
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, &m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
    assert_int_equal(findings_look(&m, NULL, &found, NULL), 0);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].id, "cpu-hot-path");
    if (strstr(found.items[0].statement, words) == NULL)
        fail_msg("'%s' does not say '%s'", found.items[0].statement, words);
    findings_free(&found);
    model_free(&m);
}

static void linq_is_told(void **state)
{
    static const frame EIGHT[MOST_FRAMES] = {
        {SHOP, "Shop.Orders.Best"},
        {LINQ, "System.Linq.Enumerable.Sum<long, long>"},
        {LINQ, "System.Linq.Enumerable.WhereSelectArrayIterator<int, long>.ToArray"},
        {CORE, "System.Collections.Generic.LargeArrayBuilder<long>.AllocateBuffer"},
    };
    static const frame TEN[MOST_FRAMES] = {
        {SHOP, "Shop.Orders.Best"},
        {LINQ, "System.Linq.Enumerable.SkipTakeOrderedIterator<long>.MoveNext"},
        {LINQ, "System.Linq.Enumerable.EnumerableSorter<long, long>.PartialQuickSort"},
    };
    static const frame CALLED_BACK[MOST_FRAMES] = {
        {SHOP, "Shop.Program.Main"},
        {LINQ, "System.Linq.Enumerable.ToArray<long>"},
        {SHOP, "Shop.Orders.Price"},
    };

    (void)state;
    judge(EIGHT, "goes into LINQ itself (not what the program does inside of it), called by "
                 "Shop.Orders.Best");
    judge(TEN, "goes into LINQ itself");
    judge(CALLED_BACK, "is spent in Shop.Orders.Price itself");
}

static void reflection_is_told(void **state)
{
    static const frame LOOKED_UP[MOST_FRAMES] = {
        {SHOP, "Shop.Mapper.Copy"},
        {CORE, "System.RuntimeType.GetPropertyImpl"},
        {CORE, "System.RuntimeType.GetPropertyCandidates"},
        {CORE, "System.Reflection.CerHashtable<K, V>.get_Item"},
    };
    static const frame CALLED[MOST_FRAMES] = {
        {SHOP, "Shop.Mapper.Copy"},
        {CORE, "System.Reflection.RuntimeMethodInfo.Invoke"},
        {CORE, "System.Reflection.MethodBaseInvoker.InvokeWithOneArg"},
        {0, "InvokeStub_Order.Get"},
    };
    static const frame PROGRAM[MOST_FRAMES] = {
        {CORE, "System.Reflection.MethodBaseInvoker.InvokeWithOneArg"},
        {HOST, "Microsoft.Build.Execute"},
        {CORE, "System.String.Replace"},
    };
    static const frame METADATA_READ[MOST_FRAMES] = {
        {SHOP, "Shop.Tool.List"},
        {METADATA, "System.Reflection.Metadata.MetadataReader.GetTypeDefinition"},
    };
    static const frame EMITTED[MOST_FRAMES] = {
        {SHOP, "Shop.Tool.Write"},
        {CORE, "System.Reflection.Emit.RuntimeILGenerator.Emit"},
    };

    (void)state;
    judge(LOOKED_UP, "goes into reflection, called by Shop.Mapper.Copy");
    judge(CALLED, "goes into reflection, called by Shop.Mapper.Copy");
    judge(PROGRAM, "is spent in System.String.Replace itself");
    judge(METADATA_READ, "is spent in System.Reflection.Metadata.MetadataReader");
    judge(EMITTED, "is spent in System.Reflection.Emit.RuntimeILGenerator.Emit itself");
}

static void causes_that_were_known_stay(void **state)
{
    static const frame MATCHING[MOST_FRAMES] = {
        {SHOP, "Shop.Customers.IsAddress"},
        {CORE, "System.Text.RegularExpressions.Regex.IsMatch"},
        {0, "Regex1_TryMatchAtCurrentPosition"},
    };
    static const frame JOINING[MOST_FRAMES] = {
        {SHOP, "Shop.List.Write"},
        {CORE, "System.String.Concat"},
    };

    (void)state;
    judge(MATCHING, "goes into matching regular expressions, called by Shop.Customers.IsAddress");
    judge(JOINING, "goes into putting strings together, called by Shop.List.Write");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linq_is_told),
        cmocka_unit_test(reflection_is_told),
        cmocka_unit_test(causes_that_were_known_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
