/* result: names of result codes, and GUIDs as text. See clarinet/profiler.h. No state. */
#include <string.h>

#include "clarinet/profiler.h"

static const char HEX[] = "0123456789ABCDEF";

static const uint32_t VALUES[] = {
#define X(name, value) value,
    CLR_HRESULT_LIST(X)
#undef X
};

/* One behind the other: pointers to them would be twice as large, with relocations. */
static const char NAMES[] = CLR_HRESULT_NAMES;
static const char PREFIXES[] = CLR_HRESULT_PREFIXES;

static const char *skip(const char *texts, size_t count)
{
    for (; count != 0; count--)
        texts += strlen(texts) + 1;
    return texts;
}

static char *put_text(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    return at;
}

static char *put_hex(char *at, uint32_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--)
        *at++ = HEX[value >> (4 * i) & 15];
    return at;
}

const char *clr_hresult_name(HRESULT hr, char text[CLR_HRESULT_TEXT])
{
    char *end;

    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
        const char *name;

        if (VALUES[i] != (uint32_t)hr)
            continue;
        name = skip(NAMES, i);
        if (*name >= ' ')
            return name;
        end = put_text(text, skip(PREFIXES, (size_t)*name - 1));
        end = put_text(end, name + 1);
        *end = '\0';
        return text;
    }
    text[0] = '0';
    text[1] = 'x';
    end = put_hex(text + 2, (uint32_t)hr, 8);
    *end = '\0';
    return text;
}

int clr_guid_equal(const GUID *a, const GUID *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Reads `digits` hex digits, or sets *bad. */
static uint32_t take_hex(const char **at, int digits, int *bad)
{
    uint32_t value = 0;

    for (int i = 0; i < digits && !*bad; i++) {
        int digit = hex_value(**at);

        if (digit < 0) {
            *bad = 1;
            return 0;
        }
        value = value << 4 | (uint32_t)digit;
        (*at)++;
    }
    return value;
}

static void take_dash(const char **at, int *bad)
{
    if (!*bad && **at == '-')
        (*at)++;
    else
        *bad = 1;
}

int clr_guid_parse(const char *text, GUID *guid)
{
    const char *at = text;
    int braces = *at == '{';
    int bad = 0;

    memset(guid, 0, sizeof *guid);
    at += braces;
    guid->Data1 = take_hex(&at, 8, &bad);
    take_dash(&at, &bad);
    guid->Data2 = (uint16_t)take_hex(&at, 4, &bad);
    take_dash(&at, &bad);
    guid->Data3 = (uint16_t)take_hex(&at, 4, &bad);
    take_dash(&at, &bad);
    for (int i = 0; i < 8; i++) {
        if (i == 2)
            take_dash(&at, &bad);
        guid->Data4[i] = (uint8_t)take_hex(&at, 2, &bad);
    }
    if (!bad && braces && *at++ != '}')
        bad = 1;
    if (bad || *at != '\0') {
        memset(guid, 0, sizeof *guid);
        return 0;
    }
    return 1;
}

const char *clr_guid_format(const GUID *guid, char text[CLR_GUID_TEXT])
{
    char *at = text;

    *at++ = '{';
    at = put_hex(at, guid->Data1, 8);
    *at++ = '-';
    at = put_hex(at, guid->Data2, 4);
    *at++ = '-';
    at = put_hex(at, guid->Data3, 4);
    *at++ = '-';
    for (int i = 0; i < 8; i++) {
        if (i == 2)
            *at++ = '-';
        at = put_hex(at, guid->Data4[i], 2);
    }
    *at++ = '}';
    *at = '\0';
    return text;
}
