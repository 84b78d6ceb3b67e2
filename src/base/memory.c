/* memory: see memory.h. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *context, void *pointer, size_t size);

static memory_backend current = {libc_resize, NULL};

void memory_use(const memory_backend *backend)
{
    if (backend != NULL) {
        current = *backend;
    } else {
        current.resize = libc_resize;
        current.context = NULL;
    }
}

void *memory_allocate(size_t size)
{
    return current.resize(current.context, NULL, size == 0 ? 1 : size);
}

void *memory_allocate_array(size_t count, size_t size)
{
    void *pointer;

    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    pointer = memory_allocate(count * size);
    if (pointer != NULL)
        memset(pointer, 0, count * size);
    return pointer;
}

void *memory_resize(void *pointer, size_t size)
{
    return current.resize(current.context, pointer, size == 0 ? 1 : size);
}

void memory_free(void *pointer)
{
    if (pointer != NULL)
        current.resize(current.context, pointer, 0);
}

char *memory_copy_text(const char *text)
{
    return memory_copy_text_n(text, strlen(text));
}

char *memory_copy_text_n(const char *text, size_t length)
{
    char *copy = memory_allocate(length + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void memory_free_at(void *pointer_to_pointer)
{
    memory_free(*(void **)pointer_to_pointer);
}

static void *libc_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, size);
}
