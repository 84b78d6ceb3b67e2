/*
 * blocks: memory for many small things that are freed together. Thread rules: one thread at a time.
 */
#ifndef CLARINET_RULES_BLOCKS_H
#define CLARINET_RULES_BLOCKS_H

#include <stddef.h>

typedef struct block block;

/* Everything zero is empty. */
typedef struct {
    block *first;
    size_t next_size;
} blocks;

/* Memory for anything; NULL when there is none. */
void *blocks_take(blocks *from, size_t size);
/* A copy with a zero behind it; NULL when there is no memory. */
char *blocks_take_text(blocks *from, const void *bytes, size_t length);
void blocks_free(blocks *from);

#endif
