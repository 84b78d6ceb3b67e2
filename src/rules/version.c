/* version: see version.h. */
#include "rules/version.h"

#include <string.h>

bool version_parse(const char *text, version *v)
{
    memset(v, 0, sizeof *v);
    for (int part = 0; part < 4; part++) {
        uint32_t value = 0;

        while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
            text++;
        if (*text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9'; text++) {
            value = value * 10 + (uint32_t)(*text - '0');
            if (value > UINT16_MAX)
                return false;
        }
        v->part[part] = (uint16_t)value;
        while (*text != '\0' && *text != '.')
            text++;
        if (*text == '\0')
            return true;
        text++;
    }
    return false;
}

int version_compare(version a, version b)
{
    for (int i = 0; i < 4; i++) {
        if (a.part[i] != b.part[i])
            return a.part[i] < b.part[i] ? -1 : 1;
    }
    return 0;
}

bool version_is_zero(version v)
{
    return (v.part[0] | v.part[1] | v.part[2] | v.part[3]) == 0;
}
