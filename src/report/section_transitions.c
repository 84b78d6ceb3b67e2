/* section_transitions: calls between managed and native code, in words and as data. */
#include <string.h>

#include "report/section.h"

enum { TOP_METHODS = 30, DIRECTIONS = 2 };

typedef struct {
    groups_list methods[DIRECTIONS]; /* key: method; sum: ns */
    uint64_t total[DIRECTIONS];
    uint64_t spent_ns[DIRECTIONS];
} transitions;

static const char *const TITLES[DIRECTIONS] = {"Native functions that were called",
                                               "Called by native code"};
static const char *const KEYS[DIRECTIONS] = {"to_native", "to_managed"};

static void release(transitions *x)
{
    for (size_t i = 0; i < DIRECTIONS; i++)
        groups_free(&x->methods[i]);
}

static int summarise(const section *s, transitions *x)
{
    const model_column *methods = groups_column(s->m, s->table, "method", RECORDING_METHOD_ID);
    const model_column *directions = groups_column(s->m, s->table, "direction", RECORDING_U64);
    const model_column *counts = groups_column(s->m, s->table, "count", RECORDING_U64);
    const model_column *weights = groups_column(s->m, s->table, "weight", RECORDING_DURATION);

    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < s->table->rows; i++) {
        size_t direction = groups_cell(directions, i, 0) != 0;
        uint64_t count = groups_cell(counts, i, 0);
        uint64_t weight = groups_cell(weights, i, 0);

        if (!groups_add(&x->methods[direction], (uint32_t)groups_cell(methods, i, 0), 0, 0, count,
                        weight)) {
            release(x);
            return error_set(s->e, ERROR_MEMORY, "no memory to count the calls");
        }
        x->total[direction] += count;
        x->spent_ns[direction] += weight;
    }
    for (size_t i = 0; i < DIRECTIONS; i++)
        groups_sort(&x->methods[i]);
    return 0;
}

static const char *method_name(const section *s, uint32_t method)
{
    return method == 0 ? "(through function pointers)"
                       : model_text(s->m, s->process->methods[method].name);
}

static void put_direction(const section *s, const transitions *x, size_t direction)
{
    const groups_list *methods = &x->methods[direction];

    if (methods->count == 0)
        return;
    sink_format(s->out, "### %s\n\n| calls | time | per call | function |\n|---:|---:|---:|---|\n",
                TITLES[direction]);
    for (size_t i = 0; i < methods->count && i < section_top(s, TOP_METHODS); i++) {
        const groups_item *item = &methods->items[i];
        char sum[REPORT_AMOUNT_SIZE];
        char each[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %llu | %s | %s | ", (unsigned long long)item->count,
                    report_amount(item->sum, "ns", sum),
                    report_amount(item->count == 0 ? 0 : item->sum / item->count, "ns", each));
        markdown_cell(s->out, method_name(s, item->key[0]));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

int section_transitions_markdown(const section *s)
{
    char native[REPORT_AMOUNT_SIZE];
    char managed[REPORT_AMOUNT_SIZE];
    transitions x;
    int code = summarise(s, &x);

    if (code != 0)
        return code;
    sink_format(
        s->out,
        "## Managed and native code\n\n%llu calls into native code took %s; %llu calls from "
        "native code took %s. Times are without calls the other way inside of them.\n\n",
        (unsigned long long)x.total[0], report_amount(x.spent_ns[0], "ns", native),
        (unsigned long long)x.total[1], report_amount(x.spent_ns[1], "ns", managed));
    for (size_t i = 0; i < DIRECTIONS; i++)
        put_direction(s, &x, i);
    release(&x);
    return 0;
}

int section_transitions_json(const section *s, json *j)
{
    transitions x;
    int code = summarise(s, &x);

    if (code != 0)
        return code;
    for (size_t k = 0; k < DIRECTIONS; k++) {
        json_begin_array_at(j, KEYS[k]);
        for (size_t i = 0; i < x.methods[k].count && i < section_top(s, 1000); i++) {
            const groups_item *item = &x.methods[k].items[i];

            json_begin_object(j);
            json_put_text(j, "function", method_name(s, item->key[0]));
            json_put_u64(j, "count", item->count);
            json_put_u64(j, "spent_ns", item->sum);
            json_end_object(j);
        }
        json_end_array(j);
    }
    release(&x);
    return 0;
}
