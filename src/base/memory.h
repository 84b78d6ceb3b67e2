/*
 * memory: the one door for heap memory.
 *
 * Everything allocates through here, so that limits, accounting and failure injection work for all
 * code at once. The backend is libc's allocator unless a program installs another one before it
 * starts any thread (the agent: its capped own mapping; tests: the n-th allocation fails). This
 * pointer is the one piece of process-wide state in src/base.
 */
#ifndef CLARINET_BASE_MEMORY_H
#define CLARINET_BASE_MEMORY_H

#include <stddef.h>

typedef struct {
    /* size 0 frees; pointer NULL allocates; otherwise resizes. Returns NULL on failure (or free).
     */
    void *(*resize)(void *context, void *pointer, size_t size);
    void *context;
} memory_backend;

/* Installs a backend; NULL brings libc's back. Not thread-safe: call before other threads start. */
void memory_use(const memory_backend *backend);

/* Memory of `size` bytes, not cleared; NULL when there is none. size 0 gives a unique pointer. */
void *memory_allocate(size_t size);

/* The same, cleared; checks count * size for overflow. */
void *memory_allocate_array(size_t count, size_t size);

/* Resizes; on failure returns NULL and leaves `pointer` as it was. */
void *memory_resize(void *pointer, size_t size);

/* Frees; NULL is allowed. */
void memory_free(void *pointer);

/* Copies of text; NULL when there is no memory. */
char *memory_copy_text(const char *text);
char *memory_copy_text_n(const char *text, size_t length);

/* For `__attribute__((cleanup(memory_free_at)))` on a pointer variable. */
void memory_free_at(void *pointer_to_pointer);

#endif
