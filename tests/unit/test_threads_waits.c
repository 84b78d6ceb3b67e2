/* Who can end a wait, over objects that are made here: a ReaderWriterLockSlim and its
 * readers, tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/threads_waited.h"
#include "base/memory.h"

enum {
    THREADS = 3,
    FIELDS = 8,
    LINKS = 8,
    LOCK = 0x1000,
    COUNTS = 0x2000,
    LOCK_NUMBER = 7,
    TASK = 0x3000
};

/* Stack 1 stands in TryEnterWriteLock. */
typedef struct {
    model m;
    model_process process;
    model_frame frames[1];
    model_function functions[1];
    uint32_t stack_parents[2], stack_frames[2];
    threads_view view;
    waited w;
} fixture;

static uint32_t text(fixture *f, const char *value)
{
    uint32_t index;

    assert_true(strings_add_text(&f->m.strings, value, &index));
    return index;
}

static void put_field(fixture *f, uint64_t object, const char *name, uint64_t value)
{
    assert_true(f->w.field_count < FIELDS);
    f->w.fields[f->w.field_count++] = (waited_field){object, value, text(f, name)};
}

static void put_link(fixture *f, uint64_t object, size_t entry, uint64_t role)
{
    assert_true(f->w.link_count < LINKS);
    f->w.links[f->w.link_count++] = (waited_link){object, entry, role, 0};
}

static void open_fixture(fixture *f)
{
    memset(f, 0, sizeof *f);
    assert_true(strings_init(&f->m.strings));
    f->functions[0].name = text(f, "System.Threading.ReaderWriterLockSlim.TryEnterWriteLockCore");
    f->process.frames = f->frames;
    f->process.functions = f->functions;
    f->process.stack_parents = f->stack_parents;
    f->process.stack_frames = f->stack_frames;
    f->view.model = &f->m;
    f->view.process = &f->process;
    f->view.entries = memory_allocate_array(THREADS, sizeof *f->view.entries);
    assert_non_null(f->view.entries);
    f->view.count = THREADS;
    for (size_t i = 0; i < THREADS; i++) {
        f->view.entries[i].os_id = 100 + i;
        f->view.entries[i].managed_id = 10 + i;
    }
    f->w.view = &f->view;
    f->w.fields = memory_allocate_array(FIELDS, sizeof *f->w.fields);
    f->w.links = memory_allocate_array(LINKS, sizeof *f->w.links);
    assert_true(f->w.fields != NULL && f->w.links != NULL);
    table_u64_init(&f->w.types);
    table_u64_init(&f->w.entries);
    assert_true(table_u64_put(&f->w.types, LOCK,
                              text(f, "System.Threading.ReaderWriterLockSlim") + (uint64_t)1));
}

static void close_fixture(fixture *f)
{
    waited_free(&f->w);
    threads_free(&f->view);
    strings_free(&f->m.strings);
}

/* Thread 0 waits to write. It has the lock upgradeable and reads under it too, as thread 2 does. */
static void test_a_writer_that_reads_waits_for_the_other_readers(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f);
    f.view.entries[0].state = THREADS_READER_WRITER;
    f.view.entries[0].stack = 1;
    put_field(&f, LOCK, "_lockID", LOCK_NUMBER);
    put_field(&f, LOCK, "_writeLockOwnerId", UINT32_MAX);
    put_field(&f, LOCK, "_upgradeLockOwnerId", 10);
    put_link(&f, LOCK, 0, WAITED_FOR);
    for (size_t i = 0; i < THREADS; i += 2) {
        put_field(&f, COUNTS + i, "lockID", LOCK_NUMBER);
        put_field(&f, COUNTS + i, "readercount", 1);
        put_link(&f, COUNTS + i, i, WAITED_READS);
    }
    waited_explain_reader_writer(&f.w, 0);
    assert_false(f.w.failed);
    assert_int_equal(f.view.entries[0].object, LOCK);
    assert_int_equal(f.view.entries[0].owner, 102);
    assert_int_equal(f.view.edge_count, 1);
    assert_int_equal(f.view.edges[0].from, 0);
    assert_int_equal(f.view.edges[0].to, 2);
    close_fixture(&f);
}

/* Thread 1 runs a task, thread 0 waits for it: in Task.WaitAny, or not. */
static size_t edges_to_a_task(const char *method)
{
    fixture f;
    size_t edges;

    open_fixture(&f);
    f.functions[0].name = text(&f, method);
    f.view.entries[0].state = THREADS_TASK;
    f.view.entries[0].stack = 1;
    put_field(&f, TASK, "m_stateFlags", 1);
    put_link(&f, TASK, 0, WAITED_FOR);
    put_link(&f, TASK, 1, WAITED_RUNS);
    waited_explain_task(&f.w, 0);
    assert_false(f.w.failed);
    assert_int_equal(f.view.entries[0].object, TASK);
    edges = f.view.edge_count;
    close_fixture(&f);
    return edges;
}

static void test_one_of_several_tasks_holds_nobody_up(void **state)
{
    (void)state;
    assert_int_equal(edges_to_a_task("System.Threading.Tasks.Task.Wait"), 1);
    assert_int_equal(edges_to_a_task("System.Threading.Tasks.Task.WaitAnyCore"), 0);
}

/* A worker has the task that it runs at hand. It waits for that only when its event hangs on it. */
static void test_a_task_that_is_run_is_not_what_is_waited_for(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f);
    f.functions[0].name = text(&f, "System.Threading.Tasks.Task.Wait");
    f.view.entries[0].state = THREADS_TASK;
    f.view.entries[0].stack = 1;
    put_field(&f, TASK, "m_stateFlags", 1);
    put_link(&f, TASK, 0, WAITED_FOR);
    put_link(&f, TASK, 0, WAITED_RUNS);
    waited_explain_task(&f.w, 0);
    assert_int_equal(f.view.entries[0].object, 0);
    assert_int_equal(f.view.edge_count, 0);
    put_field(&f, TASK, "m_continuationObject", TASK + 1);
    assert_true(
        table_u64_put(&f.w.types, TASK + 1,
                      text(&f, "System.Threading.Tasks.Task.SetOnInvokeMres") + (uint64_t)1));
    waited_explain_task(&f.w, 0);
    assert_int_equal(f.view.entries[0].object, TASK);
    assert_int_equal(f.view.edge_count, 1); /* to itself */
    close_fixture(&f);
}

/* Thread 0 holds one lock and waits for the other, that thread 1 has: both are on its stack. */
static void test_a_lock_that_is_held_is_not_what_is_waited_for(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f);
    f.view.entries[0].state = THREADS_LOCK;
    for (uint64_t i = 0; i < 2; i++) {
        assert_true(
            table_u64_put(&f.w.types, COUNTS + i, text(&f, "System.Threading.Lock") + (uint64_t)1));
        assert_true(table_u64_put(&f.w.entries, 100 + i, i + 1));
        put_field(&f, COUNTS + i, "_state", 1);
        put_field(&f, COUNTS + i, "_owningThreadId", 100 + i);
        put_link(&f, COUNTS + i, 0, WAITED_FOR);
    }
    waited_explain_lock(&f.w, 0);
    assert_int_equal(f.view.entries[0].object, COUNTS + 1);
    assert_int_equal(f.view.entries[0].owner, 101);
    assert_int_equal(f.view.edge_count, 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lock_that_is_held_is_not_what_is_waited_for),
        cmocka_unit_test(test_a_task_that_is_run_is_not_what_is_waited_for),
        cmocka_unit_test(test_one_of_several_tasks_holds_nobody_up),
        cmocka_unit_test(test_a_writer_that_reads_waits_for_the_other_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
