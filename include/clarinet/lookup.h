/*
 * lookup: the questions every profiler asks, each with one call.
 *
 * The runtime hands out text in two calls (length, then text); these do both. Text is appended.
 * Each answers S_OK or the runtime's failure; on failure nothing is appended and outs are 0.
 * Nothing here locks or keeps state; memory comes from the heap only for text beyond 256 units.
 */
#ifndef CLARINET_LOOKUP_H
#define CLARINET_LOOKUP_H

#include "clarinet/calls.h"
#include "clarinet/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The two-call pattern for anything else: `read` fills at most `capacity` units and says how many
 * there are (with or without the closing zero). */
typedef HRESULT clr_string_reader(void *context, WCHAR *units, uint32_t capacity, uint32_t *length);
HRESULT clr_read_string(clr_string_reader *read, void *context, clr_text *out);

typedef struct {
    uint16_t major;
    uint16_t minor;
    uint16_t build;
    uint16_t revision;
    uint32_t type; /* COR_PRF_RUNTIME_TYPE */
} clr_runtime;

HRESULT clr_get_runtime(const clr_info *info, clr_runtime *runtime);
/* The file a module came from (its name when it has no file), and its assembly (NULL allowed). */
HRESULT clr_get_module_path(const clr_info *info, ModuleID module, clr_text *path,
                            AssemblyID *assembly);
/* Whether a module may be unloaded while the program runs: requests for new bodies of its methods
 * are taken and come to nothing. */
int clr_is_module_collectible(const clr_info *info, ModuleID module);
HRESULT clr_get_assembly_name(const clr_info *info, AssemblyID assembly, clr_text *name);
HRESULT clr_get_appdomain_name(const clr_info *info, AppDomainID appdomain, clr_text *name);
/* A variable of the target's environment, as the runtime sees it. */
HRESULT clr_get_environment(const clr_info *info, const char *name, clr_text *value);
/* The text of a System.String object. Only in a callback that hands out the object. */
HRESULT clr_get_string_object(const clr_info *info, ObjectID object, clr_text *value);

/* The metadata of a module. The caller releases (clr_release). */
HRESULT clr_open_import(const clr_info *info, ModuleID module, IMetaDataImport2 **import);
HRESULT clr_open_emit(const clr_info *info, ModuleID module, IMetaDataEmit2 **emit);
HRESULT clr_open_assembly_import(const clr_info *info, ModuleID module,
                                 IMetaDataAssemblyImport **import);
HRESULT clr_open_assembly_emit(const clr_info *info, ModuleID module, IMetaDataAssemblyEmit **emit);

/* Metadata of one row; any out may be NULL. Names are as stored: "Ns.Type`1", "Method". */
HRESULT clr_get_type_def(IMetaDataImport2 *import, mdTypeDef type, clr_text *name, uint32_t *flags,
                         mdToken *extends);
HRESULT clr_get_type_ref(IMetaDataImport2 *import, mdTypeRef type, clr_text *name, mdToken *scope);
typedef struct {
    mdTypeDef type;
    uint32_t flags;      /* CorMethodAttr */
    uint32_t impl_flags; /* CorMethodImpl */
    uint32_t rva;
    const uint8_t *signature;
    uint32_t signature_size;
} clr_method;
HRESULT clr_get_method(IMetaDataImport2 *import, mdMethodDef token, clr_text *name,
                       clr_method *method);
HRESULT clr_get_field(IMetaDataImport2 *import, mdFieldDef token, clr_text *name, mdTypeDef *type,
                      uint32_t *flags);
HRESULT clr_get_module_identity(IMetaDataImport2 *import, clr_text *name, GUID *mvid);
HRESULT clr_get_user_string(IMetaDataImport2 *import, mdString token, clr_text *value);
/* The signature behind a MethodDef, MemberRef, MethodSpec (its method's), Field or StandAloneSig
 * token, in the module's own memory. */
HRESULT clr_get_signature(IMetaDataImport2 *import, mdToken token, const uint8_t **signature,
                          uint32_t *size);
/* Searching by name; a nested type is found under its `enclosing` one (0 = none). */
HRESULT clr_find_type(IMetaDataImport2 *import, const char *name, mdTypeDef enclosing,
                      mdTypeDef *type);
/* By its whole name, nested ones joined with '+': Outer+Inner. */
HRESULT clr_find_type_path(IMetaDataImport2 *import, const char *path, mdTypeDef *type);
/* The simple name of the assembly that a reference says its type is in; fails when it says none.
 * That assembly may only know where the type has gone. */
HRESULT clr_get_type_ref_assembly(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                                  mdTypeRef type, clr_text *name);
/* The first method of that name, whatever its signature. */
HRESULT clr_find_method(IMetaDataImport2 *import, mdTypeDef type, const char *name,
                        mdMethodDef *method);
HRESULT clr_find_field(IMetaDataImport2 *import, mdTypeDef type, const char *name,
                       mdFieldDef *field);

/* Enumerators. `visit` gets each item and answers 1 to go on or 0 to stop; S_OK either way. */
typedef int clr_visit_id(void *context, uintptr_t id);
typedef int clr_visit_function(void *context, FunctionID function, ReJITID rejit);
typedef int clr_visit_method(void *context, ModuleID module, mdMethodDef method);
typedef int clr_visit_token(void *context, mdToken token);
HRESULT clr_each_module(const clr_info *info, clr_visit_id *visit, void *context);
HRESULT clr_each_thread(const clr_info *info, clr_visit_id *visit, void *context);
/* Every function that has native code, once per version of its code. */
HRESULT clr_each_function(const clr_info *info, clr_visit_function *visit, void *context);
/* The precompiled methods of `inliners` that inlined `method` of `module`. */
HRESULT clr_each_inliner(const clr_info *info, ModuleID inliners, ModuleID module,
                         mdMethodDef method, clr_visit_method *visit, void *context);
HRESULT clr_each_nongc_object(const clr_info *info, clr_visit_id *visit, void *context);
HRESULT clr_each_type_def(IMetaDataImport2 *import, clr_visit_token *visit, void *context);
HRESULT clr_each_method(IMetaDataImport2 *import, mdTypeDef type, clr_visit_token *visit,
                        void *context);
HRESULT clr_each_field(IMetaDataImport2 *import, mdTypeDef type, clr_visit_token *visit,
                       void *context);
/* The generic parameters of a type or method, in order. */
HRESULT clr_each_generic_param(IMetaDataImport2 *import, mdToken owner, clr_visit_token *visit,
                               void *context);

#ifdef __cplusplus
}
#endif

#endif
