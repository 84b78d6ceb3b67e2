/* Unit tests of the classes of static fields: names that are told in order, fitted into what the
 * assemblies have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "symbols/static_fields.h"

enum { MOST = 400 };

/* As static_fields_add does, without an assembly around it. */
static void add(static_fields *s, uint32_t home, const char *class, const char *name,
                type_tree_type type)
{
    uint64_t *number = table_text_at(&s->names, name, strlen(name), 0);

    if (s->all == NULL) {
        s->all = memory_allocate_array(MOST, sizeof *s->all);
        s->latest = memory_allocate_array(MOST, sizeof *s->latest);
    }
    assert_non_null(number);
    assert_non_null(s->all);
    assert_non_null(s->latest);
    assert_true(s->count < MOST);
    if (*number == 0) {
        *number = s->names.count;
        s->latest[*number - 1] = 0;
    }
    s->all[s->count++] = (static_field){(uint32_t)*number, (uint32_t)s->classes.length, home,
                                        s->latest[*number - 1], type};
    s->latest[*number - 1] = (uint32_t)s->count;
    s->assembly_count = home > s->assembly_count ? home : s->assembly_count;
    buffer_append_text(&s->classes, class);
    buffer_append_char(&s->classes, '\0');
}

static const type_tree_type ANY = {TYPE_TREE_ANY, 0, 0};
static const type_tree_type ARRAY = {TYPE_TREE_ARRAY, 0, 0};

/* Fields of the first assembly are A, B and C; of the second D and E. */
static void shelves(static_fields *s)
{
    static_fields_init(s);
    add(s, 1, "A", "first", ANY);
    add(s, 1, "A", "log", ANY);
    add(s, 1, "B", "log", ANY);
    add(s, 1, "B", "middle", ANY);
    add(s, 1, "B", "one", ANY);
    add(s, 1, "C", "log", ANY);
    add(s, 1, "C", "last", ANY);
    add(s, 2, "D", "log", ARRAY);
    add(s, 2, "D", "two", ANY);
    add(s, 2, "E", "one", ANY);
}

/* `expected` has a letter for each name, '-' where nothing may be said. */
static void are(const static_fields *s, const char *const *names, size_t count,
                const char *expected)
{
    static_told told[16];
    const char *classes[16];

    for (size_t k = 0; k < count; k++)
        told[k] = (static_told){names[k], "", 0, false};
    static_fields_name(s, told, classes, count);
    for (size_t k = 0; k < count; k++)
        assert_string_equal(classes[k] == NULL ? "-" : classes[k], ((char[]){expected[k], '\0'}));
}

#define ARE(s, expected, ...)                                                                      \
    are(s, (const char *const[]){__VA_ARGS__},                                                     \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), expected)

static void neighbours_tell_the_class(void **state)
{
    static_fields s;

    (void)state;
    shelves(&s);
    ARE(&s, "AABBCC", "first", "log", "log", "middle", "log", "last");
    ARE(&s, "A-B", "first", "log", "middle"); /* A or B */
    ARE(&s, "BCC", "middle", "log", "last");  /* only one between them */
    ARE(&s, "BBCCDDE", "middle", "one", "log", "last", "log", "two", "one");
    ARE(&s, "-D", "log", "two"); /* in any class of the other assembly, or in this one's */
    static_fields_free(&s);
}

static void an_array_is_in_no_field_of_another_kind(void **state)
{
    static const static_told TOLD[] = {{"log", "", 0, true}, {"two", "", 0, false}};
    const char *classes[2];
    static_fields s;

    (void)state;
    static_fields_init(&s);
    s.types.failed = false;
    add(&s, 1, "A", "log", (type_tree_type){TYPE_TREE_CLASS, 0, 0});
    add(&s, 2, "D", "log", ARRAY);
    add(&s, 2, "D", "two", ANY);
    static_fields_name(&s, TOLD, classes, 2);
    /* what the class of the first field is, is not known: it may be an interface */
    assert_string_equal(classes[1], "D");
    assert_null(classes[0]);
    static_fields_free(&s);
}

static void what_no_assembly_has_says_nothing_of_its_neighbours(void **state)
{
    static_fields s;

    (void)state;
    shelves(&s);
    ARE(&s, "A---B", "first", "log", "strange", "log", "middle");
    ARE(&s, "-", "strange");
    ARE(&s, "-", "log");
    static_fields_free(&s);
}

static void an_assembly_may_be_there_twice(void **state)
{
    static_fields s;

    (void)state;
    shelves(&s);
    ARE(&s, "ABAB", "first", "middle", "first", "middle");
    /* behind the second one, in either */
    ARE(&s, "CA-B", "last", "first", "log", "middle");
    static_fields_free(&s);
}

/* A class of a tree; `base` NULL: none. Returns its place + 1. */
static uint32_t grow(type_tree *t, const char *name, const char *base, bool is_interface)
{
    const char *names[2] = {name, base};
    uint32_t numbers[2] = {0, 0};
    uint64_t *place;

    for (int k = 0; k < 2 && names[k] != NULL; k++) {
        uint64_t *number = table_text_at(&t->names, names[k], strlen(names[k]), 0);

        assert_non_null(number);
        if (*number == 0)
            *number = t->names.count;
        numbers[k] = (uint32_t)*number;
    }
    t->classes = memory_resize(t->classes, (t->count + 1) * sizeof *t->classes);
    assert_non_null(t->classes);
    t->classes[t->count++] = (type_tree_class){numbers[0], numbers[1], is_interface, false};
    place = table_u64_at(&t->by_name, numbers[0], t->count);
    assert_non_null(place);
    if (*place != t->count)
        t->classes[*place - 1].is_several = true;
    return (uint32_t)t->count;
}

static bool may_hold(const type_tree *t, const char *declared, uint32_t place)
{
    uint64_t number = 0;

    table_text_get(&t->names, declared, strlen(declared), &number);
    return type_tree_may_hold(t, (type_tree_type){TYPE_TREE_CLASS, (uint32_t)number, 0},
                              (type_tree_type){TYPE_TREE_CLASS, 0, place});
}

static void a_field_holds_what_derives_from_its_class(void **state)
{
    uint32_t derived, several, other;
    type_tree t;

    (void)state;
    type_tree_init(&t);
    grow(&t, "System.Object", NULL, false);
    grow(&t, "System.Array", "System.Object", false);
    grow(&t, "Thing", NULL, true);
    grow(&t, "Base", "System.Object", false);
    derived = grow(&t, "Derived", "Base", false);
    several = grow(&t, "Several", "System.Object", false);
    grow(&t, "Several", "Base", false);
    other = grow(&t, "Other", "Elsewhere", false); /* of which nothing is known */
    assert_true(may_hold(&t, "Derived", derived));
    assert_true(may_hold(&t, "Base", derived));
    assert_true(may_hold(&t, "System.Object", derived));
    assert_true(may_hold(&t, "Thing", derived)); /* an interface: not looked at */
    assert_false(may_hold(&t, "Several", derived));
    assert_false(may_hold(&t, "Derived", several));
    assert_true(may_hold(&t, "Several", several));
    assert_true(may_hold(&t, "Derived", other));
    assert_true(may_hold(&t, "Elsewhere", derived));
    assert_true(type_tree_may_hold(&t, ARRAY, ARRAY));
    assert_false(type_tree_may_hold(&t, ARRAY, (type_tree_type){TYPE_TREE_CLASS, 0, derived}));
    assert_false(type_tree_may_hold(&t, (type_tree_type){TYPE_TREE_CLASS, 4, 0}, ARRAY));
    assert_true(type_tree_may_hold(&t, (type_tree_type){TYPE_TREE_CLASS, 2, 0}, ARRAY));
    assert_true(type_tree_may_hold(&t, ANY, ARRAY));
    type_tree_free(&t);
}

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % limit;
}

/* Assemblies with fields of few names, of which some are told: what is said of them is true. */
static void nothing_is_said_that_is_wrong(void **state)
{
    size_t said = 0, asked = 0;

    (void)state;
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t seed = round * 2654435761u + 1;
        uint32_t homes = 1 + random_below(&seed, 5);
        uint32_t names = 2 + random_below(&seed, 12);
        uint32_t order[8], truth[MOST];
        static_told told[MOST];
        const char *classes[MOST];
        char texts[64][16];
        size_t count = 0;
        static_fields s;

        static_fields_init(&s);
        for (uint32_t k = 0; k < names; k++)
            snprintf(texts[k], sizeof texts[k], "f%u", (unsigned)k);
        for (uint32_t home = 1; home <= homes; home++) {
            uint32_t fields = random_below(&seed, 12);

            order[home - 1] = home;
            for (uint32_t k = 0; k < fields; k++) {
                char class[16];

                snprintf(class, sizeof class, "C%u", (unsigned)s.count);
                add(&s, home, class, texts[random_below(&seed, names)],
                    random_below(&seed, 3) == 0 ? ARRAY : ANY);
            }
        }
        for (uint32_t k = homes; k > 1; k--) { /* they are told in any order */
            uint32_t other = random_below(&seed, k);
            uint32_t swap = order[k - 1];

            order[k - 1] = order[other];
            order[other] = swap;
        }
        for (uint32_t h = 0; h < homes; h++) {
            for (uint32_t place = 0; place < s.count; place++) {
                if (s.all[place].assembly != order[h] || random_below(&seed, 4) == 0)
                    continue;
                truth[count] = place;
                told[count] = (static_told){texts[0], "", 0, false};
                for (uint32_t k = 0; k < names; k++) {
                    uint64_t number = 0;

                    if (table_text_get(&s.names, texts[k], strlen(texts[k]), &number) &&
                        number == s.all[place].name)
                        told[count].name = texts[k];
                }
                told[count++].is_array = s.all[place].type.kind == TYPE_TREE_ARRAY;
            }
        }
        static_fields_name(&s, told, classes, count);
        for (size_t k = 0; k < count; k++) {
            asked++;
            said += classes[k] != NULL;
            if (classes[k] != NULL)
                assert_string_equal(classes[k],
                                    (const char *)s.classes.data + s.all[truth[k]].class);
        }
        static_fields_free(&s);
    }
    assert_true(said * 4 > asked); /* not by saying nothing */
    assert_true(said < asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_tell_the_class),
        cmocka_unit_test(an_array_is_in_no_field_of_another_kind),
        cmocka_unit_test(what_no_assembly_has_says_nothing_of_its_neighbours),
        cmocka_unit_test(an_assembly_may_be_there_twice),
        cmocka_unit_test(a_field_holds_what_derives_from_its_class),
        cmocka_unit_test(nothing_is_said_that_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
