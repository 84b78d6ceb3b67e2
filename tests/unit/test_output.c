/* Unit tests of what an agent sends at its process's end to a tool that does not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <stdalign.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/output.h"
#include "session/link.h"

enum { CHUNKS = 300, LENGTH = 10000 };

/* An output with more pending than any socket takes; the first `sent` bytes went out already. */
static void fill_rest(output *o, names *n, size_t sent)
{
    static uint8_t payload[LENGTH];

    output_init(o, NULL, n, 0);
    for (uint32_t i = 0; i < CHUNKS; i++)
        recording_put_chunk(&o->pending, RECORDING_LOSS, 0, i, payload, LENGTH);
    assert_false(buffer_failed(&o->pending));
    o->pending_sent = sent;
}

static void fill_output(output *o, names *n, int *ends)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    names_init(n, NULL);
    fill_rest(o, n, 0);
}

static size_t read_all(session_link *l, int expected_code)
{
    recording_chunk chunk;
    size_t count = 0;
    error e;
    int code;

    do {
        error_clear(&e);
        code = link_read(l, &e);
        error_clear(&e);
        while (link_next(l, &chunk, &e)) {
            assert_int_equal(chunk.process, count);
            assert_int_equal(chunk.length, LENGTH);
            count++;
        }
        assert_int_equal(e.code, 0);
    } while (code == 0);
    assert_int_equal(code, expected_code);
    return count;
}

static void what_a_full_socket_does_not_take_is_handed_over(void **state)
{
    session_link l;
    output o;
    names n;
    int ends[2];

    (void)state;
    fill_output(&o, &n, ends);
    assert_int_equal(output_send(&o, ends[0]), 0);
    assert_true(output_has_pending(&o));
    assert_int_equal(output_hand_over(&o, ends[0]), 0);
    assert_false(output_has_pending(&o));
    output_free(&o);
    names_reset(&n);
    close(ends[0]);
    link_init(&l, ends[1]);
    assert_int_equal(read_all(&l, ERROR_GONE), CHUNKS);
    link_close(&l);
}

/* Two rounds in a hurry, the first of which ends in the middle of a chunk. */
static void the_stream_goes_on_behind_what_was_handed_over(void **state)
{
    session_link l;
    output o;
    names n;
    int ends[2];
    size_t whole;

    (void)state;
    fill_output(&o, &n, ends);
    whole = o.pending.length;
    assert_int_equal(output_send(&o, ends[0]), 0);
    assert_true(output_has_pending(&o));
    o.pending.length = whole / 2 + 11;
    assert_int_equal(output_hand_over(&o, ends[0]), 0);
    output_free(&o);
    fill_rest(&o, &n, whole / 2 + 11);
    assert_int_equal(output_hand_over(&o, ends[0]), 0);
    output_free(&o);
    names_reset(&n);
    close(ends[0]);
    link_init(&l, ends[1]);
    assert_int_equal(read_all(&l, ERROR_GONE), CHUNKS);
    link_close(&l);
}

/* Any other file could make the tool wait, or be somebody else's. */
static void only_a_file_in_memory_is_taken(void **state)
{
    alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct iovec byte = {"", 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int files[2];
    session_link l;
    error e;
    int ends[2];
    int before;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(pipe(files), 0);
    before = dup(0);
    close(before);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(header), files, sizeof files);
    assert_int_equal(sendmsg(ends[0], &message, 0), 1);
    link_init(&l, ends[1]);
    error_clear(&e);
    assert_int_equal(link_read(&l, &e), ERROR_CORRUPT);
    assert_int_equal(dup(0), before); /* none of them stayed open */
    close(before);
    link_close(&l);
    close(ends[0]);
    close(files[0]);
    close(files[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_full_socket_does_not_take_is_handed_over),
        cmocka_unit_test(the_stream_goes_on_behind_what_was_handed_over),
        cmocka_unit_test(only_a_file_in_memory_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
