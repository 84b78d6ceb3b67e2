/*
 * secrets: keeps passwords and the like out of recordings: a command line and an environment are
 * recorded without the values whose names sound secret. Judged by names, and by the forms that
 * well-known tokens have; what is hidden too much does no harm. No state; any thread.
 */
#ifndef CLARINET_DIAGNOSTICS_SECRETS_H
#define CLARINET_DIAGNOSTICS_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Appends one value, option or word with its secrets as ***: `--password=X`, `Server=a;Pwd=X`,
 * `https://user:X@host`, `{"token": "X"}`. What follows a secret in the same text is left out. */
void secrets_append_word(buffer *out, const char *word, size_t length);
/* Appends the words of a command line (each ends with `end`: a zero, or a blank), a blank between
 * two. The word after an option that sounds secret is hidden too: `--api-key X`. */
void secrets_append_command(buffer *out, const char *words, size_t length, char end);
/* A variable of the environment whose value is not to be recorded at all. */
bool secrets_is_variable(const char *name, size_t length, const char *value);

#endif
