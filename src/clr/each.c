/*
 * each: the enumerators of clarinet/lookup.h. Items come in batches; an enumerator that reports
 * more than was asked for is not believed. The runtime's enumerator is always released.
 */
#include "clarinet/lookup.h"

enum { BATCH = 64 };

/* Makes a function that walks one kind of profiling enumerator. */
#define WALK(name, type, item, prefix)                                                             \
    static HRESULT name(type *enumerator, int (*visit)(void *, const item *), void *context)       \
    {                                                                                              \
        item items[BATCH];                                                                         \
        HRESULT hr = S_OK;                                                                         \
        int go_on = 1;                                                                             \
                                                                                                   \
        while (go_on) {                                                                            \
            uint32_t fetched = 0;                                                                  \
                                                                                                   \
            hr = prefix##_next(enumerator, BATCH, items, &fetched);                                \
            if (!CLR_OK(hr) || fetched == 0 || fetched > BATCH)                                    \
                break;                                                                             \
            for (uint32_t i = 0; i < fetched && go_on; i++)                                        \
                go_on = visit(context, &items[i]);                                                 \
            if (hr != S_OK)                                                                        \
                break;                                                                             \
        }                                                                                          \
        clr_release(enumerator);                                                                   \
        return CLR_OK(hr) ? S_OK : hr;                                                             \
    }

WALK(walk_modules, ICorProfilerModuleEnum, ModuleID, clr_module_enum)
WALK(walk_threads, ICorProfilerThreadEnum, ThreadID, clr_thread_enum)
WALK(walk_objects, ICorProfilerObjectEnum, ObjectID, clr_object_enum)
WALK(walk_functions, ICorProfilerFunctionEnum, COR_PRF_FUNCTION, clr_function_enum)
WALK(walk_methods, ICorProfilerMethodEnum, COR_PRF_METHOD, clr_method_enum)

typedef struct {
    clr_visit_id *visit_id;
    clr_visit_function *visit_function;
    clr_visit_method *visit_method;
    void *context;
} visitor;

static int visit_id(void *context, const uintptr_t *id)
{
    visitor *v = context;

    return v->visit_id(v->context, *id);
}

static int visit_function(void *context, const COR_PRF_FUNCTION *function)
{
    visitor *v = context;

    return v->visit_function(v->context, function->functionId, function->reJitId);
}

static int visit_method(void *context, const COR_PRF_METHOD *method)
{
    visitor *v = context;

    return v->visit_method(v->context, method->moduleId, method->methodId);
}

HRESULT clr_each_module(const clr_info *info, clr_visit_id *visit, void *context)
{
    visitor v = {.visit_id = visit, .context = context};
    ICorProfilerModuleEnum *enumerator;
    HRESULT hr = clr_info_enum_modules(info, &enumerator);

    return hr == S_OK ? walk_modules(enumerator, visit_id, &v) : hr;
}

HRESULT clr_each_thread(const clr_info *info, clr_visit_id *visit, void *context)
{
    visitor v = {.visit_id = visit, .context = context};
    ICorProfilerThreadEnum *enumerator;
    HRESULT hr = clr_info_enum_threads(info, &enumerator);

    return hr == S_OK ? walk_threads(enumerator, visit_id, &v) : hr;
}

HRESULT clr_each_nongc_object(const clr_info *info, clr_visit_id *visit, void *context)
{
    visitor v = {.visit_id = visit, .context = context};
    ICorProfilerObjectEnum *enumerator;
    HRESULT hr = clr_info_enumerate_nongc_objects(info, &enumerator);

    return hr == S_OK ? walk_objects(enumerator, visit_id, &v) : hr;
}

HRESULT clr_each_function(const clr_info *info, clr_visit_function *visit, void *context)
{
    visitor v = {.visit_function = visit, .context = context};
    ICorProfilerFunctionEnum *enumerator;
    HRESULT hr = clr_info_enum_jited_functions2(info, &enumerator);

    return hr == S_OK ? walk_functions(enumerator, visit_function, &v) : hr;
}

HRESULT clr_each_inliner(const clr_info *info, ModuleID inliners, ModuleID module,
                         mdMethodDef method, clr_visit_method *visit, void *context)
{
    visitor v = {.visit_method = visit, .context = context};
    ICorProfilerMethodEnum *enumerator;
    HRESULT hr = clr_info_enum_ngen_module_methods_inlining_this_method(info, inliners, module,
                                                                        method, NULL, &enumerator);

    return hr == S_OK ? walk_methods(enumerator, visit_method, &v) : hr;
}

/* Metadata enumerations: one kind of call each, the same walk. */
typedef HRESULT next_tokens(IMetaDataImport2 *import, clr_enumeration *enumeration, mdToken owner,
                            mdToken *tokens, uint32_t capacity, uint32_t *count);

static HRESULT walk_tokens(IMetaDataImport2 *import, next_tokens *next, mdToken owner,
                           clr_visit_token *visit, void *context)
{
    mdToken tokens[BATCH];
    clr_enumeration enumeration = NULL;
    HRESULT hr = S_OK;
    int go_on = 1;

    while (go_on) {
        uint32_t count = 0;

        hr = next(import, &enumeration, owner, tokens, BATCH, &count);
        if (!CLR_OK(hr) || count == 0 || count > BATCH)
            break;
        for (uint32_t i = 0; i < count && go_on; i++)
            go_on = visit(context, tokens[i]);
    }
    if (enumeration != NULL)
        clr_import_close_enum(import, enumeration);
    return CLR_OK(hr) ? S_OK : hr;
}

static HRESULT next_type_defs(IMetaDataImport2 *import, clr_enumeration *enumeration, mdToken owner,
                              mdToken *tokens, uint32_t capacity, uint32_t *count)
{
    (void)owner;
    return clr_import_enum_type_defs(import, enumeration, tokens, capacity, count);
}

HRESULT clr_each_type_def(IMetaDataImport2 *import, clr_visit_token *visit, void *context)
{
    return walk_tokens(import, next_type_defs, 0, visit, context);
}

HRESULT clr_each_method(IMetaDataImport2 *import, mdTypeDef type, clr_visit_token *visit,
                        void *context)
{
    return walk_tokens(import, clr_import_enum_methods, type, visit, context);
}

HRESULT clr_each_field(IMetaDataImport2 *import, mdTypeDef type, clr_visit_token *visit,
                       void *context)
{
    return walk_tokens(import, clr_import_enum_fields, type, visit, context);
}

HRESULT clr_each_generic_param(IMetaDataImport2 *import, mdToken owner, clr_visit_token *visit,
                               void *context)
{
    return walk_tokens(import, clr_import_enum_generic_params, owner, visit, context);
}
