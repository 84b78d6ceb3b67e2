/* cases: see cases.h. */
#include "support/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

static void give_up(const char *what, const char *detail)
{
    fprintf(stderr, "cases: %s: %s\n", what, detail);
    abort();
}

void cases_open(cases *c, const char *name)
{
    char path[1024];
    char *line;

    memset(c, 0, sizeof *c);
    snprintf(path, sizeof path, "%s/tests/cases/%s", TEST_SOURCE_DIR, name);
    if (os_read_file(path, 0, &c->text, NULL) != 0)
        give_up("can't be read", path);
    for (line = (char *)c->text.data; line != NULL;) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        if (c->count == CASES_MOST_LINES)
            give_up("too long", path);
        if (line[0] != '#')
            c->lines[c->count++] = line;
        line = end == NULL ? NULL : end + 1;
    }
}

void cases_close(cases *c)
{
    buffer_free(&c->text);
}

bool cases_next(cases *c, char **lines, size_t n)
{
    while (c->next < c->count && c->lines[c->next][0] == '\0')
        c->next++;
    if (c->next >= c->count)
        return false;
    if (c->next + n > c->count)
        give_up("a case is cut off", c->lines[c->next]);
    for (size_t i = 0; i < n; i++)
        lines[i] = c->lines[c->next++];
    if (c->next != c->count && c->lines[c->next][0] != '\0')
        give_up("a case has too many lines", c->lines[c->next]);
    return true;
}

size_t cases_cut(char *text, const char *separator, char **pieces, size_t most)
{
    size_t n = 0;

    while (n < most) {
        char *end = strstr(text, separator);

        pieces[n++] = text;
        if (end == NULL)
            return n;
        *end = '\0';
        text = end + strlen(separator);
    }
    give_up("too many pieces", text);
    return 0;
}
