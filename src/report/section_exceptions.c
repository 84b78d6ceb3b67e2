/* section_exceptions: what was thrown, in words and as data. */
#include <stdio.h>
#include <string.h>

#include "analysis/exceptions.h"
#include "report/section.h"

enum { TOP_TYPES = 20, TOP_PLACES = 10, TOP_MESSAGES = 10, STACK_FRAMES = 12, MESSAGE_BYTES = 160 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static const char *method_name(const section *s, uint32_t method)
{
    return model_text(s->m, s->process->methods[method].name);
}

static void put_types(const section *s, const exceptions *x)
{
    sink_text(s->out, "| count | % | type | first | last |\n|---:|---:|---|---:|---:|\n");
    for (size_t i = 0; i < smaller(x->types.count, section_top(s, TOP_TYPES)); i++) {
        const exceptions_group *type = &x->types.items[i];
        char first[REPORT_AMOUNT_SIZE];
        char last[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %llu | %.1f | ", (unsigned long long)type->count,
                    report_percent(type->count, x->total));
        markdown_cell(s->out, model_text(s->m, type->type));
        sink_format(s->out, " | %s | %s |\n", report_amount(type->first, "ns", first),
                    report_amount(type->last, "ns", last));
    }
    sink_char(s->out, '\n');
}

/* Long ones are shortened: a table has to be read. The JSON report has them whole. */
static void put_message(const section *s, const exceptions_group *group)
{
    const char *text = model_text(s->m, group->message);
    size_t length = strlen(text);
    char shown[MESSAGE_BYTES + 4];

    if (group->only_counted) {
        sink_text(s->out, "(only counted, not known)");
        return;
    }
    if (length <= MESSAGE_BYTES && !group->message_is_cut) {
        markdown_cell(s->out, text);
        return;
    }
    length = smaller(length, MESSAGE_BYTES);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* not inside a character */
    snprintf(shown, sizeof shown, "%.*s…", (int)length, text);
    markdown_cell(s->out, shown);
}

static void put_messages(const section *s, const exceptions *x)
{
    sink_text(s->out, "### Messages\n\n| count | type | message |\n|---:|---|---|\n");
    for (size_t i = 0; i < smaller(x->messages.count, section_top(s, TOP_MESSAGES)); i++) {
        const exceptions_group *message = &x->messages.items[i];

        sink_format(s->out, "| %llu | ", (unsigned long long)message->count);
        markdown_cell(s->out, model_text(s->m, message->type));
        sink_text(s->out, " | ");
        put_message(s, message);
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

static void put_fate(const section *s, const exceptions_group *place)
{
    if (place->caught_in != 0) {
        sink_text(s->out, ", caught in ");
        markdown_code(s->out, method_name(s, place->caught_in));
    } else if (place->fate == EXCEPTIONS_CAUGHT) {
        sink_text(s->out, ", caught in a method whose name is not known");
    } else if (place->fate == EXCEPTIONS_UNCAUGHT) {
        sink_text(s->out, ", **not caught**: it ended the program");
    } else if (place->fate == EXCEPTIONS_REPLACED) {
        sink_text(s->out, ", not caught: another one was thrown on its way and took its place");
    } else if (place->fate == EXCEPTIONS_RUNTIME) {
        sink_text(s->out, ", taken by the runtime itself, which goes on with it or with another");
    } else if (place->stack != 0) {
        sink_text(s->out, ", where it was caught is not known");
    }
}

/* The length of the next line of `text`. */
static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

static void put_inner(const section *s, const char *text)
{
    char line[1200];

    while (*text != '\0') {
        size_t length = line_length(text);

        snprintf(line, sizeof line, "%.*s", (int)smaller(length, sizeof line - 1), text);
        sink_text(s->out, "inner exception ");
        markdown_code(s->out, line);
        sink_text(s->out, "\n\n");
        text += length + (text[length] == '\n');
    }
}

/* As an array of type and message, outermost first. */
static void json_inner(json *j, const char *text)
{
    char line[1200];

    json_begin_array_at(j, "inner");
    while (*text != '\0') {
        size_t length = line_length(text);
        char *colon;

        snprintf(line, sizeof line, "%.*s", (int)smaller(length, sizeof line - 1), text);
        colon = strstr(line, ": ");
        if (colon != NULL)
            *colon = '\0';
        json_begin_object(j);
        json_put_text(j, "type", line);
        json_put_text(j, "message", colon == NULL ? "" : colon + 2);
        json_end_object(j);
        text += length + (text[length] == '\n');
    }
    json_end_array(j);
}

static void put_places(const section *s, const exceptions *x)
{
    sink_text(s->out, "### Thrown at\n\n");
    for (size_t i = 0; i < smaller(x->places.count, section_top(s, TOP_PLACES)); i++) {
        const exceptions_group *place = &x->places.items[i];

        sink_format(s->out, "%llu %s ", (unsigned long long)place->count,
                    place->count == 1 ? "time" : "times");
        markdown_code(s->out, model_text(s->m, place->type));
        put_fate(s, place);
        if (place->stack == 0) {
            sink_text(s->out, ", counted without message and stack: more came than "
                              "exceptions.stacks and exceptions.distinct allow, or than the agent "
                              "could keep (see Losses)\n\n");
            continue;
        }
        sink_text(s->out, "\n\n");
        put_inner(s, model_text(s->m, place->inner));
        markdown_stack(s->out, s->m, s->process, place->stack, STACK_FRAMES);
        sink_char(s->out, '\n');
    }
    if (x->places.count > section_top(s, TOP_PLACES))
        sink_format(s->out, "… %zu more (--top shows them)\n\n",
                    x->places.count - section_top(s, TOP_PLACES));
}

/* Different stacks; what was only counted is no place. */
static size_t known_places(const exceptions *x)
{
    size_t count = 0;

    for (size_t i = 0; i < x->places.count; i++)
        if (x->places.items[i].stack != 0)
            count++;
    return count;
}

static void put_rate(const section *s, const exceptions *x)
{
    char length[REPORT_AMOUNT_SIZE];

    sink_format(s->out, "### Over time\n\nCount in every %s:\n\n    ",
                report_amount(x->bucket_ns, "ns", length));
    for (size_t i = 0; i < x->bucket_count; i++)
        sink_format(s->out, "%s%llu", i == 0 ? "" : " ", (unsigned long long)x->buckets[i]);
    sink_text(s->out, "\n\n");
}

int section_exceptions_markdown(const section *s)
{
    exceptions x;
    int code = exceptions_summarise(s->m, s->process, s->table, &x, s->e);
    size_t places;

    if (code != 0)
        return code;
    places = known_places(&x);
    sink_format(s->out, "## Exceptions\n\n%llu thrown, of %zu type%s, at %zu place%s.\n\n",
                (unsigned long long)x.total, x.types.count, x.types.count == 1 ? "" : "s", places,
                places == 1 ? "" : "s");
    if (x.total != 0) {
        put_types(s, &x);
        put_messages(s, &x);
        put_places(s, &x);
        put_rate(s, &x);
    }
    exceptions_free(&x);
    return 0;
}

static void json_groups(const section *s, json *j, const char *key, const exceptions_groups *groups,
                        bool messages, bool stacks)
{
    json_begin_array_at(j, key);
    for (size_t i = 0; i < smaller(groups->count, section_top(s, 1000)); i++) {
        const exceptions_group *group = &groups->items[i];

        json_begin_object(j);
        json_put_text(j, "type", model_text(s->m, group->type));
        json_put_u64(j, "count", group->count);
        json_put_u64(j, "first_ns", group->first);
        json_put_u64(j, "last_ns", group->last);
        if (messages)
            json_put_text(j, "message", model_text(s->m, group->message));
        if (messages && group->message_is_cut)
            json_put_bool(j, "message_cut", true);
        if (messages && group->only_counted)
            json_put_bool(j, "only_counted", true);
        if (stacks) {
            if (group->caught_in != 0)
                json_put_text(j, "caught_in", method_name(s, group->caught_in));
            if (group->stack != 0)
                json_put_text(j, "fate", exceptions_fate_name(group->fate));
            json_inner(j, model_text(s->m, group->inner));
            json_key(j, "stack");
            json_stack(j, s->m, s->process, group->stack, MODEL_MAXIMUM_DEPTH);
        }
        json_end_object(j);
    }
    json_end_array(j);
}

int section_exceptions_json(const section *s, json *j)
{
    exceptions x;
    int code = exceptions_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "total", x.total);
    json_groups(s, j, "types", &x.types, false, false);
    json_groups(s, j, "messages", &x.messages, true, false);
    json_groups(s, j, "places", &x.places, true, true);
    json_begin_object_at(j, "rate");
    json_put_u64(j, "bucket_ns", x.bucket_ns);
    json_begin_array_at(j, "counts");
    for (size_t i = 0; i < x.bucket_count; i++)
        json_u64(j, x.buckets[i]);
    json_end_array(j);
    json_end_object(j);
    exceptions_free(&x);
    return 0;
}
