/* trace_values: see trace_values.h. */
#include "profilers/trace_values.h"

#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "catalogue/condition.h"
#include "cil/signature.h"
#include "clarinet/lookup.h"
#include "profilers/trace_counters.h"
#include "profilers/trace_text.h"

enum { FIELD_LITERAL = 0x40, SECONDS_OF_DAY = 86400, TICKS_OF_SECOND = 10000000 };

static void append_string(buffer *out, reader *r, bool cut, const char *quote)
{
    size_t length = reader_left(r);
    const uint8_t *units = reader_bytes(r, length);
    buffer text = BUFFER_EMPTY;

    text_append_utf16_bytes(&text, units, length / 2);
    buffer_append_text(out, quote);
    for (size_t n = 0; n < text.length; n++)
        buffer_append_char(out, text.data[n] < ' ' ? ' ' : (char)text.data[n]);
    buffer_append_text(out, cut ? "…" : "");
    buffer_append_text(out, quote);
    buffer_free(&text);
}

static void append_text(buffer *out, reader *r, uint8_t kind)
{
    uint8_t text[TRACE_VALUE_TEXT];
    const uint8_t *bytes = reader_bytes(r, reader_left(r));

    if (bytes != NULL)
        text_append_utf16_bytes(out, text, trace_value_text(kind, bytes, text));
}

static void append_real(buffer *out, double value, const char *format)
{
    if (value != value)
        buffer_append_text(out, "NaN");
    else if (value - value != 0)
        buffer_append_text(out, value > 0 ? "Infinity" : "-Infinity");
    else
        buffer_format(out, format, value);
}

static void append_number(buffer *out, reader *r, uint8_t kind)
{
    uint32_t bits;
    float single;
    unsigned c;

    switch (kind) {
    case CIL_TYPE_BOOLEAN:
        buffer_append_text(out, reader_u8(r) != 0 ? "true" : "false");
        break;
    case CIL_TYPE_CHAR:
        c = reader_u16(r);
        buffer_append_char(out, '\'');
        text_append_code_point(out, c < ' ' ? ' ' : c);
        buffer_append_char(out, '\'');
        break;
    case CIL_TYPE_I1:
        buffer_format(out, "%d", (int8_t)reader_u8(r));
        break;
    case CIL_TYPE_U1:
        buffer_format(out, "%u", reader_u8(r));
        break;
    case CIL_TYPE_I2:
        buffer_format(out, "%d", (int16_t)reader_u16(r));
        break;
    case CIL_TYPE_U2:
        buffer_format(out, "%u", reader_u16(r));
        break;
    case CIL_TYPE_I4:
        buffer_format(out, "%d", (int)(int32_t)reader_u32(r));
        break;
    case CIL_TYPE_U4:
        buffer_format(out, "%u", (unsigned)reader_u32(r));
        break;
    case CIL_TYPE_I8:
    case CIL_TYPE_INT_PTR:
        buffer_format(out, "%lld", (long long)reader_u64(r));
        break;
    case CIL_TYPE_UINT_PTR:
        buffer_format(out, "0x%llx", (unsigned long long)reader_u64(r));
        break;
    case CIL_TYPE_U8:
        buffer_format(out, "%llu", (unsigned long long)reader_u64(r));
        break;
    case CIL_TYPE_R4:
        bits = reader_u32(r);
        memcpy(&single, &bits, sizeof single);
        append_real(out, (double)single, "%g");
        break;
    default:
        append_real(out, reader_f64(r), "%.15g");
    }
}

/* The four words of a decimal: flags (sign and scale), high, low, middle. */
static void append_decimal(buffer *out, reader *r)
{
    uint32_t flags = reader_u32(r);
    uint32_t words[3]; /* low first */
    char digits[40];
    int count = 0;
    int scale = (int)(flags >> 16 & 0xFF);

    words[2] = reader_u32(r);
    words[0] = reader_u32(r);
    words[1] = reader_u32(r);
    do {
        uint64_t rest = 0;

        for (int n = 2; n >= 0; n--) {
            rest = rest << 32 | words[n];
            words[n] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[count++] = (char)('0' + rest);
    } while (count < 30 && ((words[0] | words[1] | words[2]) != 0 || count <= scale));
    if (flags >> 31 != 0)
        buffer_append_char(out, '-');
    while (count > 0) {
        if (count-- == scale)
            buffer_append_char(out, '.');
        buffer_append_char(out, digits[count]);
    }
}

/* ---- enums ---- */

typedef struct {
    IMetaDataImport2 *import;
    uint64_t value;
    size_t size;
    buffer *out;
    bool parts; /* of flags: each of them by itself */
    bool found;
} constant_search;

static int visit_constant(void *context, mdToken field)
{
    constant_search *s = context;
    const void *value = NULL;
    uint32_t length = 0;
    uint32_t flags = 0;
    uint64_t bits = 0;

    if (!CLR_OK(clr_import_get_field_props(s->import, field, NULL, NULL, 0, NULL, &flags, NULL,
                                           NULL, NULL, &value, &length)) ||
        (flags & FIELD_LITERAL) == 0 || value == NULL)
        return 1;
    memcpy(&bits, value, s->size);
    if (s->parts && bits != 0 && (bits & s->value) == bits) {
        buffer_append_text(s->out, s->found ? " | " : "");
        s->found = CLR_OK(clr_get_field(s->import, field, s->out, NULL, NULL));
        s->value &= ~bits;
        return s->value != 0;
    }
    if (s->parts || bits != s->value)
        return 1;
    s->found = CLR_OK(clr_get_field(s->import, field, s->out, NULL, NULL));
    return !s->found;
}

/* The name of an enum's value; false = it has none. */
static bool append_constant(const trace_call *call, const trace_leaf *leaf, const uint8_t *bytes,
                            size_t size, buffer *out)
{
    static const WCHAR FLAGS[] = u"System.FlagsAttribute";
    constant_search s = {.size = size, .out = out};
    size_t before = out->length;

    if (size > sizeof s.value || !CLR_OK(clr_open_import(call->info, leaf->enum_module, &s.import)))
        return false;
    memcpy(&s.value, bytes, size);
    clr_each_field(s.import, leaf->enum_type, visit_constant, &s);
    s.parts = !s.found && s.value != 0 &&
              clr_import_get_custom_attribute_by_name(s.import, leaf->enum_type, FLAGS, NULL,
                                                      NULL) == S_OK;
    if (s.parts)
        clr_each_field(s.import, leaf->enum_type, visit_constant, &s);
    if (s.parts && s.value != 0) { /* some have no name */
        out->length = before;
        s.found = false;
    }
    clr_release(s.import);
    return s.found;
}

/* ---- values ---- */

/* [1000: 1, 2, 3, …] */
static void append_items(buffer *out, reader *r)
{
    uint8_t items = reader_u8(r);
    uint32_t count = reader_u32(r);
    uint32_t n = 0;

    buffer_format(out, "[%u", (unsigned)count);
    for (; !reader_at_end(r) && items != 0; n++) {
        buffer_append_text(out, n == 0 ? ": " : ", ");
        append_number(out, r, items);
    }
    buffer_append_text(out, n == count ? "]" : n == 0 ? ": …]" : ", …]");
}

/* 1.5 s; from a minute on as .NET writes it: 1.02:03:04 is a day and a bit more than two hours. */
static void append_time_span(buffer *out, int64_t ticks)
{
    uint64_t seconds = (ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks) / TICKS_OF_SECOND;
    unsigned days = (unsigned)(seconds / SECONDS_OF_DAY);

    if (seconds < 60) {
        buffer_format(out, "%.9g s", (double)ticks / TICKS_OF_SECOND);
        return;
    }
    buffer_append_text(out, ticks < 0 ? "-" : "");
    if (days != 0)
        buffer_format(out, "%u.", days);
    buffer_format(out, "%02u:%02u:%02u", (unsigned)(seconds / 3600 % 24),
                  (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
}

static void append_value(buffer *out, reader *r, uint8_t kind, const char *quote)
{
    switch (kind) {
    case TRACE_KIND_NULL:
        buffer_append_text(out, "null");
        break;
    case TRACE_KIND_UNKNOWN:
        buffer_append_char(out, '?');
        break;
    case CIL_TYPE_OBJECT:
        buffer_append_text(out, "{…}");
        break;
    case CIL_TYPE_STRING:
    case TRACE_KIND_CUT_STRING:
        append_string(out, r, kind == TRACE_KIND_CUT_STRING, quote);
        break;
    case TRACE_KIND_ITEMS:
        append_items(out, r);
        break;
    case TRACE_KIND_GUID:
    case TRACE_KIND_DATE_TIME:
    case TRACE_KIND_DATE_ONLY:
    case TRACE_KIND_TIME_ONLY:
    case TRACE_KIND_DATE_TIME_OFFSET:
        append_text(out, r, kind);
        break;
    case TRACE_KIND_DECIMAL:
        append_decimal(out, r);
        break;
    case TRACE_KIND_TIME_SPAN:
        append_time_span(out, (int64_t)reader_u64(r));
        break;
    default:
        append_number(out, r, kind);
    }
}

/* One value among those of a call. */
typedef struct {
    uint8_t number, kind;
    const uint8_t *bytes;
    size_t size;
    const trace_shape *shape; /* of an enum or a struct */
} value;

static bool next_item(reader *r, value *v)
{
    if (reader_at_end(r))
        return false;
    v->number = reader_u8(r);
    v->kind = reader_u8(r);
    v->size = reader_u16(r);
    v->bytes = reader_bytes(r, v->size);
    return !reader_failed(r);
}

/* The next one that stands by itself; fields of a struct are read after it. */
static bool next_value(reader *r, value *v)
{
    v->shape = NULL;
    do {
        if (!next_item(r, v))
            return false;
        if (v->kind == TRACE_KIND_SHAPE && v->size == sizeof v->shape)
            memcpy(&v->shape, v->bytes, sizeof v->shape);
    } while (v->kind == TRACE_KIND_SHAPE ||
             (v->number >= TRACE_FIRST_FIELD && v->number != TRACE_RESULT));
    return true;
}

static const trace_capture *capture_of(const trace_call *call, uint8_t number)
{
    for (uint32_t n = 0; call->plan != NULL && n < call->plan->count; n++)
        if (call->plan->captures[n].number == number)
            return &call->plan->captures[n];
    return NULL;
}

static void append_leaf(const trace_call *call, const trace_leaf *leaf, const value *v,
                        const char *quote, buffer *out)
{
    reader r = reader_of(v->bytes, v->size);

    if (leaf == NULL || leaf->enum_type == 0 || v->kind == TRACE_KIND_NULL ||
        !append_constant(call, leaf, v->bytes, v->size, out))
        append_value(out, &r, v->kind, quote);
}

/* {Number=5, Street="Road"}: `after` stands behind the struct. */
static void append_struct(const trace_call *call, const value *v, reader after, buffer *out)
{
    const char *before = "{";
    value f;

    while (next_item(&after, &f) && f.number >= TRACE_FIRST_FIELD &&
           f.number - TRACE_FIRST_FIELD < v->shape->field_count) {
        const trace_field *field = &v->shape->fields[f.number - TRACE_FIRST_FIELD];

        buffer_format(out, "%s%s=", before, field->name);
        if (field->secret)
            buffer_append_text(out, "***");
        else
            append_leaf(call, &field->leaf, &f, "\"", out);
        before = ", ";
    }
    buffer_append_text(out, before[0] == '{' ? "{…}" : "}");
}

static void append_shown(const trace_call *call, const trace_capture *capture, const value *v,
                         const char *quote, reader after, buffer *out)
{
    if (capture == NULL || capture->secret)
        buffer_append_text(out, "***");
    else if (v->kind == CIL_TYPE_VALUETYPE && v->shape != NULL)
        append_struct(call, v, after, out);
    else
        append_leaf(call, v->shape == NULL ? NULL : &v->shape->leaf, v, quote, out);
}

static bool is_shown(const trace_call *call, const value *v)
{
    return v->number < TRACE_FIRST_PATH || v->number == TRACE_RESULT ||
           (v->number - TRACE_FIRST_PATH < (int)call->wish->path_count &&
            call->wish->shown[v->number - TRACE_FIRST_PATH]);
}

void trace_values_text(const trace_call *call, buffer *out)
{
    reader r = reader_of(call->values, call->length);
    value v;

    while (next_value(&r, &v)) {
        const trace_capture *capture = capture_of(call, v.number);

        if (!is_shown(call, &v))
            continue;
        if (v.number == TRACE_RESULT)
            buffer_append_text(out, out->length == 0 ? "→ " : " → ");
        else if (out->length != 0)
            buffer_append_text(out, ", ");
        if (capture != NULL && capture->label[0] != '\0')
            buffer_format(out, "%s=", capture->label);
        append_shown(call, capture, &v, "\"", r, out);
    }
}

static bool append_about_the_call(const trace_call *call, const char *word, size_t length,
                                  buffer *out)
{
    if (length == 6 && memcmp(word, "method", 6) == 0)
        buffer_append_text(out, call->method);
    else if (length == 6 && memcmp(word, "thread", 6) == 0)
        buffer_format(out, "%u", (unsigned)call->thread_id);
    else if (length == 8 && memcmp(word, "duration", 8) == 0)
        buffer_format(out, "%.3f ms", (double)call->duration_ns / 1e6);
    else if (length == 9 && memcmp(word, "exception", 9) == 0)
        buffer_append_text(out, call->exception[0] == '\0' ? "none" : call->exception);
    else
        return false;
    return true;
}

static void append_path(const trace_call *call, const char *path, size_t length, buffer *out)
{
    reader r = reader_of(call->values, call->length);
    value v;

    while (next_value(&r, &v)) {
        const trace_capture *capture = capture_of(call, v.number);

        if (v.number < TRACE_FIRST_PATH || capture == NULL || strlen(capture->label) != length ||
            memcmp(capture->label, path, length) != 0)
            continue;
        append_shown(call, capture, &v, "", r, out);
        return;
    }
    buffer_append_char(out, '?');
}

void trace_values_log(const trace_call *call, const char *text, buffer *out)
{
    while (*text != '\0') {
        size_t length = *text == '{' ? condition_path_length(text + 1) : 0;

        if (length == 0 || text[length + 1] != '}') {
            buffer_append_char(out, *text++);
            continue;
        }
        if (!append_about_the_call(call, text + 1, length, out))
            append_path(call, text + 1, length, out);
        text += length + 2;
    }
}
