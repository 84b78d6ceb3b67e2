/*
 * tasks_fields: what the recording says of the fields of tasks: places by their names, values, and
 * the lines of awaits.
 */
#include <string.h>

#include "analysis/tasks_private.h"
#include "base/memory.h"
#include "base/text.h"

enum { PLACE_HIGH = 16 };

const char *tasks_field_name(const heap *h, uint32_t node, uint32_t place)
{
    return model_text(h->m, heap_field_at(h, node, place) & ~HEAP_ELEMENT);
}

uint32_t tasks_target(const heap *h, uint32_t node, const char *field)
{
    for (uint64_t i = h->first[node]; i < h->first[node + 1]; i++)
        if (text_equal(tasks_field_name(h, node, h->places[i]), field))
            return h->targets[i];
    return 0;
}

/* A column whose cells are indexes of the model: only its type makes them so. */
static const model_column *find_typed(const heap *h, const model_table *t, const char *name,
                                      recording_column_type type)
{
    const model_column *column = model_find_column(h->m, t, name);

    return column != NULL && column->type == type ? column : NULL;
}

bool tasks_value(const heap *h, uint32_t node, const char *field, uint32_t *value)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_values", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *place = t == NULL ? NULL : model_find_column(h->m, t, "place");
    const model_column *name = t == NULL ? NULL : find_typed(h, t, "name", RECORDING_STRING_ID);
    const model_heap_valued *valued = heap_values_of(h, node);
    uint32_t number = tasks_class_number(h, node);

    for (size_t i = 0;
         valued != NULL && name != NULL && type != NULL && place != NULL && i < t->rows; i++) {
        uint32_t at = (uint32_t)model_cell(place, i);

        if (model_cell(type, i) != number ||
            !text_ends_with(model_text(h->m, (uint32_t)model_cell(name, i)), field))
            continue;
        *value = model_heap_value(h->snapshot, valued, at & ~3u);
        if ((at & 3) != 0)
            *value >>= PLACE_HIGH;
        return true;
    }
    return false;
}

static void note_field(tasks_class *c, uint32_t place, const char *name)
{
    if (text_equal(name, "m_stateFlags"))
        c->flags_at = place;
    else if (text_equal(name, "m_continuationObject"))
        c->continuation_at = place;
    else if (text_equal(name, "_valueTaskSource"))
        c->source_at = place;
    else if (text_equal(name, "_dueTime"))
        c->due_at = place;
    else if (text_equal(name, "_startTicks"))
        c->begun_at = place;
    else if (text_equal(name, "StateMachine.<>1__state"))
        c->state_at = place;
    else if (text_equal(name, "<>1__state"))
        c->own_state_at = place;
    if (strncmp(name, "StateMachine", 12) == 0 && (name[12] == '\0' || name[12] == '.') &&
        c->machine_at == 0)
        c->machine_at = place;
}

bool tasks_read_classes(tasks_work *w)
{
    const heap *h = w->h;
    const model_table *t = model_find_table(h->m, h->p, "heap_values", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *place = t == NULL ? NULL : model_find_column(h->m, t, "place");
    const model_column *name = t == NULL ? NULL : find_typed(h, t, "name", RECORDING_STRING_ID);

    w->classes = memory_allocate_array(h->class_count + 1, sizeof *w->classes);
    if (w->classes == NULL)
        return false;
    for (size_t i = 0; i < h->class_count; i++) {
        const char *text = heap_type_name(h, h->classes[i].type);

        w->classes[i].name_hash = table_hash_bytes(text, strlen(text));
        w->classes[i].is_loop = strstr(text, "StateMachineBox<") != NULL &&
                                strstr(text, "System.Threading.Tasks.Parallel.") != NULL;
    }
    for (size_t i = 0; type != NULL && place != NULL && name != NULL && i < t->rows; i++)
        if (model_cell(type, i) < h->class_count)
            note_field(&w->classes[model_cell(type, i)], (uint32_t)model_cell(place, i),
                       model_text(h->m, (uint32_t)model_cell(name, i)));
    return true;
}

bool tasks_read_awaits(tasks_work *w)
{
    const heap *h = w->h;
    const model_table *t = model_find_table(h->m, h->p, "heap_awaits", "heap");
    const model_column *type = t == NULL ? NULL : model_find_column(h->m, t, "type");
    const model_column *number = t == NULL ? NULL : model_find_column(h->m, t, "number");
    const model_column *frame = t == NULL ? NULL : find_typed(h, t, "frame", RECORDING_FRAME_ID);
    bool good = true;

    for (size_t i = 0; good && type != NULL && number != NULL && frame != NULL &&
                       frame->u32 != NULL && i < t->rows;
         i++)
        good =
            table_u64_put(&w->frames, model_cell(type, i) << 32 | (uint32_t)model_cell(number, i),
                          model_cell(frame, i));
    return good;
}
