/* model: see model.h. Loading stands in model_load.c and model_names.c. */
#include "analysis/model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/screen.h"
#include "base/text.h"

static void free_ids(model_ids *ids)
{
    memory_free(ids->dense);
    table_u64_free(&ids->sparse);
    memset(ids, 0, sizeof *ids);
}

static void free_tables(model_process *p)
{
    for (size_t i = 0; i < p->table_count; i++) {
        for (size_t k = 0; k < p->tables[i].column_count; k++) {
            memory_free(p->tables[i].columns[k].u32);
            memory_free(p->tables[i].columns[k].u64);
        }
        table_u64_free(&p->tables[i].numbered);
        memory_free(p->tables[i].columns);
    }
    memory_free(p->tables);
}

static void free_process(model_process *p)
{
    free_tables(p);
    for (size_t i = 0; i < p->profiler_count; i++)
        memory_free(p->profilers[i].parameters);
    memory_free(p->profilers);
    memory_free(p->infos);
    model_heap_free(p->heap);
    memory_free(p->modules);
    memory_free(p->methods);
    memory_free(p->frames);
    memory_free(p->stack_parents);
    memory_free(p->stack_frames);
    memory_free(p->stack_depths);
    memory_free(p->threads);
    memory_free(p->losses);
    memory_free(p->functions);
    memory_free(p->places);
    free_ids(&p->string_ids);
    free_ids(&p->module_ids);
    free_ids(&p->method_ids);
    free_ids(&p->frame_ids);
    free_ids(&p->stack_ids);
    free_ids(&p->thread_ids);
    free_ids(&p->table_ids);
    table_text_free(&p->known);
}

void model_free(model *m)
{
    for (size_t i = 0; i < m->process_count; i++)
        free_process(&m->processes[i]);
    memory_free(m->processes);
    memory_free(m->infos);
    strings_free(&m->strings);
    memset(m, 0, sizeof *m);
}

int model_load_path(const char *path, uint64_t memory_limit, model *m, error *e)
{
    recording_file *file = NULL;
    int code = recording_file_open(path, &file, e);

    if (code != 0)
        return code;
    code = model_load(file, memory_limit, m, e);
    recording_file_close(file);
    return code;
}

const char *model_info_value(const model *m, const model_process *process, const char *key)
{
    const model_info *infos = process == NULL ? m->infos : process->infos;
    size_t count = process == NULL ? m->info_count : process->info_count;

    for (size_t i = 0; i < count; i++)
        if (text_equal(model_text(m, infos[i].key), key))
            return model_text(m, infos[i].value);
    return NULL;
}

uint64_t model_not_recorded(const model *m)
{
    const char *value = model_info_value(m, NULL, "processes_not_recorded");
    uint64_t count = 0;

    return value != NULL && text_to_u64(value, &count) ? count : 0;
}

const model_table *model_find_table(const model *m, const model_process *process, const char *name,
                                    const char *profiler)
{
    for (size_t i = 0; i < process->table_count; i++) {
        const model_table *table = &process->tables[i];

        if (text_equal(model_text(m, table->name), name) &&
            (profiler == NULL || text_equal(model_text(m, table->profiler), profiler)))
            return table;
    }
    return NULL;
}

const model_column *model_find_column(const model *m, const model_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (text_equal(model_text(m, table->columns[i].name), name))
            return &table->columns[i];
    return NULL;
}

double model_cell_f64(const model_column *column, size_t row)
{
    double value;

    memcpy(&value, &column->u64[row], sizeof value);
    return value;
}

static const char *role_of(uint64_t flags)
{
    if ((flags & RECORDING_THREAD_MAIN) != 0)
        return "main";
    if ((flags & RECORDING_THREAD_GC) != 0)
        return "GC";
    if ((flags & RECORDING_THREAD_FINALIZER) != 0)
        return "finalizer";
    if ((flags & RECORDING_THREAD_POOL) != 0)
        return "pool";
    if ((flags & RECORDING_THREAD_OWN) != 0)
        return "clarinet";
    if ((flags & RECORDING_THREAD_NATIVE) != 0)
        return "native";
    return "thread";
}

/* Of a character of one to three bytes. */
static unsigned code_point(const char *text, size_t length)
{
    unsigned code = (unsigned char)text[0] & (length == 1 ? 0x7fu : length == 2 ? 0x1fu : 0x0fu);

    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    return code;
}

const char *model_plain(const char *name, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (; *name != '\0' && used + 7 < size; name++) {
        size_t control = screen_control_length(name);
        unsigned char c = (unsigned char)*name;
        const char *known = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;

        if (known != NULL)
            used += (size_t)snprintf(out + used, 7, "%s", known);
        else if (control != 0)
            used += (size_t)snprintf(out + used, 7, "\\u%04x", code_point(name, control));
        else
            out[used++] = *name;
        out[used] = '\0';
        name += control == 0 ? 0 : control - 1;
    }
    return out;
}

void model_thread_title(const model *m, const model_thread *thread, char *out, size_t size)
{
    char plain[160];
    const char *name = model_plain(model_text(m, thread->name), plain, sizeof plain);

    snprintf(out, size, "%s (%llu)", name[0] != '\0' ? name : role_of(thread->flags),
             (unsigned long long)thread->os_id);
}
