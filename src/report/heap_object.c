/* heap_object: one object of a snapshot, by its address: what it is, what it holds, who holds it
 * and what keeps it alive; see heap_report.h. */
#include <string.h>

#include "analysis/heap_threads.h"
#include "base/memory.h"
#include "report/heap_report.h"
#include "report/report.h"

enum { LONGEST_WAY = 4096 };

typedef struct {
    const heap *h;
    uint32_t node;
    uint32_t *way; /* from the object up to the one that a root holds */
    size_t way_length;
} object;

/* The object at the address, or the one it lies in; 0 = none. */
static uint32_t find(const heap *h, uint64_t address)
{
    for (uint32_t node = 1; node < h->nodes; node++) {
        uint64_t start = h->snapshot->addresses[node - 1];

        if (address >= start && address - start < h->own[node])
            return node;
    }
    return 0;
}

static int open_object(const heap *h, uint64_t address, object *o, error *e)
{
    memset(o, 0, sizeof *o);
    o->h = h;
    o->node = find(h, address);
    if (o->node == 0)
        return error_set(e, ERROR_NOT_FOUND, "there is no object at 0x%llx",
                         (unsigned long long)address);
    o->way = memory_allocate_array(LONGEST_WAY, sizeof *o->way);
    if (o->way == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    for (uint32_t at = o->node; at != 0 && at != DOMINATORS_NONE && o->way_length < LONGEST_WAY;
         at = h->towards_root[at])
        o->way[o->way_length++] = at;
    if (h->towards_root[o->node] == DOMINATORS_NONE)
        o->way_length = 0;
    return 0;
}

static uint64_t address_of(const heap *h, uint32_t node)
{
    return h->snapshot->addresses[node - 1];
}

/* The place where `from` keeps `to`. */
static uint32_t place_of(const heap *h, uint32_t from, uint32_t to)
{
    for (uint64_t k = h->first[from]; k < h->first[from + 1]; k++)
        if (h->targets[k] == to)
            return h->places[k];
    return 0;
}

/* "._items", "[17]", "[3].value"; an element has its index here. */
void heap_report_place(const heap *h, uint32_t node, uint32_t place, buffer *out)
{
    const heap_class *class = heap_class_of(h, node);
    heap_field field = heap_field_at(h, node, place);

    if (field == 0)
        return;
    if (class->element != 0 && place >= class->data) {
        buffer_format(out, "[%u]", (place - class->data) / class->element);
        field &= ~HEAP_ELEMENT;
    }
    if ((field & ~HEAP_ELEMENT) != 0 && model_text(h->m, field & ~HEAP_ELEMENT)[0] != '[')
        buffer_append_char(out, '.');
    heap_field_text(h, field, out);
}

/* Calls for each reference from or to the object, at most `top` times; answers how many there
 * are. */
typedef void visit_reference(const heap *h, uint32_t holder, uint32_t held, uint32_t place,
                             void *context);

static uint64_t each_reference(const heap *h, uint32_t node, bool held, size_t top,
                               visit_reference *visit, void *context)
{
    uint64_t count = 0;

    for (uint32_t from = held ? node : 1; from < (held ? node + 1 : h->nodes); from++)
        for (uint64_t k = h->first[from]; k < h->first[from + 1]; k++)
            if ((held || h->targets[k] == node) && count++ < top)
                visit(h, from, h->targets[k], h->places[k], context);
    return count;
}

/* ---- text ---- */

static void put_name(const heap *h, uint32_t node, sink *out)
{
    sink_format(out, "0x%llx ", (unsigned long long)address_of(h, node));
    sink_text(out, heap_type_name(h, h->type[node]));
}

static void put_place(const heap *h, uint32_t node, uint32_t place, sink *out)
{
    buffer text = BUFFER_EMPTY;

    heap_report_place(h, node, place, &text);
    sink_text(out, buffer_text(&text));
    buffer_free(&text);
}

static void put_held(const heap *h, uint32_t holder, uint32_t held, uint32_t place, void *context)
{
    sink_text(context, "  ");
    put_place(h, holder, place, context);
    sink_text(context, " -> ");
    put_name(h, held, context);
    sink_char(context, '\n');
}

static void put_holder(const heap *h, uint32_t holder, uint32_t held, uint32_t place, void *context)
{
    (void)held;
    sink_text(context, "  ");
    put_name(h, holder, context);
    put_place(h, holder, place, context);
    sink_char(context, '\n');
}

static void put_way(const object *o, sink *out)
{
    const heap *h = o->h;
    buffer root = BUFFER_EMPTY;
    uint64_t number = HEAP_SEVERAL_ROOTS;

    if (o->way_length == 0) {
        sink_text(out, heap_is_quick(h) ? "what keeps it alive is not known of a quick snapshot\n"
                                        : "no root leads to it\n");
        return;
    }
    table_u64_get(&h->root_of, o->way[o->way_length - 1], &number);
    heap_root_text_with_thread(h, (uint32_t)number, &root);
    sink_format(out, "kept alive by %s\n", buffer_text(&root));
    buffer_free(&root);
    for (size_t i = o->way_length; i-- > 0;) {
        sink_text(out, "  ");
        put_name(h, o->way[i], out);
        if (i > 0)
            put_place(h, o->way[i], place_of(h, o->way[i], o->way[i - 1]), out);
        sink_char(out, '\n');
    }
}

int heap_report_object(const heap *h, uint64_t address, size_t top, sink *out, error *e)
{
    char own[REPORT_AMOUNT_SIZE], retained[REPORT_AMOUNT_SIZE];
    uint64_t count;
    object o;
    int code = open_object(h, address, &o, e);

    if (code != 0)
        return code;
    put_name(h, o.node, out);
    sink_format(out, ", %s, retains %s", report_amount(h->own[o.node], "bytes", own),
                report_amount(h->retained[o.node], "bytes", retained));
    if (h->snapshot->generations[o.node - 1] != MODEL_HEAP_NOT_KNOWN)
        sink_format(out, ", %s", heap_generation_name(h->snapshot->generations[o.node - 1]));
    sink_char(out, '\n');
    heap_report_values(h, o.node, out);
    put_way(&o, out);
    sink_text(out, "held by\n");
    count = each_reference(h, o.node, false, top, put_holder, out);
    sink_format(out, "  %llu reference%s in all\nholds\n", (unsigned long long)count,
                count == 1 ? "" : "s");
    count = each_reference(h, o.node, true, top, put_held, out);
    sink_format(out, "  %llu reference%s in all\n", (unsigned long long)count,
                count == 1 ? "" : "s");
    memory_free(o.way);
    return 0;
}

/* ---- data ---- */

void heap_report_object_name(const heap *h, uint32_t node, json *j)
{
    char text[24];
    buffer address;

    buffer_fix(&address, text, sizeof text);
    buffer_format(&address, "0x%llx", (unsigned long long)address_of(h, node));
    json_put_text(j, "address", buffer_text(&address));
    json_put_text(j, "type", heap_type_name(h, h->type[node]));
}

static void json_place(const heap *h, uint32_t node, uint32_t place, json *j)
{
    buffer text = BUFFER_EMPTY;

    heap_report_place(h, node, place, &text);
    json_put_text(j, "field",
                  buffer_text(&text) + (text.length != 0 && text.data[0] == '.' ? 1 : 0));
    buffer_free(&text);
}

static void json_held(const heap *h, uint32_t holder, uint32_t held, uint32_t place, void *context)
{
    json_begin_object(context);
    json_place(h, holder, place, context);
    heap_report_object_name(h, held, context);
    json_end_object(context);
}

static void json_holder(const heap *h, uint32_t holder, uint32_t held, uint32_t place,
                        void *context)
{
    (void)held;
    json_held(h, holder, holder, place, context);
}

static void json_way(const object *o, json *j)
{
    const heap *h = o->h;
    buffer root = BUFFER_EMPTY;
    uint64_t number = HEAP_SEVERAL_ROOTS;

    if (o->way_length != 0) {
        table_u64_get(&h->root_of, o->way[o->way_length - 1], &number);
        heap_root_text(h, (uint32_t)number, &root);
        json_put_text(j, "root", buffer_text(&root));
        heap_report_root_threads(h, (uint32_t)number, j);
        buffer_free(&root);
    }
    json_begin_array_at(j, "path");
    for (size_t i = o->way_length; i-- > 0;) {
        json_begin_object(j);
        heap_report_object_name(h, o->way[i], j);
        if (i > 0)
            json_place(h, o->way[i], place_of(h, o->way[i], o->way[i - 1]), j);
        json_end_object(j);
    }
    json_end_array(j);
}

int heap_report_object_json(const heap *h, uint64_t address, size_t top, json *j, error *e)
{
    object o;
    int code = open_object(h, address, &o, e);

    if (code != 0)
        return code;
    heap_report_object_name(h, o.node, j);
    json_put_u64(j, "bytes", h->own[o.node]);
    json_put_u64(j, "retained", h->retained[o.node]);
    json_put_text(j, "generation", heap_generation_name(h->snapshot->generations[o.node - 1]));
    heap_report_values_json(h, o.node, j);
    json_way(&o, j);
    json_begin_array_at(j, "held_by");
    each_reference(h, o.node, false, top, json_holder, j);
    json_end_array(j);
    json_begin_array_at(j, "holds");
    each_reference(h, o.node, true, top, json_held, j);
    json_end_array(j);
    memory_free(o.way);
    return 0;
}
