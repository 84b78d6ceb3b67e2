/*
 * top_terminal: a whole terminal for ourselves: its second screen, single keys, its size. What was
 * there before comes back with top_terminal_close. Thread rules: one thread at a time.
 */
#ifndef CLARINET_CLI_TOP_TERMINAL_H
#define CLARINET_CLI_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/buffer.h"
#include "base/error.h"

/* Keys that are no characters. */
enum { TOP_KEY_NONE = 0, TOP_KEY_LEFT = 256, TOP_KEY_RIGHT, TOP_KEY_OTHER };
enum { TOP_KEY_ESCAPE = 27, TOP_KEY_DELETE = 127 };

typedef struct {
    struct termios before;
    bool is_open;
    unsigned rows;
    unsigned columns;
    unsigned char keys[64]; /* read and not taken yet */
    size_t key_count;
} top_terminal;

/* Needs a terminal for input and output. */
int top_terminal_open(top_terminal *t, error *e);
void top_terminal_close(top_terminal *t);
/* Asks for the size; true when it has changed. */
bool top_terminal_resized(top_terminal *t);
/* The next key that was pressed, TOP_KEY_NONE when there is none; does not wait. */
int top_terminal_key(top_terminal *t);
/* Shows a picture, made with top_terminal_line, all at once. */
void top_terminal_show(const buffer *picture);
/* Adds a line, cut to the width; what a terminal would obey is shown as '?'. style: "" or the
 * numbers of a terminal's SGR. */
void top_terminal_line(const top_terminal *t, buffer *picture, const char *style, const char *text);

#endif
