/* exception_leaving: see exception_leaving.h. */
#include "profilers/exception_leaving.h"

#include <string.h>

#include "base/memory.h"
#include "clarinet/lookup.h"
#include "recording/encode.h"

enum { NOT_LOOKED, NONE, SOME }; /* of `modules` */

enum { MOST_FRAMES = 1 << 16, MOST_TEXT = 4096 };

/* In the ring; the texts of the method and of its module follow, and their lengths stand where the
 * recording's strings will. */
typedef struct {
    uint64_t inside;
    uint64_t il_offset;
    names_method method;
    names_module module;
} told_frame;

/* Generic code lives with the shortest-lived of its arguments: it is taken for code that may go. */
static bool may_go(const clr_info *info, uintptr_t inside)
{
    FunctionID function = 0;
    ReJITID rejit = 0;
    ClassID class_id = 0;
    ModuleID module = 0;
    mdToken token = 0;
    uint32_t of_method = 0;
    uint32_t of_type = 0;
    BOOL dynamic = 0;

    if (clr_info_get_function_from_ip3(info, (const uint8_t *)inside, &function, &rejit) != S_OK ||
        function == 0 || clr_info_is_function_dynamic(info, function, &dynamic) != S_OK ||
        dynamic ||
        clr_info_get_function_info2(info, function, 0, &class_id, &module, &token, 0, &of_method,
                                    NULL) != S_OK)
        return false;
    if (of_method != 0 || class_id == 0 || clr_is_module_collectible(info, module))
        return true;
    return clr_info_get_class_id_info2(info, class_id, NULL, &token, NULL, 0, &of_type, NULL) ==
               S_OK &&
           of_type != 0;
}

static void append(uint8_t **to, const names *n, uint32_t string, uint32_t *length)
{
    const names_string *s = names_get_string(n, string);

    *length = s == NULL ? 0 : (uint32_t)s->length;
    if (s != NULL)
        memcpy(*to, s->text, s->length);
    *to += *length;
}

static size_t length_of(const names *n, uint32_t string)
{
    const names_string *s = names_get_string(n, string);

    return s == NULL ? 0 : s->length;
}

/* Hands over what `n`, which knows nothing else, knows of the frame. */
static bool put(agent *a, unsigned kind, const names *n, uint32_t id, uintptr_t inside)
{
    const names_frame *frame = names_get_frame(n, id);
    const names_method *method = frame != NULL && frame->kind == RECORDING_FRAME_MANAGED
                                     ? names_get_method(n, frame->a)
                                     : NULL;
    const names_module *module = method == NULL ? NULL : names_get_module(n, method->module);
    size_t texts;
    told_frame *record;
    uint8_t *to;

    if (method == NULL || module == NULL)
        return false;
    texts = length_of(n, method->name) + length_of(n, method->parameters) +
            length_of(n, module->name) + length_of(n, module->path);
    if (texts > MOST_TEXT)
        return false;
    record = ring_reserve(&a->events, sizeof *record + texts);
    if (record == NULL)
        return false;
    record->inside = inside;
    record->il_offset = frame->b;
    record->method = *method;
    record->module = *module;
    to = (uint8_t *)(record + 1);
    append(&to, n, method->name, &record->method.name);
    append(&to, n, method->parameters, &record->method.parameters);
    append(&to, n, module->name, &record->module.name);
    append(&to, n, module->path, &record->module.path);
    agent_commit(a, ENGINE_INDEX_exceptions, record, sizeof *record + texts, kind,
                 sizeof *record + texts);
    return true;
}

static bool tell(agent *a, unsigned kind, uintptr_t address, bool caller, uintptr_t callee)
{
    uintptr_t inside = caller ? address - 1 : address;
    names *n = memory_allocate_array(1, sizeof *n);
    bool told;

    if (n == NULL)
        return false;
    names_init(n, &a->info);
    told = put(a, kind, n, names_frame_at(n, address, caller, callee), inside);
    names_reset(n);
    memory_free(n);
    return told;
}

uintptr_t exception_leaving_mark(agent *a, exception_leaving *l, unsigned kind, uintptr_t address,
                                 bool caller, uintptr_t callee)
{
    uintptr_t inside = caller ? address - 1 : address;
    _Atomic uintptr_t *place = &l->looked[table_hash_u64(inside) % EXCEPTION_LEAVING_PLACES];
    uintptr_t known;
    bool told;

    if (atomic_load_explicit(&l->modules, memory_order_relaxed) == NONE)
        return address;
    known = atomic_load(place);
    if (known >> 1 == inside)
        return (known & 1) != 0 ? address | EXCEPTION_LEAVING : address;
    told = may_go(&a->info, inside);
    if (told && !tell(a, kind, address, caller, callee))
        return address;
    atomic_store(place, inside << 1 | told);
    return told ? address | EXCEPTION_LEAVING : address;
}

void exception_leaving_loaded(agent *a, exception_leaving *l, ModuleID module)
{
    if (atomic_load_explicit(&l->modules, memory_order_relaxed) != SOME &&
        clr_is_module_collectible(&a->info, module))
        atomic_store(&l->modules, SOME);
}

void exception_leaving_forget(exception_leaving *l)
{
    for (size_t i = 0; i < EXCEPTION_LEAVING_PLACES; i++)
        atomic_store_explicit(&l->looked[i], 0, memory_order_relaxed);
}

void exception_leaving_reset(exception_leaving *l)
{
    atomic_store(&l->modules, NOT_LOOKED);
    exception_leaving_forget(l);
    table_u64_free(&l->frames);
    table_u64_init(&l->frames);
}

typedef struct {
    agent *a;
    exception_leaving *l;
} look;

static int look_at_module(void *context, uintptr_t module)
{
    look *k = context;

    exception_leaving_loaded(k->a, k->l, module);
    return atomic_load(&k->l->modules) != SOME;
}

void exception_leaving_look(agent *a, exception_leaving *l)
{
    look k = {a, l};
    unsigned before = NOT_LOOKED;

    if (atomic_load_explicit(&l->modules, memory_order_relaxed) != NOT_LOOKED)
        return;
    if (clr_each_module(&a->info, look_at_module, &k) != S_OK)
        atomic_store(&l->modules, SOME);
    atomic_compare_exchange_strong(&l->modules, &before, NONE);
}

static uint32_t intern(agent *a, const char **texts, uint32_t length)
{
    const char *text = *texts;

    *texts += length;
    return length == 0 ? 0 : names_intern(&a->names, text, length);
}

void exception_leaving_take(agent *a, exception_leaving *l, const void *payload, size_t length)
{
    const told_frame *record = payload;
    const char *texts = (const char *)(record + 1);
    names_method method;
    names_module module;
    uint32_t id;

    if (length < sizeof *record)
        return;
    method = record->method;
    module = record->module;
    if (length - sizeof *record <
        (size_t)method.name + method.parameters + module.name + module.path)
        return;
    method.name = intern(a, &texts, method.name);
    method.parameters = intern(a, &texts, method.parameters);
    module.name = intern(a, &texts, module.name);
    module.path = intern(a, &texts, module.path);
    id = names_keep_method(&a->names, &module, &method);
    if (l->frames.count >= MOST_FRAMES)
        table_u64_free(&l->frames);
    table_u64_put(&l->frames, record->inside,
                  names_frame_managed(&a->names, id, (uint32_t)record->il_offset));
}

uint32_t exception_leaving_frame(const exception_leaving *l, uintptr_t address, bool caller)
{
    uint64_t frame;

    address &= ~EXCEPTION_LEAVING;
    return table_u64_get(&l->frames, caller ? address - 1 : address, &frame) ? (uint32_t)frame : 0;
}
