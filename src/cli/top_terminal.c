/* top_terminal: see top_terminal.h. */
#include "cli/top_terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/os.h"
#include "base/screen.h"

#define ENTER_SCREEN "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE_SCREEN "\033[?7h\033[?25h\033[?1049l"

enum { USUAL_ROWS = 24, USUAL_COLUMNS = 80 };

int top_terminal_open(top_terminal *t, error *e)
{
    struct termios raw;
    const char *name = getenv("TERM");

    memset(t, 0, sizeof *t);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || name == NULL ||
        strcmp(name, "dumb") == 0 || tcgetattr(STDIN_FILENO, &t->before) != 0) {
        error_set(e, ERROR_USAGE, "top needs a terminal");
        return error_advise(e, "without one: clarinet counters PID, or clarinet record");
    }
    raw = t->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* a stopped tool would leave its screen behind */
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
        return error_set(e, ERROR_IO, "the terminal cannot be set to single keys");
    t->is_open = true;
    top_terminal_resized(t);
    os_write_all(STDOUT_FILENO, ENTER_SCREEN, strlen(ENTER_SCREEN));
    return 0;
}

void top_terminal_close(top_terminal *t)
{
    if (!t->is_open)
        return;
    os_write_all(STDOUT_FILENO, LEAVE_SCREEN, strlen(LEAVE_SCREEN));
    tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
    t->is_open = false;
}

bool top_terminal_resized(top_terminal *t)
{
    struct winsize size;
    unsigned rows = USUAL_ROWS;
    unsigned columns = USUAL_COLUMNS;
    bool changed;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 && size.ws_col != 0) {
        rows = size.ws_row;
        columns = size.ws_col;
    }
    changed = rows != t->rows || columns != t->columns;
    t->rows = rows;
    t->columns = columns;
    return changed;
}

static int take(top_terminal *t, size_t count, int key)
{
    t->key_count -= count;
    memmove(t->keys, t->keys + count, t->key_count);
    return key;
}

int top_terminal_key(top_terminal *t)
{
    ssize_t more = read(STDIN_FILENO, t->keys + t->key_count, sizeof t->keys - t->key_count);
    size_t length = 2;

    if (more > 0)
        t->key_count += (size_t)more;
    if (t->key_count == 0)
        return TOP_KEY_NONE;
    if (t->keys[0] != TOP_KEY_ESCAPE || t->key_count < 3 ||
        (t->keys[1] != '[' && t->keys[1] != 'O'))
        return take(t, 1, t->keys[0]);
    /* ESC [ parameters letter */
    while (length < t->key_count && (t->keys[length] < '@' || t->keys[length] > '~'))
        length++;
    if (length == t->key_count)
        return take(t, length, TOP_KEY_OTHER);
    switch (t->keys[length]) {
    case 'C':
        return take(t, length + 1, TOP_KEY_RIGHT);
    case 'D':
        return take(t, length + 1, TOP_KEY_LEFT);
    default:
        return take(t, length + 1, TOP_KEY_OTHER);
    }
}

void top_terminal_show(const buffer *picture)
{
    if (!buffer_failed(picture))
        os_write_all(STDOUT_FILENO, picture->data, picture->length);
}

void top_terminal_line(const top_terminal *t, buffer *picture, const char *style, const char *text)
{
    unsigned width = 0;

    buffer_append_text(picture, picture->length == 0 ? "\033[H" : "\r\n");
    if (style[0] != '\0')
        buffer_format(picture, "\033[%sm", style);
    for (; *text != '\0'; text++) {
        size_t control = screen_control_length(text);

        if (((unsigned char)*text & 0xc0) != 0x80 && ++width > t->columns)
            break;
        buffer_append_char(picture, control != 0 ? '?' : *text);
        text += control == 0 ? 0 : control - 1;
    }
    if (style[0] != '\0') {
        for (; width < t->columns; width++)
            buffer_append_char(picture, ' ');
        buffer_append_text(picture, "\033[0m");
    }
    if (width < t->columns) /* behind a full line it would take its last character */
        buffer_append_text(picture, "\033[K");
}
