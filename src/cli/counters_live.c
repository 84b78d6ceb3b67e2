/* counters_live: see counters_live.h. */
#include "cli/counters_live.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "recording/tables.h"

/* Columns as they are written (docs/profilers/counters.md). */
enum { TABLES_METERS(TABLES_CELL) COLUMNS, OF_COUNTERS = TAGS };

const char *counters_kind_name(unsigned kind)
{
    static const char *const NAMES[] = {"level", "increase"};

    return NAMES[kind <= COUNTERS_INCREASE ? kind : COUNTERS_LEVEL];
}

static bool is_text(recording_text text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.bytes, expected, text.length) == 0;
}

static void take_strings(counters_live *c, reader *r)
{
    recording_string record;

    while (recording_next_string(r, &record)) {
        char *copy;

        if (!array_reserve(&c->texts, &c->text_capacity, c->text_count + 1, sizeof *c->texts))
            return;
        copy = memory_allocate(record.text.length + 1);
        if (copy == NULL)
            return;
        memcpy(copy, record.text.bytes, record.text.length);
        copy[record.text.length] = '\0';
        c->texts[c->text_count++] = copy;
        table_u64_put(&c->strings, record.id, c->text_count);
    }
}

static const char *text_of(const counters_live *c, uint64_t id)
{
    uint64_t place;

    return table_u64_get(&c->strings, id, &place) ? c->texts[place - 1] : "";
}

/* Remembers the table `counters`; one with other columns than these is not read. */
static void take_tables(counters_live *c, reader *r)
{
    recording_table_head table;
    recording_column_head column;

    while (recording_next_table(r, &table)) {
        bool is_ours = is_text(table.name, "counters") && table.column_count == OF_COUNTERS;
        bool is_meters = is_text(table.name, "meters") && table.column_count == COLUMNS;

        for (uint64_t i = 0; i < table.column_count && recording_next_column(r, &column); i++)
            if (is_ours || is_meters)
                c->types[i] = (uint8_t)column.type;
        if (is_ours && !reader_failed(r))
            c->table = table.id;
        if (is_meters && !reader_failed(r))
            c->meters = table.id;
    }
}

static counters_series *find_series(counters_live *c, const uint64_t *cells)
{
    uint64_t key[3] = {cells[PROVIDER], cells[NAME], cells[TAGS]};
    uint64_t *place = table_text_at(&c->index, (const char *)key, sizeof key, 0);

    if (place == NULL)
        return NULL;
    if (*place == 0) {
        if (!array_reserve(&c->series, &c->capacity, c->count + 1, sizeof *c->series))
            return NULL;
        c->series[c->count++] = (counters_series){
            .provider = text_of(c, cells[PROVIDER]),
            .name = text_of(c, cells[NAME]),
            .title = text_of(c, cells[TITLE]),
            .unit = text_of(c, cells[UNIT]),
            .tags = text_of(c, cells[TAGS]),
            .kind = (unsigned)cells[KIND],
        };
        *place = c->count;
    }
    return &c->series[*place - 1];
}

static void take_row(counters_live *c, const uint64_t *cells)
{
    counters_series *s = find_series(c, cells);
    counters_value *v;

    if (s == NULL)
        return;
    if (c->last_only)
        s->count = 0;
    if (!array_reserve(&s->values, &s->capacity, s->count + 1, sizeof *s->values))
        return;
    v = &s->values[s->count++];
    v->time_ns = cells[TIME];
    v->interval_ns = cells[INTERVAL];
    memcpy(&v->value, &cells[VALUE], sizeof v->value);
    if (isfinite(v->value))
        s->sum += v->value;
    else
        s->not_added++;
    if (c->on_value != NULL)
        c->on_value(c->context, s, v);
}

void counters_live_feed(counters_live *c, const recording_chunk *chunk)
{
    reader r = reader_of(chunk->payload, chunk->length);
    uint64_t previous[COLUMNS] = {0};
    uint64_t cells[COLUMNS] = {0};
    uint64_t table;

    if (chunk->kind == RECORDING_STRING)
        take_strings(c, &r);
    else if (chunk->kind == RECORDING_TABLE)
        take_tables(c, &r);
    else if (chunk->kind == RECORDING_ROWS && (table = reader_varint(&r)) != 0 &&
             (table == c->table || table == c->meters))
        while (recording_next_row(&r, c->types, table == c->table ? OF_COUNTERS : COLUMNS, previous,
                                  cells))
            take_row(c, cells);
}

void counters_live_free(counters_live *c)
{
    for (size_t i = 0; i < c->count; i++)
        memory_free(c->series[i].values);
    for (size_t i = 0; i < c->text_count; i++)
        memory_free(c->texts[i]);
    memory_free(c->series);
    memory_free(c->texts);
    table_u64_free(&c->strings);
    table_text_free(&c->index);
    memset(c, 0, sizeof *c);
}
