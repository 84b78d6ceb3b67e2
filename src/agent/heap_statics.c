/* heap_statics: see heap_statics.h. Memory of the runtime is only read through the kernel. */
#include "agent/heap_statics.h"

#include <string.h>

#include "agent/heap_fields.h"
#include "agent/own_memory.h"

enum {
    MODULE_WORDS = 256, /* of a module that are looked at */
    VOTERS = 64,
    FEWEST_VOTES = 4,
    BATCH = 256,
    MOST_TYPES = 1 << 20, /* of one module */
    FIELD_STATIC = 0x10,
    FIELD_LITERAL = 0x40,
    FIELD_HAS_ADDRESS = 0x100, /* data of the file, not a variable */
    TYPE_DEF = 0x02000000,
};

typedef struct {
    names *names;
    const heap_walk *walk;
    heap_statics_found *found;
    void *context;
    size_t word; /* of the module that points to its map */
    size_t left; /* slots not named yet */
    ModuleID module;
    AppDomainID domain;
    IMetaDataImport2 *import;
    ClassID class_id;
} search;

/* A plain class: no array, no instance of a generic type. */
static bool describe(const clr_info *info, ClassID class_id, ModuleID *module, mdTypeDef *token)
{
    ClassID parent;
    uint32_t arguments = 0;

    return clr_info_get_class_id_info2(info, class_id, module, token, &parent, 0, &arguments,
                                       NULL) == S_OK &&
           arguments == 0 && *module != 0 && (*token & 0xff000000) == TYPE_DEF;
}

static void vote(ModuleID module, mdTypeDef token, ClassID class_id, unsigned *votes)
{
    uint64_t words[MODULE_WORDS];
    uint64_t entry;

    if (!own_memory_read(module, words, sizeof words))
        return;
    for (size_t i = 0; i < MODULE_WORDS; i++)
        if ((words[i] & 7) == 0 && words[i] != 0 &&
            own_memory_read(words[i] + 8ull * (token & 0xffffff), &entry, sizeof entry) &&
            (entry & ~7ull) == class_id)
            votes[i]++;
}

/* Where modules keep their map; 0 = not found. */
static size_t find_word(search *s)
{
    unsigned votes[MODULE_WORDS] = {0};
    unsigned voters = 0;
    size_t best = 0, second = 0;

    for (size_t i = 0; i < s->walk->record.type_count && voters < VOTERS; i++) {
        ClassID class_id = s->walk->record.types[i].class_id;
        ModuleID module;
        mdTypeDef token;

        if (!describe(s->walk->info, class_id, &module, &token))
            continue;
        voters++;
        vote(module, token, class_id, votes);
    }
    for (size_t i = 1; i < MODULE_WORDS; i++) {
        if (votes[i] > votes[best]) {
            second = best;
            best = i;
        } else if (votes[i] > votes[second] || second == best) {
            second = i;
        }
    }
    return votes[best] >= FEWEST_VOTES && votes[best] > 3 * votes[second] ? best : 0;
}

static int visit_field(void *context, mdToken token)
{
    search *s = context;
    char memory[256];
    buffer name;
    buffer whole = BUFFER_EMPTY;
    uint32_t flags = 0;
    void *address = NULL;
    uint64_t slot;
    mdTypeDef type;

    buffer_fix(&name, memory, sizeof memory);
    if (!CLR_OK(clr_get_field(s->import, token, &name, &type, &flags)) ||
        (flags & (FIELD_STATIC | FIELD_LITERAL | FIELD_HAS_ADDRESS)) != FIELD_STATIC ||
        clr_info_get_appdomain_static_address(s->walk->info, s->class_id, token, s->domain,
                                              &address) != S_OK ||
        !table_u64_get(&s->walk->slots, (uintptr_t)address, &slot))
        return 1;
    clr_append_class(s->walk->info, s->class_id, &whole);
    buffer_append_text(&whole, ".");
    heap_fields_append_name(&whole, buffer_text(&name));
    if (!buffer_failed(&whole))
        s->found(s->context, slot, names_intern(s->names, buffer_text(&whole), whole.length));
    buffer_free(&whole);
    if (s->left > 0)
        s->left--;
    return s->left > 0;
}

static void search_class(search *s, ClassID class_id, mdTypeDef expected)
{
    ModuleID module;
    mdTypeDef token;

    if (!describe(s->walk->info, class_id, &module, &token) || module != s->module ||
        token != expected)
        return;
    s->class_id = class_id;
    clr_each_field(s->import, token, visit_field, s);
}

static void search_map(search *s, uint64_t table, uint32_t count)
{
    uint64_t entries[BATCH];

    for (uint32_t at = 0; at < count && s->left > 0; at += BATCH) {
        uint32_t length = count - at < BATCH ? count - at : BATCH;

        if (!own_memory_read(table + 8ull * at, entries, 8ull * length))
            return;
        for (uint32_t i = 0; i < length && s->left > 0; i++)
            if (at + i != 0 && (entries[i] & ~7ull) != 0)
                search_class(s, (ClassID)(entries[i] & ~7ull), TYPE_DEF | (at + i));
    }
}

static int visit_module(void *context, uintptr_t module)
{
    search *s = context;
    uint64_t map[2]; /* table; count in the low half */
    uint32_t domains = 0;

    s->module = module;
    if (!own_memory_read(module + 8 * s->word, map, sizeof map) || (uint32_t)map[1] > MOST_TYPES ||
        clr_info_get_appdomains_containing_module(s->walk->info, module, 1, &domains, &s->domain) !=
            S_OK ||
        domains == 0 || clr_open_import(s->walk->info, module, &s->import) != S_OK)
        return 1;
    search_map(s, map[0], (uint32_t)map[1]);
    clr_release(s->import);
    return s->left > 0;
}

void heap_statics_name(names *n, const heap_walk *w, heap_statics_found *found, void *context)
{
    search s = {.names = n, .walk = w, .found = found, .context = context, .left = w->slots.count};

    s.word = find_word(&s);
    if (s.word != 0 && s.left != 0)
        clr_each_module(w->info, visit_module, &s);
}
