/*
 * resolve: the part of names that asks the runtime: which method an address belongs to, where in
 * its CIL, what it is called, which module it is from. See names.h for the rules.
 */
#include <string.h>

#include "agent/gone.h"
#include "agent/names.h"
#include "agent/names_private.h"
#include "base/memory.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    MAXIMUM_ADDRESSES = 1 << 17, /* then the cache of addresses starts anew */
};
#define FORGOTTEN (UINT64_C(1) << 32) /* instead of an id */

static uint32_t add_module(names *n, ModuleID module);
static uint32_t add_method(names *n, FunctionID function);

bool names_may_ask(names *n)
{
    bool may = n->is_lasting || atomic_load(&n->overtaken) == n->caught_up;

    n->unasked += !may;
    return may;
}

/* Nothing that was found out before must be in use: it may be forgotten. */
static void forget_gone(names *n)
{
    FunctionID function;

    while ((function = gone_next(&n->gone_seen)) != 0) {
        if (function == GONE_MANY) {
            names_forget_lookups(n);
        } else {
            table_u64_put(&n->method_ids, function, FORGOTTEN);
            table_u64_put(&n->code.first, function, 0);
        }
    }
}

/* On a thread of the program only code on its own stack is asked about. */
bool names_ask_code(names *n, uintptr_t inside)
{
    if (!n->is_own)
        return true;
    if (!gone_ask_code(inside))
        return false;
    forget_gone(n);
    return true;
}

void names_answered(const names *n)
{
    if (n->is_own)
        gone_answered();
}

uint32_t names_of_module(names *n, ModuleID module)
{
    uint64_t known;
    uint32_t id;

    if (module == 0)
        return 0;
    if (table_u64_get(&n->module_ids, module, &known))
        return (uint32_t)known;
    if (!names_may_ask(n))
        return 0;
    id = add_module(n, module);
    table_u64_put(&n->module_ids, module, id);
    return id;
}

static uint32_t name_function(names *n, FunctionID function)
{
    uint64_t known;
    uint32_t id;

    if (function == 0)
        return 0;
    if (table_u64_get(&n->method_ids, function, &known) && known != FORGOTTEN)
        return (uint32_t)known;
    if (!names_may_ask(n))
        return 0;
    id = add_method(n, function);
    table_u64_put(&n->method_ids, function, id);
    return id;
}

uint32_t names_of_function(names *n, FunctionID function)
{
    gone_method was;
    uint32_t id;

    if (!n->is_own || function == 0)
        return name_function(n, function);
    if (!gone_ask_function(function))
        return gone_function_was(function, &was)
                   ? names_of_made(n, was.name, was.parameters, was.module)
                   : 0;
    forget_gone(n);
    id = name_function(n, function);
    gone_answered();
    return id;
}

uint32_t names_of_token(names *n, ModuleID module, mdMethodDef token)
{
    names_method made = {.token = token};
    buffer name = BUFFER_EMPTY;
    buffer parameters = BUFFER_EMPTY;
    IMetaDataImport2 *import = NULL;
    uint32_t id = 0;

    if (CLR_OK(clr_open_import(n->info, module, &import)) &&
        CLR_OK(clr_append_method_token(import, token, &name, &parameters))) {
        made.module = names_of_module(n, module);
        made.name = names_intern(n, buffer_text(&name), name.length);
        made.parameters = names_intern(n, buffer_text(&parameters), parameters.length);
        id = names_add_method(n, &made);
    }
    clr_release(import);
    buffer_free(&name);
    buffer_free(&parameters);
    return id;
}

uint32_t names_of_class(names *n, ClassID class_id)
{
    uint64_t known;
    uint32_t id;

    if (class_id == 0)
        return 0;
    if (table_u64_get(&n->class_ids, class_id, &known))
        return (uint32_t)known;
    if (!names_may_ask(n))
        return names_intern_text(n, "(unknown)");
    buffer_clear(&n->scratch);
    names_write_class(n, class_id, &n->scratch);
    id = names_intern(n, buffer_text(&n->scratch), n->scratch.length);
    table_u64_put(&n->class_ids, class_id, id);
    return id;
}

uint32_t names_of_class_path(names *n, ClassID class_id)
{
    buffer_clear(&n->scratch);
    if (!names_may_ask(n) || clr_append_class_path(n->info, class_id, &n->scratch) != S_OK)
        return 0;
    return names_intern(n, buffer_text(&n->scratch), n->scratch.length);
}

static uint32_t frame_of(names *n, FunctionID function, uint32_t il_offset_plus_1)
{
    uint32_t method = function != 0 ? name_function(n, function) : 0;

    return method == 0 ? names_frame_synthetic(n, "(unknown)")
                       : names_frame_managed(n, method, il_offset_plus_1);
}

uint32_t names_frame_in(names *n, FunctionID function, const compiled_piece *piece,
                        uintptr_t inside)
{
    return frame_of(n, function,
                    piece != NULL ? compiled_place_at(&n->code, piece, inside).il_offset : 0);
}

/* The frame that has called the one at `callee`; code of a rewritten body has a map of its own. */
static uint32_t calling_frame(names *n, uintptr_t inside, uintptr_t callee)
{
    compiled_piece *piece;
    FunctionID function = compiled_find(&n->code, inside, &piece), called;
    compiled_place place;

    if (piece == NULL || piece->rejit != 0 || callee == 0 || (n->is_own && !gone_ask_code(callee)))
        return names_frame_in(n, function, piece, inside);
    place = compiled_place_at(&n->code, piece, inside);
    called = compiled_find(&n->code, callee, &piece);
    inside = call_site_find(n->info, &n->body, function, called, &place);
    names_answered(n);
    return frame_of(n, function, (uint32_t)inside);
}

uint32_t names_frame_at(names *n, uintptr_t address, bool caller, uintptr_t callee)
{
    uintptr_t inside = caller ? address - 1 : address;
    gone_method was;
    uint64_t known;
    uint32_t frame;

    if (n->is_own && n->gone_blocks != gone_blocks()) {
        n->gone_blocks = gone_blocks();
        table_u64_free(&n->address_ids);
    }
    if (table_u64_get(&n->address_ids, (uint64_t)inside, &known) && known != 0)
        return (uint32_t)known;
    if (!names_may_ask(n))
        return names_frame_synthetic(n, "(unknown)");
    if (!names_ask_code(n, inside))
        return gone_code_was(inside, &was)
                   ? names_frame_made(n, was.name, was.parameters, was.module)
                   : names_frame_synthetic(n, "(unknown)");
    if (n->address_ids.count >= MAXIMUM_ADDRESSES)
        table_u64_free(&n->address_ids);
    frame = calling_frame(n, inside, callee);
    names_answered(n);
    if (!n->is_own || !gone_is_near(inside)) /* else there may be other code soon */
        table_u64_put(&n->address_ids, (uint64_t)inside, frame);
    return frame;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static uint32_t add_module(names *n, ModuleID module)
{
    WCHAR path[1024];
    uint32_t length = 0;
    const uint8_t *base = NULL;
    AssemblyID assembly = 0;
    uint32_t flags = 0;
    names_module made = {0};

    if (clr_info_get_module_info2(n->info, module, &base, 1024, &length, path, &assembly, &flags) <
        0)
        return 0;
    path[1023] = 0;
    buffer_clear(&n->scratch);
    text_append_utf16(&n->scratch, path, text_utf16_length(path, 1024));
    made.kind = n->scratch.length == 0 || (flags & COR_PRF_MODULE_DYNAMIC) != 0
                    ? RECORDING_MODULE_NO_FILE
                    : RECORDING_MODULE_MANAGED;
    made.path = names_intern(n, buffer_text(&n->scratch), n->scratch.length);
    made.name = names_intern_text(n, last_part(buffer_text(&n->scratch)));
    made.base = (uint64_t)(uintptr_t)base;
    made.identity_length = names_write_mvid(n, module, made.identity);
    return names_add_module(n, &made);
}

static uint32_t add_method(names *n, FunctionID function)
{
    names_method made = {0};
    buffer parameters = BUFFER_EMPTY;
    ModuleID module = 0;
    uint32_t id = 0;

    buffer_clear(&n->scratch);
    if (names_write_method(n, function, &n->scratch, &parameters, &module, &made)) {
        made.name = names_intern(n, buffer_text(&n->scratch), n->scratch.length);
        made.parameters = parameters.length == 0
                              ? 0
                              : names_intern(n, buffer_text(&parameters), parameters.length);
        made.module = names_of_module(n, module);
        id = names_add_method(n, &made);
    }
    buffer_free(&parameters);
    return id;
}
