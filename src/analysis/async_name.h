/*
 * async_name: the source method of a task's class, where it is that of an async method.
 *
 * Thread rules: none; nothing is kept.
 */
#ifndef CLARINET_ANALYSIS_ASYNC_NAME_H
#define CLARINET_ANALYSIS_ASYNC_NAME_H

#include <stddef.h>

/* "" = the class is not that of an async method. A name that is too long is cut. */
void async_name(const char *type, char *name, size_t size);

#endif
