/* Unit tests of the tool's side of a connection: agents of other versions, broken and silent ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "recording/encode.h"
#include "session/link.h"

static const uint8_t TOKEN[CONTROL_TOKEN_SIZE] = {1};

/* A link whose other end has said `words` already. */
static int connect_to(session_link *l, const buffer *words)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    link_init(l, ends[0]);
    assert_int_equal(write(ends[1], words->data, words->length), (ssize_t)words->length);
    return ends[1];
}

static void an_older_agent_is_named_with_its_version(void **state)
{
    control_welcome old = {CONTROL_PROTOCOL - 1, "0.0.7", 1, 0, 0}, welcome;
    buffer words = BUFFER_EMPTY;
    session_link l;
    error e;
    int other;

    (void)state;
    control_put_welcome(&words, &old);
    other = connect_to(&l, &words);
    assert_int_equal(link_greet(&l, TOKEN, &welcome, &e), ERROR_UNSUPPORTED);
    assert_non_null(strstr(e.message, "0.0.7"));
    assert_non_null(strstr(e.advice, "restart the process"));
    link_close(&l);
    close(other);
    buffer_free(&words);
}

static void a_refusal_is_passed_on(void **state)
{
    buffer words = BUFFER_EMPTY;
    control_welcome welcome;
    session_link l;
    error e;
    int other;

    (void)state;
    error_set(&e, ERROR_PERMISSION, "not you");
    error_advise(&e, "go away");
    control_put_refused(&words, CONTROL_HELLO, &e);
    other = connect_to(&l, &words);
    assert_int_equal(link_greet(&l, TOKEN, &welcome, &e), ERROR_PERMISSION);
    assert_string_equal(e.message, "not you");
    assert_string_equal(e.advice, "go away");
    link_close(&l);
    close(other);
    buffer_free(&words);
}

static void chunks_come_out_whole_however_they_arrive(void **state)
{
    buffer words = BUFFER_EMPTY;
    session_link l;
    recording_chunk chunk;
    error e;
    int ends[2];
    size_t seen = 0;

    (void)state;
    for (int i = 0; i < 3; i++)
        recording_put_chunk(&words, (uint16_t)(100 + i), 0, 0, "0123456789", (size_t)(3 * i));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    link_init(&l, ends[0]);
    for (size_t i = 0; i < words.length; i++) {
        assert_int_equal(write(ends[1], words.data + i, 1), 1);
        error_clear(&e);
        assert_int_equal(link_read(&l, &e), 0);
        while (link_next(&l, &chunk, &e)) {
            assert_int_equal(chunk.kind, 100 + seen);
            assert_int_equal(chunk.length, 3 * seen);
            seen++;
        }
        assert_int_equal(e.code, 0);
    }
    assert_int_equal(seen, 3);
    close(ends[1]);
    assert_int_equal(link_read(&l, &e), ERROR_GONE);
    link_close(&l);
    buffer_free(&words);
}

static void broken_words_end_the_connection(void **state)
{
    buffer words = BUFFER_EMPTY;
    control_welcome welcome;
    session_link l;
    error e;
    int other;

    (void)state;
    buffer_append_fill(&words, 0x41, 64);
    other = connect_to(&l, &words);
    assert_int_equal(link_greet(&l, TOKEN, &welcome, &e), ERROR_CORRUPT);
    link_close(&l);
    close(other);
    buffer_free(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_agent_is_named_with_its_version),
        cmocka_unit_test(a_refusal_is_passed_on),
        cmocka_unit_test(chunks_come_out_whole_however_they_arrive),
        cmocka_unit_test(broken_words_end_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
