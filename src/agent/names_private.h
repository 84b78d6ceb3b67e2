/* names_private: between names.c (tables), resolve.c (addresses) and spell.c (texts) only. */
#ifndef CLARINET_AGENT_NAMES_PRIVATE_H
#define CLARINET_AGENT_NAMES_PRIVATE_H

#include "agent/names.h"

uint32_t names_add_method(names *n, const names_method *method);
/* Appends the type's name; "(unknown)" when the runtime does not tell. */
void names_write_class(names *n, ClassID class_id, buffer *out);
/* Appends name and parameters, sets module, token and flags; false when nothing is known. */
bool names_write_method(names *n, FunctionID function, buffer *name, buffer *parameters,
                        ModuleID *module, names_method *method);
/* Writes the module's version id into 16 bytes; returns how many were written. */
uint32_t names_write_mvid(names *n, ModuleID module, uint8_t *identity);

#endif
