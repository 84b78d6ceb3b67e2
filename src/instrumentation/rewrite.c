/*
 * rewrite: the new body of one method. Reads the original, applies the template, checks the result
 * and hands it to the runtime with the map of offsets. Whatever fails, the original body runs on
 * and the log says why.
 */
#include "instrumentation/profiler.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cil/body.h"
#include "cil/check.h"
#include "cil/edit.h"
#include "cil/encode.h"
#include "clarinet/lookup.h"
#include "clarinet/emit.h"
#include "instrumentation/dump.h"
#include "instrumentation/method.h"
#include "instrumentation/tail_calls.h"
#include "instrumentation/template.h"

enum { ROOM_FOR_HANDLERS = 512 << 10 }; /* bytes of the stack, which may be 1 MB large */

/* ---- tokens through the runtime ---- */

static uint32_t core_type(void *context, const char *name)
{
    return clr_emitter_core_type(context, name);
}

static uint32_t member(void *context, uint32_t parent, const char *name, const uint8_t *signature,
                       size_t size)
{
    return clr_emitter_member(context, parent, name, signature, size);
}

static uint32_t type_spec(void *context, const uint8_t *signature, size_t size)
{
    return clr_emitter_type_spec(context, signature, size);
}

static uint32_t local_signature(void *context, const uint8_t *signature, size_t size)
{
    return clr_emitter_signature(context, signature, size);
}

static uint32_t string(void *context, const char *text)
{
    return clr_emitter_string(context, text);
}

/* ---- the parts of one rewrite ---- */

typedef struct {
    instrumentation *root;
    ModuleID module_id;
    mdMethodDef token;
    target *target; /* NULL: a method of the API */
    clr_emitter *emitter;
    method_module module;
    method_facts method;
    cil_body body;
    const uint8_t *original;
    uint32_t original_size;
    buffer locals; /* a copy of the local signature: metadata is added while it is read */
    bool can_box[SHAPE_MOST_PARAMETERS];
    bool is_open;
} job;

static uint64_t function_id(const job *j)
{
    FunctionID id = 0;

    /* Generic methods have no id of their own: any stable number that is theirs alone will do. */
    if (!CLR_OK(clr_info_get_function_from_token(&j->root->info, j->module_id, j->token, &id)) ||
        id == 0)
        id = (FunctionID)j->target;
    if (j->target != NULL)
        j->target->function = id;
    return (uint64_t)id;
}

static void find_boxes(job *j, template_facts *f)
{
    const cil_signature *s = &j->method.signature;
    IMetaDataImport2 *import = clr_emitter_import(j->emitter);
    uint32_t type = cil_signature_first(s);

    for (uint32_t i = 0; i < s->count; i++, type = cil_signature_after(s, type))
        j->can_box[i] = method_can_box(&j->root->info, &j->root->targets, j->module_id, import,
                                       &j->method, type);
    f->can_box = j->can_box;
    f->can_box_result =
        method_can_box(&j->root->info, &j->root->targets, j->module_id, import, &j->method, 0);
}

static int read_locals(job *j, error *e)
{
    const uint8_t *locals = NULL;
    uint32_t size = 0;

    buffer_clear(&j->locals);
    if (j->body.local_signature == 0)
        return 0;
    if (!CLR_OK(clr_import_get_sig_from_token(clr_emitter_import(j->emitter),
                                              j->body.local_signature, &locals, &size)))
        return error_set(e, ERROR_RUNTIME, "the local signature can't be read");
    buffer_append(&j->locals, locals, size);
    return buffer_failed(&j->locals) ? error_set(e, ERROR_MEMORY, "no memory for the locals") : 0;
}

static int open_job(job *j, error *e)
{
    HRESULT hr;

    if (!method_module_open(&j->root->info, j->module_id, &j->module))
        return error_set(e, ERROR_RUNTIME, "the module can't be read");
    j->is_open = true;
    j->emitter = targets_emitter(&j->root->targets, &j->root->info, j->module_id, &hr);
    if (j->emitter == NULL)
        return error_set(e, ERROR_RUNTIME, "the module's metadata can't be written (0x%08x)",
                         (unsigned)hr);
    if (!method_open(clr_emitter_import(j->emitter), j->token, &j->method))
        return error_set(e, ERROR_RUNTIME, "the method can't be read");
    if (j->method.signature.count > SHAPE_MOST_PARAMETERS)
        return error_set(e, ERROR_UNSUPPORTED, "it has too many parameters");
    hr = clr_info_get_il_function_body(&j->root->info, j->module_id, j->token, &j->original,
                                       &j->original_size);
    if (!CLR_OK(hr))
        return error_set(e, ERROR_RUNTIME, "the method has no body (0x%08x)", (unsigned)hr);
    return cil_decode(&j->body, j->original, j->original_size, e) != 0 ? e->code : 0;
}

/* The word that holds the delegate's handle; NULL without memory. Two threads may both make one
 * for the same shim: then it is looked up twice, no more. */
static intptr_t *slot_of(instrumentation *root, const points_shim *shim)
{
    shim_slot *made;

    if (shim == NULL)
        return &root->slot;
    for (shim_slot *s = atomic_load(&root->shim_slots); s != NULL; s = s->next) {
        if (points_same_shim(&s->shim, shim))
            return &s->slot;
    }
    made = memory_allocate_array(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->shim = *shim;
    made->next = atomic_load(&root->shim_slots);
    while (!atomic_compare_exchange_weak(&root->shim_slots, &made->next, made)) {
    }
    return &made->slot;
}

/* Called by the injected code when an exception comes by, on its thread: does a handler of ours
 * find room? What is on the stack above the method's frame are the calls that the exception has
 * left, or is about to leave, and the handlers that others of ours have not left yet: on 9.0 and
 * later 8 to 16 KB for each. */
static int32_t is_shallow(const void *frame)
{
    return (uintptr_t)frame - (uintptr_t)__builtin_frame_address(0) < ROOM_FOR_HANDLERS;
}

/* Puts the code for one receiver around what is there; `p` NULL: an attribute asked for it. */
static int apply_point(job *j, const point *p, error *e)
{
    const points_shim *shim = p != NULL ? p->shim : NULL;
    intptr_t *slot = slot_of(j->root, shim);
    template_tokens tokens = {j->emitter, core_type, member, type_spec, local_signature, string};
    template_facts f;

    if (slot == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for a shim");
    if (read_locals(j, e) != 0)
        return e->code;
    memset(&f, 0, sizeof f);
    f.agent_path = shim != NULL ? shim->path : buffer_text(&j->root->agent_path);
    f.shim_type = shim != NULL ? shim->type : NULL;
    f.method = buffer_text(&j->method.name);
    f.signature = &j->method.signature;
    f.locals = j->locals.length == 0 ? NULL : j->locals.data;
    f.locals_length = j->locals.length;
    find_boxes(j, &f);
    if (j->target == NULL)
        return template_apply_api(&j->body, &f, &tokens, e);
    f.factory = p != NULL ? p->factory : POINTS_DEFAULT_FACTORY;
    f.metric = p != NULL ? p->metric : "";
    f.arguments = (p != NULL ? p->arguments : 0) |
                  (shim == NULL ? j->target->own : j->target->own & (uint32_t)POINT_ASYNC);
    f.assembly = buffer_text(&j->module.assembly_name);
    f.type_token = j->method.type;
    f.type_name = buffer_text(&j->method.type_name);
    f.parameters = buffer_text(&j->method.parameters);
    f.function_id = function_id(j);
    f.reference_form = j->root->reference_form;
    f.slot = (uint64_t)(uintptr_t)slot;
    f.is_shallow = (uint64_t)(uintptr_t)is_shallow;
    return template_apply(&j->body, &f, &tokens, e);
}

static void warn_of_pointers(const job *j)
{
    const cil_signature *s = &j->method.signature;
    uint32_t type = cil_signature_first(s);

    for (uint32_t i = 0; i < s->count; i++, type = cil_signature_after(s, type)) {
        uint8_t element = s->types[cil_type_skip_modifiers(s, type)].element;

        if (element == CIL_TYPE_POINTER || element == CIL_TYPE_FUNCTION)
            journal_write(&j->root->log, LEVEL_WARN,
                          "[%s]%s.%s(%s): parameter %u is a pointer and is passed as null",
                          buffer_text(&j->module.assembly_name), buffer_text(&j->method.type_name),
                          buffer_text(&j->method.name), buffer_text(&j->method.parameters), i + 1);
    }
}

/* A person who names the method means it, unless it surely comes back to itself; a point for every
 * method must not cost the program its stack. */
static bool is_named(const job *j)
{
    bool is_named = (j->target->own & ~(uint32_t)POINT_ASYNC) != 0;

    for (int i = 0; i < POINTS_MOST_SHIMS; i++) {
        const point *p = j->target->points[i];

        is_named = is_named || (p != NULL && !point_is_any(p->method));
    }
    return is_named;
}

static bool comes_back_by_tail_calls(const job *j)
{
    return j->target != NULL && cil_has(&j->body, CIL_TAIL) &&
           tail_calls_come_back(&j->root->info, &j->root->targets, j->module_id,
                                clr_emitter_import(j->emitter), j->token, !is_named(j));
}

/* The managed agent's code comes last, so that it stands around all others. */
static int apply(job *j, error *e)
{
    int code = 0;

    if (j->target == NULL)
        return apply_point(j, NULL, e);
    warn_of_pointers(j);
    for (int i = POINTS_MOST_SHIMS - 1; i >= 0 && code == 0; i--) {
        const point *p = j->target->points[i];
        bool by_attribute = i == 0 && (j->target->own & ~(uint32_t)POINT_ASYNC) != 0;

        if (p != NULL || by_attribute)
            code = apply_point(j, p, e);
    }
    return code;
}

/* The signature behind a token, through the runtime. */
static bool resolve(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    uint32_t size = 0;
    HRESULT hr = clr_get_signature(context, token, bytes, &size);

    *length = size;
    return CLR_OK(hr);
}

static int check(job *j, error *e)
{
    cil_resolver resolver = {clr_emitter_import(j->emitter), resolve};
    cil_check_method method;
    cil_check_result result;
    cil_checker *checker = cil_checker_create();
    const uint8_t *locals = NULL;
    uint32_t locals_size = 0;
    int code;

    if (checker == NULL)
        return error_set(e, ERROR_MEMORY, "no memory to check the new body");
    clr_import_get_sig_from_token(clr_emitter_import(j->emitter), j->body.local_signature, &locals,
                                  &locals_size);
    memset(&method, 0, sizeof method);
    method.signature = j->method.signature.bytes;
    method.signature_length = j->method.signature.length;
    method.locals = locals;
    method.locals_length = locals_size;
    method.resolver = &resolver;
    code = cil_check(checker, &j->body, &method, &result, e);
    if (code == 0 && result.max_stack > j->body.max_stack)
        j->body.max_stack = (uint16_t)result.max_stack;
    cil_checker_free(checker);
    return code;
}

static void dump(job *j, const buffer *bytes)
{
    const char *folder = j->root->dump_folder;
    IMetaDataImport2 *import = clr_emitter_import(j->emitter);

    if (folder == NULL)
        return;
    dump_body(folder, DUMP_ORIGINAL, &j->module, &j->method, import, j->original, j->body.size);
    dump_body(folder, DUMP_INSTRUMENTED, &j->module, &j->method, import, bytes->data,
              bytes->length);
}

/* Where the old instructions went, so that stack traces keep their lines. The runtime copies it. */
static void hand_over_map(job *j, ICorProfilerFunctionControl *control)
{
    size_t count = cil_offset_map(&j->body, NULL, 0);
    cil_map_entry *entries = memory_allocate_array(count, sizeof *entries);
    COR_IL_MAP *map = memory_allocate_array(count, sizeof *map);

    if (entries != NULL && map != NULL) {
        cil_offset_map(&j->body, entries, count);
        for (size_t i = 0; i < count; i++)
            map[i] = (COR_IL_MAP){entries[i].old_offset, entries[i].new_offset, 1};
        clr_function_control_set_il_instrumented_code_map(control, (uint32_t)count, map);
    }
    memory_free(entries);
    memory_free(map);
}

/* The body of a method that was never compiled: it must stand in memory of the runtime. */
static HRESULT set_first_body(job *j, const buffer *bytes)
{
    IMethodMalloc *allocator = NULL;
    void *memory = NULL;
    HRESULT hr = clr_info_get_il_function_body_allocator(&j->root->info, j->module_id, &allocator);

    if (CLR_OK(hr)) {
        memory = clr_method_malloc_alloc(allocator, (uint32_t)bytes->length);
        hr = E_OUTOFMEMORY;
    }
    if (memory != NULL) {
        memcpy(memory, bytes->data, bytes->length);
        hr = clr_info_set_il_function_body(&j->root->info, j->module_id, j->token, memory);
    }
    clr_release(allocator);
    return hr;
}

/* `control` is NULL for a method that was never compiled. */
static int hand_over(job *j, ICorProfilerFunctionControl *control, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    HRESULT hr;
    int code = cil_encode(&j->body, CIL_ENCODE_FAT, &bytes, e);

    if (code == 0) {
        hr = control == NULL ? set_first_body(j, &bytes)
                             : clr_function_control_set_il_function_body(
                                   control, (uint32_t)bytes.length, bytes.data);
        if (!CLR_OK(hr))
            code = error_set(e, ERROR_RUNTIME, "the runtime refuses the new body (0x%08x)",
                             (unsigned)hr);
    }
    if (code == 0) {
        dump(j, &bytes);
        if (control != NULL)
            hand_over_map(j, control);
    }
    buffer_free(&bytes);
    return code;
}

static void say_left_alone(const job *j, configuration_level how, const char *why)
{
    journal_write(&j->root->log, how, "[%s]%s.%s(%s) is left alone: %s",
                  buffer_text(&j->module.assembly_name), buffer_text(&j->method.type_name),
                  buffer_text(&j->method.name), buffer_text(&j->method.parameters), why);
}

static void rewrite(instrumentation *root, ModuleID module, mdMethodDef method, target *t,
                    ICorProfilerFunctionControl *control)
{
    job *j = memory_allocate_array(1, sizeof *j);
    error e;
    int code;

    if (j == NULL)
        return;
    error_clear(&e);
    j->root = root;
    j->module_id = module;
    j->token = method;
    j->target = t;
    buffer_init(&j->locals);
    cil_body_init(&j->body);
    code = open_job(j, &e);
    if (code == 0 && comes_back_by_tail_calls(j)) {
        say_left_alone(j, LEVEL_WARN, TAILS_REFUSAL);
    } else {
        if (code == 0)
            code = apply(j, &e);
        if (code == 0)
            code = check(j, &e);
        if (code == 0)
            code = hand_over(j, control, &e);
        if (code != 0)
            say_left_alone(j, LEVEL_ERROR, e.message);
    }
    buffer_free(&j->locals);
    cil_body_free(&j->body);
    method_close(&j->method);
    if (j->is_open)
        method_module_close(&j->module);
    memory_free(j);
}

void rewrite_method(instrumentation *root, target *t, ICorProfilerFunctionControl *control)
{
    rewrite(root, t->module, t->method, t, control);
}

void rewrite_first_body(instrumentation *root, target *t)
{
    t->is_first_body = true;
    rewrite(root, t->module, t->method, t, NULL);
}

void rewrite_api_method(instrumentation *root, ModuleID module, mdMethodDef method)
{
    rewrite(root, module, method, NULL, NULL);
}
