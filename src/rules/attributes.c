/* attributes: see attributes.h. */
#include "rules/attributes.h"

#include <string.h>

#include "base/text.h"

bool attributes_are_searched(const char *assembly)
{
    return !text_starts_with(assembly, "System.") && !text_starts_with(assembly, "Microsoft.") &&
           !text_starts_with(assembly, "NewRelic.");
}

uint32_t attributes_transaction_bits(const uint8_t *value, size_t size)
{
    /* Prologue, one named argument, a property (0x54) of type bool (2), its name, its value. */
    static const uint8_t WEB[] = {1, 0, 1, 0, 0x54, 2, 3, 'W', 'e', 'b', 1};
    bool is_web = value != NULL && size == sizeof WEB && memcmp(value, WEB, size) == 0;

    return POINT_ATTRIBUTE | (uint32_t)(is_web ? POINT_WEB_TRANSACTION : POINT_OTHER_TRANSACTION);
}
