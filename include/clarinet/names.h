/*
 * names: types and methods as a C# person writes them.
 *
 * Types:   System.Collections.Generic.List<int>, Shop.Outer<string>.Inner, int[,], byte*, (int,
 * bool) Methods: Shop.Orders.Place, Shop.Cache<string>.Get<int>, and for what the compiler makes of
 * a source method that method itself: Shop.Orders.PlaceAsync for the MoveNext of its state machine,
 * Shop.Orders.Run.lambda for a lambda in Run, Program.Main.Local for a local function. Parameters
 * are apart, without namespaces: (int, out string, List<Order>).
 *
 * The first part is pure text and knows no runtime; the second asks one. All append; nothing keeps
 * state or locks. Names come from foreign assemblies: any bytes are accepted.
 */
#ifndef CLARINET_NAMES_H
#define CLARINET_NAMES_H

#include "clarinet/lookup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How types are written. */
enum {
    CLR_NAME_FULL = 0,
    CLR_NAME_SHORT = 1, /* without namespaces */
    CLR_NAME_PLAIN = 2, /* System.Int32 rather than int; no ?, no (,) */
};

/*
 * Pure text. `path` is a type's metadata name with nested types after `+`:
 * "Shop.Cache`1+<GetAsync>d__4`1". `arguments` are the written type arguments of the whole path,
 * outermost first; missing ones leave their places empty: Cache<>.
 */
void clr_name_append_type(clr_text *out, const char *path, const char *const *arguments,
                          size_t argument_count, unsigned style);
/* The same for a method of that type; `method` is its metadata name. */
void clr_name_append_method(clr_text *out, const char *path, const char *const *arguments,
                            size_t argument_count, const char *method,
                            const char *const *method_arguments, size_t method_argument_count);
/* A field; the one that the compiler makes for a property is called like the property. */
void clr_name_append_field(clr_text *out, const char *field);
/* Makes the type at the end of `out`, which began at offset `start`, an array of it. */
void clr_name_make_array(clr_text *out, size_t start, uint32_t rank);

/* Who turns a token into a path, and the arguments that stand for VAR and MVAR (may be empty). */
typedef struct {
    void (*append_path)(void *context, mdToken token, clr_text *out);
    void *context;
    const char *const *type_arguments;
    size_t type_argument_count;
    const char *const *method_arguments;
    size_t method_argument_count;
    /* How C# marks the by-ref parameter `number` (from 1): "out", "in", "ref readonly"; NULL when
     * its row does not say it. May itself be NULL: then only what the signature requires counts. */
    const char *(*by_reference)(void *context, uint32_t number);
} clr_signature_names;
/* A type signature at `*position`; moves on. 0 when the bytes are broken (out keeps what was read).
 */
int clr_signature_append_type(clr_text *out, const uint8_t **position, const uint8_t *end,
                              const clr_signature_names *names, unsigned style);
/* The parameters of a method signature, with parentheses. */
int clr_signature_append_parameters(clr_text *out, const uint8_t *signature, size_t size,
                                    const clr_signature_names *names, unsigned style);

/*
 * From metadata: generic parameters by their own names (List<T>).
 * clr_append_type_path gives the path that the functions above want.
 */
HRESULT clr_append_type_path(IMetaDataImport2 *import, mdToken type, clr_text *out);
/* A typedef, typeref or typespec. */
HRESULT clr_append_type_token(IMetaDataImport2 *import, mdToken type, clr_text *out,
                              unsigned style);
/* A methoddef; `parameters` may be NULL. */
HRESULT clr_append_method_token(IMetaDataImport2 *import, mdMethodDef method, clr_text *name,
                                clr_text *parameters);

/* From a running CLR: real type arguments where the runtime knows them, else their names. */
HRESULT clr_append_class(const clr_info *info, ClassID class_id, clr_text *out);
/* Its path as the runtime spells it, without type arguments: Shop.Orders+Refused`1. No arrays. */
HRESULT clr_append_class_path(const clr_info *info, ClassID class_id, clr_text *out);

typedef struct {
    ModuleID module;
    mdMethodDef token; /* 0 for a dynamic method */
    ClassID class_id;  /* 0 when shared or unknown */
    int dynamic;       /* made at run time (DynamicMethod, stubs): has no metadata */
} clr_function;
/* `frame` (0 = none) makes shared generic code exact. `parameters` and `function` may be NULL. */
HRESULT clr_append_function(const clr_info *info, FunctionID function_id, COR_PRF_FRAME_INFO frame,
                            clr_text *name, clr_text *parameters, clr_function *function);

#ifdef __cplusplus
}
#endif

#endif
