/*
 * type_text: see type_text.h. A name is a path, type arguments, and what makes an array of it. In a
 * path `<` may also open a name that the compiler made (`<Main>d__0`): then it stands where a name
 * begins. .gcdump files have `[]` in the place of `<>` there.
 */
#include "diagnostics/type_text.h"

#include <string.h>

#include "base/text.h"
#include "clarinet/names.h"

enum { DEEPEST = 24, MOST_ARGUMENTS = 32 };

typedef struct {
    const char *at;
    int depth;
} cursor;

static void append_type(buffer *out, cursor *c);

static bool is_name(char c)
{
    return c != '\0' && strchr("[]<>,", c) == NULL;
}

/* The end of a name's part in angle brackets that the compiler made: they may stand in one another,
 * as in `<<Main>$>d__0`. Of one that is not closed, the last character. */
static const char *end_of_made(const char *at)
{
    size_t depth = 0;

    for (; at[1] != '\0'; at++) {
        depth += *at == '<';
        if (*at == '>' && --depth == 0)
            break;
    }
    return at;
}

/* The path up to what follows it. */
static void take_path(buffer *path, cursor *c)
{
    bool begins = true; /* a name does, here */

    for (; *c->at != '\0'; c->at++) {
        if (begins && strncmp(c->at, "[]", 2) == 0 && is_name(c->at[2])) {
            buffer_append_text(path, "<>");
            c->at++;
            begins = false;
            continue;
        }
        if (begins && *c->at == '<') {
            const char *end = end_of_made(c->at);

            buffer_append(path, c->at, (size_t)(end - c->at) + 1);
            c->at = end;
            begins = false;
            continue;
        }
        if (!is_name(*c->at))
            break;
        begins = *c->at == '.' || *c->at == '+';
        buffer_append_char(path, *c->at);
    }
}

/* "[,]", and "<,>" in its place. "[*]", of one whose first index may be another than 0, is written
 * as "[]", as the agent does. */
static bool take_array(buffer *out, cursor *c)
{
    const char *at = c->at;

    if (*at != '[' && *at != '<')
        return false;
    for (at++; *at == ','; at++)
        ;
    at += strncmp(at, "*]", 2) == 0 || strncmp(at, "*>", 2) == 0;
    if (*at != ']' && *at != '>')
        return false;
    buffer_append_char(out, '[');
    buffer_append(out, c->at + 1, strspn(c->at + 1, ","));
    buffer_append_char(out, ']');
    c->at = at + 1;
    return true;
}

/* Type arguments, each closed by a zero; answers how many. */
static size_t take_arguments(buffer *all, cursor *c)
{
    size_t count = 0;

    for (c->at++; *c->at != '\0'; c->at += *c->at == ',') {
        c->at += strspn(c->at, " ");
        append_type(all, c);
        buffer_append_u8(all, 0);
        count++;
        if (*c->at != ',')
            break;
    }
    if (*c->at == ']' || *c->at == '>')
        c->at++;
    return count;
}

static void append_path(buffer *out, const buffer *path, const buffer *all, size_t count)
{
    const char *arguments[MOST_ARGUMENTS];
    const char *at = (const char *)all->data;
    bool has_arity = strchr(buffer_text(path), '`') != NULL;

    count = count > MOST_ARGUMENTS ? MOST_ARGUMENTS : count;
    for (size_t i = 0; i < count; i++) {
        arguments[i] = at;
        at += strlen(at) + 1;
    }
    clr_name_append_type(out, buffer_text(path), arguments, has_arity ? count : 0, CLR_NAME_FULL);
    for (size_t i = 0; i < count && !has_arity; i++) {
        buffer_append_text(out, i == 0 ? "<" : ", ");
        buffer_append_text(out, arguments[i]);
    }
    if (count != 0 && !has_arity)
        buffer_append_char(out, '>');
}

/* The runtime has an array's own brackets last, C# first. */
static void append_arrays(buffer *out, const buffer *array)
{
    size_t end = array->length;

    for (size_t at = end; at-- > 0;) {
        if (array->data[at] != '[')
            continue;
        buffer_append(out, array->data + at, end - at);
        end = at;
    }
}

static void append_type(buffer *out, cursor *c)
{
    buffer path = BUFFER_EMPTY, all = BUFFER_EMPTY, array = BUFFER_EMPTY;
    size_t count = 0;

    if (++c->depth < DEEPEST) {
        take_path(&path, c);
        if (!take_array(&array, c) && (*c->at == '[' || *c->at == '<'))
            count = take_arguments(&all, c);
        while (take_array(&array, c))
            ;
        if (!buffer_failed(&path) && !buffer_failed(&all))
            append_path(out, &path, &all, count);
        append_arrays(out, &array);
    } else {
        c->at += strlen(c->at);
    }
    c->depth--;
    buffer_free(&path);
    buffer_free(&all);
    buffer_free(&array);
}

void type_text_append(buffer *out, const char *text)
{
    cursor c = {text, 0};

    append_type(out, &c);
    buffer_append_text(out, c.at); /* what was not understood stays as it is */
}

bool type_text_is_array(const char *text)
{
    return text_ends_with(text, "]");
}
