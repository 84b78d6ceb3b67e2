/* trace_plan: see trace_plan.h. */
#include "profilers/trace_plan.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "catalogue/condition.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "profilers/trace_counters.h"

enum { MOST_PARAMETERS = TRACE_ARGUMENTS, NAME_UNITS = 128 };

typedef struct {
    const clr_info *info;
    ModuleID module;
    IMetaDataImport2 *import;
    mdMethodDef method;
    const cil_signature *signature;
    uint32_t result; /* node of the signature */
    const trace_wish *wish;
    char names[MOST_PARAMETERS][sizeof((trace_capture *)0)->label];
    uint32_t name_count;
    bool method_is_secret;
    trace_capture captures[TRACE_CAPTURES];
    uint32_t count;
} planning;

int trace_wish_path(trace_wish *wish, const char *path, size_t length, bool shown)
{
    for (uint32_t n = 0; n < wish->path_count; n++) {
        if (strlen(wish->paths[n]) == length && memcmp(wish->paths[n], path, length) == 0) {
            wish->shown[n] |= shown;
            return (int)n;
        }
    }
    if (wish->path_count == TRACE_PATHS)
        return -1;
    wish->paths[wish->path_count] = memory_copy_text_n(path, length);
    if (wish->paths[wish->path_count] == NULL)
        return -1;
    wish->shown[wish->path_count] = shown;
    return (int)wish->path_count++;
}

/* ---- names of parameters ---- */

static void copy_name(char *out, size_t size, const WCHAR *units, size_t limit)
{
    buffer name = BUFFER_EMPTY;

    text_append_utf16(&name, units, text_utf16_length(units, limit));
    if (name.length < size)
        memcpy(out, buffer_text(&name), name.length + 1);
    buffer_free(&name);
}

static void read_names(planning *p)
{
    clr_enumeration enumeration = NULL;
    mdParamDef tokens[MOST_PARAMETERS];
    uint32_t count = 0;
    buffer name = BUFFER_EMPTY;

    if (CLR_OK(clr_get_method(p->import, p->method, &name, NULL)))
        p->method_is_secret = trace_is_secret(buffer_text(&name), p->wish->redact);
    buffer_free(&name);
    if (CLR_OK(clr_import_enum_params(p->import, &enumeration, p->method, tokens, MOST_PARAMETERS,
                                      &count))) {
        for (uint32_t n = 0; n < count && n < MOST_PARAMETERS; n++) {
            WCHAR units[NAME_UNITS] = {0};
            uint32_t sequence = 0;
            uint32_t length = 0;

            if (!CLR_OK(clr_import_get_param_props(p->import, tokens[n], NULL, &sequence, units,
                                                   NAME_UNITS, &length, NULL, NULL, NULL, NULL)) ||
                sequence == 0 || sequence > MOST_PARAMETERS)
                continue;
            copy_name(p->names[sequence - 1], sizeof p->names[0], units, NAME_UNITS);
            if (sequence > p->name_count)
                p->name_count = sequence;
        }
    }
    if (enumeration != NULL)
        clr_import_close_enum(p->import, enumeration);
}

/* ---- the plan ---- */

static trace_types types_of(const planning *p)
{
    return (trace_types){
        .info = p->info, .module = p->module, .import = p->import, .redact = p->wish->redact};
}

/* `label` has room. */
static trace_capture *prepare(planning *p, uint8_t number, int32_t variable, const char *label)
{
    trace_capture *c = &p->captures[p->count];

    memset(c, 0, sizeof *c);
    c->number = number;
    c->variable = variable;
    memcpy(c->label, label, strlen(label));
    c->secret = trace_is_secret(label, p->wish->redact) ||
                (variable == TRACE_PATH_RESULT && p->method_is_secret);
    return c;
}

/* `label` is a whole path whose names after the first begin at `rest`, or a parameter's name. */
static void add(planning *p, uint8_t number, int32_t variable, uint32_t type, size_t rest,
                const char *label)
{
    trace_types types = types_of(p);
    trace_capture *c;
    uint32_t bare;

    if (p->count == TRACE_CAPTURES || type == TRACE_NO_RESULT || strlen(label) >= sizeof c->label)
        return;
    c = prepare(p, number, variable, label);
    bare = cil_type_skip_modifiers(p->signature, type);
    c->by_ref = p->signature->types[bare].element == CIL_TYPE_BYREF;
    if (c->by_ref)
        bare = cil_type_skip_modifiers(p->signature, bare + 1);
    c->type = p->signature->types[bare];
    if (!trace_shape_declared(&types, &p->signature->types[bare], c->label, rest, &c->shape))
        return;
    c->secret &= !c->shape.leaf.open;
    /* by reference it may be an `out` parameter, which is nothing yet */
    if (c->by_ref && c->shape.leaf.kind == TRACE_KIND_ITEMS && c->shape.step_count == 1)
        c->shape.leaf.kind = CIL_TYPE_OBJECT;
    p->count++;
}

/* `this`: its type is not in the signature. */
static void add_this(planning *p, uint8_t number, size_t rest, const char *label)
{
    trace_types types = types_of(p);
    clr_method method;
    trace_capture *c;

    if (p->count == TRACE_CAPTURES || !cil_signature_has_this(p->signature->convention) ||
        !CLR_OK(clr_get_method(p->import, p->method, NULL, &method)) ||
        strlen(label) >= sizeof c->label)
        return;
    c = prepare(p, number, 0, label);
    if (trace_shape_this(&types, method.type, c->label, rest, &c->shape, &c->by_ref))
        p->count++;
}

/* The parameter that a path begins with: its name, or argN. -1 = none. */
static int parameter_of(const planning *p, const char *path, size_t length)
{
    uint64_t number = 0;
    char digits[8] = "";

    for (uint32_t n = 0; n < p->name_count; n++)
        if (strlen(p->names[n]) == length && memcmp(p->names[n], path, length) == 0)
            return (int)n;
    if (length > 3 && length < 3 + sizeof digits && memcmp(path, "arg", 3) == 0) {
        memcpy(digits, path + 3, length - 3);
        if (text_to_u64(digits, &number) && number < p->signature->count)
            return (int)number;
    }
    return -1;
}

static void add_path(planning *p, uint32_t index)
{
    const char *path = p->wish->paths[index];
    size_t length = strcspn(path, ".");
    uint8_t number = (uint8_t)(TRACE_FIRST_PATH + index);
    int parameter = parameter_of(p, path, length);
    uint32_t type = cil_signature_first(p->signature);

    if (parameter < 0 && length == 6 && memcmp(path, "result", 6) == 0) {
        add(p, number, TRACE_PATH_RESULT, p->result, length, path);
    } else if (parameter < 0 && length == 4 && memcmp(path, "this", 4) == 0) {
        add_this(p, number, length, path);
    } else if (parameter >= 0) {
        for (int n = 0; n < parameter; n++)
            type = cil_signature_after(p->signature, type);
        if (type < p->signature->type_count)
            add(p, number, parameter + cil_signature_has_this(p->signature->convention), type,
                length, path);
    }
}

static void add_paths(planning *p, bool shown)
{
    for (uint32_t n = 0; n < p->wish->path_count; n++)
        if (p->wish->shown[n] == shown)
            add_path(p, n);
}

static void add_arguments(planning *p)
{
    uint32_t number = 0;
    const char *name;

    for (uint32_t t = cil_signature_first(p->signature);
         t < p->signature->type_count && number < TRACE_ARGUMENTS;
         t = cil_signature_after(p->signature, t), number++) {
        name = number < p->name_count ? p->names[number] : "";
        add(p, (uint8_t)number, (int32_t)number + cil_signature_has_this(p->signature->convention),
            t, strlen(name), name);
    }
    add(p, TRACE_RESULT, TRACE_PATH_RESULT, p->result, 0, "");
}

const trace_plan *trace_plan_make(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                                  mdMethodDef method, const cil_signature *signature,
                                  uint32_t result, const trace_wish *wish, trace_plan **plans)
{
    planning *p = memory_allocate_array(1, sizeof *p);
    trace_plan *plan;

    if (p == NULL)
        return NULL;
    p->info = info;
    p->module = module;
    p->import = import;
    p->method = method;
    p->signature = signature;
    p->result = result;
    p->wish = wish;
    read_names(p);
    add_paths(p, false); /* first, where memory for values is short: the condition needs them */
    if (wish->arguments)
        add_arguments(p);
    add_paths(p, true);
    for (plan = *plans; plan != NULL; plan = plan->before)
        if (plan->count == p->count &&
            memcmp(plan->captures, p->captures, p->count * sizeof *p->captures) == 0)
            break;
    if (plan == NULL) {
        plan = memory_allocate(sizeof *plan + p->count * sizeof *plan->captures);
        if (plan != NULL) {
            plan->before = *plans;
            plan->count = p->count;
            memcpy(plan->captures, p->captures, p->count * sizeof *p->captures);
            *plans = plan;
        }
    }
    memory_free(p);
    return plan;
}
