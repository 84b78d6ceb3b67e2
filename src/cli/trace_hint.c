/* trace_hint: see trace_hint.h. */
#include "cli/trace_hint.h"

#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/table.h"
#include "base/text.h"
#include "cil/body.h"
#include "cil/pattern.h"
#include "metadata/assembly.h"

enum {
    MOST_METHODS = 2000, /* beyond that nobody reads it */
    MOST_NAMES = 5,      /* shown */
    INLINE_LIMIT = 100,  /* bytes of code that the JIT inlines at most */
    NO_INLINING = 8,     /* MethodImplAttributes.NoInlining */
};

typedef struct {
    assembly a;
    cil_body body;
    table_u64 delegates; /* tokens of methods whose address is taken */
    table_u64 inlined;   /* of those that code made at run time may have inlined */
    table_u64 named;     /* and of those that were named: async ones come twice */
} hint_file;

static bool makes_code(const assembly *a)
{
    for (uint32_t row = 1; row <= metadata_rows(&a->tables, METADATA_ASSEMBLY_REF); row++) {
        const char *name = metadata_cell_string(&a->tables, METADATA_ASSEMBLY_REF, row,
                                                METADATA_ASSEMBLY_REF_NAME);

        if (text_starts_with(name, "Microsoft.AspNetCore") ||
            strcmp(name, "System.Linq.Expressions") == 0)
            return true;
    }
    return false;
}

static void find_delegates(hint_file *f)
{
    for (uint32_t row = 1; row <= metadata_rows(&f->a.tables, METADATA_METHOD_DEF); row++) {
        pe_span bytes = assembly_body(&f->a, row);

        if (bytes.data == NULL || cil_decode(&f->body, bytes.data, bytes.length, NULL) != 0)
            continue;
        for (cil_at at = cil_first(&f->body); at != CIL_END; at = cil_get(&f->body, at)->next) {
            const cil_instruction *i = cil_get(&f->body, at);

            if (i->opcode == CIL_LDFTN)
                table_u64_put(&f->delegates, i->operand.token, 1);
        }
    }
}

/* Leaves its body behind. */
static bool is_small(hint_file *f, uint32_t token)
{
    uint32_t row = token & 0x00FFFFFF;
    pe_span bytes = assembly_body(&f->a, row);

    return bytes.data != NULL && cil_decode(&f->body, bytes.data, bytes.length, NULL) == 0 &&
           f->body.code_size <= INLINE_LIMIT && f->body.clause_count == 0 &&
           (metadata_cell(&f->a.tables, METADATA_METHOD_DEF, row, METADATA_METHOD_IMPL_FLAGS) &
            NO_INLINING) == 0;
}

static bool is_handler(hint_file *f, uint32_t token)
{
    uint64_t one;

    return table_u64_get(&f->delegates, token, &one) ||
           assembly_has_attribute(&f->a, token, cil_pattern_attribute, "Http*") ||
           assembly_has_attribute(&f->a, token, cil_pattern_attribute, "Route");
}

/* Small handlers, and what small ones call, if it is small, and so on. Calls of other assemblies
 * are not followed. */
static void find_inlined(hint_file *f)
{
    uint32_t rows = metadata_rows(&f->a.tables, METADATA_METHOD_DEF);
    uint32_t *next = memory_allocate_array((size_t)rows + 1, sizeof *next);
    size_t count = 0;
    uint64_t one;

    for (uint32_t row = 1; row <= rows && next != NULL; row++) {
        uint32_t token = METADATA_METHOD_DEF << 24 | row;

        if (is_handler(f, token) && is_small(f, token) && table_u64_put(&f->inlined, token, 1))
            next[count++] = token;
    }
    while (count != 0) {
        table_u64 called;

        table_u64_init(&called);
        is_small(f, next[--count]);
        for (cil_at at = cil_first(&f->body); at != CIL_END; at = cil_get(&f->body, at)->next) {
            const cil_instruction *i = cil_get(&f->body, at);

            if ((i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT) &&
                i->operand.token >> 24 == METADATA_METHOD_DEF)
                table_u64_put(&called, i->operand.token, 1);
        }
        for (uint32_t row = 1; row <= rows && called.count != 0; row++) {
            uint32_t token = METADATA_METHOD_DEF << 24 | row;

            if (table_u64_get(&called, token, &one) && !table_u64_get(&f->inlined, token, &one) &&
                is_small(f, token) && table_u64_put(&f->inlined, token, 1))
                next[count++] = token;
        }
        table_u64_free(&called);
    }
    memory_free(next);
}

static bool is_traced(const trace_results *results, const model_method *method)
{
    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];

        if (r->kind == TRACE_KIND_METHOD && r->name == method->name &&
            r->parameters == method->parameters)
            return true;
    }
    return false;
}

/* Appends the names of the module's methods to `names`; returns how many there are by then. */
static size_t look_at(const model *m, const model_process *p, const trace_results *results,
                      uint32_t module, hint_file *f, buffer *names, size_t count)
{
    for (size_t n = 0; n < p->method_count; n++) {
        const model_method *method = &p->methods[n];
        const char *name = model_text(m, method->name);
        uint64_t one;

        if (method->module != module || method->token >> 24 != METADATA_METHOD_DEF ||
            !is_traced(results, method) || !table_u64_get(&f->inlined, method->token, &one) ||
            table_u64_get(&f->named, method->token, &one))
            continue;
        table_u64_put(&f->named, method->token, 1);
        if (count < MOST_NAMES) {
            buffer_append_text(names, count == 0 ? "" : ", ");
            text_append_cleaned(names, name, strlen(name));
        }
        count++;
    }
    return count;
}

static bool has_traced(const model_process *p, const trace_results *results, uint32_t module)
{
    for (size_t n = 0; n < p->method_count; n++)
        if (p->methods[n].module == module && is_traced(results, &p->methods[n]))
            return true;
    return false;
}

void trace_hint_print(const model *m, const trace_results *results, FILE *out)
{
    hint_file *f = memory_allocate_array(1, sizeof *f);
    buffer names = BUFFER_EMPTY;
    const model_process *p = m->process_count == 1 ? &m->processes[0] : NULL; /* attached to */
    size_t count = 0;

    for (uint32_t n = 0;
         f != NULL && p != NULL && n < p->module_count && results->count <= MOST_METHODS; n++) {
        const char *path = model_text(m, p->modules[n].path);
        buffer bytes = BUFFER_EMPTY;
        error e;

        if (has_traced(p, results, n) && path[0] == '/' && os_read_file(path, 0, &bytes, &e) == 0 &&
            assembly_open(&f->a, bytes.data, bytes.length, &e) == 0 && makes_code(&f->a)) {
            cil_body_init(&f->body);
            table_u64_init(&f->delegates);
            table_u64_init(&f->named);
            table_u64_init(&f->inlined);
            find_delegates(f);
            find_inlined(f);
            count = look_at(m, p, results, n, f, &names, count);
            table_u64_free(&f->delegates);
            table_u64_free(&f->inlined);
            table_u64_free(&f->named);
            cil_body_free(&f->body);
        }
        buffer_free(&bytes);
    }
    if (count != 0)
        fprintf(out,
                "clarinet: code made at run time (ASP.NET Core's around handlers, compiled "
                "expressions) may have\n  inlined small methods before the tracing; such calls "
                "are not counted: %s%s\n"
                "  `clarinet trace PATTERN -- CMD` counts all of them; the requests of a running "
                "service are all in\n  Microsoft.AspNetCore.Routing.EndpointMiddleware::Invoke "
                "--args=httpContext._features.Collection.Path\n",
                buffer_text(&names), count > MOST_NAMES ? ", …" : "");
    buffer_free(&names);
    memory_free(f);
}
