/*
 * top_screen: the picture of `clarinet top`: the vital signs, the view's list, the keys. It says
 * what there is; it asks nobody. Thread rules: one thread at a time.
 */
#ifndef CLARINET_CLI_TOP_SCREEN_H
#define CLARINET_CLI_TOP_SCREEN_H

#include "cli/top_terminal.h"
#include "cli/top_views.h"

enum { TOP_FILTER = 48 };

/* What the person has chosen. */
typedef struct {
    size_t view;
    size_t sort; /* a column of the view; the label behind the last */
    char filter[TOP_FILTER];
    bool is_filtering; /* keys go into the filter */
    bool is_paused;
    bool is_over; /* the person wants to leave */
} top_choice;

/* The process as a whole; below 0 = not known. */
typedef struct {
    double cpu_percent;
    double threads;
    double memory; /* bytes */
    double heap;
    double allocated; /* bytes a second */
    double collections;
    double paused_percent;
    double longest_pause; /* ns */
    double exceptions;    /* a second */
    double waits;
    double blocked_percent;
    double served; /* requests a second */
    double made;
} top_vitals;

/* Does what a key says. */
void top_choose(top_choice *choice, int key);
/* What the model knows of the vital signs; the others are left as they are. */
int top_vitals_take(top_summary *s, top_vitals *v, error *e);
void top_screen_draw(const top_terminal *t, const top_choice *choice, const char *title,
                     const top_vitals *v, const top_rows *rows, buffer *picture);

#endif
