/* loaded_type: see loaded_type.h. */
#include "agent/loaded_type.h"

#include <string.h>

#include "agent/loaded.h"
#include "base/buffer.h"
#include "base/text.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"

static const char CORE_LIBRARY[] = "System.Private.CoreLib";

const loaded_type_simple LOADED_TYPES_SIMPLE[LOADED_TYPE_SIMPLE] = {
    {"Boolean", CIL_TYPE_BOOLEAN}, {"Char", CIL_TYPE_CHAR},        {"SByte", CIL_TYPE_I1},
    {"Byte", CIL_TYPE_U1},         {"Int16", CIL_TYPE_I2},         {"UInt16", CIL_TYPE_U2},
    {"Int32", CIL_TYPE_I4},        {"UInt32", CIL_TYPE_U4},        {"Int64", CIL_TYPE_I8},
    {"UInt64", CIL_TYPE_U8},       {"Single", CIL_TYPE_R4},        {"Double", CIL_TYPE_R8},
    {"IntPtr", CIL_TYPE_INT_PTR},  {"UIntPtr", CIL_TYPE_UINT_PTR}, {"String", CIL_TYPE_STRING},
};

/* ---- by token ---- */

/* A type that another module defines, looked for by name in all of them: several assemblies may
 * have one of that name, each of another layout. */
typedef struct {
    const clr_info *info;
    const char *name;     /* Outer+Inner */
    const char *assembly; /* where the reference says it is; it may only know where it has gone */
    ModuleID module;
    mdTypeDef type;
    bool is_doubtful; /* found twice, and neither where it should be */
} search;

/* Assemblies of the framework that have no types but send everybody on to the core library. */
static bool leads_to_core(const char *assembly)
{
    return text_starts_with(assembly, "System.") || strcmp(assembly, "netstandard") == 0 ||
           strcmp(assembly, "mscorlib") == 0;
}

static bool is_meant(const search *s, ModuleID module)
{
    buffer own = BUFFER_EMPTY;
    AssemblyID assembly = 0;
    bool is_meant_one = false;

    if (CLR_OK(clr_get_module_path(s->info, module, &own, &assembly))) {
        buffer_clear(&own);
        clr_get_assembly_name(s->info, assembly, &own);
        is_meant_one = strcmp(buffer_text(&own), s->assembly) == 0 ||
                       (strcmp(buffer_text(&own), CORE_LIBRARY) == 0 && leads_to_core(s->assembly));
    }
    buffer_free(&own);
    return is_meant_one;
}

static int look_at_module(void *context, uintptr_t module)
{
    search *s = context;
    IMetaDataImport2 *import = NULL;
    mdTypeDef type = 0;
    bool is_certain;

    if (!CLR_OK(clr_open_import(s->info, module, &import)))
        return 1;
    clr_find_type_path(import, s->name, &type);
    clr_release(import);
    if (type == 0)
        return 1;
    is_certain = is_meant(s, module);
    s->is_doubtful = !is_certain && s->type != 0;
    s->module = module;
    s->type = type;
    return !is_certain;
}

static ClassID class_named(const clr_info *info, const char *assembly, const char *name,
                           const ClassID *arguments, uint32_t count)
{
    search s = {.info = info, .name = name, .assembly = assembly};

    clr_each_module(info, look_at_module, &s);
    return s.type == 0 || s.is_doubtful
               ? 0
               : loaded_class_with(info, s.module, s.type, arguments, count);
}

ClassID loaded_type_of_token(const loaded_type_scope *scope, mdToken token,
                             const ClassID *arguments, uint32_t count)
{
    buffer name = BUFFER_EMPTY;
    buffer assembly = BUFFER_EMPTY;
    ClassID class_id = 0;

    if (CLR_TOKEN_TYPE(token) == mdtTypeDef) {
        class_id = loaded_class_with(scope->info, scope->module, token, arguments, count);
    } else if (CLR_TOKEN_TYPE(token) == mdtTypeRef) {
        clr_append_type_path(scope->import, token, &name);
        clr_get_type_ref_assembly(scope->info, scope->module, scope->import, token, &assembly);
        class_id =
            class_named(scope->info, buffer_text(&assembly), buffer_text(&name), arguments, count);
    }
    buffer_free(&name);
    buffer_free(&assembly);
    return class_id;
}

/* ---- by signature ---- */

static ClassID core_class(const clr_info *info, const char *name)
{
    char whole[16] = "System.";

    memcpy(whole + 7, name, strlen(name) + 1);
    return class_named(info, CORE_LIBRARY, whole, NULL, 0);
}

static ClassID simple_class(const clr_info *info, uint8_t element)
{
    for (size_t n = 0; n < LOADED_TYPE_SIMPLE; n++)
        if (LOADED_TYPES_SIMPLE[n].element == element)
            return core_class(info, LOADED_TYPES_SIMPLE[n].name);
    return 0;
}

/* What the type is known as in an argument of a generic one. */
static ClassID argument_class(const loaded_type_scope *scope, const cil_type *t)
{
    ClassID class_id = loaded_type_class(scope, t);

    switch (t->element) {
    case CIL_TYPE_POINTER:
    case CIL_TYPE_FUNCTION:
        return simple_class(scope->info, CIL_TYPE_UINT_PTR);
    case CIL_TYPE_GENERIC:
        if (t[1].element != CIL_TYPE_CLASS)
            return class_id;
        break;
    case CIL_TYPE_CLASS:
    case CIL_TYPE_OBJECT:
    case CIL_TYPE_VECTOR:
    case CIL_TYPE_ARRAY:
        break;
    default:
        return class_id != 0 ? class_id : simple_class(scope->info, t->element);
    }
    /* all references share their layout */
    return class_id != 0 ? class_id : core_class(scope->info, "Object");
}

static ClassID instance_class(const loaded_type_scope *scope, const cil_type *t)
{
    ClassID arguments[LOADED_MOST_ARGUMENTS];

    if (t[1].element == CIL_TYPE_CLASS || t->number > LOADED_MOST_ARGUMENTS)
        return 0;
    for (uint32_t n = 0, at = 1 + t[1].nodes; n < t->number; n++, at += t[at].nodes)
        if ((arguments[n] = argument_class(scope, &t[at])) == 0)
            return 0;
    return loaded_type_of_token(scope, t[1].token, arguments, t->number);
}

ClassID loaded_type_class(const loaded_type_scope *scope, const cil_type *t)
{
    switch (t->element) {
    case CIL_TYPE_CLASS:
    case CIL_TYPE_VALUETYPE:
        return loaded_type_of_token(scope, t->token, NULL, 0);
    case CIL_TYPE_GENERIC:
        return instance_class(scope, t);
    case CIL_TYPE_VARIABLE:
        return t->number < scope->argument_count ? scope->arguments[t->number] : 0;
    default:
        return 0;
    }
}

ClassID loaded_type_of_field(const loaded_type_scope *scope, const uint8_t *signature,
                             uint32_t size)
{
    cil_signature s;
    ClassID found = 0;

    cil_signature_init(&s);
    if (cil_signature_read(&s, signature, size, NULL) == 0)
        found = loaded_type_class(scope, &s.types[cil_type_skip_modifiers(&s, 0)]);
    cil_signature_free(&s);
    return found;
}
