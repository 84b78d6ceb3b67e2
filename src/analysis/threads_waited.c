/*
 * threads_waited: the three tables that a look writes of the objects that threads wait for
 * (agent/waits.h), and the questions to them. They are read once and then only asked; what is
 * answered goes into the view.
 */
#include <stdlib.h>

#include "analysis/threads_waited.h"
#include "base/memory.h"
#include "base/text.h"

enum { TASK_DONE = 0x01600000 }; /* ran, faulted or cancelled */

/* ---- the tables ---- */

static int compare_fields(const void *a, const void *b)
{
    const waited_field *x = a, *y = b;

    return x->object < y->object ? -1 : x->object > y->object;
}

size_t waited_by_os_id(const waited *w, uint64_t os_id)
{
    uint64_t index;

    return os_id != 0 && table_u64_get(&w->entries, os_id, &index) ? (size_t)index - 1 : SIZE_MAX;
}

static void read_objects(waited *w, const model_table *t, uint64_t look)
{
    const model *m = w->view->model;
    const model_column *looks = model_find_column(m, t, "look");
    const model_column *object = model_find_column(m, t, "object");
    const model_column *type = model_find_column(m, t, "type");

    if (looks == NULL || object == NULL || type == NULL || type->type != RECORDING_STRING_ID)
        return;
    for (size_t i = 0; i < t->rows; i++)
        if (model_cell(looks, i) == look)
            table_u64_put(&w->types, model_cell(object, i), model_cell(type, i) + 1);
}

static void read_fields(waited *w, const model_table *t, uint64_t look)
{
    const model *m = w->view->model;
    const model_column *looks = model_find_column(m, t, "look");
    const model_column *object = model_find_column(m, t, "object");
    const model_column *name = model_find_column(m, t, "field");
    const model_column *value = model_find_column(m, t, "value");

    if (looks == NULL || object == NULL || name == NULL || value == NULL ||
        name->type != RECORDING_STRING_ID || t->rows == 0)
        return;
    w->fields = memory_allocate_array(t->rows, sizeof *w->fields);
    w->failed = w->fields == NULL;
    for (size_t i = 0; i < t->rows && !w->failed; i++)
        if (model_cell(looks, i) == look)
            w->fields[w->field_count++] = (waited_field){
                model_cell(object, i), model_cell(value, i), (uint32_t)model_cell(name, i)};
    if (!w->failed)
        qsort(w->fields, w->field_count, sizeof *w->fields, compare_fields);
}

static void read_links(waited *w, const model_table *t, uint64_t look)
{
    const model *m = w->view->model;
    const model_column *looks = model_find_column(m, t, "look");
    const model_column *thread = model_find_column(m, t, "thread");
    const model_column *role = model_find_column(m, t, "role");
    const model_column *object = model_find_column(m, t, "object");
    const model_column *type = model_find_column(m, t, "type");

    if (looks == NULL || thread == NULL || role == NULL || object == NULL || type == NULL ||
        thread->type != RECORDING_THREAD_ID || type->type != RECORDING_STRING_ID || t->rows == 0)
        return;
    w->links = memory_allocate_array(t->rows, sizeof *w->links);
    w->failed = w->failed || w->links == NULL;
    for (size_t i = 0; i < t->rows && !w->failed; i++) {
        const model_thread *who = &w->view->process->threads[model_cell(thread, i)];
        size_t entry = waited_by_os_id(w, who->os_id);

        if (model_cell(looks, i) == look && entry != SIZE_MAX)
            w->links[w->link_count++] = (waited_link){
                model_cell(object, i), entry, model_cell(role, i), (uint32_t)model_cell(type, i)};
    }
}

bool waited_read(waited *w, threads_view *v, uint64_t look)
{
    const model_table *objects = model_find_table(v->model, v->process, "wait_objects", "threads");
    const model_table *fields = model_find_table(v->model, v->process, "wait_fields", "threads");
    const model_table *links = model_find_table(v->model, v->process, "wait_links", "threads");

    *w = (waited){.view = v};
    if (objects == NULL || fields == NULL || links == NULL)
        return false;
    table_u64_init(&w->types);
    table_u64_init(&w->entries);
    for (size_t i = 0; i < v->count; i++)
        table_u64_put(&w->entries, v->entries[i].os_id, i + 1);
    read_objects(w, objects, look);
    read_fields(w, fields, look);
    read_links(w, links, look);
    return true;
}

void waited_free(waited *w)
{
    memory_free(w->fields);
    memory_free(w->links);
    table_u64_free(&w->types);
    table_u64_free(&w->entries);
}

/* ---- questions ---- */

const waited_field *waited_fields(const waited *w, uint64_t object)
{
    size_t low = 0, high = w->field_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (w->fields[middle].object < object)
            low = middle + 1;
        else
            high = middle;
    }
    return &w->fields[low];
}

uint64_t waited_get(const waited *w, uint64_t object, const char *name)
{
    const waited_field *end = w->fields + w->field_count;

    if (w->field_count == 0)
        return 0;
    for (const waited_field *at = waited_fields(w, object); at < end && at->object == object; at++)
        if (text_equal(model_text(w->view->model, at->name), name))
            return at->value;
    return 0;
}

const char *waited_type(const waited *w, uint64_t object)
{
    uint64_t type;

    return table_u64_get(&w->types, object, &type) ? model_text(w->view->model, (uint32_t)type - 1)
                                                   : "";
}

bool waited_is_task(const waited *w, uint64_t object)
{
    return object != 0 && waited_get(w, object, "m_stateFlags") != 0;
}

bool waited_is_done(const waited *w, uint64_t task)
{
    return (waited_get(w, task, "m_stateFlags") & TASK_DONE) != 0;
}

size_t waited_by_managed_id(const waited *w, uint64_t id)
{
    for (size_t i = 0; id != 0 && i < w->view->count; i++)
        if (w->view->entries[i].managed_id == id)
            return i;
    return SIZE_MAX;
}

size_t waited_by_native(const waited *w, uint64_t native)
{
    for (size_t i = 0; native != 0 && i < w->view->count; i++)
        if (w->view->entries[i].native == native)
            return i;
    return SIZE_MAX;
}

size_t waited_by_role(const waited *w, uint64_t object, uint64_t role)
{
    for (size_t i = 0; object != 0 && i < w->link_count; i++)
        if (w->links[i].object == object && w->links[i].role == role)
            return w->links[i].entry;
    return SIZE_MAX;
}

uint64_t waited_find(const waited *w, size_t entry, const char *type)
{
    for (size_t i = 0; i < w->link_count; i++)
        if (w->links[i].entry == entry && w->links[i].role == WAITED_FOR &&
            text_matches(waited_type(w, w->links[i].object), type))
            return w->links[i].object;
    return 0;
}

/* ---- answers ---- */

void waited_add_owner(waited *w, size_t entry, size_t owner, bool inferred)
{
    threads_entry *t = &w->view->entries[entry];

    /* a task may be waited for by the thread that runs it; a lock is given to its owner again */
    if (owner == SIZE_MAX || (owner == entry && t->state != THREADS_TASK))
        return;
    if (t->owner == 0) {
        t->owner = w->view->entries[owner].os_id;
        t->owner_inferred = inferred;
    }
    w->failed = !threads_add_edge(w->view, entry, owner, inferred) || w->failed;
}

void waited_set_object(waited *w, size_t entry, uint64_t object)
{
    threads_entry *t = &w->view->entries[entry];
    uint64_t type;

    t->object = object;
    t->object_type = table_u64_get(&w->types, object, &type) ? (uint32_t)type - 1 : 0;
}
