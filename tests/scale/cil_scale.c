/*
 * cil_scale: the proof over whole frameworks. cil_scale [--digest] [--wrap] [--time] ASSEMBLY…
 *
 * Every method with IL: decode, encode, compare byte for byte; the checker must accept it and find
 * a stack no deeper than declared; every signature is read and written again. --wrap puts probes
 * into every method and checks the result too. --digest prints a line per method (token, declared
 * stack, number of instructions and clauses, hash of the decoded instructions and clauses), which
 * the Mono.Cecil oracle prints in the same form. --time reads one method after the other, as the
 * oracle's --time does: instructions, methods, ns of processor time an instruction to decode, and
 * to decode and encode. Exit 1 if any method fails; the first 20 are named. Files that are not .NET
 * are passed over.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "cil/check.h"
#include "cil/edit.h"
#include "cil/encode.h"
#include "cil/wrap.h"
#include "metadata/assembly.h"

typedef struct {
    uint64_t files, methods, instructions, bytes, clauses, tail, jmp, wrapped, failed;
    uint64_t decode_ns, both_ns, check_ns;
    bool digest, wrap, time;
    cil_body body;
    cil_checker *checker;
    buffer out;
} scale;

static void fail(scale *s, const assembly *a, uint32_t token, const char *what, const error *e)
{
    buffer name = BUFFER_EMPTY;

    if (s->failed++ >= 20)
        return;
    assembly_member_name(a, token, &name);
    fprintf(stderr, "%s %08X %s: %s%s%s\n", assembly_name(a), (unsigned)token, buffer_text(&name),
            what, e != NULL ? ": " : "", e != NULL ? e->message : "");
    buffer_free(&name);
}

static void hash(uint64_t *h, uint64_t value)
{
    for (unsigned n = 0; n < 8; n++) {
        *h ^= value >> (8 * n) & 0xFF;
        *h *= 0x100000001B3u;
    }
}

/* The oracle keeps a bare type parameter, but not which TypeSpec it was. */
static uint32_t token_kept(const assembly *a, uint32_t token)
{
    metadata_span span = {NULL, 0};

    if (token >> 24 == METADATA_TYPE_SPEC)
        span = assembly_signature(a, token);
    return span.length != 0 &&
                   (span.data[0] == CIL_TYPE_VARIABLE || span.data[0] == CIL_TYPE_METHOD_VARIABLE)
               ? METADATA_TYPE_SPEC << 24
               : token;
}

/* In the order and form that the oracle uses: offsets, full opcode value, operand; then clauses. */
static void print_digest(const assembly *a, const cil_body *b, uint32_t token)
{
    uint64_t h = 0xCBF29CE484222325u;
    uint32_t count = 0;

    for (cil_at at = cil_first(b); at != CIL_END; at = cil_get(b, at)->next) {
        const cil_instruction *i = cil_get(b, at);

        count++;
        hash(&h, i->offset);
        hash(&h, i->opcode > 0xFF ? 0xFE00u | (i->opcode & 0xFF) : i->opcode);
        if (cil_opcode_is_branch(i->opcode))
            hash(&h, cil_get(b, i->operand.target)->offset);
        else if (i->opcode == CIL_SWITCH)
            for (uint32_t n = 0; n < i->operand.cases.count; n++)
                hash(&h, cil_get(b, b->cases[i->operand.cases.first + n])->offset);
        else if (i->opcode == CIL_LDSTR)
            hash(&h, 0x70000000); /* the oracle keeps the text, not the token */
        else if (cil_opcode_is_token(i->opcode))
            hash(&h, token_kept(a, i->operand.token));
        else if (cil_opcode_of(i->opcode)->operand != CIL_OPERAND_NONE)
            hash(&h, i->operand.bits);
    }
    for (uint32_t n = 0; n < b->clause_count; n++) {
        const cil_clause *c = &b->clauses[n];
        uint32_t end = b->code_size;

        hash(&h, c->kind);
        hash(&h, cil_get(b, c->try_begin)->offset);
        hash(&h, c->try_end == CIL_END ? end : cil_get(b, c->try_end)->offset);
        hash(&h, cil_get(b, c->handler_begin)->offset);
        hash(&h, c->handler_end == CIL_END ? end : cil_get(b, c->handler_end)->offset);
        hash(&h, c->kind == CIL_FILTER  ? cil_get(b, c->filter_begin)->offset
                 : c->kind == CIL_CATCH ? token_kept(a, c->token)
                                        : 0);
    }
    printf("%08x %u %u %u %016llx\n", (unsigned)token, (unsigned)b->max_stack, (unsigned)count,
           (unsigned)b->clause_count, (unsigned long long)h);
}

static bool locals_of(const assembly *a, const cil_body *b, cil_check_method *m)
{
    metadata_span span;

    m->locals = NULL;
    if (b->local_signature == 0)
        return true;
    span = assembly_signature(a, b->local_signature);
    m->locals = span.data;
    m->locals_length = span.length;
    return span.data != NULL;
}

/* Probes in and out of the body; the result must pass the checker as well. */
static void wrap_method(scale *s, const assembly *a, uint32_t token, cil_check_method *m)
{
    cil_wrap_options options = {.handler = CIL_FAULT, .drop_tail_calls = true};
    cil_signature signature;
    cil_check_result result;
    cil_wrap wrap;
    buffer type = BUFFER_EMPTY;
    buffer locals = BUFFER_EMPTY;
    error e;

    cil_signature_init(&signature);
    cil_signature_read(&signature, m->signature, m->signature_length, &e);
    options.has_result =
        signature.types[cil_type_skip_modifiers(&signature, 0)].element != CIL_TYPE_VOID;
    if (options.has_result) {
        cil_type_copy(&signature, 0, &type);
        if (cil_signature_append_locals(m->locals, m->locals_length, &type, 1, &locals,
                                        &options.result_local, &e) != 0) {
            fail(s, a, token, "locals", &e);
            goto out;
        }
        m->locals = locals.data;
        m->locals_length = locals.length;
    }
    if (cil_wrap_body(&s->body, &options, &wrap, &e) != 0) {
        s->jmp++;
        goto out;
    }
    cil_insert(&s->body, wrap.enter, CIL_NOP);
    cil_insert(&s->body, wrap.failed, CIL_NOP);
    cil_insert(&s->body, wrap.leave, CIL_NOP);
    if (cil_check(s->checker, &s->body, m, &result, &e) != 0)
        fail(s, a, token, "wrapped", &e);
    if (s->body.max_stack < result.max_stack)
        s->body.max_stack = (uint16_t)result.max_stack;
    s->body.local_signature = options.has_result ? 0x11000001 : s->body.local_signature;
    buffer_clear(&s->out);
    if (cil_encode(&s->body, 0, &s->out, &e) != 0 ||
        cil_decode(&s->body, s->out.data, s->out.length, &e) != 0 ||
        cil_check(s->checker, &s->body, m, &result, &e) != 0)
        fail(s, a, token, "wrapped, encoded and decoded", &e);
    s->wrapped++;
out:
    cil_signature_free(&signature);
    buffer_free(&type);
    buffer_free(&locals);
}

static void one_method(scale *s, const assembly *a, uint32_t row, const cil_resolver *resolver)
{
    uint32_t token = METADATA_METHOD_DEF << 24 | row;
    pe_span bytes = assembly_body(a, row);
    metadata_span signature = assembly_signature(a, token);
    cil_check_method method = {
        .signature = signature.data, .signature_length = signature.length, .resolver = resolver};
    cil_check_result result;
    uint64_t start = os_monotonic_ns();
    error e;

    if (bytes.data == NULL)
        return;
    s->methods++;
    if (cil_decode(&s->body, bytes.data, bytes.length, &e) != 0) {
        fail(s, a, token, "decode", &e);
        return;
    }
    buffer_clear(&s->out);
    if (cil_encode(&s->body, 0, &s->out, &e) != 0) {
        fail(s, a, token, "encode", &e);
        return;
    }
    s->both_ns += os_monotonic_ns() - start;
    s->instructions += s->body.instruction_count - 1;
    s->clauses += s->body.clause_count;
    s->bytes += s->body.size;
    s->tail += cil_has(&s->body, CIL_TAIL);
    if (s->out.length != s->body.size || memcmp(s->out.data, bytes.data, s->out.length) != 0)
        fail(s, a, token, "encoded bytes differ", NULL);
    if (s->digest) {
        print_digest(a, &s->body, token);
        return;
    }
    start = os_monotonic_ns();
    if (!locals_of(a, &s->body, &method))
        fail(s, a, token, "no local signature", NULL);
    else if (cil_check(s->checker, &s->body, &method, &result, &e) != 0)
        fail(s, a, token, "check", &e);
    else if (result.max_stack > s->body.max_stack)
        fail(s, a, token, "deeper than declared", NULL);
    else if (s->wrap)
        wrap_method(s, a, token, &method);
    s->check_ns += os_monotonic_ns() - start;
}

static void one_signature(scale *s, const assembly *a, cil_signature *sig, uint32_t token)
{
    metadata_span span = assembly_signature(a, token);
    error e;

    if (cil_signature_read(sig, span.data, span.length, &e) != 0) {
        fail(s, a, token, "signature", &e);
        return;
    }
    buffer_clear(&s->out);
    cil_signature_write(sig, &s->out);
    if (s->out.length != span.length || memcmp(s->out.data, span.data, span.length) != 0)
        fail(s, a, token, "signature differs", NULL);
}

static void all_signatures(scale *s, const assembly *a)
{
    static const unsigned tables[] = {METADATA_METHOD_DEF, METADATA_FIELD, METADATA_MEMBER_REF,
                                      METADATA_STANDALONE_SIGNATURE, METADATA_PROPERTY};
    cil_signature sig;

    cil_signature_init(&sig);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (uint32_t row = 1; row <= metadata_rows(&a->tables, tables[t]); row++)
            one_signature(s, a, &sig, tables[t] << 24 | row);
    for (uint32_t row = 1; row <= metadata_rows(&a->tables, METADATA_TYPE_SPEC); row++) {
        metadata_span span = assembly_signature(a, METADATA_TYPE_SPEC << 24 | row);
        error e;

        if (cil_signature_read_type(&sig, span.data, span.length, &e) != 0)
            fail(s, a, METADATA_TYPE_SPEC << 24 | row, "type spec", &e);
    }
    cil_signature_free(&sig);
}

/* ns of processor time to decode every body, and to encode it again if asked. */
static uint64_t time_pass(scale *s, const assembly *a, const pe_span *bodies, bool encode)
{
    uint32_t rows = metadata_rows(&a->tables, METADATA_METHOD_DEF);
    uint64_t start = os_thread_cpu_ns();
    error e;

    for (uint32_t row = 1; row <= rows; row++) {
        if (bodies[row].data == NULL)
            continue;
        buffer_clear(&s->out);
        if (cil_decode(&s->body, bodies[row].data, bodies[row].length, &e) != 0 ||
            (encode && cil_encode(&s->body, 0, &s->out, &e) != 0))
            fail(s, a, METADATA_METHOD_DEF << 24 | row, "decode and encode", &e);
        if (encode)
            continue;
        s->methods++;
        s->instructions += s->body.instruction_count - 1;
    }
    return os_thread_cpu_ns() - start;
}

/* The bodies are looked up before, as the oracle has them before it is timed. */
static void time_methods(scale *s, const assembly *a)
{
    uint32_t rows = metadata_rows(&a->tables, METADATA_METHOD_DEF);
    pe_span *bodies = memory_allocate_array((size_t)rows + 1, sizeof *bodies);

    for (uint32_t row = 1; row <= rows; row++)
        bodies[row] = assembly_body(a, row);
    s->decode_ns += time_pass(s, a, bodies, false);
    s->both_ns += time_pass(s, a, bodies, true);
    memory_free(bodies);
}

static void one_file(scale *s, const char *path)
{
    buffer bytes = BUFFER_EMPTY;
    assembly *a = memory_allocate(sizeof *a);
    cil_resolver resolver;
    error e;

    if (os_read_file(path, 0, &bytes, &e) != 0) {
        fprintf(stderr, "%s: %s\n", path, e.message);
        s->failed++;
    } else if (assembly_open(a, bytes.data, bytes.length, &e) == 0) {
        resolver = assembly_resolver(a);
        s->files++;
        if (s->time)
            time_methods(s, a);
        for (uint32_t row = 1; !s->time && row <= metadata_rows(&a->tables, METADATA_METHOD_DEF);
             row++)
            one_method(s, a, row, &resolver);
        if (!s->digest && !s->time)
            all_signatures(s, a);
    } else if (e.code != ERROR_NOT_FOUND && bytes.length > 2 && bytes.data[0] == 'M') {
        fprintf(stderr, "%s: %s\n", path, e.message);
        s->failed++;
    }
    memory_free(a);
    buffer_free(&bytes);
}

int main(int argc, char **argv)
{
    scale s;

    memset(&s, 0, sizeof s);
    cil_body_init(&s.body);
    s.checker = cil_checker_create();
    for (int n = 1; n < argc; n++) {
        if (strcmp(argv[n], "--digest") == 0)
            s.digest = true;
        else if (strcmp(argv[n], "--wrap") == 0)
            s.wrap = true;
        else if (strcmp(argv[n], "--time") == 0)
            s.time = true;
        else
            one_file(&s, argv[n]);
    }
    if (s.time)
        printf("%llu %llu %.1f %.1f\n", (unsigned long long)s.instructions,
               (unsigned long long)s.methods, (double)s.decode_ns / (double)s.instructions,
               (double)s.both_ns / (double)s.instructions);
    fprintf(stderr,
            "%llu files, %llu methods, %llu instructions, %llu clauses, %llu with tail., %llu "
            "failed\n%llu wrapped, %llu not (jmp)\n%.1f ns an instruction to decode and encode, "
            "%.1f to check%s\n",
            (unsigned long long)s.files, (unsigned long long)s.methods,
            (unsigned long long)s.instructions, (unsigned long long)s.clauses,
            (unsigned long long)s.tail, (unsigned long long)s.failed, (unsigned long long)s.wrapped,
            (unsigned long long)s.jmp,
            s.instructions ? (double)s.both_ns / (double)s.instructions : 0,
            s.instructions ? (double)s.check_ns / (double)s.instructions : 0,
            s.wrap ? " (with wrapping)" : "");
    cil_body_free(&s.body);
    cil_checker_free(s.checker);
    buffer_free(&s.out);
    return s.failed != 0 || s.methods == 0;
}
