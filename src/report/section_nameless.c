/*
 * section_nameless: for whom native code without names works. The runtime's library has hardly any
 * symbols, so half of a program's time may stand under one frame, "[libcoreclr.so]". What can be
 * told is what it was called for: the innermost frame outside of it that is a method or the
 * runtime's own work (compiling, loading types, collecting).
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "report/section.h"

/* A share of the profile below which nobody asks. */
enum { TOP_CALLERS = 12, LEAST_PERCENT = 5 };

typedef struct {
    uint32_t code;   /* function: the library */
    uint32_t caller; /* function; 0 = native threads and frames only */
    uint64_t self;
} nameless;

typedef struct {
    nameless *items;
    size_t count;
    uint64_t self; /* of all */
} nameless_list;

static uint32_t caller_of(const view *v, uint32_t node)
{
    const calltree *tree = &v->functions;

    while (node != 0 && v->process->functions[tree->keys[node]].kind == RECORDING_FRAME_NATIVE)
        node = tree->parents[node];
    return node != 0 ? tree->keys[node] : 0;
}

static int heaviest_first(const void *left, const void *right)
{
    const nameless *a = left, *b = right;

    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    return (a->caller > b->caller) - (a->caller < b->caller);
}

static int count_nameless(const section *s, const view *v, nameless_list *list)
{
    const calltree *tree = &v->functions;
    table_u64 places; /* code and caller to the item's number from 1 */
    size_t capacity = 0;
    int code = 0;

    *list = (nameless_list){NULL, 0, 0};
    table_u64_init(&places);
    for (uint32_t node = 1; code == 0 && node < tree->count; node++) {
        uint32_t key = tree->keys[node], caller;
        uint64_t *place;

        if (tree->self[node] == 0 || !v->process->functions[key].nameless)
            continue;
        caller = caller_of(v, node);
        place = table_u64_at(&places, (uint64_t)key << 32 | caller, 0);
        if (place == NULL || (*place == 0 && !array_reserve(&list->items, &capacity,
                                                            list->count + 1, sizeof(nameless)))) {
            code = error_set(s->e, ERROR_MEMORY, "no memory for the report");
            continue;
        }
        if (*place == 0) {
            list->items[list->count++] = (nameless){key, caller, 0};
            *place = list->count;
        }
        list->items[*place - 1].self += tree->self[node]; /* NOLINT: there is room */
        list->self += tree->self[node];
    }
    table_u64_free(&places);
    if (list->count != 0)
        qsort(list->items, list->count, sizeof *list->items, heaviest_first);
    return code;
}

static const char *caller_name(const view *v, uint32_t caller)
{
    return caller != 0 ? view_function_name(v, caller) : "(native only)";
}

int section_nameless_markdown(const section *s, const view *v)
{
    size_t top = section_top(s, TOP_CALLERS);
    char amount[REPORT_AMOUNT_SIZE];
    nameless_list list;
    int code = count_nameless(s, v, &list);

    if (code == 0 && report_percent(list.self, v->total.weight) >= LEAST_PERCENT) {
        sink_text(s->out, "### Native code without names, by what it works for\n\n"
                          "| self | self % | code | works for |\n|---:|---:|---|---|\n");
        for (size_t i = 0; i < list.count && i < top; i++) {
            sink_format(s->out, "| %s | %.1f | ",
                        report_amount(list.items[i].self, v->profile.unit, amount),
                        report_percent(list.items[i].self, v->total.weight));
            markdown_cell(s->out, view_function_name(v, list.items[i].code));
            sink_text(s->out, " | ");
            markdown_cell(s->out, caller_name(v, list.items[i].caller));
            sink_text(s->out, " |\n");
        }
        if (list.count > top)
            sink_format(s->out, "\n%zu more.\n", list.count - top);
        sink_char(s->out, '\n');
    }
    memory_free(list.items);
    return code;
}

int section_nameless_json(const section *s, const view *v, json *j)
{
    nameless_list list;
    int code = count_nameless(s, v, &list);

    if (code == 0 && list.count != 0) {
        json_begin_array_at(j, "nameless");
        for (size_t i = 0; i < list.count && i < section_top(s, 1000); i++) {
            json_begin_object(j);
            json_put_text(j, "code", view_function_name(v, list.items[i].code));
            json_put_text(j, "works_for", caller_name(v, list.items[i].caller));
            json_put_u64(j, "self", list.items[i].self);
            json_put_f64(j, "self_percent", report_percent(list.items[i].self, v->total.weight));
            json_end_object(j);
        }
        json_end_array(j);
    }
    memory_free(list.items);
    return code;
}
