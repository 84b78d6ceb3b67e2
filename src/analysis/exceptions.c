/* exceptions: see exceptions.h. */
#include "analysis/exceptions.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

typedef struct {
    const model_column *time;
    const model_column *type;
    const model_column *message;
    const model_column *stack;
    const model_column *caught_in;
    const model_column *count;
    const model_column *flags;
    const model_column *inner;
} columns;

static const model_column *column_of(const model *m, const model_table *table, const char *name,
                                     uint8_t type)
{
    const model_column *column = model_find_column(m, table, name);

    return column != NULL && column->type == type ? column : NULL;
}

static uint64_t cell(const model_column *column, size_t row, uint64_t missing)
{
    return column == NULL ? missing : model_cell(column, row);
}

static bool add(exceptions_groups *groups, table_text *index, const exceptions_group *row)
{
    /* What tells groups apart; the message of a place is left out by the caller. */
    uint32_t key[6] = {row->type,      row->message, row->stack,
                       row->caught_in, row->fate,    row->only_counted};
    uint64_t *place = table_text_at(index, (const char *)key, sizeof key, 0);
    exceptions_group *group;

    if (place == NULL)
        return false;
    if (*place == 0) {
        if (!array_reserve(&groups->items, &groups->capacity, groups->count + 1,
                           sizeof *groups->items))
            return false;
        groups->items[groups->count] = *row;
        *place = ++groups->count;
        return true;
    }
    group = &groups->items[*place - 1];
    group->count += row->count;
    group->first = row->first < group->first ? row->first : group->first;
    group->last = row->last > group->last ? row->last : group->last;
    return true;
}

typedef struct {
    table_text types;
    table_text places;
    table_text messages;
} indexes;

static bool add_row(exceptions *result, indexes *index, const exceptions_group *row)
{
    exceptions_group type = *row;
    exceptions_group place = *row;
    exceptions_group message = *row;
    size_t places = result->places.count;

    type.message = type.stack = type.caught_in = type.fate = type.inner = 0;
    place.message = 0;
    message.only_counted = row->stack == 0 && row->message == 0;
    message.stack = message.caught_in = message.fate = message.inner = 0;
    if (!add(&result->types, &index->types, &type) ||
        !add(&result->places, &index->places, &place) ||
        !add(&result->messages, &index->messages, &message))
        return false;
    if (result->places.count > places)
        result->places.items[places].message = row->message;
    return true;
}

static int by_count(const void *a, const void *b)
{
    const exceptions_group *x = a;
    const exceptions_group *y = b;

    /* what ended the program comes first, however seldom it was */
    if ((x->fate == EXCEPTIONS_UNCAUGHT) != (y->fate == EXCEPTIONS_UNCAUGHT))
        return x->fate == EXCEPTIONS_UNCAUGHT ? -1 : 1;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void sort_groups(exceptions_groups *groups)
{
    if (groups->count != 0)
        qsort(groups->items, groups->count, sizeof *groups->items, by_count);
}

/* Whole units of 1, 2 or 5 times a power of ten, from a millisecond up. */
static uint64_t bucket_length(uint64_t duration_ns)
{
    static const uint64_t STEPS[] = {1, 2, 5};
    uint64_t unit = 1000000;

    for (;; unit *= 10)
        for (size_t i = 0; i < 3; i++)
            if (duration_ns / (unit * STEPS[i]) < EXCEPTIONS_BUCKETS)
                return unit * STEPS[i];
}

static uint32_t fate_of(uint64_t flags)
{
    return (flags & 2) != 0    ? EXCEPTIONS_CAUGHT
           : (flags & 4) != 0  ? EXCEPTIONS_UNCAUGHT
           : (flags & 8) != 0  ? EXCEPTIONS_REPLACED
           : (flags & 16) != 0 ? EXCEPTIONS_RUNTIME
                               : EXCEPTIONS_NOT_KNOWN;
}

const char *exceptions_fate_name(uint32_t fate)
{
    static const char *const NAMES[] = {"unknown", "caught", "uncaught", "replaced", "runtime"};

    return NAMES[fate <= EXCEPTIONS_RUNTIME ? fate : 0];
}

static bool add_rows(exceptions *result, indexes *index, const columns *c, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        exceptions_group row = {
            .type = (uint32_t)cell(c->type, i, 0),
            .message = (uint32_t)cell(c->message, i, 0),
            .stack = (uint32_t)cell(c->stack, i, 0),
            .caught_in = (uint32_t)cell(c->caught_in, i, 0),
            .fate = fate_of(cell(c->flags, i, 0)),
            .inner = (uint32_t)cell(c->inner, i, 0),
            .message_is_cut = (cell(c->flags, i, 0) & 32) != 0,
            .count = cell(c->count, i, 1),
            .first = cell(c->time, i, 0),
        };
        uint64_t bucket = row.first / result->bucket_ns;

        row.last = row.first;
        result->total += row.count;
        if (bucket < result->bucket_count)
            result->buckets[bucket] += row.count;
        if (!add_row(result, index, &row))
            return false;
    }
    return true;
}

int exceptions_summarise(const model *m, const model_process *process, const model_table *table,
                         exceptions *result, error *e)
{
    columns c = {
        column_of(m, table, "time", RECORDING_TIME),
        column_of(m, table, "type", RECORDING_STRING_ID),
        column_of(m, table, "message", RECORDING_STRING_ID),
        column_of(m, table, "stack", RECORDING_STACK_ID),
        column_of(m, table, "caught_in", RECORDING_METHOD_ID),
        column_of(m, table, "count", RECORDING_U64),
        column_of(m, table, "flags", RECORDING_U64),
        column_of(m, table, "inner", RECORDING_STRING_ID),
    };
    indexes index = {{0}, {0}, {0}};
    bool done;

    memset(result, 0, sizeof *result);
    result->bucket_ns = bucket_length(process->duration_ns);
    result->bucket_count = (size_t)(process->duration_ns / result->bucket_ns) + 1;
    done = add_rows(result, &index, &c, table->rows);
    table_text_free(&index.types);
    table_text_free(&index.places);
    table_text_free(&index.messages);
    if (!done) {
        exceptions_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to count the exceptions");
    }
    sort_groups(&result->types);
    sort_groups(&result->places);
    sort_groups(&result->messages);
    return 0;
}

void exceptions_free(exceptions *result)
{
    memory_free(result->types.items);
    memory_free(result->places.items);
    memory_free(result->messages.items);
    memset(result, 0, sizeof *result);
}
