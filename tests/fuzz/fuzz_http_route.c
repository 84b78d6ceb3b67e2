/*
 * Fuzz target: the name of a request, from the event that begins it and the one that tells its
 * answer. The first byte says who made it, the second how many pairs of bytes the first event has.
 */
#include <string.h>

#include "clr/http_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reader rest = reader_of(data, size);
    bool is_made = (reader_u8(&rest) & 1) != 0;
    size_t length = reader_u8(&rest) * (size_t)2;
    buffer name = BUFFER_EMPTY, scratch = BUFFER_EMPTY, values = BUFFER_EMPTY;
    http_event_answer answer;
    reader begin;

    length = length < reader_left(&rest) ? length : reader_left(&rest);
    begin = reader_of(rest.position, length);
    reader_skip(&rest, length);
    answer = http_event_read_answer(rest);
    http_event_read_text(&answer.values, &values);
    http_event_append_name(&name, &scratch, begin, is_made, buffer_text(&values));
    buffer_free(&name);
    buffer_free(&scratch);
    buffer_free(&values);
    return 0;
}
