/*
 * allocation_events: how an allocation that the runtime chose at random (since 10.0) is weighed, in
 * the agent and in the runtime's event stream. No state; any thread.
 */
#ifndef CLARINET_CLR_ALLOCATION_EVENTS_H
#define CLARINET_CLR_ALLOCATION_EVENTS_H

#define ALLOCATION_MEAN_DISTANCE 102400.0 /* bytes from one sample to the next */

/* 1 - exp(-x) for x >= 0, to about 1e-12: a series near 0, and what halves there is squared. */
static inline double allocation_chance(double x)
{
    unsigned halvings = 0;
    double term;
    double sum = 0; /* of 1 - exp(-x) */

    while (x > 0.25) {
        x /= 2;
        halvings++;
    }
    term = x;
    for (unsigned i = 2; i < 14; i++) {
        sum += term;
        term *= -x / i;
    }
    for (; halvings > 0; halvings--)
        sum = sum * (2 - sum); /* 1 - (1 - p)^2 */
    return sum;
}

#endif
