/*
 * heap_objects: the single objects of a type with the values of their fields, and the names that
 * are near one that no type has; see heap_report.h.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/heap_report.h"
#include "report/report.h"

enum {
    NEAR = 5,          /* names */
    LONGEST_NEAR = 64, /* characters that are compared */
    FIELDS_SHOWN = 12, /* references of one object in a line */
    FIELDS_TOLD = 100, /* the same for machines */
};

/* ---- values ---- */

typedef struct {
    const heap *h;
    const model_column *type, *place, *name, *kind;
    size_t rows;
    uint32_t number; /* of the class looked up last, from `first` on */
    size_t first, count;
} value_rows;

static value_rows find_value_rows(const heap *h)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_values", "heap");
    value_rows r = {.h = h, .number = UINT32_MAX};

    if (t == NULL || h->snapshot->valued_count == 0)
        return r;
    r.type = model_find_column(h->m, t, "type");
    r.place = model_find_column(h->m, t, "place");
    r.name = model_find_column(h->m, t, "name");
    r.kind = model_find_column(h->m, t, "kind");
    if (r.type != NULL && r.place != NULL && r.name != NULL && r.kind != NULL &&
        r.name->type == RECORDING_STRING_ID)
        r.rows = t->rows;
    return r;
}

/* The rows of a class stand together. */
static void choose_class(value_rows *r, uint32_t number)
{
    if (r->number == number)
        return;
    r->number = number;
    r->first = r->count = 0;
    while (r->first < r->rows && model_cell(r->type, r->first) != number)
        r->first++;
    while (r->first + r->count < r->rows && model_cell(r->type, r->first + r->count) == number)
        r->count++;
}

/* The fields of a Nullable. */
static const char FLAG[] = ".hasValue";
static const char VALUE[] = ".value";

static void append_real(buffer *out, int digits, double value)
{
    if (isfinite(value))
        buffer_format(out, "%.*g", digits, value);
    else
        buffer_append_text(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

/* As C# writes it; false: no primitive. `*quoted`: not a number for machines. */
static bool append_value(uint64_t kind, uint64_t bits, bool *quoted, buffer *out)
{
    float single;
    double real;
    uint32_t low = (uint32_t)bits;

    *quoted = false;
    switch (kind) {
    case 0x02:
        buffer_append_text(out, (bits & 0xff) != 0 ? "true" : "false");
        return true;
    case 0x03:
        *quoted = true;
        low &= 0xffff;
        if (low >= 0x20 && low < 0x7f)
            buffer_format(out, "%c", (int)low);
        else
            buffer_format(out, "\\u%04x", low);
        return true;
    case 0x04:
        buffer_format(out, "%d", (int8_t)bits);
        return true;
    case 0x05:
        buffer_format(out, "%u", (uint8_t)bits);
        return true;
    case 0x06:
        buffer_format(out, "%d", (int16_t)bits);
        return true;
    case 0x07:
        buffer_format(out, "%u", (uint16_t)bits);
        return true;
    case 0x08:
        buffer_format(out, "%d", (int32_t)bits);
        return true;
    case 0x09:
        buffer_format(out, "%u", low);
        return true;
    case 0x0a:
    case 0x18:
        buffer_format(out, "%" PRId64, (int64_t)bits);
        return true;
    case 0x0b:
    case 0x19:
        buffer_format(out, "%" PRIu64, bits);
        return true;
    case 0x0c:
        memcpy(&single, &low, sizeof single);
        *quoted = !isfinite(single);
        append_real(out, 9, (double)single);
        return true;
    case 0x0d:
        memcpy(&real, &bits, sizeof real);
        *quoted = !isfinite(real);
        append_real(out, 17, real);
        return true;
    default:
        return false;
    }
}

static uint64_t bits_at(const heap *h, const model_heap_valued *valued, uint32_t place)
{
    unsigned beyond = 8 * (place & 3); /* of packed structs */
    uint64_t bits = model_heap_value(h->snapshot, valued, place & ~3u) |
                    (uint64_t)model_heap_value(h->snapshot, valued, (place & ~3u) + 4) << 32;

    if (beyond == 0)
        return bits;
    return bits >> beyond | (uint64_t)model_heap_value(h->snapshot, valued, (place & ~3u) + 8)
                                << (64 - beyond);
}

/* A struct that only wraps a value, by the name of what is in it, is told as that value. */
static size_t without_wrapper(const char *name)
{
    static const char *const WRAPPERS[] = {".value__", ".m_value"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof WRAPPERS / sizeof WRAPPERS[0]; i++)
        if (text_ends_with(name, WRAPPERS[i]))
            length = strlen(name) - strlen(WRAPPERS[i]);
    return length;
}

/* Of a Nullable the flag; the length of the field's name before it, or 0. */
static size_t before_flag(const value_rows *r, size_t row)
{
    const char *name = model_text(r->h->m, (uint32_t)model_cell(r->name, row));

    return model_cell(r->kind, row) == 0x02 && text_ends_with(name, FLAG)
               ? strlen(name) - strlen(FLAG)
               : 0;
}

typedef void visit_value(const char *name, const char *value, bool quoted, void *context);

static void each_value(value_rows *r, uint32_t node, visit_value *visit, void *context)
{
    const heap *h = r->h;
    const model_heap_valued *valued = r->rows == 0 ? NULL : heap_values_of(h, node);
    const char *nullable = NULL;
    size_t before = 0; /* bytes of its name */
    bool is_null = false;

    if (valued == NULL)
        return;
    choose_class(r, h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type);
    for (size_t i = r->first; i < r->first + r->count; i++) {
        const char *whole = model_text(h->m, (uint32_t)model_cell(r->name, i));
        uint64_t bits = bits_at(h, valued, (uint32_t)model_cell(r->place, i));
        buffer name = BUFFER_EMPTY, value = BUFFER_EMPTY;
        bool quoted, is_inside = nullable != NULL && strncmp(whole, nullable, before) == 0 &&
                                 text_starts_with(whole + before, VALUE);
        size_t length = before_flag(r, i);

        if (length != 0 && !is_inside) {
            nullable = whole;
            before = length;
            is_null = (bits & 0xff) == 0;
            buffer_append(&name, whole, length);
            if (is_null)
                visit(buffer_text(&name), "null", false, context);
        } else if (!is_inside || !is_null) {
            size_t skipped = is_inside ? before + strlen(VALUE) : 0;

            buffer_append(&name, whole, is_inside ? before : 0);
            buffer_append(&name, whole + skipped, without_wrapper(whole) - skipped);
            if (append_value(model_cell(r->kind, i), bits, &quoted, &value))
                visit(buffer_text(&name), buffer_text(&value), quoted, context);
        }
        buffer_free(&name);
        buffer_free(&value);
    }
}

typedef struct {
    sink *out;
    const char *before;
} line;

static void put_value(const char *name, const char *value, bool quoted, void *context)
{
    line *l = context;

    sink_text(l->out, l->before);
    heap_report_clean(l->out, name);
    sink_format(l->out, quoted ? " = '%s'" : " = %s", value);
    l->before = ", ";
}

static void json_value(const char *name, const char *value, bool quoted, void *context)
{
    json *j = context;

    if (!quoted && text_equal(value, "null")) {
        json_put_null(j, name);
        return;
    }
    json_key(j, name);
    if (quoted)
        json_text(j, value);
    else if (text_equal(value, "true") || text_equal(value, "false"))
        json_bool(j, value[0] == 't');
    else if (strpbrk(value, ".e") != NULL)
        json_f64(j, strtod(value, NULL));
    else if (value[0] == '-')
        json_i64(j, strtoll(value, NULL, 10));
    else
        json_u64(j, strtoull(value, NULL, 10));
}

void heap_report_values(const heap *h, uint32_t node, sink *out)
{
    value_rows rows = find_value_rows(h);
    line l = {out, "values "};

    each_value(&rows, node, put_value, &l);
    if (l.before[0] == ',')
        sink_char(out, '\n');
}

void heap_report_values_json(const heap *h, uint32_t node, json *j)
{
    value_rows rows = find_value_rows(h);

    if (rows.rows == 0 || heap_values_of(h, node) == NULL)
        return;
    json_begin_object_at(j, "values");
    each_value(&rows, node, json_value, j);
    json_end_object(j);
}

/* ---- objects ---- */

typedef struct {
    const heap *h;
    heap_order order;
} sorting;

static int compare_objects(const void *a, const void *b, void *context)
{
    const sorting *s = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t p = s->order == HEAP_BY_RETAINED ? s->h->retained[x] : s->h->own[x];
    uint64_t q = s->order == HEAP_BY_RETAINED ? s->h->retained[y] : s->h->own[y];

    if (s->order != HEAP_BY_COUNT && p != q)
        return p > q ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The objects of the types asked for, in order; to be freed. */
static uint32_t *find_objects(const heap *h, const heap_report_options *o, size_t *count)
{
    sorting s = {h, heap_is_quick(h) && o->order == HEAP_BY_RETAINED ? HEAP_BY_BYTES : o->order};
    uint8_t *wanted = memory_allocate_array(h->type_count + 1, 1);
    uint32_t *found = NULL;
    uint64_t total = 0;

    *count = 0;
    for (uint32_t i = 0; wanted != NULL && i < h->type_count; i++) {
        wanted[i] = heap_report_wants(h, i, o);
        total += wanted[i] ? h->types[i].count : 0;
    }
    if (wanted != NULL)
        found = memory_allocate_array(total + 1, sizeof *found);
    for (uint32_t node = 1; found != NULL && node < h->nodes; node++)
        if (wanted[h->type[node]])
            found[(*count)++] = node;
    memory_free(wanted);
    if (found != NULL)
        qsort_r(found, *count, sizeof *found, compare_objects, &s);
    return found;
}

static void put_references(const heap *h, uint32_t node, line *l)
{
    uint64_t count = 0;

    for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++) {
        buffer text = BUFFER_EMPTY;

        if (count++ == FIELDS_SHOWN)
            break;
        heap_report_place(h, node, h->places[k], &text);
        sink_text(l->out, l->before);
        heap_report_clean(l->out, buffer_text(&text) + (buffer_text(&text)[0] == '.'));
        sink_format(l->out, " -> 0x%llx ",
                    (unsigned long long)h->snapshot->addresses[h->targets[k] - 1]);
        heap_report_clean(l->out, heap_type_name(h, h->type[h->targets[k]]));
        l->before = ", ";
        buffer_free(&text);
    }
    count = h->first[node + 1] - h->first[node];
    if (count > FIELDS_SHOWN)
        sink_format(l->out, ", %llu more", (unsigned long long)count - FIELDS_SHOWN);
}

int heap_report_objects(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    value_rows rows = find_value_rows(h);
    size_t count;
    uint32_t *found = find_objects(h, o, &count);

    if (found == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    sink_format(out, "\n%-18s %10s %10s %-7s  %s\n", "object", "own bytes", "retained", "heap",
                "fields");
    for (size_t i = 0; i < count && i < o->top; i++) {
        char own[REPORT_AMOUNT_SIZE], retained[REPORT_AMOUNT_SIZE];
        uint32_t node = found[i];
        line l = {out, ""};

        sink_format(out, "0x%-16llx %10s %10s %-7s  ",
                    (unsigned long long)h->snapshot->addresses[node - 1],
                    report_amount(h->own[node], "bytes", own),
                    heap_is_quick(h) ? "" : report_amount(h->retained[node], "bytes", retained),
                    heap_generation_name(h->snapshot->generations[node - 1]));
        each_value(&rows, node, put_value, &l);
        put_references(h, node, &l);
        sink_char(out, '\n');
    }
    if (count > o->top)
        sink_format(out, "%zu more object%s (--top shows more)\n", count - o->top,
                    count - o->top == 1 ? "" : "s");
    memory_free(found);
    return 0;
}

static void json_references(const heap *h, uint32_t node, json *j)
{
    json_begin_array_at(j, "fields");
    for (uint64_t k = h->first[node]; k < h->first[node + 1] && k < h->first[node] + FIELDS_TOLD;
         k++) {
        buffer text = BUFFER_EMPTY;

        heap_report_place(h, node, h->places[k], &text);
        json_begin_object(j);
        json_put_text(j, "field", buffer_text(&text) + (buffer_text(&text)[0] == '.'));
        heap_report_object_name(h, h->targets[k], j);
        json_end_object(j);
        buffer_free(&text);
    }
    json_end_array(j);
}

int heap_report_objects_json(const heap *h, const heap_report_options *o, json *j, error *e)
{
    value_rows rows = find_value_rows(h);
    size_t count;
    uint32_t *found = find_objects(h, o, &count);

    if (found == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    json_begin_array_at(j, "instances");
    for (size_t i = 0; i < count && i < o->top; i++) {
        json_begin_object(j);
        heap_report_object_name(h, found[i], j);
        json_put_u64(j, "bytes", h->own[found[i]]);
        if (!heap_is_quick(h))
            json_put_u64(j, "retained", h->retained[found[i]]);
        json_put_text(j, "generation",
                      heap_generation_name(h->snapshot->generations[found[i] - 1]));
        if (rows.rows != 0 && heap_values_of(h, found[i]) != NULL) {
            json_begin_object_at(j, "values");
            each_value(&rows, found[i], json_value, j);
            json_end_object(j);
        }
        json_references(h, found[i], j);
        json_end_object(j);
    }
    json_end_array(j);
    memory_free(found);
    return 0;
}

/* ---- names ---- */

/* What stands after the last dot before type arguments, in lower case and without * and ?. */
static size_t last_part(const char *name, char *part)
{
    size_t length = strcspn(name, "<["), begin = length, used = 0;

    while (begin > 0 && name[begin - 1] != '.')
        begin--;
    for (size_t i = begin; i < length && used < LONGEST_NEAR; i++)
        if (name[i] != '*' && name[i] != '?')
            part[used++] = (char)tolower((unsigned char)name[i]);
    part[used] = '\0';
    return used;
}

/* Letters to change, add or leave out. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned row[LONGEST_NEAR + 1];

    for (size_t k = 0; k <= b_length; k++)
        row[k] = (unsigned)k;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_length; k++) {
            unsigned best = diagonal + (a[i - 1] != b[k - 1]);

            diagonal = row[k];
            if (row[k] + 1 < best)
                best = row[k] + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            row[k] = best;
        }
    }
    return row[b_length];
}

/* The nearest types, best first; how many. */
static size_t find_near(const heap *h, const char *wanted, uint32_t near[NEAR])
{
    char asked[LONGEST_NEAR + 1], part[LONGEST_NEAR + 1];
    size_t length = last_part(wanted, asked), count = 0;
    unsigned scores[NEAR];

    for (uint32_t i = 0; length != 0 && i < h->type_count; i++) {
        size_t part_length = last_part(heap_type_name(h, i), part), at;
        unsigned score;

        if (h->types[i].count == 0 || part_length == 0)
            continue;
        score = distance(asked, length, part, part_length);
        if (score > (length < 5 ? 1 : 1 + length / 5)) {
            if (length < 3 || strstr(part, asked) == NULL)
                continue;
            score = LONGEST_NEAR + (unsigned)part_length;
        }
        for (at = count; at > 0 && (scores[at - 1] > score ||
                                    (scores[at - 1] == score &&
                                     h->types[near[at - 1]].bytes < h->types[i].bytes));
             at--) {
            if (at < NEAR) {
                scores[at] = scores[at - 1];
                near[at] = near[at - 1];
            }
        }
        if (at < NEAR) {
            scores[at] = score;
            near[at] = i;
            count += count < NEAR;
        }
    }
    return count;
}

int heap_report_check_type(const heap *h, const heap_report_options *o, error *e)
{
    uint32_t near[NEAR];
    buffer advice = BUFFER_EMPTY;
    size_t count;

    if (o->type == NULL)
        return 0;
    for (uint32_t i = 0; i < h->type_count; i++)
        if (h->types[i].count != 0 && heap_report_wants(h, i, o))
            return 0;
    error_set(e, ERROR_NOT_FOUND, "no type of the name '%s' is on the heap", o->type);
    count = find_near(h, o->type, near);
    for (size_t i = 0; i < count; i++)
        buffer_format(&advice, "%s%s", i == 0 ? "near it are: " : "; ", heap_type_name(h, near[i]));
    if (count == 0)
        buffer_append_text(&advice, "a name is written with its namespace, or with * for a part of "
                                    "it: --type '*Order*'");
    error_advise(e, "%s", buffer_text(&advice));
    buffer_free(&advice);
    return e->code;
}
