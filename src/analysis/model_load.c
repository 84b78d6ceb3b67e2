/* model_load: builds a model from the chunks of a recording. See model.h and model_load.h. */
#include "analysis/model_load.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "analysis/room.h"
#include "base/memory.h"
#include "base/text.h"

static const uint64_t DEFAULT_LIMIT = 8ull << 30;
static const uint64_t LEAST_LIMIT = 64ull << 20;

bool model_charge(model *m, uint64_t bytes)
{
    m->memory_used += bytes;
    return m->memory_used <= m->memory_limit;
}

uint32_t model_ids_get(model *m, const model_ids *ids, uint64_t id)
{
    uint64_t value;

    if (id < ids->dense_count && ids->dense[id] != 0)
        return ids->dense[id];
    if (id == 0)
        return 0;
    if (ids->sparse.count != 0 && table_u64_get(&ids->sparse, id, &value))
        return (uint32_t)value;
    m->unknown_references++;
    return 0;
}

bool model_ids_put(model *m, model_ids *ids, uint64_t id, uint32_t index)
{
    if (id == 0)
        return true; /* 0 means none and cannot be defined */
    if (id >= ids->dense_count && id < 2 * ids->dense_count + 1024) {
        size_t wish = 2 * ids->dense_count + 1024;
        uint32_t *grown = memory_resize(ids->dense, wish * sizeof *grown);

        if (grown == NULL)
            return false;
        memset(grown + ids->dense_count, 0, (wish - ids->dense_count) * sizeof *grown);
        ids->dense = grown;
        ids->dense_count = wish;
    }
    if (id < ids->dense_count) {
        ids->dense[id] = index;
        return true;
    }
    return model_charge(m, 48) && table_u64_put(&ids->sparse, id, index);
}

bool model_add_string(model *m, recording_text text, uint32_t *index)
{
    size_t before = m->strings.bytes;
    bool done = strings_add(&m->strings, text.bytes, text.length, index);

    return model_charge(m, m->strings.bytes - before + 16) && done;
}

static bool load_strings(model *m, model_process *p, reader *r)
{
    recording_string record;
    uint32_t index;

    while (recording_next_string(r, &record))
        if (!model_add_string(m, record.text, &index) ||
            !model_ids_put(m, &p->string_ids, record.id, index))
            return false;
    return true;
}

static uint32_t string_of(model *m, model_process *p, uint64_t id)
{
    /* "" is a string like any other and has index 0: then an id may be known and still be 0. */
    uint64_t before = m->unknown_references;
    uint32_t index = model_ids_get(m, &p->string_ids, id);

    if (index == 0)
        m->unknown_references = before;
    return index;
}

static bool add_identity(model *m, const recording_module *record, uint32_t *index)
{
    char hex[81];
    size_t n = record->identity_length < 40 ? record->identity_length : 40;

    for (size_t i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", record->identity[i]);
    hex[2 * n] = '\0';
    return strings_add_text(&m->strings, hex, index);
}

/* After an assembly was unloaded the agent forgets its names, and defines what it meets again under
 * new ids. What is the same in every respect becomes one here, so that it is counted together. The
 * place of the index of the one that was first, 0 when this is it; NULL when there is no memory. */
static uint64_t *known_place(model *m, model_process *p, const uint64_t *key, size_t bytes)
{
    return model_charge(m, 96) ? table_text_at(&p->known, (const char *)key, bytes, 0) : NULL;
}

static uint64_t *known_module(model *m, model_process *p, const model_module *module)
{
    bool native = module->kind == RECORDING_MODULE_NATIVE; /* its frames count from its base */
    const uint64_t key[] = {RECORDING_MODULE,
                            module->kind,
                            (uint64_t)module->name << 32 | module->path,
                            module->identity,
                            native ? module->base : 0,
                            native ? module->size : 0};

    return known_place(m, p, key, sizeof key);
}

static uint64_t *known_method(model *m, model_process *p, const model_method *method)
{
    const uint64_t key[] = {RECORDING_METHOD, (uint64_t)method->module << 32 | method->token,
                            (uint64_t)method->name << 32 | method->parameters, method->flags};

    return known_place(m, p, key, sizeof key);
}

static bool load_modules(model *m, model_process *p, reader *r)
{
    recording_module record;

    while (recording_next_module(r, &record)) {
        model_module *module;
        uint64_t *known;

        if (!MODEL_GROW(m, p->modules, p->module_count, p->module_capacity))
            return false;
        module = &p->modules[p->module_count];
        module->kind = (uint32_t)record.kind;
        module->name = string_of(m, p, record.name);
        module->path = string_of(m, p, record.path);
        module->base = record.base;
        module->size = record.size;
        if (!add_identity(m, &record, &module->identity) ||
            (known = known_module(m, p, module)) == NULL)
            return false;
        if (*known == 0)
            *known = p->module_count++;
        if (!model_ids_put(m, &p->module_ids, record.id, (uint32_t)*known))
            return false;
    }
    return true;
}

static bool load_methods(model *m, model_process *p, reader *r)
{
    recording_method record;

    while (recording_next_method(r, &record)) {
        uint64_t *known;

        if (!MODEL_GROW(m, p->methods, p->method_count, p->method_capacity))
            return false;
        p->methods[p->method_count] = (model_method){
            .module = model_ids_get(m, &p->module_ids, record.module),
            .token = (uint32_t)record.token,
            .name = string_of(m, p, record.name),
            .parameters = string_of(m, p, record.parameters),
            .flags = record.flags,
        };
        known = known_method(m, p, &p->methods[p->method_count]);
        if (known == NULL)
            return false;
        if (*known == 0)
            *known = p->method_count++;
        if (!model_ids_put(m, &p->method_ids, record.id, (uint32_t)*known))
            return false;
    }
    return true;
}

static uint32_t frame_owner(model *m, model_process *p, const recording_frame *record)
{
    switch (record->kind) {
    case RECORDING_FRAME_MANAGED:
    case RECORDING_FRAME_AWAIT:
        return model_ids_get(m, &p->method_ids, record->a);
    case RECORDING_FRAME_NATIVE:
        return model_ids_get(m, &p->module_ids, record->a);
    case RECORDING_FRAME_SYNTHETIC:
        return string_of(m, p, record->a);
    default:
        return 0;
    }
}

static bool load_frames(model *m, model_process *p, reader *r)
{
    recording_frame record;

    while (recording_next_frame(r, &record)) {
        if (!MODEL_GROW(m, p->frames, p->frame_count, p->frame_capacity))
            return false;
        p->frames[p->frame_count] = (model_frame){
            .kind = record.kind <= RECORDING_FRAME_AWAIT ? (uint32_t)record.kind : 0,
            .owner = frame_owner(m, p, &record),
            .offset = record.b,
        };
        if (!model_ids_put(m, &p->frame_ids, record.id, (uint32_t)p->frame_count))
            return false;
        p->frame_count++;
    }
    return true;
}

static bool load_symbols(model *m, model_process *p, reader *r)
{
    recording_symbol record;

    while (recording_next_symbol(r, &record)) {
        uint32_t index = model_ids_get(m, &p->frame_ids, record.frame);

        if (index == 0)
            continue;
        p->frames[index].symbol = string_of(m, p, record.name);
        p->frames[index].file = string_of(m, p, record.file);
        p->frames[index].line = record.line > INT32_MAX ? 0 : (uint32_t)record.line;
    }
    return true;
}

static bool load_stacks(model *m, model_process *p, reader *r)
{
    recording_stack record;

    while (recording_next_stack(r, &record)) {
        uint32_t parent = model_ids_get(m, &p->stack_ids, record.parent);
        size_t n = p->stack_count;

        if (p->stack_depths[parent] >= MODEL_MAXIMUM_DEPTH) {
            if (!model_ids_put(m, &p->stack_ids, record.id, parent))
                return false;
            continue;
        }
        if (n == UINT32_MAX || !MODEL_GROW(m, p->stack_parents, n, p->stack_parent_capacity) ||
            !MODEL_GROW(m, p->stack_frames, n, p->stack_frame_capacity) ||
            !MODEL_GROW(m, p->stack_depths, n, p->stack_depth_capacity) ||
            !model_ids_put(m, &p->stack_ids, record.id, (uint32_t)n))
            return false;
        p->stack_parents[n] = parent;
        p->stack_frames[n] = model_ids_get(m, &p->frame_ids, record.frame);
        p->stack_depths[n] = (uint16_t)(p->stack_depths[parent] + 1);
        p->stack_count++;
    }
    return true;
}

static uint32_t add_thread(model *m, model_process *p, uint64_t os_id)
{
    if (!MODEL_GROW(m, p->threads, p->thread_count, p->thread_capacity) ||
        !model_ids_put(m, &p->thread_ids, os_id, (uint32_t)p->thread_count))
        return 0;
    p->threads[p->thread_count].os_id = os_id;
    return (uint32_t)p->thread_count++;
}

uint32_t model_thread_index(model *m, model_process *p, uint64_t os_id)
{
    uint64_t before = m->unknown_references;
    uint32_t index = model_ids_get(m, &p->thread_ids, os_id);

    m->unknown_references = before;
    return index != 0 || os_id == 0 ? index : add_thread(m, p, os_id);
}

static bool load_threads(model *m, model_process *p, reader *r)
{
    recording_thread record;

    while (recording_next_thread(r, &record)) {
        uint32_t index = model_thread_index(m, p, record.os_id);
        model_thread *thread = &p->threads[index];

        /* The kernel gives a thread id out again; a later start is another thread. */
        if (index != 0 && thread->end != 0 && record.start > thread->end)
            index = add_thread(m, p, record.os_id);
        if (index == 0 && record.os_id != 0)
            return false;
        if (index == 0)
            continue;
        thread = &p->threads[index];
        thread->managed_id = record.managed_id;
        thread->name = string_of(m, p, record.name);
        thread->flags = record.flags;
        thread->start = record.start;
        thread->end = record.end;
    }
    return true;
}

static int load_chunk(model *m, model_process *p, const recording_chunk *chunk, reader *r)
{
    if (p == NULL) {
        if (chunk->kind != RECORDING_INFO) {
            m->unknown_chunks++;
            return 0;
        }
        return model_load_infos(m, NULL, r) ? 0 : ERROR_MEMORY;
    }
    switch (chunk->kind) {
    case RECORDING_INFO:
        return model_load_infos(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_STRING:
        return load_strings(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_MODULE:
        return load_modules(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_METHOD:
        return load_methods(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_FRAME:
        return load_frames(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_SYMBOL:
        return load_symbols(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_STACK:
        return load_stacks(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_THREAD:
        return load_threads(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_TABLE:
        return model_load_tables(m, p, r);
    case RECORDING_ROWS:
        return model_load_rows(m, p, r);
    case RECORDING_LOSS:
        return model_load_losses(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_COST:
        return model_load_costs(p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_PROFILER:
        return model_load_profilers(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_END:
        return model_load_ends(m, p, r) ? 0 : ERROR_MEMORY;
    case RECORDING_HEAP:
        return model_load_heap(m, p, r) ? 0 : ERROR_MEMORY;
    default:
        m->unknown_chunks++;
        return 0;
    }
}

/* The empty items with index 0. */
static bool begin_process(model *m, model_process *p, uint32_t index)
{
    p->index = index;
    if (!MODEL_GROW(m, p->modules, 0, p->module_capacity) ||
        !MODEL_GROW(m, p->methods, 0, p->method_capacity) ||
        !MODEL_GROW(m, p->frames, 0, p->frame_capacity) ||
        !MODEL_GROW(m, p->stack_parents, 0, p->stack_parent_capacity) ||
        !MODEL_GROW(m, p->stack_frames, 0, p->stack_frame_capacity) ||
        !MODEL_GROW(m, p->stack_depths, 0, p->stack_depth_capacity) ||
        !MODEL_GROW(m, p->threads, 0, p->thread_capacity))
        return false;
    p->module_count = p->method_count = p->frame_count = p->stack_count = p->thread_count = 1;
    return true;
}

/* NULL when there is no memory; *skip when there are too many processes to be true. */
static model_process *process_of(model *m, uint32_t index, bool *skip)
{
    *skip = false;
    for (size_t i = 0; i < m->process_count; i++)
        if (m->processes[i].index == index)
            return &m->processes[i];
    if (m->process_count >= RECORDING_MAXIMUM_PROCESSES) {
        *skip = true;
        return NULL;
    }
    if (!MODEL_GROW(m, m->processes, m->process_count, m->process_capacity))
        return NULL;
    m->process_count++;
    if (!begin_process(m, &m->processes[m->process_count - 1], index))
        return NULL;
    return &m->processes[m->process_count - 1];
}

static int load_one(model *m, const recording_chunk *chunk)
{
    reader r = reader_of(chunk->payload, chunk->length);
    model_process *p = NULL;
    bool skip = false;
    int code;

    if (chunk->flags != 0) {
        m->unknown_chunks++;
        return 0;
    }
    if (chunk->process != RECORDING_PROCESS_NONE) {
        p = process_of(m, chunk->process, &skip);
        if (p == NULL && !skip)
            return ERROR_MEMORY;
    }
    if (skip) {
        m->damaged_chunks++;
        return 0;
    }
    code = load_chunk(m, p, chunk, &r);
    if (code == 0 && reader_failed(&r))
        m->damaged_chunks++;
    return code;
}

static bool name_process(model *m, model_process *p)
{
    const char *value = model_info_value(m, p, "pid");

    if (value != NULL)
        text_to_u64(value, &p->own_pid);
    p->pid = p->own_pid;
    value = model_info_value(m, p, "host_pid");
    if (value != NULL)
        text_to_u64(value, &p->pid);
    value = model_info_value(m, p, "origin_unix_ns");
    if (value != NULL)
        text_to_u64(value, &p->origin_unix_ns);
    value = model_info_value(m, p, "name");
    return strings_add_text(&m->strings, value == NULL ? "" : value, &p->name);
}

static bool finish_process(model *m, model_process *p)
{
    if (!name_process(m, p) || !model_resolve_names(m, p))
        return false;
    model_trim_waits(m, p);
    model_number_looks(m, p);
    return model_merge_stacks(m, p);
}

/* `file`: the rest of it may tell what there would have to be room for. */
static int give_up(model *m, recording_file *file, int code, error *e)
{
    bool limit = m->memory_used > m->memory_limit;
    unsigned long long megabytes = m->memory_limit >> 20;
    bool is_heap = false;

    for (size_t i = 0; i < m->process_count; i++)
        is_heap = is_heap || m->processes[i].heap != NULL;
    model_free(m);
    if (code == ERROR_MEMORY && is_heap && room_explain(file, e))
        return ERROR_MEMORY;
    if (limit) {
        error_set(e, ERROR_LIMIT, "the recording needs more than %llu MiB of memory", megabytes);
        return error_advise(e, "it may be damaged; record for a shorter time or fewer profilers");
    }
    if (code == ERROR_MEMORY)
        return error_set(e, ERROR_MEMORY, "no memory to load the recording");
    return code;
}

/* A limit that is not set is what there is; something is always tried. */
static uint64_t usual_limit(void)
{
    uint64_t left = room_left();

    if (left < LEAST_LIMIT)
        return LEAST_LIMIT;
    return left < DEFAULT_LIMIT ? left : DEFAULT_LIMIT;
}

/* A file may break off between two chunks: then only what is missing tells. */
static void note_missing_ends(model *m)
{
    size_t missing = 0;

    for (size_t i = 0; i < m->process_count; i++)
        missing += m->processes[i].end_reason == 0;
    if (m->process_count == 0)
        snprintf(m->cut, sizeof m->cut, "the recording breaks off before its first process");
    else if (missing != 0)
        snprintf(m->cut, sizeof m->cut,
                 "the recording breaks off at byte %llu: %zu of %zu processes have no end",
                 (unsigned long long)m->file_size, missing, m->process_count);
}

int model_begin(model *m, uint64_t memory_limit, error *e)
{
    memset(m, 0, sizeof *m);
    m->memory_limit = memory_limit == 0 ? usual_limit() : memory_limit;
    return strings_init(&m->strings) ? 0 : give_up(m, NULL, ERROR_MEMORY, e);
}

int model_add(model *m, const recording_chunk *chunk, error *e)
{
    int code = load_one(m, chunk);

    if (code == 0 && chunk->kind == RECORDING_INFO && m->process_count != 0)
        for (size_t i = 0; i < m->process_count && code == 0; i++)
            code = name_process(m, &m->processes[i]) ? 0 : ERROR_MEMORY;
    return code == 0 ? 0 : error_set(e, code, "no memory to take up the recording");
}

int model_load(recording_file *file, uint64_t memory_limit, model *m, error *e)
{
    recording_chunk chunk;
    int code;

    code = model_begin(m, memory_limit, e);
    if (code != 0)
        return code;
    while ((code = recording_file_next(file, &chunk, e)) == 1) {
        code = load_one(m, &chunk);
        if (code != 0)
            break;
    }
    for (size_t i = 0; i < m->process_count && code == 0; i++)
        if (!finish_process(m, &m->processes[i]))
            code = ERROR_MEMORY;
    if (code != 0)
        return give_up(m, file, code, e);
    m->file_size = recording_file_size(file);
    m->damaged_chunks += recording_file_damaged(file);
    snprintf(m->cut, sizeof m->cut, "%s", recording_file_cut(file));
    if (m->cut[0] == '\0')
        note_missing_ends(m);
    return 0;
}
