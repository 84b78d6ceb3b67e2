/* trace_plan: see trace_plan.h. */
#include "profilers/trace_plan.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "catalogue/condition.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "profilers/trace_counters.h"

enum { MOST_PARAMETERS = 32, NAME_UNITS = 128, MOST_FIELDS = 512, SIMPLE_GETTER = 8 };

static const char *const SECRETS[] = {"password",   "passwd", "pwd",     "secret",       "token",
                                      "credential", "apikey", "api_key", "authorization"};

/* A type that was found: the module that defines it, and the runtime's class. */
typedef struct {
    ModuleID module;
    IMetaDataImport2 *import; /* released by whoever found it */
    mdTypeDef type;
    ClassID class_id;
} place;

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

/* As much of it as there is room for. */
static void append_part(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    size_t length = strlen(text);

    if (length > size - 1 - used)
        length = size - 1 - used;
    memcpy(out + used, text, length);
    out[used + length] = '\0';
}

static bool contains_ignoring_case(const char *text, const char *word, size_t length)
{
    for (; length != 0 && *text != '\0'; text++) {
        size_t n = 0;

        while (n < length && (text[n] | 32) == (word[n] | 32))
            n++;
        if (n == length)
            return true;
    }
    return false;
}

bool trace_is_secret(const char *name, const char *more)
{
    for (size_t n = 0; n < sizeof SECRETS / sizeof SECRETS[0]; n++)
        if (contains_ignoring_case(name, SECRETS[n], strlen(SECRETS[n])))
            return true;
    while (*more != '\0') {
        size_t length = strcspn(more, ", ");

        if (contains_ignoring_case(name, more, length))
            return true;
        more += length;
        more += *more != '\0';
    }
    return false;
}

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

/* ---- types ---- */

/* A type that another module defines, looked for by name in all of them. */
typedef struct {
    const clr_info *info;
    const char *name; /* Outer+Inner */
    ModuleID module;
    mdTypeDef type;
} search;

static int look_at_module(void *context, uintptr_t module)
{
    search *s = context;
    IMetaDataImport2 *import = NULL;
    mdTypeDef type = 0;
    const char *name = s->name;

    if (!CLR_OK(clr_open_import(s->info, module, &import)))
        return 1;
    for (;;) {
        size_t length = strcspn(name, "+");
        char *part = memory_copy_text_n(name, length);
        mdTypeDef inner = 0;

        if (part == NULL || clr_find_type(import, part, type, &inner) != S_OK)
            inner = 0;
        memory_free(part);
        type = inner;
        if (type == 0 || name[length] == '\0')
            break;
        name += length + 1;
    }
    clr_release(import);
    if (type != 0) {
        s->module = module;
        s->type = type;
    }
    return type == 0;
}

static bool find_type(const clr_info *info, ModuleID module, mdToken token, place *out)
{
    ClassID parent = 0;
    uint32_t arguments = 0;
    buffer name = BUFFER_EMPTY;
    search s = {.info = info, .module = module, .type = token};
    IMetaDataImport2 *import = NULL;

    memset(out, 0, sizeof *out);
    if (CLR_TOKEN_TYPE(token) == mdtTypeRef && CLR_OK(clr_open_import(info, module, &import))) {
        clr_append_type_path(import, token, &name);
        clr_release(import);
        s.type = 0;
        s.name = buffer_text(&name);
        clr_each_module(info, look_at_module, &s);
    }
    buffer_free(&name);
    return CLR_TOKEN_TYPE(s.type) == mdtTypeDef && s.type != 0 &&
           CLR_OK(clr_info_get_class_from_token_and_type_args(info, s.module, s.type, 0, NULL,
                                                              &out->class_id)) &&
           out->class_id != 0 &&
           CLR_OK(clr_info_get_class_id_info2(info, out->class_id, &out->module, &out->type,
                                              &parent, 0, &arguments, NULL)) &&
           arguments == 0 && out->module != 0 &&
           CLR_OK(clr_open_import(info, out->module, &out->import));
}

static void release(place *at)
{
    if (at->import != NULL)
        clr_release(at->import);
    at->import = NULL;
}

/* Of an enum: the element of its values; 0 = it is none. */
static uint8_t enum_element(const place *at)
{
    mdToken extends = 0;
    mdFieldDef field = 0;
    const uint8_t *signature = NULL;
    uint32_t size = 0;
    uint8_t element = 0;
    buffer name = BUFFER_EMPTY;

    if (CLR_OK(clr_get_type_def(at->import, at->type, NULL, NULL, &extends)) &&
        CLR_OK(clr_append_type_path(at->import, extends, &name)) &&
        strcmp(buffer_text(&name), "System.Enum") == 0 &&
        CLR_OK(clr_find_field(at->import, at->type, "value__", &field)) &&
        CLR_OK(clr_import_get_field_props(at->import, field, NULL, NULL, 0, NULL, NULL, &signature,
                                          &size, NULL, NULL, NULL)) &&
        signature != NULL && !cil_signature_field_element(signature, size, &element))
        element = 0;
    buffer_free(&name);
    return element;
}

/* A value type: one that is known by name, or an enum. */
static uint8_t value_kind(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                          mdToken token, trace_capture *c)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } known[] = {{"System.Guid", TRACE_KIND_GUID},
                 {"System.DateTime", TRACE_KIND_DATE_TIME},
                 {"System.TimeSpan", TRACE_KIND_TIME_SPAN},
                 {"System.Decimal", TRACE_KIND_DECIMAL}};
    buffer name = BUFFER_EMPTY;
    uint8_t kind = 0;
    place at;

    clr_append_type_path(import, token, &name);
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++)
        if (strcmp(buffer_text(&name), known[n].name) == 0)
            kind = known[n].kind;
    buffer_free(&name);
    if (kind != 0)
        return kind;
    if (find_type(info, module, token, &at)) {
        kind = enum_element(&at);
        if (kind != 0) {
            c->enum_module = at.module;
            c->enum_type = at.type;
        }
    }
    release(&at);
    return kind;
}

/* The kind under which a probe shall see a type; 0 = it cannot. */
static uint8_t kind_of(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                       const cil_type *t, trace_capture *c)
{
    switch (t->element) {
    case CIL_TYPE_VALUETYPE:
        return value_kind(info, module, import, t->token, c);
    case CIL_TYPE_GENERIC: /* a class or a value: the next node tells */
        return t[1].element == CIL_TYPE_CLASS ? CIL_TYPE_OBJECT : 0;
    case CIL_TYPE_CLASS:
    case CIL_TYPE_VECTOR:
    case CIL_TYPE_ARRAY:
        return CIL_TYPE_OBJECT;
    case CIL_TYPE_VARIABLE:
    case CIL_TYPE_METHOD_VARIABLE:
    case CIL_TYPE_VOID:
    case CIL_TYPE_TYPED_REFERENCE:
        return 0;
    case CIL_TYPE_POINTER:
    case CIL_TYPE_FUNCTION:
        return CIL_TYPE_UINT_PTR;
    default:
        return t->element;
    }
}

/* ---- fields ---- */

/* The field that a property's getter returns, when it does nothing else. */
static mdFieldDef field_of_getter(const clr_info *info, const place *at, const char *name)
{
    char getter[sizeof((trace_capture *)0)->label + 8] = "get_";
    const uint8_t *body = NULL;
    uint32_t size = 0;
    uint32_t token = 0;
    mdMethodDef method = 0;

    append_part(getter, sizeof getter, name);
    if (clr_find_method(at->import, at->type, getter, &method) != S_OK || method == 0 ||
        clr_info_get_il_function_body(info, at->module, method, &body, &size) != S_OK ||
        body == NULL || size < SIMPLE_GETTER)
        return 0;
    /* a tiny header with 7 bytes of code: ldarg.0, ldfld, ret */
    if (body[0] != (7 << 2 | 2) || body[1] != 0x02 || body[2] != 0x7B || body[7] != 0x2A)
        return 0;
    memcpy(&token, body + 3, sizeof token);
    return CLR_TOKEN_TYPE(token) == mdtFieldDef ? token : 0;
}

static mdFieldDef field_named(const clr_info *info, const place *at, const char *name)
{
    char backing[sizeof((trace_capture *)0)->label + 24] = "<";
    mdFieldDef field = 0;

    if (clr_find_field(at->import, at->type, name, &field) == S_OK && field != 0)
        return field;
    append_part(backing, sizeof backing, name);
    append_part(backing, sizeof backing, ">k__BackingField");
    if (clr_find_field(at->import, at->type, backing, &field) == S_OK && field != 0)
        return field;
    return field_of_getter(info, at, name);
}

/* The field's place; static and literal ones have none. */
static bool offset_of(const clr_info *info, const place *at, mdFieldDef field, uint32_t *offset)
{
    COR_FIELD_OFFSET *fields = memory_allocate_array(MOST_FIELDS, sizeof *fields);
    uint32_t count = 0;
    uint32_t size = 0;
    bool found = false;

    if (fields != NULL &&
        CLR_OK(clr_info_get_class_layout(info, at->class_id, fields, MOST_FIELDS, &count, &size)))
        for (uint32_t n = 0; n < count && n < MOST_FIELDS && !found; n++) {
            found = fields[n].ridOfField == field;
            *offset = fields[n].ulOffset;
        }
    memory_free(fields);
    return found;
}

/* Looks for the field in the class and its bases; *at becomes the class that has it. */
static mdFieldDef find_field(const clr_info *info, place *at, const char *name, uint32_t *offset)
{
    for (;;) {
        mdFieldDef field = field_named(info, at, name);
        ClassID parent = 0;
        uint32_t arguments = 0;

        if (field != 0)
            return offset_of(info, at, field, offset) ? field : 0;
        if (!CLR_OK(clr_info_get_class_id_info2(info, at->class_id, NULL, NULL, &parent, 0,
                                                &arguments, NULL)) ||
            parent == 0)
            return 0;
        release(at);
        at->class_id = parent;
        if (!CLR_OK(clr_info_get_class_id_info2(info, parent, &at->module, &at->type, NULL, 0,
                                                &arguments, NULL)) ||
            !CLR_OK(clr_open_import(info, at->module, &at->import)))
            return 0;
    }
}

/* Follows the names after the first one. `t` is the variable's type, in the method's module. */
static bool follow(const planning *p, const cil_type *t, const char *path, trace_capture *c)
{
    ModuleID module = p->module;
    place at = {0};
    place found = {0};
    cil_signature signature;
    bool good = true;

    cil_signature_init(&signature);
    while (good && *path == '.') {
        char name[sizeof c->label];
        size_t length = strcspn(++path, ".");
        const uint8_t *bytes = NULL;
        uint32_t size = 0;
        mdFieldDef field;
        trace_step *step = &c->steps[c->step_count];
        bool is_class = t->element == CIL_TYPE_CLASS;

        good = false;
        if (c->step_count == TRACE_STEPS || length >= sizeof name ||
            (!is_class && t->element != CIL_TYPE_VALUETYPE) ||
            !find_type(p->info, module, t->token, &found))
            break;
        memcpy(name, path, length);
        name[length] = '\0';
        path += length;
        field = find_field(p->info, &found, name, &step->offset);
        if (field == 0 ||
            !CLR_OK(clr_import_get_field_props(found.import, field, NULL, NULL, 0, NULL, NULL,
                                               &bytes, &size, NULL, NULL, NULL)))
            break;
        step->load = is_class;
        c->step_count++;
        cil_signature_free(&signature);
        cil_signature_init(&signature);
        if (cil_signature_read(&signature, bytes, size, NULL) != 0)
            break;
        t = &signature.types[cil_type_skip_modifiers(&signature, 0)];
        release(&at);
        at = found;
        memset(&found, 0, sizeof found);
        module = at.module;
        good = true;
    }
    if (good)
        c->kind = kind_of(p->info, module, at.import != NULL ? at.import : p->import, t, c);
    release(&found);
    release(&at);
    cil_signature_free(&signature);
    return good && c->kind != 0;
}

/* ---- the plan ---- */

static void add(planning *p, uint8_t number, int32_t variable, uint32_t type, const char *path,
                const char *label)
{
    trace_capture *c = &p->captures[p->count];
    uint32_t bare;

    if (p->count == TRACE_CAPTURES || type == TRACE_NO_RESULT)
        return;
    bare = cil_type_skip_modifiers(p->signature, type);
    memset(c, 0, sizeof *c);
    c->number = number;
    c->variable = variable;
    c->by_ref = p->signature->types[bare].element == CIL_TYPE_BYREF;
    append_part(c->label, sizeof c->label, label);
    c->secret = trace_is_secret(label, p->wish->redact) ||
                (variable == TRACE_PATH_RESULT && p->method_is_secret);
    if (c->by_ref)
        bare = cil_type_skip_modifiers(p->signature, bare + 1);
    if (follow(p, &p->signature->types[bare], path, c))
        p->count++;
}

/* `this`: its type is not in the signature. */
static void add_this(planning *p, uint8_t number, const char *path, const char *label)
{
    clr_method method;
    place at;
    cil_type t = {.element = CIL_TYPE_CLASS};
    trace_capture *c = &p->captures[p->count];
    mdToken extends = 0;
    buffer name = BUFFER_EMPTY;

    if (p->count == TRACE_CAPTURES || !cil_signature_has_this(p->signature->convention) ||
        !CLR_OK(clr_get_method(p->import, p->method, NULL, &method)))
        return;
    memset(c, 0, sizeof *c);
    c->number = number;
    append_part(c->label, sizeof c->label, label);
    c->secret = trace_is_secret(label, p->wish->redact);
    t.token = method.type;
    if (find_type(p->info, p->module, method.type, &at) &&
        CLR_OK(clr_get_type_def(at.import, at.type, NULL, NULL, &extends)) &&
        CLR_OK(clr_append_type_path(at.import, extends, &name)) &&
        strcmp(buffer_text(&name), "System.ValueType") == 0) {
        t.element = CIL_TYPE_VALUETYPE;
        c->by_ref = true;
    }
    buffer_free(&name);
    release(&at);
    if (follow(p, &t, path, c))
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
        add(p, number, TRACE_PATH_RESULT, p->result, path + length, path);
    } else if (parameter < 0 && length == 4 && memcmp(path, "this", 4) == 0) {
        add_this(p, number, path + length, path);
    } else if (parameter >= 0) {
        for (int n = 0; n < parameter; n++)
            type = cil_signature_after(p->signature, type);
        if (type < p->signature->type_count)
            add(p, number, parameter + cil_signature_has_this(p->signature->convention), type,
                path + length, path);
    }
}

static void add_arguments(planning *p)
{
    uint32_t number = 0;

    for (uint32_t t = cil_signature_first(p->signature);
         t < p->signature->type_count && number < TRACE_ARGUMENTS;
         t = cil_signature_after(p->signature, t), number++)
        add(p, (uint8_t)number, (int32_t)number + cil_signature_has_this(p->signature->convention),
            t, "", number < p->name_count ? p->names[number] : "");
    add(p, TRACE_RESULT, TRACE_PATH_RESULT, p->result, "", "");
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
    if (wish->arguments)
        add_arguments(p);
    for (uint32_t n = 0; n < wish->path_count; n++)
        add_path(p, n);
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
