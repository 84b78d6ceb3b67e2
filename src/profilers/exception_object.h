/*
 * exception_object: the message inside an exception object. The offsets are asked of the runtime
 * once and kept. Thread rules: any thread, inside a callback of the runtime that hands the object
 * over (it cannot move there). No locks: threads that ask at once find the same offsets.
 */
#ifndef CLARINET_PROFILERS_EXCEPTION_OBJECT_H
#define CLARINET_PROFILERS_EXCEPTION_OBJECT_H

#include <stdatomic.h>

#include "clarinet/clarinet.h"

typedef struct {
    atomic_uint known; /* 0 not asked yet, 1 known, 2 the runtime does not tell */
    atomic_uint message;
    atomic_uint string_length;
    atomic_uint string_start;
} exception_layout;

/* Copies up to `room` units of the message; returns how many. */
size_t exception_read_message(const clr_info *info, exception_layout *layout, ClassID class_id,
                              ObjectID object, WCHAR *units, size_t room);

#endif
