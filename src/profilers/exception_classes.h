/*
 * exception_classes: the exception classes met so far, each with a place of its own and a count of
 * what was thrown beyond the allowance. A class is named when it is first thrown, inside the
 * callback, while it certainly exists; from then on only its place is spoken of. Classes that can
 * be unloaded are forgotten when a module goes, because another class may get their id; counts stay
 * with the place, under the name it had.
 *
 * Thread rules: find, claim, publish, count and forget on any thread, without locks; reset, take
 * and recycle on the own thread. Zeroed memory is an empty one.
 */
#ifndef CLARINET_PROFILERS_EXCEPTION_CLASSES_H
#define CLARINET_PROFILERS_EXCEPTION_CLASSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXCEPTION_CLASSES = 1024 };

typedef struct {
    struct {
        _Atomic uintptr_t key;     /* ClassID */
        atomic_uint_fast64_t word; /* generation << 40 | count */
        atomic_bool lasting;       /* cannot be unloaded */
    } places[EXCEPTION_CLASSES];
} exception_classes;

/* A class by its place; the generation tells its users apart. */
typedef struct {
    uint32_t place;
    uint32_t generation;
} exception_class;

bool exception_classes_find(exception_classes *c, uintptr_t key, exception_class *found);
/* Takes a free place near the key's; it is found by others once it is published. */
bool exception_classes_claim(exception_classes *c, uintptr_t key, exception_class *found);
void exception_classes_publish(exception_classes *c, const exception_class *claimed, uintptr_t key,
                               bool lasting);
/* Gives a claimed place back. */
void exception_classes_abandon(exception_classes *c, const exception_class *claimed);
/* false when the place has another user by now. */
bool exception_classes_count(exception_classes *c, const exception_class *class);
/* A module is going: whatever may be of it is not found any more. */
void exception_classes_forget(exception_classes *c);

/* Forgets all. Callbacks may still run: what they count late is lost. */
void exception_classes_reset(exception_classes *c);
/* Takes the count out; false when it is 0. */
bool exception_classes_take(exception_classes *c, uint32_t place, uint32_t *generation,
                            uint64_t *count);
/* Puts a count back that was just taken. */
void exception_classes_return(exception_classes *c, uint32_t place, uint64_t count);
/* Frees a forgotten place for another class. */
void exception_classes_recycle(exception_classes *c, uint32_t place);

#endif
