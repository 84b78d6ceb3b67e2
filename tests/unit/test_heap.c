/* Unit tests of the heap analysis: a small graph whose answers are known, and damaged input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/heap.h"
#include "analysis/heap_owners.h"
#include "analysis/heap_series.h"
#include "analysis/heap_tree.h"
#include "analysis/heap_waste.h"
#include "base/memory.h"
#include "recording/encode.h"

enum { HOLDER, NODE, LEAF, LIST, ARRAY, TYPES };

static const recording_column TYPE_COLUMNS[] = {{RECORDING_U64, "number", ""},
                                                {RECORDING_U64, "class", ""},
                                                {RECORDING_U64, "size", "bytes"},
                                                {RECORDING_STRING_ID, "name", ""}};
static const recording_table TYPE_TABLE = {"heap_types", "heap", TYPE_COLUMNS, 4};

static const char *const NAMES[TYPES] = {"Shop.Holder", "Shop.Node", "Shop.Leaf",
                                         "System.Collections.Generic.List<Shop.Leaf>",
                                         "Shop.Leaf[]"};
static const uint64_t SIZES[TYPES] = {24, 32, 40, 32, 40};

/* One object; references end with 0. */
typedef struct {
    uint64_t address;
    unsigned type;
    uint64_t size; /* 0 = the type's */
    uint64_t references[4];
} object;

/* holder -> node -> node -> leaf; the second node points to itself; a leaf that only a weak handle
 * knows; a leaf that the first node keeps through a dependent handle; a large leaf further up. */
static const object OBJECTS[] = {
    {0x10000, HOLDER, 0, {0x10018}},
    {0x10018, NODE, 0, {0x10038, 0x90000}},
    {0x10038, NODE, 0, {0x10038, 0x10058}},
    {0x10058, LEAF, 0, {0}},
    {0x10080, LEAF, 0, {0}},
    {0x100a8, LEAF, 0, {0}},
    {0x90000, LEAF, 100000, {0}},
    {0x8000, NODE, 0, {0x10058, 0x777000}}, /* on no root; one reference leads nowhere */
};
enum { COUNT = sizeof OBJECTS / sizeof *OBJECTS };

static void put_types(buffer *b)
{
    recording_rows rows;
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (unsigned i = 0; i < TYPES; i++)
        recording_put_string(b, i + 1, NAMES[i], strlen(NAMES[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    recording_put_table(b, 1, &TYPE_TABLE);
    recording_end_chunk(b, chunk);
    recording_rows_begin(&rows, b, 0, 1, &TYPE_TABLE);
    for (unsigned i = 0; i < TYPES; i++) {
        recording_rows_put(&rows, i);
        recording_rows_put(&rows, 0x7000 + i);
        recording_rows_put(&rows, SIZES[i]);
        recording_rows_put(&rows, i + 1);
    }
    recording_rows_end(&rows);
}

static size_t begin(buffer *b, unsigned section, uint64_t attempt)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_HEAP, 0);

    buffer_append_varint(b, section);
    buffer_append_varint(b, attempt);
    return chunk;
}

/* The shape of an object: one per type and size, listed when it has references. */
static uint64_t put_head(buffer *b, const object *o, uint64_t *known)
{
    unsigned listed = o->references[0] != 0;
    unsigned key = o->type * 4u + (o->size != 0) * 2u + listed;
    uint64_t flags = (o->size != 0 || listed ? RECORDING_SHAPE_SIZED : 0u) |
                     (listed ? RECORDING_SHAPE_LISTED : 0u);

    if (known[key + 1] != 0) {
        buffer_append_varint(b, known[key + 1]);
    } else {
        known[key + 1] = ++known[0];
        buffer_append_varint(b, known[key + 1]);
        buffer_append_varint(b, o->type);
        buffer_append_varint(b, flags);
        buffer_append_varint(b, 0);
    }
    if (flags != 0)
        buffer_append_varint(b, o->size != 0 ? o->size : SIZES[o->type]);
    return listed;
}

static uint64_t put_objects(buffer *b, uint64_t attempt, const object *objects, size_t count)
{
    size_t chunk = begin(b, RECORDING_HEAP_OBJECTS, attempt);
    uint64_t known[TYPES * 4 + 1] = {0};
    uint64_t previous = 0, references = 0;

    for (size_t i = 0; i < count; i++) {
        const object *o = &objects[i];

        buffer_append_zigzag(b, (int64_t)(o->address - previous) / 8);
        if (o->address == 0x90000) { /* a generation of its own */
            buffer_append_varint(b, 0);
            buffer_append_varint(b, 3);
        }
        previous = o->address;
        if (!put_head(b, o, known))
            continue;
        for (size_t k = 0; o->references[k] != 0; k++) {
            int64_t step = (int64_t)(o->references[k] - o->address) / 8;
            uint64_t number = ((uint64_t)step << 1 ^ (uint64_t)(step >> 63)) << 1;

            /* a chunk may end between any two references */
            recording_end_chunk(b, chunk);
            chunk = begin(b, RECORDING_HEAP_OBJECTS, attempt);
            buffer_append_varint(b, (number | (k == 0)) + 1);
            if (k == 0)
                buffer_append_zigzag(b, 0); /* the first place is 8 */
            references++;
        }
        buffer_append_varint(b, 0);
    }
    recording_end_chunk(b, chunk);
    return references;
}

static void put_root(buffer *b, uint64_t kind, uint64_t flags, uint64_t at, uint64_t id)
{
    buffer_append_varint(b, kind);
    buffer_append_varint(b, flags);
    buffer_append_varint(b, at);
    buffer_append_varint(b, id);
}

static void put_end(buffer *b, uint64_t attempt, size_t objects, uint64_t references, size_t roots)
{
    size_t chunk;

    put_types(b);
    chunk = begin(b, RECORDING_HEAP_END, attempt);
    buffer_append_varint(b, 0);
    buffer_append_varint(b, objects);
    buffer_append_varint(b, references);
    buffer_append_varint(b, roots);
    buffer_append_varint(b, 1000);
    buffer_append_varint(b, 2000);
    buffer_append_blob(b, "", 0);
    recording_end_chunk(b, chunk);
}

static void put_snapshot(buffer *b, uint64_t attempt)
{
    uint64_t references = put_objects(b, attempt, OBJECTS, COUNT);
    size_t chunk = begin(b, RECORDING_HEAP_ROOTS, attempt);

    put_root(b, RECORDING_ROOT_STATIC, 0, 0x10000, 0x500);
    buffer_append_blob(b, "keep", 4);
    put_root(b, RECORDING_ROOT_HANDLE, RECORDING_ROOT_WEAK, 0x10080, 0x600);
    put_root(b, RECORDING_ROOT_DEPENDENT, 0, 0x10018, 0x100a8);
    recording_end_chunk(b, chunk);
    put_end(b, attempt, COUNT, references, 3);
}

static int load(const buffer *b, size_t length, model *m, error *e)
{
    recording_file *file = NULL;
    int code = recording_file_open_bytes(b->data, length, &file, e);

    if (code == 0)
        code = model_load(file, 64 << 20, m, e);
    recording_file_close(file);
    return code;
}

static const heap_type *type_named(const heap *h, const char *name)
{
    for (uint32_t i = 0; i < h->type_count; i++)
        if (strcmp(heap_type_name(h, i), name) == 0)
            return &h->types[i];
    fail_msg("no type %s", name);
    return NULL;
}

static void check_graph(const heap *h)
{
    uint64_t kept = 24 + 2 * 32 + 2 * 40 + 100000;

    assert_int_equal(h->objects, COUNT);
    assert_int_equal(h->bytes, 24 + 3 * 32 + 3 * 40 + 100000);
    assert_int_equal(h->unknown_references, 1);
    assert_int_equal(h->unreachable, 2);
    assert_int_equal(h->weak_roots, 1);
    assert_int_equal(type_named(h, "Shop.Leaf")->count, 4);
    assert_int_equal(type_named(h, "Shop.Leaf")->largest, 100000);
    assert_int_equal(type_named(h, "Shop.Leaf")->retained, 2 * 40 + 100000);
    assert_int_equal(type_named(h, "Shop.Holder")->retained, kept);
    /* the second node hangs below the first one and counts once */
    assert_int_equal(type_named(h, "Shop.Node")->retained, kept - 24);
    assert_int_equal(h->holder_count, 1);
    assert_int_equal(h->holders[0].retained, kept);
    assert_int_equal(h->in_generation[0], 24 + 2 * 32 + 3 * 40);
    assert_int_equal(h->in_generation[3], 100000 + 32);
    assert_int_equal(type_named(h, "Shop.Leaf")->in_generation[3], 100000);
}

static void the_answers_are_right(void **state)
{
    buffer b = BUFFER_EMPTY, text = BUFFER_EMPTY;
    error e = {0};
    model m;
    heap h;

    (void)state;
    recording_put_file_header(&b);
    put_snapshot(&b, 1);
    put_snapshot(&b, 2); /* a second walk replaces the first */
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(m.damaged_chunks, 0);
    assert_int_equal(m.unknown_chunks, 0);
    if (heap_build(&m, heap_find(&m), &h, &e) != 0)
        fail_msg("%s", e.message);
    check_graph(&h);
    heap_root_text(&h, h.holders[0].root, &text);
    assert_string_equal(buffer_text(&text), "static field keep");
    buffer_free(&text);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

/* What a stack holds is named by the root that stays, where one leads there. */
static void a_root_that_stays_is_told_before_a_stack(void **state)
{
    buffer b = BUFFER_EMPTY, text = BUFFER_EMPTY;
    error e = {0};
    uint64_t references;
    size_t chunk;
    model m;
    heap h;

    (void)state;
    recording_put_file_header(&b);
    references = put_objects(&b, 1, OBJECTS, COUNT);
    chunk = begin(&b, RECORDING_HEAP_ROOTS, 1);
    put_root(&b, RECORDING_ROOT_STACK, 0, 0x10038, 0x700);
    put_root(&b, RECORDING_ROOT_STACK, 0, 0x10080, 0x700);
    put_root(&b, RECORDING_ROOT_STATIC, 0, 0x10000, 0x500);
    buffer_append_blob(&b, "keep", 4);
    put_root(&b, RECORDING_ROOT_STACK, 0, 0x10000, 0x700);
    recording_end_chunk(&b, chunk);
    put_end(&b, 1, COUNT, references, 4);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    if (heap_build(&m, heap_find(&m), &h, &e) != 0)
        fail_msg("%s", e.message);
    assert_int_equal(h.lasting, 1);
    for (uint32_t node = 1; node < h.nodes; node++) {
        uint64_t address = h.snapshot->addresses[node - 1];

        buffer_clear(&text);
        if (address == 0x10038) {
            assert_int_equal(h.tree.dominator[node], 0);
            assert_true(h.towards_root[node] != 0);
            heap_root_text(&h, heap_holding_root(&h, node), &text);
            assert_string_equal(buffer_text(&text), "static field keep and stacks");
        } else if (address == 0x10000 || address == 0x10080) {
            heap_root_text(&h, heap_holding_root(&h, node), &text);
            assert_string_equal(buffer_text(&text),
                                address == 0x10000 ? "static field keep" : "stack");
            assert_int_equal(h.towards_root[node], 0);
        }
    }
    buffer_free(&text);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

static void paths_are_merged(void **state)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};
    uint8_t *wanted;
    heap_paths paths;
    model m;
    heap h;

    (void)state;
    recording_put_file_header(&b);
    put_snapshot(&b, 1);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(heap_build(&m, heap_find(&m), &h, &e), 0);
    wanted = memory_allocate_array(h.type_count, 1);
    for (uint32_t i = 0; i < h.type_count; i++)
        wanted[i] = strcmp(heap_type_name(&h, i), "Shop.Leaf") == 0;
    assert_int_equal(heap_find_paths(&h, wanted, &paths, &e), 0);
    assert_int_equal(paths.objects, 4);
    assert_int_equal(paths.without_path, 1);
    /* holder -> node (several) -> leaf */
    assert_int_equal(paths.count, 4);
    assert_string_equal(heap_type_name(&h, paths.steps[1].type), "Shop.Holder");
    assert_string_equal(heap_type_name(&h, paths.steps[2].type), "Shop.Node");
    assert_true(paths.steps[2].repeated);
    assert_int_equal(paths.steps[2].below, 3);
    assert_int_equal(paths.steps[3].count, 3);
    assert_int_equal(paths.steps[3].bytes, 2 * 40 + 100000);
    heap_paths_free(&paths);
    memory_free(wanted);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

/* Every prefix of a snapshot loads, and is refused with a reason or answers. */
static void the_tree_is_merged(void **state)
{
    uint64_t kept = 24 + 2 * 32 + 2 * 40 + 100000;
    buffer b = BUFFER_EMPTY;
    error e = {0};
    heap_tree t;
    model m;
    heap h;

    (void)state;
    recording_put_file_header(&b);
    put_snapshot(&b, 1);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(heap_build(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(heap_build_tree(&h, 100, &t, &e), 0);
    /* the heap, the holder, both nodes as one, all leaves as one */
    assert_int_equal(t.count, 4);
    assert_int_equal(t.left_out, 0);
    assert_int_equal(t.items[0].retained, h.bytes);
    assert_int_equal(t.items[1].retained, kept);
    assert_int_equal(t.items[2].parent, 1);
    assert_int_equal(t.items[2].count, 2);
    assert_int_equal(t.items[2].retained, kept - 24);
    assert_int_equal(t.items[3].parent, 2);
    assert_int_equal(t.items[3].count, 3);
    assert_int_equal(t.items[3].retained, kept - 24 - 2 * 32);
    heap_tree_free(&t);
    assert_int_equal(heap_build_tree(&h, 3, &t, &e), 0);
    assert_true(t.count <= 3);
    assert_int_equal(t.count + t.left_out, 4);
    heap_tree_free(&t);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

/* Whatever could be built can be looked at. */
static void look_at_all(const heap *h)
{
    error e = {0};
    heap_tree t;
    heap_waste w;

    if (heap_build_tree(h, 10, &t, &e) == 0)
        heap_tree_free(&t);
    if (heap_find_waste(h, &w, &e) == 0)
        heap_waste_free(&w);
}

static void a_cut_snapshot_is_refused(void **state)
{
    buffer b = BUFFER_EMPTY;
    size_t whole = 0;

    (void)state;
    recording_put_file_header(&b);
    put_snapshot(&b, 1);
    for (size_t length = RECORDING_HEADER_SIZE; length <= b.length; length++) {
        error e = {0};
        model m;
        heap h;
        const model_process *p;

        assert_int_equal(load(&b, length, &m, &e), 0);
        p = heap_find(&m);
        if (p != NULL && heap_build(&m, p, &h, &e) == 0) {
            whole++;
            heap_free(&h);
        } else if (p != NULL) {
            assert_string_not_equal(e.message, "");
        }
        model_free(&m);
    }
    assert_int_equal(whole, 1);
    buffer_free(&b);
}

/* Bytes that are no snapshot at all: whatever comes out, it comes out whole. */
static void wild_bytes_do_no_harm(void **state)
{
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        buffer b = BUFFER_EMPTY;
        error e = {0};
        model m;
        heap h;

        recording_put_file_header(&b);
        put_types(&b);
        for (unsigned section = 2; section <= 4; section++) {
            size_t chunk = begin(&b, section, 1);

            for (int i = 0; i < 40; i++) {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                buffer_append_u8(&b, (uint8_t)(seed >> 32 & (i % 3 == 0 ? 0xff : 0x07)));
            }
            recording_end_chunk(&b, chunk);
        }
        assert_int_equal(load(&b, b.length, &m, &e), 0);
        if (m.processes[0].heap != NULL) {
            /* as if its end had been right */
            m.processes[0].heap->ended = true;
            m.processes[0].heap->trouble = 0;
            if (heap_build(&m, &m.processes[0], &h, &e) == 0) {
                look_at_all(&h);
                heap_free(&h);
            }
        }
        model_free(&m);
        buffer_free(&b);
    }
}

/* ---- survival ---- */

/* Objects without references, by address; a class has the same size in both snapshots. */
typedef struct {
    uint64_t address;
    unsigned type;
    uint64_t generation;
} placed;

static void put_placed(buffer *b, const placed *objects, size_t count, const char *pid,
                       const char *start)
{
    uint64_t known[TYPES] = {0};
    uint64_t previous = 0, generation = UINT64_MAX, shapes = 0;
    size_t chunk;

    recording_put_file_header(b);
    chunk = recording_begin_chunk(b, RECORDING_INFO, 0);
    recording_put_info(b, "pid", pid);
    recording_put_info(b, "start_ticks", start);
    recording_end_chunk(b, chunk);
    chunk = begin(b, RECORDING_HEAP_OBJECTS, 1);
    for (size_t i = 0; i < count; i++) {
        bool is_new = known[objects[i].type] == 0;

        buffer_append_zigzag(b, (int64_t)(objects[i].address - previous) / 8);
        previous = objects[i].address;
        if (objects[i].generation != generation) {
            generation = objects[i].generation;
            buffer_append_varint(b, 0);
            buffer_append_varint(b, generation);
        }
        if (is_new)
            known[objects[i].type] = ++shapes;
        buffer_append_varint(b, known[objects[i].type]);
        if (is_new) {
            buffer_append_varint(b, objects[i].type);
            buffer_append_varint(b, 0);
            buffer_append_varint(b, 0);
        }
    }
    recording_end_chunk(b, chunk);
    put_types(b);
    chunk = begin(b, RECORDING_HEAP_END, 1);
    buffer_append_varint(b, 0);
    buffer_append_varint(b, count);
    for (int i = 0; i < 4; i++)
        buffer_append_varint(b, 0);
    buffer_append_blob(b, "", 0);
    recording_end_chunk(b, chunk);
}

static void add_placed(heap_series *s, const placed *objects, size_t count, const char *pid,
                       const char *start)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};
    model m;
    heap h;

    put_placed(&b, objects, count, pid, start);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    assert_int_equal(m.damaged_chunks, 0);
    if (heap_build(&m, heap_find(&m), &h, &e) != 0 || heap_series_add(s, &h, &e) != 0)
        fail_msg("%s", e.message);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
}

static uint64_t survived(const heap_series *s, const char *name)
{
    for (size_t i = 0; i < s->types.count; i++)
        if (strcmp(s->types.items[i].name, name) == 0)
            return s->types.items[i].survived;
    fail_msg("no type %s", name);
    return 0;
}

/* The walk goes from region to region, not by address. */
static const placed BEFORE[] = {
    {0x900000, LEAF, 2}, {0x900028, LEAF, 2},   {0x900050, NODE, 2}, {0x900070, NODE, 2},
    {0x100000, LEAF, 3}, {0x200000, LEAF, 4},   {0x300000, LEAF, 5}, {0x400000, LEAF, 1},
    {0x500000, LEAF, 0}, {0x600000, HOLDER, 2},
};
static const placed AFTER[] = {
    {0x300000, LEAF, 5},   /* frozen: survived */
    {0x900000, LEAF, 2},   /* survived */
    {0x900050, LEAF, 2},   /* another type at the place of a node */
    {0x900070, NODE, 2},   /* survived */
    {0x100000, LEAF, 3},   /* large: survived */
    {0x200000, LEAF, 4},   /* pinned: survived */
    {0x400000, LEAF, 2},   /* was young then: nobody can tell */
    {0x500000, LEAF, 0},   /* young now */
    {0x700000, HOLDER, 2}, /* moved, or another one */
};

static void survivors_are_counted(void **state)
{
    heap_series s;

    (void)state;
    heap_series_init(&s);
    add_placed(&s, BEFORE, sizeof BEFORE / sizeof *BEFORE, "7", "1");
    assert_false(s.is_matched);
    add_placed(&s, AFTER, sizeof AFTER / sizeof *AFTER, "7", "1");
    assert_true(s.is_matched);
    assert_int_equal(survived(&s, "Shop.Leaf"), 4);
    assert_int_equal(survived(&s, "Shop.Node"), 1);
    assert_int_equal(survived(&s, "Shop.Holder"), 0);
    /* the last snapshot counts, whatever was between */
    add_placed(&s, BEFORE, sizeof BEFORE / sizeof *BEFORE, "7", "1");
    assert_int_equal(survived(&s, "Shop.Leaf"), 5);
    assert_int_equal(survived(&s, "Shop.Node"), 2);
    assert_int_equal(survived(&s, "Shop.Holder"), 1);
    add_placed(&s, AFTER, 0, "7", "1");
    assert_int_equal(survived(&s, "Shop.Leaf"), 0);
    /* another process, and one that has the PID of the first */
    add_placed(&s, BEFORE, sizeof BEFORE / sizeof *BEFORE, "8", "1");
    assert_false(s.is_matched);
    add_placed(&s, BEFORE, sizeof BEFORE / sizeof *BEFORE, "7", "2");
    assert_false(s.is_matched);
    heap_series_free(&s);
}

/* ---- the way of what has grown ---- */

/* A large leaf that stays, and small ones that a node keeps: one before, three after. */
static const object STAYS_AND_ONE[] = {
    {0x10000, HOLDER, 0, {0x90000}},
    {0x10018, NODE, 0, {0x10038}},
    {0x10038, LEAF, 0, {0}},
    {0x90000, LEAF, 100000, {0}},
};
static const object STAYS_AND_THREE[] = {
    {0x10000, HOLDER, 0, {0x90000}}, {0x10018, NODE, 0, {0x10038, 0x10060, 0x10088}},
    {0x10038, LEAF, 0, {0}},         {0x10060, LEAF, 0, {0}},
    {0x10088, LEAF, 0, {0}},         {0x90000, LEAF, 100000, {0}},
};

/* `stays` and "orders" are the static fields that hold the holder and the node. */
static void open_grown(const object *objects, size_t count, const char *stays, model *m, heap *h)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};
    uint64_t references;
    size_t chunk;

    recording_put_file_header(&b);
    references = put_objects(&b, 1, objects, count);
    chunk = begin(&b, RECORDING_HEAP_ROOTS, 1);
    put_root(&b, RECORDING_ROOT_STATIC, 0, 0x10000, 0x500);
    buffer_append_blob(&b, stays, strlen(stays));
    put_root(&b, RECORDING_ROOT_STATIC, 0, 0x10018, 0x508);
    buffer_append_blob(&b, "orders", 6);
    recording_end_chunk(&b, chunk);
    put_end(&b, 1, count, references, 2);
    assert_int_equal(load(&b, b.length, m, &e), 0);
    if (heap_build(m, heap_find(m), h, &e) != 0)
        fail_msg("%s", e.message);
    buffer_free(&b);
}

static void growth_is_on_the_way_that_grew(void **state)
{
    static const char *const STAYS[] = {"first", "second"};

    (void)state;
    /* also where what stays is reached by another root than before */
    for (size_t i = 0; i < 2; i++) {
        heap_growth g = {0}, nothing = {0};
        buffer way = BUFFER_EMPTY;
        error e = {0};
        model m;
        heap h;

        open_grown(STAYS_AND_ONE, sizeof STAYS_AND_ONE / sizeof *STAYS_AND_ONE, "first", &m, &h);
        assert_int_equal(heap_growth_keep(&g, &h, &e), 0);
        heap_free(&h);
        model_free(&m);
        open_grown(STAYS_AND_THREE, sizeof STAYS_AND_THREE / sizeof *STAYS_AND_THREE, STAYS[i], &m,
                   &h);
        assert_int_equal(heap_growth_way(&g, &h, "Shop.Leaf", &way, &e), 0);
        assert_string_equal(buffer_text(&way), "static field orders -> Shop.Node -> Shop.Leaf");
        buffer_clear(&way);
        assert_int_equal(heap_growth_way(&nothing, &h, "Shop.Leaf", &way, &e), 0);
        assert_non_null(strstr(buffer_text(&way), " -> Shop.Holder -> Shop.Leaf"));
        buffer_clear(&way);
        assert_int_equal(heap_growth_way(&g, &h, "Shop.None", &way, &e), 0);
        assert_int_equal(way.length, 0);
        buffer_free(&way);
        heap_growth_free(&g);
        heap_free(&h);
        model_free(&m);
    }
}

/* A list that a static field holds, and a stack each node of it. */
static void long_ways_have_a_root(void **state)
{
    enum { LENGTH = 100000 };
    buffer b = BUFFER_EMPTY, text = BUFFER_EMPTY;
    object *list = memory_allocate_array(LENGTH, sizeof *list);
    error e = {0};
    uint64_t references;
    size_t chunk;
    model m;
    heap h;

    (void)state;
    assert_non_null(list);
    for (uint64_t i = 0; i < LENGTH; i++)
        list[i] = (object){0x100000 + 32 * i, NODE, 0, {i + 1 < LENGTH ? 0x100020 + 32 * i : 0}};
    recording_put_file_header(&b);
    references = put_objects(&b, 1, list, LENGTH);
    chunk = begin(&b, RECORDING_HEAP_ROOTS, 1);
    put_root(&b, RECORDING_ROOT_STATIC, 0, 0x100000, 0x500);
    buffer_append_blob(&b, "keep", 4);
    for (uint64_t i = 0; i < LENGTH; i++)
        put_root(&b, RECORDING_ROOT_STACK, 0, 0x100000 + 32 * i, 0x700);
    recording_end_chunk(&b, chunk);
    put_end(&b, 1, LENGTH, references, LENGTH + 1);
    assert_int_equal(load(&b, b.length, &m, &e), 0);
    if (heap_build(&m, heap_find(&m), &h, &e) != 0)
        fail_msg("%s", e.message);
    for (uint32_t node = 2; node < h.nodes; node++) {
        buffer_clear(&text);
        heap_root_text(&h, heap_holding_root(&h, node), &text);
        assert_string_equal(buffer_text(&text), "static field keep and stacks");
    }
    buffer_free(&text);
    heap_free(&h);
    model_free(&m);
    buffer_free(&b);
    memory_free(list);
}

/* ---- owners ---- */

/* A static list of lists, two arrays that a holder keeps, and one that nobody does. */
static const object OWNED[] = {
    {0x10000, HOLDER, 0, {0x10058, 0x100f8}},
    {0x10018, LIST, 0, {0x10038}},
    {0x10038, LIST, 0, {0x10080}},
    {0x10058, ARRAY, 0, {0x100a8}},
    {0x10080, ARRAY, 0, {0x100a8}},
    {0x100a8, LEAF, 0, {0}},
    {0x100d0, ARRAY, 0, {0x100a8}},
    {0x100f8, ARRAY, 0, {0x100a8}},
};

static void containers_have_owners(void **state)
{
    static const char *const OWNERS[] = {"",       "orders", "orders", "Shop.Holder",
                                         "orders", "",       "",       "Shop.Holder"};
    heap_owners owners;
    model m;
    heap h;

    (void)state;
    open_grown(OWNED, sizeof OWNED / sizeof *OWNED, "stays", &m, &h);
    assert_true(heap_owners_init(&owners, &h));
    for (int round = 0; round < 2; round++) /* found, and found again */
        for (uint32_t i = (uint32_t)h.objects; i > 0; i--) {
            uint32_t owner = UINT32_MAX;

            assert_true(heap_owners_find(&owners, i, &owner));
            assert_string_equal(heap_owners_text(&owners, owner), OWNERS[i - 1]);
        }
    heap_owners_free(&owners);
    heap_free(&h);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answers_are_right),
        cmocka_unit_test(a_root_that_stays_is_told_before_a_stack),
        cmocka_unit_test(long_ways_have_a_root),
        cmocka_unit_test(paths_are_merged),
        cmocka_unit_test(growth_is_on_the_way_that_grew),
        cmocka_unit_test(containers_have_owners),
        cmocka_unit_test(the_tree_is_merged),
        cmocka_unit_test(a_cut_snapshot_is_refused),
        cmocka_unit_test(wild_bytes_do_no_harm),
        cmocka_unit_test(survivors_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
