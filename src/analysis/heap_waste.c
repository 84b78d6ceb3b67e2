/*
 * heap_waste: see heap_waste.h. One pass over all references shows each object that matters once,
 * with its first holder; rows are made by rule, type and holder.
 */
#include "analysis/heap_waste.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/heap_counts.h"
#include "analysis/heap_follow.h"
#include "base/memory.h"
#include "base/text.h"

enum {
    LEAST_ROOM = 16,    /* elements of an array that may be called empty */
    LEAST_HANDLERS = 8, /* of an event */
    LARGE = 3,          /* generation */
    REGION = 4 << 20,   /* large objects of two regions have no hole between them */
    REGION_HEAD = 256,
};
#define LARGEST_HOLE (UINT64_C(32) << 20)

static const char COLLECTIONS[] = "System.Collections.";

/* What a class is to the rules. */
typedef enum {
    NOTHING,
    BOX,
    ARRAY,      /* that may hold references */
    COLLECTION, /* that counts its elements */
    DELEGATE,
    TIMER,
    CALLBACK,
    FINALIZABLE,
} role;

typedef struct {
    const heap *h;
    heap_waste *out;
    uint8_t *roles;   /* by class */
    uint64_t *places; /* by class of arrays: words of an element that were seen with a reference */
    heap_counts_place *counts;
    uint8_t *seen; /* by node, bits */
    table_text known;
    bool failed;
} work;

const char *heap_waste_name(heap_waste_kind kind)
{
    static const char *const NAMES[] = {
#define X(identifier, name, text, count, bytes) name,
        HEAP_WASTE_LIST(X)
#undef X
    };

    return NAMES[kind];
}

const char *heap_waste_text(heap_waste_kind kind)
{
    static const char *const TEXTS[] = {
#define X(identifier, name, text, count, bytes) text,
        HEAP_WASTE_LIST(X)
#undef X
    };

    return TEXTS[kind];
}

/* ---- rows ---- */

static heap_waste_row *owned_row_of(work *w, heap_waste_kind kind, uint32_t type, uint32_t holder,
                                    heap_field field, uint32_t owner)
{
    uint32_t key[5] = {kind, type, holder, field, owner};
    uint64_t *at = table_text_at(&w->known, (const char *)key, sizeof key, w->out->count);
    static heap_waste_row nowhere;

    if (at == NULL ||
        !array_reserve(&w->out->rows, &w->out->capacity, w->out->count + 1, sizeof nowhere)) {
        w->failed = true;
        return &nowhere;
    }
    if (*at == w->out->count)
        w->out->rows[w->out->count++] = (heap_waste_row){
            .kind = kind, .type = type, .holder = holder, .field = field, .owner = owner};
    return &w->out->rows[*at];
}

static heap_waste_row *row_of(work *w, heap_waste_kind kind, uint32_t type, uint32_t holder,
                              heap_field field)
{
    return owned_row_of(w, kind, type, holder, field, 0);
}

static void add(work *w, heap_waste_kind kind, uint32_t type, uint32_t from, uint32_t place,
                uint64_t bytes)
{
    const heap *h = w->h;
    uint32_t owner = 0;
    heap_waste_row *row;

    if (from != 0 && !heap_owners_find(&w->out->owners, from, &owner))
        w->failed = true;
    row = owned_row_of(w, kind, type, from == 0 ? UINT32_MAX : h->type[from],
                       from == 0 ? 0 : heap_field_at(h, from, place), owner);
    row->count++;
    row->bytes += bytes;
}

/* ---- single objects ---- */

/* The static field that holds an object: index into roots + 1, 0 = none does. */
static uint32_t static_field_of(const heap *h, uint32_t node)
{
    uint64_t root;

    if (!table_u64_get(&h->root_of, node, &root) || h->roots[root].kind != RECORDING_ROOT_STATIC)
        return 0;
    return (uint32_t)root + 1;
}

/* By the static field `root`, or else by the field that holds it. */
static heap_waste_row *row_of_holder(work *w, heap_waste_kind kind, uint32_t type, uint32_t from,
                                     uint32_t place, uint32_t root)
{
    const heap *h = w->h;
    heap_waste_row *row;

    if (root == 0)
        return row_of(w, kind, type, h->type[from], heap_field_at(h, from, place));
    /* no type has so high a number: each static field has rows of its own */
    row = row_of(w, kind, type, UINT32_MAX - root, 0);
    row->root = root;
    return row;
}

static void add_empty(heap_waste_row *row, uint64_t used, uint64_t room, uint32_t element)
{
    row->count++;
    row->bytes += (room - used) * element;
    row->used += used;
    row->room += room;
}

/* Whether an element without a reference is not used: it has room for nothing else, or it is a
 * collection's own. Other structs may well be used without any. */
static bool is_told_by_references(const work *w, uint32_t node)
{
    static const uint64_t WORD = sizeof(uint64_t);
    const heap *h = w->h;
    uint32_t number = h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type;
    uint32_t element = h->classes[number].element;

    return element == WORD || strncmp(heap_type_name(h, h->type[node]), COLLECTIONS, 19) == 0 ||
           (element % WORD == 0 && element <= 63 * WORD &&
            w->places[number] == (UINT64_C(1) << element / WORD) - 1);
}

/* Whether the array is what a collection keeps its elements in, not one of its elements: those are
 * in such an array, or in a node's field. Without names of fields a class's own array is. */
static bool is_store(const heap *h, uint32_t from, uint32_t place)
{
    static const char *const FIELDS[] = {"_items", "_array",   "_entries", "_slots",
                                         "_nodes", "_buckets", "m_array",  "_queue"};
    heap_field field = heap_field_at(h, from, place);

    if (strncmp(heap_type_name(h, h->type[from]), COLLECTIONS, sizeof COLLECTIONS - 1) != 0 ||
        heap_class_of(h, from)->element != 0 || (field & HEAP_ELEMENT) != 0)
        return false;
    for (size_t i = 0; field != 0 && i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (text_equal(model_text(h->m, field), FIELDS[i]))
            return true;
    return field == 0;
}

static void look_at_array(work *w, uint32_t from, uint32_t place, uint32_t node)
{
    const heap *h = w->h;
    const heap_class *class = heap_class_of(h, node);
    uint64_t room = heap_counts_room(h, node);
    uint64_t used;
    uint32_t counted;
    heap_waste_row *row;

    /* arrays of the runtime's own lie on the heap of pinned objects */
    if (room < LEAST_ROOM || from == 0 || h->snapshot->generations[node - 1] > LARGE ||
        !is_told_by_references(w, node) ||
        (heap_counts_of(h, w->counts, from, &used, &counted) && counted == node))
        return;
    used = heap_counts_used(h, node);
    if (used * 4 > room)
        return;
    if (is_store(h, from, place))
        row = row_of(w, HEAP_WASTE_COLLECTIONS, h->type[from], UINT32_MAX, 0);
    else
        row = row_of_holder(w, HEAP_WASTE_ARRAYS, h->type[node], from, place,
                            static_field_of(h, node));
    add_empty(row, used, room, class->element);
}

/* One that tells its count: what it keeps may have no references. */
static void look_at_collection(work *w, uint32_t node)
{
    const heap *h = w->h;
    uint64_t used, room;
    uint32_t array;

    if (!heap_counts_of(h, w->counts, node, &used, &array))
        return;
    room = heap_counts_room(h, array);
    if (room >= LEAST_ROOM && used * 4 <= room)
        add_empty(row_of(w, HEAP_WASTE_COLLECTIONS, h->type[node], UINT32_MAX, 0), used, room,
                  heap_class_of(h, array)->element);
}

/* An event is a delegate with a list of delegates. Such a one is its own target, too. */
static void look_at_delegate(work *w, uint32_t from, uint32_t place, uint32_t node)
{
    const heap *h = w->h;
    uint32_t list = heap_follow(h, node, "_invocationList");
    uint32_t root = static_field_of(h, node);
    uint32_t subscriber = 0;
    uint64_t count = 0;
    heap_waste_row *row;

    if (list == 0 || heap_class_of(h, list)->element == 0 || (from == 0 && root == 0))
        return;
    for (uint64_t k = h->first[list]; k < h->first[list + 1]; k++) {
        uint32_t handler = h->targets[k];

        if (w->roles[h->snapshot->shapes[h->snapshot->shape_of[handler - 1]].type] != DELEGATE)
            continue;
        count++;
        if (subscriber == 0)
            subscriber = heap_follow(h, handler, "_target");
    }
    if (count < LEAST_HANDLERS || subscriber == 0)
        return;
    row = row_of_holder(w, HEAP_WASTE_HANDLERS, h->type[subscriber], from, place, root);
    row->count += count;
    row->bytes += h->retained[node];
}

/* A state that says nothing of what the callback is for: none, a timer itself, a mere token. */
static bool is_empty_state(const heap *h, uint32_t state)
{
    const char *name = state == 0 ? "" : heap_type_name(h, h->type[state]);

    return state == 0 || text_equal(name, "System.Threading.Timer") || text_equal(name, "object");
}

/* What a callback works on: the state it was given (where that is a delegate, what it belongs to),
 * else what its delegate belongs to. Only what nothing else keeps is counted with it. */
static void look_at_callback(work *w, heap_waste_kind kind, uint32_t node, const char *callback,
                             const char *state)
{
    const heap *h = w->h;
    uint32_t delegate = heap_follow(h, node, callback);
    uint32_t target = heap_follow(h, node, state), inner;
    uint64_t bytes = h->own[node];

    if (delegate == 0)
        return;
    if (is_empty_state(h, target))
        target = heap_follow(h, delegate, "_target");
    if (target == 0)
        return;
    if (h->tree.dominator[target] == node || h->tree.dominator[target] == delegate)
        bytes += h->retained[target];
    if (heap_is_delegate(h, target) && (inner = heap_follow(h, target, "_target")) != 0)
        target = inner;
    add(w, kind, h->type[target], 0, 0, bytes);
}

static void look_at_finalizable(work *w, uint32_t node)
{
    const heap *h = w->h;
    uint32_t flags = h->snapshot->shapes[h->snapshot->shape_of[node - 1]].flags;
    heap_waste_row *row = row_of(w, HEAP_WASTE_UNDISPOSED, h->type[node], UINT32_MAX, 0);

    if ((flags & RECORDING_SHAPE_FINALIZED) != 0) {
        row->used++;
        return;
    }
    row->count++;
    row->bytes += h->own[node];
}

static void look(work *w, uint32_t from, uint32_t place, uint32_t node)
{
    const heap *h = w->h;
    role what = w->roles[h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type];

    if (what == NOTHING || from == node || (w->seen[node / 8] & 1u << node % 8) != 0)
        return;
    w->seen[node / 8] |= (uint8_t)(1u << node % 8);
    switch (what) {
    case BOX:
        add(w, HEAP_WASTE_BOXES, h->type[node], from, place, h->own[node]);
        break;
    case ARRAY:
        look_at_array(w, from, place, node);
        break;
    case COLLECTION:
        look_at_collection(w, node);
        break;
    case DELEGATE:
        look_at_delegate(w, from, place, node);
        break;
    case TIMER:
        look_at_callback(w, HEAP_WASTE_TIMERS, node, "_timerCallback", "_state");
        break;
    case CALLBACK:
        look_at_callback(w, HEAP_WASTE_CALLBACKS, node, "Callback", "CallbackState");
        break;
    default:
        look_at_finalizable(w, node);
        break;
    }
}

/* ---- all of them ---- */

static role role_of(const heap *h, const heap_class *class)
{
    const char *name = heap_type_name(h, class->type);

    if ((class->flags & RECORDING_TYPE_BOXED) != 0)
        return BOX;
    if ((class->flags & RECORDING_TYPE_DELEGATE) != 0)
        return DELEGATE;
    if (text_equal(name, "System.Threading.TimerQueueTimer"))
        return TIMER;
    if (text_equal(name, "System.Threading.CancellationTokenSource.CallbackNode"))
        return CALLBACK;
    /* a timer's holder is not for anybody to dispose */
    if (text_equal(name, "System.Threading.TimerHolder"))
        return NOTHING;
    return (class->flags & RECORDING_TYPE_FINALIZABLE) != 0 ? FINALIZABLE : NOTHING;
}

static void note_places(work *w, uint32_t node, uint32_t number)
{
    const heap *h = w->h;
    const heap_class *class = &h->classes[number];

    for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++)
        if (h->places[k] >= class->data)
            w->places[number] |= UINT64_C(1)
                                 << (h->places[k] - class->data) % class->element / 8 % 64;
}

/* An array's elements may hold references when its class says so, or one of its class does. */
static void find_roles(work *w)
{
    const heap *h = w->h;

    for (size_t i = 0; i < h->class_count; i++)
        w->roles[i] =
            (uint8_t)(w->counts[i].count_at != 0 ? COLLECTION : role_of(h, &h->classes[i]));
    for (uint32_t node = 1; node < h->nodes; node++) {
        uint32_t number = h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type;

        if ((h->classes[number].flags & RECORDING_TYPE_ARRAY) == 0 ||
            h->classes[number].element == 0)
            continue;
        if ((h->classes[number].flags & RECORDING_TYPE_REFERENCES) != 0 ||
            h->first[node] != h->first[node + 1])
            w->roles[number] = ARRAY;
        if (h->classes[number].element > 8)
            note_places(w, node, number);
    }
}

static void find_holes(work *w)
{
    const heap *h = w->h;
    const model_heap *s = h->snapshot;
    uint64_t end = 0;

    for (size_t i = 0; i < s->object_count; i++) {
        uint64_t hole = s->addresses[i] - end;

        if (s->generations[i] != LARGE)
            continue;
        if (end != 0 && s->addresses[i] > end && hole >= 1024 && hole < LARGEST_HOLE &&
            s->addresses[i] % REGION >= REGION_HEAD) {
            heap_waste_row *row = row_of(w, HEAP_WASTE_HOLES, UINT32_MAX, UINT32_MAX, 0);

            row->count++;
            row->bytes += hole;
        }
        end = s->addresses[i] + ((h->own[i + 1] + 7) & ~UINT64_C(7));
    }
}

static void find_equal_arrays(work *w)
{
    const heap *h = w->h;
    const model_heap *s = h->snapshot;
    uint32_t *first = memory_allocate_array((size_t)s->next_string + 1, sizeof *first);

    w->failed = w->failed || first == NULL;
    for (size_t i = 0; !w->failed && i < s->content_count; i++) {
        uint32_t node = s->contents[i].object + 1, number = s->contents[i].number;

        if (number >= s->next_string)
            continue;
        if (first[number] == 0)
            first[number] = node;
        else if (h->type[first[number]] == h->type[node] && h->own[first[number]] == h->own[node])
            add(w, HEAP_WASTE_EQUAL_ARRAYS, h->type[node], 0, 0, h->own[node]);
    }
    memory_free(first);
}

static int compare(const void *a, const void *b)
{
    const heap_waste_row *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->holder < y->holder ? -1 : x->holder > y->holder;
}

/* Leaves out what is below the limits, and sorts the rest. */
static void keep_rows(heap_waste *out)
{
    static const struct {
        uint64_t count, bytes;
    } LEAST[] = {
#define X(identifier, name, text, count, bytes) {count, bytes},
        HEAP_WASTE_LIST(X)
#undef X
    };
    size_t kept = 0;

    for (size_t i = 0; i < out->count; i++)
        if (out->rows[i].count >= LEAST[out->rows[i].kind].count &&
            out->rows[i].bytes >= LEAST[out->rows[i].kind].bytes)
            out->rows[kept++] = out->rows[i];
    out->count = kept;
    if (kept != 0)
        qsort(out->rows, kept, sizeof *out->rows, compare);
}

int heap_find_waste(const heap *h, heap_waste *out, error *e)
{
    work w = {.h = h, .out = out};

    memset(out, 0, sizeof *out);
    table_text_init(&w.known);
    w.roles = memory_allocate_array(h->class_count + 1, 1);
    w.places = memory_allocate_array(h->class_count + 1, sizeof *w.places);
    w.seen = memory_allocate_array(h->nodes / 8 + 1, 1);
    w.counts = heap_counts_find(h);
    w.failed = w.roles == NULL || w.places == NULL || w.seen == NULL || w.counts == NULL ||
               !heap_owners_init(&out->owners, h);
    if (!w.failed) {
        find_roles(&w);
        for (uint32_t node = 1; node < h->nodes; node++)
            for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++)
                look(&w, node, h->places[k], h->targets[k]);
        for (uint32_t node = 1; node < h->nodes; node++)
            look(&w, 0, 0, node);
        find_equal_arrays(&w);
        find_holes(&w);
    }
    memory_free(w.roles);
    memory_free(w.places);
    memory_free(w.counts);
    memory_free(w.seen);
    table_text_free(&w.known);
    heap_owners_finish(&out->owners);
    if (w.failed) {
        heap_waste_free(out);
        return error_set(e, ERROR_MEMORY, "no memory to look for waste");
    }
    keep_rows(out);
    return 0;
}

void heap_waste_free(heap_waste *w)
{
    memory_free(w->rows);
    heap_owners_free(&w->owners);
    memset(w, 0, sizeof *w);
}

void heap_waste_holder(const heap *h, const heap_waste_row *row, buffer *out)
{
    bool is_element = (row->field & HEAP_ELEMENT) != 0;

    if (row->root != 0) {
        heap_owners_append_root(h, row->root - 1, out);
        return;
    }
    if (row->holder == UINT32_MAX)
        return;
    buffer_append_text(out, heap_type_name(h, row->holder));
    if ((row->field & ~HEAP_ELEMENT) != 0)
        buffer_append_char(out, '.');
    heap_field_text(h, is_element ? row->field & ~HEAP_ELEMENT : row->field, out);
}
