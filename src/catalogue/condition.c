/* condition: see condition.h. */
#include "catalogue/condition.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

enum { MOST_DIGITS = 30 }; /* after the point */

static const struct {
    char text[3];
    uint8_t operator;
} OPERATORS[] = {{"==", CONDITION_EQUAL},         {"!=", CONDITION_NOT_EQUAL},
                 {"<=", CONDITION_LESS_OR_EQUAL}, {">=", CONDITION_GREATER_OR_EQUAL},
                 {"<", CONDITION_LESS},           {">", CONDITION_GREATER},
                 {"~", CONDITION_CONTAINS}};

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                  : 99;
}

size_t condition_path_length(const char *text)
{
    size_t n = 0;

    if (text[0] >= '0' && text[0] <= '9')
        return 0;
    while (is_name(text[n]) || (n != 0 && text[n] == '.' && is_name(text[n + 1])))
        n++;
    return n;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static int wrong(error *e, const char *what, const char *where)
{
    error_set(e, ERROR_USAGE, "the condition is wrong: %s at '%.40s'", what, where);
    return error_advise(e, "for example: 'arg0 > 100 && customer.Name == \"Ann\"'");
}

/* Turns a quoted constant into UTF-16; returns what follows, NULL when it does not end. */
static const char *take_text(condition_term *t, const char *text)
{
    const char *end = strchr(text + 1, text[0]);
    buffer units = BUFFER_EMPTY;

    if (end == NULL)
        return NULL;
    text_append_utf8_as_utf16(&units, text + 1, (size_t)(end - text - 1));
    t->kind = CONDITION_TEXT;
    t->units = units.length / 2;
    if (buffer_failed(&units) || t->units > CONDITION_UNITS)
        end = NULL;
    else if (units.length != 0)
        memcpy(t->text, units.data, units.length);
    buffer_free(&units);
    return end == NULL ? NULL : end + 1;
}

static const char *take_word(condition_term *t, const char *text)
{
    static const struct {
        const char *word;
        condition_kind kind;
        int64_t whole;
    } words[] = {{"true", CONDITION_WHOLE, 1}, {"false", CONDITION_WHOLE, 0}, {"null", 0, 0}};
    size_t length = condition_path_length(text);

    for (size_t n = 0; n < 3; n++) {
        if (length != strlen(words[n].word) || strncmp(text, words[n].word, length) != 0)
            continue;
        t->kind = n == 2 ? CONDITION_NULL : words[n].kind;
        t->whole = words[n].whole;
        t->real = (double)t->whole;
        return text + length;
    }
    return NULL;
}

double condition_scale(double value, int power)
{
    double scale = 1;

    for (int n = power < 0 ? -power : power; n > 0; n--)
        scale *= 10;
    return power < 0 ? value / scale : value * scale;
}

/* 100, -5, 0x1F, 1_000, 2.5, 1e6. Own: the library's function asks the program's locale. */
static const char *take_number(condition_term *t, const char *text)
{
    bool negative = text[0] == '-';
    unsigned base = 10;
    uint64_t digits = 0;
    double value = 0;
    int power = 0;
    const char *begin;

    text += negative || text[0] == '+';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    t->kind = CONDITION_WHOLE;
    for (begin = text; digit_of(*text) < base || *text == '_'; text++) {
        if (*text == '_')
            continue;
        if (__builtin_mul_overflow(digits, base, &digits) ||
            __builtin_add_overflow(digits, digit_of(*text), &digits))
            t->kind = CONDITION_REAL;
        value = value * base + digit_of(*text);
    }
    if (text == begin)
        return NULL;
    if (negative && digits > (uint64_t)INT64_MAX + 1)
        t->kind = CONDITION_REAL;
    if (base == 10 && *text == '.') {
        t->kind = CONDITION_REAL;
        for (text++; digit_of(*text) < 10; text++) {
            if (power > -MOST_DIGITS)
                value = value * 10 + digit_of(*text), power--;
        }
    }
    if (base == 10 && (*text == 'e' || *text == 'E') && digit_of(text[1]) < 10) {
        t->kind = CONDITION_REAL;
        for (text++, begin = text; digit_of(*text) < 10 && text - begin < 3; text++)
            digits = text == begin ? digit_of(*text) : digits * 10 + digit_of(*text);
        power += (int)digits;
    }
    value = condition_scale(value, power);
    t->whole = (int64_t)(negative ? 0 - digits : digits);
    t->above = !negative && t->whole < 0;
    t->real = negative ? -value : value;
    return is_name(*text) ? NULL : text;
}

static const char *take_constant(condition_term *t, const char *text)
{
    if (text[0] == '"' || text[0] == '\'')
        return take_text(t, text);
    if (is_name(text[0]) && (text[0] < '0' || text[0] > '9'))
        return take_word(t, text);
    return take_number(t, text);
}

/* One term; returns what follows. */
static const char *take_term(condition_term *t, const char *text, error *e)
{
    size_t length = condition_path_length(text);
    const char *rest = skip_blanks(text + length);

    if (length == 0 || length >= CONDITION_PATH) {
        wrong(e, "a name is expected", text);
        return NULL;
    }
    memcpy(t->path, text, length);
    t->path[length] = '\0';
    for (size_t n = 0; n < sizeof OPERATORS / sizeof OPERATORS[0]; n++) {
        const char *after;

        if (!text_starts_with(rest, OPERATORS[n].text))
            continue;
        t->operator=(condition_operator) OPERATORS[n].operator;
        rest = skip_blanks(rest + strlen(OPERATORS[n].text));
        after = take_constant(t, rest);
        if (after == NULL)
            wrong(e, "a number, \"text\", true, false or null is expected", rest);
        else if (t->kind != CONDITION_TEXT && t->operator== CONDITION_CONTAINS)
            wrong(e, "~ needs a text", rest);
        else
            return skip_blanks(after);
        return NULL;
    }
    t->operator= CONDITION_IS_TRUE;
    return rest;
}

int condition_parse(condition *c, const char *text, error *e)
{
    bool begins_group = true;

    memset(c, 0, sizeof *c);
    for (text = skip_blanks(text);; text = skip_blanks(text + 2)) {
        condition_term *t = &c->terms[c->count];

        if (c->count == CONDITION_TERMS)
            return wrong(e, "it has more than 8 terms", text);
        text = take_term(t, text, e);
        if (text == NULL)
            return ERROR_USAGE;
        t->begins_group = begins_group;
        c->count++;
        if (text[0] == '\0')
            return 0;
        begins_group = text_starts_with(text, "||");
        if (!begins_group && !text_starts_with(text, "&&"))
            return wrong(e, "&& or || is expected", text);
    }
}

static bool compares(condition_operator operator, int order)
{
    switch (operator) {
    case CONDITION_EQUAL:
        return order == 0;
    case CONDITION_NOT_EQUAL:
        return order != 0;
    case CONDITION_LESS:
        return order < 0;
    case CONDITION_LESS_OR_EQUAL:
        return order <= 0;
    case CONDITION_GREATER:
        return order > 0;
    case CONDITION_GREATER_OR_EQUAL:
        return order >= 0;
    default:
        return false;
    }
}

static int text_order(const uint8_t *text, size_t units, const uint16_t *constant, size_t count)
{
    for (size_t n = 0; n < units && n < count; n++) {
        int unit = text[2 * n] | text[2 * n + 1] << 8;

        if (unit != constant[n])
            return unit < constant[n] ? -1 : 1;
    }
    return units < count ? -1 : units > count;
}

static bool text_holds(const condition_term *t, const condition_value *v)
{
    if (t->operator!= CONDITION_CONTAINS)
        return compares(t->operator, text_order(v->text, v->units, t->text, t->units));
    for (size_t n = 0; n + t->units <= v->units; n++)
        if (text_order(v->text + 2 * n, t->units, t->text, t->units) == 0)
            return true;
    return false;
}

static bool number_holds(const condition_term *t, const condition_value *v)
{
    double right = v->single ? (double)(float)t->real : t->real;
    double left = v->kind == CONDITION_REAL ? v->real
                  : v->above                ? (double)(uint64_t)v->whole
                                            : (double)v->whole;
    int order;

    if (v->kind == CONDITION_WHOLE && t->kind == CONDITION_WHOLE)
        order = v->above != t->above  ? (v->above ? 1 : -1)
                : v->whole > t->whole ? 1
                                      : -(v->whole < t->whole);
    else if (left != left)
        return t->operator== CONDITION_NOT_EQUAL; /* not a number */
    else
        order = left > right ? 1 : -(left < right);
    return compares(t->operator, order);
}

static bool term_holds(const condition_term *t, const condition_value *v)
{
    bool is_null = v->kind == CONDITION_NULL;

    if (v->kind == CONDITION_NOTHING)
        return false;
    if (t->operator== CONDITION_IS_TRUE)
        return !is_null && (v->kind != CONDITION_WHOLE || v->whole != 0);
    if (t->kind == CONDITION_NULL || is_null)
        return (t->operator== CONDITION_EQUAL && is_null && t->kind == CONDITION_NULL) ||
               (t->operator== CONDITION_NOT_EQUAL && is_null !=(t->kind == CONDITION_NULL));
    if (t->kind == CONDITION_TEXT || v->kind == CONDITION_TEXT)
        return t->kind == v->kind && text_holds(t, v);
    return v->kind != CONDITION_OBJECT && number_holds(t, v);
}

bool condition_holds(const condition *c, void *context,
                     void (*value)(void *context, size_t term, condition_value *out))
{
    bool all = false;

    for (size_t n = 0; n < c->count; n++) {
        condition_value v = {0};

        if (c->terms[n].begins_group) {
            if (all)
                return true;
            all = true;
        }
        if (!all)
            continue;
        value(context, n, &v);
        all = term_holds(&c->terms[n], &v);
    }
    return all;
}
