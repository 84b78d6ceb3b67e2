/* number: see number.h. */
#include "report/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *number_text(char text[NUMBER_TEXT], int digits, double value)
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    snprintf(text, NUMBER_TEXT, "%.*g", digits, value);
    if (digits == NUMBER_EXACT && strtod(text, NULL) != value)
        snprintf(text, NUMBER_TEXT, "%.17g", value);
    return text;
}
