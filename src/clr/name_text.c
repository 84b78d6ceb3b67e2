/*
 * name_text: the pure part of clarinet/names.h. A path is cut into segments at `+`; segments that
 * the compiler made (closures, state machines) vanish from method names and hand their type
 * arguments to the source method. No allocation but the output's; bounded by the path's length.
 */
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "clarinet/names.h"

/* A piece of somebody else's text. */
typedef struct {
    const char *begin;
    size_t length;
} span;

typedef struct {
    const char *const *items;
    size_t count;
    size_t used;
} arguments_left;

/* Texts and no pointers, which would need relocations: the library is copied at every attach. */
static const struct {
    char name[16];
    char keyword[8];
} KEYWORDS[] = {
    {"System.Boolean", "bool"},  {"System.Byte", "byte"},       {"System.SByte", "sbyte"},
    {"System.Char", "char"},     {"System.Decimal", "decimal"}, {"System.Double", "double"},
    {"System.Single", "float"},  {"System.Int32", "int"},       {"System.UInt32", "uint"},
    {"System.IntPtr", "nint"},   {"System.UIntPtr", "nuint"},   {"System.Int64", "long"},
    {"System.UInt64", "ulong"},  {"System.Int16", "short"},     {"System.UInt16", "ushort"},
    {"System.Object", "object"}, {"System.String", "string"},   {"System.Void", "void"},
};

static span span_of(const char *text)
{
    span s = {text, strlen(text)};

    return s;
}

static bool span_is(span s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.begin, text, s.length) == 0;
}

static bool span_starts(span s, const char *prefix)
{
    return s.length >= strlen(prefix) && memcmp(s.begin, prefix, strlen(prefix)) == 0;
}

static span span_from(span s, size_t offset)
{
    span rest = {s.begin + offset, s.length - offset};

    return rest;
}

static void append_span(clr_text *out, span s)
{
    buffer_append(out, s.begin, s.length);
}

/* Cuts the next segment off *rest. */
static span take_segment(span *rest)
{
    span segment = *rest;
    int depth = 0;

    for (size_t i = 0; i < rest->length; i++) {
        char c = rest->begin[i];

        depth += c == '<' ? 1 : c == '>' ? -1 : 0;
        if (c == '+' && depth <= 0) {
            segment.length = i;
            *rest = span_from(*rest, i + 1);
            return segment;
        }
    }
    *rest = span_from(*rest, rest->length);
    return segment;
}

/* Takes "`2" off the end of a segment. */
static size_t take_arity(span *segment)
{
    size_t i = segment->length;
    size_t arity = 0;
    size_t scale = 1;

    while (i > 0 && segment->begin[i - 1] >= '0' && segment->begin[i - 1] <= '9' && scale < 1000) {
        arity += (size_t)(segment->begin[i - 1] - '0') * scale;
        scale *= 10;
        i--;
    }
    if (scale == 1 || i == 0 || segment->begin[i - 1] != '`')
        return 0;
    segment->length = i - 1;
    return arity;
}

/* The length of "Name.Space." at the front of a path's first segment. */
static size_t namespace_length(span segment)
{
    size_t length = 0;

    for (size_t i = 0; i < segment.length && segment.begin[i] != '<'; i++) {
        if (segment.begin[i] == '.' && i + 1 < segment.length && segment.begin[i + 1] != '.')
            length = i + 1;
    }
    return length;
}

/* The offset after the `>` that closes the `<` at 0; 0 when there is none. */
static size_t bracket_end(span name)
{
    int depth = 0;

    for (size_t i = 0; i < name.length; i++) {
        depth += name.begin[i] == '<' ? 1 : name.begin[i] == '>' ? -1 : 0;
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

/* File-local types are "<File>F0123ABCD__Name" in metadata. */
static span without_file_prefix(span name)
{
    size_t end;
    size_t i;

    if (name.length == 0 || name.begin[0] != '<')
        return name;
    end = bracket_end(name);
    if (end == 0 || end >= name.length || name.begin[end] != 'F')
        return name;
    for (i = end + 1; i < name.length; i++) {
        char c = name.begin[i];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F')))
            break;
    }
    if (i == end + 1 || !span_starts(span_from(name, i), "__") || i + 2 >= name.length)
        return name;
    return span_from(name, i + 2);
}

static void append_arguments(clr_text *out, arguments_left *left, size_t count)
{
    if (count == 0)
        return;
    buffer_append_char(out, '<');
    for (size_t i = 0; i < count; i++) {
        bool known = left->used < left->count;

        if (i > 0)
            buffer_append_text(out, known ? ", " : ",");
        if (known)
            buffer_append_text(out, left->items[left->used++]);
    }
    buffer_append_char(out, '>');
}

/* What stands in the eighth place of a tuple is a tuple of what did not fit, and is written in
 * line:
 * "(h, i)" or "ValueTuple<h>". Its length is 0 when it is something else. */
static span tuple_rest(const char *text)
{
    span rest = span_of(text);

    if (span_starts(rest, "System."))
        rest = span_from(rest, strlen("System."));
    if (span_starts(rest, "ValueTuple<") && rest.begin[rest.length - 1] == '>')
        rest = span_from(rest, strlen("ValueTuple<"));
    else if (span_starts(rest, "(") && rest.begin[rest.length - 1] == ')')
        rest = span_from(rest, 1);
    else
        rest.length = 1;
    rest.length--;
    return rest;
}

/* int?, (int, bool): types that C# has a form of their own for. */
static bool append_special(clr_text *out, span path, const char *const *arguments, size_t count)
{
    if (count == 0) {
        for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++) {
            if (span_is(path, KEYWORDS[i].name)) {
                buffer_append_text(out, KEYWORDS[i].keyword);
                return true;
            }
        }
        return false;
    }
    if (count == 1 && span_is(path, "System.Nullable`1")) {
        buffer_append_text(out, arguments[0]);
        buffer_append_char(out, '?');
        return true;
    }
    if (count >= 2 && count <= 8 && path.length == 19 && span_starts(path, "System.ValueTuple`")) {
        span last = count == 8 ? tuple_rest(arguments[7]) : span_of(arguments[count - 1]);

        if (count == 8 && last.length == 0)
            return false;
        buffer_append_char(out, '(');
        for (size_t i = 0; i + 1 < count; i++)
            buffer_format(out, "%s, ", arguments[i]);
        append_span(out, last);
        buffer_append_char(out, ')');
        return true;
    }
    return false;
}

void clr_name_append_type(clr_text *out, const char *path, const char *const *arguments,
                          size_t argument_count, unsigned style)
{
    arguments_left left = {arguments, argument_count, 0};
    span rest = span_of(path);
    bool first = true;

    if (!(style & CLR_NAME_PLAIN) && append_special(out, rest, arguments, argument_count))
        return;
    do {
        span segment = take_segment(&rest);
        size_t arity = take_arity(&segment);

        if (first) {
            span name_space = {segment.begin, namespace_length(segment)};

            if (!(style & CLR_NAME_SHORT))
                append_span(out, name_space);
            segment = span_from(segment, name_space.length);
        } else {
            buffer_append_char(out, '.');
        }
        append_span(out, without_file_prefix(segment));
        append_arguments(out, &left, arity);
        first = false;
    } while (rest.length > 0);
}

/* <>c, <>c__DisplayClass5_0, <GetAsync>d__12, <<Run>b__3_0>d, VB$StateMachine_3_GetAsync,
 * _Closure$__3-0: types that exist only because of a method. */
static bool is_state_machine(span name)
{
    size_t end;

    if (span_starts(name, "VB$StateMachine_"))
        return true;
    if (name.length < 4 || name.begin[0] != '<' || name.begin[1] == '>')
        return false;
    end = bracket_end(name);
    return end != 0 && end < name.length && name.begin[end] == 'd' &&
           (end + 1 == name.length || span_starts(span_from(name, end + 1), "__"));
}

static bool is_closure(span name)
{
    return span_is(name, "<>c") || span_starts(name, "<>c__") || span_starts(name, "_Closure$__");
}

/* Appends the source name of a method name: `<Main>g__Local|0_1` gives Main.Local. */
static void append_source_name(clr_text *out, span name, int depth)
{
    size_t end = name.length > 0 && name.begin[0] == '<' ? bracket_end(name) : 0;
    span inner;
    span rest;

    if (end <= 2 || depth > 8) { /* no brackets, or nothing in them */
        append_span(out, name);
        return;
    }
    inner.begin = name.begin + 1;
    inner.length = end - 2;
    rest = span_from(name, end);
    if (span_starts(rest, "b__")) {
        append_source_name(out, inner, depth + 1);
        buffer_append_text(out, ".lambda");
    } else if (span_starts(rest, "g__")) {
        const char *bar = memchr(rest.begin, '|', rest.length);
        span local = span_from(rest, 3);

        if (bar != NULL)
            local.length = (size_t)(bar - local.begin);
        append_source_name(out, inner, depth + 1);
        buffer_append_char(out, '.');
        append_span(out, local);
    } else if (rest.length == 0 || span_is(rest, "$")) {
        append_source_name(out, inner, depth + 1);
    } else {
        append_span(out, name);
    }
}

/* The source method of a state machine type. Explicit implementations have - for the dots. */
static void append_machine_source(clr_text *out, span name)
{
    size_t start = out->length;

    if (span_starts(name, "VB$StateMachine_")) {
        span rest = span_from(name, strlen("VB$StateMachine_"));
        const char *line = memchr(rest.begin, '_', rest.length);

        if (line != NULL)
            rest = span_from(rest, (size_t)(line - rest.begin) + 1);
        append_span(out, rest);
    } else {
        span inner = {name.begin + 1, bracket_end(name) - 2};

        append_source_name(out, inner, 0);
    }
    for (size_t i = start; i < out->length; i++) {
        if (out->data[i] == '-')
            out->data[i] = '.';
    }
}

/* A member of a state machine that is not its MoveNext. IEnumerable<T>.GetEnumerator names the
 * machine's own T: where that is written with what it stands for, the letter is left out. */
static void append_machine_member(clr_text *out, span name, bool generic)
{
    const char *open = generic ? memchr(name.begin, '<', name.length) : NULL;
    span interface_name = {name.begin, open == NULL ? 0 : (size_t)(open - name.begin)};
    size_t end = open == NULL ? 0 : bracket_end(span_from(name, interface_name.length));

    if (interface_name.length == 0 || end == 0) {
        append_source_name(out, name, 0);
        return;
    }
    append_span(out, interface_name);
    append_span(out, span_from(name, interface_name.length + end));
}

static span last_segment(span path)
{
    span segment = path;

    while (path.length > 0)
        segment = take_segment(&path);
    take_arity(&segment);
    return segment;
}

void clr_name_append_method(clr_text *out, const char *path, const char *const *arguments,
                            size_t argument_count, const char *method,
                            const char *const *method_arguments, size_t method_argument_count)
{
    arguments_left left = {arguments, argument_count, 0};
    arguments_left own = {method_arguments, method_argument_count, 0};
    span rest = span_of(path);
    span machine = {NULL, 0};
    /* Lambdas and local functions; the constructor of a closure is the closure's own. */
    bool in_source = method[0] == '<' || is_state_machine(last_segment(rest));
    bool generated = false;
    size_t hidden = 0; /* type arguments of what is not shown: the source method's */
    size_t name_space;

    while (rest.length > 0) {
        span segment = take_segment(&rest);
        size_t arity = take_arity(&segment);

        if (is_state_machine(segment) || (is_closure(segment) && in_source)) {
            generated = true;
            machine = is_state_machine(segment) ? segment : (span){NULL, 0};
            hidden += arity;
            continue;
        }
        if (generated)
            break; /* a user's type inside a generated one does not occur; don't guess */
        name_space = segment.begin == path ? namespace_length(segment) : 0;
        buffer_append(out, segment.begin, name_space);
        append_span(out, without_file_prefix(span_from(segment, name_space)));
        append_arguments(out, &left, arity);
        buffer_append_char(out, '.');
    }
    if (hidden > left.count - left.used)
        hidden = left.count - left.used;
    if (machine.begin != NULL) {
        append_machine_source(out, machine);
        if (strcmp(method, "MoveNext") != 0) {
            append_arguments(out, &left, hidden);
            buffer_append_char(out, '.');
            append_machine_member(out, span_of(method), hidden > 0);
            hidden = 0;
        }
    } else {
        append_source_name(out, span_of(method), 0);
    }
    if (hidden > 0 && method_argument_count > 0) {
        append_arguments(out, &left, hidden);
        out->length -= out->failed ? 0 : 1; /* join the two lists */
        buffer_append_text(out, ", ");
        for (size_t i = 0; i < method_argument_count; i++) {
            buffer_append_text(out, i > 0 ? ", " : "");
            buffer_append_text(out, method_arguments[i]);
        }
        buffer_append_char(out, '>');
    } else {
        append_arguments(out, &left, hidden);
        append_arguments(out, &own, method_argument_count);
    }
}

void clr_name_append_field(clr_text *out, const char *field)
{
    const char *end = field[0] == '<' ? strchr(field, '>') : NULL;

    if (end != NULL && text_equal(end, ">k__BackingField"))
        buffer_append(out, field + 1, (size_t)(end - field) - 1);
    else
        buffer_append_text(out, field);
}

void clr_name_make_array(clr_text *out, size_t start, uint32_t rank)
{
    uint8_t spec[34];
    size_t length = 0;
    size_t at = out->length;

    if (out->failed)
        return;
    if (rank > 32) /* the CLR's own limit */
        rank = 32;
    spec[length++] = '[';
    for (uint32_t i = 1; i < rank; i++)
        spec[length++] = ',';
    spec[length++] = ']';
    /* The outermost array is written first: before the specifiers the element has already. */
    while (at > start && (out->data[at - 1] == ']' || out->data[at - 1] == '[' ||
                          (out->data[at - 1] == ',' && out->data[out->length - 1] == ']')))
        at--;
    if (!buffer_reserve(out, length))
        return;
    memmove(out->data + at + length, out->data + at, out->length - at + 1);
    memcpy(out->data + at, spec, length);
    out->length += length;
}
