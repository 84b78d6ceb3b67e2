/*
 * type_text: names of types as the runtime's events and .gcdump files have them, as a C# person
 * writes them: "System.Collections.Generic.List`1[System.Int32]" and
 * "System.Collections.Generic.List<System.Int32>" both become System.Collections.Generic.List<int>.
 * Any text is taken; nothing fails. Thread rules: nothing is shared.
 */
#ifndef CLARINET_DIAGNOSTICS_TYPE_TEXT_H
#define CLARINET_DIAGNOSTICS_TYPE_TEXT_H

#include <stdbool.h>

#include "base/buffer.h"

void type_text_append(buffer *out, const char *text);
/* Whether the written name is an array's. */
bool type_text_is_array(const char *text);

#endif
