/* trace_values: see trace_values.h. */
#include "profilers/trace_values.h"

#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "cil/signature.h"
#include "clarinet/lookup.h"
#include "profilers/trace_counters.h"

enum { MOST_PARAMETERS = 32, NAME_UNITS = 128 };

static const char *const SECRETS[] = {"password",   "passwd", "pwd",     "secret",       "token",
                                      "credential", "apikey", "api_key", "authorization"};

bool trace_is_secret(const char *name, size_t length)
{
    char lower[NAME_UNITS];

    if (length >= sizeof lower)
        length = sizeof lower - 1;
    for (size_t n = 0; n < length; n++)
        lower[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] - 'A' + 'a' : name[n]);
    lower[length] = '\0';
    for (size_t n = 0; n < sizeof SECRETS / sizeof SECRETS[0]; n++)
        if (strstr(lower, SECRETS[n]) != NULL)
            return true;
    return false;
}

void trace_parameter_names(const clr_info *info, ModuleID module, mdMethodDef method, buffer *out)
{
    IMetaDataImport2 *import = NULL;
    clr_enumeration enumeration = NULL;
    buffer names[MOST_PARAMETERS];
    mdParamDef tokens[MOST_PARAMETERS];
    uint32_t count = 0;
    uint32_t last = 0;

    memset(names, 0, sizeof names);
    if (!CLR_OK(clr_open_import(info, module, &import)))
        return;
    if (CLR_OK(clr_import_enum_params(import, &enumeration, method, tokens, MOST_PARAMETERS,
                                      &count))) {
        for (uint32_t n = 0; n < count && n < MOST_PARAMETERS; n++) {
            WCHAR units[NAME_UNITS] = {0};
            uint32_t sequence = 0;
            uint32_t length = 0;

            if (!CLR_OK(clr_import_get_param_props(import, tokens[n], NULL, &sequence, units,
                                                   NAME_UNITS, &length, NULL, NULL, NULL, NULL)) ||
                sequence == 0 || sequence > MOST_PARAMETERS)
                continue;
            units[NAME_UNITS - 1] = 0;
            text_append_utf16(&names[sequence - 1], units, text_utf16_length(units, NAME_UNITS));
            last = sequence > last ? sequence : last;
        }
    }
    if (enumeration != NULL)
        clr_import_close_enum(import, enumeration);
    clr_release(import);
    for (uint32_t n = 0; n < MOST_PARAMETERS; n++) {
        if (n < last) {
            buffer_append(out, names[n].data, names[n].length);
            buffer_append_char(out, '\n');
        }
        buffer_free(&names[n]);
    }
}

/* The n-th line; *length is 0 when there is none. */
static const char *name_at(const char *names, unsigned number, size_t *length)
{
    const char *end = names;

    for (;;) {
        end = strchr(names, '\n');
        if (end == NULL) {
            *length = 0;
            return names;
        }
        if (number-- == 0)
            break;
        names = end + 1;
    }
    *length = (size_t)(end - names);
    return names;
}

static void append_quoted(buffer *out, reader *r, bool cut)
{
    size_t length = reader_left(r);
    const uint8_t *units = reader_bytes(r, length);
    buffer text = BUFFER_EMPTY;

    text_append_utf16_bytes(&text, units, length / 2);
    buffer_append_char(out, '"');
    for (size_t n = 0; n < text.length; n++)
        buffer_append_char(out, text.data[n] < ' ' ? ' ' : (char)text.data[n]);
    buffer_append_text(out, cut ? "…\"" : "\"");
    buffer_free(&text);
}

static void append_guid(buffer *out, reader *r)
{
    uint32_t first = reader_u32(r);
    unsigned second = reader_u16(r);
    unsigned third = reader_u16(r);

    buffer_format(out, "%08x-%04x-%04x-", (unsigned)first, second, third);
    for (int n = 0; n < 8; n++)
        buffer_format(out, n == 1 ? "%02x-" : "%02x", reader_u8(r));
}

/* Ticks of 100 ns since the year 1; the upper two bits tell the time zone's kind. */
static void append_date(buffer *out, uint64_t ticks)
{
    uint64_t seconds = (ticks & 0x3FFFFFFFFFFFFFFFu) / 10000000;
    uint64_t days = seconds / 86400;
    uint64_t era, day_of_era, year_of_era, day_of_year, month, day;

    seconds %= 86400;
    days += 306; /* years that begin in March make the leap day the last one */
    era = days / 146097;
    day_of_era = days % 146097;
    year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    month = (5 * day_of_year + 2) / 153;
    day = day_of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    buffer_format(out, "%04u-%02u-%02u %02u:%02u:%02u",
                  (unsigned)(year_of_era + era * 400 + (month <= 2)), (unsigned)month,
                  (unsigned)day, (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60),
                  (unsigned)(seconds % 60));
}

static void append_number(buffer *out, reader *r, uint8_t kind)
{
    uint32_t bits;
    float single;
    unsigned c;

    switch (kind) {
    case CIL_TYPE_BOOLEAN:
        buffer_append_text(out, reader_u8(r) != 0 ? "true" : "false");
        break;
    case CIL_TYPE_CHAR:
        c = reader_u16(r);
        buffer_append_char(out, '\'');
        text_append_code_point(out, c < ' ' ? ' ' : c);
        buffer_append_char(out, '\'');
        break;
    case CIL_TYPE_I1:
        buffer_format(out, "%d", (int8_t)reader_u8(r));
        break;
    case CIL_TYPE_U1:
        buffer_format(out, "%u", reader_u8(r));
        break;
    case CIL_TYPE_I2:
        buffer_format(out, "%d", (int16_t)reader_u16(r));
        break;
    case CIL_TYPE_U2:
        buffer_format(out, "%u", reader_u16(r));
        break;
    case CIL_TYPE_I4:
        buffer_format(out, "%d", (int)(int32_t)reader_u32(r));
        break;
    case CIL_TYPE_U4:
        buffer_format(out, "%u", (unsigned)reader_u32(r));
        break;
    case CIL_TYPE_I8:
    case CIL_TYPE_INT_PTR:
        buffer_format(out, "%lld", (long long)reader_u64(r));
        break;
    case CIL_TYPE_UINT_PTR:
        buffer_format(out, "0x%llx", (unsigned long long)reader_u64(r));
        break;
    case CIL_TYPE_U8:
        buffer_format(out, "%llu", (unsigned long long)reader_u64(r));
        break;
    case CIL_TYPE_R4:
        bits = reader_u32(r);
        memcpy(&single, &bits, sizeof single);
        buffer_format(out, "%g", (double)single);
        break;
    default:
        buffer_format(out, "%.15g", reader_f64(r));
    }
}

static void append_value(buffer *out, reader *r, uint8_t kind)
{
    switch (kind) {
    case TRACE_KIND_NULL:
        buffer_append_text(out, "null");
        break;
    case CIL_TYPE_OBJECT:
        buffer_append_text(out, "{…}");
        break;
    case CIL_TYPE_STRING:
    case TRACE_KIND_CUT_STRING:
        append_quoted(out, r, kind == TRACE_KIND_CUT_STRING);
        break;
    case TRACE_KIND_GUID:
        append_guid(out, r);
        break;
    case TRACE_KIND_DATE_TIME:
        append_date(out, reader_u64(r));
        break;
    case TRACE_KIND_TIME_SPAN:
        buffer_format(out, "%.7g s", (double)(int64_t)reader_u64(r) / 1e7);
        break;
    default:
        append_number(out, r, kind);
    }
}

void trace_values_text(const uint8_t *values, size_t length, const char *names, bool secret,
                       buffer *out)
{
    reader r = reader_of(values, length);

    while (!reader_at_end(&r)) {
        uint8_t number = reader_u8(&r);
        uint8_t kind = reader_u8(&r);
        uint16_t size = reader_u16(&r);
        const uint8_t *bytes = reader_bytes(&r, size);
        reader value = reader_of(bytes, size);
        size_t name_length = 0;
        const char *name = number == TRACE_RESULT ? "" : name_at(names, number, &name_length);

        if (reader_failed(&r))
            return;
        if (number == TRACE_RESULT)
            buffer_append_text(out, out->length == 0 ? "→ " : " → ");
        else if (out->length != 0)
            buffer_append_text(out, ", ");
        if (number != TRACE_RESULT && name_length != 0) {
            buffer_append(out, name, name_length);
            buffer_append_char(out, '=');
        }
        if (number == TRACE_RESULT ? secret : trace_is_secret(name, name_length))
            buffer_append_text(out, "***");
        else
            append_value(out, &value, kind);
    }
}
