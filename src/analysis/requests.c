/* requests: see requests.h. */
#include "analysis/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* As the agent writes them. */
enum { STATE_FAILED = 1, STATE_RUNNING = 2, FIRST_REFUSAL = 400, FIRST_ERROR = 500 };

typedef struct {
    const model_column *kind;
    const model_column *name;
    const model_column *status;
    const model_column *weight;
    const model_column *state;
    const model_column *inside;
    const model_column *thread;
    const model_column *id;
} columns;

static requests_group *group_of(requests_list *list, const char *name, size_t length)
{
    uint64_t *place = table_text_at(&list->index, name, length, list->count);

    if (place == NULL)
        return NULL;
    if (*place < list->count)
        return &list->items[*place];
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        requests_group *items = memory_resize(list->items, capacity * sizeof *items);

        if (items == NULL)
            return NULL;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count] = (requests_group){.name = name, .length = length};
    return &list->items[list->count++];
}

static bool add(requests_group *group, const columns *c, size_t row)
{
    uint64_t status = groups_cell(c->status, row, 0);

    if (group == NULL)
        return false;
    if (groups_cell(c->state, row, 0) == STATE_FAILED || status >= FIRST_ERROR)
        group->failures++;
    else if (status >= FIRST_REFUSAL)
        group->refused++;
    return groups_spread_add(&group->lengths, groups_cell(c->weight, row, 0));
}

/* scheme://host:port of an address. */
static size_t host_length(const char *address)
{
    const char *host = strstr(address, "://");

    return host == NULL ? strlen(address) : (size_t)(host - address) + 3 + strcspn(host + 3, "/");
}

static requests_kind kind_of(const columns *c, size_t row)
{
    return groups_cell(c->kind, row, 0) == REQUESTS_MADE ? REQUESTS_MADE : REQUESTS_SERVED;
}

static bool add_row(const model *m, const columns *c, size_t row, requests *x)
{
    requests_kind kind = kind_of(c, row);
    requests_side *side = &x->sides[kind];
    const char *name = model_text(m, (uint32_t)groups_cell(c->name, row, 0));

    return add(&side->all, c, row) && add(group_of(&side->names, name, strlen(name)), c, row) &&
           (kind != REQUESTS_MADE || add(group_of(&side->hosts, name, host_length(name)), c, row));
}

static int by_age(const void *left, const void *right)
{
    const requests_open *a = left;
    const requests_open *b = right;

    return a->age_ns != b->age_ns ? (a->age_ns < b->age_ns ? 1 : -1)
                                  : (a->name > b->name) - (a->name < b->name);
}

/* Rows say that a request is under way whenever a session of the agent ends, which need not be
 * ours: the last row of a request is the one that holds. */
static bool take_open(const model_table *table, const columns *c, requests *x)
{
    table_u64 last;
    bool done = true;
    size_t count = 0;

    table_u64_init(&last);
    for (size_t i = 0; i < table->rows && done; i++) {
        if (groups_cell(c->state, i, 0) != STATE_RUNNING)
            continue;
        count++;
        done = table_u64_put(&last, groups_cell(c->id, i, i), i + 1);
    }
    if (count != 0 && done) {
        for (size_t i = 0; i < table->rows; i++) {
            uint64_t row;

            if (groups_cell(c->state, i, 0) != STATE_RUNNING &&
                table_u64_get(&last, groups_cell(c->id, i, i), &row))
                table_u64_put(&last, groups_cell(c->id, i, i), 0);
        }
        x->open = memory_allocate_array(count, sizeof *x->open);
        done = x->open != NULL;
    }
    for (size_t i = 0; i < table->rows && done && count != 0; i++) {
        uint64_t row;

        if (groups_cell(c->state, i, 0) == STATE_RUNNING &&
            table_u64_get(&last, groups_cell(c->id, i, i), &row) && row == i + 1)
            x->open[x->open_count++] = (requests_open){
                kind_of(c, i),
                (uint32_t)groups_cell(c->name, i, 0),
                (uint32_t)groups_cell(c->inside, i, 0),
                (uint32_t)groups_cell(c->thread, i, 0),
                groups_cell(c->weight, i, 0),
            };
    }
    table_u64_free(&last);
    if (x->open_count > 1)
        qsort(x->open, x->open_count, sizeof *x->open, by_age); /* NOLINT: there are some */
    return done;
}

static int by_time(const void *left, const void *right)
{
    const requests_group *a = left;
    const requests_group *b = right;

    if (a->lengths.sum != b->lengths.sum)
        return a->lengths.sum < b->lengths.sum ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void sort(requests_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        groups_spread_sort(&list->items[i].lengths);
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, by_time);
}

int requests_summarise(const model *m, const model_process *process, const model_table *table,
                       requests *result, error *e)
{
    columns c = {
        groups_column(m, table, "kind", RECORDING_U64),
        groups_column(m, table, "name", RECORDING_STRING_ID),
        groups_column(m, table, "status", RECORDING_U64),
        groups_column(m, table, "weight", RECORDING_DURATION),
        groups_column(m, table, "state", RECORDING_U64),
        groups_column(m, table, "inside", RECORDING_STRING_ID),
        groups_column(m, table, "thread", RECORDING_THREAD_ID),
        groups_column(m, table, "id", RECORDING_U64),
    };
    bool done = true;

    memset(result, 0, sizeof *result);
    result->watched_ns = groups_time_watched(m, process, "http");
    for (size_t i = 0; i < table->rows && done; i++)
        done = groups_cell(c.state, i, 0) == STATE_RUNNING || add_row(m, &c, i, result);
    if (!done || !take_open(table, &c, result)) {
        requests_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to count the requests");
    }
    for (size_t i = 0; i < REQUESTS_KINDS; i++) {
        groups_spread_sort(&result->sides[i].all.lengths);
        sort(&result->sides[i].names);
        sort(&result->sides[i].hosts);
    }
    return 0;
}

static void free_list(requests_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        groups_spread_free(&list->items[i].lengths);
    memory_free(list->items);
    table_text_free(&list->index);
}

void requests_free(requests *result)
{
    for (size_t i = 0; i < REQUESTS_KINDS; i++) {
        groups_spread_free(&result->sides[i].all.lengths);
        free_list(&result->sides[i].names);
        free_list(&result->sides[i].hosts);
    }
    memory_free(result->open);
    memset(result, 0, sizeof *result);
}
