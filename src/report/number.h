/*
 * number: a floating-point number as text, also one that is no number: a program may publish any
 * value. Spelled as Prometheus' text format does: NaN, +Inf, -Inf. No state; any thread.
 */
#ifndef CLARINET_REPORT_NUMBER_H
#define CLARINET_REPORT_NUMBER_H

enum { NUMBER_TEXT = 32, NUMBER_EXACT = 15 };

/* With so many digits at most; NUMBER_EXACT: with two more where these are not all. Returns `text`
 * or a constant. */
const char *number_text(char text[NUMBER_TEXT], int digits, double value);

#endif
