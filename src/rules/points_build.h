/*
 * points_build: how a reader of files fills a set of points. Only between points_new and
 * points_finish, by one thread.
 */
#ifndef CLARINET_RULES_POINTS_BUILD_H
#define CLARINET_RULES_POINTS_BUILD_H

#include "rules/points.h"

/* A copy that lives as long as the set; NULL without memory. */
const char *points_keep(points *set, const char *text, size_t length);
/* Adds a copy of the point, whose texts are the set's or constant; false without memory, also when
 * one of its three names is NULL because there was none for it. */
bool points_add(points *set, const point *p);
/* The shim of this path (kept already) and type (NULL = as usual): the one that is there, or a new
 * one. ERROR_MEMORY, or ERROR_LIMIT when there are too many. */
int points_add_shim(points *set, const char *path, const char *type, const points_shim **shim);
void points_count_invalid(points *set);
__attribute__((format(printf, 2, 3))) void points_warn(points *set, const char *format, ...);

#endif
