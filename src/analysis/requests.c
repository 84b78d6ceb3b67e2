/* requests: see requests.h. */
#include "analysis/requests.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
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

static bool has_failed(const columns *c, size_t row)
{
    return groups_cell(c->state, row, 0) == STATE_FAILED ||
           groups_cell(c->status, row, 0) >= FIRST_ERROR;
}

static bool add(requests_group *group, const columns *c, size_t row)
{
    uint64_t status = groups_cell(c->status, row, 0);

    if (group == NULL)
        return false;
    if (has_failed(c, row))
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

static bool same_letters(const char *a, const char *b, size_t length)
{
    return strncasecmp(a, b, length) == 0;
}

enum { ANY = 1, PIECES = 2, WORD = 3 };

/* How well a part of a path is what this part of a route means; -1 = it is not. */
static int rank_part(const char *route, size_t length, const char *name, size_t name_length)
{
    const char *open = memchr(route, '{', length);
    const char *close = memrchr(route, '}', length);
    size_t before;
    size_t after;

    if (open == NULL || close == NULL || close < open)
        return length == name_length && same_letters(route, name, length) ? WORD : -1;
    before = (size_t)(open - route);
    after = length - (size_t)(close + 1 - route);
    if (name_length <= before + after || !same_letters(route, name, before) ||
        !same_letters(close + 1, name + name_length - after, after))
        return -1;
    return before + after == 0 && memchr(open, '}', length - before) == close ? ANY : PIECES;
}

/* How well a request's name, "GET /orders/bolt", fits a route, "GET /orders/{id}": words further
 * left count most. 0 = it does not. A route without a word of its own fits everything, which says
 * nothing. A value stands for one part: whether a route takes the rest of a path is not known, and
 * /orders/{id} has nothing to do with /orders/7/lines. */
static uint64_t rank(const char *route, const char *name)
{
    enum { MOST_PARTS = 30 };
    uint64_t result = 1;
    bool has_word = false;

    for (unsigned i = 0; i < MOST_PARTS; i++) {
        size_t length = strcspn(route, "/");
        size_t name_length = strcspn(name, "/");
        int part = rank_part(route, length, name, name_length);

        if (part < 0)
            return 0;
        result = 4 * result + (unsigned)part;
        has_word = has_word || (i != 0 && part != ANY); /* the first is the method */
        route += length;
        name += name_length;
        if (*route == '\0' && has_word)
            return *name == '\0' ? result : 0;
        if (*route == '\0' || *name == '\0')
            return 0;
        route++;
        name++;
    }
    return 0;
}

/* The place of the best one, + 1; 0 = there is none. */
static uint64_t find_route(const requests *x, const char *name)
{
    uint64_t best = 0;
    uint64_t place = 0;

    for (size_t i = 0; i < x->route_count; i++) {
        uint64_t fits = rank(x->routes[i], name);

        if (fits > best) {
            best = fits;
            place = i + 1;
        }
    }
    return place;
}

const char *requests_route(requests *x, const model *m, uint32_t name)
{
    const char *text = model_text(m, name);
    uint64_t place;

    if (!table_u64_get(&x->known, name, &place)) {
        bool is_name =
            table_text_get(&x->sides[REQUESTS_SERVED].names.index, text, strlen(text), &place);

        place = is_name ? 0 : find_route(x, text);
        table_u64_put(&x->known, name, place);
    }
    return place == 0 ? text : x->routes[place - 1];
}

/* The first ones: a program has not more of them, and each is held against each path. */
static bool note_route(requests *x, const char *name)
{
    enum { MOST_ROUTES = 2000 };

    if (x->route_count == MOST_ROUTES || strchr(name, '{') == NULL)
        return true;
    if (!array_reserve(&x->routes, &x->route_capacity, x->route_count + 1, sizeof *x->routes))
        return false;
    x->routes[x->route_count++] = name;
    return true;
}

static bool add_row(const model *m, const columns *c, size_t row, requests *x)
{
    requests_kind kind = kind_of(c, row);
    requests_side *side = &x->sides[kind];
    size_t before = side->names.count;
    uint32_t string = (uint32_t)groups_cell(c->name, row, 0);
    const char *name = kind == REQUESTS_SERVED && has_failed(c, row) ? requests_route(x, m, string)
                                                                     : model_text(m, string);

    if (!add(&side->all, c, row) || !add(group_of(&side->names, name, strlen(name)), c, row))
        return false;
    if (kind == REQUESTS_MADE)
        return add(group_of(&side->hosts, name, host_length(name)), c, row);
    return side->names.count == before || note_route(x, name);
}

static int by_age(const void *left, const void *right)
{
    const requests_open *a = left;
    const requests_open *b = right;

    return a->age_ns != b->age_ns ? (a->age_ns < b->age_ns ? 1 : -1) : strcmp(a->name, b->name);
}

/* Rows say that a request is under way whenever a session of the agent ends, which need not be
 * ours: the last row of a request is the one that holds. */
static bool take_open(const model *m, const model_table *table, const columns *c, requests *x)
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
            table_u64_get(&last, groups_cell(c->id, i, i), &row) && row == i + 1) {
            requests_kind kind = kind_of(c, i);
            uint32_t name = (uint32_t)groups_cell(c->name, i, 0);

            x->open[x->open_count++] = (requests_open){
                kind,
                kind == REQUESTS_SERVED ? requests_route(x, m, name) : model_text(m, name),
                requests_route(x, m, (uint32_t)groups_cell(c->inside, i, 0)),
                (uint32_t)groups_cell(c->thread, i, 0),
                groups_cell(c->weight, i, 0),
            };
        }
    }
    table_u64_free(&last);
    if (x->open_count > 1)
        qsort(x->open, x->open_count, sizeof *x->open, by_age); /* NOLINT: there are some */
    return done;
}

/* What handles exceptions in ASP.NET Core forgets the route of a request that failed: so those that
 * did not are first, and their routes are known. */
static bool add_rows(const model *m, const model_table *table, const columns *c, requests *x)
{
    bool done = true;

    for (int failed = 0; failed <= 1; failed++)
        for (size_t i = 0; i < table->rows && done; i++)
            if (groups_cell(c->state, i, 0) != STATE_RUNNING && has_failed(c, i) == (failed != 0))
                done = add_row(m, c, i, x);
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
    bool done;

    memset(result, 0, sizeof *result);
    result->watched_ns = groups_time_watched(m, process, "http");
    done = add_rows(m, table, &c, result);
    table_u64_free(&result->known); /* all routes are known only now */
    table_u64_init(&result->known);
    for (size_t i = 0; i < REQUESTS_KINDS; i++) {
        groups_spread_sort(&result->sides[i].all.lengths);
        sort(&result->sides[i].names);
        sort(&result->sides[i].hosts);
    }
    if (!done || !take_open(m, table, &c, result)) {
        requests_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to count the requests");
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
    table_u64_free(&result->known);
    memory_free(result->routes);
    memory_free(result->open);
    memset(result, 0, sizeof *result);
}
