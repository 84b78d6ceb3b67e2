/*
 * screen: what a terminal would obey. Names and messages come from programs that we examine: on
 * their way to a screen these characters are replaced.
 */
#ifndef CLARINET_BASE_SCREEN_H
#define CLARINET_BASE_SCREEN_H

#include <stddef.h>

/* Bytes of the character at `text` when it is a control character (C0, DEL, C1 as UTF-8), else 0.
 */
static inline size_t screen_control_length(const char *text)
{
    unsigned char first = (unsigned char)text[0];

    if (first != 0 && (first < 0x20 || first == 0x7f))
        return 1;
    return first == 0xc2 && ((unsigned char)text[1] & 0xe0) == 0x80 ? 2 : 0;
}

#endif
