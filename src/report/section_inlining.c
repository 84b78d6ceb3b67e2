/* section_inlining: calls that the compiler did not inline, by its reason and by the method called,
 * in words and as data. */
#include <string.h>

#include "base/text.h"
#include "report/section.h"

enum { TOP_METHODS = 30 };

typedef struct {
    groups_list reasons; /* key: reason */
    groups_list methods; /* key: method called, reason */
    uint64_t total;
} inlining;

/* Of a call through a pointer the compiler knows no method. */
static const char *method_name(const section *s, uint32_t method)
{
    const char *name = model_text(s->m, method);

    return text_equal(name, "<null>.<null>") ? "(call through a pointer)" : name;
}

static void release(inlining *x)
{
    groups_free(&x->reasons);
    groups_free(&x->methods);
}

static int summarise(const section *s, inlining *x)
{
    const model_column *methods = groups_column(s->m, s->table, "method", RECORDING_STRING_ID);
    const model_column *reasons = groups_column(s->m, s->table, "reason", RECORDING_STRING_ID);

    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < s->table->rows; i++) {
        uint32_t reason = (uint32_t)groups_cell(reasons, i, 0);
        uint32_t method = (uint32_t)groups_cell(methods, i, 0);

        if (!groups_add(&x->reasons, reason, 0, 0, 1, 0) ||
            !groups_add(&x->methods, method, reason, 0, 1, 0)) {
            release(x);
            return error_set(s->e, ERROR_MEMORY, "no memory to count the calls");
        }
        x->total++;
    }
    groups_sort_by_count(&x->reasons);
    groups_sort_by_count(&x->methods);
    return 0;
}

int section_inlining_markdown(const section *s)
{
    inlining x;
    int code = summarise(s, &x);

    if (code != 0)
        return code;
    sink_format(s->out,
                "## Not inlined\n\n%llu calls were not inlined where they were compiled.\n\n",
                (unsigned long long)x.total);
    if (x.total != 0)
        sink_text(s->out, "| calls | reason |\n|---:|---|\n");
    for (size_t i = 0; i < x.reasons.count && i < section_top(s, TOP_METHODS); i++) {
        sink_format(s->out, "| %llu | ", (unsigned long long)x.reasons.items[i].count);
        markdown_text(s->out, model_text(s->m, x.reasons.items[i].key[0]));
        sink_text(s->out, " |\n");
    }
    if (x.total != 0)
        sink_text(s->out, "\n| calls | method | reason |\n|---:|---|---|\n");
    for (size_t i = 0; i < x.methods.count && i < section_top(s, TOP_METHODS); i++) {
        sink_format(s->out, "| %llu | ", (unsigned long long)x.methods.items[i].count);
        markdown_cell(s->out, method_name(s, x.methods.items[i].key[0]));
        sink_text(s->out, " | ");
        markdown_text(s->out, model_text(s->m, x.methods.items[i].key[1]));
        sink_text(s->out, " |\n");
    }
    if (x.total != 0)
        sink_char(s->out, '\n');
    release(&x);
    return 0;
}

int section_inlining_json(const section *s, json *j)
{
    inlining x;
    int code = summarise(s, &x);

    if (code != 0)
        return code;
    json_put_u64(j, "total", x.total);
    json_begin_array_at(j, "reasons");
    for (size_t i = 0; i < x.reasons.count; i++) {
        json_begin_object(j);
        json_put_text(j, "reason", model_text(s->m, x.reasons.items[i].key[0]));
        json_put_u64(j, "count", x.reasons.items[i].count);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_array_at(j, "methods");
    for (size_t i = 0; i < x.methods.count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_put_text(j, "method", method_name(s, x.methods.items[i].key[0]));
        json_put_text(j, "reason", model_text(s->m, x.methods.items[i].key[1]));
        json_put_u64(j, "count", x.methods.items[i].count);
        json_end_object(j);
    }
    json_end_array(j);
    release(&x);
    return 0;
}
