/*
 * loaded: the class of a type, where it is loaded, without loading it. The runtime has no such
 * question: asked for a class it loads it, and crashes when it has to on a thread that is none of
 * its own, as the agent's is. Types of fields need not be loaded: enumerations are not.
 *
 * Each module has a map from type tokens to classes. Where the module keeps it differs from version
 * to version: it must lead to every one of some classes that every program has loaded. No single
 * such place: nothing is known.
 *
 * Thread rules: any thread that may call the runtime. Its memory is only read through the kernel.
 */
#ifndef CLARINET_AGENT_LOADED_H
#define CLARINET_AGENT_LOADED_H

#include "clarinet/clarinet.h"

enum { LOADED_MOST_ARGUMENTS = 16 };

/* Where the module's map has the type of a row; 0 = the map ends before it, or is not known. */
uint64_t loaded_entry(const clr_info *info, ModuleID module, uint32_t row);
/* 0 = not loaded, or not known. */
ClassID loaded_class(const clr_info *info, ModuleID module, mdTypeDef token);
/* The same of a type that is the field of a class, or its instance. On a thread of the runtime's
 * own, which may load, it is the very class. On others it has System.__Canon for all references in
 * its arguments: that one is loaded with every class that has such a field, of the same layout. */
ClassID loaded_class_with(const clr_info *info, ModuleID module, mdTypeDef token,
                          const ClassID *arguments, uint32_t count);

#endif
