/*
 * dump: method bodies as files, before and after, for comparing what two profilers make of a
 * method.
 *
 * Per method `Type.Method-HASH.original.bin` and `Type.Method-HASH.clarinet-instrumented.bin`, the
 * whole body as the runtime gets it, and the same with .txt: header in words, hex rows of 16, and
 * the instructions with tokens as names (tokens differ between profilers, names do not). HASH tells
 * overloads and assemblies apart. A file that can't be written is left out.
 */
#ifndef CLARINET_INSTRUMENTATION_DUMP_H
#define CLARINET_INSTRUMENTATION_DUMP_H

#include <stddef.h>

#include "cil/body.h"
#include "clarinet/calls.h"
#include "instrumentation/method.h"

typedef enum { DUMP_ORIGINAL, DUMP_INSTRUMENTED } dump_kind;

void dump_body(const char *folder, dump_kind kind, const method_module *module,
               const method_facts *method, IMetaDataImport2 *import, const void *bytes,
               size_t size);

/* The name of a method's files up to the kind; exposed for tests. */
void dump_append_name(buffer *out, const char *assembly, const char *type, const char *method,
                      const char *parameters);

#endif
