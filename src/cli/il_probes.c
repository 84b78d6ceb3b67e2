/* il_probes: see il_probes.h. */
#include "cli/il_probes.h"

#include "cil/encode.h"
#include "cil/signature.h"
#include "cil/wrap.h"

/* Signatures of the probes, as tokens that no assembly has. */
enum { ENTER = 0x11FFFFF1, FAILED, LEAVE };

typedef struct {
    cil_resolver assembly;
} resolving;

const char *il_probes_token(uint32_t token)
{
    switch (token) {
    case ENTER:
        return "unmanaged void (long) /* the method is entered */";
    case FAILED:
        return "unmanaged void (long) /* an exception leaves it */";
    case LEAVE:
        return "unmanaged void (long) /* it returns */";
    default:
        return NULL;
    }
}

static bool signature_of(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    static const uint8_t probe[] = {0x01, 1, CIL_TYPE_VOID, CIL_TYPE_I8};
    const resolving *r = context;

    if (il_probes_token(token) == NULL)
        return r->assembly.signature(r->assembly.context, token, bytes, length);
    *bytes = probe;
    *length = sizeof probe;
    return true;
}

/* A local for the result, after the method's own. */
static int add_result(const cil_signature *s, metadata_span old, buffer *locals,
                      cil_wrap_options *options, error *e)
{
    buffer type = BUFFER_EMPTY;
    int code = 0;

    options->has_result = s->types[cil_type_skip_modifiers(s, 0)].element != CIL_TYPE_VOID;
    if (options->has_result) {
        cil_type_copy(s, 0, &type);
        code = cil_signature_append_locals(old.data, old.length, &type, 1, locals,
                                           &options->result_local, e);
    }
    buffer_free(&type);
    return code;
}

static int check(const assembly *a, uint32_t method, cil_body *body, metadata_span locals,
                 cil_checker *checker, error *e)
{
    metadata_span signature = assembly_signature(a, method);
    resolving r = {assembly_resolver(a)};
    cil_resolver resolver = {&r, signature_of};
    cil_check_method m = {.signature = signature.data,
                          .signature_length = signature.length,
                          .locals = locals.data,
                          .locals_length = locals.length,
                          .resolver = &resolver};
    cil_check_result result;
    int code = cil_check(checker, body, &m, &result, e);

    if (code == 0 && result.max_stack > body->max_stack)
        body->max_stack = (uint16_t)result.max_stack;
    return code;
}

int il_probes_insert(const assembly *a, uint32_t method, cil_body *body, cil_checker *checker,
                     error *e)
{
    metadata_span signature = assembly_signature(a, method);
    metadata_span locals = {NULL, 0};
    cil_wrap_options options = {.handler = CIL_FAULT};
    buffer new_locals = BUFFER_EMPTY;
    buffer bytes = BUFFER_EMPTY;
    cil_signature s;
    cil_wrap wrap;
    int code;

    cil_signature_init(&s);
    if (body->local_signature != 0)
        locals = assembly_signature(a, body->local_signature);
    code = cil_signature_read_method(&s, signature.data, signature.length, e);
    if (code == 0 && (s.convention & CIL_CONVENTION_MASK) == CIL_CONVENTION_VARARG)
        code = error_set(e, ERROR_UNSUPPORTED, "the method has variable arguments");
    if (code == 0)
        code = add_result(&s, locals, &new_locals, &options, e);
    if (code == 0)
        code = cil_wrap_body(body, &options, &wrap, e);
    if (code == 0) {
        cil_insert_probe(body, wrap.enter, method, 0, ENTER);
        cil_insert_probe(body, wrap.failed, method, 0, FAILED);
        cil_insert_probe(body, wrap.leave, method, 0, LEAVE);
        if (new_locals.length != 0)
            locals = (metadata_span){new_locals.data, new_locals.length};
        code = check(a, method, body, locals, checker, e);
    }
    if (code == 0)
        code = cil_encode(body, CIL_ENCODE_FAT, &bytes, e);
    cil_signature_free(&s);
    buffer_free(&new_locals);
    buffer_free(&bytes);
    return code;
}
