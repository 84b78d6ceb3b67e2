/*
 * exception_object: what is read from exception objects: class, message and inner exceptions. The
 * offsets are asked of the runtime once and kept. Thread rules: any thread, inside a callback of
 * the runtime that hands the object over (nothing moves there). No locks: threads that ask at once
 * find the same offsets.
 */
#ifndef CLARINET_PROFILERS_EXCEPTION_OBJECT_H
#define CLARINET_PROFILERS_EXCEPTION_OBJECT_H

#include <stdatomic.h>

#include "clarinet/clarinet.h"

typedef struct {
    atomic_uint known; /* 0 not asked yet, 1 known, 2 the runtime does not tell */
    atomic_uint message;
    atomic_uint inner;
    atomic_uint string_length;
    atomic_uint string_start;
} exception_layout;

/* A text inside the heap; valid until the callback returns. */
typedef struct {
    const WCHAR *units;
    size_t count;
    bool is_cut;
} exception_text;

/* Learns the layout from the class of any exception; 0 when the runtime does not tell it. */
int exception_learn(const clr_info *info, exception_layout *layout, ClassID class_id);
/* The message, at most `limit` units of it; empty when there is none or the layout is not known. */
exception_text exception_message(exception_layout *layout, ObjectID object, size_t limit);
/* The inner exception; 0 when there is none or the layout is not known. */
ObjectID exception_inner(exception_layout *layout, ObjectID object);

/* The word that stands for the class in the object itself: the same for all objects of a class. */
static inline uintptr_t exception_type_word(ObjectID object)
{
    return *(const uintptr_t *)object & ~(uintptr_t)7;
}

#endif
