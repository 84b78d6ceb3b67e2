/* secrets: see secrets.h. */
#include "diagnostics/secrets.h"

#include <string.h>

#include "base/secret_words.h"
#include "base/text.h"

enum { MOST_NAME = 128 };

#define HIDDEN "***"

/* Names are compared without these: api-key, Api_Key and "api key" are one. */
static const char IGNORED[] = "-_. \t\"'";

/* Options and parts of connection strings; variables too. */
static const char *const WORDS[] = {SECRET_WORDS, "accesskey",    "accountkey", "privatekey",
                                    "sharedkey",  "sharedaccess", "passphrase", "connectionstring",
                                    "clientkey",  "signature"};
/* Variables only: `--max-connections 10` is worth reading. */
static const char *const VARIABLE_WORDS[] = {"key",  "pass",   "auth",    "cert", "connection",
                                             "conn", "cookie", "private", "dsn",  "jwt"};
/* Whole names. */
static const char *const NAMES[] = {"pass", "pw", "auth", "jwt"};
/* How known kinds of tokens begin. */
static const char *const BEGINNINGS[] = {
    "sk-",   "sk_",  "ghp_", "gho_", "ghs_", "github_pat_", "glpat-",  "xoxb-",
    "xoxp-", "AKIA", "ASIA", "AIza", "eyJ",  "-----BEGIN",  "Bearer ", "Basic "};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Lower case, without what does not count; the end of a name that is too long. */
static void simplify(const char *name, size_t length, char out[MOST_NAME])
{
    size_t used = 0;

    if (length >= MOST_NAME) {
        name += length - (MOST_NAME - 1);
        length = MOST_NAME - 1;
    }
    for (size_t i = 0; i < length; i++)
        if (name[i] != '\0' && strchr(IGNORED, name[i]) == NULL)
            out[used++] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    out[used] = '\0';
}

static bool contains_one(const char *simple, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(simple, words[i]) != NULL)
            return true;
    return false;
}

static bool is_secret_name(const char *name, size_t length)
{
    char simple[MOST_NAME];

    simplify(name, length, simple);
    for (size_t i = 0; i < COUNT(NAMES); i++)
        if (text_equal(simple, NAMES[i]))
            return true;
    return contains_one(simple, WORDS, COUNT(WORDS));
}

static bool begins_as_token(const char *value, size_t length)
{
    for (size_t i = 0; i < COUNT(BEGINNINGS); i++) {
        size_t size = strlen(BEGINNINGS[i]);

        if (length > size && memcmp(value, BEGINNINGS[i], size) == 0)
            return true;
    }
    return false;
}

bool secrets_is_variable(const char *name, size_t length, const char *value)
{
    char simple[MOST_NAME];

    simplify(name, length, simple);
    if (text_equal(simple, "pwd") || text_equal(simple, "oldpwd"))
        return false; /* the current folder */
    return length >= MOST_NAME || is_secret_name(name, length) ||
           contains_one(simple, VARIABLE_WORDS, COUNT(VARIABLE_WORDS)) ||
           begins_as_token(value, strlen(value));
}

/* ---- words ---- */

/* Where the name before a `=` or `:` begins: behind what parts it from another. */
static size_t name_before(const char *word, size_t at)
{
    while (at > 0 && (word[at - 1] == '"' || word[at - 1] == '\'' || word[at - 1] == ' '))
        at--;
    while (at > 0 && strchr(";&?,\"'/{([@=:\n", word[at - 1]) == NULL)
        at--;
    return at;
}

/* The end of `user:password@` behind `://`; 0 when there is none. */
static size_t end_of_user(const char *word, size_t at, size_t length)
{
    size_t end = 0;

    for (; at < length && strchr(" \"'\n", word[at]) == NULL; at++)
        if (word[at] == '@')
            end = at;
    return end;
}

void secrets_append_word(buffer *out, const char *word, size_t length)
{
    size_t done = 0;

    if (begins_as_token(word, length)) {
        buffer_append_text(out, HIDDEN);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        size_t name;

        if (word[i] != '=' && word[i] != ':')
            continue;
        if (length - i > 3 && memcmp(word + i, "://", 3) == 0) {
            size_t end = end_of_user(word, i + 3, length);

            if (end != 0) {
                buffer_append(out, word + done, i + 3 - done);
                buffer_append_text(out, HIDDEN);
                done = i = end;
            }
            continue;
        }
        name = name_before(word, i);
        if (is_secret_name(word + name, i - name) ||
            begins_as_token(word + i + 1, length - i - 1)) {
            buffer_append(out, word + done, i + 1 - done);
            buffer_append_text(out, i + 1 < length ? HIDDEN : "");
            return;
        }
    }
    buffer_append(out, word + done, length - done);
}

/* An option by itself, its value in the next word. A path is none. */
static bool is_secret_option(const char *word, size_t length)
{
    if (length < 2 || (word[0] != '-' && word[0] != '/') ||
        memchr(word + 1, '/', length - 1) != NULL || memchr(word, '=', length) != NULL ||
        (memchr(word, ':', length) != NULL && word[length - 1] != ':'))
        return false;
    return is_secret_name(word + 1, length - 1 - (word[length - 1] == ':'));
}

void secrets_append_command(buffer *out, const char *words, size_t length, char end)
{
    bool hides = false;

    while (length > 0 && (words[length - 1] == '\0' || words[length - 1] == end))
        length--;
    for (size_t at = 0; at < length;) {
        const char *word = words + at;
        const char *stop = memchr(word, end, length - at);
        size_t size = stop == NULL ? length - at : (size_t)(stop - word);

        buffer_append_text(out, at == 0 ? "" : " ");
        if (hides && !(size > 2 && word[0] == '-' && word[1] == '-')) {
            buffer_append_text(out, size == 0 ? "" : HIDDEN);
            hides = false;
        } else {
            secrets_append_word(out, word, size);
            hides = is_secret_option(word, size);
        }
        at += size + 1;
    }
}
