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
    CLASS_WORDS = 5,
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
    unsigned votes[MODULE_WORDS];
    bool failed; /* no memory */
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

/* ---- a class ---- */

/* Before the class's further part are its slots, before them, of a generic class, its fields, and
 * before these, of a class that has thread statics, their numbers. */
typedef struct {
    uint32_t others_index, thread_index;
    uint64_t fields;
    uint64_t base, others; /* slots of references, of others */
    uint64_t class_id;
} statics;

static void tell(search *s, uint64_t class_id, const uint64_t *words, const statics *all)
{
    struct {
        uint64_t class_id;
        uint32_t flags, place;
    } field;

    for (size_t i = 0; i < MOST_FIELDS; i++) {
        class_static found = {.class_id = class_id,
                              .module = words[CLASS_MODULE],
                              .row = (uint32_t)words[CLASS_ROW] >> 8};
        uint32_t offset;

        if (!read_all(s, all->fields + i * sizeof field, &field, sizeof field) ||
            field.class_id != class_id || field.place >> OFFSET_BITS == 0)
            return;
        offset = field.place & ((1u << OFFSET_BITS) - 1);
        found.token = FIELD_TOKEN | (field.flags & 0xffffff);
        if ((field.flags & (FIELD_STATIC | FIELD_IN_FILE)) != FIELD_STATIC ||
            (field.place >> OFFSET_BITS != ELEMENT_VALUE &&
             field.place >> OFFSET_BITS != ELEMENT_CLASS))
            continue;
        if ((field.flags & FIELD_OF_THREAD) != 0) {
            found.index = offset / 8 - ARRAY_HEAD;
            found.thread_index = all->thread_index;
        } else if (is_place(all->base)) {
            found.slot = all->base + offset;
        }
        if (found.slot != 0 || found.thread_index != 0)
            s->found(s->context, &found);
    }
}

static void take_class(search *s, uint64_t class_id, bool is_generic)
{
    uint64_t words[CLASS_WORDS];
    size_t before = s->taken.count;
    class_memory_class class;
    statics all;

    if (!read_all(s, class_id, words, sizeof words) || (words[0] & IS_COLLECTIBLE) != 0 ||
        !is_place(words[CLASS_FURTHER]) ||
        !read_all(s, words[CLASS_FURTHER] - sizeof all, &all, sizeof all) ||
        all.class_id != class_id || (is_generic && !is_place(all.fields)))
        return;
    if (!is_generic) {
        if (!class_memory_class_of(s->memory, class_id, &class))
            return;
        all.fields = class.field_list;
        class_memory_class_free(&class);
    }
    s->failed = s->failed || table_u64_at(&s->taken, class_id, 0) == NULL;
    if (!s->failed && s->taken.count != before)
        tell(s, class_id, words, &all);
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

bool class_statics_each(const class_memory *m, const class_statics_known *known, size_t count,
                        class_statics_found *found, void *context)
{
    search s = {.memory = m, .known = known, .count = count, .found = found, .context = context};
    size_t map, table;

    table_u64_init(&s.classes);
    table_u64_init(&s.modules);
    table_u64_init(&s.taken);
    for (size_t k = 0; k < count && !s.failed; k++)
        s.failed = !table_u64_put(&s.classes, known[k].class_id, 1) ||
                   (known[k].module != 0 && !table_u64_put(&s.modules, known[k].module, 1));
    map = s.failed || m->read == NULL ? 0 : find_word(&s, vote_for_map);
    table = s.failed || m->read == NULL ? 0 : find_word(&s, vote_for_table);
    for (size_t k = 0; k < s.modules.capacity && !s.failed; k++) {
        if (!s.modules.slots[k].used)
            continue;
        if (map > 0)
            walk_map(&s, s.modules.slots[k].key + 8 * (map - 1));
        if (table > 0)
            walk_table(&s, word_at(&s, s.modules.slots[k].key + 8 * table), true);
    }
    table_u64_free(&s.classes);
    table_u64_free(&s.modules);
    table_u64_free(&s.taken);
    return !s.failed;
}
