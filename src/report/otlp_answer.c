/* otlp_answer: see otlp_answer.h. */
#include "report/otlp_answer.h"

#include <jansson.h>
#include <string.h>

#include "base/text.h"

/* The first character of an object to its last: around it may stand the marks of a chunk. */
static json_t *load_object(const char *body, size_t length)
{
    const char *begin = length == 0 ? NULL : memchr(body, '{', length);
    const char *end = begin == NULL ? NULL : memrchr(body, '}', length);

    return end == NULL || end < begin ? NULL
                                      : json_loadb(begin, (size_t)(end - begin) + 1, 0, NULL);
}

uint64_t otlp_answer_rejected(const char *body, size_t length, buffer *message)
{
    json_t *root = load_object(body, length);
    const json_t *part = json_object_get(root, "partialSuccess");
    const json_t *count = json_object_get(part, "rejectedSpans");
    const char *words = json_string_value(json_object_get(part, "errorMessage"));
    uint64_t rejected = 0;

    /* 64-bit numbers are texts in this JSON; not every collector knows it. */
    if (json_is_integer(count) && json_integer_value(count) > 0)
        rejected = (uint64_t)json_integer_value(count);
    else if (json_is_string(count) && !text_to_u64(json_string_value(count), &rejected))
        rejected = 0;
    if (words != NULL)
        text_append_cleaned(message, words, strlen(words));
    json_decref(root);
    return rejected;
}
