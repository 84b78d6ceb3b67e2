/*
 * table: hash maps. table_u64 maps a number to a number, table_text maps bytes (copied) to a
 * number. Open addressing, power-of-two sizes, at most 2/3 full, no removal. Key 0 is a key like
 * any other. Thread rules: one thread at a time; nothing here is signal-safe.
 */
#ifndef CLARINET_BASE_TABLE_H
#define CLARINET_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t key;
    uint64_t value;
    bool used;
} table_u64_slot;

typedef struct {
    table_u64_slot *slots;
    size_t capacity;
    size_t count;
} table_u64;

void table_u64_init(table_u64 *t);
void table_u64_free(table_u64 *t);
/* false when there is no memory; an existing key gets the new value. */
bool table_u64_put(table_u64 *t, uint64_t key, uint64_t value);
bool table_u64_get(const table_u64 *t, uint64_t key, uint64_t *value);
/* The value's place, made with `initial` when the key is new; NULL when there is no memory.
 * Valid until the next put. */
uint64_t *table_u64_at(table_u64 *t, uint64_t key, uint64_t initial);

typedef struct {
    char *key; /* NULL = free */
    size_t length;
    uint64_t hash;
    uint64_t value;
} table_text_slot;

typedef struct {
    table_text_slot *slots;
    size_t capacity;
    size_t count;
} table_text;

void table_text_init(table_text *t);
void table_text_free(table_text *t);
bool table_text_put(table_text *t, const char *key, size_t length, uint64_t value);
bool table_text_get(const table_text *t, const char *key, size_t length, uint64_t *value);
uint64_t *table_text_at(table_text *t, const char *key, size_t length, uint64_t initial);

/* The hash functions, for whoever builds a table of another kind. */
uint64_t table_hash_u64(uint64_t key);
uint64_t table_hash_bytes(const void *bytes, size_t length);

#endif
