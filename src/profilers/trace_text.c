/* trace_text: see trace_text.h. */
#include "profilers/trace_text.h"

#include <string.h>

#include "profilers/trace_counters.h"

enum { SECONDS_OF_DAY = 86400, TICKS_OF_SECOND = 10000000 };

/* A number of `count` digits, and what stands behind it (0 = nothing); returns the new end. */
static uint8_t *put(uint8_t *out, uint64_t number, unsigned base, unsigned count, char after)
{
    for (unsigned n = count; n-- > 0; number /= base) {
        out[2 * n] = (uint8_t) "0123456789abcdef"[number % base];
        out[2 * n + 1] = 0;
    }
    out += 2 * count;
    if (after == 0)
        return out;
    out[0] = (uint8_t)after;
    out[1] = 0;
    return out + 2;
}

static uint8_t *put_guid(uint8_t *out, const uint8_t *bytes)
{
    uint32_t first;
    uint16_t others[2];

    memcpy(&first, bytes, sizeof first);
    memcpy(others, bytes + 4, sizeof others);
    out = put(out, first, 16, 8, '-');
    out = put(out, others[0], 16, 4, '-');
    out = put(out, others[1], 16, 4, '-');
    for (int n = 8; n < 16; n++)
        out = put(out, bytes[n], 16, 2, n == 9 ? '-' : 0);
    return out;
}

/* A day since the first of January of the year 1, which is 0. */
static uint8_t *put_day(uint8_t *out, uint64_t days, char after)
{
    uint64_t era, day_of_era, year_of_era, day_of_year, month, day;

    days += 306; /* years that begin in March make the leap day the last one */
    era = days / 146097;
    day_of_era = days % 146097;
    year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    month = (5 * day_of_year + 2) / 153;
    day = day_of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    out = put(out, year_of_era + era * 400 + (month <= 2), 10, 4, '-');
    out = put(out, month, 10, 2, '-');
    return put(out, day, 10, 2, after);
}

static uint8_t *put_time(uint8_t *out, uint64_t seconds)
{
    out = put(out, seconds / 3600, 10, 2, ':');
    out = put(out, seconds / 60 % 60, 10, 2, ':');
    return put(out, seconds % 60, 10, 2, 0);
}

static uint8_t *put_date(uint8_t *out, uint64_t seconds)
{
    return put_time(put_day(out, seconds / SECONDS_OF_DAY, ' '), seconds % SECONDS_OF_DAY);
}

static uint8_t *put_offset(uint8_t *out, int minutes)
{
    unsigned size = (unsigned)(minutes < 0 ? -minutes : minutes);

    out = put(out, 0, 10, 0, ' ');
    out = put(out, 0, 10, 0, minutes < 0 ? '-' : '+');
    out = put(out, size / 60, 10, 2, ':');
    return put(out, size % 60, 10, 2, 0);
}

bool trace_value_is_text(uint8_t kind)
{
    return kind == TRACE_KIND_GUID || kind == TRACE_KIND_DATE_TIME ||
           (kind >= TRACE_KIND_DATE_ONLY && kind <= TRACE_KIND_DATE_TIME_OFFSET);
}

size_t trace_value_text(uint8_t kind, const uint8_t *bytes, uint8_t *out)
{
    uint64_t ticks = 0; /* of 100 ns; of a DateTime the upper two bits tell the zone's kind */
    int32_t minutes;
    const uint8_t *end;

    memcpy(&ticks, bytes, kind == TRACE_KIND_DATE_ONLY ? 4 : 8);
    ticks &= 0x3FFFFFFFFFFFFFFFu;
    switch (kind) {
    case TRACE_KIND_GUID:
        end = put_guid(out, bytes);
        break;
    case TRACE_KIND_DATE_ONLY:
        end = put_day(out, ticks, 0);
        break;
    case TRACE_KIND_TIME_ONLY:
        end = put_time(out, ticks / TICKS_OF_SECOND);
        break;
    case TRACE_KIND_DATE_TIME_OFFSET:
        memcpy(&minutes, bytes + 8, sizeof minutes);
        end = put_offset(put_date(out, ticks / TICKS_OF_SECOND + (uint64_t)((int64_t)minutes * 60)),
                         minutes);
        break;
    default:
        end = put_date(out, ticks / TICKS_OF_SECOND);
    }
    return (size_t)(end - out) / 2;
}
