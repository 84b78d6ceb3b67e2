/* shim: see shim.h. */
#include "rules/shim.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clarinet/flags.h"
#include "metadata/assembly.h"

const char SHIM_TYPE[] = "NewRelic.Agent.Core.AgentShim";
const char SHIM_METHOD[] = "GetFinishTracerDelegate";

enum { SHIM_PARAMETERS = 11 };

static const char *const PARAMETERS[SHIM_PARAMETERS] = {
    "System.String", "System.UInt32",   "System.String", "System.String",
    "System.Type",   "System.String",   "System.String", "System.String",
    "System.Object", "System.Object[]", "System.UInt64"};
static const char RESULT[] = "System.Action`2[System.Object,System.Exception]";
static const char WANTED[] =
    "public static Action<object, Exception> GetFinishTracerDelegate(string, uint, string, string, "
    "Type, string, string, string, object, object[], ulong)";

/* The row of a type by its name; 0 when there is none. */
static uint32_t find_type(const assembly *a, const char *name)
{
    uint32_t rows = metadata_rows(&a->tables, METADATA_TYPE_DEF);
    buffer text = BUFFER_EMPTY;
    uint32_t found = 0;

    for (uint32_t row = 1; row <= rows && found == 0; row++) {
        buffer_clear(&text);
        assembly_type_name(a, (uint32_t)METADATA_TYPE_DEF << 24 | row, &text);
        if (text_equal(buffer_text(&text), name))
            found = row;
    }
    buffer_free(&text);
    return found;
}

/* Does the library say that the type is in another one? What is there, nobody knows yet. */
static bool is_elsewhere(const assembly *a, const char *name)
{
    const metadata *m = &a->tables;
    buffer text = BUFFER_EMPTY;
    bool found = false;

    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_EXPORTED_TYPE) && !found; row++) {
        const char *space = metadata_cell_string(m, METADATA_EXPORTED_TYPE, row, 3);

        buffer_clear(&text);
        buffer_format(&text, "%s%s%s", space, space[0] == '\0' ? "" : ".",
                      metadata_cell_string(m, METADATA_EXPORTED_TYPE, row, 2));
        found = text_equal(buffer_text(&text), name);
    }
    buffer_free(&text);
    return found;
}

static bool is_type(const cil_signature *s, const cil_type_namer *names, uint32_t type,
                    const char *wanted, bool or_object)
{
    buffer text = BUFFER_EMPTY;
    bool answer;

    cil_type_text(s, type, names, &text);
    answer = text_equal(buffer_text(&text), wanted) ||
             (or_object && text_equal(buffer_text(&text), "System.Object"));
    buffer_free(&text);
    return answer;
}

/* As a delegate takes it: where an object of a class is passed, `object` will do. */
static bool has_right_signature(const assembly *a, uint32_t row)
{
    metadata_span span = assembly_signature(a, (uint32_t)METADATA_METHOD_DEF << 24 | row);
    cil_type_namer names = assembly_namer(a, false);
    cil_signature s;
    uint32_t type;
    bool right;

    cil_signature_init(&s);
    right = cil_signature_read(&s, span.data, span.length, NULL) == 0 &&
            s.count == SHIM_PARAMETERS && s.generic_count == 0 &&
            is_type(&s, &names, 0, RESULT, false);
    type = right ? cil_signature_first(&s) : 0;
    for (int i = 0; right && i < SHIM_PARAMETERS; i++, type = cil_signature_after(&s, type))
        right = is_type(&s, &names, type, PARAMETERS[i], i != 1 && i != SHIM_PARAMETERS - 1);
    cil_signature_free(&s);
    return right;
}

static int check_method(const assembly *a, uint32_t type_row, const char *type, error *e)
{
    const metadata *m = &a->tables;
    uint32_t row;
    uint32_t end;
    uint32_t found = 0;
    uint32_t count = 0;

    metadata_list(m, METADATA_TYPE_DEF, type_row, METADATA_TYPE_DEF_METHODS, &row, &end);
    for (; row < end; row++) {
        uint32_t flags = metadata_cell(m, METADATA_METHOD_DEF, row, METADATA_METHOD_FLAGS);

        if ((flags & mdMemberAccessMask) == mdPublic &&
            text_equal(metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME),
                       SHIM_METHOD)) {
            found = row;
            count++;
        }
    }
    if (count == 0)
        return error_set(e, ERROR_UNSUPPORTED, "its class %s has no public method %s", type,
                         SHIM_METHOD);
    if (count > 1)
        return error_set(e, ERROR_UNSUPPORTED, "its class %s has %u public methods %s, not one",
                         type, count, SHIM_METHOD);
    if ((metadata_cell(m, METADATA_METHOD_DEF, found, METADATA_METHOD_FLAGS) & mdStatic) == 0 ||
        !has_right_signature(a, found))
        return error_set(e, ERROR_UNSUPPORTED, "the method of its class %s is not %s", type,
                         WANTED);
    return 0;
}

int shim_check(const void *bytes, size_t length, const char *type, error *e)
{
    const char *name = type != NULL ? type : SHIM_TYPE;
    assembly *a = memory_allocate_array(1, sizeof *a); /* large for a stack that is not ours */
    error why;
    uint32_t row;
    int code = 0;

    if (a == NULL)
        return error_set(e, ERROR_MEMORY, "no memory to look at a shim");
    error_clear(&why);
    if (assembly_open(a, bytes, length, &why) != 0) {
        code = error_set(e, ERROR_CORRUPT, "it is not a .NET assembly (%s)", why.message);
    } else {
        row = find_type(a, name);
        if (row != 0)
            code = check_method(a, row, name, e);
        else if (!is_elsewhere(a, name))
            code = error_set(e, ERROR_NOT_FOUND, "it has no class %s", name);
    }
    memory_free(a);
    return code;
}

static bool comes_with_runtime(const char *name)
{
    return text_equal(name, "mscorlib") || text_equal(name, "netstandard") ||
           text_equal(name, "System") || text_starts_with(name, "System.") ||
           text_starts_with(name, "Microsoft.");
}

void shim_each_need(const void *bytes, size_t length, void (*each)(void *context, const char *name),
                    void *context)
{
    assembly *a = memory_allocate_array(1, sizeof *a);
    error ignored;

    error_clear(&ignored);
    if (a != NULL && assembly_open(a, bytes, length, &ignored) == 0) {
        uint32_t rows = metadata_rows(&a->tables, METADATA_ASSEMBLY_REF);

        for (uint32_t row = 1; row <= rows; row++) {
            const char *name = metadata_cell_string(&a->tables, METADATA_ASSEMBLY_REF, row,
                                                    METADATA_ASSEMBLY_REF_NAME);

            if (name[0] != '\0' && !comes_with_runtime(name))
                each(context, name);
        }
    }
    memory_free(a);
}
