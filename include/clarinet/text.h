/*
 * text: growing UTF-8 text, and the way from and to the CLR's UTF-16.
 *
 * Every function that answers with text appends to a clr_text. Appending never fails loudly: the
 * first allocation that fails marks the text, later appends do nothing, and clr_text_failed() says
 * so. A clr_text belongs to one thread at a time.
 */
#ifndef CLARINET_TEXT_H
#define CLARINET_TEXT_H

#include "clarinet/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct buffer clr_text;

/* An empty text (NULL when there is no memory), and its end; free accepts NULL. */
clr_text *clr_text_create(void);
void clr_text_free(clr_text *text);

/* What is in it so far; "" when empty; never NULL. Valid until the next change. */
const char *clr_text_value(const clr_text *text);
size_t clr_text_length(const clr_text *text);
/* 1 after an allocation failed. */
int clr_text_failed(const clr_text *text);
void clr_text_clear(clr_text *text);

void clr_text_append(clr_text *text, const char *value);
void clr_text_format(clr_text *text, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
/* Broken surrogates become U+FFFD. */
void clr_text_append_utf16(clr_text *text, const WCHAR *units, size_t count);

/* UTF-8 to zero-terminated UTF-16 in memory of the caller; 0 when it does not fit. */
int clr_utf16(const char *value, WCHAR *units, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
