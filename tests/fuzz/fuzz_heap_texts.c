/*
 * Fuzz target: contents of a heap that events tell, and classes, read from the memory of another
 * process. The
 * first byte says how many objects the events tell, in 24 bytes each: type, address, size. The rest
 * is the memory, from BASE on.
 */
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "diagnostics/class_statics.h"
#include "diagnostics/heap_texts.h"

enum { BASE = 0x10000, TOLD = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_memory(void *context, uint64_t address, void *out, size_t size)
{
    const reader *memory = context;
    size_t length = reader_left(memory);

    if (address < BASE || address - BASE >= length)
        return 0;
    length -= (size_t)(address - BASE);
    size = size < length ? size : length;
    memcpy(out, memory->position + (address - BASE), size);
    return size;
}

/* Each place must be inside of the object. */
static uint64_t places_of(const class_memory *m, uint64_t class_id, uint64_t size)
{
    class_memory_shape shape = class_memory_shape_of(m, class_id);
    class_memory_places all = class_memory_begin(&shape, size);
    class_memory_class class;
    uint64_t place, sum = 0;

    for (int i = 0; shape.is_known && i < 1000 && class_memory_next(&all, &place); i++) {
        if (place < 8 || place > size - 16)
            abort();
        sum += place;
    }
    class_memory_shape_free(&shape);
    if (class_memory_class_of(m, class_id, &class)) {
        for (uint32_t i = 0; i < class.field_count; i++)
            sum += class.fields[i].offset;
        class_memory_class_free(&class);
    }
    return sum;
}

static void count_static(void *context, const class_static *found)
{
    uint64_t *sum = context;

    *sum += found->slot;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reader memory = reader_of(data, size);
    unsigned count = reader_u8(&memory);
    reader told = memory;
    heap_texts t;
    uint64_t sum = 0;

    reader_skip(&memory, (size_t)count * TOLD);
    heap_texts_init(&t);
    t.memory = (class_memory){read_memory, &memory};
    t.is_comparing = true;
    for (unsigned i = 0; i < count && !reader_failed(&memory); i++) {
        uint64_t type = reader_u64(&told), address = reader_u64(&told), bytes = reader_u64(&told);
        heap_texts_kind kind = heap_texts_kind_of(&t, type);
        const uint16_t *text = NULL;
        uint32_t length = 0;
        uint64_t code;

        sum += places_of(&t.memory, type, bytes);
        class_statics_each(&t.memory, &(class_statics_known){type, address, (uint32_t)i}, 1,
                           count_static, &sum);
        if (kind == HEAP_TEXTS_NONE || address % 8 != 0)
            continue;
        code = heap_texts_code(&t, kind, type, address, bytes, &text, &length);
        /* a text follows: all of it must be there */
        for (uint32_t k = 0; kind == HEAP_TEXTS_STRING && code > 2 && code % 2 != 0 && k < length;
             k++)
            sum += text[k];
    }
    heap_texts_free(&t);
    return sum == UINT64_MAX ? -1 : 0;
}
