/* gc_collections: the runtime's events put together to collections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clr/gc_collections.h"

enum { GC_THREAD = 9, INDUCED = 1, BACKGROUND_PREPARES = 6, ALICE = 1, BOB = 2 };

static gc_collections g;
static uint64_t now;

static int begin(void **unused)
{
    (void)unused;
    g = (gc_collections){0};
    now = 0;
    return 0;
}

/* An event of up to 4 numbers, 10 after the one before. */
static void tell(uint32_t id, uint64_t thread, uint32_t stack, uint32_t a, uint32_t b, uint32_t c,
                 uint32_t d)
{
    uint32_t words[] = {a, b, c, d};
    gc_event event = {now += 10, thread, id, stack, reader_of(words, sizeof words)};

    assert_true(gc_collections_want(id));
    gc_collections_take(&g, &event);
}

static void suspend(uint64_t thread, uint32_t reason, uint32_t count)
{
    tell(GC_EVENT_SUSPEND_BEGIN, thread, 0, reason, count, 0, 0);
    tell(GC_EVENT_SUSPEND_END, thread, 0, 0, 0, 0, 0);
}

static void restart(void)
{
    tell(GC_EVENT_RESTART_END, GC_THREAD, 0, 0, 0, 0, 0);
}

static void start(uint64_t thread, uint32_t number, uint32_t generation, uint32_t kind)
{
    tell(GC_EVENT_START, thread, 0, number, generation, INDUCED, kind);
}

static void end(uint32_t number)
{
    tell(GC_EVENT_END, GC_THREAD, 0, number, 0, 0, 0);
    tell(GC_EVENT_HEAP_STATS, GC_THREAD, 0, 0, 0, 0, 0);
}

static void assert_next(uint64_t number, uint64_t kind, uint64_t pause, uint64_t stack)
{
    const uint64_t *cells = gc_collections_next(&g, false);

    assert_non_null(cells);
    assert_int_equal(cells[GC_CELL_NUMBER], number);
    assert_int_equal(cells[GC_CELL_KIND], kind);
    assert_int_equal(cells[GC_CELL_PAUSE], pause);
    assert_int_equal(cells[GC_CELL_STACK], stack);
}

static void assert_none(void)
{
    assert_null(gc_collections_next(&g, false));
    assert_int_equal(g.lost, 0);
}

static void a_region_that_has_room_is_a_collection(void **unused)
{
    (void)unused;
    for (uint32_t i = 1; i <= 2; i++) { /* the event's count stays behind */
        suspend(ALICE, GC_SUSPEND_COLLECTION, 6);
        tell(GC_EVENT_TRIGGERED, ALICE, 70 + i, INDUCED, 0, 0, 0);
        assert_none();
        restart();
        assert_next(6 + i, GC_KIND_NOTHING, 30, 70 + i);
        assert_none();
    }
    /* Server GC: who asks does so before a thread of the runtime stops all. */
    tell(GC_EVENT_TRIGGERED, BOB, 80, INDUCED, 0, 0, 0);
    suspend(GC_THREAD, GC_SUSPEND_COLLECTION, 6);
    restart();
    assert_next(9, GC_KIND_NOTHING, 20, 80);
    suspend(GC_THREAD, GC_SUSPEND_COLLECTION, 6); /* nobody asked: a memory limit is read again */
    restart();
    assert_none();
}

static void suspensions_belong_to_what_starts_inside(void **unused)
{
    (void)unused;
    suspend(ALICE, GC_SUSPEND_COLLECTION, 0);
    tell(GC_EVENT_TRIGGERED, ALICE, 70, INDUCED, 0, 0, 0);
    start(ALICE, 1, 1, 0); /* the young generations first, then the background one */
    end(1);
    start(ALICE, 2, 2, GC_KIND_BACKGROUND);
    assert_none();
    restart();
    assert_next(1, 0, 0, 70);
    assert_none();
    suspend(BOB, GC_SUSPEND_COLLECTION, 2);
    tell(GC_EVENT_TRIGGERED, BOB, 80, INDUCED, 0, 0, 0);
    start(BOB, 3, 0, 2);
    end(3);
    restart();
    assert_next(3, 2, 60, 80);
    suspend(GC_THREAD, BACKGROUND_PREPARES, 3);
    restart();
    suspend(GC_THREAD, 0, 3); /* somebody looks at the threads: not the collector's */
    restart();
    assert_none();
    end(2);
    assert_next(2, GC_KIND_BACKGROUND, 70 + 20, 70);
    assert_none();
}

static void what_was_seen_in_part_is_counted(void **unused)
{
    (void)unused;
    suspend(ALICE, GC_SUSPEND_COLLECTION, 4);
    tell(GC_EVENT_TRIGGERED, ALICE, 70, INDUCED, 0, 0, 0);
    end(5); /* its begin was lost */
    restart();
    assert_null(gc_collections_next(&g, false));
    assert_int_equal(g.lost, 1);
    suspend(ALICE, GC_SUSPEND_COLLECTION, 5);
    for (uint32_t i = 6; i < 6 + GC_UNDER_WAY + 1; i++)
        start(ALICE, i, 0, 0); /* their ends are lost */
    assert_int_equal(g.lost, 2);
    start(ALICE, 20, 0, 0);
    assert_int_equal(g.lost, 3);
    tell(GC_EVENT_END, ALICE, 0, 20, 0, 0, 0); /* its sizes are lost */
    assert_null(gc_collections_next(&g, false));
    assert_non_null(gc_collections_next(&g, true));
    assert_null(gc_collections_next(&g, true));
}

/* The pause of a collection whose begin was lost is not that of the background one under way, nor
 * are its sizes. */
static void a_lost_begin_spoils_no_other(void **unused)
{
    uint32_t sizes[30] = {0, 0, 1000};
    gc_event stats = {0, GC_THREAD, GC_EVENT_HEAP_STATS, 0, reader_of(sizes, sizeof sizes)};
    const uint64_t *cells;

    (void)unused;
    suspend(ALICE, GC_SUSPEND_COLLECTION, 0);
    start(ALICE, 1, 2, GC_KIND_BACKGROUND);
    restart();
    suspend(BOB, GC_SUSPEND_COLLECTION, 1);
    tell(GC_EVENT_END, BOB, 0, 2, 0, 0, 0);
    gc_collections_take(&g, &stats);
    restart();
    assert_null(gc_collections_next(&g, false));
    assert_int_equal(g.lost, 1);
    end(1);
    cells = gc_collections_next(&g, false);
    assert_non_null(cells);
    assert_int_equal(cells[GC_CELL_PAUSE], 30);
    assert_int_equal(cells[GC_CELL_SINCE_STOP], 20);
    assert_int_equal(cells[GC_CELL_PROMOTED], 0);
}

/* Without the begin of its suspension a collection has no pause, and is told as seen in part; an
 * older suspension whose end was lost too is not taken for it. */
static void a_lost_suspension_is_counted(void **unused)
{
    (void)unused;
    start(ALICE, 1, 0, 0);
    end(1);
    restart();
    assert_next(1, 0, 0, 0);
    assert_int_equal(g.lost, 1);
    suspend(ALICE, GC_SUSPEND_COLLECTION, 1);
    start(ALICE, 2, 0, 0);
    end(2); /* the restart and the next begin are lost */
    tell(GC_EVENT_SUSPEND_END, ALICE, 0, 0, 0, 0, 0);
    assert_next(2, 0, 0, 0);
    start(ALICE, 3, 0, 0);
    end(3);
    restart();
    assert_next(3, 0, 0, 0);
    assert_int_equal(g.lost, 2);
}

/* Another thread wants to look at all threads: it says so while they stand still for the
 * collection, and may be done before the collecting thread says that they run again. */
static void other_stops_may_stand_in_the_midst(void **unused)
{
    enum { LOOKER = 3, OTHER = 0 };

    (void)unused;
    for (uint32_t is_late = 0; is_late <= 1; is_late++) {
        suspend(ALICE, GC_SUSPEND_COLLECTION, 2 * is_late);
        start(ALICE, 1 + 2 * is_late, 0, 0);
        tell(GC_EVENT_SUSPEND_BEGIN, LOOKER, 0, OTHER, 0, 0, 0);
        end(1 + 2 * is_late);
        if (is_late) {
            tell(GC_EVENT_SUSPEND_END, LOOKER, 0, 0, 0, 0, 0);
            tell(GC_EVENT_RESTART_END, LOOKER, 0, 0, 0, 0, 0);
            assert_none();
        }
        tell(GC_EVENT_RESTART_END, ALICE, 0, 0, 0, 0, 0);
        assert_next(1 + 2 * is_late, 0, is_late ? 80 : 60, 0);
        if (!is_late) {
            tell(GC_EVENT_SUSPEND_END, LOOKER, 0, 0, 0, 0, 0);
            tell(GC_EVENT_SUSPEND_BEGIN, BOB, 0, GC_SUSPEND_COLLECTION, 1, 0, 0);
            tell(GC_EVENT_RESTART_END, LOOKER, 0, 0, 0, 0, 0);
            tell(GC_EVENT_SUSPEND_END, BOB, 0, 0, 0, 0, 0);
            start(BOB, 2, 2, GC_KIND_BACKGROUND);
            tell(GC_EVENT_SUSPEND_BEGIN, LOOKER, 0, OTHER, 0, 0, 0);
            restart(); /* by the collector's own thread */
            tell(GC_EVENT_SUSPEND_END, LOOKER, 0, 0, 0, 0, 0);
            tell(GC_EVENT_RESTART_END, LOOKER, 0, 0, 0, 0, 0);
            end(2);
            assert_next(2, GC_KIND_BACKGROUND, 50, 0);
        }
        assert_none();
    }
    suspend(LOOKER, OTHER, 3); /* its end is lost: its collections are seen all the same */
    suspend(LOOKER, GC_SUSPEND_COLLECTION, 3);
    start(LOOKER, 4, 0, 0);
    end(4);
    tell(GC_EVENT_RESTART_END, LOOKER, 0, 0, 0, 0, 0);
    assert_next(4, 0, 50, 0);
    assert_none();
}

/* What lies in the youngest generation when a background collection ends came after the last one
 * that collected it, and is counted by the next. */
static void background_collections_hide_no_allocations(void **unused)
{
    gc_known_sizes known = {.is_known = {false}};
    gc_spaces first = {.before = {100}, .after = {10}};
    gc_spaces background = {.before = {10, 0, 500}, .after = {400, 0, 300}};
    gc_spaces next = {.before = {700}, .after = {20}};

    (void)unused;
    assert_int_equal(gc_spaces_allocated(&known, &first, false), 0);
    assert_int_equal(gc_spaces_allocated(&known, &background, true), 0);
    assert_int_equal(gc_spaces_allocated(&known, &next, false), 690);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_region_that_has_room_is_a_collection, begin),
        cmocka_unit_test_setup(suspensions_belong_to_what_starts_inside, begin),
        cmocka_unit_test_setup(what_was_seen_in_part_is_counted, begin),
        cmocka_unit_test_setup(a_lost_begin_spoils_no_other, begin),
        cmocka_unit_test_setup(a_lost_suspension_is_counted, begin),
        cmocka_unit_test_setup(other_stops_may_stand_in_the_midst, begin),
        cmocka_unit_test(background_collections_hide_no_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
