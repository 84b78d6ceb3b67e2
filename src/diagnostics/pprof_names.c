/*
 * pprof_names: texts, functions, modules and locations of a profile in pprof's format; they may
 * come after the samples that use them. A location with several lines is several frames: the first
 * is innermost. See pprof_file.h; tests/profile.proto says the fields.
 */
#include <string.h>

#include "base/memory.h"
#include "diagnostics/pprof_private.h"

enum {
    MOST_LINES = 64, /* frames of one pprof_location */
    MOST_TEXT = 4096,
};

/* ---- the message ---- */

/* The next field; false at the end, and when the message is broken: then r failed. */
bool pprof_next_field(reader *r, pprof_field *f)
{
    uint64_t key;
    size_t length = 0;

    if (reader_at_end(r))
        return false;
    key = reader_varint(r);
    f->number = key >> 3;
    f->wire = key & 7;
    f->value = 0;
    f->bytes = reader_of(NULL, 0);
    switch (f->wire) {
    case WIRE_NUMBER:
        f->value = reader_varint(r);
        break;
    case WIRE_EIGHT:
        reader_u64(r);
        break;
    case WIRE_BYTES: {
        const uint8_t *bytes = reader_blob(r, &length);

        f->bytes = reader_of(bytes, length);
        break;
    }
    case WIRE_FOUR:
        reader_u32(r);
        break;
    default:
        r->failed = true;
    }
    return !reader_failed(r);
}

/* `items` with room for one more; as they were, and p->failed, when there is no memory. */
static void *grow(pprof_file *p, void *items, size_t count, size_t *capacity, size_t size)
{
    size_t wish = *capacity * 2 + 64;
    void *more;

    if (count < *capacity)
        return items;
    more = memory_resize(items, wish * size);
    if (more == NULL) {
        p->failed = true;
        return items;
    }
    *capacity = wish;
    return more;
}

static void remember(pprof_file *p, table_u64 *index, uint64_t id, size_t number)
{
    p->failed = p->failed || !table_u64_put(index, id, number);
}

size_t pprof_look_up(const table_u64 *index, uint64_t id)
{
    uint64_t found = 0;

    return table_u64_get(index, id, &found) ? (size_t)found : 0;
}

reader pprof_text_of(const pprof_file *p, uint64_t number)
{
    return number < p->text_count ? p->texts[number] : reader_of("", 0);
}

/* A text as a string of the recording; 0 = "". */
uint32_t pprof_string_of(pprof_file *p, uint64_t number)
{
    reader text = pprof_text_of(p, number);
    size_t length = reader_left(&text);

    return import_string(&p->names, (const char *)text.begin,
                         length < MOST_TEXT ? length : MOST_TEXT);
}

/* ---- first pass: what samples refer to ---- */

static void take_value_kind(pprof_file *p, reader message)
{
    pprof_value *v = &p->values[p->value_count];
    pprof_field f;

    if (p->value_count == PPROF_VALUES)
        return;
    while (pprof_next_field(&message, &f)) {
        if (f.number == 1)
            v->type = f.value;
        else if (f.number == 2)
            v->unit = f.value;
    }
    p->value_count++;
}

static void take_function(pprof_file *p, reader message)
{
    pprof_function it = {0};
    uint64_t id = 0;
    pprof_field f;

    while (pprof_next_field(&message, &f)) {
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2)
            it.name = f.value;
        else if (f.number == 4)
            it.file = f.value;
    }
    p->functions = grow(p, p->functions, p->function_count, &p->function_capacity, sizeof it);
    if (p->failed)
        return;
    p->functions[p->function_count++] = it;
    remember(p, &p->function_index, id, p->function_count);
}

static void take_text(pprof_file *p, reader text)
{
    p->texts = grow(p, p->texts, p->text_count, &p->text_capacity, sizeof *p->texts);
    if (!p->failed)
        p->texts[p->text_count++] = text;
}

static int first_pass(pprof_file *p, error *e)
{
    reader r = p->whole;
    pprof_field f;

    while (!p->failed && pprof_next_field(&r, &f)) {
        switch (f.number) {
        case PROFILE_VALUE:
            take_value_kind(p, f.bytes);
            break;
        case PROFILE_FUNCTION:
            take_function(p, f.bytes);
            break;
        case PROFILE_TEXT:
            take_text(p, f.bytes);
            break;
        case PROFILE_TIME:
            p->time_ns = f.value;
            break;
        case PROFILE_DURATION:
            p->duration_ns = f.value;
            break;
        case PROFILE_DEFAULT:
            p->chosen = f.value;
            break;
        default:
            break;
        }
    }
    if (reader_failed(&r) || p->value_count == 0 || p->text_count == 0) {
        error_set(e, ERROR_CORRUPT, "this is no profile in pprof's format, or it is broken");
        return error_advise(e, "make it again; `pprof -raw FILE` shows whether pprof reads it");
    }
    return 0;
}

/* ---- modules and frames, once all texts are there ---- */

static void take_mapping(pprof_file *p, reader message)
{
    uint64_t id = 0, limit = 0, path = 0;
    pprof_mapping it = {0};
    recording_module module = {.kind = RECORDING_MODULE_NATIVE, .identity = NULL};
    reader text;
    size_t length, base;
    pprof_field f;

    while (pprof_next_field(&message, &f)) {
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2)
            it.start = f.value;
        else if (f.number == 3)
            limit = f.value;
        else if (f.number == 5)
            path = f.value;
    }
    text = pprof_text_of(p, path);
    length = reader_left(&text);
    for (base = length; base > 0 && text.begin[base - 1] != '/';)
        base--;
    p->mappings = grow(p, p->mappings, p->mapping_count, &p->mapping_capacity, sizeof it);
    if (length - base > 0 && length < MOST_TEXT && !p->failed) {
        module.id = it.module = (uint32_t)p->mapping_count + 1;
        it.is_managed = length > 4 && memcmp(text.begin + length - 4, ".dll", 4) == 0;
        module.kind = it.is_managed ? RECORDING_MODULE_MANAGED : RECORDING_MODULE_NATIVE;
        module.name = import_string(&p->names, (const char *)text.begin + base, length - base);
        module.path = pprof_string_of(p, path);
        module.base = it.start;
        module.size = limit > it.start ? limit - it.start : 0;
        import_begin_record(&p->names.modules, RECORDING_MODULE);
        recording_put_module(&p->names.modules.out, &module);
        p->mappings[p->mapping_count++] = it;
        remember(p, &p->mapping_index, id, p->mapping_count);
    }
}

static uint32_t method_of(pprof_file *p, size_t number, uint32_t module)
{
    uint64_t *id = table_u64_at(&p->methods, (uint64_t)number << 32 | module, 0);

    if (id == NULL) {
        p->failed = true;
        return 0;
    }
    if (*id == 0) {
        recording_method method = {.id = ++p->names.method_count, .module = module};

        method.name = pprof_string_of(p, p->functions[number - 1].name);
        import_begin_record(&p->names.methods, RECORDING_METHOD);
        recording_put_method(&p->names.methods.out, &method);
        *id = method.id;
    }
    return (uint32_t)*id;
}

static void add_frame(pprof_file *p, uint64_t kind, uint64_t a, uint64_t b)
{
    p->frames = grow(p, p->frames, p->frame_count, &p->frame_capacity, sizeof *p->frames);
    if (p->failed)
        return;
    p->frames[p->frame_count++] = ++p->last_frame;
    import_begin_record(&p->frame_chunks, RECORDING_FRAME);
    recording_put_frame(&p->frame_chunks.out, p->last_frame, kind, a, b);
}

static void add_line(pprof_file *p, const pprof_mapping *m, reader message)
{
    uint64_t id = 0, line = 0;
    const pprof_function *it;
    size_t number;
    pprof_field f;

    while (pprof_next_field(&message, &f)) {
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2)
            line = f.value;
    }
    number = pprof_look_up(&p->function_index, id);
    if (number == 0)
        return;
    it = &p->functions[number - 1];
    if (m != NULL && !m->is_managed)
        add_frame(p, RECORDING_FRAME_NATIVE, m->module, 0);
    else
        add_frame(p, RECORDING_FRAME_MANAGED, method_of(p, number, m == NULL ? 0 : m->module), 0);
    import_begin_record(&p->symbol_chunks, RECORDING_SYMBOL);
    recording_put_symbol(&p->symbol_chunks.out, p->last_frame, pprof_string_of(p, it->name),
                         pprof_string_of(p, it->file), line < UINT32_MAX ? line : 0);
}

static void take_location(pprof_file *p, reader message)
{
    pprof_location it = {.first = p->frame_count};
    const pprof_mapping *m = NULL;
    uint64_t id = 0, address = 0;
    reader again = message;
    size_t number, lines = 0;
    pprof_field f;

    while (pprof_next_field(&message, &f)) {
        if (f.number == 1) {
            id = f.value;
        } else if (f.number == 2) {
            number = pprof_look_up(&p->mapping_index, f.value);
            m = number == 0 ? NULL : &p->mappings[number - 1];
        } else if (f.number == 3) {
            address = f.value;
        }
    }
    while (!p->failed && pprof_next_field(&again, &f) && lines < MOST_LINES) {
        if (f.number != 4 || f.wire != WIRE_BYTES)
            continue;
        add_line(p, m, f.bytes);
        lines++;
    }
    if (p->frame_count == it.first && m != NULL)
        add_frame(p, RECORDING_FRAME_NATIVE, m->module,
                  address > m->start ? address - m->start : address);
    it.count = p->frame_count - it.first;
    p->locations = grow(p, p->locations, p->location_count, &p->location_capacity, sizeof it);
    if (p->failed)
        return;
    p->locations[p->location_count++] = it;
    remember(p, &p->location_index, id, p->location_count);
}

void pprof_take_all(pprof_file *p, uint64_t number, void (*take)(pprof_file *p, reader message))
{
    reader r = p->whole;
    pprof_field f;

    while (!p->failed && pprof_next_field(&r, &f))
        if (f.number == number && f.wire == WIRE_BYTES)
            take(p, f.bytes);
}

int pprof_read_names(pprof_file *p, error *e)
{
    int code = first_pass(p, e);

    if (code == 0) {
        pprof_take_all(p, PROFILE_MAPPING, take_mapping);
        pprof_take_all(p, PROFILE_LOCATION, take_location);
    }
    return code;
}
