/* il_select: see il_select.h. */
#include "clarinet/names.h" /* first: its parameters have names that are types of metadata/ */

#include "cli/il_select.h"

#include <string.h>

enum { MOST_ARGUMENTS = 32 };

/* X or [A]X, without ::, may be a method's name too: [A]*::X. */
static void add_as_method(const char *pattern, buffer *out)
{
    const char *name = pattern;

    if (*name == '!')
        name++;
    if (*name == '[' && strchr(name, ']') != NULL)
        name = strchr(name, ']') + 1;
    if (*name == '\0' || *name == '@' || strstr(name, "::") != NULL)
        return;
    buffer_append(out, pattern, (size_t)(name - pattern));
    buffer_format(out, "*::%s ", name);
}

int il_select_parse(il_select *s, const assembly *a, char *const *patterns, size_t count, error *e)
{
    buffer text = BUFFER_EMPTY;
    bool includes = false;
    int code;

    memset(s, 0, sizeof *s);
    s->a = a;
    s->all = count == 0;
    if (s->all)
        return 0;
    for (size_t n = 0; n < count; n++) {
        includes |= patterns[n][0] != '!';
        buffer_format(&text, "%s ", patterns[n]);
        add_as_method(patterns[n], &text);
    }
    if (!includes)
        buffer_append_text(&text, "*");
    code = buffer_failed(&text) ? error_set(e, ERROR_MEMORY, "no memory")
                                : cil_patterns_parse(&s->patterns, buffer_text(&text), e);
    buffer_free(&text);
    return code;
}

void il_select_free(il_select *s)
{
    cil_patterns_free(&s->patterns);
    buffer_free(&s->type);
    buffer_free(&s->parameters);
}

/* The names of a type's or method's own type parameters; they stay in the file's bytes. */
static size_t generic_names(const assembly *a, uint32_t owner, const char **names)
{
    const metadata *m = &a->tables;
    uint32_t coded, row;
    size_t count = 0;

    if (!metadata_code(METADATA_GENERIC_PARAMETER, METADATA_GENERIC_OWNER, owner, &coded))
        return 0;
    row = metadata_find(m, METADATA_GENERIC_PARAMETER, METADATA_GENERIC_OWNER, coded);
    for (; row != 0 && row <= metadata_rows(m, METADATA_GENERIC_PARAMETER); row++) {
        if (count == MOST_ARGUMENTS ||
            metadata_cell(m, METADATA_GENERIC_PARAMETER, row, METADATA_GENERIC_OWNER) != coded)
            break;
        names[count++] =
            metadata_cell_string(m, METADATA_GENERIC_PARAMETER, row, METADATA_GENERIC_NAME);
    }
    return count;
}

static void append_path(void *context, uint32_t token, buffer *out)
{
    assembly_type_name(context, token, out);
}

static const char *parameters_of(void *context)
{
    il_select *s = context;
    const char *of_type[MOST_ARGUMENTS];
    const char *of_method[MOST_ARGUMENTS];
    uint32_t row = assembly_method_type(s->a, s->token & 0x00FFFFFF);
    metadata_span span = assembly_signature(s->a, s->token);
    clr_signature_names names = {.append_path = append_path,
                                 .context = (void *)(uintptr_t)s->a,
                                 .type_arguments = of_type,
                                 .method_arguments = of_method};

    if (s->parameters.length == 0 && span.data != NULL) {
        names.type_argument_count = generic_names(s->a, METADATA_TYPE_DEF << 24 | row, of_type);
        names.method_argument_count = generic_names(s->a, s->token, of_method);
        clr_signature_append_parameters(&s->parameters, span.data, span.length, &names,
                                        CLR_NAME_SHORT);
        cil_pattern_plain_parameters(&s->parameters);
    }
    return buffer_text(&s->parameters);
}

static bool has_attribute(void *context, const char *pattern)
{
    const il_select *s = context;

    return assembly_has_attribute(s->a, s->token, cil_pattern_attribute, pattern);
}

bool il_select_matches(il_select *s, uint32_t token)
{
    uint32_t row = token & 0x00FFFFFF;
    cil_pattern_subject subject = {.assembly = assembly_name(s->a),
                                   .context = s,
                                   .parameters = parameters_of,
                                   .has_attribute = has_attribute};

    if (s->all)
        return true;
    buffer_clear(&s->type);
    buffer_clear(&s->parameters);
    s->token = token;
    assembly_type_name(s->a, METADATA_TYPE_DEF << 24 | assembly_method_type(s->a, row), &s->type);
    subject.type = buffer_text(&s->type);
    subject.method =
        metadata_cell_string(&s->a->tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);
    return cil_patterns_match(&s->patterns, &subject);
}
