/* help_options: see help_options.h. */
#include "cli/help_options.h"

#include <ctype.h>
#include <string.h>

static const char *skip_spaces(const char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

static void copy_cut(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* The option names at `text`, separated by ", "; returns what follows, NULL when it is not so. */
static const char *read_names(const char *text, help_option *option)
{
    for (;;) {
        const char *end = text;

        while (is_name_char(*end))
            end++;
        if (text[0] != '-' || end - text < (text[1] == '-' ? 3 : 2))
            return NULL;
        if (text[1] == '-')
            copy_cut(option->long_name, sizeof option->long_name, text, (size_t)(end - text));
        else
            copy_cut(option->short_name, sizeof option->short_name, text, (size_t)(end - text));
        if (end[0] != ',')
            return end;
        text = skip_spaces(end + 1);
    }
}

static bool read_line(const char *line, const char *end, help_option *option)
{
    const char *text = skip_spaces(line);
    const char *stop;

    memset(option, 0, sizeof *option);
    if (text == line || *text != '-')
        return false;
    text = read_names(text, option);
    if (text == NULL || text > end)
        return false;
    if (text < end && (*text == '=' || (*text == ' ' && text + 1 < end && text[1] != ' '))) {
        text++;
        for (stop = text; stop < end && !(stop[0] == ' ' && stop + 1 < end && stop[1] == ' ');)
            stop++;
        copy_cut(option->argument, sizeof option->argument, text, (size_t)(stop - text));
        text = stop;
    }
    text = skip_spaces(text);
    if (text < end)
        copy_cut(option->summary, sizeof option->summary, text, (size_t)(end - text));
    return true;
}

bool help_options_next(const char **help, help_option *option)
{
    while (**help != '\0') {
        const char *line = *help;
        const char *end = line + strcspn(line, "\n");

        *help = *end == '\n' ? end + 1 : end;
        if (read_line(line, end, option))
            return true;
    }
    return false;
}

bool help_options_is_choice(const char *argument)
{
    bool has_bar = false;

    for (const char *c = argument; *c != '\0'; c++) {
        if (*c == '|')
            has_bar = true;
        else if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
            return false;
    }
    return has_bar;
}

bool help_options_has_word(const char *arguments, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(arguments, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == arguments || !is_name_char(at[-1])) && !is_name_char(at[length]))
            return true;
    }
    return false;
}
