/* trace_cycles: see trace_cycles.h. */
#include "profilers/trace_cycles.h"

#include <string.h>

#include "base/memory.h"
#include "cil/body.h"
#include "clarinet/lookup.h"

enum {
    MOST_ROUNDS = 32,
    INLINED_CODE = 100, /* bytes that the JIT inlines at most, unless it is told to */
    NAME = 256,
    MOST_WAITED = 20, /* rounds: 2 s */
    REMEMBERING = 9,  /* the first runtime that does */
    SPEC = 0x2B,      /* of a token: a generic method with its arguments */
};

/* Where the header of a file tells of precompiled code. */
enum {
    PE_OFFSET = 0x3C,
    PE_MAGIC = 24,
    PE_64_BIT = 0x20B, /* in which the directories come 16 bytes later */
    CLI_HEADER = 24 + 96 + 14 * 8,
    NATIVE_SIZE = 64 + 4,
    PE_LIMIT = 0x1000,
};

typedef struct {
    uint32_t from, to; /* in the list */
} edge;

typedef struct {
    const clr_info *info;
    IMetaDataImport2 *import;
    ModuleID module;
    const trace_list *list;
    table_u64 numbers; /* token to place in the list */
    edge *edges;
    uint32_t count, capacity;
    bool *small; /* by place: the JIT may inline it */
    uint32_t *in, *out;
} graph;

static uint32_t read_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* Code of its own, from a file, that only the JIT compiles? */
static bool is_plain_module(const clr_info *info, ModuleID module)
{
    const unsigned other = COR_PRF_MODULE_NGEN | COR_PRF_MODULE_DYNAMIC |
                           COR_PRF_MODULE_COLLECTIBLE | COR_PRF_MODULE_RESOURCE;
    const uint8_t *base = NULL;
    uint32_t length = 0, flags = 0, header;

    if (clr_info_get_module_info2(info, module, &base, 0, &length, NULL, NULL, &flags) != S_OK ||
        (flags & other) != 0 || base == NULL)
        return false;
    if ((flags & COR_PRF_MODULE_FLAT_LAYOUT) != 0)
        return true; /* the file as it is: nothing in it can run */
    header = read_u32(base + PE_OFFSET);
    if (header > PE_LIMIT)
        return false;
    header += (read_u32(base + header + PE_MAGIC) & 0xFFFF) == PE_64_BIT ? 16 : 0;
    header = read_u32(base + header + CLI_HEADER);
    return header != 0 && read_u32(base + header + NATIVE_SIZE) == 0;
}

/* Methods of generic types have another token where they are called; of these only calls by the
 * same name are taken for what they seem. */
static bool is_own_name(const graph *g, mdMethodDef method, mdToken called)
{
    WCHAR mine[NAME], other[NAME];
    uint32_t mine_length = 0, other_length = 0;
    mdToken parent = 0;

    return clr_import_get_member_ref_props(g->import, called, &parent, other, NAME, &other_length,
                                           NULL, NULL) == S_OK &&
           CLR_TOKEN_TYPE(parent) == mdtTypeSpec &&
           clr_import_get_method_props(g->import, method, NULL, mine, NAME, &mine_length, NULL,
                                       NULL, NULL, NULL, NULL) == S_OK &&
           mine_length == other_length && memcmp(mine, other, mine_length * sizeof *mine) == 0;
}

static void add_call(graph *g, uint32_t from, mdToken token)
{
    uint64_t to = from;

    if (token >> 24 == SPEC)
        clr_import_get_method_spec_props(g->import, token, &token, NULL, NULL);
    if (CLR_TOKEN_TYPE(token) == mdtMemberRef ? !is_own_name(g, g->list->tokens[from], token)
                                              : !table_u64_get(&g->numbers, token, &to))
        return;
    if (g->count == g->capacity) {
        uint32_t capacity = g->capacity == 0 ? 256 : g->capacity * 2;
        edge *edges = memory_resize(g->edges, capacity * sizeof *edges);

        if (edges == NULL)
            return;
        g->edges = edges;
        g->capacity = capacity;
    }
    g->edges[g->count++] = (edge){from, (uint32_t)to};
}

static void read_calls(graph *g, uint32_t place, cil_body *body)
{
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    clr_method method;

    if (!CLR_OK(clr_get_method(g->import, g->list->tokens[place], NULL, &method)) ||
        clr_info_get_il_function_body(g->info, g->module, g->list->tokens[place], &bytes, &size) !=
            S_OK ||
        bytes == NULL || cil_decode(body, bytes, size, NULL) != 0)
        return;
    g->small[place] =
        (method.impl_flags &
         (miNoInlining | miNoOptimization | miSynchronized | miAggressiveOptimization)) == 0 &&
        body->clause_count == 0 &&
        (body->code_size <= INLINED_CODE || (method.impl_flags & miAggressiveInlining) != 0);
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);

        if (i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT)
            add_call(g, place, i->operand.token);
    }
}

/* Takes away calls by methods that nobody left calls, and calls of methods that call nobody left,
 * until all that is left is in a circle (or between two). */
static void keep_circles(graph *g)
{
    bool changed = true;

    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        uint32_t kept = 0;

        memset(g->in, 0, g->list->count * sizeof *g->in);
        memset(g->out, 0, g->list->count * sizeof *g->out);
        for (uint32_t n = 0; n < g->count; n++) {
            g->out[g->edges[n].from]++;
            g->in[g->edges[n].to]++;
        }
        for (uint32_t n = 0; n < g->count; n++)
            if (g->in[g->edges[n].from] != 0 && g->out[g->edges[n].to] != 0)
                g->edges[kept++] = g->edges[n];
        changed = kept != g->count;
        g->count = kept;
    }
}

static bool is_generic(const graph *g, mdToken token)
{
    clr_enumeration enumeration = NULL;
    mdGenericParam parameter;
    uint32_t count = 0;

    clr_import_enum_generic_params(g->import, &enumeration, token, &parameter, 1, &count);
    if (enumeration != NULL)
        clr_import_close_enum(g->import, enumeration);
    return count != 0;
}

static bool set_flags(const clr_info *info, const trace_entry *entry, uint32_t flags)
{
    IMetaDataEmit2 *emit = NULL;
    bool done = CLR_OK(clr_open_emit(info, entry->module, &emit)) &&
                clr_emit_set_method_impl_flags(emit, entry->token, flags) == S_OK;

    clr_release(emit);
    return done;
}

static void hurry_now(const clr_info *info, trace_entry *entry)
{
    if (!atomic_exchange(&entry->in_metadata, true))
        set_flags(info, entry, entry->impl_flags | miAggressiveOptimization);
}

void trace_cycles_hurry(const clr_info *info, trace_entry *entry)
{
    clr_runtime runtime;

    entry->rounds = 0;
    if (entry->hurried && clr_get_runtime(info, &runtime) == S_OK && runtime.major < REMEMBERING)
        hurry_now(info, entry);
}

static void put_back(const clr_info *info, trace_entry *entry)
{
    if (atomic_exchange(&entry->in_metadata, false))
        set_flags(info, entry, entry->impl_flags);
}

static void hurry(const graph *g, trace_registry *r, trace_entry *entry)
{
    clr_method method;

    if (entry == NULL || entry->hurried ||
        !CLR_OK(clr_get_method(g->import, entry->token, NULL, &method)))
        return;
    entry->impl_flags = method.impl_flags;
    entry->type = method.type;
    entry->is_generic = is_generic(g, entry->token) || is_generic(g, method.type);
    entry->hurried = true;
    hurry_now(g->info, entry);
    entry->next = atomic_load(&r->hurried);
    while (!atomic_compare_exchange_weak(&r->hurried, &entry->next, entry))
        ;
}

static bool open_graph(graph *g)
{
    const trace_list *list = g->list;
    cil_body body;

    table_u64_init(&g->numbers);
    g->small = memory_allocate_array(list->count, sizeof *g->small);
    g->in = memory_allocate_array(list->count, sizeof *g->in);
    g->out = memory_allocate_array(list->count, sizeof *g->out);
    if (g->small == NULL || g->in == NULL || g->out == NULL ||
        !CLR_OK(clr_open_import(g->info, g->module, &g->import)))
        return false;
    for (uint32_t n = 0; n < list->count; n++)
        table_u64_put(&g->numbers, list->tokens[n], n);
    cil_body_init(&body);
    for (uint32_t n = 0; n < list->count; n++)
        read_calls(g, n, &body);
    cil_body_free(&body);
    return true;
}

void trace_cycles_prepare(const clr_info *info, trace_registry *r, ModuleID module,
                          const trace_list *list)
{
    graph g = {.info = info, .module = module, .list = list};

    if (list->count == 0 || !is_plain_module(info, module))
        return;
    if (open_graph(&g)) {
        keep_circles(&g);
        for (uint32_t n = 0; n < g.count; n++)
            if (g.small[g.edges[n].from])
                hurry(&g, r, trace_registry_find(r, module, list->tokens[g.edges[n].from]));
    }
    clr_release(g.import);
    table_u64_free(&g.numbers);
    memory_free(g.edges);
    memory_free(g.small);
    memory_free(g.in);
    memory_free(g.out);
}

void trace_cycles_class_loaded(const clr_info *info, trace_registry *r, ClassID class_id)
{
    trace_entry *entry = atomic_load(&r->hurried);
    ModuleID module = 0;
    mdTypeDef type = 0;

    if (entry == NULL || clr_info_get_class_id_info(info, class_id, &module, &type) != S_OK)
        return;
    for (; entry != NULL; entry = entry->next)
        if (entry->type == type && entry->module == module && !entry->is_generic)
            put_back(info, entry);
}

/* Of methods that were inlined wherever they are called there never is code. */
static bool is_compiled(const clr_info *info, trace_entry *entry)
{
    FunctionID function = 0;
    uintptr_t code;
    uint32_t count = 0;

    if (clr_info_get_function_from_token(info, entry->module, entry->token, &function) == S_OK)
        clr_info_get_native_code_start_addresses(info, function, 0, 1, &count, &code);
    return count != 0 || ++entry->rounds > MOST_WAITED;
}

void trace_cycles_restore(const clr_info *info, trace_registry *r, bool at_end)
{
    for (trace_entry *entry = atomic_load(&r->hurried); entry != NULL; entry = entry->next)
        if (at_end || (!entry->is_generic && atomic_load(&entry->lean) &&
                       atomic_load(&entry->in_metadata) && is_compiled(info, entry)))
            put_back(info, entry);
}
