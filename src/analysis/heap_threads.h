/* heap_threads: which thread a stack root belongs to, where the recording tells. */
#ifndef CLARINET_ANALYSIS_HEAP_THREADS_H
#define CLARINET_ANALYSIS_HEAP_THREADS_H

#include "analysis/heap.h"

/* Part of heap_open; false without memory. */
bool heap_threads_load(heap *h);
/* How many threads had the root's method on their stack; *thread is one of them. 0 = not known. */
size_t heap_root_threads(const heap *h, uint32_t root, const model_thread **thread);
/* As heap_root_text, and: stack of Shop.Program.Main in thread 1234 "name". */
void heap_root_text_with_thread(const heap *h, uint32_t root, buffer *out);

#endif
