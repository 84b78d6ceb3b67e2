/*
 * matching: which methods of a module are instrumented. The assembly is looked at first: most
 * modules end there. Attribute methods are searched only in assemblies that refer to the API.
 */
#include "instrumentation/profiler.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clarinet/flags.h"
#include "clarinet/lookup.h"
#include "instrumentation/method.h"
#include "rules/attributes.h"

static const char API_ASSEMBLY[] = "NewRelic.Api.Agent";
static const char API_TYPE[] = "NewRelic.Api.Agent.NewRelic";

typedef struct {
    instrumentation *root;
    const points *set;
    method_module *module;
    IMetaDataImport2 *import;
    method_list *found;
    const char *method; /* of the point that is looked at */
} scan;

/* ---- lists ---- */

void method_list_add(method_list *list, ModuleID module, mdMethodDef method)
{
    uint64_t key[2] = {module, method};
    size_t known = list->seen.count;

    if (table_text_at(&list->seen, (const char *)key, sizeof key, 0) == NULL) {
        list->failed = true;
        return;
    }
    if (list->seen.count == known)
        return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;
        ModuleID *modules = memory_resize(list->modules, capacity * sizeof *modules);
        mdMethodDef *methods;

        if (modules != NULL)
            list->modules = modules;
        methods = memory_resize(list->methods, capacity * sizeof *methods);
        if (methods != NULL)
            list->methods = methods;
        if (modules == NULL || methods == NULL) {
            list->failed = true;
            return;
        }
        list->capacity = capacity;
    }
    list->modules[list->count] = module;
    list->methods[list->count++] = method;
}

void method_list_free(method_list *list)
{
    memory_free(list->modules);
    memory_free(list->methods);
    table_text_free(&list->seen);
    memset(list, 0, sizeof *list);
}

/* ---- one method ---- */

static void announce(instrumentation *root, const method_module *module, const method_facts *f)
{
    journal_write(&root->log, LEVEL_INFO,
                  "Instrumenting method: (Module: %s, AppDomain: clrhost)[%s]%s.%s(%s)",
                  buffer_text(&module->path), buffer_text(&module->assembly_name),
                  buffer_text(&f->type_name), buffer_text(&f->name), buffer_text(&f->parameters));
}

/* Makes the method a target when a point or an attribute names it and its shape allows it. */
static bool consider(instrumentation *root, const points *set, const method_module *module,
                     IMetaDataImport2 *import, mdMethodDef method)
{
    const point *named[POINTS_MOST_SHIMS] = {NULL};
    const char *refusal;
    method_facts f;
    shape s;
    target *t = NULL;
    bool has_agent = root->agent_path.length != 0;
    bool wanted;

    if (!method_open(import, method, &f))
        return false;
    s = method_shape(&f);
    if (shape_without_code(&s) != NULL) { /* nothing to instrument, and nothing to complain of */
        method_close(&f);
        return false;
    }
    if (!has_agent)
        f.attributes = 0; /* they are for nobody else */
    wanted = f.attributes != 0;
    for (size_t i = has_agent ? 0 : 1; i <= points_shim_count(set); i++) {
        named[i] = points_find(set, i == 0 ? NULL : points_shim_at(set, i - 1),
                               buffer_text(&module->assembly_name), module->assembly_version,
                               buffer_text(&f.type_name), buffer_text(&f.name),
                               buffer_text(&f.parameters), buffer_text(&f.alternative));
        wanted = wanted || named[i] != NULL;
    }
    if (wanted) {
        refusal = shape_refusal(&s);
        if (refusal != NULL) {
            journal_write(&root->log, LEVEL_ERROR, "[%s]%s.%s(%s) is left alone: %s",
                          buffer_text(&module->assembly_name), buffer_text(&f.type_name),
                          buffer_text(&f.name), buffer_text(&f.parameters), refusal);
        } else {
            t = targets_add(&root->targets, module->id, method);
        }
    }
    if (t != NULL) {
        for (int i = 0; i < POINTS_MOST_SHIMS; i++)
            t->points[i] = named[i];
        t->own = (f.is_async ? (uint32_t)POINT_ASYNC : 0) | f.attributes;
        t->generation = root->generation;
        t->active = true;
        root->has_targets = true;
        if (!atomic_exchange(&t->announced, true))
            announce(root, module, &f);
    }
    method_close(&f);
    return t != NULL;
}

/* ---- a module ---- */

static int consider_token(void *context, mdToken method)
{
    scan *s = context;

    if (consider(s->root, s->set, s->module, s->import, method))
        method_list_add(s->found, s->module->id, method);
    return 1;
}

/* All methods of that name in a class. */
static void consider_named(scan *s, mdTypeDef type, const char *name)
{
    buffer units = BUFFER_EMPTY;
    clr_enumeration enumeration = NULL;
    mdMethodDef methods[32];
    uint32_t count = 0;

    text_append_utf8_as_utf16(&units, name, strlen(name));
    buffer_append_u16(&units, 0);
    while (!buffer_failed(&units) &&
           CLR_OK(clr_import_enum_methods_with_name(
               s->import, &enumeration, type, (const WCHAR *)units.data, methods, 32, &count)) &&
           count != 0) {
        for (uint32_t i = 0; i < count; i++)
            consider_token(s, methods[i]);
    }
    if (enumeration != NULL)
        clr_import_close_enum(s->import, enumeration);
    buffer_free(&units);
}

static int consider_class(void *context, mdToken type)
{
    scan *s = context;

    if (point_is_any(s->method))
        clr_each_method(s->import, type, consider_token, s);
    else
        consider_named(s, type, s->method);
    return 1;
}

static bool consider_point(void *context, const point *p)
{
    scan *s = context;
    mdTypeDef type;

    s->method = p->method;
    if (point_is_any(p->class_name)) {
        clr_each_type_def(s->import, consider_class, s);
    } else {
        if (CLR_OK(clr_find_type_path(s->import, p->class_name, &type)))
            consider_class(s, type);
    }
    return true;
}

/* Does the module refer to the API's attributes at all? */
static bool refers_to_attributes(IMetaDataImport2 *import)
{
    clr_enumeration enumeration = NULL;
    mdTypeRef references[64];
    uint32_t count = 0;
    bool found = false;

    while (!found &&
           CLR_OK(clr_import_enum_type_refs(import, &enumeration, references, 64, &count)) &&
           count != 0) {
        for (uint32_t i = 0; i < count && !found; i++) {
            char memory[128];
            buffer name;

            buffer_fix(&name, memory, sizeof memory);
            clr_get_type_ref(import, references[i], &name, NULL);
            found = text_equal(buffer_text(&name), ATTRIBUTE_TRANSACTION) ||
                    text_equal(buffer_text(&name), ATTRIBUTE_TRACE);
        }
    }
    if (enumeration != NULL)
        clr_import_close_enum(import, enumeration);
    return found;
}

static int consider_attributes(void *context, mdToken method)
{
    scan *s = context;
    method_facts f;
    bool wanted = false;

    if (method_open(s->import, method, &f)) {
        wanted = f.attributes != 0;
        method_close(&f);
    }
    return wanted ? consider_token(s, method) : 1;
}

static int consider_type(void *context, mdToken type)
{
    scan *s = context;

    clr_each_method(s->import, type, consider_attributes, s);
    return 1;
}

/* ---- the API ---- */

static int rewrite_api(void *context, mdToken method)
{
    scan *s = context;
    method_facts f;
    bool wanted = false;

    if (method_open(s->import, method, &f)) {
        wanted = !text_equal(buffer_text(&f.name), ".cctor") &&
                 !text_equal(buffer_text(&f.name), "GetAgent") &&
                 (f.flags & (mdAbstract | mdPinvokeImpl)) == 0 && (f.flags & mdStatic) != 0;
        method_close(&f);
    }
    if (wanted)
        rewrite_api_method(s->root, s->module->id, method);
    return 1;
}

static void rewrite_whole_api(scan *s)
{
    mdTypeDef type;

    if (CLR_OK(clr_find_type(s->import, API_TYPE, 0, &type)))
        clr_each_method(s->import, type, rewrite_api, s);
}

void matching_scan_module(instrumentation *root, ModuleID module, bool is_new, method_list *found)
{
    const points *set = atomic_load(&root->points);
    IMetaDataImport2 *import = NULL;
    method_module m;
    scan s = {root, set, &m, NULL, found, NULL};
    const char *assembly;
    bool is_api;

    if (!method_module_open(&root->info, module, &m))
        return;
    assembly = buffer_text(&m.assembly_name);
    is_api = is_new && root->agent_path.length != 0 && text_equal(assembly, API_ASSEMBLY);
    if ((is_api || points_know_assembly(set, assembly) || attributes_are_searched(assembly)) &&
        CLR_OK(clr_open_import(&root->info, module, &import))) {
        s.import = import;
        if (is_api)
            rewrite_whole_api(&s);
        if (points_know_assembly(set, assembly)) {
            method_read_version(&root->info, &m);
            points_each_of(set, assembly, consider_point, &s);
        }
        if (attributes_are_searched(assembly) && refers_to_attributes(import))
            clr_each_type_def(import, consider_type, &s);
    }
    clr_release(import);
    method_module_close(&m);
}

/* Is a method of this name asked for in the assembly? Much cheaper than all that consider() reads.
 */
static bool is_known_by_name(const points *set, const method_module *module,
                             IMetaDataImport2 *import, mdMethodDef method)
{
    buffer name = BUFFER_EMPTY;
    clr_method props;
    bool is_known;

    is_known = CLR_OK(clr_get_method(import, method, &name, &props)) && !buffer_failed(&name) &&
               points_know_method(set, buffer_text(&module->assembly_name), buffer_text(&name));
    buffer_free(&name);
    return is_known;
}

bool matching_scan_method(instrumentation *root, ModuleID module, mdMethodDef method)
{
    const points *set = atomic_load(&root->points);
    IMetaDataImport2 *import = NULL;
    method_module m;
    bool is_target = false;

    if (!method_module_open(&root->info, module, &m))
        return false;
    if (points_know_assembly(set, buffer_text(&m.assembly_name)) &&
        CLR_OK(clr_open_import(&root->info, module, &import)) &&
        is_known_by_name(set, &m, import, method)) {
        method_read_version(&root->info, &m);
        is_target = consider(root, set, &m, import, method);
    }
    clr_release(import);
    method_module_close(&m);
    return is_target;
}
