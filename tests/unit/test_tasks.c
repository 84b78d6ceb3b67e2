/* Unit tests of the chains of tasks: a small heap whose answers are known, and damaged input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/tasks.h"
#include "analysis/threads.h"
#include "recording/encode.h"

enum { TASK, BOX, KEEPER, TYPES };
/* places of fields, the same in both classes */
enum { CONTINUATION = 8, FLAGS = 16, STATE = 20, AWAITED = 24 };
enum { PROMISE = 0x02000400, ASYNC = 0x02000c00, DONE = 0x01000000 };

static const char *NAMES[] = {"System.Threading.Tasks.Task",
                              "Box<Shop.<PlaceAsync>d__1>",
                              "Shop.Keeper",
                              "m_continuationObject",
                              "m_stateFlags",
                              "StateMachine.<>1__state",
                              "StateMachine.<>u__1"};
enum { NAME_CONTINUATION = 4, NAME_FLAGS, NAME_STATE, NAME_AWAITED, NAME_COUNT };

static const recording_column TYPE_COLUMNS[] = {{RECORDING_U64, "number", ""},
                                                {RECORDING_U64, "class", ""},
                                                {RECORDING_U64, "size", "bytes"},
                                                {RECORDING_STRING_ID, "name", ""}};
static const recording_column FIELD_COLUMNS[] = {
    {RECORDING_U64, "type", ""}, {RECORDING_U64, "place", ""}, {RECORDING_STRING_ID, "name", ""}};
static const recording_table TABLES[] = {{"heap_types", "heap", TYPE_COLUMNS, 4},
                                         {"heap_fields", "heap", FIELD_COLUMNS, 3},
                                         {"heap_values", "heap", FIELD_COLUMNS, 3}};

/* Two chains: a promise that only the waiters know, awaited by a method in its second await, which
 * is awaited by one in its first; and a promise that a keeper knows, awaited by one method. A task
 * that is done. */
typedef struct {
    uint64_t address;
    unsigned type;
    uint32_t flags, state;
    uint64_t continuation, awaited; /* of a keeper: two references */
} object;

static const object OBJECTS[] = {
    {0x1000, TASK, PROMISE, 0, 0x1100, 0},  {0x1100, BOX, ASYNC, 1, 0x1200, 0x1000},
    {0x1200, BOX, ASYNC, 0, 0, 0x1100},     {0x1300, TASK, PROMISE, 0, 0x1400, 0},
    {0x1400, BOX, ASYNC, 0, 0, 0x1300},     {0x1500, TASK, DONE, 0, 0, 0},
    {0x1600, KEEPER, 0, 0, 0x1200, 0x1300},
};
enum { COUNT = sizeof OBJECTS / sizeof *OBJECTS };

/* Two methods that await each other; one that awaits itself; three calls of one method, each
 * awaited by the next, above a promise. */
static const object RINGS[] = {
    {0x1000, BOX, ASYNC, 1, 0x1100, 0}, {0x1100, BOX, ASYNC, 2, 0x1000, 0},
    {0x1200, BOX, ASYNC, 3, 0x1200, 0}, {0x1300, TASK, PROMISE, 0, 0x1400, 0},
    {0x1400, BOX, ASYNC, 0, 0x1500, 0}, {0x1500, BOX, ASYNC, 0, 0x1600, 0},
    {0x1600, BOX, ASYNC, 0, 0, 0x1500},
};
_Static_assert(sizeof RINGS == sizeof OBJECTS, "as many of these");
static const object *objects = OBJECTS;

static void put_rows(buffer *b, unsigned table, const uint64_t (*cells)[4], size_t count)
{
    recording_rows rows;

    recording_rows_begin(&rows, b, 0, table + 1, &TABLES[table]);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < TABLES[table].column_count; k++)
            recording_rows_put(&rows, cells[i][k]);
    recording_rows_end(&rows);
}

static void put_tables(buffer *b)
{
    static const uint64_t TYPE_ROWS[][4] = {{TASK, 1, 64, 1}, {BOX, 2, 64, 2}, {KEEPER, 3, 32, 3}};
    static const uint64_t FIELD_ROWS[][4] = {{BOX, AWAITED, NAME_AWAITED, 0},
                                             {BOX, CONTINUATION, NAME_CONTINUATION, 0},
                                             {TASK, CONTINUATION, NAME_CONTINUATION, 0}};
    static const uint64_t VALUE_ROWS[][4] = {{TASK, CONTINUATION, NAME_CONTINUATION, 0},
                                             {TASK, FLAGS, NAME_FLAGS, 0},
                                             {BOX, CONTINUATION, NAME_CONTINUATION, 0},
                                             {BOX, FLAGS, NAME_FLAGS, 0},
                                             {BOX, STATE, NAME_STATE, 0},
                                             {BOX, AWAITED, NAME_AWAITED, 0}};
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (unsigned i = 0; i + 1 < NAME_COUNT; i++)
        recording_put_string(b, i + 1, NAMES[i], strlen(NAMES[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    for (unsigned i = 0; i < 3; i++)
        recording_put_table(b, i + 1, &TABLES[i]);
    recording_end_chunk(b, chunk);
    put_rows(b, 0, TYPE_ROWS, 3);
    put_rows(b, 1, FIELD_ROWS, 3);
    put_rows(b, 2, VALUE_ROWS, 6);
}

/* A shape of its own for each object. Returns the references. */
static uint64_t put_object(buffer *b, const object *o, size_t number, uint64_t previous)
{
    uint64_t places[2], targets[2], count = 0;

    if (o->continuation != 0) {
        places[count] = CONTINUATION / 8;
        targets[count++] = o->continuation;
    }
    if (o->awaited != 0) {
        places[count] = AWAITED / 8;
        targets[count++] = o->awaited;
    }
    buffer_append_zigzag(b, (int64_t)(o->address - previous) / 8);
    if (number == 0) {
        buffer_append_varint(b, 0);
        buffer_append_varint(b, 2); /* the oldest generation */
    }
    buffer_append_varint(b, number + 1);
    buffer_append_varint(b, o->type);
    buffer_append_varint(b, o->type == KEEPER ? 0 : RECORDING_SHAPE_VALUES);
    buffer_append_varint(b, count);
    for (uint64_t i = 0; i < count; i++)
        buffer_append_zigzag(b, (int64_t)(places[i] - (i == 0 ? 0 : places[i - 1])));
    for (uint64_t i = 0; i < count; i++)
        buffer_append_zigzag(b, (int64_t)(targets[i] - o->address) / 8);
    if (o->type == KEEPER)
        return count;
    buffer_append_varint(b, o->continuation != 0 ? 2 : 4); /* words without references */
    if (o->continuation == 0) {
        buffer_append_varint(b, 0);
        buffer_append_varint(b, 0);
    }
    buffer_append_varint(b, o->flags);
    buffer_append_varint(b, o->state);
    buffer_append_varint(b, 0); /* no state machine apart */
    return count;
}

static void put_root(buffer *b, uint64_t kind, uint64_t address, uint64_t id)
{
    buffer_append_varint(b, kind);
    buffer_append_varint(b, 0);
    buffer_append_varint(b, address);
    buffer_append_varint(b, id);
}

/* The promise that only the waiters know has further roots, of these kinds. */
static void put_snapshot_with(buffer *b, const uint64_t *kinds, size_t kind_count)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_HEAP, 0);
    uint64_t references = 0;

    buffer_append_varint(b, RECORDING_HEAP_OBJECTS);
    buffer_append_varint(b, 1);
    for (size_t i = 0; i < COUNT; i++)
        references += put_object(b, &objects[i], i, i == 0 ? 0 : objects[i - 1].address);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_HEAP, 0);
    buffer_append_varint(b, RECORDING_HEAP_ROOTS);
    buffer_append_varint(b, 1);
    for (size_t i = 4; i < COUNT; i++) /* the last box, the task that is done, the keeper */
        put_root(b, RECORDING_ROOT_HANDLE, objects[i].address, 0x500 + i);
    for (size_t i = 0; i < kind_count; i++)
        put_root(b, kinds[i], objects[0].address, 0x600 + i);
    recording_end_chunk(b, chunk);
    put_tables(b);
    chunk = recording_begin_chunk(b, RECORDING_HEAP, 0);
    buffer_append_varint(b, RECORDING_HEAP_END);
    buffer_append_varint(b, 1);
    buffer_append_varint(b, 0);
    buffer_append_varint(b, COUNT);
    buffer_append_varint(b, references);
    buffer_append_varint(b, 3 + kind_count);
    buffer_append_varint(b, 1000);
    buffer_append_varint(b, 2000);
    buffer_append_blob(b, "", 0);
    recording_end_chunk(b, chunk);
}

static void put_snapshot(buffer *b)
{
    put_snapshot_with(b, NULL, 0);
}

static int load(const buffer *b, size_t length, model *m, error *e)
{
    recording_file *file = NULL;
    int code = recording_file_open_bytes(b->data, length, &file, e);

    if (code == 0)
        code = model_load(file, 64 << 20, m, e);
    recording_file_close(file);
    return code;
}

static const tasks_group *group_of(const tasks_view *v, size_t steps)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].count == steps)
            return &v->groups[i];
    fail_msg("no chain of %zu methods", steps);
    return NULL;
}

static void tasks_are_chained(void **state)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};
    const tasks_group *g;
    tasks_view view, before;
    model m;
    heap h;

    (void)state;
    recording_put_file_header(&b);
    put_snapshot(&b);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(heap_open(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(tasks_make(&h, &view, &e), 0);
    assert_int_equal(view.incomplete, 5);
    assert_int_equal(view.complete, 1);
    assert_int_equal(view.group_count, 2);
    g = group_of(&view, 2);
    assert_int_equal(g->wait, TASKS_PROMISE);
    assert_int_equal(g->chains, 1);
    assert_int_equal(g->lost, 1);
    assert_int_equal(g->end, TASKS_NOBODY);
    assert_int_equal(view.steps[g->first].state, 1);
    assert_int_equal(view.steps[g->first + 1].state, 0);
    g = group_of(&view, 1);
    assert_int_equal(g->wait, TASKS_PROMISE);
    assert_int_equal(g->lost, 0);
    assert_false(view.was_compared);
    assert_int_equal(tasks_make(&h, &before, &e), 0);
    tasks_compare(&view, &before);
    assert_int_equal(group_of(&view, 1)->stuck, 1);
    assert_int_equal(group_of(&view, 2)->stuck, 1);
    tasks_free(&before);
    tasks_free(&view);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

static const tasks_group *group_of_state(const tasks_view *v, int32_t state)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->steps[v->groups[i].first].state == state)
            return &v->groups[i];
    fail_msg("no chain that begins in the await %d", (int)state);
    return NULL;
}

static const tasks_group *group_with_ring(const tasks_view *v, size_t ring)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i].ring == ring)
            return &v->groups[i];
    fail_msg("no ring of %zu methods", ring);
    return NULL;
}

static void read_rings(const char *box, void (*check)(const tasks_view *))
{
    const char *usual = NAMES[BOX];
    buffer b = BUFFER_EMPTY;
    error e = {0};
    uint64_t tasks = 0;
    tasks_view view;
    model m;
    heap h;

    objects = RINGS;
    NAMES[BOX] = box;
    recording_put_file_header(&b);
    put_snapshot(&b);
    objects = OBJECTS;
    NAMES[BOX] = usual;
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(heap_open(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(tasks_make(&h, &view, &e), 0);
    assert_int_equal(view.incomplete, COUNT);
    for (size_t i = 0; i < view.group_count; i++)
        tasks += view.groups[i].tasks;
    assert_int_equal(tasks, view.incomplete);
    check(&view);
    tasks_free(&view);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

static void check_rings(const tasks_view *v)
{
    const tasks_group *g = group_with_ring(v, 2);

    assert_int_equal(v->rings, 2);
    assert_int_equal(v->group_count, 3);
    assert_int_equal(g->wait, TASKS_CYCLE);
    assert_int_equal(g->end, TASKS_ONE_ANOTHER);
    assert_int_equal(g->ring, 2);
    assert_int_equal(g->count, 2);
    assert_int_equal(v->steps[g->first].state + v->steps[g->first + 1].state, 3);
    g = group_of_state(v, 3);
    assert_int_equal(g->wait, TASKS_CYCLE);
    assert_int_equal(g->ring, 1);
    assert_int_equal(g->count, 1);
    assert_int_equal(v->steps[g->first].times, 1);
    g = group_of_state(v, 0);
    assert_int_equal(g->wait, TASKS_PROMISE);
    assert_int_equal(g->ring, 0);
    assert_int_equal(g->count, 1);
    assert_int_equal(g->tasks, 4);
    assert_int_equal(v->steps[g->first].times, 3);
}

/* What can go on in another way is no deadlock, and not left out all the same. */
static void check_no_rings(const tasks_view *v)
{
    assert_int_equal(v->rings, 0);
    for (size_t i = 0; i < v->group_count; i++)
        assert_int_not_equal(v->groups[i].wait, TASKS_CYCLE);
}

static void tasks_that_await_each_other_are_a_ring(void **state)
{
    (void)state;
    read_rings("Box<Shop.<PlaceAsync>d__1>", check_rings);
    read_rings("System.Threading.Tasks.TaskFactory.CompleteOnInvokePromise", check_no_rings);
}

static uint64_t lost_with(const uint64_t *kinds, size_t kind_count)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};
    uint64_t lost;
    tasks_view view;
    model m;
    heap h;

    recording_put_file_header(&b);
    put_snapshot_with(&b, kinds, kind_count);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(heap_open(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(tasks_make(&h, &view, &e), 0);
    lost = group_of(&view, 2)->lost;
    tasks_free(&view);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
    return lost;
}

/* A method that still has the task at hand cannot complete it; who keeps it elsewhere might. */
static void a_task_on_a_stack_is_lost_all_the_same(void **state)
{
    static const uint64_t STACKS[] = {RECORDING_ROOT_STACK, RECORDING_ROOT_STACK};
    static const uint64_t BOTH[] = {RECORDING_ROOT_STACK, RECORDING_ROOT_HANDLE};

    (void)state;
    assert_int_equal(lost_with(NULL, 0), 1);
    assert_int_equal(lost_with(STACKS, 2), 1);
    assert_int_equal(lost_with(BOTH, 2), 0);
    assert_int_equal(lost_with(BOTH + 1, 1), 0);
}

static void read_with_task(const char *name, tasks_wait expected)
{
    const char *usual = NAMES[TASK];
    buffer b = BUFFER_EMPTY;
    error e = {0};
    tasks_view view;
    model m;
    heap h;

    NAMES[TASK] = name;
    recording_put_file_header(&b);
    put_snapshot(&b);
    NAMES[TASK] = usual;
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(heap_open(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(tasks_make(&h, &view, &e), 0);
    assert_int_equal(group_of(&view, 2)->wait, expected);
    assert_int_equal(group_of(&view, 1)->wait, expected);
    tasks_free(&view);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

/* Task.Delay that has no timer. */
static void a_delay_without_end_waits_for_its_token(void **state)
{
    (void)state;
    read_with_task("System.Threading.Tasks.Task.DelayPromiseWithCancellation", TASKS_CANCELLATION);
    read_with_task("System.Threading.Tasks.Task.DelayPromise", TASKS_TIMER);
}

/* A thread that blocks, a method that awaits, and what is no object are waits of somebody. */
static void a_task_that_nobody_awaits_is_called_so(void **state)
{
    (void)state;
    assert_true(tasks_is_unawaited(&(tasks_group){.wait = TASKS_PROMISE}));
    assert_false(tasks_is_unawaited(&(tasks_group){.wait = TASKS_PROMISE, .end = TASKS_THREAD}));
    assert_false(tasks_is_unawaited(&(tasks_group){.wait = TASKS_PROMISE, .count = 1}));
    assert_false(tasks_is_unawaited(&(tasks_group){.wait = TASKS_QUEUED}));
}

/* Every byte changed in turn, and every length: an answer or an error, never more. */
static void damage_is_survived(void **state)
{
    buffer b = BUFFER_EMPTY;
    size_t made = 0;

    (void)state;
    recording_put_file_header(&b);
    put_snapshot(&b);
    for (size_t i = 0; i < 2 * b.length; i++) {
        size_t length = i < b.length ? i : b.length;
        tasks_view view;
        error e = {0};
        model m;
        heap h;

        if (i >= b.length)
            b.data[i - b.length] ^= 0x41;
        if (load(&b, length, &m, &e) == 0) {
            const model_process *p = heap_find(&m);

            if (p != NULL && heap_open(&m, p, &h, &e) == 0) {
                if (tasks_make(&h, &view, &e) == 0)
                    tasks_free(&view);
                heap_free(&h);
                made++;
            }
            model_free(&m);
        }
        if (i >= b.length)
            b.data[i - b.length] ^= 0x41;
    }
    assert_true(made > 0);
    buffer_free(&b);
}

static void a_pool_is_starved_when_all_but_one_block(void **state)
{
    (void)state;
    assert_true(threads_pool_is_starved(&(threads_pool){.workers = 16, .blocked = 16}));
    assert_true(threads_pool_is_starved(&(threads_pool){.workers = 4, .blocked = 3}));
    assert_false(threads_pool_is_starved(&(threads_pool){.workers = 5, .blocked = 3}));
    assert_false(threads_pool_is_starved(&(threads_pool){.workers = 2, .blocked = 2}));
    assert_false(threads_pool_is_starved(&(threads_pool){.workers = 5, .blocked = 4, .idle = 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_chained),
        cmocka_unit_test(tasks_that_await_each_other_are_a_ring),
        cmocka_unit_test(a_task_on_a_stack_is_lost_all_the_same),
        cmocka_unit_test(a_delay_without_end_waits_for_its_token),
        cmocka_unit_test(a_task_that_nobody_awaits_is_called_so),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(a_pool_is_starved_when_all_but_one_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
