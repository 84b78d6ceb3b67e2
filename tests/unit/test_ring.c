/* Unit tests of the agent's ring: one thread, borders, many producers, dropping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/ring.h"

static void records_come_out_in_order_and_whole(void **state)
{
    ring r;
    ring_record record;
    uint8_t expected[600];

    (void)state;
    assert_int_equal(ring_create(&r, 4096, -1, NULL), 0);
    /* every length and far more than the ring holds, so that records meet its end everywhere */
    for (unsigned round = 0; round < 5000; round++) {
        size_t length = round % 600;
        uint8_t *payload = ring_reserve(&r, length);

        assert_non_null(payload);
        assert_int_equal((uintptr_t)payload % 8, 0);
        memset(payload, (int)(round & 0xff), length);
        ring_commit(&r, payload, length, 1 + round % 4095, length);
        assert_true(ring_next(&r, &record));
        assert_int_equal(record.kind, 1 + round % 4095);
        assert_int_equal(record.length, length);
        memset(expected, (int)(round & 0xff), length);
        assert_memory_equal(record.payload, expected, length);
        ring_release(&r);
        assert_false(ring_next(&r, &record));
    }
    assert_int_equal(ring_fill(&r), 0);
    assert_int_equal(atomic_load(&r.dropped), 0);
    ring_destroy(&r);
}

static void a_full_ring_refuses_and_counts(void **state)
{
    ring r;
    ring_record record;
    size_t taken = 0;
    void *payload;

    (void)state;
    assert_int_equal(ring_create(&r, 4096, -1, NULL), 0);
    while ((payload = ring_reserve(&r, 100)) != NULL) {
        ring_commit(&r, payload, 100, 7, 100);
        taken++;
    }
    assert_int_equal(taken, 4096 / 112 + (4096 % 112 >= 112 ? 1 : 0));
    assert_int_equal(atomic_load(&r.dropped), 1);
    assert_null(ring_reserve(&r, 4096)); /* longer than a quarter */
    assert_int_equal(atomic_load(&r.dropped), 2);
    assert_true(ring_next(&r, &record));
    ring_release(&r);
    while (ring_next(&r, &record)) {
        ring_release(&r);
        taken--;
    }
    assert_int_equal(taken, 1);
    assert_non_null(payload = ring_reserve(&r, 1000));
    ring_commit(&r, payload, 1000, 1, 10);
    assert_true(ring_next(&r, &record));
    assert_int_equal(record.length, 10);
    ring_release(&r);
    ring_destroy(&r);
}

static void the_consumer_stops_at_what_is_not_committed(void **state)
{
    ring r;
    ring_record record;
    void *first, *second;

    (void)state;
    assert_int_equal(ring_create(&r, 4096, -1, NULL), 0);
    first = ring_reserve(&r, 8);
    second = ring_reserve(&r, 8);
    ring_commit(&r, second, 8, 2, 8);
    assert_false(ring_next(&r, &record));
    ring_commit(&r, first, 8, 0, 0); /* given up: only its room is left */
    assert_true(ring_next(&r, &record));
    assert_int_equal(record.kind, 2);
    ring_release(&r);
    assert_int_equal(ring_fill(&r), 0);
    ring_destroy(&r);
}

static void half_full_wakes_the_consumer_once(void **state)
{
    int wake = eventfd(0, EFD_NONBLOCK);
    ring r;
    ring_record record;
    uint64_t value;

    (void)state;
    assert_int_equal(ring_create(&r, 4096, wake, NULL), 0);
    for (int i = 0; i < 30; i++) {
        void *payload = ring_reserve(&r, 100);

        assert_non_null(payload);
        ring_commit(&r, payload, 100, 1, 100);
        if (i == 10)
            assert_int_equal(read(wake, &value, 8), -1);
    }
    assert_int_equal(read(wake, &value, 8), 8);
    assert_int_equal(value, 1);
    while (ring_next(&r, &record))
        ring_release(&r);
    ring_destroy(&r);
    close(wake);
}

enum { PRODUCERS = 4, EACH = 100000 };

typedef struct {
    ring *r;
    unsigned number;
    uint64_t dropped;
} producer;

/* A record: number of the producer, its count, and a run of bytes that depends on both. */
static void *produce(void *argument)
{
    producer *p = argument;

    for (uint32_t i = 0; i < EACH; i++) {
        size_t length = 8 + (i * 7 + p->number) % 120;
        uint8_t *payload = ring_reserve(p->r, length);

        if (payload == NULL) {
            p->dropped++;
            sched_yield();
            continue;
        }
        memcpy(payload, &p->number, 4);
        memcpy(payload + 4, &i, 4);
        memset(payload + 8, (int)((i + p->number) & 0xff), length - 8);
        ring_commit(p->r, payload, length, 3, length);
    }
    return NULL;
}

static void many_producers_lose_only_what_is_counted(void **state)
{
    ring r;
    pthread_t threads[PRODUCERS];
    producer producers[PRODUCERS];
    uint32_t next[PRODUCERS] = {0};
    uint64_t seen = 0;
    uint64_t dropped = 0;
    bool running = true;

    (void)state;
    assert_int_equal(ring_create(&r, 16384, -1, NULL), 0);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){&r, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    while (running) {
        ring_record record;
        bool any = false;

        while (ring_next(&r, &record)) {
            const uint8_t *bytes = record.payload;
            uint32_t number, count;

            memcpy(&number, bytes, 4);
            memcpy(&count, bytes + 4, 4);
            assert_true(number < PRODUCERS);
            assert_true(count >= next[number]); /* in order, gaps are drops */
            next[number] = count + 1;
            assert_int_equal(record.length, 8 + (count * 7 + number) % 120);
            for (size_t i = 8; i < record.length; i++)
                assert_int_equal(bytes[i], (count + number) & 0xff);
            ring_release(&r);
            seen++;
            any = true;
        }
        dropped = atomic_load(&r.dropped);
        if (!any) {
            running = seen + dropped < (uint64_t)PRODUCERS * EACH;
            sched_yield();
        }
    }
    for (unsigned i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        dropped -= producers[i].dropped;
    }
    assert_int_equal(dropped, 0);
    assert_int_equal(ring_fill(&r), 0);
    ring_destroy(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_in_order_and_whole),
        cmocka_unit_test(a_full_ring_refuses_and_counts),
        cmocka_unit_test(the_consumer_stops_at_what_is_not_committed),
        cmocka_unit_test(half_full_wakes_the_consumer_once),
        cmocka_unit_test(many_producers_lose_only_what_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
