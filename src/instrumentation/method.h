/*
 * method: what must be known of a method before it is instrumented: its names as the rules spell
 * them, its signature, and whether its shape can carry the template.
 *
 * Names: assembly by simple name, types as `Namespace.Outer`1+Inner`, methods as in metadata,
 * parameters as full type names joined with commas.
 * Nothing here locks; everything may run inside a callback.
 */
#ifndef CLARINET_INSTRUMENTATION_METHOD_H
#define CLARINET_INSTRUMENTATION_METHOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "clarinet/calls.h"
#include "cil/signature.h"
#include "instrumentation/targets.h"
#include "rules/shape.h"
#include "rules/version.h"

/* What a module is called. */
typedef struct {
    ModuleID id;
    AssemblyID assembly;
    buffer assembly_name;
    buffer path;
    version assembly_version; /* zero until method_read_version */
} method_module;

/* false when the module has no metadata to speak of (dynamic, being unloaded). */
bool method_module_open(const clr_info *info, ModuleID module, method_module *m);
void method_module_close(method_module *m);
/* Opens the module's metadata. For the first one who does, the runtime turns all of it into a form
 * that can be changed and is slower to read, which takes tens of milliseconds for the core library:
 * nothing that opens metadata may be done before it is known that the module matters. */
void method_read_version(const clr_info *info, method_module *m);

typedef struct {
    mdMethodDef token;
    mdTypeDef type;
    buffer type_name;
    buffer name;
    buffer parameters;       /* nested types as outer+inner */
    buffer alternative;      /* nested types by their inner name only, as older files spell them */
    cil_signature signature; /* points into the module's metadata */
    uint32_t flags;          /* CorMethodAttr */
    uint32_t impl_flags;
    uint32_t type_flags; /* of the declaring type itself */
    bool is_value_type;
    bool is_async;       /* AsyncStateMachineAttribute */
    uint32_t attributes; /* POINT_… bits from Transaction and Trace attributes */
} method_facts;

/* Reads what matching needs; false when the method can't be read. */
bool method_open(IMetaDataImport2 *import, mdMethodDef token, method_facts *facts);
void method_close(method_facts *facts);

/* The name of a type by its token (TypeDef, TypeRef): nested ones joined with '+'. */
void method_append_type_name(IMetaDataImport2 *import, mdToken type, buffer *out);

/* What decides whether the method can carry the template; valid as long as the facts. */
shape method_shape(const method_facts *facts);

/* Can a value of this type of the method's signature be boxed? false for by-refs, pointers,
 * by-ref-like types and generic parameters that may be one, and types that are not loaded yet and
 * could be one. `module` is the method's, `loaded` knows which others are there. */
bool method_can_box(const clr_info *info, targets *loaded, ModuleID module,
                    IMetaDataImport2 *import, const method_facts *facts, uint32_t type);

#endif
