/*
 * heap_names: what the events of a heap leave out of its names (outer classes, classes of static
 * fields), from the assemblies that the process has mapped. Thread rules: one thread at a time.
 */
#ifndef CLARINET_SESSION_HEAP_NAMES_H
#define CLARINET_SESSION_HEAP_NAMES_H

#include "diagnostics/import.h"
#include "symbols/type_index.h"

/* Reads them; what cannot be read is not known. The answer asks `index`, which the caller frees. */
import_namer heap_names_read(type_index *index, int process_id);

#endif
