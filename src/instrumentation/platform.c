/* platform: the part that is the same on every system. */
#include "instrumentation/platform.h"

#include <stdio.h>

#include "base/os.h"

/* The date of a day since 1970, counted in years that begin in March: leap days then come last. */
void platform_time_text(char text[20])
{
    uint64_t seconds = os_realtime_ns() / 1000000000u;
    unsigned days = (unsigned)(seconds / 86400) + 719468; /* since 1 March of year 0 */
    unsigned era = days / 146097;
    unsigned day_of_era = days % 146097;
    unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153; /* 0 = March */
    unsigned day = day_of_year - (153 * month + 2) / 5 + 1;
    unsigned year = year_of_era + era * 400 + (month >= 10);

    month = month < 10 ? month + 3 : month - 9;
    snprintf(text, 20, "%04u-%02u-%02u %02u:%02u:%02u", year % 10000, month % 100, day % 100,
             (unsigned)(seconds / 3600 % 24), (unsigned)(seconds / 60 % 60),
             (unsigned)(seconds % 60));
}

uint64_t platform_unix_microseconds(void)
{
    return os_realtime_ns() / 1000;
}
