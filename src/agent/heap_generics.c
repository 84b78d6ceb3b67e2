/* heap_generics: see heap_generics.h. */
#include "agent/heap_generics.h"

#include "agent/read_self.h"

enum {
    MODULE_WORDS = 256, /* of a module that are looked at */
    CLASS_WORDS = 32,   /* of a class */
    FEWEST_VOTES = 4,
    ENOUGH_VOTERS = 32,
    BATCH = 256,
    MOST_CLASSES = 1 << 20, /* of one module */
    MOST_FIELDS = 1024,
    TABLE_BUCKETS = 2, /* words of a table: where its chains begin, how many classes it has */
    TABLE_COUNT = 3,
    FIRST_BUCKET = 2, /* after their number; one word more may be none */
    CLASS_MODULE = 3, /* words of a class, before 9.0: the module that made it */
    CLASS_FURTHER = 4,
    CLASS_FIXED = 8, /* its further parts come after these */
    ARRAY_HEAD = 2,  /* words before the first element, which a thread's field counts too */
    LOCAL_TABLE = 1, /* before 9.0, of what a module keeps for its statics */
    LOCAL_COUNT = 2,
    FIELD_STATIC = 1 << 24,
    FIELD_OF_THREAD = 1 << 25,
    FIELD_IN_FILE = 1 << 26,
    ELEMENT_VALUE = 0x11, /* boxed: a number is kept elsewhere and has its own type */
    ELEMENT_CLASS = 0x12,
};

typedef struct {
    names *names;
    const heap_walk *walk;
    heap_generics_found *found;
    void *context;
    unsigned overtaken;
    bool voting;
    size_t table_word, local_word; /* of a module; 0 = not known */
    unsigned votes[MODULE_WORDS], voters;
} search;

typedef struct {
    ClassID class_id;
    uint64_t fields;
    uint64_t base;   /* of the slots; 0 = known by the number */
    uint64_t number; /* in the table of its module */
    uint32_t thread_index;
    ModuleID module;
} instance;

static bool is_place(uint64_t word)
{
    return (word & 7) == 0 && word >= 4096;
}

static bool is_known(const search *s, uint64_t class_id)
{
    uint64_t number;

    return table_u64_get(&s->walk->record.type_numbers, class_id, &number);
}

/* The word with most votes, where that is clear; 0 = none. */
static size_t elect(const unsigned *votes)
{
    size_t best = 0;
    unsigned second = 0;

    for (size_t i = 1; i < MODULE_WORDS; i++)
        if (votes[i] > votes[best])
            best = i;
    for (size_t i = 0; i < MODULE_WORDS; i++)
        if (i != best && votes[i] > second)
            second = votes[i];
    return votes[best] >= FEWEST_VOTES && votes[best] > 3 * second ? best : 0;
}

/* ---- a class ---- */

/* From 9.0 on the fields and the slots stand before the class's further part, and before them, of a
 * class that has thread statics, the numbers of these. */
typedef struct {
    uint32_t others_index, thread_index;
    uint64_t fields;
    uint64_t base, others; /* slots of references, of others */
    uint64_t class_id;
} statics;

static bool read_statics(const uint64_t *words, ClassID class_id, statics *found)
{
    return is_place(words[CLASS_FURTHER]) &&
           read_self(words[CLASS_FURTHER] - sizeof *found, found, sizeof *found) &&
           found->class_id == class_id;
}

static bool find_statics(const uint64_t *words, instance *c)
{
    statics found;

    if (!read_statics(words, c->class_id, &found) || !is_place(found.fields) ||
        read_self_word(found.fields) != c->class_id)
        return false;
    c->fields = found.fields;
    c->base = is_place(found.base) ? found.base : 0;
    c->thread_index = found.thread_index;
    return true;
}

uint32_t heap_generics_thread_index(ClassID class_id)
{
    uint64_t words[CLASS_FURTHER + 1];
    statics found;

    return read_self(class_id, words, sizeof words) && read_statics(words, class_id, &found)
               ? found.thread_index
               : 0;
}

/* Before, the class ends with its fields and a number. */
static bool find_number(const uint64_t *words, instance *c)
{
    for (size_t i = CLASS_FIXED; i + 1 < CLASS_WORDS; i++) {
        if (!is_place(words[i]) || words[i + 1] >= MOST_CLASSES ||
            read_self_word(words[i]) != c->class_id)
            continue;
        c->fields = words[i];
        c->number = words[i + 1];
        c->module = words[CLASS_MODULE];
        return is_place(c->module);
    }
    return false;
}

static uint64_t base_by(uint64_t local, uint64_t number)
{
    uint64_t words[LOCAL_COUNT + 1];
    uint64_t entry;

    if (!is_place(local) || !read_self(local, words, sizeof words) ||
        words[LOCAL_COUNT] <= number || words[LOCAL_COUNT] > MOST_CLASSES ||
        !is_place(words[LOCAL_TABLE]))
        return 0;
    entry = read_self_word(words[LOCAL_TABLE] + 16 * number);
    entry = is_place(entry) ? read_self_word(entry) : 0;
    return is_place(entry) ? entry : 0;
}

/* One field; false: there are no more. */
static bool read_field(const instance *c, size_t i, uint32_t *flags, uint32_t *place)
{
    struct {
        uint64_t class_id;
        uint32_t flags, place;
    } field;

    if (i >= MOST_FIELDS || !read_self(c->fields + sizeof field * i, &field, sizeof field) ||
        field.class_id != c->class_id || (field.flags & FIELD_STATIC) == 0)
        return false;
    *flags = field.flags;
    *place = field.place;
    return true;
}

static bool has_slot(uint32_t flags, uint32_t place)
{
    return (flags & (uint32_t)(FIELD_OF_THREAD | FIELD_IN_FILE)) == 0 &&
           (place >> 27 == ELEMENT_VALUE || place >> 27 == ELEMENT_CLASS);
}

/* Whether what would be its slots holds an object of a class that was met. */
static bool holds_objects(const search *s, const instance *c, uint64_t base)
{
    uint32_t flags, place;

    for (size_t i = 0; read_field(c, i, &flags, &place); i++) {
        uint64_t object = has_slot(flags, place) ? read_self_word(base + (place & 0x7ffffff)) : 0;

        if (object != 0)
            return is_place(object) && is_known(s, read_self_word(object) & ~7ull);
    }
    return false;
}

static void vote_for_local(search *s, const instance *c)
{
    uint64_t words[MODULE_WORDS];
    bool has_voted = false;

    if (c->base != 0 || s->voters == ENOUGH_VOTERS || !read_self(c->module, words, sizeof words))
        return;
    for (size_t i = 1; i < MODULE_WORDS; i++) {
        uint64_t base = base_by(words[i], c->number);

        if (base == 0 || !holds_objects(s, c, base))
            continue;
        s->votes[i]++;
        has_voted = true;
    }
    s->voters += has_voted;
}

static bool is_of_thread(uint32_t flags, uint32_t place)
{
    return (flags & FIELD_OF_THREAD) != 0 && has_slot(flags & ~(uint32_t)FIELD_OF_THREAD, place);
}

static void tell(search *s, const instance *c)
{
    heap_generic found = {.class_id = c->class_id, .module = c->module, .number = c->number};
    uint32_t flags, place;

    for (size_t i = 0; read_field(c, i, &flags, &place); i++)
        found.length += is_of_thread(flags, place);
    for (size_t i = 0; read_field(c, i, &flags, &place); i++) {
        bool of_thread = is_of_thread(flags, place);

        found.token = 0x04000000 | (flags & 0xffffff);
        found.slot = has_slot(flags, place) && c->base != 0 ? c->base + (place & 0x7ffffff) : 0;
        found.place = (place & 0x7ffffff) / 8 - (c->module != 0 ? 0 : ARRAY_HEAD);
        found.thread_index = of_thread ? c->thread_index : 0;
        if (found.slot != 0 || found.thread_index != 0 || (of_thread && c->module != 0))
            s->found(s->context, &found);
    }
}

static void take_class(search *s, ClassID class_id)
{
    instance c = {.class_id = class_id};
    uint64_t words[CLASS_WORDS];

    if (!read_self(class_id, words, sizeof words) ||
        ((uint32_t)words[0] & HEAP_LAYOUT_COLLECTIBLE) != 0 ||
        (!find_statics(words, &c) && !find_number(words, &c)))
        return;
    if (s->voting) {
        vote_for_local(s, &c);
        return;
    }
    if (c.base == 0 && s->local_word != 0)
        c.base = base_by(read_self_word(c.module + 8 * s->local_word), c.number);
    tell(s, &c);
}

/* ---- a module ---- */

/* No module has been unloaded since: classes may be asked for. */
static bool may_go_on(const search *s)
{
    return atomic_load(&s->names->overtaken) == s->overtaken;
}

/* The classes of a table; how many of them were met. */
static unsigned walk_table(search *s, uint64_t table, bool taking)
{
    uint64_t words[TABLE_COUNT + 1], chains[BATCH], entry[2]; /* class, next */
    uint64_t length, left;
    unsigned met = 0;

    if (!is_place(table) || !read_self(table, words, sizeof words) ||
        !is_place(words[TABLE_BUCKETS]))
        return 0;
    left = (uint32_t)words[TABLE_COUNT];
    length = read_self_word(words[TABLE_BUCKETS]);
    if (left == 0 || left > MOST_CLASSES || length == 0 || length > MOST_CLASSES)
        return 0;
    for (uint64_t at = 0; at <= length; at += BATCH) {
        uint64_t count = length + 1 - at < BATCH ? length + 1 - at : BATCH;

        if (!read_self(words[TABLE_BUCKETS] + 8 * (FIRST_BUCKET + at), chains, 8 * count))
            return met;
        for (uint64_t i = 0; i < count; i++) {
            for (uint64_t next = chains[i]; is_place(next) && left != 0; next = entry[1]) {
                if (!read_self(next, entry, sizeof entry))
                    break;
                left--;
                met += is_known(s, entry[0]);
                if (taking && is_place(entry[0]) && may_go_on(s))
                    take_class(s, (ClassID)entry[0]);
            }
        }
    }
    return met;
}

/* Any module with enough instances will do. */
static int vote_for_table(void *context, uintptr_t module)
{
    search *s = context;
    uint64_t words[MODULE_WORDS];

    if (!may_go_on(s) || !read_self(module, words, sizeof words))
        return may_go_on(s);
    for (size_t i = 1; i < MODULE_WORDS; i++)
        s->votes[i] = walk_table(s, words[i], false);
    s->table_word = elect(s->votes);
    return s->table_word == 0;
}

static int visit_module(void *context, uintptr_t module)
{
    search *s = context;

    if (may_go_on(s))
        walk_table(s, read_self_word(module + 8 * s->table_word), true);
    return may_go_on(s);
}

void heap_generics_each(names *n, const heap_walk *w, heap_generics_found *found, void *context)
{
    search s = {.names = n,
                .walk = w,
                .found = found,
                .context = context,
                .overtaken = atomic_load(&n->overtaken),
                .voting = true};

    clr_each_module(w->info, vote_for_table, &s);
    if (s.table_word == 0)
        return;
    for (size_t i = 0; i < MODULE_WORDS; i++)
        s.votes[i] = 0;
    clr_each_module(w->info, visit_module, &s);
    s.local_word = elect(s.votes);
    s.voting = false;
    clr_each_module(w->info, visit_module, &s);
}
