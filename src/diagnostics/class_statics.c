/* class_statics: see class_statics.h. */
#include "diagnostics/class_statics.h"

#include "base/memory.h"

enum {
    MODULE_WORDS = 256, /* of a module that are looked at */
    MODULE_VOTERS = 64,
    FEWEST_VOTES = 4,
    BATCH = 256,
    MOST_CLASSES = 1 << 20, /* of one module */
    MOST_PARTS = 64,        /* of a map */
    MOST_FIELDS = 1024,
    PAGE = 4096,
    /* words of a table: where its chains begin, how many classes it has */
    TABLE_BUCKETS = 2,
    TABLE_COUNT = 3,
    FIRST_BUCKET = 2, /* after their number; one word more may be none */
    /* words of a class */
    CLASS_ROW = 1,
    CLASS_MODULE = 3,
    CLASS_FURTHER = 4,
    CLASS_FIXED = 8, /* before 9.0, further parts come after these */
    CLASS_WORDS = 32,
    /* before 9.0, of what a module keeps for its statics: where the table of generic classes is,
     * how many they are */
    LOCAL_TABLE = 1,
    LOCAL_COUNT = 2,
    ENOUGH_VOTERS = 32,
    ARRAY_HEAD = 2, /* words before the first element, which a thread's field counts too */
    IS_COLLECTIBLE = 0x00200000,
    FIELD_STATIC = 1 << 24,
    FIELD_OF_THREAD = 1 << 25,
    FIELD_IN_FILE = 1 << 26,
    OFFSET_BITS = 27,
    ELEMENT_VALUE = 0x11, /* boxed */
    ELEMENT_CLASS = 0x12,
    FIELD_TOKEN = 0x04000000,
};

typedef struct {
    const class_memory *memory;
    const class_statics_known *known;
    size_t count;
    table_u64 classes; /* that were met */
    table_u64 modules; /* … and theirs */
    table_u64 taken;
    class_statics_found *found;
    void *context;
    unsigned votes[MODULE_WORDS], voters;
    bool voting;       /* for: */
    size_t local_word; /* of a module, before 9.0; 0 = not known */
    bool failed;       /* no memory */
} search;

static bool read_all(const search *s, uint64_t address, void *out, size_t size)
{
    return s->memory->read(s->memory->context, address, out, size) == size;
}

static uint64_t word_at(const search *s, uint64_t address)
{
    uint64_t word;

    return read_all(s, address, &word, sizeof word) ? word : 0;
}

static bool is_place(uint64_t word)
{
    return word % 8 == 0 && word >= PAGE;
}

static bool is_known(const search *s, uint64_t class_id)
{
    uint64_t ignored;

    return table_u64_get(&s->classes, class_id, &ignored);
}

/* The word with most votes, where that is clear; 0 = none. */
static size_t elect(const unsigned *votes)
{
    size_t best = 0;

    for (size_t i = 1; i < MODULE_WORDS; i++)
        if (votes[i] > votes[best])
            best = i;
    for (size_t i = 0; i < MODULE_WORDS; i++)
        if (i != best && votes[i] * 3 >= votes[best])
            return 0;
    return votes[best] >= FEWEST_VOTES ? best : 0;
}

/* ---- a class, from 9.0 on ---- */

/* Before the class's further part are its slots, before them, of a generic class, its fields, and
 * before these, of a class that has thread statics, their numbers. */
typedef struct {
    uint32_t others_index, thread_index;
    uint64_t fields;
    uint64_t base, others; /* slots of references, of others */
    uint64_t class_id;
} statics;

/* A class with what is known of its statics. */
typedef struct {
    uint64_t class_id, module;
    uint32_t row;
    bool is_before_9;
    uint64_t fields, base;
    uint32_t thread_index;
} instance;

typedef struct {
    uint64_t class_id;
    uint32_t flags, place;
} field;

static bool read_field(const search *s, const instance *c, size_t i, field *out)
{
    return i < MOST_FIELDS && read_all(s, c->fields + i * sizeof *out, out, sizeof *out) &&
           out->class_id == c->class_id && out->place >> OFFSET_BITS != 0;
}

/* Whether it keeps a reference, or a struct in a box, in memory of its own. */
static bool has_slot(const field *f)
{
    return (f->flags & (FIELD_STATIC | FIELD_IN_FILE)) == FIELD_STATIC &&
           (f->place >> OFFSET_BITS == ELEMENT_VALUE || f->place >> OFFSET_BITS == ELEMENT_CLASS);
}

static uint32_t offset_of(const field *f)
{
    return f->place & ((1u << OFFSET_BITS) - 1);
}

static void tell(search *s, const instance *c)
{
    field f;

    for (size_t i = 0; read_field(s, c, i, &f); i++) {
        class_static found = {.class_id = c->class_id,
                              .module = c->module,
                              .row = c->row,
                              .is_before_9 = c->is_before_9,
                              .token = FIELD_TOKEN | (f.flags & 0xffffff)};

        if (!has_slot(&f))
            continue;
        if ((f.flags & FIELD_OF_THREAD) != 0) {
            found.index = offset_of(&f) / 8 - ARRAY_HEAD;
            found.thread_index = c->thread_index;
        } else if (is_place(c->base)) {
            found.slot = c->base + offset_of(&f);
        }
        if (found.slot != 0 || found.thread_index != 0)
            s->found(s->context, &found);
    }
}

static bool find_statics(const search *s, const uint64_t *words, bool is_generic, instance *c)
{
    class_memory_class class;
    statics all;

    if (!is_place(words[CLASS_FURTHER]) ||
        !read_all(s, words[CLASS_FURTHER] - sizeof all, &all, sizeof all) ||
        all.class_id != c->class_id || (is_generic && !is_place(all.fields)))
        return false;
    c->row = (uint32_t)words[CLASS_ROW] >> 8;
    c->fields = all.fields;
    c->base = all.base;
    c->thread_index = all.thread_index;
    if (is_generic)
        return true;
    if (!class_memory_class_of(s->memory, c->class_id, &class))
        return false;
    c->fields = class.field_list;
    class_memory_class_free(&class);
    return true;
}

/* ---- a generic class, before 9.0 ---- */

/* It ends with its fields and its number in the module. */
static bool find_number(const search *s, const uint64_t *words, instance *c, uint64_t *number)
{
    for (size_t i = CLASS_FIXED; i + 1 < CLASS_WORDS; i++) {
        if (!is_place(words[i]) || words[i + 1] >= MOST_CLASSES ||
            word_at(s, words[i]) != c->class_id)
            continue;
        c->row = (uint32_t)(words[CLASS_ROW] >> 16 & 0xffff);
        c->is_before_9 = true;
        c->fields = words[i];
        *number = words[i + 1];
        return is_place(c->module);
    }
    return false;
}

static uint64_t base_by(const search *s, uint64_t local, uint64_t number)
{
    uint64_t words[LOCAL_COUNT + 1];
    uint64_t entry;

    if (!is_place(local) || !read_all(s, local, words, sizeof words) ||
        words[LOCAL_COUNT] <= number || words[LOCAL_COUNT] > MOST_CLASSES ||
        !is_place(words[LOCAL_TABLE]))
        return 0;
    entry = word_at(s, words[LOCAL_TABLE] + 16 * number);
    return is_place(entry) ? word_at(s, entry) : 0;
}

/* Whether what would be its slots holds an object of a class that was met. */
static bool holds_objects(const search *s, const instance *c, uint64_t base)
{
    field f;

    for (size_t i = 0; is_place(base) && read_field(s, c, i, &f); i++) {
        uint64_t object =
            has_slot(&f) && (f.flags & FIELD_OF_THREAD) == 0 ? word_at(s, base + offset_of(&f)) : 0;

        if (object != 0)
            return is_place(object) && is_known(s, word_at(s, object) & ~UINT64_C(7));
    }
    return false;
}

static void vote_for_local(search *s, const instance *c, uint64_t number)
{
    uint64_t words[MODULE_WORDS];
    bool has_voted = false;

    if (s->voters == ENOUGH_VOTERS || !read_all(s, c->module, words, sizeof words))
        return;
    for (size_t i = 1; i < MODULE_WORDS; i++) {
        if (!holds_objects(s, c, base_by(s, words[i], number)))
            continue;
        s->votes[i]++;
        has_voted = true;
    }
    s->voters += has_voted;
}

static bool find_old(search *s, const uint64_t *words, instance *c)
{
    uint64_t number;

    if (!find_number(s, words, c, &number))
        return false;
    if (s->voting)
        vote_for_local(s, c, number);
    else if (s->local_word != 0)
        c->base = base_by(s, word_at(s, c->module + 8 * s->local_word), number);
    return true;
}

/* ---- any class ---- */

static void take_class(search *s, uint64_t class_id, bool is_generic)
{
    uint64_t words[CLASS_WORDS];
    size_t before = s->taken.count;
    instance c = {.class_id = class_id};

    if (!read_all(s, class_id, words, sizeof words) || (words[0] & IS_COLLECTIBLE) != 0)
        return;
    c.module = words[CLASS_MODULE];
    if ((!find_statics(s, words, is_generic, &c) && !(is_generic && find_old(s, words, &c))) ||
        s->voting)
        return;
    s->failed = s->failed || table_u64_at(&s->taken, class_id, 0) == NULL;
    if (!s->failed && s->taken.count != before)
        tell(s, &c);
}

/* ---- plain classes ---- */

static void vote_for_map(search *s, uint64_t module)
{
    uint64_t words[MODULE_WORDS];
    unsigned voters = 0;

    if (!read_all(s, module, words, sizeof words))
        return;
    for (size_t k = 0; k < s->count && voters < MODULE_VOTERS; k++) {
        if (s->known[k].module != module || s->known[k].row == 0)
            continue;
        voters++;
        for (size_t i = 1; i < MODULE_WORDS; i++)
            s->votes[i] += is_place(words[i]) && (word_at(s, words[i] + 8ull * s->known[k].row) &
                                                  ~UINT64_C(7)) == s->known[k].class_id;
    }
}

/* A map has parts, one behind the other: modules that are made at run time grow. */
static void walk_map(search *s, uint64_t at)
{
    uint64_t entries[BATCH];
    struct {
        uint64_t next, table, count; /* in the low half */
    } part;

    for (int parts = 0; parts < MOST_PARTS && is_place(at); parts++, at = part.next) {
        uint64_t count;

        if (!read_all(s, at, &part, sizeof part) || !is_place(part.table))
            return;
        count = (uint32_t)part.count < MOST_CLASSES ? (uint32_t)part.count : 0;
        for (uint64_t k = 0; k < count; k += BATCH) {
            uint64_t here = count - k < BATCH ? count - k : BATCH;

            if (!read_all(s, part.table + 8 * k, entries, 8 * (size_t)here))
                break;
            for (uint64_t i = 0; i < here; i++)
                if (is_place(entries[i] & ~UINT64_C(7)))
                    take_class(s, entries[i] & ~UINT64_C(7), false);
        }
    }
}

/* ---- instances of generic classes ---- */

/* The classes of a table; how many of them were met. */
static unsigned walk_table(search *s, uint64_t table, bool taking)
{
    uint64_t words[TABLE_COUNT + 1], chains[BATCH], entry[2]; /* class, next */
    uint64_t length, left;
    unsigned met = 0;

    if (!is_place(table) || !read_all(s, table, words, sizeof words) ||
        !is_place(words[TABLE_BUCKETS]))
        return 0;
    left = (uint32_t)words[TABLE_COUNT];
    length = word_at(s, words[TABLE_BUCKETS]);
    if (left == 0 || left > MOST_CLASSES || length == 0 || length > MOST_CLASSES)
        return 0;
    for (uint64_t at = 0; at <= length; at += BATCH) {
        uint64_t count = length + 1 - at < BATCH ? length + 1 - at : BATCH;

        if (!read_all(s, words[TABLE_BUCKETS] + 8 * (FIRST_BUCKET + at), chains, 8 * (size_t)count))
            return met;
        for (uint64_t i = 0; i < count; i++) {
            for (uint64_t next = chains[i]; is_place(next) && left != 0; next = entry[1]) {
                if (!read_all(s, next, entry, sizeof entry))
                    break;
                left--;
                met += is_known(s, entry[0]);
                if (taking && is_place(entry[0]))
                    take_class(s, entry[0], true);
            }
        }
    }
    return met;
}

static void vote_for_table(search *s, uint64_t module)
{
    uint64_t words[MODULE_WORDS];

    if (!read_all(s, module, words, sizeof words))
        return;
    for (size_t i = 1; i < MODULE_WORDS; i++)
        s->votes[i] = walk_table(s, words[i], false);
}

/* ---- all ---- */

/* Which word of modules leads on, by the first one that is clear. */
static size_t find_word(search *s, void (*vote)(search *, uint64_t module))
{
    size_t word = 0;

    for (size_t k = 0; k < s->modules.capacity && word == 0; k++) {
        if (!s->modules.slots[k].used)
            continue;
        for (size_t i = 0; i < MODULE_WORDS; i++)
            s->votes[i] = 0;
        vote(s, s->modules.slots[k].key);
        word = elect(s->votes);
    }
    return word;
}

static void walk_tables(search *s, size_t word)
{
    for (size_t k = 0; k < s->modules.capacity && !s->failed; k++)
        if (s->modules.slots[k].used)
            walk_table(s, word_at(s, s->modules.slots[k].key + 8 * word), true);
}

static void walk_all(search *s)
{
    size_t map = find_word(s, vote_for_map), table = find_word(s, vote_for_table);

    for (size_t k = 0; map != 0 && k < s->modules.capacity && !s->failed; k++)
        if (s->modules.slots[k].used)
            walk_map(s, s->modules.slots[k].key + 8 * (map - 1));
    if (table == 0)
        return;
    for (size_t i = 0; i < MODULE_WORDS; i++)
        s->votes[i] = 0;
    s->voting = true;
    walk_tables(s, table);
    s->voting = false;
    s->local_word = elect(s->votes);
    walk_tables(s, table);
}

bool class_statics_each(const class_memory *m, const class_statics_known *known, size_t count,
                        class_statics_found *found, void *context)
{
    search s = {.memory = m, .known = known, .count = count, .found = found, .context = context};

    table_u64_init(&s.classes);
    table_u64_init(&s.modules);
    table_u64_init(&s.taken);
    for (size_t k = 0; k < count && !s.failed; k++)
        s.failed = !table_u64_put(&s.classes, known[k].class_id, 1) ||
                   (known[k].module != 0 && !table_u64_put(&s.modules, known[k].module, 1));
    if (!s.failed && m->read != NULL)
        walk_all(&s);
    table_u64_free(&s.classes);
    table_u64_free(&s.modules);
    table_u64_free(&s.taken);
    return !s.failed;
}
