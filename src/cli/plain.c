/* plain: see plain.h. */
#include "cli/plain.h"

#include "base/screen.h"

void plain_put(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t control = 0, length = 0;

        /* in one go: standard error is not buffered */
        while (text[length] != '\0' && (control = screen_control_length(text + length)) == 0)
            length++;
        fwrite(text, 1, length, out);
        if (control != 0)
            fputc('?', out);
        text += length + control;
    }
}

void plain_append(buffer *out, const char *text)
{
    for (; *text != '\0'; text++) {
        size_t control = screen_control_length(text);

        buffer_append_char(out, control != 0 ? '?' : *text);
        text += control == 0 ? 0 : control - 1;
    }
}

void plain_clean(char *text, bool has_lines)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        size_t control = has_lines && *text == '\n' ? 0 : screen_control_length(text);

        *out++ = control != 0 ? '?' : *text;
        text += control == 0 ? 0 : control - 1;
    }
    *out = '\0';
}
