/*
 * heap_follow: what an object keeps in a field of a name, also where a snapshot that was taken
 * without the agent has no names: for the few fields of the framework that the rules need, the
 * types of what an object refers to say as much. Thread rules: any number of readers.
 */
#ifndef CLARINET_ANALYSIS_HEAP_FOLLOW_H
#define CLARINET_ANALYSIS_HEAP_FOLLOW_H

#include "analysis/heap.h"

bool heap_is_delegate(const heap *h, uint32_t node);
/* 0 = nothing, or not known. */
uint32_t heap_follow(const heap *h, uint32_t node, const char *field);

#endif
