/* outside_sheet: see outside_sheet.h. */
#include "session/outside_sheet.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/os.h"
#include "diagnostics/secrets.h"
#include "recording/tables.h"
#include "session/outside.h"
#include "session/symbolize.h"

enum { TABLE_THREADS = 1, TABLE_LOOKS = 2 };
enum { TABLES_THREADS(TABLES_CELL) THREAD_COLUMNS };
enum { TABLES_LOOKS(TABLES_CELL) LOOK_COLUMNS };

static const recording_column THREADS[THREAD_COLUMNS] = {TABLES_THREADS(TABLES_COLUMN)};
static const recording_column LOOKS[LOOK_COLUMNS] = {TABLES_LOOKS(TABLES_COLUMN)};
static const recording_table TABLES[] = {
    {"threads", "threads", THREADS, THREAD_COLUMNS},
    {"looks", "threads", LOOKS, LOOK_COLUMNS},
};

/* ---- rows ---- */

static int begin(outside_sheet *s, error *e)
{
    if (s->walker == NULL)
        return e->code;
    recording_rows_begin(&s->table, &s->rows, 0, TABLE_THREADS, &TABLES[0]);
    return 0;
}

int outside_sheet_open(outside_sheet *s, int process, const char *root, error *e)
{
    memset(s, 0, sizeof *s);
    s->walker = outside_walker_open(process, root, e);
    return begin(s, e);
}

int outside_sheet_open_memory(outside_sheet *s, const peek *memory, const buffer *map,
                              const char *root, error *e)
{
    memset(s, 0, sizeof *s);
    s->walker = outside_walker_open_memory(memory, map, root, e);
    return begin(s, e);
}

void outside_sheet_close(outside_sheet *s)
{
    outside_walker_close(s->walker);
    buffer_free(&s->threads);
    buffer_free(&s->rows);
    memset(s, 0, sizeof *s);
}

static uint64_t state_of_call(long call)
{
    switch (call) {
    case -1:
        return OUTSIDE_RUNS;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return OUTSIDE_SLEEPS;
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_fsync:
    case SYS_flock:
        return OUTSIDE_READS;
    default:
        return OUTSIDE_WAITS;
    }
}

void outside_sheet_add(outside_sheet *s, const outside_row *row)
{
    uint64_t cells[THREAD_COLUMNS] = {0};
    recording_thread record = {.os_id = (uint64_t)row->id};

    record.name = outside_string(s->walker, row->name);
    recording_put_thread(&s->threads, &record);
    cells[THREAD] = (uint64_t)row->id;
    cells[STACK] = row->stack;
    cells[CPU] = row->cpu_ns;
    cells[WAITS_FOR] = state_of_call(row->call);
    cells[LOOK] = 1;
    recording_rows_put_row(&s->table, cells);
    s->seen++;
}

/* ---- the recording ---- */

static void put_info(const outside_sheet *s, const outside_about *about, buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, 0);
    buffer line = BUFFER_EMPTY;
    char text[32];

    snprintf(text, sizeof text, "%d", about->process_id);
    recording_put_info(out, "pid", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)os_realtime_ns());
    recording_put_info(out, "origin_unix_ns", text);
    recording_put_info(out, "name", about->name);
    secrets_append_command(&line, about->command_line, strlen(about->command_line), ' ');
    recording_put_info(out, "command_line", buffer_text(&line));
    buffer_free(&line);
    recording_put_info(out, "runtime_version", about->runtime_version);
    recording_put_info(out, "architecture", about->architecture);
    recording_put_info(out, "look_from", about->from);
    recording_put_info(out, "look_reason", about->reason);
    if (s->is_traced)
        recording_put_info(out, "look_traced", "yes");
    recording_end_chunk(out, chunk);
}

static void put_definitions(outside_sheet *s, symbolizer *names, buffer *out)
{
    const outside_definitions *d = outside_walker_definitions(s->walker);
    const struct {
        recording_kind kind;
        const buffer *payload;
    } parts[] = {{RECORDING_STRING, &d->strings}, {RECORDING_MODULE, &d->modules},
                 {RECORDING_METHOD, &d->methods}, {RECORDING_FRAME, &d->frames},
                 {RECORDING_STACK, &d->stacks},   {RECORDING_THREAD, &s->threads}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        recording_chunk chunk = {.kind = (uint16_t)parts[i].kind,
                                 .payload = parts[i].payload->data,
                                 .length = parts[i].payload->length};

        if (chunk.length == 0)
            continue;
        recording_put_chunk(out, chunk.kind, 0, 0, chunk.payload, chunk.length);
        symbolize_take(names, &chunk);
    }
    symbolize_write(names, 0, out);
}

static void put_rows(outside_sheet *s, buffer *out)
{
    uint64_t cells[LOOK_COLUMNS] = {0, 1, s->stopped_ns, s->seen};
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, TABLE_THREADS, &TABLES[0]);
    recording_put_table(out, TABLE_LOOKS, &TABLES[1]);
    recording_end_chunk(out, chunk);
    buffer_append(out, s->rows.data, s->rows.length);
    recording_rows_begin(&rows, out, 0, TABLE_LOOKS, &TABLES[1]);
    recording_rows_put_row(&rows, cells);
    recording_rows_end(&rows);
}

int outside_sheet_write(outside_sheet *s, const outside_about *about, const char *root,
                        const char *file, error *e)
{
    symbolizer *names = symbolize_open(root);
    recording_writer *writer = NULL;
    buffer out = BUFFER_EMPTY;
    int code = 0;

    if (names == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for names");
    recording_rows_end(&s->table);
    put_info(s, about, &out);
    put_definitions(s, names, &out);
    put_rows(s, &out);
    symbolize_close(names);
    if (buffer_failed(&out))
        code =
            error_set(e, ERROR_MEMORY, "no memory for the look at process %d", about->process_id);
    if (code == 0)
        code = recording_writer_create(file, &writer, e);
    if (code == 0) {
        code = recording_writer_append(writer, &out, e);
        if (code == 0)
            code = recording_writer_close(writer, e);
        else
            recording_writer_abandon(writer);
    }
    buffer_free(&out);
    return code;
}
