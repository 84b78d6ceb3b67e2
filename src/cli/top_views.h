/*
 * top_views: the lists that `clarinet top` can show, each made of a model of the last seconds. A
 * view is a row of TOP_VIEWS. Thread rules: one thread at a time.
 */
#ifndef CLARINET_CLI_TOP_VIEWS_H
#define CLARINET_CLI_TOP_VIEWS_H

#include "cli/top_summary.h"

enum { TOP_VALUES = 4 };

typedef enum { TOP_PERCENT, TOP_RATE, TOP_BYTES, TOP_TIME, TOP_COUNT } top_format;

typedef struct {
    double values[TOP_VALUES];
    char *label;
} top_row;

typedef struct {
    top_row *items;
    size_t count;
    size_t capacity;
} top_rows;

typedef struct {
    const char *title;
    const char *label;
    struct {
        const char *name; /* NULL = no further one */
        top_format format;
    } columns[TOP_VALUES];
    /* Of a model with a process. */
    int (*fill)(top_summary *s, top_rows *rows, error *e);
} top_view;

/* Closed by a row without a title. */
extern const top_view TOP_VIEWS[];

/* The number of columns with values. */
size_t top_view_columns(const top_view *view);
/* Only rows whose label has this text in it (case aside), those with the same label as one; sorted
 * by a column, the largest first, or by label when `sort` is behind the last. */
void top_rows_arrange(top_rows *rows, const top_view *view, const char *filter, size_t sort);
void top_rows_free(top_rows *rows);
/* A value in at most 9 characters. */
void top_format_value(top_format format, double value, char out[24]);

#endif
