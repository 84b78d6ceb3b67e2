/*
 * heap_fields: names for the places where objects keep references: "items", "pair.first" for a
 * field of a struct inside. Each type and place that was met is named once.
 *
 * Thread rules: the agent's own thread, while the program runs.
 */
#ifndef CLARINET_AGENT_HEAP_FIELDS_H
#define CLARINET_AGENT_HEAP_FIELDS_H

#include "agent/heap_record.h"
#include "agent/names.h"

/* Whether the runtime may be asked about a type of the heap as it was: most cannot be unloaded. For
 * who names with names.is_lasting. */
bool heap_fields_may_ask(names *n, const heap_record_type *type);

/* Called for each place: the type's number, bytes from the object's start (of an array: from the
 * start of the element), a string id. */
typedef void heap_fields_found(void *context, uint32_t type, uint32_t place, uint32_t name);
/* `kind`: the CorElementType of the field, or of the innermost one of a struct. */
typedef void heap_fields_value_found(void *context, uint32_t type, uint32_t place, uint32_t name,
                                     uint32_t kind);
void heap_fields_name(names *n, const heap_record *r, heap_fields_found *found, void *context);
/* The same for the places of values, of the types whose values are written. */
void heap_fields_name_values(names *n, const heap_record *r, heap_fields_value_found *found,
                             void *context);
/* Called for each await of an async method: the type's number of its box, the await's number, a
 * frame. */
void heap_fields_name_awaits(names *n, const heap_record *r, heap_fields_found *found,
                             void *context);
/* RECORDING_TYPE_… of a type that was met. */
uint32_t heap_fields_flags(const heap_record *r, uint32_t type);

#endif
