/*
 * names: the live part of clarinet/names.h: metadata and a running CLR to paths and arguments for
 * name_text.c and signature.c. No state, no locks; recursion (arguments of arguments) is bounded.
 */
#include "clarinet/names.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

enum { MOST_ARGUMENTS = 32, MOST_DEPTH = 12, MOST_NESTING = 16 };

/* Written arguments, one after the other with closing zeros. */
typedef struct {
    buffer text;
    size_t offsets[MOST_ARGUMENTS];
    const char *items[MOST_ARGUMENTS];
    size_t count;
} argument_list;

static HRESULT append_class(const clr_info *info, ClassID class_id, clr_text *out, int depth);

static void argument_begin(argument_list *list)
{
    if (list->count < MOST_ARGUMENTS)
        list->offsets[list->count] = list->text.length;
}

static void argument_end(argument_list *list)
{
    buffer_append_u8(&list->text, 0);
    if (list->count < MOST_ARGUMENTS)
        list->count++;
}

/* After the last change: the texts lie still now. */
static void argument_settle(argument_list *list)
{
    if (buffer_failed(&list->text))
        list->count = 0;
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = buffer_text(&list->text) + list->offsets[i];
}

/* The names of generic parameters (T, TKey) from metadata. */

typedef struct {
    IMetaDataImport2 *import;
    argument_list *list;
    mdGenericParam token;
    uint32_t index; /* of the one wanted by generic_param_at */
    clr_text *out;
} generic_walk;

static HRESULT read_generic_param(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    generic_walk *walk = context;

    return clr_import_get_generic_param_props(walk->import, walk->token, NULL, NULL, NULL, NULL,
                                              units, capacity, length);
}

static int add_generic_param(void *context, mdToken token)
{
    generic_walk *walk = context;

    walk->token = token;
    argument_begin(walk->list);
    if (clr_read_string(read_generic_param, walk, &walk->list->text) != S_OK)
        buffer_append_text(&walk->list->text, "?");
    argument_end(walk->list);
    return walk->list->count < MOST_ARGUMENTS;
}

static void add_generic_params(IMetaDataImport2 *import, mdToken owner, argument_list *list)
{
    generic_walk walk = {.import = import, .list = list};

    clr_each_generic_param(import, owner, add_generic_param, &walk);
}

/* Paths. */

static HRESULT append_def_path(IMetaDataImport2 *import, mdTypeDef type, clr_text *out, int depth)
{
    mdTypeDef enclosing = 0;
    uint32_t flags;
    HRESULT hr;

    if (depth > MOST_NESTING)
        return E_FAIL;
    hr = clr_get_type_def(import, type, NULL, &flags, NULL);
    if (hr != S_OK)
        return hr;
    if ((flags & tdVisibilityMask) >= tdNestedPublic &&
        clr_import_get_nested_class_props(import, type, &enclosing) == S_OK && enclosing != 0) {
        hr = append_def_path(import, enclosing, out, depth + 1);
        if (hr != S_OK)
            return hr;
        buffer_append_char(out, '+');
    }
    return clr_get_type_def(import, type, out, NULL, NULL);
}

static HRESULT append_ref_path(IMetaDataImport2 *import, mdTypeRef type, clr_text *out, int depth)
{
    mdToken scope;
    HRESULT hr;

    if (depth > MOST_NESTING)
        return E_FAIL;
    hr = clr_get_type_ref(import, type, NULL, &scope);
    if (hr != S_OK)
        return hr;
    if (CLR_TOKEN_TYPE(scope) == mdtTypeRef && !CLR_TOKEN_IS_NIL(scope)) {
        hr = append_ref_path(import, scope, out, depth + 1);
        if (hr != S_OK)
            return hr;
        buffer_append_char(out, '+');
    }
    return clr_get_type_ref(import, type, out, NULL);
}

HRESULT clr_append_type_path(IMetaDataImport2 *import, mdToken type, clr_text *out)
{
    size_t start = out->length;
    HRESULT hr = E_INVALIDARG;

    if (CLR_TOKEN_TYPE(type) == mdtTypeDef)
        hr = append_def_path(import, type, out, 0);
    else if (CLR_TOKEN_TYPE(type) == mdtTypeRef)
        hr = append_ref_path(import, type, out, 0);
    if (hr != S_OK && !out->fixed && out->data != NULL) {
        out->length = start;
        out->data[start] = 0;
    }
    return hr;
}

/* What signature.c asks for a token. */
static void append_path_or_token(void *context, mdToken token, clr_text *out)
{
    if (clr_append_type_path(context, token, out) != S_OK)
        buffer_format(out, "token_%08x", (unsigned)token);
}

/* Whose signature is being written. */
typedef struct {
    IMetaDataImport2 *import;
    mdMethodDef method;
} signature_owner;

static void append_path_of(void *context, mdToken token, clr_text *out)
{
    const signature_owner *owner = context;

    append_path_or_token(owner->import, token, out);
}

static bool has_attribute(IMetaDataImport2 *import, mdToken token, const WCHAR *name)
{
    const void *data;
    uint32_t size;

    return clr_import_get_custom_attribute_by_name(import, token, name, &data, &size) == S_OK;
}

static const char *mark_of(void *context, uint32_t number)
{
    const signature_owner *owner = context;
    mdParamDef parameter;
    uint32_t flags;

    if (clr_import_get_param_for_method_index(owner->import, owner->method, number, &parameter) !=
            S_OK ||
        !CLR_OK(clr_import_get_param_props(owner->import, parameter, NULL, NULL, NULL, 0, NULL,
                                           &flags, NULL, NULL, NULL)))
        return NULL;
    if ((flags & (pdIn | pdOut)) == pdOut)
        return "out";
    if (has_attribute(owner->import, parameter,
                      u"System.Runtime.CompilerServices.RequiresLocationAttribute"))
        return "ref readonly";
    if (has_attribute(owner->import, parameter,
                      u"System.Runtime.CompilerServices.IsReadOnlyAttribute"))
        return "in";
    return NULL;
}

HRESULT clr_append_type_token(IMetaDataImport2 *import, mdToken type, clr_text *out, unsigned style)
{
    clr_signature_names names = {.append_path = append_path_or_token, .context = import};
    argument_list own = {.count = 0};
    buffer path = BUFFER_EMPTY;
    HRESULT hr;

    if (CLR_TOKEN_TYPE(type) == mdtTypeSpec) {
        const uint8_t *signature;
        uint32_t size;

        hr = clr_import_get_type_spec_from_token(import, type, &signature, &size);
        if (hr != S_OK)
            return hr;
        return clr_signature_append_type(out, &signature, signature + size, &names, style)
                   ? S_OK
                   : META_E_BAD_SIGNATURE;
    }
    hr = clr_append_type_path(import, type, &path);
    if (hr == S_OK && CLR_TOKEN_TYPE(type) == mdtTypeDef)
        add_generic_params(import, type, &own);
    argument_settle(&own);
    if (hr == S_OK)
        clr_name_append_type(out, buffer_text(&path), own.items, own.count, style);
    buffer_free(&own.text);
    buffer_free(&path);
    return hr;
}

/* A method's name and parameters, given what its generic parameters stand for. */
static HRESULT append_method(IMetaDataImport2 *import, mdMethodDef token, argument_list *of_type,
                             argument_list *of_method, clr_text *name, clr_text *parameters)
{
    buffer path = BUFFER_EMPTY;
    buffer method_name = BUFFER_EMPTY;
    clr_method method;
    HRESULT hr = clr_get_method(import, token, &method_name, &method);

    if (hr == S_OK && !CLR_TOKEN_IS_NIL(method.type))
        hr = clr_append_type_path(import, method.type, &path);
    if (hr != S_OK)
        goto out;
    if (of_type->count == 0)
        add_generic_params(import, method.type, of_type);
    if (of_method->count == 0)
        add_generic_params(import, token, of_method);
    argument_settle(of_type);
    argument_settle(of_method);
    clr_name_append_method(
        name, text_equal(buffer_text(&path), "<Module>") ? "" : buffer_text(&path), of_type->items,
        of_type->count, buffer_text(&method_name), of_method->items, of_method->count);
    if (parameters != NULL) {
        signature_owner owner = {import, token};
        clr_signature_names names = {append_path_of, &owner,           of_type->items,
                                     of_type->count, of_method->items, of_method->count,
                                     mark_of};

        if (!clr_signature_append_parameters(parameters, method.signature, method.signature_size,
                                             &names, CLR_NAME_SHORT))
            hr = META_E_BAD_SIGNATURE;
    }
out:
    buffer_free(&path);
    buffer_free(&method_name);
    return hr;
}

HRESULT clr_append_method_token(IMetaDataImport2 *import, mdMethodDef method, clr_text *name,
                                clr_text *parameters)
{
    argument_list of_type = {.count = 0};
    argument_list of_method = {.count = 0};
    HRESULT hr = append_method(import, method, &of_type, &of_method, name, parameters);

    buffer_free(&of_type.text);
    buffer_free(&of_method.text);
    return hr;
}

/* Running code. Shared generic code has System.__Canon where a reference type stands: there the
 * parameter's own name is the honest answer. */
static void add_classes(const clr_info *info, IMetaDataImport2 *import, mdToken owner,
                        const ClassID *classes, uint32_t count, argument_list *list, int depth)
{
    argument_list names = {.count = 0};

    add_generic_params(import, owner, &names);
    argument_settle(&names);
    for (uint32_t i = 0; i < count && i < MOST_ARGUMENTS; i++) {
        size_t start = list->text.length;
        bool known;

        argument_begin(list);
        known = classes[i] != 0 && append_class(info, classes[i], &list->text, depth + 1) == S_OK;
        if (!known || text_equal(buffer_text(&list->text) + start, "System.__Canon")) {
            if (!list->text.failed)
                list->text.length = start;
            buffer_append_text(&list->text, i < names.count ? names.items[i] : "?");
        }
        argument_end(list);
    }
    buffer_free(&names.text);
}

static HRESULT append_array_class(const clr_info *info, ClassID class_id, clr_text *out, int depth)
{
    size_t start = out->length;
    CorElementType element;
    ClassID element_class;
    uint32_t rank;
    HRESULT hr = clr_info_is_array_class(info, class_id, &element, &element_class, &rank);

    if (hr == S_OK && (rank == 0 || (element == 0 && element_class == 0)))
        hr = E_FAIL; /* an answer that says nothing */
    if (hr != S_OK)
        return hr == S_FALSE ? E_INVALIDARG : hr;
    if (element == ELEMENT_TYPE_PTR || element == ELEMENT_TYPE_FNPTR) {
        buffer_append_text(out, "?*"); /* no module has the class of a pointer */
    } else if (element_class != 0) {
        hr = append_class(info, element_class, out, depth + 1);
    } else {
        clr_signature_names none = {.append_path = NULL};
        uint8_t byte = (uint8_t)element;
        const uint8_t *position = &byte;

        if (element > ELEMENT_TYPE_STRING && element != ELEMENT_TYPE_I &&
            element != ELEMENT_TYPE_U && element != ELEMENT_TYPE_OBJECT)
            buffer_append_char(out, '?');
        else
            clr_signature_append_type(out, &position, &byte + 1, &none, CLR_NAME_FULL);
    }
    if (hr == S_OK)
        clr_name_make_array(out, start, rank);
    return hr;
}

/* `depth` below 0: the path and no more. */
static HRESULT append_class(const clr_info *info, ClassID class_id, clr_text *out, int depth)
{
    ClassID classes[MOST_ARGUMENTS];
    argument_list arguments = {.count = 0};
    buffer path = BUFFER_EMPTY;
    IMetaDataImport2 *import;
    ModuleID module;
    mdTypeDef token;
    uint32_t count = 0;
    HRESULT hr;

    if (class_id == 0 || depth > MOST_DEPTH)
        return E_INVALIDARG;
    if (depth >= 0 && append_array_class(info, class_id, out, depth) == S_OK)
        return S_OK;
    hr = clr_info_get_class_id_info2(info, class_id, &module, &token, NULL, MOST_ARGUMENTS, &count,
                                     classes);
    if (hr != S_OK)
        return CLR_OK(hr) ? E_FAIL : hr;
    hr = clr_open_import(info, module, &import);
    if (hr != S_OK)
        return hr;
    hr = clr_append_type_path(import, token, &path);
    if (hr == S_OK && depth < 0) {
        buffer_append(out, path.data, path.length);
    } else if (hr == S_OK) {
        add_classes(info, import, token, classes, count, &arguments, depth);
        argument_settle(&arguments);
        clr_name_append_type(out, buffer_text(&path), arguments.items, arguments.count,
                             CLR_NAME_FULL);
    }
    buffer_free(&arguments.text);
    buffer_free(&path);
    clr_release(import);
    return hr;
}

HRESULT clr_append_class(const clr_info *info, ClassID class_id, clr_text *out)
{
    size_t start = out->length;
    HRESULT hr = append_class(info, class_id, out, 0);

    if (hr != S_OK && !out->failed && out->data != NULL) {
        out->length = start;
        out->data[start] = 0;
    }
    return hr;
}

HRESULT clr_append_class_path(const clr_info *info, ClassID class_id, clr_text *out)
{
    return append_class(info, class_id, out, -1);
}

/* Methods without metadata: a name and a signature is all there is. */

typedef struct {
    const clr_info *info;
    FunctionID function;
    ModuleID module;
    const uint8_t *signature;
    uint32_t size;
} dynamic_question;

static HRESULT read_dynamic(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    dynamic_question *q = context;

    return clr_info_get_dynamic_function_info(q->info, q->function, &q->module, &q->signature,
                                              &q->size, capacity, length, units);
}

static void append_unknown(void *context, mdToken token, clr_text *out)
{
    (void)context;
    (void)token;
    buffer_append_char(out, '?');
}

static HRESULT append_dynamic(const clr_info *info, FunctionID function_id, clr_text *name,
                              clr_text *parameters, clr_function *function)
{
    dynamic_question q = {.info = info, .function = function_id};
    HRESULT hr = clr_read_string(read_dynamic, &q, name);

    if (hr != S_OK)
        return hr;
    function->module = q.module;
    function->dynamic = 1;
    /* Its tokens belong to the method's own resolver, not to a module: only primitives have names.
     */
    if (parameters != NULL) {
        clr_signature_names names = {.append_path = append_unknown};

        clr_signature_append_parameters(parameters, q.signature, q.size, &names, CLR_NAME_SHORT);
    }
    return S_OK;
}

HRESULT clr_append_function(const clr_info *info, FunctionID function_id, COR_PRF_FRAME_INFO frame,
                            clr_text *name, clr_text *parameters, clr_function *function)
{
    clr_function own;
    ClassID method_classes[MOST_ARGUMENTS];
    ClassID type_classes[MOST_ARGUMENTS];
    argument_list of_type = {.count = 0};
    argument_list of_method = {.count = 0};
    IMetaDataImport2 *import;
    uint32_t method_count = 0;
    uint32_t type_count = 0;
    mdTypeDef type = 0;
    BOOL dynamic = 0;
    HRESULT hr;

    if (function == NULL)
        function = &own;
    memset(function, 0, sizeof *function);
    if (function_id == 0)
        return E_INVALIDARG;
    if (clr_info_is_function_dynamic(info, function_id, &dynamic) == S_OK && dynamic)
        return append_dynamic(info, function_id, name, parameters, function);
    hr = clr_info_get_function_info2(info, function_id, frame, &function->class_id,
                                     &function->module, &function->token, MOST_ARGUMENTS,
                                     &method_count, method_classes);
    if (hr != S_OK)
        return CLR_OK(hr) ? E_FAIL : hr;
    hr = clr_open_import(info, function->module, &import);
    if (hr != S_OK)
        return hr;
    if (function->class_id != 0 &&
        clr_info_get_class_id_info2(info, function->class_id, NULL, &type, NULL, MOST_ARGUMENTS,
                                    &type_count, type_classes) == S_OK)
        add_classes(info, import, type, type_classes, type_count, &of_type, 0);
    if (method_count > 0)
        add_classes(info, import, function->token, method_classes, method_count, &of_method, 0);
    hr = append_method(import, function->token, &of_type, &of_method, name, parameters);
    buffer_free(&of_type.text);
    buffer_free(&of_method.text);
    clr_release(import);
    return hr;
}
