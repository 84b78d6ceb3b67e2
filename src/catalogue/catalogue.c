/* catalogue: finding, choosing and checking. See catalogue.h. */
#include "catalogue/catalogue.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

static const uint64_t MICROSECOND = 1000, MILLISECOND = 1000000, SECOND = 1000000000;

const catalogue_profiler *catalogue_find(const char *name)
{
    for (const catalogue_profiler *p = CATALOGUE; p->name != NULL; p++)
        if (text_equal(p->name, name))
            return p;
    return NULL;
}

static int find_parameter(const catalogue_profiler *p, const char *name)
{
    if (p->parameters == NULL)
        return -1;
    for (int i = 0; p->parameters[i].name != NULL; i++)
        if (text_equal(p->parameters[i].name, name))
            return i;
    return -1;
}

static void list_profilers(buffer *out)
{
    for (const catalogue_profiler *p = CATALOGUE; p->name != NULL; p++)
        buffer_format(out, "%s%s", p == CATALOGUE ? "" : ", ", p->name);
}

static void list_parameters(const catalogue_profiler *p, buffer *out)
{
    for (size_t i = 0; p->parameters != NULL && p->parameters[i].name != NULL; i++)
        buffer_format(out, "%s%s", i == 0 ? "" : ", ", p->parameters[i].name);
    if (p->parameters == NULL)
        buffer_append_text(out, "none");
}

static int parse_value(const catalogue_parameter *parameter, const char *text,
                       catalogue_value *value, error *e);

int catalogue_add(catalogue_selection *s, const char *name, error *e)
{
    const catalogue_profiler *p = catalogue_find(name);
    catalogue_selected *item;

    if (p == NULL) {
        char room[256];
        buffer list;

        buffer_fix(&list, room, sizeof room);
        list_profilers(&list);
        error_set(e, ERROR_USAGE, "there is no profiler '%.64s'", name);
        return error_advise(e, "the profilers are: %s (`clarinet profilers` tells more)",
                            buffer_text(&list)),
               ERROR_USAGE;
    }
    if (catalogue_selected_by_name(s, name) != NULL) {
        error_set(e, ERROR_USAGE, "the profiler '%s' is named twice", name);
        return error_advise(e, "name it once; its parameters are set with --set %s.NAME=VALUE",
                            name),
               ERROR_USAGE;
    }
    if (s->count == CATALOGUE_MAX_SELECTED)
        return error_set(e, ERROR_USAGE, "more than %d profilers in one recording",
                         CATALOGUE_MAX_SELECTED);
    item = &s->items[s->count];
    memset(item, 0, sizeof *item);
    item->profiler = p;
    for (size_t i = 0; p->parameters != NULL && p->parameters[i].name != NULL; i++) {
        int code = parse_value(&p->parameters[i], p->parameters[i].initial, &item->values[i], e);

        if (code != 0)
            return code;
    }
    s->count++;
    return 0;
}

int catalogue_add_list(catalogue_selection *s, const char *names, error *e)
{
    const char *whole = names;
    bool more = *names != '\0';

    while (more) {
        size_t length = strcspn(names, ",");
        char name[64];
        int code;

        if (length == 0) {
            error_set(e, ERROR_USAGE, "a name is missing between the commas of '%.64s'", whole);
            error_advise(e, "names are separated by one comma, as in cpu,exceptions");
            return ERROR_USAGE;
        }
        if (length >= sizeof name)
            return error_set(e, ERROR_USAGE, "a profiler's name is too long: %.64s…", names);
        memcpy(name, names, length);
        name[length] = '\0';
        code = catalogue_add(s, name, e);
        if (code != 0)
            return code;
        more = names[length] == ',';
        names += length + (more ? 1 : 0);
    }
    return 0;
}

catalogue_selected *catalogue_selected_by_name(catalogue_selection *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (text_equal(s->items[i].profiler->name, name))
            return &s->items[i];
    return NULL;
}

int catalogue_set(catalogue_selection *s, const char *profiler, const char *parameter,
                  const char *value, error *e)
{
    catalogue_selected *item = catalogue_selected_by_name(s, profiler);
    int index;

    if (item == NULL) {
        if (catalogue_find(profiler) != NULL) {
            error_set(e, ERROR_USAGE, "%s.%.64s is set, but the profiler '%s' is not chosen",
                      profiler, parameter, profiler);
            return error_advise(e, "add it with -p %s", profiler), ERROR_USAGE;
        }
        return catalogue_add(s, profiler, e) == 0 ? ERROR_BUG : ERROR_USAGE;
    }
    index = find_parameter(item->profiler, parameter);
    if (index < 0) {
        char room[256];
        buffer list;

        buffer_fix(&list, room, sizeof room);
        list_parameters(item->profiler, &list);
        error_set(e, ERROR_USAGE, "the profiler '%s' has no parameter '%.64s'", profiler,
                  parameter);
        return error_advise(e, "its parameters are: %s", buffer_text(&list)), ERROR_USAGE;
    }
    if (parse_value(&item->profiler->parameters[index], value, &item->values[index], e) != 0)
        return error_prefix(e, "%s.%s", profiler, parameter), ERROR_USAGE;
    return 0;
}

int catalogue_set_text(catalogue_selection *s, const char *setting, error *e)
{
    const char *dot = strchr(setting, '.');
    const char *equals = dot == NULL ? NULL : strchr(dot, '=');
    char profiler[64];
    char parameter[64];

    if (equals == NULL || dot - setting >= 64 || equals - dot - 1 >= 64) {
        error_set(e, ERROR_USAGE, "'%.128s' is not a setting", setting);
        return error_advise(e, "write PROFILER.PARAMETER=VALUE, as in exceptions.stacks=50"),
               ERROR_USAGE;
    }
    memcpy(profiler, setting, (size_t)(dot - setting));
    profiler[dot - setting] = '\0';
    memcpy(parameter, dot + 1, (size_t)(equals - dot - 1));
    parameter[equals - dot - 1] = '\0';
    return catalogue_set(s, profiler, parameter, equals + 1, e);
}

int catalogue_check_attach(const catalogue_selection *s, error *e)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->items[i].profiler->name;
        bool exact = catalogue_number(&s->items[i], "exact") != 0;

        if ((s->items[i].profiler->where & CATALOGUE_ATTACH) != 0 && !exact)
            continue;
        error_set(e, ERROR_UNSUPPORTED, "%s%s works only in a program that clarinet starts", name,
                  exact ? ".exact=true" : "");
        error_advise(e, "`clarinet record -p %s%s%s -- COMMAND…`%s", name,
                     exact ? " --set allocations.exact=true" : "", "",
                     exact ? "; on a running one, leave exact out: it samples" : "");
        return ERROR_UNSUPPORTED;
    }
    return 0;
}

uint64_t catalogue_number(const catalogue_selected *item, const char *parameter)
{
    int index = find_parameter(item->profiler, parameter);

    return index < 0 ? 0 : item->values[index].number;
}

const char *catalogue_text(const catalogue_selected *item, const char *parameter)
{
    int index = find_parameter(item->profiler, parameter);

    return index < 0 ? "" : item->values[index].text;
}

const char *catalogue_type_name(catalogue_type type)
{
    static const char NAMES[][9] = {"number", "boolean", "duration", "size", "choice", "text"};

    return (unsigned)type < sizeof NAMES / sizeof *NAMES ? NAMES[type] : "unknown";
}

/* Reads digits with up to 9 after a point, times `unit`; moves *text behind them. */
static bool take_decimal(const char **text, uint64_t unit, uint64_t *value)
{
    const char *p = *text;
    uint64_t whole = 0;
    uint64_t part = 0;
    uint64_t scale = 1;
    bool any = false;

    for (; *p >= '0' && *p <= '9'; p++, any = true) {
        if (whole > (UINT64_MAX - 9) / 10)
            return false;
        whole = whole * 10 + (uint64_t)(*p - '0');
    }
    if (*p == '.' && any)
        for (p++; *p >= '0' && *p <= '9' && scale < 1000000000; p++, scale *= 10)
            part = part * 10 + (uint64_t)(*p - '0');
    if (!any || whole > UINT64_MAX / 2 / unit)
        return false;
    *text = p;
    /* unit / scale first where that is exact, so that the product cannot overflow */
    *value = whole * unit + (unit % scale == 0 ? unit / scale * part : unit * part / scale);
    return true;
}

int catalogue_parse_duration(const char *text, uint64_t *nanoseconds, error *e)
{
    static const struct {
        char name[8];
        uint64_t unit;
    } UNITS[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                 {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    const char *p = text;
    uint64_t total = 0;

    do {
        const char *start = p;
        const char *number = p;
        uint64_t unit = SECOND;
        uint64_t value;
        size_t letters;

        while ((*p >= '0' && *p <= '9') || *p == '.')
            p++;
        letters = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        if (letters != 0) {
            unit = 0;
            for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
                if (strlen(UNITS[i].name) == letters && memcmp(UNITS[i].name, p, letters) == 0)
                    unit = UNITS[i].unit;
        }
        if (unit == 0 || !take_decimal(&number, unit, &value) || number != p ||
            total > UINT64_MAX - value) {
            bool too_long = unit != 0 && number == start && *start >= '0' && *start <= '9';

            error_set(e, ERROR_USAGE, "'%.64s' is %s", text,
                      too_long ? "too long a duration" : "not a duration");
            return error_advise(e, "write it as 500ms, 30s, 5m or 1h%s",
                                too_long ? ", at most 2000000h" : ""),
                   ERROR_USAGE;
        }
        total += value;
        p += letters;
    } while (*p != '\0');
    *nanoseconds = total;
    return 0;
}

int catalogue_parse_size(const char *text, uint64_t *bytes, error *e)
{
    const char *p = text;
    const char *end = text + strspn(text, "0123456789.");
    uint64_t unit = 1;

    if (text_equal_ignoring_case(end, "k") || text_equal_ignoring_case(end, "kb"))
        unit = 1 << 10;
    else if (text_equal_ignoring_case(end, "m") || text_equal_ignoring_case(end, "mb"))
        unit = 1 << 20;
    else if (text_equal_ignoring_case(end, "g") || text_equal_ignoring_case(end, "gb"))
        unit = 1 << 30;
    else if (*end != '\0')
        unit = 0;
    if (unit == 0 || !take_decimal(&p, unit, bytes) || p != end) {
        error_set(e, ERROR_USAGE, "'%.64s' is not a size", text);
        return error_advise(e, "write it as 4096, 100K, 4M or 1G"), ERROR_USAGE;
    }
    return 0;
}

static bool parse_boolean(const char *text, uint64_t *value)
{
    static const char YES[][6] = {"true", "yes", "on", "1"};
    static const char NO[][6] = {"false", "no", "off", "0"};

    for (size_t i = 0; i < 4; i++) {
        if (text_equal_ignoring_case(text, YES[i]) || text_equal_ignoring_case(text, NO[i])) {
            *value = text_equal_ignoring_case(text, YES[i]) ? 1 : 0;
            return true;
        }
    }
    return false;
}

static bool parse_choice(const char *choices, const char *text, uint64_t *value)
{
    size_t length = strlen(text);

    for (uint64_t index = 0; *choices != '\0'; index++) {
        size_t one = strcspn(choices, "|");

        if (one == length && memcmp(choices, text, one) == 0) {
            *value = index;
            return true;
        }
        choices += one + (choices[one] == '|' ? 1 : 0);
    }
    return false;
}

static int check_range(const catalogue_parameter *parameter, uint64_t value, error *e)
{
    const char *unit = "";
    uint64_t scale = 1;

    if (value >= parameter->minimum && value <= parameter->maximum)
        return 0;
    if (parameter->type == CATALOGUE_DURATION) {
        scale = parameter->minimum % SECOND == 0        ? SECOND
                : parameter->minimum % MILLISECOND == 0 ? MILLISECOND
                                                        : MICROSECOND;
        unit = scale == SECOND ? "s" : scale == MILLISECOND ? "ms" : "us";
    }
    return error_set(e, ERROR_USAGE, "out of its range, which is %llu%s to %llu%s",
                     (unsigned long long)(parameter->minimum / scale), unit,
                     (unsigned long long)(parameter->maximum / scale), unit);
}

static int parse_value(const catalogue_parameter *parameter, const char *text,
                       catalogue_value *value, error *e)
{
    uint64_t number = 0;
    size_t length = strlen(text);

    if (length >= sizeof value->text)
        return error_set(e, ERROR_USAGE, "the value is longer than %zu bytes",
                         sizeof value->text - 1);
    switch (parameter->type) {
    case CATALOGUE_NUMBER:
        if (!text_to_u64(text, &number))
            return error_set(e, ERROR_USAGE, "'%s' is not a whole number", text);
        break;
    case CATALOGUE_DURATION:
        if (catalogue_parse_duration(text, &number, e) != 0)
            return ERROR_USAGE;
        break;
    case CATALOGUE_SIZE:
        if (catalogue_parse_size(text, &number, e) != 0)
            return ERROR_USAGE;
        break;
    case CATALOGUE_BOOLEAN:
        if (!parse_boolean(text, &number))
            return error_set(e, ERROR_USAGE, "'%s' is neither true nor false", text);
        break;
    case CATALOGUE_CHOICE:
        if (!parse_choice(parameter->choices, text, &number))
            return error_set(e, ERROR_USAGE, "'%s' is none of %s", text, parameter->choices);
        break;
    case CATALOGUE_TEXT:
        break;
    }
    if (parameter->type <= CATALOGUE_SIZE && parameter->type != CATALOGUE_BOOLEAN &&
        check_range(parameter, number, e) != 0)
        return ERROR_USAGE;
    value->number = number;
    memcpy(value->text, text, length + 1);
    return 0;
}
