/* Unit tests of the words between tool and agent: round trips, every cut, versions, tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "control/control.h"
#include "recording/decode.h"

static recording_chunk only_chunk(const buffer *bytes)
{
    recording_chunk chunk;

    assert_int_equal(recording_take_chunk(bytes->data, bytes->length, &chunk),
                     RECORDING_CHUNK_WHOLE);
    assert_int_equal(chunk.whole, bytes->length);
    return chunk;
}

static reader payload_of(const recording_chunk *chunk)
{
    return reader_of(chunk->payload, chunk->length);
}

static void hello_and_welcome_round_trip(void **state)
{
    control_hello hello = {7, {1, 2, 3}, "1.2.3"}, hello_back;
    control_welcome welcome = {CONTROL_PROTOCOL, "0.9", 4711, 2, CONTROL_STAYS}, welcome_back;
    buffer out = BUFFER_EMPTY;
    recording_chunk chunk;

    (void)state;
    control_put_hello(&out, CONTROL_ANNOUNCE, &hello);
    chunk = only_chunk(&out);
    assert_int_equal(chunk.kind, CONTROL_ANNOUNCE);
    assert_int_equal(control_get_hello(payload_of(&chunk), &hello_back, NULL), 0);
    assert_int_equal(hello_back.protocol, 7);
    assert_memory_equal(hello_back.token, hello.token, CONTROL_TOKEN_SIZE);
    assert_string_equal(hello_back.version, "1.2.3");
    buffer_clear(&out);
    control_put_welcome(&out, &welcome);
    chunk = only_chunk(&out);
    assert_int_equal(control_get_welcome(payload_of(&chunk), &welcome_back, NULL), 0);
    assert_memory_equal(&welcome_back.process_id, &welcome.process_id, 24);
    buffer_free(&out);
}

static void a_welcome_of_another_version_tells_its_version(void **state)
{
    buffer payload = BUFFER_EMPTY;
    control_welcome welcome;

    (void)state;
    buffer_append_u32(&payload, CONTROL_PROTOCOL + 5);
    buffer_append_blob(&payload, "9.9.9", 5);
    buffer_append_fill(&payload, 0xff, 40); /* whatever that version has there */
    assert_int_equal(control_get_welcome(reader_of(payload.data, payload.length), &welcome, NULL),
                     0);
    assert_int_equal(welcome.protocol, CONTROL_PROTOCOL + 5);
    assert_string_equal(welcome.version, "9.9.9");
    buffer_free(&payload);
}

static void start_carries_profilers_and_parameters(void **state)
{
    static catalogue_selection s, back;
    buffer out = BUFFER_EMPTY;
    recording_chunk chunk;
    error e;

    (void)state;
    memset(&s, 0, sizeof s);
    assert_int_equal(catalogue_add_list(&s, "exceptions", NULL), 0);
    assert_int_equal(catalogue_set(&s, "exceptions", "stacks", "42", NULL), 0);
    control_put_start(&out, &s);
    chunk = only_chunk(&out);
    assert_int_equal(control_get_start(payload_of(&chunk), &back, NULL), 0);
    assert_int_equal(back.count, 1);
    assert_int_equal(catalogue_number(&back.items[0], "stacks"), 42);
    /* every cut of it is refused and reads nothing beyond */
    for (size_t length = 0; length < chunk.length; length++)
        assert_int_not_equal(control_get_start(reader_of(chunk.payload, length), &back, &e), 0);
    buffer_free(&out);
}

static void unknown_profilers_and_parameters_are_refused(void **state)
{
    static catalogue_selection back;
    buffer payload = BUFFER_EMPTY;
    error e;

    (void)state;
    buffer_append_varint(&payload, 1);
    buffer_append_blob(&payload, "teapot", 6);
    buffer_append_varint(&payload, 0);
    assert_int_equal(control_get_start(reader_of(payload.data, payload.length), &back, &e),
                     ERROR_USAGE);
    assert_non_null(strstr(e.message, "teapot"));
    buffer_clear(&payload);
    buffer_append_varint(&payload, UINT64_MAX); /* a count that nothing follows */
    assert_int_equal(control_get_start(reader_of(payload.data, payload.length), &back, &e),
                     ERROR_CORRUPT);
    buffer_free(&payload);
}

static void refusals_carry_message_and_advice(void **state)
{
    buffer out = BUFFER_EMPTY;
    recording_chunk chunk;
    error e, back;

    (void)state;
    error_set(&e, ERROR_BUSY, "somebody else traces");
    error_advise(&e, "wait");
    control_put_refused(&out, CONTROL_START, &e);
    chunk = only_chunk(&out);
    assert_int_equal(control_get_refused(payload_of(&chunk), &back), ERROR_BUSY);
    assert_string_equal(back.message, "somebody else traces");
    assert_string_equal(back.advice, "wait");
    for (size_t length = 0; length < chunk.length; length++)
        assert_int_equal(control_get_refused(reader_of(chunk.payload, length), &back),
                         ERROR_CORRUPT);
    buffer_free(&out);
}

static void states_round_trip(void **state)
{
    control_state s = {1, UINT64_MAX, 3, 4, 5, 6}, back;
    buffer out = BUFFER_EMPTY;
    recording_chunk chunk;

    (void)state;
    control_put_state(&out, &s);
    chunk = only_chunk(&out);
    assert_int_equal(control_get_state(payload_of(&chunk), &back, NULL), 0);
    assert_memory_equal(&s, &back, sizeof s);
    buffer_free(&out);
}

static void tokens_are_compared_and_spelled(void **state)
{
    uint8_t a[CONTROL_TOKEN_SIZE], b[CONTROL_TOKEN_SIZE];
    char text[2 * CONTROL_TOKEN_SIZE + 1];

    (void)state;
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (uint8_t)(i * 37);
    control_format_token(a, text);
    assert_true(control_parse_token(text, b));
    assert_true(control_token_equal(a, b));
    b[31] ^= 1;
    assert_false(control_token_equal(a, b));
    text[10] = 'x';
    assert_false(control_parse_token(text, b));
    assert_false(control_parse_token("", b));
    text[10] = '0';
    text[63] = '\0';
    assert_false(control_parse_token(text, b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_and_welcome_round_trip),
        cmocka_unit_test(a_welcome_of_another_version_tells_its_version),
        cmocka_unit_test(start_carries_profilers_and_parameters),
        cmocka_unit_test(unknown_profilers_and_parameters_are_refused),
        cmocka_unit_test(refusals_carry_message_and_advice),
        cmocka_unit_test(states_round_trip),
        cmocka_unit_test(tokens_are_compared_and_spelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
