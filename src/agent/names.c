/* names: the tables of ids. What asks the runtime is in resolve.c. See names.h. */
#include "agent/names.h"

#include <string.h>

#include "agent/names_private.h"
#include "base/memory.h"
#include "recording/encode.h"

enum { MAXIMUM_IDS = 1 << 20, FIRST_SLOTS = 1024 };

void names_init(names *n, const clr_info *info)
{
    memset(n, 0, sizeof *n);
    n->info = info;
    table_u64_init(&n->module_ids);
    table_u64_init(&n->method_ids);
    table_u64_init(&n->class_ids);
    table_u64_init(&n->frame_ids);
    table_u64_init(&n->stack_ids);
    table_u64_init(&n->address_ids);
    compiled_init(&n->code, info);
    /* n->body takes its first memory when a body is read into it: names_reset leaves none */
}

void names_reset(names *n)
{
    bool is_own = n->is_own;

    names_string *strings = n->strings.items;

    for (size_t i = 0; i < n->strings.count; i++)
        memory_free(strings[i].text);
    memory_free(n->strings.items);
    memory_free(n->modules.items);
    memory_free(n->methods.items);
    memory_free(n->frames.items);
    memory_free(n->stacks.items);
    memory_free(n->string_slots);
    table_u64_free(&n->module_ids);
    table_u64_free(&n->method_ids);
    table_u64_free(&n->class_ids);
    table_u64_free(&n->frame_ids);
    table_u64_free(&n->stack_ids);
    table_u64_free(&n->address_ids);
    compiled_free(&n->code);
    cil_body_free(&n->body);
    buffer_free(&n->scratch);
    names_init(n, n->info);
    n->is_own = is_own;
}

/* Appends an item and returns its id, or 0. */
static uint32_t list_add(names_list *list, const void *item, size_t size)
{
    if (list->count == MAXIMUM_IDS)
        return 0;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        void *items = memory_resize(list->items, capacity * size);

        if (items == NULL)
            return 0;
        list->items = items;
        list->capacity = capacity;
    }
    memcpy((uint8_t *)list->items + list->count * size, item, size);
    return (uint32_t)++list->count;
}

static const void *list_get(const names_list *list, uint32_t id, size_t size)
{
    return id == 0 || id > list->count ? NULL
                                       : (const uint8_t *)list->items + (size_t)(id - 1) * size;
}

const names_string *names_get_string(const names *n, uint32_t id)
{
    return list_get(&n->strings, id, sizeof(names_string));
}

const names_module *names_get_module(const names *n, uint32_t id)
{
    return list_get(&n->modules, id, sizeof(names_module));
}

const names_method *names_get_method(const names *n, uint32_t id)
{
    return list_get(&n->methods, id, sizeof(names_method));
}

const names_frame *names_get_frame(const names *n, uint32_t id)
{
    return list_get(&n->frames, id, sizeof(names_frame));
}

const names_stack *names_get_stack(const names *n, uint32_t id)
{
    return list_get(&n->stacks, id, sizeof(names_stack));
}

static bool grow_string_slots(names *n)
{
    size_t capacity = n->string_capacity == 0 ? FIRST_SLOTS : n->string_capacity * 2;
    uint32_t *slots = memory_allocate_array(capacity, sizeof *slots);
    const names_string *strings = n->strings.items;

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < n->strings.count; i++) {
        size_t at = (size_t)strings[i].hash & (capacity - 1);

        while (slots[at] != 0)
            at = (at + 1) & (capacity - 1);
        slots[at] = (uint32_t)(i + 1);
    }
    memory_free(n->string_slots);
    n->string_slots = slots;
    n->string_capacity = capacity;
    return true;
}

void names_forget_lookups(names *n)
{
    table_u64_free(&n->module_ids);
    table_u64_free(&n->method_ids);
    table_u64_free(&n->class_ids);
    table_u64_free(&n->address_ids);
    compiled_free(&n->code);
}

uint32_t names_intern(names *n, const char *text, size_t length)
{
    names_string made = {NULL, length, table_hash_bytes(text, length)};
    size_t at;
    uint32_t id;

    if ((n->strings.count + 1) * 3 > n->string_capacity * 2 && !grow_string_slots(n))
        return 0;
    at = (size_t)made.hash & (n->string_capacity - 1);
    for (; n->string_slots[at] != 0; at = (at + 1) & (n->string_capacity - 1)) {
        const names_string *s = names_get_string(n, n->string_slots[at]);

        if (s->hash == made.hash && s->length == length && memcmp(s->text, text, length) == 0)
            return n->string_slots[at];
    }
    made.text = memory_copy_text_n(text, length);
    if (made.text == NULL)
        return 0;
    id = list_add(&n->strings, &made, sizeof made);
    if (id == 0)
        memory_free(made.text);
    else
        n->string_slots[at] = id;
    return id;
}

uint32_t names_intern_text(names *n, const char *text)
{
    return names_intern(n, text, strlen(text));
}

uint32_t names_add_module(names *n, const names_module *module)
{
    return list_add(&n->modules, module, sizeof *module);
}

uint32_t names_add_method(names *n, const names_method *method)
{
    return list_add(&n->methods, method, sizeof *method);
}

uint32_t names_known_function(const names *n, FunctionID function)
{
    uint64_t known;

    return table_u64_get(&n->method_ids, function, &known) ? (uint32_t)known : 0;
}

/* A frame by its key, made when it is new. */
static uint32_t frame_by_key(names *n, uint64_t key, const names_frame *frame)
{
    uint64_t known;
    uint32_t id;

    if (table_u64_get(&n->frame_ids, key, &known))
        return (uint32_t)known;
    id = list_add(&n->frames, frame, sizeof *frame);
    if (id != 0)
        table_u64_put(&n->frame_ids, key, id);
    return id;
}

uint32_t names_frame_managed(names *n, uint32_t method, uint32_t il_offset_plus_1)
{
    names_frame frame = {RECORDING_FRAME_MANAGED, method, il_offset_plus_1};

    return frame_by_key(n, (uint64_t)method << 32 | il_offset_plus_1, &frame);
}

uint32_t names_frame_native(names *n, uint32_t module, uint64_t offset)
{
    names_frame frame = {RECORDING_FRAME_NATIVE, module, offset};

    return frame_by_key(n, 1ull << 63 | (uint64_t)module << 42 | (offset & ((1ull << 42) - 1)),
                        &frame);
}

uint32_t names_frame_await(names *n, uint32_t method, uint32_t number)
{
    names_frame frame = {RECORDING_FRAME_AWAIT, method, number};

    /* methods stay below 2^20, so bits 61 and 62 are free */
    return frame_by_key(n, 1ull << 61 | (uint64_t)method << 32 | number, &frame);
}

uint32_t names_frame_synthetic(names *n, const char *text)
{
    names_frame frame = {RECORDING_FRAME_SYNTHETIC, names_intern_text(n, text), 0};

    return frame.a == 0 ? 0 : frame_by_key(n, 1ull << 62 | frame.a, &frame);
}

void names_set_frame(names *n, uintptr_t inside, uint32_t frame)
{
    table_u64_put(&n->address_ids, inside, frame);
}

/* Keys with the highest bit: no id of the runtime's has it. */
uint32_t names_keep_method(names *n, const names_module *module, const names_method *method)
{
    uint64_t key = table_hash_bytes(module->identity, sizeof module->identity) ^
                   table_hash_u64((uint64_t)module->path << 32 | module->name) ^ module->base;
    uint64_t *id = table_u64_at(&n->module_ids, 1ull << 63 | key, 0);
    names_method own = *method;

    if (id == NULL)
        return 0;
    if (*id == 0)
        *id = names_add_module(n, module);
    own.module = (uint32_t)*id;
    id = table_u64_at(&n->method_ids, 1ull << 63 | table_hash_bytes(&own, sizeof own), 0);
    if (id == NULL)
        return 0;
    if (*id == 0)
        *id = names_add_method(n, &own);
    return (uint32_t)*id;
}

void names_set_made(names *n, uintptr_t inside, const char *name, const char *parameters)
{
    names_set_frame(n, inside, name != NULL ? names_frame_made(n, name, parameters, 0) : 0);
}

uint32_t names_of_made(names *n, const char *name, const char *parameters, ModuleID module)
{
    names_method made = {.flags = RECORDING_METHOD_DYNAMIC, .module = names_of_module(n, module)};
    uint64_t *method;

    made.name = names_intern_text(n, name);
    made.parameters = parameters[0] == '\0' ? 0 : names_intern_text(n, parameters);
    /* no FunctionID is as large */
    method = table_u64_at(&n->method_ids, 1ull << 63 | table_hash_bytes(&made, sizeof made), 0);
    if (method == NULL)
        return 0;
    if (*method == 0)
        *method = names_add_method(n, &made);
    return (uint32_t)*method;
}

uint32_t names_frame_made(names *n, const char *name, const char *parameters, ModuleID module)
{
    uint32_t method = names_of_made(n, name, parameters, module);

    return method != 0 ? names_frame_managed(n, method, 0) : names_frame_synthetic(n, "(unknown)");
}

uint32_t names_stack_on(names *n, uint32_t parent, uint32_t frame)
{
    names_stack stack = {parent, frame};
    uint64_t key = (uint64_t)parent << 32 | frame;
    uint64_t known;
    uint32_t id;

    if (frame == 0)
        return parent;
    if (table_u64_get(&n->stack_ids, key, &known))
        return (uint32_t)known;
    id = list_add(&n->stacks, &stack, sizeof stack);
    if (id != 0 && !table_u64_put(&n->stack_ids, key, id))
        return 0;
    return id;
}

uint32_t names_stack_of(names *n, const uintptr_t *addresses, size_t count, bool leaf_is_call,
                        bool cut)
{
    uint32_t stack = 0;

    if (cut)
        stack = names_stack_on(n, 0, names_frame_synthetic(n, "(truncated)"));
    for (size_t i = count; i > 0; i--)
        stack = names_stack_on(n, stack,
                               names_frame_at(n, addresses[i - 1], i > 1 || leaf_is_call,
                                              i > 1 ? addresses[i - 2] - 1 : 0));
    return stack;
}
