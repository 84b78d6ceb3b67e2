/* heap_report: see heap_report.h. */
#include "report/heap_report.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/heap_threads.h"
#include "base/memory.h"
#include "base/screen.h"
#include "base/text.h"
#include "report/report.h"
#include "report/section.h"

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for the report");
}

static const char *bytes_text(uint64_t bytes, char text[REPORT_AMOUNT_SIZE])
{
    return report_amount(bytes, "bytes", text);
}

void heap_report_clean(sink *out, const char *text)
{
    for (; *text != '\0'; text++) {
        size_t control = screen_control_length(text);

        sink_char(out, control != 0 ? ' ' : *text);
        text += control == 0 ? 0 : control - 1;
    }
}

const char *heap_report_name(const heap *h, uint32_t type)
{
    const char *name = heap_type_name(h, type);

    return name[0] == '\0' ? "(unknown type)" : name;
}

bool heap_report_wants(const heap *h, uint32_t type, const heap_report_options *o)
{
    return o->type == NULL || text_matches(heap_report_name(h, type), o->type);
}

static uint32_t *sorted_types(const heap *h, const heap_report_options *o)
{
    return heap_sorted_types(h, heap_is_quick(h) && o->order == HEAP_BY_RETAINED ? HEAP_BY_BYTES
                                                                                 : o->order);
}

/* The types that make up most of what a holder keeps, besides its own. */
static void put_verdict(const heap *h, sink *out)
{
    char total[REPORT_AMOUNT_SIZE], part[REPORT_AMOUNT_SIZE];
    buffer root = BUFFER_EMPTY;
    const heap_holder *first = h->holder_count == 0 ? NULL : &h->holders[0];

    sink_format(out, "%llu objects, %s", (unsigned long long)h->objects,
                bytes_text(h->bytes, total));
    if (heap_is_quick(h))
        sink_format(out,
                    ", dead ones that are not collected yet included: a quick look%s, which does "
                    "not know what keeps them alive",
                    (h->snapshot->flags & RECORDING_HEAP_COLLECTED) != 0
                        ? " (one collection was forced, to be sure that none was under way)"
                        : " without a collection");
    else if (h->unreachable != 0)
        sink_format(out, " (%llu of them, %s, hang on no root: literals and type objects, mostly)",
                    (unsigned long long)h->unreachable, bytes_text(h->unreachable_bytes, part));
    sink_text(out, ".");
    if (first != NULL && first->retained != 0) {
        heap_root_text_with_thread(h, first->root, &root);
        sink_format(out, " The largest part, %s (%.0f %%), is kept alive by ",
                    bytes_text(first->retained, part), report_percent(first->retained, h->bytes));
        heap_report_clean(out, buffer_text(&root));
        sink_text(out, ": ");
        if (first->count != 1)
            sink_format(out, "%llu x ", (unsigned long long)first->count);
        heap_report_clean(out, heap_report_name(h, first->type));
        sink_text(out, ".");
    }
    sink_char(out, '\n');
    buffer_free(&root);
}

/* Percent of what orders the types: nothing is retained in a quick look. */
static double percent_of(const heap *h, const heap_type *t)
{
    return report_percent(heap_is_quick(h) ? t->bytes : t->retained, h->bytes);
}

static void put_types(const heap *h, const heap_report_options *o, const uint32_t *sorted,
                      sink *out)
{
    size_t shown = 0, left = 0;

    sink_char(out, '\n');
    if (!heap_is_quick(h))
        sink_format(out, "%12s ", "retained");
    sink_format(out, "%6s %12s %11s %10s  %s\n", "%", "own bytes", "objects", "largest", "type");
    for (size_t i = 0; i < h->type_count; i++) {
        const heap_type *t = &h->types[sorted[i]];
        char a[REPORT_AMOUNT_SIZE], b[REPORT_AMOUNT_SIZE], c[REPORT_AMOUNT_SIZE];

        if (t->count == 0 || !heap_report_wants(h, sorted[i], o))
            continue;
        if (shown == o->top) {
            left++;
            continue;
        }
        shown++;
        if (!heap_is_quick(h))
            sink_format(out, "%12s ", bytes_text(t->retained, a));
        sink_format(out, "%6.1f %12s %11llu %10s  ", percent_of(h, t), bytes_text(t->bytes, b),
                    (unsigned long long)t->count, bytes_text(t->largest, c));
        heap_report_clean(out, heap_report_name(h, sorted[i]));
        sink_char(out, '\n');
    }
    if (left != 0)
        sink_format(out, "%zu more type%s (--top shows more)\n", left, left == 1 ? "" : "s");
}

static void put_holders(const heap *h, const heap_report_options *o, sink *out)
{
    if (h->holder_count == 0)
        return;
    sink_format(out, "\n%12s %6s %11s  %s\n", "retained", "%", "objects", "kept alive by");
    for (size_t i = 0; i < h->holder_count && i < o->top; i++) {
        const heap_holder *one = &h->holders[i];
        buffer root = BUFFER_EMPTY;
        char text[REPORT_AMOUNT_SIZE];

        heap_root_text_with_thread(h, one->root, &root);
        sink_format(out, "%12s %6.1f %11llu  ", bytes_text(one->retained, text),
                    report_percent(one->retained, h->bytes), (unsigned long long)one->count);
        heap_report_clean(out, buffer_text(&root));
        sink_text(out, " -> ");
        heap_report_clean(out, heap_report_name(h, one->type));
        sink_char(out, '\n');
        buffer_free(&root);
    }
    if (h->weak_roots != 0)
        sink_format(out,
                    "%llu weak handle%s besides (WeakReference, caches of the runtime): these keep "
                    "nothing alive\n",
                    (unsigned long long)h->weak_roots, h->weak_roots == 1 ? "" : "s");
}

int heap_report_text(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    uint32_t *sorted = sorted_types(h, o);

    if (sorted == NULL)
        return no_memory(e);
    if (heap_report_check_type(h, o, e) != 0) {
        memory_free(sorted);
        return e->code;
    }
    put_verdict(h, out);
    if (o->group == HEAP_GROUP_NONE)
        put_types(h, o, sorted, out);
    memory_free(sorted);
    if (o->group != HEAP_GROUP_NONE)
        return heap_report_groups(h, o, out, e);
    if (o->type == NULL) {
        int code;

        put_holders(h, o, out);
        code = heap_report_strings(h, o, out, e);
        if (code == 0)
            code = heap_report_waste(h, o, out, e);
        if (code != 0)
            return code;
    }
    if (o->objects) {
        int code = heap_report_objects(h, o, out, e);

        if (code != 0)
            return code;
    }
    return o->paths ? heap_report_paths(h, o, out, e) : 0;
}

/* ---- markdown ---- */

int heap_report_markdown(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    uint32_t *sorted = sorted_types(h, o);
    char a[REPORT_AMOUNT_SIZE], b[REPORT_AMOUNT_SIZE];
    sink verdict;
    int code;

    if (sorted == NULL)
        return no_memory(e);
    sink_init(&verdict, -1);
    put_verdict(h, &verdict);
    markdown_text(out, buffer_text(&verdict.pending));
    sink_free(&verdict);
    sink_text(out, heap_is_quick(h) ? "\n\n|" : "\n\n| retained |");
    sink_text(out, " % | own bytes | objects | type |\n|---:|---:|---:|---");
    sink_text(out, heap_is_quick(h) ? "|\n" : ":|---|\n");
    for (size_t i = 0, shown = 0; i < h->type_count && shown < o->top; i++) {
        const heap_type *t = &h->types[sorted[i]];

        if (t->count == 0)
            continue;
        shown++;
        if (!heap_is_quick(h))
            sink_format(out, "| %s ", bytes_text(t->retained, a));
        sink_format(out, "| %.1f | %s | %llu | ", percent_of(h, t), bytes_text(t->bytes, b),
                    (unsigned long long)t->count);
        markdown_cell(out, heap_report_name(h, sorted[i]));
        sink_text(out, " |\n");
    }
    memory_free(sorted);
    if (h->holder_count != 0)
        sink_text(out, "\n### Kept alive by\n\n| retained | % | objects | root | type |\n"
                       "|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < h->holder_count && i < o->top; i++) {
        const heap_holder *one = &h->holders[i];
        buffer root = BUFFER_EMPTY;

        heap_root_text_with_thread(h, one->root, &root);
        sink_format(out, "| %s | %.1f | %llu | ", bytes_text(one->retained, a),
                    report_percent(one->retained, h->bytes), (unsigned long long)one->count);
        markdown_cell(out, buffer_text(&root));
        sink_text(out, " | ");
        markdown_cell(out, heap_report_name(h, one->type));
        sink_text(out, " |\n");
        buffer_free(&root);
    }
    sink_char(out, '\n');
    code = heap_report_strings_markdown(h, o, out, e);
    return code == 0 ? heap_report_waste_markdown(h, o, out, e) : code;
}

/* ---- data ---- */

void heap_report_root_threads(const heap *h, uint32_t root, json *j)
{
    const model_thread *thread;
    size_t count = heap_root_threads(h, root, &thread);

    if (count == 0)
        return;
    json_put_u64(j, "threads", count);
    if (count != 1)
        return;
    json_put_u64(j, "thread", thread->os_id);
    if (thread->name != 0)
        json_put_text(j, "thread_name", model_text(h->m, thread->name));
}

void heap_report_root_json(const heap *h, uint32_t root, json *j)
{
    buffer text = BUFFER_EMPTY;

    heap_root_text(h, root, &text);
    json_put_text(j, "root", buffer_text(&text));
    buffer_free(&text);
    heap_report_root_threads(h, root, j);
}

static void json_generations(const uint64_t *bytes, json *j)
{
    json_begin_object_at(j, "generations");
    for (uint32_t i = 0; i < MODEL_HEAP_GENERATIONS; i++)
        if (bytes[i] != 0)
            json_put_u64(j, heap_generation_name(i), bytes[i]);
    json_end_object(j);
}

static void json_types(const heap *h, const heap_report_options *o, const uint32_t *sorted, json *j)
{
    json_begin_array_at(j, "types");
    for (size_t i = 0, shown = 0; i < h->type_count && shown < o->top; i++) {
        const heap_type *t = &h->types[sorted[i]];

        if (t->count == 0 || !heap_report_wants(h, sorted[i], o))
            continue;
        shown++;
        json_begin_object(j);
        json_put_text(j, "type", heap_report_name(h, sorted[i]));
        json_put_u64(j, "count", t->count);
        json_put_u64(j, "bytes", t->bytes);
        if (!heap_is_quick(h))
            json_put_u64(j, "retained", t->retained);
        json_put_u64(j, "largest", t->largest);
        json_generations(t->in_generation, j);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_root_kind(const char *kind, uint64_t count, json *j)
{
    json_begin_object(j);
    json_put_text(j, "kind", kind);
    json_put_u64(j, "count", count);
    json_end_object(j);
}

static void json_roots(const heap *h, const heap_report_options *o, json *j)
{
    json_begin_array_at(j, "roots");
    for (uint32_t kind = 0; kind < RECORDING_ROOT_KINDS; kind++)
        if (kind != RECORDING_ROOT_HANDLE)
            json_root_kind(heap_root_kind(kind), h->root_counts[kind], j);
    json_root_kind("strong handle",
                   h->root_counts[RECORDING_ROOT_HANDLE] - h->pinned_handles - h->counted_handles,
                   j);
    json_root_kind("pinned handle", h->pinned_handles, j);
    json_root_kind("counted handle", h->counted_handles, j);
    json_root_kind("weak handle", h->weak_roots, j);
    json_end_array(j);
    json_begin_array_at(j, "holders");
    for (size_t i = 0; i < h->holder_count && i < o->top; i++) {
        json_begin_object(j);
        heap_report_root_json(h, h->holders[i].root, j);
        json_put_text(j, "type", heap_report_name(h, h->holders[i].type));
        json_put_u64(j, "count", h->holders[i].count);
        json_put_u64(j, "retained", h->holders[i].retained);
        json_end_object(j);
    }
    json_end_array(j);
}

int heap_report_json(const heap *h, const heap_report_options *o, json *j, error *e)
{
    uint32_t *sorted = sorted_types(h, o);
    int code;

    if (sorted == NULL)
        return no_memory(e);
    if (heap_report_check_type(h, o, e) != 0) {
        memory_free(sorted);
        return e->code;
    }
    json_put_u64(j, "objects", h->objects);
    json_put_u64(j, "bytes", h->bytes);
    json_put_u64(j, "references", h->references);
    json_put_bool(j, "quick", heap_is_quick(h));
    json_put_bool(j, "collected",
                  !heap_is_quick(h) || (h->snapshot->flags & RECORDING_HEAP_COLLECTED) != 0);
    json_put_u64(j, "unknown_references", h->unknown_references);
    json_put_u64(j, "unreachable", h->unreachable);
    json_put_u64(j, "unreachable_bytes", h->unreachable_bytes);
    json_put_u64(j, "walk_ns", h->snapshot->walk_ns);
    json_put_u64(j, "session_ns", h->snapshot->session_ns);
    json_generations(h->in_generation, j);
    json_types(h, o, sorted, j);
    memory_free(sorted);
    json_roots(h, o, j);
    code = heap_report_strings_json(h, o, j, e);
    if (code == 0)
        code = heap_report_waste_json(h, o, j, e);
    if (code != 0)
        return code;
    if (o->group != HEAP_GROUP_NONE)
        code = heap_report_groups_json(h, o, j, e);
    if (code == 0 && o->objects)
        code = heap_report_objects_json(h, o, j, e);
    return code == 0 && o->paths ? heap_report_paths_json(h, o, j, e) : code;
}
