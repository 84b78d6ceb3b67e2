/* Unit tests of what `clarinet top` says: requests put together, vital signs, the views' lists, and
 * that each table is summarised once however many want it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/top_screen.h"
#include "recording/encode.h"
#include "recording/file.h"
#include "recording/tables.h"

enum { MS = 1000000, SECONDS = 2 };
enum { PAY = 1, LIST, BANK_PAY, BANK_ASK, SHOP_GATE, SHOP_ERROR, SHOP, SHOP_ENTER };
enum { SERVED = 0, MADE = 1, DONE = 0, FAILED = 1, RUNNING = 2 };
enum { REQUESTS_TABLE = 1, EXCEPTIONS_TABLE, WAITS_TABLE, COLLECTIONS_TABLE };

static const recording_column REQUEST_COLUMNS[] = {TABLES_REQUESTS(TABLES_COLUMN)};
static const recording_column EXCEPTION_COLUMNS[] = {TABLES_EXCEPTIONS(TABLES_COLUMN)};
static const recording_column WAIT_COLUMNS[] = {TABLES_WAITS(TABLES_COLUMN)};
static const recording_column COLLECTION_COLUMNS[] = {TABLES_COLLECTIONS(TABLES_COLUMN)};

#define COUNT_OF(columns) (sizeof(columns) / sizeof *(columns))

static const recording_table TABLES[] = {
    {"requests", "http", REQUEST_COLUMNS, COUNT_OF(REQUEST_COLUMNS)},
    {"exceptions", "exceptions", EXCEPTION_COLUMNS, COUNT_OF(EXCEPTION_COLUMNS)},
    {"waits", "contention", WAIT_COLUMNS, COUNT_OF(WAIT_COLUMNS)},
    {"collections", "gc", COLLECTION_COLUMNS, COUNT_OF(COLLECTION_COLUMNS)},
};

static void put_row(buffer *b, uint64_t table, const uint64_t *cells)
{
    recording_rows rows;

    recording_rows_begin(&rows, b, 0, table, &TABLES[table - 1]);
    for (size_t i = 0; i < TABLES[table - 1].column_count; i++)
        recording_rows_put(&rows, cells[i]);
    assert_true(recording_rows_end(&rows));
}

static void put_request(buffer *b, uint64_t kind, uint64_t name, uint64_t status, uint64_t ms,
                        uint64_t state, uint64_t id)
{
    enum { TABLES_REQUESTS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[KIND] = kind,      [NAME] = name,   [STATUS] = status,
                               [WEIGHT] = ms * MS, [STATE] = state, [ID] = id};

    put_row(b, REQUESTS_TABLE, cells);
}

/* 4 served and 3 made are over, one of each is under way. */
static void put_requests(buffer *b)
{
    put_request(b, SERVED, PAY, 200, 40, DONE, 1);
    put_request(b, SERVED, PAY, 500, 60, DONE, 2);
    put_request(b, SERVED, LIST, 404, 5, DONE, 3);
    put_request(b, SERVED, LIST, 200, 7, DONE, 4);
    put_request(b, SERVED, PAY, 0, 30, RUNNING, 5);
    put_request(b, SERVED, PAY, 0, 90, RUNNING, 5); /* the same a look later */
    put_request(b, MADE, BANK_PAY, 200, 20, DONE, 6);
    put_request(b, MADE, BANK_PAY, 0, 10, FAILED, 7);
    put_request(b, MADE, BANK_ASK, 200, 1, DONE, 8);
    put_request(b, MADE, BANK_ASK, 0, 300, RUNNING, 9);
    put_request(b, MADE, BANK_ASK, 0, 2, RUNNING, 8); /* over, as a row before says */
}

static void put_exceptions(buffer *b)
{
    enum { TABLES_EXCEPTIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[TYPE] = SHOP_ERROR, [COUNT] = 3};

    put_row(b, EXCEPTIONS_TABLE, cells);
    cells[COUNT] = 5;
    put_row(b, EXCEPTIONS_TABLE, cells);
}

static void put_waits(buffer *b)
{
    enum { TABLES_WAITS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[STACK] = 1, [TYPE] = SHOP_GATE, [WEIGHT] = 150 * MS, [COUNT] = 1};

    put_row(b, WAITS_TABLE, cells);
    cells[WEIGHT] = 50 * MS;
    put_row(b, WAITS_TABLE, cells);
}

static void put_collections(buffer *b)
{
    enum { TABLES_COLLECTIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[NUMBER] = 1, [GENERATION] = 2, [PAUSE] = 30 * MS};

    put_row(b, COLLECTIONS_TABLE, cells);
    cells[NUMBER] = 2;
    cells[PAUSE] = 10 * MS;
    put_row(b, COLLECTIONS_TABLE, cells);
}

/* Stack 1: one method. */
static void put_code(buffer *b)
{
    static const uint8_t MVID[16] = {1};
    recording_module module = {1, RECORDING_MODULE_MANAGED, SHOP, 0, MVID, 16, 0, 0};
    recording_method method = {1, 1, 0x06000001, SHOP_ENTER, 0, 0};
    size_t chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);

    recording_put_module(b, &module);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    recording_put_method(b, &method);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    recording_put_frame(b, 1, RECORDING_FRAME_MANAGED, 1, 0);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    recording_put_stack(b, 1, 0, 1);
    recording_end_chunk(b, chunk);
}

static void load(model *m, bool with_rows)
{
    static const char *const TEXTS[] = {
        "GET /pay",   "GET /list", "http://bank:80/pay", "http://bank:80/ask", "Shop.Gate",
        "Shop.Error", "Shop",      "Shop.Till.Enter"};
    recording_file *file = NULL;
    buffer b = BUFFER_EMPTY;
    size_t chunk;

    recording_put_file_header(&b);
    chunk = recording_begin_chunk(&b, RECORDING_STRING, 0);
    for (size_t i = 0; i < COUNT_OF(TEXTS); i++)
        recording_put_string(&b, i + 1, TEXTS[i], strlen(TEXTS[i]));
    recording_end_chunk(&b, chunk);
    put_code(&b);
    if (with_rows) {
        chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
        for (size_t i = 0; i < COUNT_OF(TABLES); i++)
            recording_put_table(&b, i + 1, &TABLES[i]);
        recording_end_chunk(&b, chunk);
        put_requests(&b);
        put_exceptions(&b);
        put_waits(&b);
        put_collections(&b);
    }
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
}

static const top_view *view_of(const char *title)
{
    const top_view *view = TOP_VIEWS;

    while (strcmp(view->title, title) != 0)
        view++;
    return view;
}

static void is_near(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-6);
}

static void is_row(const top_row *row, const char *label, double a, double b, double c, double d)
{
    const double values[TOP_VALUES] = {a, b, c, d};

    assert_string_equal(row->label, label);
    for (size_t i = 0; i < TOP_VALUES; i++)
        is_near(row->values[i], values[i]);
}

static void requests_are_put_together(void **state)
{
    const requests_side *side;
    requests x;
    model m;

    (void)state;
    load(&m, true);
    assert_int_equal(requests_summarise(&m, &m.processes[0],
                                        model_find_table(&m, &m.processes[0], "requests", "http"),
                                        &x, NULL),
                     0);
    side = &x.sides[REQUESTS_SERVED];
    assert_int_equal(side->all.lengths.count, 4);
    assert_int_equal(side->all.failures, 1);
    assert_int_equal(side->all.refused, 1);
    assert_int_equal(side->names.count, 2); /* most time first */
    assert_string_equal(side->names.items[0].name, "GET /pay");
    assert_int_equal(side->names.items[0].lengths.sum, 100 * MS);
    assert_int_equal(side->names.items[0].failures, 1);
    assert_int_equal(side->names.items[1].refused, 1);
    assert_int_equal(groups_spread_at(&side->names.items[1].lengths, 1), 7 * MS);
    assert_int_equal(side->hosts.count, 0);
    side = &x.sides[REQUESTS_MADE];
    assert_int_equal(side->all.lengths.count, 3);
    assert_int_equal(side->all.failures, 1); /* no answer */
    assert_int_equal(side->names.count, 2);
    assert_int_equal(side->hosts.count, 1);
    assert_int_equal(side->hosts.items[0].length, strlen("http://bank:80"));
    assert_int_equal(side->hosts.items[0].lengths.sum, 31 * MS);
    assert_int_equal(x.open_count,
                     2); /* oldest first; the last row of each is the one that holds */
    assert_int_equal(x.open[0].kind, REQUESTS_MADE);
    assert_int_equal(x.open[0].age_ns, 300 * MS);
    assert_int_equal(x.open[1].kind, REQUESTS_SERVED);
    assert_int_equal(x.open[1].age_ns, 90 * MS);
    requests_free(&x);
    model_free(&m);
}

static void vital_signs_are_rates(void **state)
{
    top_vitals v = {0};
    top_summary s;
    model m;

    (void)state;
    load(&m, true);
    top_summary_init(&s, &m, SECONDS);
    assert_int_equal(top_vitals_take(&s, &v, NULL), 0);
    is_near(v.served, 2);
    is_near(v.made, 1.5);
    is_near(v.exceptions, 4);
    is_near(v.waits, 1);
    is_near(v.blocked_percent, 10);
    is_near(v.collections, 1);
    is_near(v.paused_percent, 2);
    is_near(v.longest_pause, 30 * MS);
    top_summary_free(&s);
    model_free(&m);
}

static void fill(top_summary *s, const char *title, top_rows *rows)
{
    const top_view *view = view_of(title);

    assert_int_equal(view->fill(s, rows, NULL), 0);
    top_rows_arrange(rows, view, "", 0);
}

static void a_table_is_summarised_once(void **state)
{
    static const char *const TITLES[] = {"requests", "exceptions", "locks", "gc"};
    top_vitals v = {0};
    top_summary s;
    model m;

    (void)state;
    load(&m, true);
    top_summary_init(&s, &m, SECONDS);
    assert_int_equal(s.made, 0);
    for (size_t again = 0; again < 2; again++) {
        assert_int_equal(top_vitals_take(&s, &v, NULL), 0);
        for (size_t i = 0; i < COUNT_OF(TITLES); i++) {
            top_rows rows = {0};

            fill(&s, TITLES[i], &rows);
            assert_true(rows.count > 0);
            top_rows_free(&rows);
        }
        assert_int_equal(s.made, 4);
    }
    top_summary_free(&s);
    assert_int_equal(s.made, 0);
    model_free(&m);
}

static void a_view_lists_what_the_summary_has(void **state)
{
    top_rows rows = {0};
    top_summary s;
    model m;

    (void)state;
    load(&m, true);
    top_summary_init(&s, &m, SECONDS);
    fill(&s, "requests", &rows);
    assert_int_equal(s.made, 1);
    assert_int_equal(rows.count, 4);
    is_row(&rows.items[0], "GET /pay", 1, 0.5, 40 * MS, 60 * MS); /* as often as the next two */
    is_row(&rows.items[3], "http://bank:80/ask", 0.5, 0, MS, MS);
    top_rows_free(&rows);
    fill(&s, "gc", &rows);
    assert_int_equal(rows.count, 1);
    is_near(rows.items[0].values[0], 1);
    is_near(rows.items[0].values[2], 30 * MS);
    top_rows_free(&rows);
    fill(&s, "locks", &rows);
    assert_int_equal(rows.count, 1);
    is_row(&rows.items[0], "Shop.Gate in Shop.Till.Enter", 10, 1, 150 * MS, 0);
    top_rows_free(&rows);
    top_summary_free(&s);
    model_free(&m);
}

static void what_is_not_there_stays_unknown(void **state)
{
    top_vitals v = {.served = -1, .exceptions = -1};
    top_rows rows = {0};
    top_summary s;
    model m;

    (void)state;
    load(&m, false);
    top_summary_init(&s, &m, SECONDS);
    assert_int_equal(top_vitals_take(&s, &v, NULL), 0);
    assert_int_equal(s.made, 0);
    is_near(v.served, -1);
    is_near(v.exceptions, -1);
    if (s.process != NULL)
        fill(&s, "requests", &rows);
    assert_int_equal(rows.count, 0);
    top_rows_free(&rows);
    top_summary_free(&s);
    top_summary_free(&s); /* a zeroed one too */
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_put_together),
        cmocka_unit_test(vital_signs_are_rates),
        cmocka_unit_test(a_table_is_summarised_once),
        cmocka_unit_test(a_view_lists_what_the_summary_has),
        cmocka_unit_test(what_is_not_there_stays_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
