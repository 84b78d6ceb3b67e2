/*
 * tables: the columns of the tables that more than one writer fills: the profilers in the target,
 * and outside of it the import of the runtime's event stream and the looks
 * from outside. docs/recording.md says what they
 * mean. Columns are only ever added, at the end.
 *
 * A list is used twice by who writes rows, for the places of the cells and for the definition:
 *
 *     enum { TABLES_WAITS(TABLES_CELL) COLUMNS };
 *     static const recording_column WAIT_COLUMNS[COLUMNS] = {TABLES_WAITS(TABLES_COLUMN)};
 *
 * Constant; any thread.
 */
#ifndef CLARINET_RECORDING_TABLES_H
#define CLARINET_RECORDING_TABLES_H

#include "recording/encode.h"

#define TABLES_CELL(cell, type, name, unit)   cell,
#define TABLES_COLUMN(cell, type, name, unit) {type, name, unit},
#define TABLES_ONE(cell, type, name, unit)    1 +

/* X(cell, type, name, unit) */
#define TABLES_SAMPLES(X)                                                                          \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(WEIGHT, RECORDING_DURATION, "weight", "")                                                    \
    X(STATE, RECORDING_U64, "state", "")

#define TABLES_EXCEPTIONS(X)                                                                       \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(TYPE, RECORDING_STRING_ID, "type", "")                                                       \
    X(MESSAGE, RECORDING_STRING_ID, "message", "")                                                 \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(CAUGHT_IN, RECORDING_METHOD_ID, "caught_in", "")                                             \
    X(FLAGS, RECORDING_U64, "flags", "")                                                           \
    X(COUNT, RECORDING_U64, "count", "")                                                           \
    X(INNER, RECORDING_STRING_ID, "inner", "")                                                     \
    X(ROW, RECORDING_U64, "row", "")

#define TABLES_WAITS(X)                                                                            \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(WEIGHT, RECORDING_DURATION, "weight", "")                                                    \
    X(OWNER, RECORDING_THREAD_ID, "owner", "")                                                     \
    X(TYPE, RECORDING_STRING_ID, "type", "")                                                       \
    X(KIND, RECORDING_U64, "kind", "")                                                             \
    X(FLAGS, RECORDING_U64, "flags", "")                                                           \
    X(COUNT, RECORDING_U64, "count", "")

#define TABLES_HOLDERS(X)                                                                          \
    X(HOLDER_TIME, RECORDING_TIME, "time", "")                                                     \
    X(HOLDER_THREAD, RECORDING_THREAD_ID, "thread", "")                                            \
    X(HOLDER_STACK, RECORDING_STACK_ID, "stack", "")                                               \
    X(HOLDER_STOOD, RECORDING_DURATION, "stood", "")

#define TABLES_ALLOCATIONS(X)                                                                      \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(TYPE, RECORDING_STRING_ID, "type", "")                                                       \
    X(BYTES, RECORDING_U64, "bytes", "bytes")                                                      \
    X(SIZE, RECORDING_U64, "size", "bytes")                                                        \
    X(KIND, RECORDING_U64, "kind", "")                                                             \
    X(COUNT, RECORDING_U64, "count", "")

#define TABLES_COMPILATIONS(X)                                                                     \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(METHOD, RECORDING_METHOD_ID, "method", "")                                                   \
    X(NAME, RECORDING_STRING_ID, "name", "")                                                       \
    X(WEIGHT, RECORDING_DURATION, "weight", "")                                                    \
    X(TIER, RECORDING_U64, "tier", "")                                                             \
    X(IL_SIZE, RECORDING_U64, "il_size", "bytes")                                                  \
    X(CODE_SIZE, RECORDING_U64, "code_size", "bytes")

#define TABLES_COLLECTIONS(X)                                                                      \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(NUMBER, RECORDING_U64, "number", "")                                                         \
    X(GENERATION, RECORDING_U64, "generation", "")                                                 \
    X(REASON, RECORDING_U64, "reason", "")                                                         \
    X(KIND, RECORDING_U64, "kind", "")                                                             \
    X(DURATION, RECORDING_DURATION, "duration", "")                                                \
    X(PAUSE, RECORDING_DURATION, "pause", "")                                                      \
    X(SUSPENDING, RECORDING_DURATION, "suspending", "")                                            \
    X(GEN0, RECORDING_U64, "gen0", "bytes")                                                        \
    X(GEN1, RECORDING_U64, "gen1", "bytes")                                                        \
    X(GEN2, RECORDING_U64, "gen2", "bytes")                                                        \
    X(LOH, RECORDING_U64, "loh", "bytes")                                                          \
    X(POH, RECORDING_U64, "poh", "bytes")                                                          \
    X(PROMOTED, RECORDING_U64, "promoted", "bytes")                                                \
    X(FINALIZED, RECORDING_U64, "finalization_promoted", "")                                       \
    X(PINNED, RECORDING_U64, "pinned", "")                                                         \
    X(HANDLES, RECORDING_U64, "handles", "")                                                       \
    X(COMPACTING, RECORDING_U64, "compacting", "")                                                 \
    X(MEMORY_LOAD, RECORDING_U64, "memory_load", "percent")                                        \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(ALLOCATED, RECORDING_U64, "allocated", "bytes")                                              \
    X(COLLECTED, RECORDING_U64, "collected_size", "bytes")                                         \
    X(FREE, RECORDING_U64, "free", "bytes")                                                        \
    X(SINCE_STOP, RECORDING_DURATION, "since_stop", "")

#define TABLES_PAUSES(X)                                                                           \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(WEIGHT, RECORDING_DURATION, "weight", "")                                                    \
    X(SUSPENDING, RECORDING_DURATION, "suspending", "")                                            \
    X(REASON, RECORDING_U64, "reason", "")                                                         \
    X(LAST_THREAD, RECORDING_THREAD_ID, "last_thread", "")                                         \
    X(LAST_AFTER, RECORDING_DURATION, "last_after", "")

#define TABLES_REQUESTS(X)                                                                         \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(KIND, RECORDING_U64, "kind", "")                                                             \
    X(NAME, RECORDING_STRING_ID, "name", "")                                                       \
    X(STATUS, RECORDING_U64, "status", "")                                                         \
    X(WEIGHT, RECORDING_DURATION, "weight", "ns")                                                  \
    X(STATE, RECORDING_U64, "state", "")                                                           \
    X(INSIDE, RECORDING_STRING_ID, "inside", "")                                                   \
    X(ERROR, RECORDING_STRING_ID, "error", "")                                                     \
    X(ID, RECORDING_U64, "id", "")

#define TABLES_COUNTERS(X)                                                                         \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(PROVIDER, RECORDING_STRING_ID, "provider", "")                                               \
    X(NAME, RECORDING_STRING_ID, "name", "")                                                       \
    X(TITLE, RECORDING_STRING_ID, "title", "")                                                     \
    X(UNIT, RECORDING_STRING_ID, "unit", "")                                                       \
    X(KIND, RECORDING_U64, "kind", "")                                                             \
    X(INTERVAL, RECORDING_U64, "interval", "ns")                                                   \
    X(VALUE, RECORDING_F64, "value", "")

/* The same, and what tells series of one name apart. */
#define TABLES_METERS(X) TABLES_COUNTERS(X) X(TAGS, RECORDING_STRING_ID, "tags", "")

#define TABLES_HEAP_TYPES(X)                                                                       \
    X(NUMBER, RECORDING_U64, "number", "")                                                         \
    X(CLASS, RECORDING_U64, "class", "")                                                           \
    X(SIZE, RECORDING_U64, "size", "bytes")                                                        \
    X(NAME, RECORDING_STRING_ID, "name", "")                                                       \
    X(ASSEMBLY, RECORDING_STRING_ID, "assembly", "")                                               \
    X(FLAGS, RECORDING_U64, "flags", "")                                                           \
    X(ELEMENT, RECORDING_U64, "element", "bytes")                                                  \
    X(DATA, RECORDING_U64, "data", "bytes")

#define TABLES_HEAP_FUNCTIONS(X)                                                                   \
    X(FUNCTION, RECORDING_U64, "function", "")                                                     \
    X(METHOD, RECORDING_METHOD_ID, "method", "")

#define TABLES_THREADS(X)                                                                          \
    X(TIME, RECORDING_TIME, "time", "")                                                            \
    X(THREAD, RECORDING_THREAD_ID, "thread", "")                                                   \
    X(MANAGED_ID, RECORDING_U64, "managed_id", "")                                                 \
    X(STACK, RECORDING_STACK_ID, "stack", "")                                                      \
    X(CPU, RECORDING_DURATION, "cpu", "")                                                          \
    X(WAITS_FOR, RECORDING_U64, "waits_for", "")                                                   \
    X(OBJECT, RECORDING_U64, "object", "")                                                         \
    X(OBJECT_TYPE, RECORDING_STRING_ID, "object_type", "")                                         \
    X(OWNER, RECORDING_U64, "owner", "")                                                           \
    X(WAITERS, RECORDING_U64, "waiters", "")                                                       \
    X(WAITED, RECORDING_DURATION, "waited", "")                                                    \
    X(LOOK, RECORDING_U64, "look", "")                                                             \
    X(NATIVE, RECORDING_U64, "native", "")                                                         \
    X(NATIVE_STATE, RECORDING_U64, "native_state", "")

/* Of the tool: semaphores and mutexes in fields, by the code of the methods on stacks. */
/* What a frame's method has to do with the lock in a static field; or, of the call where it stands,
 * whether its wait ends after a time at the latest; or with a lock in a field of an object. */
typedef enum {
    TABLES_GATE_WAITED,
    TABLES_GATE_HELD,
    TABLES_GATE_LIMITED,
    TABLES_GATE_ENDLESS,
    TABLES_GATE_WAITED_OF,
    TABLES_GATE_HELD_OF
} tables_gate;

#define TABLES_GATES(X)                                                                            \
    X(GATE_FRAME, RECORDING_FRAME_ID, "frame", "")                                                 \
    X(GATE_HELD, RECORDING_U64, "held", "")                                                        \
    X(GATE_FIELD, RECORDING_STRING_ID, "field", "")

/* Of the tool: value types that the method of a frame boxes, or its statement copies. */
#define TABLES_VALUES(X)                                                                           \
    X(VALUE_FRAME, RECORDING_FRAME_ID, "frame", "")                                                \
    X(VALUE_BOXED, RECORDING_U64, "boxed", "")                                                     \
    X(VALUE_TYPE, RECORDING_STRING_ID, "type", "")                                                 \
    X(VALUE_BYTES, RECORDING_U64, "bytes", "bytes")

/* Of the tool: callees that the statement of a frame has by its code. */
typedef enum {
    TABLES_CALLEE_CONCAT = 1, /* String.Concat */
    TABLES_CALLEE_LINQ,
} tables_callee;
#define TABLES_CALLEES(X)                                                                          \
    X(CALLEE_FRAME, RECORDING_FRAME_ID, "frame", "")                                               \
    X(CALLEE_KIND, RECORDING_U64, "kind", "")

#define TABLES_LOOKS(X)                                                                            \
    X(LOOK_TIME, RECORDING_TIME, "time", "")                                                       \
    X(LOOK_NUMBER, RECORDING_U64, "look", "")                                                      \
    X(LOOK_SUSPENSION, RECORDING_DURATION, "suspension", "")                                       \
    X(LOOK_THREADS, RECORDING_U64, "threads", "")

/* Who started a thread: `native` is the new one's, as in TABLES_THREADS. */
#define TABLES_STARTS(X)                                                                           \
    X(START_TIME, RECORDING_TIME, "time", "")                                                      \
    X(START_THREAD, RECORDING_THREAD_ID, "thread", "")                                             \
    X(START_STACK, RECORDING_STACK_ID, "stack", "")                                                \
    X(START_NATIVE, RECORDING_U64, "native", "")

#endif
