/* pattern: see pattern.h. */
#include "cil/pattern.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static const char REF[] = {'r', 'e', 'f'};

enum { NAME_LIMIT = 2048, MOST_PATTERNS = 256 };

/* Cuts one pattern in place into its parts. */
static int cut(char *text, cil_pattern *p, error *e)
{
    char *end, *colons;

    memset(p, 0, sizeof *p);
    if (text[0] == '!') {
        p->exclude = true;
        text++;
    }
    if (text[0] == '[') {
        end = strchr(text, ']');
        if (end == NULL)
            return error_set(e, ERROR_USAGE, "the pattern '%s' has no ]", text);
        *end = '\0';
        p->assembly = text + 1;
        text = end + 1;
        if (end - p->assembly > 4 && (strcmp(end - 4, ".dll") == 0 || strcmp(end - 4, ".exe") == 0))
            end[-4] = '\0';
    }
    if (text[0] == '@') {
        p->attribute = text + 1;
        return p->attribute[0] != '\0' ? 0
                                       : error_set(e, ERROR_USAGE, "@ stands without an attribute");
    }
    end = strchr(text, '(');
    if (end != NULL) {
        size_t length = strlen(end);

        if (end[length - 1] != ')')
            return error_set(e, ERROR_USAGE, "the pattern '%s' has no ) at its end", text);
        end[length - 1] = '\0';
        *end = '\0';
        p->parameters = end + 1;
    }
    colons = strstr(text, "::");
    if (colons != NULL) {
        *colons = '\0';
        p->method = colons[2] == '\0' ? NULL : colons + 2;
    } else {
        p->whole = true;
    }
    p->type = text[0] == '\0' ? NULL : text;
    if (p->type == NULL && p->method == NULL && p->assembly == NULL)
        return error_set(e, ERROR_USAGE, "a pattern is empty");
    if (p->type == NULL)
        p->whole = false;
    return 0;
}

/*
 * A blank inside of () at `end` goes away. `ref`, `out`, `in` and `ref readonly` in front of it
 * all become ref: they are one thing to the runtime, which has no overloads by them. Returns the
 * new end; the text never gets longer than it was with the blank.
 */
static char *end_word(const char *begin, char *end)
{
    static const char *const MARKS[] = {"in", "out", "ref", "refreadonly"};
    const char *word = end;

    while (word > begin && strchr("(,<", word[-1]) == NULL)
        word--;
    for (size_t n = 0; n < sizeof MARKS / sizeof *MARKS; n++) {
        size_t length = strlen(MARKS[n]);

        if ((size_t)(end - word) == length && memcmp(word, MARKS[n], length) == 0) {
            end -= length;
            memcpy(end, REF, sizeof REF);
            return end + 3;
        }
    }
    return end;
}

/* Blanks inside of () and after a comma go away, other blanks part the patterns. */
static size_t split(char *text, char **parts, size_t limit)
{
    size_t count = 0;
    char *out = text;
    char *begin = text;
    int depth = 0;

    for (const char *in = text;; in++) {
        char c = *in;
        bool blank = c == ' ' || c == '\t' || c == '\n';

        if (c == '(')
            depth++;
        if (c == ')')
            depth--;
        if (blank && depth > 0) {
            out = end_word(begin, out);
            continue;
        }
        if (blank && out != begin && out[-1] == ',')
            continue; /* of <TKey, TValue> */
        if (c != '\0' && !blank) {
            *out++ = c;
            continue;
        }
        if (out != begin) {
            *out++ = '\0';
            if (count < limit)
                parts[count] = begin;
            count++;
        }
        begin = out;
        if (c == '\0')
            return count;
    }
}

int cil_patterns_parse(cil_patterns *p, const char *text, error *e)
{
    char *parts[MOST_PATTERNS];
    size_t count;
    bool includes = false;
    int code = 0;

    memset(p, 0, sizeof *p);
    p->text = memory_allocate(strlen(text) + 2); /* the last part gets a zero of its own */
    if (p->text == NULL)
        return error_set(e, ERROR_MEMORY, "no memory");
    memcpy(p->text, text, strlen(text) + 1);
    count = split(p->text, parts, MOST_PATTERNS);
    if (count > MOST_PATTERNS)
        code = error_set(e, ERROR_USAGE, "%u patterns are too many", (unsigned)count);
    p->items = code != 0 ? NULL : memory_allocate_array(count + 1, sizeof *p->items);
    if (code == 0 && p->items == NULL)
        code = error_set(e, ERROR_MEMORY, "no memory");
    for (size_t n = 0; n < count && code == 0; n++) {
        code = cut(parts[n], &p->items[n], e);
        includes |= !p->items[n].exclude;
        p->count++;
    }
    if (code == 0 && !includes) {
        code = error_set(e, ERROR_USAGE, "no pattern says which methods are meant");
        error_advise(e, "for example 'Shop.Orders::Place*'; ! leaves methods out");
    }
    if (code != 0)
        cil_patterns_free(p);
    return code;
}

void cil_patterns_free(cil_patterns *p)
{
    memory_free(p->items);
    memory_free(p->text);
    memset(p, 0, sizeof *p);
}

static bool is_in_a_name(char c)
{
    return (c | 32) >= 'a' ? (c | 32) <= 'z' : c >= '0' && c <= '9';
}

/* The name without `1 and with . for +, as C# people write it. A pattern (`shown`) also without
 * <T> after a name, as our own output has it; names that the compiler makes begin with <. */
static const char *plain_name(const char *name, char *out, bool shown)
{
    size_t length = 0;
    unsigned depth = 0;

    for (; *name != '\0' && length < NAME_LIMIT - 1; name++) {
        if (*name == '`') {
            while (name[1] >= '0' && name[1] <= '9')
                name++;
            continue;
        }
        if (shown && *name == '<' && (depth > 0 || (length > 0 && is_in_a_name(name[-1]))))
            depth++;
        if (depth == 0)
            out[length++] = *name == '+' ? '.' : *name;
        else if (*name == '>')
            depth--;
    }
    out[length] = '\0';
    return out;
}

static bool name_matches(const char *name, const char *pattern)
{
    char plain[NAME_LIMIT];
    char shown[NAME_LIMIT];

    return text_matches(name, pattern) || text_matches(plain_name(name, plain, false), pattern) ||
           text_matches(plain, plain_name(pattern, shown, true));
}

/* `pattern` stands for Type.Method, or for the type alone. */
static bool whole_matches(const char *type, const char *method, const char *pattern)
{
    char joined[NAME_LIMIT];

    if (snprintf(joined, sizeof joined, "%s.%s", type, method) >= (int)sizeof joined)
        return false;
    return name_matches(joined, pattern) || name_matches(type, pattern);
}

/* One name of a type, without namespace and outer types and as C# spells it; `refX.Y` is a
 * reference to X.Y. Returns the end of what was written. */
static char *put_short_name(char *out, const char *name, size_t length)
{
    static const char SPELT[][2][8] = {
        /* no pointers: each is relocated */
        {"Boolean", "bool"},  {"Byte", "byte"},     {"SByte", "sbyte"},     {"Char", "char"},
        {"Int16", "short"},   {"UInt16", "ushort"}, {"Int32", "int"},       {"UInt32", "uint"},
        {"Int64", "long"},    {"UInt64", "ulong"},  {"Single", "float"},    {"Double", "double"},
        {"String", "string"}, {"Object", "object"}, {"Decimal", "decimal"}, {"IntPtr", "nint"},
        {"UIntPtr", "nuint"}};
    size_t from = length;

    if (length > 3 && memcmp(name, "ref", 3) == 0 && name[3] >= 'A' && name[3] <= 'Z') {
        memcpy(out, REF, sizeof REF);
        out += 3;
        name += 3;
        from = length -= 3;
    }
    if (from > 0 && name[from - 1] == '.')
        from--; /* "Shop.*" is not every type */
    while (from > 0 && name[from - 1] != '.' && name[from - 1] != '+')
        from--;
    name += from;
    length -= from;
    for (size_t n = 0; n < sizeof SPELT / sizeof *SPELT; n++)
        if (strlen(SPELT[n][0]) == length && memcmp(SPELT[n][0], name, length) == 0) {
            name = SPELT[n][1];
            length = strlen(name);
        }
    memmove(out, name, length);
    return out + length;
}

/* Parameters with the short names of their types: "System.Int32,Shop.Item[]" is "int,Item[]". */
static const char *short_parameters(const char *text, char *out)
{
    char *end = out;

    while (*text != '\0' && end - out < NAME_LIMIT / 2) {
        size_t length = strcspn(text, ",<>()[]&?* ");

        length = length < NAME_LIMIT / 2 ? length : NAME_LIMIT / 2 - 1; /* one more, and the end */
        end = put_short_name(end, text, length);
        text += length;
        if (*text != '\0')
            *end++ = *text++;
    }
    *end = '\0';
    return out;
}

static bool parameters_match(const char *parameters, const char *pattern)
{
    char plain[NAME_LIMIT];
    char shown[NAME_LIMIT];

    return text_matches(parameters, pattern) ||
           text_matches(short_parameters(parameters, plain), short_parameters(pattern, shown));
}

bool cil_patterns_may_match(const cil_patterns *p, const char *assembly, const char *type)
{
    for (size_t n = 0; n < p->count; n++) {
        const cil_pattern *i = &p->items[n];

        if (i->exclude || (i->assembly != NULL && !text_matches(assembly, i->assembly)))
            continue;
        if (type == NULL || i->type == NULL || i->whole || name_matches(type, i->type))
            return true;
    }
    return false;
}

static bool item_matches(const cil_pattern *i, const cil_pattern_subject *s)
{
    if (i->assembly != NULL && !text_matches(s->assembly, i->assembly))
        return false;
    if (i->attribute != NULL)
        return s->has_attribute != NULL && s->has_attribute(s->context, i->attribute);
    if (i->whole && !whole_matches(s->type, s->method, i->type))
        return false;
    if (!i->whole && i->type != NULL && !name_matches(s->type, i->type))
        return false;
    if (i->method != NULL && !name_matches(s->method, i->method))
        return false;
    return i->parameters == NULL ||
           (s->parameters != NULL && parameters_match(s->parameters(s->context), i->parameters));
}

bool cil_patterns_match(const cil_patterns *p, const cil_pattern_subject *subject)
{
    bool included = false;

    for (size_t n = 0; n < p->count; n++) {
        if (!item_matches(&p->items[n], subject))
            continue;
        if (p->items[n].exclude)
            return false;
        included = true;
    }
    return included;
}

void cil_pattern_plain_parameters(buffer *text)
{
    char *begin = (char *)text->data;
    char *out = begin;

    if (text->data == NULL || buffer_failed(text))
        return;
    for (size_t n = 0; n < text->length; n++) {
        bool outermost = n == 0 ? begin[n] == '(' : n + 1 == text->length && begin[n] == ')';

        if (begin[n] == ' ')
            out = end_word(begin, out);
        else if (!outermost) /* inner ones are those of tuples */
            *out++ = begin[n];
    }
    *out = 0;
    text->length = (size_t)(out - begin);
}

bool cil_pattern_attribute(const char *pattern, const char *type_name)
{
    const char *dot = strrchr(type_name, '.');
    const char *names[2] = {type_name, dot == NULL ? type_name : dot + 1};
    char longer[NAME_LIMIT];

    if (snprintf(longer, sizeof longer, "%sAttribute", pattern) >= (int)sizeof longer)
        return false;
    for (size_t n = 0; n < 2; n++)
        if (text_matches(names[n], pattern) || text_matches(names[n], longer))
            return true;
    return false;
}
