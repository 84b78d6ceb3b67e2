/*
 * screen: what a terminal would obey. Names and messages come from programs that we examine: on
 * their way to a screen these characters are replaced.
 */
#ifndef CLARINET_BASE_SCREEN_H
#define CLARINET_BASE_SCREEN_H

#include <stddef.h>

/* Bytes of the character at `text` when it is a control character (C0, DEL, C1 as UTF-8), a
 * separator of lines or paragraphs, or one that turns the direction of what follows, else 0. */
static inline size_t screen_control_length(const char *text)
{
    unsigned char first = (unsigned char)text[0];

    if (first != 0 && (first < 0x20 || first == 0x7f))
        return 1;
    if (first == 0xc2)
        return ((unsigned char)text[1] & 0xe0) == 0x80 ? 2 : 0;
    if (first == 0xe2 && (unsigned char)text[1] == 0x80) /* U+2028 to U+202E */
        return (unsigned char)text[2] >= 0xa8 && (unsigned char)text[2] <= 0xae ? 3 : 0;
    if (first == 0xe2 && (unsigned char)text[1] == 0x81) /* U+2066 to U+2069 */
        return (unsigned char)text[2] >= 0xa6 && (unsigned char)text[2] <= 0xa9 ? 3 : 0;
    return 0;
}

#endif
