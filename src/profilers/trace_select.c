/* trace_select: see trace_select.h. */
#include "profilers/trace_select.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"
#include "base/text.h"
#include "cil/compressed.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"

static const WCHAR ASYNC[] = u"System.Runtime.CompilerServices.AsyncStateMachineAttribute";

typedef struct {
    const clr_info *info;
    trace_registry *registry;
    const cil_patterns *patterns;
    const cil_patterns *log; /* NULL = none */
    trace_list *out;
    ModuleID module;
    IMetaDataImport2 *import;
    buffer assembly;
    buffer type;
    buffer method;
    buffer parameters;
    mdMethodDef token;
} selecting;

void trace_list_add(trace_list *l, ModuleID module, mdMethodDef token)
{
    if (l->count == l->capacity) {
        uint32_t capacity = l->capacity == 0 ? 256 : l->capacity * 2;
        ModuleID *modules = memory_resize(l->modules, capacity * sizeof *modules);
        mdMethodDef *tokens;

        if (modules != NULL)
            l->modules = modules;
        tokens = memory_resize(l->tokens, capacity * sizeof *tokens);
        if (tokens != NULL)
            l->tokens = tokens;
        if (modules == NULL || tokens == NULL) {
            l->failed++;
            return;
        }
        l->capacity = capacity;
    }
    l->modules[l->count] = module;
    l->tokens[l->count++] = token;
}

void trace_list_free(trace_list *l)
{
    memory_free(l->modules);
    memory_free(l->tokens);
    memset(l, 0, sizeof *l);
}

/* A probe's call is followed by a poll for collections, which is this method on some runtimes;
 * and the runtime takes the addresses of the cast helpers once and for all. */
static const char *never(const char *type, const char *method)
{
    if (strcmp(type, "System.Threading.Thread") == 0 && strstr(method, "PollGC") != NULL)
        return "probes call it themselves";
    if (text_starts_with(type, "System.Runtime.CompilerServices.CastHelpers"))
        return "the runtime calls it by a fixed address";
    return NULL;
}

static const char *parameters_of(void *context)
{
    selecting *s = context;
    buffer name = BUFFER_EMPTY;

    if (s->parameters.length == 0) {
        clr_append_method_token(s->import, s->token, &name, &s->parameters);
        buffer_free(&name);
        cil_pattern_plain_parameters(&s->parameters);
    }
    return buffer_text(&s->parameters);
}

/* The name of the type whose constructor made the attribute. */
static bool attribute_name(selecting *s, mdToken constructor, buffer *out)
{
    mdToken type = 0;
    clr_method method;

    if (CLR_TOKEN_TYPE(constructor) == mdtMemberRef) {
        if (!CLR_OK(clr_import_get_member_ref_props(s->import, constructor, &type, NULL, 0, NULL,
                                                    NULL, NULL)))
            return false;
    } else if (CLR_OK(clr_get_method(s->import, constructor, NULL, &method))) {
        type = method.type;
    }
    return type != 0 && CLR_OK(clr_append_type_path(s->import, type, out));
}

static bool has_attribute(void *context, const char *pattern)
{
    selecting *s = context;
    clr_enumeration enumeration = NULL;
    mdToken tokens[16];
    uint32_t count = 0;
    bool found = false;

    while (!found &&
           CLR_OK(clr_import_enum_custom_attributes(s->import, &enumeration, s->token, 0, tokens,
                                                    16, &count)) &&
           count != 0) {
        for (uint32_t n = 0; n < count && !found; n++) {
            buffer name = BUFFER_EMPTY;
            mdToken constructor = 0;

            if (CLR_OK(clr_import_get_custom_attribute_props(s->import, tokens[n], NULL,
                                                             &constructor, NULL, NULL)) &&
                attribute_name(s, constructor, &name))
                found = cil_pattern_attribute(pattern, buffer_text(&name));
            buffer_free(&name);
        }
    }
    if (enumeration != NULL)
        clr_import_close_enum(s->import, enumeration);
    return found;
}

/* The MoveNext that the compiler made of an async method; 0 = it is none. */
static mdMethodDef find_step(selecting *s, mdTypeDef type)
{
    const void *blob = NULL;
    uint32_t size = 0;
    mdTypeDef machine = 0;
    mdMethodDef step = 0;
    reader r;
    const char *plus = NULL;
    char *name;

    if (clr_import_get_custom_attribute_by_name(s->import, s->token, ASYNC, &blob, &size) != S_OK)
        return 0;
    r = reader_of(blob, size);
    reader_skip(&r, 2);
    size = cil_read_compressed(&r);
    blob = reader_bytes(&r, size);
    name = blob == NULL ? NULL : memory_copy_text_n(blob, size);
    if (name != NULL && strchr(name, ',') != NULL)
        *strchr(name, ',') = '\0';
    plus = name == NULL ? NULL : strrchr(name, '+');
    if (plus != NULL && clr_find_type(s->import, plus + 1, type, &machine) == S_OK)
        clr_find_method(s->import, machine, "MoveNext", &step);
    memory_free(name);
    return step;
}

static bool is_step(selecting *s, mdTypeDef type)
{
    mdFieldDef field = 0;

    return strcmp(buffer_text(&s->method), "MoveNext") == 0 &&
           clr_find_field(s->import, type, "<>t__builder", &field) == S_OK && field != 0;
}

/* The calls of an async method as a whole, counted by its steps. */
static void take_whole(selecting *s, trace_entry *steps, mdMethodDef step, trace_entry *of)
{
    trace_entry *whole = trace_registry_add(s->registry, s->module, step | TRACE_WHOLE);

    if (whole == NULL)
        return;
    whole->whole = true;
    whole->token = s->token;
    atomic_store(&whole->wanted, true);
    atomic_store(&whole->state, TRACE_PROBED);
    steps->probe.whole = &whole->probe;
    of->as_whole = whole;
}

/* The steps of an async method that is meant. */
static void take_step(selecting *s, mdTypeDef type, trace_entry *of)
{
    mdMethodDef step = find_step(s, type);
    trace_entry *entry = step == 0 ? NULL : trace_registry_add(s->registry, s->module, step);

    if (entry == NULL)
        return;
    entry->probe.owner = of->probe.index; /* before anybody can call it */
    atomic_store(&of->async, true);
    take_whole(s, entry, step, of);
    if (atomic_exchange(&entry->wanted, true))
        return;
    atomic_store(&entry->step, true);
    if (atomic_load(&entry->state) != TRACE_LEFT_ALONE)
        trace_list_add(s->out, s->module, step);
}

/* `reason`: why it has no probes; NULL = it may have some. */
static void take_method(selecting *s, mdTypeDef type, const cil_pattern_subject *subject,
                        const char *reason)
{
    trace_entry *entry = trace_registry_add(s->registry, s->module, s->token);

    if (entry == NULL) {
        s->out->failed++;
        return;
    }
    atomic_store(&entry->log, s->log != NULL && cil_patterns_match(s->log, subject));
    if (reason != NULL && entry->reason == NULL)
        entry->reason = memory_copy_text(reason);
    if (reason != NULL)
        atomic_store(&entry->state, TRACE_LEFT_ALONE);
    if (atomic_exchange(&entry->wanted, true))
        return; /* as the steps of an async method that came first */
    if (is_step(s, type))
        atomic_store(&entry->step, true);
    if (atomic_load(&entry->state) != TRACE_LEFT_ALONE)
        trace_list_add(s->out, s->module, s->token);
    take_step(s, type, entry);
}

static int visit_method(void *context, mdToken token)
{
    selecting *s = context;
    cil_pattern_subject subject = {
        buffer_text(&s->assembly), buffer_text(&s->type), NULL, s, parameters_of, has_attribute};
    clr_method method;
    const char *reason;

    buffer_clear(&s->method);
    buffer_clear(&s->parameters);
    s->token = token;
    if (!CLR_OK(clr_get_method(s->import, token, &s->method, &method)))
        return 1;
    subject.method = buffer_text(&s->method);
    if (!cil_patterns_match(s->patterns, &subject))
        return 1;
    reason = never(buffer_text(&s->type), buffer_text(&s->method));
    if (method.rva == 0 || (method.impl_flags & miCodeTypeMask) != miIL) {
        if (s->out->bodiless++ >= s->out->nameable)
            return 1;
        reason = (method.flags & mdAbstract) != 0
                     ? "it has no body: it is abstract, name the methods that implement it"
                     : "it has no body: its code is native, or the runtime's";
    }
    take_method(s, method.type, &subject, reason);
    return 1;
}

static int visit_type(void *context, mdToken token)
{
    selecting *s = context;

    buffer_clear(&s->type);
    if (CLR_OK(clr_append_type_path(s->import, token, &s->type)) &&
        cil_patterns_may_match(s->patterns, buffer_text(&s->assembly), buffer_text(&s->type)))
        clr_each_method(s->import, token, visit_method, s);
    return 1;
}

void trace_select_module(const clr_info *info, trace_registry *r, const cil_patterns *patterns,
                         const cil_patterns *log, ModuleID module, trace_list *out)
{
    selecting s = {.info = info,
                   .registry = r,
                   .patterns = patterns,
                   .log = log,
                   .out = out,
                   .module = module};
    buffer path = BUFFER_EMPTY;
    AssemblyID assembly = 0;

    if (CLR_OK(clr_get_module_path(info, module, &path, &assembly)) && assembly != 0)
        clr_get_assembly_name(info, assembly, &s.assembly);
    if (cil_patterns_may_match(patterns, buffer_text(&s.assembly), NULL) &&
        CLR_OK(clr_open_import(info, module, &s.import))) {
        clr_each_type_def(s.import, visit_type, &s);
        clr_release(s.import);
    }
    buffer_free(&path);
    buffer_free(&s.assembly);
    buffer_free(&s.type);
    buffer_free(&s.method);
    buffer_free(&s.parameters);
}

typedef struct {
    trace_list *list;
    table_u64 there; /* tokens that are in the list */
} inliner_walk;

static int visit_inliner(void *context, ModuleID module, mdMethodDef method)
{
    inliner_walk *walk = context;
    uint64_t known;

    if (!table_u64_get(&walk->there, method, &known) && table_u64_put(&walk->there, method, 1))
        trace_list_add(walk->list, module, method);
    return 1;
}

void trace_select_inliners(const clr_info *info, ModuleID module, trace_list *list)
{
    uint32_t count = list->count;
    inliner_walk walk = {.list = list};

    table_u64_init(&walk.there);
    for (uint32_t n = 0; n < count; n++)
        table_u64_put(&walk.there, list->tokens[n], 1);
    for (uint32_t n = 0; n < count; n++)
        clr_each_inliner(info, module, module, list->tokens[n], visit_inliner, &walk);
    table_u64_free(&walk.there);
}
