/* sampling_async: see sampling_async.h. */
#include "agent/sampling_async.h"

#include <string.h>

#include "agent/loaded_type.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    MOST_FIELDS = 64,
    MOST_ARGUMENTS = 8,
    LARGEST_TYPE = 64,
    PATIENCE = 64,
    SOME_TYPES = 4096,
    NEAR = 2048
};

/* What a continuation may be, and where it names the next one. Each also stands for what derives
 * from it. The first of them are loaded wherever there are continuations; asking for others would
 * load them, so those wait until one is met. */
enum { LOADED = 3, LINK_COUNT = 6, TASK_DEPTH = 2 };
static const struct {
    char type[52], field[21]; /* no pointers, which would need relocations */
    uint8_t next_at;          /* where there is no field to ask for */
} LINKS[LINK_COUNT] = {
    {"System.Threading.Tasks.Task", "m_continuationObject", 0},
    {"System.Delegate", "_target", 0},
    {"System.Array", "", 16},
    {"System.Collections.Generic.List<object>", "_items", 0},
    {"System.Threading.Tasks.AwaitTaskContinuation", "m_action", 0},
    {"System.Threading.Tasks.ContinueWithTaskContinuation", "m_task", 0},
};

void sampling_async_init(sampling_async *s, agent *a, sampling_code *code)
{
    *s = (sampling_async){.agent = a, .code = code};
    table_u64_init(&s->types);
}

void sampling_async_free(sampling_async *s)
{
    atomic_store(&chain_state.low, 0);
    table_u64_free(&s->types);
}

/* ---- what there is to know before ---- */

static uint32_t field_offset(const clr_info *info, IMetaDataImport2 *import, mdTypeDef type,
                             const char *name, ClassID class_id)
{
    COR_FIELD_OFFSET fields[MOST_FIELDS];
    mdFieldDef field = 0;
    uint32_t count = 0, size = 0;

    if (clr_find_field(import, type, name, &field) != S_OK ||
        !CLR_OK(clr_info_get_class_layout(info, class_id, fields, MOST_FIELDS, &count, &size)))
        return 0;
    for (uint32_t i = 0; i < count && i < MOST_FIELDS; i++) {
        if (fields[i].ridOfField == field)
            return fields[i].ulOffset;
    }
    return 0;
}

/* The class of a type of this module that is loaded; 0 = it has none. */
static ClassID find_class(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                          const char *name, mdTypeDef *type)
{
    ClassID class_id = 0;

    if (clr_find_type(import, name, 0, type) != S_OK ||
        !CLR_OK(
            clr_info_get_class_from_token_and_type_args(info, module, *type, 0, NULL, &class_id)))
        return 0;
    return class_id;
}

/* Adds a link, once; handlers may look at the others meanwhile. */
static bool add_link(chain_link made)
{
    unsigned count = atomic_load(&chain_state.link_count);

    for (unsigned i = 0; i < count; i++) {
        if (chain_state.links[i].type == made.type)
            return true;
    }
    if (made.type == 0 || made.next_at == 0 || count == CHAIN_LINKS)
        return false;
    chain_state.links[count] = made;
    atomic_store_explicit(&chain_state.link_count, count + 1, memory_order_release);
    sampling_chain_forget(); /* it may have been judged without */
    return true;
}

static bool add_known_link(const clr_info *info, IMetaDataImport2 *import, size_t which,
                           mdTypeDef type, ClassID class_id)
{
    chain_link made = {.type = class_id,
                       .next_at = LINKS[which].next_at,
                       .is_method = which == 0,
                       .box_depth = TASK_DEPTH};

    if (LINKS[which].field[0] != '\0' && class_id != 0)
        made.next_at = field_offset(info, import, type, LINKS[which].field, class_id);
    return add_link(made);
}

/* A class with a field that is a ManualResetValueTaskSourceCore: the link to who awaits it. */
static bool find_awaiter(const clr_info *info, ClassID class_id, const char *field_name,
                         chain_link *made)
{
    ClassID arguments[MOST_ARGUMENTS], parent = 0, core = 0;
    IMetaDataImport2 *import = NULL;
    ModuleID module = 0;
    mdTypeDef type = 0;
    mdFieldDef field = 0;
    uint32_t count = 0, size = 0, at = 0, awaiter_at, over_at;
    const uint8_t *signature = NULL;

    if (!CLR_OK(clr_info_get_class_id_info2(info, class_id, &module, &type, &parent, MOST_ARGUMENTS,
                                            &count, arguments)) ||
        count > MOST_ARGUMENTS || !CLR_OK(clr_open_import(info, module, &import)))
        return false;
    if (clr_find_field(import, type, field_name, &field) == S_OK &&
        CLR_OK(clr_get_signature(import, field, &signature, &size))) {
        const loaded_type_scope scope = {info, module, import, arguments, count};

        at = field_offset(info, import, type, field_name, class_id);
        core = loaded_type_of_field(&scope, signature, size);
    }
    clr_release(import);
    if (at == 0 || core == 0 ||
        !CLR_OK(clr_info_get_class_id_info2(info, core, &module, &type, &parent, 0, NULL, NULL)) ||
        !CLR_OK(clr_open_import(info, module, &import)))
        return false;
    awaiter_at = field_offset(info, import, type, "_continuationState", core);
    over_at = field_offset(info, import, type, "_completed", core);
    clr_release(import);
    *made = (chain_link){
        .type = class_id, .next_at = at + awaiter_at, .over_at = (uint16_t)(at + over_at)};
    return awaiter_at != 0 && over_at != 0 && at + over_at <= UINT16_MAX;
}

/* Where a type keeps a word that is known of Task: Object, which it derives from, or its module. */
static uint32_t find_word(const sampling_code *code, uintptr_t task, uintptr_t word)
{
    uint64_t words[LARGEST_TYPE / 8];

    if (!peek_read(&code->memory, task, words, sizeof words))
        return 0;
    for (uint32_t i = 1; i < LARGEST_TYPE / 8; i++) {
        if (words[i] == word)
            return i * 8;
    }
    return 0;
}

static int look_at_module(void *context, uintptr_t module)
{
    sampling_async *s = context;
    const clr_info *info = &s->agent->info;
    IMetaDataImport2 *import = NULL;
    mdTypeDef type = 0;

    if (!CLR_OK(clr_open_import(info, module, &import)))
        return 1;
    atomic_store(&chain_state.link_count, 0);
    chain_state.object = find_class(info, module, import, "System.Object", &type);
    for (size_t i = 0; chain_state.object != 0 && i < LOADED; i++) {
        ClassID class_id = find_class(info, module, import, LINKS[i].type, &type);

        if (!add_known_link(info, import, i, type, class_id))
            break;
    }
    if (atomic_load(&chain_state.link_count) == LOADED) {
        chain_state.parent_at = find_word(s->code, chain_state.links[0].type, chain_state.object);
        s->module_at = find_word(s->code, chain_state.links[0].type, module);
        s->has_types = chain_state.parent_at != 0 && s->module_at != 0;
    }
    clr_release(import);
    return !s->has_types;
}

static int is_other_module(void *context, uintptr_t module)
{
    uint64_t *wanted = context;

    if (*wanted == module)
        *wanted = 0;
    return *wanted != 0;
}

/* Whether the address is that of a type: it has a module that is loaded. Words that lie about on
 * stacks may look as if they derived from something. */
static bool has_module(const sampling_async *s, uint64_t type)
{
    uint64_t module;

    if (!peek_read(&s->code->memory, type + s->module_at, &module, sizeof module) || module == 0)
        return false;
    clr_each_module(&s->agent->info, is_other_module, &module);
    return module == 0;
}

/* Whether a type derives from another one, by what stands where a type has it. */
static bool derives_from(const sampling_async *s, uint64_t type, uintptr_t other)
{
    for (unsigned depth = 0; depth < 8 && type >= 4096 && type >> 47 == 0; depth++) {
        if (type == other)
            return depth > 0;
        if (!peek_read(&s->code->memory, type + chain_state.parent_at, &type, sizeof type))
            return false;
    }
    return false;
}

static bool is_anonymous(const region *item)
{
    return item->inode == 0 && item->path == 0 && !item->executable;
}

/*
 * The run of neighbouring mappings without a file around an object: the heap, with what the
 * collector has reserved for it. What looks like an object may be a place on a stack or in the
 * runtime's own memory where a type is kept; so a heap that has given chains is not left for less
 * memory than it has.
 */
static bool find_heap(sampling_async *s, uint64_t object)
{
    const regions *map = &s->code->map;
    const region *item = regions_find(map, object), *first = item, *last = item;
    uint64_t type, low, size;

    if (item == NULL || !is_anonymous(item) || !item->writable ||
        !peek_read(&s->code->memory, object, &type, sizeof type) ||
        !derives_from(s, type & ~7ull, chain_state.links[0].type))
        return false;
    while (first > map->items && is_anonymous(first - 1) && first[-1].end == first->start)
        first--;
    while (last + 1 < map->items + map->count && is_anonymous(last + 1) &&
           last[1].start == last->end)
        last++;
    low = atomic_load(&chain_state.low);
    size = atomic_load(&chain_state.high) - low;
    if (s->gave_chains && last->end - first->start < size)
        return object - low < size; /* inside: it is still the same one */
    s->gave_chains = s->gave_chains && object - low < size;
    atomic_store(&chain_state.high, (uintptr_t)last->end);
    atomic_store_explicit(&chain_state.low, (uintptr_t)first->start, memory_order_release);
    return true;
}

/* ---- naming ---- */

/* An async iterator: its task has no continuation, who waits for its next value is kept in its
 * state machine, which is an object of its own. */
static const uint64_t ITERATOR = (uint64_t)1 << 32;
static const char PROMISE[] = "<>v__promiseOfValueOrEnd";

static void follow_iterator(sampling_async *s, ClassID box, ClassID machine)
{
    const clr_info *info = &s->agent->info;
    uint32_t machine_at;
    IMetaDataImport2 *import = NULL;
    ModuleID module = 0;
    ClassID parent = 0;
    mdTypeDef type = 0;
    chain_link machine_link;

    if (!find_awaiter(info, machine, PROMISE, &machine_link) ||
        !CLR_OK(clr_info_get_class_id_info2(info, box, &module, &type, &parent, 0, NULL, NULL)) ||
        !CLR_OK(clr_open_import(info, module, &import)))
        return;
    machine_at = field_offset(info, import, type, "StateMachine", box);
    clr_release(import);
    if (machine_at != 0 && atomic_load(&chain_state.link_count) + 2 <= CHAIN_LINKS - CHAIN_OTHERS &&
        add_link(machine_link))
        add_link((chain_link){.type = box, .next_at = machine_at, .is_method = true});
}

/* The frame of the method whose state machine is the last type argument of the box's type. */
static uint64_t frame_of_box(sampling_async *s, ClassID box)
{
    const clr_info *info = &s->agent->info;
    ClassID arguments[MOST_ARGUMENTS], parent = 0;
    uint32_t count = 0;
    ModuleID module = 0;
    mdTypeDef type = 0;
    mdMethodDef method = 0;
    FunctionID function = 0;
    mdFieldDef promise = 0;
    IMetaDataImport2 *import = NULL;
    const names_string *name =
        names_get_string(&s->agent->names, names_of_class(&s->agent->names, box));

    if (name == NULL || strstr(name->text, "StateMachineBox<") == NULL ||
        !CLR_OK(clr_info_get_class_id_info2(info, box, &module, &type, &parent, MOST_ARGUMENTS,
                                            &count, arguments)) ||
        count == 0 || count > MOST_ARGUMENTS ||
        !CLR_OK(clr_info_get_class_id_info2(info, arguments[count - 1], &module, &type, &parent, 0,
                                            NULL, NULL)) ||
        !CLR_OK(clr_open_import(info, module, &import)))
        return 0;
    if (clr_find_method(import, type, "MoveNext", &method) == S_OK)
        clr_info_get_function_from_token_and_type_args(info, module, method, arguments[count - 1],
                                                       0, NULL, &function);
    clr_find_field(import, type, PROMISE, &promise);
    clr_release(import);
    if (function == 0)
        return 0;
    if (promise != 0)
        follow_iterator(s, box, arguments[count - 1]);
    return (promise != 0 ? ITERATOR : 0) |
           names_frame_managed(&s->agent->names, names_of_function(&s->agent->names, function), 0);
}

/* Whether a type that a capture has may be asked for: not when an assembly was unloaded since. */
static bool may_ask(sampling_async *s, const sampling_capture *c, uint64_t type)
{
    return c->time_ns > s->unload_ns && atomic_load(&s->agent->unloads) == s->agent->unloads_met &&
           agent_enter_runtime(s->agent) && derives_from(s, type, chain_state.object) &&
           has_module(s, type);
}

static uint32_t frame_of(sampling_async *s, const sampling_capture *c, uint64_t type)
{
    uint64_t known = 0;

    if (table_u64_get(&s->types, type, &known))
        return (uint32_t)known;
    if (!may_ask(s, c, type))
        return 0;
    if (s->types.count >= SOME_TYPES)
        table_u64_free(&s->types);
    known = frame_of_box(s, (ClassID)type);
    table_u64_put(&s->types, type, known);
    return (uint32_t)known;
}

/* The box of a pooled method (PoolingAsyncValueTaskMethodBuilder): what all those of one result
 * derive from, which is no task. */
static bool is_pooled(const names_string *name)
{
    static const char BUILDER[] =
        "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder<";

    return text_starts_with(name->text, BUILDER) && text_ends_with(name->text, ".StateMachineBox");
}

/* A chain ended at this type: if that or what it derives from is one of LINKS, it is one from now
 * on. */
static void learn_link(sampling_async *s, const sampling_capture *c, uint64_t type)
{
    const clr_info *info = &s->agent->info;
    chain_link pooled;
    uint64_t known;

    if (table_u64_get(&s->types, type | 1, &known) || !may_ask(s, c, type))
        return;
    if (s->types.count >= SOME_TYPES)
        table_u64_free(&s->types);
    table_u64_put(&s->types, type | 1, 1);
    for (; type != chain_state.object; type = known) {
        const names_string *name =
            names_get_string(&s->agent->names, names_of_class(&s->agent->names, (ClassID)type));
        IMetaDataImport2 *import = NULL;
        ModuleID module = 0;
        mdTypeDef definition = 0;

        if (name != NULL && is_pooled(name) &&
            find_awaiter(info, (ClassID)type, "_valueTaskSource", &pooled)) {
            pooled.is_method = true;
            pooled.box_depth = 1;
            add_link(pooled);
        }
        for (size_t i = LOADED; name != NULL && i < LINK_COUNT; i++) {
            if (!text_equal(name->text, LINKS[i].type) ||
                !CLR_OK(clr_info_get_class_id_info2(info, (ClassID)type, &module, &definition, NULL,
                                                    0, NULL, NULL)) ||
                !CLR_OK(clr_open_import(info, module, &import)))
                continue;
            add_known_link(info, import, i, definition, (ClassID)type);
            clr_release(import);
        }
        if (!peek_read(&s->code->memory, type + chain_state.parent_at, &known, sizeof known))
            return;
    }
}

/* The box of a pooled method is found by its type, and that by the box: it lies near the frame of
 * the method that was resumed. */
static void look_for_pooled(sampling_async *s, const sampling_capture *c, uint64_t at)
{
    uint64_t low = atomic_load(&chain_state.low), size = atomic_load(&chain_state.high) - low;
    uint64_t end = at + NEAR < c->stack_length ? at + NEAR : c->stack_length, word, type;

    for (; low != 0 && at + 8 <= end; at += 8) {
        memcpy(&word, c->stack + at, sizeof word);
        if ((word & 7) == 0 && word - low < size &&
            peek_read(&s->code->memory, word, &type, sizeof type))
            learn_link(s, c, type & ~7ull);
    }
}

/* A continuation was met and no chain came with it: finds out what the handler needs to know. The
 * memory of a box stays as it was for a while, even when it is not in use any more. */
static void learn(sampling_async *s, const sampling_capture *c, uint64_t stack_pointer)
{
    uint64_t word;

    if (s->attempts++ % PATIENCE > 3 || !agent_enter_runtime(s->agent))
        return;
    if (!s->has_types) {
        atomic_store(&chain_state.low, 0);
        s->gave_chains = false;
        clr_each_module(&s->agent->info, look_at_module, s);
    }
    if (!s->has_types || stack_pointer < c->stack_address)
        return;
    look_for_pooled(s, c, stack_pointer - c->stack_address);
    for (uint64_t at = stack_pointer - c->stack_address; at + 8 <= c->stack_length; at += 8) {
        memcpy(&word, c->stack + at, sizeof word);
        if ((word & 7) == 0 && word >= 4096 && word >> 47 == 0 && find_heap(s, word))
            return;
    }
}

/* ---- choosing ---- */

static bool is_same_method(const names *n, uint32_t one, uint32_t other)
{
    const names_frame *a = names_get_frame(n, one), *b = names_get_frame(n, other);
    const names_method *x, *y;

    if (a == NULL || b == NULL || a->kind != RECORDING_FRAME_MANAGED ||
        b->kind != RECORDING_FRAME_MANAGED)
        return false;
    x = names_get_method(n, a->a);
    y = names_get_method(n, b->a);
    return x != NULL && y != NULL && x->module == y->module && x->token == y->token;
}

/* The innermost box of the resumed method that stands in its frame or outside of it, and whose
 * task is not over: that forgets who awaits it. */
static const uint8_t *choose(sampling_async *s, const sampling_capture *c, uint32_t resumed,
                             uint64_t stack_pointer)
{
    const uint8_t *at = c->stack + c->stack_length + c->outer_length, *end = at + c->chain_length;
    const uint8_t *best = NULL;
    uint64_t type, innermost = UINT64_MAX;
    chain_entry e;

    for (; (size_t)(end - at) >= sizeof e; at += sizeof e + e.count * sizeof type) {
        memcpy(&e, at, sizeof e);
        if (e.count > CHAIN_STEPS || (size_t)(end - at) - sizeof e < e.count * sizeof type)
            break;
        if (e.end == CHAIN_NOT_KNOWN && e.last != 0)
            learn_link(s, c, e.last);
        if (e.slot < stack_pointer || e.count == 0 || (e.count == 1 && e.end == CHAIN_OVER))
            continue;
        memcpy(&type, at + sizeof e, sizeof type);
        if (e.slot < innermost && is_same_method(&s->agent->names, frame_of(s, c, type), resumed)) {
            innermost = e.slot;
            best = at;
        }
    }
    return best;
}

/* Lets the handler look there first at the thread's next samples: from the outermost word that
 * points at the box to the innermost one outside of the resumed method. */
static void remember(const sampling_capture *c, const chain_entry *found, uint64_t stack_pointer)
{
    chain_memory *m = &sampling_state.threads[c->slot % SAMPLING_THREADS].chain;
    uintptr_t last = stack_pointer;
    uint64_t word = 0;
    unsigned i;

    for (; last < found->slot; last += 8) {
        memcpy(&word, c->stack + (last - c->stack_address), sizeof word);
        if (word == found->box)
            break;
    }
    for (i = 0; i < CHAIN_PLACES; i++) {
        if (atomic_load(&m->places[i].first) == found->slot &&
            atomic_load(&m->places[i].last) == last)
            return;
    }
    i = m->oldest++ % CHAIN_PLACES;
    atomic_store(&m->places[i].last, last);
    atomic_store(&m->places[i].first, (uintptr_t)found->slot);
}

/* None of the places had the right box: then the next sample is looked through. */
static void forget_places(const sampling_capture *c)
{
    chain_memory *m = &sampling_state.threads[c->slot % SAMPLING_THREADS].chain;

    for (unsigned i = 0; i < CHAIN_PLACES; i++)
        atomic_store(&m->places[i].first, 0);
}

bool sampling_async_find(sampling_async *s, const sampling_capture *c, uint32_t resumed,
                         uint64_t stack_pointer, bool sure)
{
    const uint8_t *found;
    uint64_t type, known;
    chain_entry e;

    if (s->unloads != s->agent->unloads_met) {
        s->unloads = s->agent->unloads_met;
        s->unload_ns = os_monotonic_ns();
        table_u64_free(&s->types);
        if (atomic_load(&chain_state.link_count) > LOADED)
            atomic_store(&chain_state.link_count, LOADED);
        sampling_chain_forget();
    }
    s->count = 0;
    found = choose(s, c, resumed, stack_pointer);
    if (found == NULL) {
        if (sure) {
            forget_places(c);
            learn(s, c, stack_pointer);
        }
        return false;
    }
    s->attempts = 0;
    s->gave_chains = true;
    memcpy(&e, found, sizeof e);
    if (stack_pointer >= c->stack_address)
        remember(c, &e, stack_pointer);
    memcpy(&type, found + sizeof e, sizeof type);
    if (e.count == 1 && (e.end == CHAIN_NOT_KNOWN ||
                         (table_u64_get(&s->types, type, &known) && (known & ITERATOR) != 0)))
        return false;
    for (uint32_t i = 1; i < e.count; i++) {
        uint32_t frame;

        memcpy(&type, found + sizeof e + i * sizeof type, sizeof type);
        frame = frame_of(s, c, type);
        if (frame != 0)
            s->frames[s->count++] = frame;
    }
    /* Longer than what is followed, or up to an iterator: there are others, and they are not known.
     */
    if ((e.end == CHAIN_NOT_KNOWN && e.last == 0) ||
        (table_u64_get(&s->types, type, &known) && (known & ITERATOR) != 0))
        s->frames[s->count++] = names_frame_synthetic(&s->agent->names, "(truncated)");
    return true;
}
