/*
 * clarinet il ASSEMBLY [PATTERN…]: CIL of an assembly as text, with names and source lines.
 * Reads the file itself; no runtime and no process is needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "cil/check.h"
#include "cil/listing.h"
#include "cli/cli.h"
#include "cli/il_bundle.h"
#include "cli/il_probes.h"
#include "cli/il_select.h"
#include "metadata/assembly.h"
#include "symbols/symbols.h"

typedef struct {
    const char *path;
    const char *assembly; /* --assembly: which one of a program that is one file */
    bool assemblies;      /* --assemblies: only list them */
    char **patterns;      /* which methods; points into the arguments */
    size_t pattern_count;
    il_select select;
    bool list;   /* --list: names only */
    bool check;  /* --check: look for wrong bodies only */
    bool probed; /* --probed: and what it is like with probes */
    assembly a;
    symbols *lines;
    char full_path[4096];
    uint8_t mvid[16];
    cil_body body;
    cil_checker *checker;
    uint32_t shown, refused;
    /* while one method is listed */
    uint32_t token;
    char last_file[4096];
    uint32_t last_line;
} il;

static void token_text(void *context, uint32_t token, buffer *out)
{
    il *v = context;

    if (il_probes_token(token) != NULL)
        buffer_append_text(out, il_probes_token(token));
    else
        assembly_token_text(&v->a, token, out);
}

static void line_note(void *context, uint32_t offset, buffer *out)
{
    il *v = context;
    symbols_place place;

    if (!symbols_line(v->lines, v->full_path, v->mvid, v->token, (int64_t)offset, &place) ||
        place.line == 0)
        return;
    if (place.line == v->last_line && strcmp(place.file, v->last_file) == 0)
        return;
    snprintf(v->last_file, sizeof v->last_file, "%s", place.file);
    v->last_line = place.line;
    text_append_cleaned(out, place.file, strlen(place.file));
    buffer_format(out, ":%u", (unsigned)place.line);
}

static void print_head(const il *v, uint32_t token, buffer *out)
{
    static const char *const access[] = {"",
                                         "private ",
                                         "private protected ",
                                         "internal ",
                                         "protected ",
                                         "protected internal ",
                                         "public ",
                                         ""};
    uint32_t flags =
        metadata_cell(&v->a.tables, METADATA_METHOD_DEF, token & 0xFFFFFF, METADATA_METHOD_FLAGS);

    buffer_append_text(out, access[flags & 7]);
    if (flags & 0x10)
        buffer_append_text(out, "static ");
    if (flags & 0x400)
        buffer_append_text(out, "abstract ");
    else if (flags & 0x40)
        buffer_append_text(out, "virtual ");
    assembly_token_text(&v->a, token, out);
    buffer_append_char(out, '\n');
}

static void print_locals(const il *v, buffer *out)
{
    metadata_span span = assembly_signature(&v->a, v->body.local_signature);
    cil_type_namer namer = assembly_namer(&v->a, true);
    cil_signature s;
    uint32_t number = 0;

    cil_signature_init(&s);
    if (cil_signature_read(&s, span.data, span.length, NULL) == 0) {
        for (uint32_t t = 0; t < s.type_count; t = cil_signature_after(&s, t)) {
            buffer_format(out, "    // local %u: ", (unsigned)number++);
            cil_type_text(&s, t, &namer, out);
            buffer_append_text(out, s.types[t].element == CIL_TYPE_PINNED ? " (pinned)\n" : "\n");
        }
    }
    cil_signature_free(&s);
}

/* Refused by the decoder or the checker: the reason; NULL when it is good. */
static const char *examine(il *v, uint32_t token, pe_span bytes, error *e)
{
    cil_resolver resolver = assembly_resolver(&v->a);
    metadata_span signature = assembly_signature(&v->a, token);
    metadata_span locals = {NULL, 0};
    cil_check_method method = {
        .signature = signature.data, .signature_length = signature.length, .resolver = &resolver};
    cil_check_result result;

    if (cil_decode(&v->body, bytes.data, bytes.length, e) != 0)
        return e->message;
    if (v->body.local_signature != 0)
        locals = assembly_signature(&v->a, v->body.local_signature);
    method.locals = locals.data;
    method.locals_length = locals.length;
    return cil_check(v->checker, &v->body, &method, &result, e) != 0 ? e->message : NULL;
}

/* The same method as a trace would have it. */
static void print_probed(il *v, uint32_t token, cil_listing *listing, buffer *out)
{
    error e;

    if (il_probes_insert(&v->a, token, &v->body, v->checker, &e) != 0) {
        buffer_format(out, "    // cannot carry probes: %s\n", e.message);
        return;
    }
    buffer_format(out, "    // with probes: %u bytes of code, stack %u\n",
                  (unsigned)cil_get(&v->body, CIL_END)->placed, (unsigned)v->body.max_stack);
    listing->placed = true;
    v->last_line = 0;
    cil_list(&v->body, listing, out);
}

static void print_method(il *v, uint32_t token, const char *name)
{
    cil_listing listing = {.context = v, .token = token_text, .note = line_note, .indent = 4};
    pe_span bytes = assembly_body(&v->a, token & 0xFFFFFF);
    buffer out = BUFFER_EMPTY;
    const char *wrong = NULL;
    error e;

    v->shown++;
    if (bytes.data != NULL && !v->list) {
        wrong = examine(v, token, bytes, &e);
        v->refused += wrong != NULL;
    }
    if (v->check) {
        if (wrong != NULL)
            printf("%08X %s: %s\n", (unsigned)token, name, wrong);
        return;
    }
    print_head(v, token, &out);
    if (!v->list) {
        buffer_format(&out, "{\n    // token %08X", (unsigned)token);
        if (bytes.data == NULL)
            buffer_append_text(&out, ", no CIL\n");
        else
            buffer_format(&out, ", %u bytes of code, stack %u\n", (unsigned)v->body.code_size,
                          (unsigned)v->body.max_stack);
        if (wrong != NULL)
            buffer_format(&out, "    // wrong: %s\n", wrong);
        if (bytes.data != NULL && v->body.local_signature != 0)
            print_locals(v, &out);
        v->token = token;
        v->last_line = 0;
        if (bytes.data != NULL)
            cil_list(&v->body, &listing, &out);
        if (bytes.data != NULL && v->probed && wrong == NULL)
            print_probed(v, token, &listing, &out);
        buffer_append_text(&out, "}\n\n");
    }
    fputs(buffer_text(&out), stdout);
    buffer_free(&out);
}

static int run(il *v)
{
    buffer name = BUFFER_EMPTY;
    uint32_t rows = metadata_rows(&v->a.tables, METADATA_METHOD_DEF);
    error e;

    for (uint32_t row = 1; row <= rows; row++) {
        uint32_t token = METADATA_METHOD_DEF << 24 | row;

        buffer_clear(&name);
        assembly_member_name(&v->a, token, &name);
        if (il_select_matches(&v->select, token))
            print_method(v, token, buffer_text(&name));
    }
    buffer_free(&name);
    if (v->shown == 0 && v->pattern_count != 0) {
        error_set(&e, ERROR_NOT_FOUND, "%s has no method that matches '%s'%s", v->path,
                  v->patterns[0], v->pattern_count == 1 ? "" : " and what follows it");
        error_advise(&e, "`clarinet il %s --list` lists all; wildcards are * and ?", v->path);
        return cli_fail(&e);
    }
    if (v->check)
        printf("%u methods, %u wrong\n", (unsigned)v->shown, (unsigned)v->refused);
    return v->check && v->refused != 0 ? CLI_FAILED : CLI_DONE;
}

static int read_arguments(il *v, int argc, char **argv, error *e)
{
    for (int n = 1; n < argc; n++) {
        if (strcmp(argv[n], "--list") == 0)
            v->list = true;
        else if (strcmp(argv[n], "--check") == 0)
            v->check = true;
        else if (strcmp(argv[n], "--probed") == 0)
            v->probed = true;
        else if (strcmp(argv[n], "--assemblies") == 0)
            v->assemblies = true;
        else if (strcmp(argv[n], "--assembly") == 0 && n + 1 < argc)
            v->assembly = argv[++n];
        else if (text_starts_with(argv[n], "--assembly="))
            v->assembly = argv[n] + strlen("--assembly=");
        else if (argv[n][0] == '-' && argv[n][1] != '\0')
            return error_set(e, ERROR_USAGE, "il has no option '%s'", argv[n]);
        else if (v->path == NULL)
            v->path = argv[n];
        else
            v->patterns[v->pattern_count++] = argv[n];
    }
    if (v->path == NULL) {
        error_set(e, ERROR_USAGE, "il needs an assembly");
        return error_advise(e, "for example: clarinet il bin/Release/net8.0/Shop.dll 'Shop.*::*'");
    }
    return 0;
}

/* The assembly, from its file or from the program that it is in. */
static int open_assembly(il *v, buffer *bytes, error *e)
{
    bool is_program = false;
    buffer name = BUFFER_EMPTY;
    error why;
    int code = os_read_file(v->path, 0, bytes, e);

    if (code != 0)
        return code;
    code = assembly_open(&v->a, bytes->data, bytes->length, e);
    if (code != 0 || v->assembly != NULL)
        is_program = il_bundle_is(v->path);
    if (code != 0 && !is_program) {
        error_prefix(e, "%s", v->path);
        return error_advise(e, "il reads assemblies (.dll) and programs that were published as one "
                               "file");
    }
    if (!is_program && (v->assembly != NULL || v->assemblies))
        return error_set(e, ERROR_USAGE, "%s is an assembly itself", v->path);
    if (realpath(v->path, v->full_path) == NULL)
        snprintf(v->full_path, sizeof v->full_path, "%s", v->path);
    if (!is_program)
        return 0;
    symbols_use_program(v->lines, v->full_path);
    error_clear(&why);
    buffer_clear(bytes);
    code = il_bundle_read(v->path, v->assembly, bytes, &name, &why);
    if (code == 0 && (code = assembly_open(&v->a, bytes->data, bytes->length, &why)) != 0)
        error_prefix(&why, "%s", buffer_text(&name));
    snprintf(v->full_path, sizeof v->full_path, "%s", buffer_text(&name));
    buffer_free(&name);
    if (code != 0)
        *e = why;
    return code;
}

int verb_il(int argc, char **argv)
{
    il *v = memory_allocate_array(1, sizeof *v);
    buffer bytes = BUFFER_EMPTY;
    metadata_span mvid;
    error e = {0};
    int code;

    if (v != NULL)
        v->patterns = memory_allocate_array((size_t)argc, sizeof *v->patterns);
    if (v == NULL || v->patterns == NULL) {
        memory_free(v);
        error_set(&e, ERROR_MEMORY, "no memory");
        return cli_fail(&e);
    }
    cil_body_init(&v->body);
    code = read_arguments(v, argc, argv, &e);
    v->lines = symbols_open("/");
    v->checker = cil_checker_create();
    if (v->lines == NULL || v->checker == NULL)
        code = error_set(&e, ERROR_MEMORY, "no memory");
    if (code == 0 && v->assemblies && il_bundle_is(v->path)) {
        il_bundle_list(v->path);
        goto out;
    }
    if (code == 0)
        code = open_assembly(v, &bytes, &e);
    if (code == 0)
        code = il_select_parse(&v->select, &v->a, v->patterns, v->pattern_count, &e);
    if (code == 0) {
        mvid = metadata_guid(&v->a.tables,
                             metadata_cell(&v->a.tables, METADATA_MODULE, 1, METADATA_MODULE_MVID));
        if (mvid.data != NULL)
            memcpy(v->mvid, mvid.data, 16);
    }
    code = code != 0 ? cli_fail(&e) : run(v);
out:
    il_select_free(&v->select);
    memory_free(v->patterns);
    symbols_close(v->lines);
    cil_checker_free(v->checker);
    cil_body_free(&v->body);
    buffer_free(&bytes);
    memory_free(v);
    return code;
}
