/* heap_statics: see heap_statics.h. Memory of the runtime is only read through the kernel. */
#include "agent/heap_statics.h"

#include <string.h>

#include "agent/heap_generics.h"
#include "agent/heap_locals.h"
#include "agent/loaded.h"
#include "agent/read_self.h"
#include "base/memory.h"
#include "base/text.h"
#include "clarinet/names.h"

enum {
    FIELD_STATIC = 0x10,
    FIELD_LITERAL = 0x40,
    FIELD_HAS_ADDRESS = 0x100, /* data of the file, not a variable */
    TYPE_DEF = 0x02000000,
    MOST_TYPES = 1 << 20, /* of one module */
    MOST_THREAD_FIELDS = 512,
    MOST_THREAD_SLOTS = 8192,
    SUSPEND_TRIES = 200,
    ARRAY_WORDS = 512, /* before a slot, looked through for its array */
    LONGEST_SUSPENSION_NS = 400000000,
};

/* A field that every thread has for itself. */
typedef struct {
    ClassID class_id;
    mdFieldDef token;
    AppDomainID domain;
    uint32_t name; /* string */
    uint32_t thread_index;
    ModuleID module;
    /* of a generic class before 9.0: its number in the module, and where its array has the field */
    uint64_t number;
    uint32_t length, index;
} thread_field;

/* Where a thread keeps one of them: in an array of the runtime's, which moves. */
typedef struct {
    uint32_t name;
    uint32_t length, index; /* of the array */
    ClassID class_id;       /* of what is kept there */
    uint64_t array, handle; /* where it is; of a struct, which is kept in a box: where that is */
    uint32_t thread_index;
} thread_slot;

typedef struct {
    names *names;
    const heap_walk *walk;
    heap_statics_found *found;
    void *context;
    ModuleID module;
    AppDomainID domain;
    IMetaDataImport2 *import;
    ClassID class_id;
    thread_field *thread_fields;
    size_t thread_field_count;
    thread_slot *thread_slots;
    size_t thread_slot_count;
    ClassID array; /* object[] */
    heap_locals locals;
    bool has_locals;    /* fields that are looked for there */
    uint64_t end_ns;    /* of the suspension */
    size_t missed;      /* threads that were not asked before that */
    unsigned overtaken; /* of names, when the modules were listed: those that are going are not */
} search;

static uint32_t name_of_field(search *s, const buffer *field)
{
    buffer whole = BUFFER_EMPTY;
    uint32_t name = 0;

    clr_append_class(s->walk->info, s->class_id, &whole);
    buffer_append_text(&whole, ".");
    clr_name_append_field(&whole, buffer_text(field));
    if (!buffer_failed(&whole))
        name = names_intern(s->names, buffer_text(&whole), whole.length);
    buffer_free(&whole);
    return name;
}

/* The class of what begins right before an address, when the snapshot has such; 0 = it has not. */
static ClassID class_before(const search *s, uint64_t address)
{
    ClassID box = read_self_word(address - 8) & ~(ClassID)7;
    uint64_t number;

    return table_u64_get(&s->walk->record.type_numbers, box, &number) ? box : 0;
}

/* A struct is kept in a box, which a collection since the snapshot may have moved: told by its
 * class instead of its place. */
static void tell_box(search *s, uint64_t address, const buffer *field)
{
    ClassID box = class_before(s, address);
    uint32_t offset;

    if (box != 0 && clr_info_get_box_class_layout(s->walk->info, box, &offset) == S_OK)
        s->found(s->context, &(heap_static){.class_id = box, .name = name_of_field(s, field)});
}

static int visit_field(void *context, mdToken token)
{
    search *s = context;
    char memory[256];
    buffer name;
    uint32_t flags = 0;
    void *address = NULL;
    uint64_t slot;
    mdTypeDef type;
    COR_PRF_STATIC_TYPE kind;

    buffer_fix(&name, memory, sizeof memory);
    if (!CLR_OK(clr_get_field(s->import, token, &name, &type, &flags)) ||
        (flags & (FIELD_STATIC | FIELD_LITERAL | FIELD_HAS_ADDRESS)) != FIELD_STATIC)
        return 1;
    if (clr_info_get_appdomain_static_address(s->walk->info, s->class_id, token, s->domain,
                                              &address) == S_OK) {
        if (table_u64_get(&s->walk->slots, (uintptr_t)address, &slot))
            s->found(s->context, &(heap_static){.slot = slot, .name = name_of_field(s, &name)});
        else
            tell_box(s, (uintptr_t)address, &name);
    } else if (s->thread_fields != NULL && s->thread_field_count < MOST_THREAD_FIELDS &&
               clr_info_get_static_field_info(s->walk->info, s->class_id, token, &kind) == S_OK &&
               kind == COR_PRF_FIELD_THREAD_STATIC) {
        s->thread_fields[s->thread_field_count++] =
            (thread_field){.class_id = s->class_id,
                           .token = token,
                           .domain = s->domain,
                           .name = name_of_field(s, &name),
                           .thread_index = heap_generics_thread_index(s->class_id),
                           .module = s->module};
    }
    return 1;
}

static void search_map(search *s)
{
    uint64_t entry;

    for (uint32_t row = 1; row < MOST_TYPES; row++) {
        entry = loaded_entry(s->walk->info, s->module, row);
        if (entry == 0)
            return;
        if (read_self_word(entry) == 0)
            continue;
        s->class_id = loaded_class(s->walk->info, s->module, TYPE_DEF | row);
        if (s->class_id != 0)
            clr_each_field(s->import, TYPE_DEF | row, visit_field, s);
    }
}

static int visit_module(void *context, uintptr_t module)
{
    search *s = context;
    uint32_t domains = 0;

    s->module = module;
    if (atomic_load(&s->names->overtaken) != s->overtaken ||
        clr_info_get_appdomains_containing_module(s->walk->info, module, 1, &domains, &s->domain) !=
            S_OK ||
        domains == 0 || clr_open_import(s->walk->info, module, &s->import) != S_OK)
        return 1;
    search_map(s);
    clr_release(s->import);
    return 1;
}

/* ---- statics of generic classes ---- */

static void take_generic(void *context, const heap_generic *found)
{
    search *s = context;
    char memory[256];
    buffer name;
    mdTypeDef token = 0, owner = 0;
    ModuleID module = 0;
    ClassID parent;
    uint32_t flags = 0;

    buffer_fix(&name, memory, sizeof memory);
    if (!CLR_OK(clr_info_get_class_id_info2(s->walk->info, found->class_id, &module, &token,
                                            &parent, 0, NULL, NULL)) ||
        module == 0 || clr_open_import(s->walk->info, module, &s->import) != S_OK)
        return;
    s->class_id = found->class_id;
    if (!CLR_OK(clr_get_field(s->import, found->token, &name, &owner, &flags)) || owner != token ||
        (flags & FIELD_STATIC) == 0)
        goto out;
    if (found->slot != 0 || found->thread_index != 0)
        s->found(s->context, &(heap_static){.slot = found->slot,
                                            .name = name_of_field(s, &name),
                                            .index = found->place,
                                            .thread_index = found->thread_index});
    else if (s->thread_fields != NULL && s->thread_field_count < MOST_THREAD_FIELDS) {
        s->thread_fields[s->thread_field_count++] = (thread_field){.name = name_of_field(s, &name),
                                                                   .module = found->module,
                                                                   .number = found->number,
                                                                   .length = found->length,
                                                                   .index = found->place};
        s->has_locals = true;
    }
out:
    clr_release(s->import);
}

/* ---- statics of threads ---- */

/* The array around a slot: the nearest head of an object[] before it that is long enough. */
static bool find_array(const search *s, uint64_t slot, thread_slot *found)
{
    uint64_t words[ARRAY_WORDS];
    uint64_t object;
    size_t count = (size_t)(slot % 4096) / 8; /* what is mapped for certain */

    if (count < 2)
        count = ARRAY_WORDS;
    if (!read_self(slot - 8 * count, words, 8 * count) ||
        !read_self(slot, &object, sizeof object) || object == 0 ||
        !read_self(object, &found->class_id, sizeof found->class_id))
        return false;
    found->class_id &= ~(ClassID)7;
    for (size_t i = 2; i <= count; i++) {
        size_t index = i - 2; /* two words before the first element */

        if (words[count - i] == s->array && (uint32_t)words[count - i + 1] > index) {
            found->length = (uint32_t)words[count - i + 1];
            found->index = (uint32_t)index;
            found->array = slot - 8 * i;
            return true;
        }
    }
    return false;
}

static bool is_late(search *s)
{
    bool is_late = os_monotonic_ns() > s->end_ns;

    s->missed += is_late;
    return is_late;
}

static int visit_thread(void *context, uintptr_t thread)
{
    search *s = context;

    if (is_late(s))
        return 1;
    for (size_t i = 0; i < s->thread_field_count; i++) {
        const thread_field *f = &s->thread_fields[i];
        thread_slot *slot = &s->thread_slots[s->thread_slot_count];
        void *address = NULL;

        if (s->thread_slot_count == MOST_THREAD_SLOTS)
            return 0;
        if (f->length != 0 ||
            clr_info_get_thread_static_address2(s->walk->info, f->class_id, f->token, f->domain,
                                                thread, &address) != S_OK ||
            ((uintptr_t)address & 7) != 0)
            continue;
        if (!find_array(s, (uintptr_t)address, slot)) {
            *slot = (thread_slot){.name = f->name,
                                  .class_id = class_before(s, (uintptr_t)address),
                                  .array = (uintptr_t)address - 8};
            s->thread_slot_count += slot->class_id != 0;
            continue;
        }
        slot->name = f->name;
        slot->thread_index = f->thread_index;
        s->thread_slot_count++;
        if (s->has_locals)
            heap_locals_learn(&s->locals, thread, f->module, slot->array);
    }
    return 1;
}

static int visit_thread_again(void *context, uintptr_t thread)
{
    search *s = context;

    if (is_late(s))
        return 1;
    for (size_t i = 0; i < s->thread_field_count; i++) {
        const thread_field *f = &s->thread_fields[i];
        thread_slot found = {.name = f->name, .length = f->length, .index = f->index};
        uint64_t head[2] = {0}; /* class, length */
        uint64_t object;

        if (f->length == 0)
            continue;
        if (s->thread_slot_count == MOST_THREAD_SLOTS)
            return 0;
        found.handle = heap_locals_find(&s->locals, thread, f->module, f->number);
        found.array = read_self_word(found.handle);
        if (read_self(found.array, head, sizeof head) && head[0] == s->array &&
            (uint32_t)head[1] == f->length && f->index < f->length &&
            (object = read_self_word(found.array + sizeof head + 8ull * f->index)) != 0 &&
            (found.class_id = read_self_word(object) & ~(ClassID)7) != 0)
            s->thread_slots[s->thread_slot_count++] = found;
    }
    return 1;
}

static ClassID find_object_array(const search *s)
{
    const heap_record *r = &s->walk->record;

    for (size_t i = 0; i < r->type_count; i++) {
        const names_string *name;

        if (r->types[i].element != 8 || r->types[i].is_collectible)
            continue;
        name = names_get_string(s->names, names_of_class(s->names, r->types[i].class_id));
        if (name != NULL && text_equal(name->text, "object[]"))
            return r->types[i].class_id;
    }
    return 0;
}

/* A thread must not end while it is asked about: the runtime stands still for that. */
static void search_threads(search *s)
{
    const clr_info *info = s->walk->info;
    int tries = 0;

    s->array = find_object_array(s);
    s->thread_slots = memory_allocate_array(MOST_THREAD_SLOTS, sizeof *s->thread_slots);
    if (s->thread_slots == NULL || s->thread_field_count == 0 || s->array == 0 ||
        !heap_locals_open(&s->locals, info))
        return;
    while (clr_info_suspend_runtime(info) != S_OK) {
        if (++tries == SUSPEND_TRIES)
            return;
        os_sleep_ms(1);
    }
    s->end_ns = os_monotonic_ns() + LONGEST_SUSPENSION_NS;
    clr_each_thread(info, visit_thread, s);
    if (s->has_locals && heap_locals_is_clear(&s->locals)) {
        s->missed = 0; /* late once, late for all that follow */
        clr_each_thread(info, visit_thread_again, s);
    }
    clr_info_resume_runtime(info);
    for (size_t i = 0; i < s->thread_slot_count; i++) {
        const thread_slot *slot = &s->thread_slots[i];
        heap_static found = {.name = slot->name,
                             .length = slot->length,
                             .index = slot->index,
                             .class_id = slot->class_id,
                             .array = slot->array,
                             .handle = slot->handle,
                             .thread_index = slot->thread_index};

        s->found(s->context, &found);
    }
}

size_t heap_statics_name(names *n, const heap_walk *w, heap_statics_found *found, void *context)
{
    search s = {.names = n, .walk = w, .found = found, .context = context};

    s.thread_fields = memory_allocate_array(MOST_THREAD_FIELDS, sizeof *s.thread_fields);
    s.overtaken = atomic_load(&n->overtaken);
    clr_each_module(w->info, visit_module, &s);
    heap_generics_each(n, w, take_generic, &s);
    search_threads(&s);
    memory_free(s.thread_fields);
    memory_free(s.thread_slots);
    return s.missed;
}
