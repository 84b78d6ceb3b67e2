/* section_allocations: what was allocated and where, and what of it is alive at the end, in words
 * and as data. */
#include <math.h>

#include "analysis/allocations.h"
#include "report/section.h"

enum { TOP_TYPES = 20, TOP_PLACES = 10, STACK_FRAMES = 12 };

static const char *type_name(const section *s, uint32_t type)
{
    const char *name = model_text(s->m, type);

    return name[0] == '\0' ? "(type not known)" : name;
}

static uint64_t per_second(const allocations *x)
{
    return x->watched_ns == 0 ? 0 : (uint64_t)((double)x->all.bytes * 1e9 / (double)x->watched_ns);
}

/* " ± 12 %", "" for what is exact. */
static void put_error(const section *s, const allocations_group *group)
{
    if (group->variance > 0)
        sink_format(s->out, " ± %.*f %%", allocations_error_percent(group) < 10 ? 1 : 0,
                    allocations_error_percent(group));
}

static void put_types(const section *s, const allocations *x)
{
    sink_text(s->out, "| bytes | % | objects | type |\n|---:|---:|---:|---|\n");
    for (size_t i = 0; i < x->types.count && i < section_top(s, TOP_TYPES); i++) {
        const allocations_group *type = &x->types.items[i];
        char bytes[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s", report_amount(type->bytes, "bytes", bytes));
        put_error(s, type);
        sink_format(s->out, " | %.1f | %.0f | ", report_percent(type->bytes, x->all.bytes),
                    type->objects);
        markdown_cell(s->out, type_name(s, type->type));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

static void put_places(const section *s, const allocations *x, const char *title)
{
    sink_format(s->out, "### %s\n\n", title);
    for (size_t i = 0; i < x->places.count && i < section_top(s, TOP_PLACES); i++) {
        const allocations_group *place = &x->places.items[i];
        char bytes[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "%s", report_amount(place->bytes, "bytes", bytes));
        put_error(s, place);
        sink_text(s->out, " of ");
        markdown_code(s->out, type_name(s, place->type));
        sink_text(s->out, "\n\n");
        markdown_stack(s->out, s->m, s->process, place->stack, STACK_FRAMES);
        sink_char(s->out, '\n');
    }
}

int section_allocations_markdown(const section *s)
{
    char bytes[REPORT_AMOUNT_SIZE];
    char rate[REPORT_AMOUNT_SIZE];
    allocations x;
    int code = allocations_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_format(s->out, "## Allocations\n\n%s%s, %s a second", x.exact != 0 ? "" : "About ",
                report_amount(x.all.bytes, "bytes", bytes),
                report_amount(per_second(&x), "bytes", rate));
    if (x.large.rows != 0)
        sink_format(s->out, "; of it %llu large objects with %s, counted exactly",
                    (unsigned long long)x.large.rows, report_amount(x.large.bytes, "bytes", bytes));
    if (x.exact != 0)
        sink_text(s->out, ". Every object was counted");
    else
        sink_format(s->out,
                    ". %s estimated from samples; ± is how far off an estimate is at most, 19 "
                    "times of 20",
                    x.large.rows != 0 ? "The rest is" : "That is");
    if (x.ticks != 0)
        sink_text(s->out, ", and more where a type comes in step with the runtime's ticks (before "
                          ".NET 10)");
    sink_text(s->out, ".\n\n");
    if (x.all.rows != 0) {
        put_types(s, &x);
        put_places(s, &x, "Allocated at");
    }
    allocations_free(&x);
    return 0;
}

/* What was allocated in all, 0 when that is not known. */
static uint64_t bytes_in_all(const section *s)
{
    const model_table *table = model_find_table(s->m, s->process, "allocations", "allocations");
    const model_column *bytes =
        table == NULL ? NULL : groups_column(s->m, table, "bytes", RECORDING_U64);
    uint64_t sum = 0;

    for (size_t i = 0; table != NULL && i < table->rows; i++)
        sum += groups_cell(bytes, i, 0);
    return sum;
}

int section_live_markdown(const section *s)
{
    char bytes[REPORT_AMOUNT_SIZE];
    allocations x;
    int code = allocations_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_text(s->out, "## Alive at the end\n\n");
    if (x.all.rows == 0) {
        sink_text(s->out, "Nothing of what was sampled is alive after a full collection.\n\n");
    } else {
        sink_format(s->out,
                    "About %s of what was allocated, %.1f %%, is alive after a full collection "
                    "(%llu of the sampled objects). What is there to stay, and what leaks, is "
                    "among it.\n\n",
                    report_amount(x.all.bytes, "bytes", bytes),
                    report_percent(x.all.bytes, bytes_in_all(s)), (unsigned long long)x.all.rows);
        put_types(s, &x);
        put_places(s, &x, "Alive, allocated at");
    }
    allocations_free(&x);
    return 0;
}

static void json_group(json *j, const allocations_group *group)
{
    json_put_u64(j, "bytes", group->bytes);
    json_put_u64(j, "objects", (uint64_t)llround(group->objects));
    json_put_u64(j, "rows", group->rows);
    json_put_f64(j, "error_percent", allocations_error_percent(group));
}

static void json_groups(const section *s, const allocations *x, json *j)
{
    json_begin_array_at(j, "types");
    for (size_t i = 0; i < x->types.count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_put_text(j, "type", model_text(s->m, x->types.items[i].type));
        json_group(j, &x->types.items[i]);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_array_at(j, "places");
    for (size_t i = 0; i < x->places.count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_put_text(j, "type", model_text(s->m, x->places.items[i].type));
        json_group(j, &x->places.items[i]);
        json_key(j, "stack");
        json_stack(j, s->m, s->process, x->places.items[i].stack, MODEL_MAXIMUM_DEPTH);
        json_end_object(j);
    }
    json_end_array(j);
}

int section_live_json(const section *s, json *j)
{
    allocations x;
    int code = allocations_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_begin_object_at(j, "all");
    json_group(j, &x.all);
    json_end_object(j);
    json_groups(s, &x, j);
    allocations_free(&x);
    return 0;
}

int section_allocations_json(const section *s, json *j)
{
    allocations x;
    int code = allocations_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "watched_ns", x.watched_ns);
    json_put_u64(j, "bytes_per_second", per_second(&x));
    json_put_text(j, "sampling", x.exact != 0 ? "every object" : x.ticks != 0 ? "ticks" : "random");
    json_begin_object_at(j, "all");
    json_group(j, &x.all);
    json_end_object(j);
    json_begin_object_at(j, "large");
    json_group(j, &x.large);
    json_end_object(j);
    json_groups(s, &x, j);
    allocations_free(&x);
    return 0;
}
