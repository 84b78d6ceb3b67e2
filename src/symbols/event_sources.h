/*
 * event_sources: the event sources with counters that an assembly defines, by name, from its
 * metadata. What a program makes without a type of its own (`new EventSource("Shop")`) and names
 * that are put together at run time are not found. Every byte is treated as hostile. Any thread.
 */
#ifndef CLARINET_SYMBOLS_EVENT_SOURCES_H
#define CLARINET_SYMBOLS_EVENT_SOURCES_H

#include "base/buffer.h"

/* Appends each name with a comma after it. Nothing for bytes that are no assembly, or for one that
 * makes no EventCounters. */
void event_sources_append(buffer *names, const void *bytes, size_t length);

#endif
