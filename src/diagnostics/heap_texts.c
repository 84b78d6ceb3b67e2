/* heap_texts: see heap_texts.h. */
#include "diagnostics/heap_texts.h"

#include <string.h>

#include "base/memory.h"

enum {
    PIECE = 256 << 10, /* also the largest string that is read */
    MOST_NUMBERS = 1 << 23,
    NEW = 0, /* codes */
    NOT_COMPARED = 1,
    FIRST = 2,
    STRING_BASE = 22,
    STRING_TEXT = 12,
    ARRAY_BASE = 24,
    LARGEST_ARRAY = 512,
    CONTENT = 8,                 /* behind an object's type: the length and what follows */
    HAS_REFERENCES = 0x01000000, /* of a type */
    HAS_FINALIZER = 0x00100000,
    IS_FINALIZED = 0x40000000, /* in the half word before an object */
};
#define HAS_ELEMENTS UINT32_C(0x80000000)

void heap_texts_init(heap_texts *t)
{
    memset(t, 0, sizeof *t);
    table_u64_init(&t->numbers);
}

void heap_texts_free(heap_texts *t)
{
    table_u64_free(&t->numbers);
    memory_free(t->piece);
    t->piece = NULL;
}

void heap_texts_clear(heap_texts *t)
{
    table_u64_free(&t->numbers);
    table_u64_init(&t->numbers);
    t->next = t->not_compared = 0;
    t->length = 0;
}

heap_texts_kind heap_texts_kind_of(heap_texts *t, uint64_t type_id)
{
    uint32_t words[2]; /* flags, and bytes of an element in the low half; bytes of an instance */

    if (t->memory.read == NULL ||
        t->memory.read(t->memory.context, type_id, words, sizeof words) != sizeof words)
        return HEAP_TEXTS_NONE;
    if ((words[0] & HAS_ELEMENTS) == 0)
        return (words[0] & HAS_FINALIZER) != 0 ? HEAP_TEXTS_FINALIZABLE : HEAP_TEXTS_NONE;
    if ((words[0] & HAS_REFERENCES) != 0 || !t->is_comparing)
        return HEAP_TEXTS_NONE;
    if ((words[0] & 0xffff) == 2 && words[1] == STRING_BASE)
        return HEAP_TEXTS_STRING;
    return words[1] == ARRAY_BASE ? HEAP_TEXTS_ARRAY : HEAP_TEXTS_NONE;
}

/* Objects come in the order of their addresses, so what follows is read with it. */
const uint8_t *heap_texts_bytes(heap_texts *t, uint64_t address, uint64_t size)
{
    if (size > PIECE || (t->piece == NULL && (t->piece = memory_allocate(PIECE)) == NULL))
        return NULL;
    if (address < t->start || address - t->start > t->length ||
        size > t->length - (address - t->start)) {
        t->start = address;
        t->length = t->memory.read(t->memory.context, address, t->piece, PIECE);
        if (t->length < size)
            t->length = t->memory.read(t->memory.context, address, t->piece, (size_t)size);
    }
    return t->length < size ? NULL : t->piece + (address - t->start);
}

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t hash = size, word;

    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = table_hash_u64(hash * 0x9e3779b97f4a7c15u ^ word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return table_hash_u64(hash * 0x9e3779b97f4a7c15u ^ word);
}

/* A length that does not fit the size is not believed: the object is another one by now. */
static bool is_it(const uint8_t *object, heap_texts_kind kind, uint64_t type_id, uint64_t size)
{
    uint64_t type;
    uint32_t length;

    memcpy(&type, object, sizeof type);
    memcpy(&length, object + CONTENT, sizeof length);
    if ((type & ~UINT64_C(7)) != type_id)
        return false;
    return kind != HEAP_TEXTS_STRING ||
           (STRING_BASE + (uint64_t)length * 2 + 7) / 8 == (size + 7) / 8;
}

static uint64_t code_of(heap_texts *t, uint64_t hash)
{
    size_t before = t->numbers.count;
    uint64_t *value = before < MOST_NUMBERS ? table_u64_at(&t->numbers, hash, 0) : NULL;
    uint64_t code;

    if (value == NULL)
        return NOT_COMPARED;
    if (t->numbers.count != before) {
        *value = t->next++ << 1;
        return NEW;
    }
    code = (*value & ~UINT64_C(1)) + FIRST + ((*value & 1) == 0);
    *value |= 1;
    return code;
}

uint64_t heap_texts_code(heap_texts *t, heap_texts_kind kind, uint64_t type_id, uint64_t address,
                         uint64_t size, const uint16_t **text, uint32_t *length)
{
    const uint8_t *object;
    uint64_t code = NOT_COMPARED;

    if (kind == HEAP_TEXTS_ARRAY && (size > LARGEST_ARRAY || size < 2 * CONTENT))
        return NOT_COMPARED;
    object = size < 2 * CONTENT ? NULL : heap_texts_bytes(t, address, size);
    if (object != NULL && is_it(object, kind, type_id, size)) {
        memcpy(length, object + CONTENT, sizeof *length);
        *text = (const uint16_t *)(const void *)(object + STRING_TEXT);
        code = kind == HEAP_TEXTS_STRING
                   ? code_of(t, hash_of(object + STRING_TEXT, (size_t)*length * 2))
                   : code_of(t, ~hash_of(object + CONTENT, (size_t)size - CONTENT));
    }
    t->not_compared += code == NOT_COMPARED && kind == HEAP_TEXTS_STRING;
    return code;
}

bool heap_texts_is_finalized(heap_texts *t, uint64_t type_id, uint64_t address, bool *is_finalized)
{
    uint64_t words[2]; /* what stands before the object, and its type */
    const uint8_t *bytes = heap_texts_bytes(t, address - sizeof *words, sizeof words);

    if (bytes == NULL)
        return false;
    memcpy(words, bytes, sizeof words);
    if ((words[1] & ~UINT64_C(7)) != type_id)
        return false;
    *is_finalized = (words[0] >> 32 & IS_FINALIZED) != 0;
    return true;
}
