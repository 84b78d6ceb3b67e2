/* heap_thread_statics: see heap_thread_statics.h. */
#include "analysis/heap_thread_statics.h"

#include "base/array.h"
#include "base/memory.h"

enum {
    UNUSED_MOST = 8,  /* numbers of classes that threads do not use */
    UNUSED_USUAL = 2, /* seen in 9.0 and 10.0 */
    MOST_VOTERS = 64,
};

typedef struct {
    uint32_t *nodes;
    size_t count, capacity;
    table_u64 known; /* each once */
} node_list;

/* Static fields of threads. Each row is what one thread had at one place of an array; that may have
 * moved since. */
typedef struct {
    heap *h;
    heap_places *p;
    const heap_static_rows *rows;
    node_list arrays;  /* that may be those of threads */
    node_list threads; /* that are, by what the runtime tells of roots */
    table_u64 handles; /* to the arrays they hold */
    table_u64 taken;   /* arrays that are known to be a row's, and objects that have a name */
} thread_search;

/* What the array keeps where the row says, when it is of the row's shape; 0 = it is not. */
static uint64_t fitting(const thread_search *t, uint32_t node, size_t row)
{
    const model_heap *s = t->h->snapshot;
    const heap_class *class = heap_class_of(t->h, node);
    uint64_t place = 16 + 8 * model_cell(t->rows->index, row);
    uint64_t object;
    uint32_t held;

    if (class->element != 8 ||
        heap_object_size(t->h, node - 1) != class->data + 8 + 8 * model_cell(t->rows->length, row))
        return 0;
    object = heap_static_reference(s, node, s->addresses[node - 1] + place);
    held = object == 0 ? 0 : heap_places_at(t->p, object);
    return held != 0 && heap_class_of(t->h, held)->id == model_cell(t->rows->class, row) ? object
                                                                                         : 0;
}

/* What a thread keeps becomes a root with the field's name. */
static bool add_thread_root(thread_search *t, uint64_t object, size_t row)
{
    heap *h = t->h;
    uint64_t ignored;

    if (table_u64_get(&t->taken, object, &ignored))
        return true;
    if (!array_reserve(&h->roots, &h->root_capacity, h->root_count + 1, sizeof *h->roots))
        return false;
    h->roots[h->root_count++] = (model_heap_root){.kind = RECORDING_ROOT_STATIC,
                                                  .flags = RECORDING_ROOT_THREAD,
                                                  .object = object,
                                                  .id = object,
                                                  .name = (uint32_t)model_cell(t->rows->name, row)};
    return table_u64_put(&t->taken, object, 1);
}

static bool name_of_thread(thread_search *t, uint32_t array, size_t row)
{
    return table_u64_put(&t->taken, array, 1) && add_thread_root(t, fitting(t, array, row), row);
}

static bool is_same_slot(const heap_static_rows *r, size_t a, size_t b)
{
    return model_cell(r->length, a) == model_cell(r->length, b) &&
           model_cell(r->index, a) == model_cell(r->index, b) &&
           model_cell(r->class, a) == model_cell(r->class, b);
}

/* Of a row whose array has moved: arrays of its shape, unless there are more of them than rows, or
 * rows of another field. */
static bool name_moved(thread_search *t, const uint8_t *is_done, size_t row)
{
    const heap_static_rows *r = t->rows;
    size_t alike = 0, arrays = 0;
    uint64_t ignored;
    bool good = true;

    for (size_t i = 0; i < r->rows; i++) {
        if (is_done[i] || !is_same_slot(r, i, row))
            continue;
        if (model_cell(r->name, i) != model_cell(r->name, row))
            return true;
        alike++;
    }
    for (size_t i = 0; i < t->arrays.count; i++)
        arrays += !table_u64_get(&t->taken, t->arrays.nodes[i], &ignored) &&
                  fitting(t, t->arrays.nodes[i], row) != 0;
    for (size_t i = 0; good && arrays <= alike && i < t->arrays.count; i++)
        if (!table_u64_get(&t->taken, t->arrays.nodes[i], &ignored) &&
            fitting(t, t->arrays.nodes[i], row) != 0)
            good = name_of_thread(t, t->arrays.nodes[i], row);
    return good;
}

static bool note_array(node_list *list, uint32_t node)
{
    size_t before = list->known.count;

    if (table_u64_at(&list->known, node, 1) == NULL ||
        !array_reserve(&list->nodes, &list->capacity, list->count + 1, sizeof *list->nodes))
        return false;
    if (list->known.count != before)
        list->nodes[list->count++] = node;
    return true;
}

static void list_free(node_list *list)
{
    memory_free(list->nodes);
    table_u64_free(&list->known);
}

/* The arrays of references that roots of a kind hold. The runtime tells of a thread's own array as
 * on a stack, in no method or in the one it looked at last. */
static bool find_held(const thread_search *t, uint32_t kind, node_list *list)
{
    const model_heap *s = t->h->snapshot;
    bool good = true;

    for (size_t i = 0; good && i < s->root_count; i++) {
        uint32_t node = s->roots[i].kind == kind ? heap_places_at(t->p, s->roots[i].object) : 0;

        if (node != 0 && heap_class_of(t->h, node)->element == 8)
            good = note_array(list, node);
    }
    return good;
}

/* Arrays that a stack or a handle holds may be those of threads, and so may arrays in these. */
static bool find_arrays(thread_search *t)
{
    const model_heap *s = t->h->snapshot;
    bool good = find_held(t, RECORDING_ROOT_STACK, &t->arrays) &&
                find_held(t, RECORDING_ROOT_HANDLE, &t->arrays);
    size_t held = t->arrays.count;

    for (size_t i = 0; good && i < held; i++) {
        uint32_t node = t->arrays.nodes[i];
        uint64_t end = node == s->object_count ? s->target_count : s->first[node];

        for (uint64_t k = s->first[node - 1]; good && k < end; k++) {
            uint32_t inner = heap_places_at(t->p, s->targets[k]);

            if (inner != 0 && heap_class_of(t->h, inner) == heap_class_of(t->h, node))
                good = note_array(&t->arrays, inner);
        }
    }
    return good;
}

/* ---- by the numbers of threads ---- */

/* From 9.0 on a thread has one array, with an array for each class that keeps references in thread
 * statics, by the class's number less the first numbers, which are not used. */
static uint64_t array_of_class(const thread_search *t, uint32_t array, uint64_t number,
                               uint64_t unused)
{
    const model_heap *s = t->h->snapshot;

    return number < unused ? 0
                           : heap_static_reference(
                                 s, array, s->addresses[array - 1] + 16 + 8 * (number - unused));
}

static uint64_t thread_index_of(const thread_search *t, size_t row)
{
    return t->rows->thread_index == NULL || model_cell(t->rows->slot, row) != 0
               ? 0
               : model_cell(t->rows->thread_index, row);
}

/* Whether the array has one of the row's shape where it would be a thread's. */
static bool fits_thread(const thread_search *t, uint32_t array, size_t row, uint64_t unused)
{
    uint32_t inner =
        heap_places_at(t->p, array_of_class(t, array, thread_index_of(t, row), unused));

    return inner != 0 && fitting(t, inner, row) != 0;
}

/* The next field of which the runtime told the array. */
static bool find_voter(const thread_search *t, size_t *row)
{
    while (*row < t->rows->rows &&
           (thread_index_of(t, *row) == 0 || model_cell(t->rows->length, *row) == 0))
        ++*row;
    return *row < t->rows->rows;
}

/* How long a thread's array for the class of each number is: as the runtime told, or as many fields
 * as its class has. */
static bool find_lengths(const thread_search *t, table_u64 *lengths)
{
    table_u64 fields;
    bool good = true;

    table_u64_init(&fields);
    for (size_t row = 0; good && row < t->rows->rows; row++) {
        uint64_t number = thread_index_of(t, row), length = model_cell(t->rows->length, row);
        size_t before = fields.count;
        uint64_t *at;

        if (number == 0)
            continue;
        at = table_u64_at(lengths, number, 0);
        good = at != NULL &&
               table_u64_at(&fields, number << 32 | model_cell(t->rows->index, row), 1) != NULL;
        if (good && length != 0)
            *at = length;
        else if (good && fields.count != before)
            ++*at;
    }
    table_u64_free(&fields);
    return good;
}

/* How many of the classes that are known an array has one for; 0 = it is no thread's: something in
 * it is no array, or one is not as long as its class's (*is_other). */
static size_t looks_like_threads(const thread_search *t, uint32_t array, uint64_t unused,
                                 const table_u64 *lengths, bool *is_other)
{
    const model_heap *s = t->h->snapshot;
    const heap_class *class = heap_class_of(t->h, array);
    uint64_t end = array == s->object_count ? s->target_count : s->first[array];
    size_t found = 0;

    *is_other = false;
    for (uint64_t k = s->first[array - 1]; k < end; k++) {
        uint32_t inner = heap_places_at(t->p, s->targets[k]);
        uint64_t length;

        if (inner == 0 || (heap_class_of(t->h, inner)->flags & RECORDING_TYPE_ARRAY) == 0)
            return 0;
        if (heap_class_of(t->h, inner) != class) /* numbers of a class */
            continue;
        if (!table_u64_get(lengths, (s->places[k] - 16) / 8 + unused, &length))
            continue;
        *is_other = heap_object_size(t->h, inner - 1) != class->data + 8 + 8 * length;
        if (*is_other)
            return 0;
        found++;
    }
    return found;
}

/* Where no field was told with its array. What is known of these is how long they are, which does
 * not say how many numbers are not used, but whether it may be as many as usual. */
static uint64_t unused_by_lengths(const thread_search *t, const table_u64 *lengths)
{
    size_t fit = 0, others = 0;

    for (size_t i = 0; i < t->threads.count; i++) {
        bool is_other;

        fit += looks_like_threads(t, t->threads.nodes[i], UNUSED_USUAL, lengths, &is_other) != 0;
        others += is_other;
    }
    return fit > others ? UNUSED_USUAL : UNUSED_MOST;
}

/* How many numbers are not used; UNUSED_MOST = there is no clear answer. */
static uint64_t elect_unused(const thread_search *t, const table_u64 *lengths)
{
    size_t votes[UNUSED_MOST + 1] = {0}, voters = 0;
    uint64_t best = UNUSED_MOST;

    for (size_t row = 0; voters < MOST_VOTERS && find_voter(t, &row); row++, voters++)
        for (size_t i = 0; i < t->threads.count; i++)
            for (uint64_t k = 0; k < UNUSED_MOST; k++)
                votes[k] += fits_thread(t, t->threads.nodes[i], row, k);
    if (voters == 0)
        return unused_by_lengths(t, lengths);
    for (uint64_t k = 0; k < UNUSED_MOST; k++)
        if (votes[k] > votes[best])
            best = k;
    for (uint64_t k = 0; k < UNUSED_MOST; k++)
        if (k != best && votes[k] * 3 > votes[best])
            return UNUSED_MOST;
    return best;
}

/* Leaves out what is no thread's. */
static void keep_thread_arrays(thread_search *t, uint64_t unused, const table_u64 *lengths)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->threads.count; i++) {
        size_t voters = 0;
        bool is_other;
        bool fits = looks_like_threads(t, t->threads.nodes[i], unused, lengths, &is_other) != 0;

        for (size_t row = 0; !fits && voters < MOST_VOTERS && find_voter(t, &row); row++, voters++)
            fits = fits_thread(t, t->threads.nodes[i], row, unused);
        if (fits)
            t->threads.nodes[kept++] = t->threads.nodes[i];
    }
    t->threads.count = kept;
}

/* The runtime tells of a thread's array as on a stack, for some threads in the method that it
 * looked at last: it is of none. */
static bool clear_methods(thread_search *t)
{
    heap *h = t->h;
    table_u64 arrays;
    uint64_t ignored;
    bool good = true;

    table_u64_init(&arrays);
    for (size_t i = 0; good && i < t->threads.count; i++)
        good = table_u64_put(&arrays, h->snapshot->addresses[t->threads.nodes[i] - 1], 1);
    for (size_t i = 0; good && i < h->root_count; i++)
        if (h->roots[i].kind == RECORDING_ROOT_STACK &&
            table_u64_get(&arrays, h->roots[i].object, &ignored))
            h->roots[i].id = 0;
    table_u64_free(&arrays);
    return good;
}

static bool add_by_number(thread_search *t, size_t row, uint64_t unused)
{
    const model_heap *s = t->h->snapshot;
    bool good = true;

    for (size_t i = 0; good && i < t->threads.count; i++) {
        uint32_t array = t->threads.nodes[i];
        uint32_t inner =
            heap_places_at(t->p, array_of_class(t, array, thread_index_of(t, row), unused));
        uint64_t object = 0;

        if (inner != 0 && heap_class_of(t->h, inner) == heap_class_of(t->h, array))
            object = heap_static_reference(
                s, inner, s->addresses[inner - 1] + 16 + 8 * model_cell(t->rows->index, row));
        if (object != 0)
            good = table_u64_put(&t->taken, inner, 1) && add_thread_root(t, object, row);
    }
    return good;
}

/* Every thread's, also of generic classes, for which the runtime gives no address. A field has as
 * many rows as threads have touched it. */
static bool add_by_numbers(thread_search *t)
{
    bool good = find_held(t, RECORDING_ROOT_STACK, &t->threads);
    table_u64 known, lengths;
    uint64_t unused;

    table_u64_init(&lengths);
    good = good && find_lengths(t, &lengths);
    unused = good ? elect_unused(t, &lengths) : UNUSED_MOST;
    if (good && unused != UNUSED_MOST) {
        keep_thread_arrays(t, unused, &lengths);
        good = clear_methods(t);
    }
    table_u64_free(&lengths);
    table_u64_init(&known);
    for (size_t row = 0; good && unused != UNUSED_MOST && row < t->rows->rows; row++) {
        uint64_t number = thread_index_of(t, row);
        size_t before = known.count;

        if (number == 0)
            continue;
        good = table_u64_at(&known, number << 32 | model_cell(t->rows->index, row), 1) != NULL;
        if (good && known.count != before)
            good = add_by_number(t, row, unused);
    }
    table_u64_free(&known);
    return good;
}

static bool note_handles(thread_search *t)
{
    const model_heap *s = t->h->snapshot;
    bool good = true;

    for (size_t i = 0; good && t->rows->handle != NULL && i < s->root_count; i++)
        if (s->roots[i].kind == RECORDING_ROOT_HANDLE)
            good = table_u64_put(&t->handles, s->roots[i].id, s->roots[i].object);
    return good;
}

static uint64_t handle_of(const heap_static_rows *r, size_t row)
{
    return r->handle == NULL ? 0 : model_cell(r->handle, row);
}

/* The row's array: what its handle held, also where that has moved since, else what is where the
 * array was; 0 = it does not fit. */
static uint32_t array_of_row(const thread_search *t, size_t row)
{
    uint64_t handle = handle_of(t->rows, row);
    uint64_t array = t->rows->array == NULL ? 0 : model_cell(t->rows->array, row);
    uint32_t node;

    if (handle != 0 && !table_u64_get(&t->handles, handle, &array))
        return 0;
    node = heap_places_at(t->p, array);
    return node != 0 && fitting(t, node, row) != 0 ? node : 0;
}

/* ---- structs of threads ---- */

static bool is_box_of(const thread_search *t, uint32_t node, size_t row)
{
    uint64_t ignored;

    return node != 0 && heap_class_of(t->h, node)->id == model_cell(t->rows->class, row) &&
           !table_u64_get(&t->taken, t->h->snapshot->addresses[node - 1], &ignored);
}

/* What of the row's class the arrays keep that may be threads', named when `found` is NULL. */
static bool each_box(thread_search *t, size_t row, size_t *found)
{
    const model_heap *s = t->h->snapshot;
    bool good = true;

    for (size_t i = 0; good && i < t->arrays.count; i++) {
        uint32_t array = t->arrays.nodes[i];
        uint64_t end = array == s->object_count ? s->target_count : s->first[array];

        for (uint64_t k = s->first[array - 1]; good && k < end; k++) {
            if (!is_box_of(t, heap_places_at(t->p, s->targets[k]), row))
                continue;
            if (found != NULL)
                ++*found;
            else
                good = add_thread_root(t, s->targets[k], row);
        }
    }
    return good;
}

/* Of boxes that have moved: those of the class, where only one field has such, and not more of them
 * than threads had. */
static bool add_moved_boxes(thread_search *t, const uint8_t *is_done, size_t row)
{
    const heap_static_rows *r = t->rows;
    size_t alike = 0, boxes = 0;

    for (size_t i = 0; i < r->rows; i++) {
        if (!heap_static_is_box(r, i) || model_cell(r->class, i) != model_cell(r->class, row))
            continue;
        if (model_cell(r->name, i) != model_cell(r->name, row))
            return true;
        alike += !is_done[i];
    }
    return each_box(t, row, &boxes) && (boxes > alike || each_box(t, row, NULL));
}

static bool add_boxes(thread_search *t, uint8_t *is_done)
{
    const heap_static_rows *r = t->rows;
    bool good = true;

    for (size_t row = 0; good && row < r->rows; row++) {
        uint32_t node =
            heap_static_is_box(r, row) ? heap_places_at(t->p, model_cell(r->array, row)) : 0;

        is_done[row] = is_box_of(t, node, row);
        if (is_done[row])
            good = add_thread_root(t, t->h->snapshot->addresses[node - 1], row);
    }
    for (size_t row = 0; good && row < r->rows; row++)
        if (heap_static_is_box(r, row) && !is_done[row])
            good = add_moved_boxes(t, is_done, row);
    return good;
}

bool heap_thread_statics_add(heap *h, heap_places *p, const heap_static_rows *rows)
{
    thread_search t = {.h = h, .p = p, .rows = rows};
    uint8_t *is_done = memory_allocate_array(rows->rows + 1, 1);
    bool good = is_done != NULL;

    table_u64_init(&t.taken);
    table_u64_init(&t.handles);
    table_u64_init(&t.arrays.known);
    table_u64_init(&t.threads.known);
    good = good && (rows->rows == 0 || (add_by_numbers(&t) && find_arrays(&t) && note_handles(&t) &&
                                        add_boxes(&t, is_done)));
    for (size_t row = 0; good && row < rows->rows; row++) {
        bool is_known = model_cell(rows->length, row) == 0;
        uint32_t node = is_known ? 0 : array_of_row(&t, row);

        is_done[row] = is_known || node != 0 || handle_of(rows, row) != 0;
        good = node == 0 || name_of_thread(&t, node, row);
    }
    for (size_t row = 0; good && row < rows->rows; row++)
        if (!is_done[row])
            good = name_moved(&t, is_done, row);
    table_u64_free(&t.taken);
    table_u64_free(&t.handles);
    list_free(&t.arrays);
    list_free(&t.threads);
    memory_free(is_done);
    return good;
}
