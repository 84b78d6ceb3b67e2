/*
 * recordings: makes recordings whose content is known, for tests and benchmarks.
 *
 * The small one has two processes. The first, Shop.Api (pid 4711), has 10 cpu samples of 10 ms:
 *
 *   samples  thread  stack (outermost first; file:line)
 *   4        100     Main Place:10 Price
 *   2        100     Main Place:12
 *   1        100     Main Place:10 Place:12          (recursion)
 *   2        101     Main Evil                       (a hostile name)
 *   1        102     Main Place:12 [libcoreclr.so] [libcoreclr.so] gc_heap::mark  (native)
 *
 * 3 wall samples (10 ms running, 40 ms lock, 50 ms sleep) of thread 101 in Main, and 6 exceptions
 * in 3 rows. 3 + 1 samples lost. The second, Shop.Worker (pid 4712), has 5 cpu samples of 10 ms in
 * Main and no more.
 */
#ifndef CLARINET_TESTS_SUPPORT_RECORDINGS_H
#define CLARINET_TESTS_SUPPORT_RECORDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define RECORDINGS_EVIL "Shop.Evil</script><img src=x onerror=alert(1)>;`|\"\\.Run"

/* The whole small recording, file header included. `worse` gives the same program after a change:
 * Price takes 8 samples instead of 4. */
void recordings_small(buffer *out, int worse);

typedef struct {
    uint64_t samples;
    uint32_t stacks; /* distinct leaves */
    uint32_t threads;
    uint32_t depth; /* about */
    int pack;
} recordings_size;

/* A cpu profile of any size, straight to a file. */
int recordings_write_large(const char *path, const recordings_size *size, error *e);

#endif
