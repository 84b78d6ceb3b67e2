/* method: see method.h. */
#include "instrumentation/method.h"

#include <string.h>

#include "base/text.h"
#include "clarinet/flags.h"
#include "clarinet/lookup.h"
#include "rules/attributes.h"

static const char CORE_LIBRARY[] = "System.Private.CoreLib";
static const char ASYNC_ATTRIBUTE[] = "System.Runtime.CompilerServices.AsyncStateMachineAttribute";
static const char BY_REF_LIKE_ATTRIBUTE[] = "System.Runtime.CompilerServices.IsByRefLikeAttribute";

/* ---- modules ---- */

void method_read_version(const clr_info *info, method_module *m)
{
    IMetaDataAssemblyImport *import = NULL;
    version *v = &m->assembly_version;
    ASSEMBLYMETADATA data;
    mdAssembly assembly = 0;

    memset(&data, 0, sizeof data);
    if (CLR_OK(clr_open_assembly_import(info, m->id, &import)) &&
        CLR_OK(clr_assembly_import_get_assembly_from_scope(import, &assembly)) &&
        CLR_OK(clr_assembly_import_get_assembly_props(import, assembly, NULL, NULL, NULL, NULL, 0,
                                                      NULL, &data, NULL)))
        *v = (version){
            {data.usMajorVersion, data.usMinorVersion, data.usBuildNumber, data.usRevisionNumber}};
    clr_release(import);
}

bool method_module_open(const clr_info *info, ModuleID module, method_module *m)
{
    memset(m, 0, sizeof *m);
    m->id = module;
    if (CLR_OK(clr_get_module_path(info, module, &m->path, &m->assembly)) &&
        CLR_OK(clr_get_assembly_name(info, m->assembly, &m->assembly_name)))
        return true;
    method_module_close(m);
    return false;
}

void method_module_close(method_module *m)
{
    buffer_free(&m->assembly_name);
    buffer_free(&m->path);
}

/* ---- names ---- */

static bool is_nested(uint32_t type_flags)
{
    return (type_flags & 7) >= 2;
}

static void append_type_name(IMetaDataImport2 *import, mdToken type, buffer *out, bool inner_only,
                             int depth)
{
    uint32_t flags = 0;
    mdToken outer = 0;

    if (depth > 16)
        return;
    if (CLR_TOKEN_TYPE(type) == mdtTypeDef) {
        if (!inner_only && CLR_OK(clr_get_type_def(import, type, NULL, &flags, NULL)) &&
            is_nested(flags) && CLR_OK(clr_import_get_nested_class_props(import, type, &outer))) {
            append_type_name(import, outer, out, false, depth + 1);
            buffer_append_char(out, '+');
        }
        clr_get_type_def(import, type, out, NULL, NULL);
    } else if (CLR_TOKEN_TYPE(type) == mdtTypeRef) {
        if (!inner_only && CLR_OK(clr_get_type_ref(import, type, NULL, &outer)) &&
            CLR_TOKEN_TYPE(outer) == mdtTypeRef) {
            append_type_name(import, outer, out, false, depth + 1);
            buffer_append_char(out, '+');
        }
        clr_get_type_ref(import, type, out, NULL);
    }
}

void method_append_type_name(IMetaDataImport2 *import, mdToken type, buffer *out)
{
    append_type_name(import, type, out, false, 0);
}

typedef struct {
    IMetaDataImport2 *import;
    bool inner_only;
} namer;

static void name_token(void *context, uint32_t token, buffer *out)
{
    namer *n = context;

    append_type_name(n->import, token, out, n->inner_only, 0);
}

/* ---- attributes ---- */

static bool has_attribute(IMetaDataImport2 *import, mdToken owner, const char *name,
                          const uint8_t **data, uint32_t *size)
{
    buffer units = BUFFER_EMPTY;
    const void *found = NULL;
    uint32_t length = 0;
    HRESULT hr = E_OUTOFMEMORY;

    text_append_utf8_as_utf16(&units, name, strlen(name));
    buffer_append_u16(&units, 0);
    if (!buffer_failed(&units))
        hr = clr_import_get_custom_attribute_by_name(import, owner, (const WCHAR *)units.data,
                                                     &found, &length);
    buffer_free(&units);
    if (data != NULL) {
        *data = found;
        *size = length;
    }
    return hr == S_OK; /* S_FALSE says "not there" */
}

static uint32_t attribute_bits(IMetaDataImport2 *import, mdMethodDef method)
{
    const uint8_t *data;
    uint32_t size;

    if (has_attribute(import, method, ATTRIBUTE_TRANSACTION, &data, &size))
        return attributes_transaction_bits(data, size);
    return has_attribute(import, method, ATTRIBUTE_TRACE, NULL, NULL) ? (uint32_t)POINT_ATTRIBUTE
                                                                      : 0;
}

/* ---- one method ---- */

static bool extends_value_type(IMetaDataImport2 *import, mdToken extends)
{
    buffer name = BUFFER_EMPTY;
    bool is_value;

    if (CLR_TOKEN_IS_NIL(extends))
        return false;
    append_type_name(import, extends, &name, false, 0);
    is_value = text_equal(buffer_text(&name), "System.ValueType") ||
               text_equal(buffer_text(&name), "System.Enum");
    buffer_free(&name);
    return is_value;
}

bool method_open(IMetaDataImport2 *import, mdMethodDef token, method_facts *f)
{
    namer full = {import, false};
    namer inner = {import, true};
    cil_type_namer names = {name_token, &full, false};
    clr_method props;
    mdToken extends = 0;

    memset(f, 0, sizeof *f);
    cil_signature_init(&f->signature);
    f->token = token;
    if (!CLR_OK(clr_get_method(import, token, &f->name, &props)) ||
        !CLR_OK(clr_get_type_def(import, props.type, NULL, &f->type_flags, &extends)) ||
        cil_signature_read_method(&f->signature, props.signature, props.signature_size, NULL) !=
            0) {
        method_close(f);
        return false;
    }
    f->type = props.type;
    f->flags = props.flags;
    f->impl_flags = props.impl_flags;
    f->is_value_type = extends_value_type(import, extends);
    method_append_type_name(import, f->type, &f->type_name);
    cil_signature_parameters_text(&f->signature, &names, &f->parameters);
    names.context = &inner;
    cil_signature_parameters_text(&f->signature, &names, &f->alternative);
    f->is_async = has_attribute(import, token, ASYNC_ATTRIBUTE, NULL, NULL);
    f->attributes = attribute_bits(import, token);
    if (buffer_failed(&f->type_name) || buffer_failed(&f->name) || buffer_failed(&f->parameters) ||
        buffer_failed(&f->alternative)) {
        method_close(f);
        return false;
    }
    return true;
}

void method_close(method_facts *f)
{
    buffer_free(&f->type_name);
    buffer_free(&f->name);
    buffer_free(&f->parameters);
    buffer_free(&f->alternative);
    cil_signature_free(&f->signature);
}

shape method_shape(const method_facts *f)
{
    return (shape){buffer_text(&f->name), f->flags,         f->impl_flags,
                   f->type_flags,         f->is_value_type, &f->signature};
}

/* ---- boxing ---- */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && !text_equal(name, *names))
        names++;
    return *names != NULL;
}

static const char *const KNOWN_BY_REF_LIKE[] = {
    "System.Span`1",      "System.ReadOnlySpan`1",        "System.TypedReference",
    "System.ArgIterator", "System.RuntimeArgumentHandle", NULL};
/* What methods take most often: to ask the core library's metadata costs tens of milliseconds. */
static const char *const KNOWN_ORDINARY[] = {"System.DateTime",
                                             "System.DateTimeOffset",
                                             "System.Decimal",
                                             "System.Guid",
                                             "System.Nullable`1",
                                             "System.TimeSpan",
                                             "System.Threading.CancellationToken",
                                             "System.Threading.Tasks.ValueTask",
                                             "System.Threading.Tasks.ValueTask`1",
                                             "System.ValueTuple`2",
                                             "System.ValueTuple`3",
                                             "System.Collections.Generic.KeyValuePair`2",
                                             NULL};

typedef struct {
    const clr_info *info;
    targets *loaded;
    const char *name;
    const char *assembly;   /* NULL: any */
    bool is_assembly_found; /* so what is found elsewhere may be what it has sent away */
    bool is_found;
    bool is_core;
    bool is_by_ref_like;
} type_search;

static bool is_named(const clr_info *info, ModuleID id, const char *assembly)
{
    method_module m;
    bool answer;

    if (!method_module_open(info, id, &m))
        return false;
    answer = text_equal(buffer_text(&m.assembly_name), assembly);
    method_module_close(&m);
    return answer;
}

static void look_for_type(type_search *s, ModuleID id)
{
    IMetaDataImport2 *import = NULL;
    mdTypeDef type;

    if (s->assembly != NULL && !is_named(s->info, id, s->assembly))
        return;
    s->is_assembly_found = s->is_assembly_found || s->assembly != NULL;
    if (CLR_OK(clr_open_import(s->info, id, &import))) {
        if (CLR_OK(clr_find_type_path(import, s->name, &type))) {
            s->is_found = true;
            s->is_core = is_named(s->info, id, CORE_LIBRARY);
            s->is_by_ref_like = has_attribute(import, type, BY_REF_LIKE_ATTRIBUTE, NULL, NULL);
        }
    }
    clr_release(import);
}

/* Goes on after a find: several assemblies may have a type of that name, and which one is meant is
 * not known for sure, so one that may live on the stack only decides. Names of the core library are
 * its own. */
static int look_in_module(void *context, uintptr_t id)
{
    type_search *s = context;

    targets_begin_reading(s->loaded);
    if (targets_has_module(s->loaded, id))
        look_for_type(s, id);
    targets_end_reading(s->loaded);
    return !s->is_by_ref_like && !s->is_core;
}

/* First in the assembly that the reference names; then, because that may only say where the type
 * has gone, in all. What is not loaded yet could be anything. */
static bool may_be_on_stack_only(const clr_info *info, targets *loaded, ModuleID module,
                                 IMetaDataImport2 *import, mdToken token, const char *name)
{
    buffer scope = BUFFER_EMPTY;
    type_search search = {.info = info, .loaded = loaded, .name = name};

    if (CLR_OK(clr_get_type_ref_assembly(info, module, import, token, &scope))) {
        search.assembly = buffer_text(&scope);
        clr_each_module(info, look_in_module, &search);
        search.assembly = NULL;
    }
    if (!search.is_found) {
        clr_each_module(info, look_in_module, &search);
        search.is_found = search.is_found && (search.is_assembly_found || search.is_core);
    }
    buffer_free(&scope);
    return !search.is_found || search.is_by_ref_like;
}

/* A value type by its token: does its definition say that it may live on the stack only? */
static bool is_by_ref_like(const clr_info *info, targets *loaded, ModuleID module,
                           IMetaDataImport2 *import, mdToken token)
{
    buffer name = BUFFER_EMPTY;
    bool answer;

    if (CLR_TOKEN_TYPE(token) == mdtTypeDef)
        return has_attribute(import, token, BY_REF_LIKE_ATTRIBUTE, NULL, NULL);
    method_append_type_name(import, token, &name);
    answer = is_one_of(buffer_text(&name), KNOWN_BY_REF_LIKE);
    if (!answer && !is_one_of(buffer_text(&name), KNOWN_ORDINARY))
        answer = may_be_on_stack_only(info, loaded, module, import, token, buffer_text(&name));
    buffer_free(&name);
    return answer;
}

typedef struct {
    IMetaDataImport2 *import;
    uint32_t number;
    bool may_be_by_ref_like;
} parameter_search;

static int look_at_parameter(void *context, mdToken parameter)
{
    parameter_search *search = context;
    uint32_t number = 0;
    uint32_t flags = 0;

    if (!CLR_OK(clr_import_get_generic_param_props(search->import, parameter, &number, &flags, NULL,
                                                   NULL, NULL, 0, NULL)) ||
        number != search->number)
        return 1;
    search->may_be_by_ref_like = (flags & gpAllowByRefLike) != 0;
    return 0;
}

/* Does the generic parameter say `allows ref struct`? Then no value of it may be boxed. */
static bool may_be_by_ref_like(IMetaDataImport2 *import, mdToken owner, uint32_t number)
{
    parameter_search search = {import, number, false};

    clr_each_generic_param(import, owner, look_at_parameter, &search);
    return search.may_be_by_ref_like;
}

bool method_can_box(const clr_info *info, targets *loaded, ModuleID module,
                    IMetaDataImport2 *import, const method_facts *f, uint32_t type)
{
    const cil_signature *s = &f->signature;
    const cil_type *t = &s->types[cil_type_skip_modifiers(s, type)];

    switch (t->element) {
    case CIL_TYPE_BYREF:
    case CIL_TYPE_POINTER:
    case CIL_TYPE_FUNCTION:
    case CIL_TYPE_TYPED_REFERENCE:
    case CIL_TYPE_VOID:
        return false;
    case CIL_TYPE_VALUETYPE:
        return !is_by_ref_like(info, loaded, module, import, t->token);
    case CIL_TYPE_VARIABLE:
        return !may_be_by_ref_like(import, f->type, t->number);
    case CIL_TYPE_METHOD_VARIABLE:
        return !may_be_by_ref_like(import, f->token, t->number);
    case CIL_TYPE_GENERIC: /* the generic type itself stands first inside */
        return t[1].element != CIL_TYPE_VALUETYPE ||
               !is_by_ref_like(info, loaded, module, import, t[1].token);
    default:
        return true;
    }
}
