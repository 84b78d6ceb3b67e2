/* outside: see outside.h. */
#include "session/outside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/memory.h"
#include "base/os.h"
#include "diagnostics/procfs.h"
#include "recording/writer.h"
#include "session/attach.h"
#include "session/outside_stop.h"
#include "session/outside_walk.h"
#include "session/symbolize.h"

enum { TABLE_THREADS = 1, TABLE_LOOKS = 2, THREAD_COLUMNS = 13, LOOK_COLUMNS = 4 };

/* The tables of the profiler `threads`. */
static const recording_column THREADS[THREAD_COLUMNS] = {
    {RECORDING_TIME, "time", ""},       {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_U64, "managed_id", ""},  {RECORDING_STACK_ID, "stack", ""},
    {RECORDING_DURATION, "cpu", ""},    {RECORDING_U64, "waits_for", ""},
    {RECORDING_U64, "object", ""},      {RECORDING_STRING_ID, "object_type", ""},
    {RECORDING_U64, "owner", ""},       {RECORDING_U64, "waiters", ""},
    {RECORDING_DURATION, "waited", ""}, {RECORDING_U64, "look", ""},
    {RECORDING_U64, "native", ""},
};
static const recording_column LOOKS[LOOK_COLUMNS] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_U64, "look", ""},
    {RECORDING_DURATION, "suspension", ""},
    {RECORDING_U64, "threads", ""},
};
static const recording_table TABLES[] = {
    {"threads", "threads", THREADS, THREAD_COLUMNS},
    {"looks", "threads", LOOKS, LOOK_COLUMNS},
};

typedef struct {
    const diagnostics_process *process;
    outside_walker *walker;
    outside_thread *thread; /* the one that is looked at */
    buffer threads;         /* payload of THREAD */
    buffer rows;            /* chunk of ROWS */
    recording_rows table;
    size_t seen, refused, traced;
    uint64_t stopped_ns;
} look;

/* ---- one thread ---- */

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

/* A file of the thread as text without its line end; "" when it cannot be read. */
static const char *read_text(int process, int thread, const char *name, buffer *text)
{
    char path[64];

    snprintf(path, sizeof path, "task/%d/%s", thread, name);
    if (procfs_read(process, path, 4096, text) != 0)
        buffer_clear(text);
    while (text->length > 0 && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
    return buffer_text(text);
}

static void write_thread(look *l, int id, uint64_t stack, bool is_seen)
{
    uint64_t cells[THREAD_COLUMNS] = {0};
    recording_thread record = {.os_id = (uint64_t)id};
    buffer text = BUFFER_EMPTY;

    record.name = outside_string(l->walker, read_text(l->process->process_id, id, "comm", &text));
    recording_put_thread(&l->threads, &record);
    cells[1] = (uint64_t)id;
    cells[3] = stack;
    cells[4] = strtoull(read_text(l->process->process_id, id, "schedstat", &text), NULL, 10);
    cells[5] = is_seen ? state_of_call(l->thread->call) : OUTSIDE_RUNS;
    cells[11] = 1;
    recording_rows_put_row(&l->table, cells);
    buffer_free(&text);
}

static void look_at(look *l, int id)
{
    int code = outside_stop(l->process->process_id, id, l->thread);
    uint64_t stack = 0;

    if (code == ERROR_GONE)
        return;
    if (code == ERROR_PERMISSION) {
        l->refused++;
        return;
    }
    if (code == 0)
        stack = outside_walk(l->walker, l->thread);
    l->seen++;
    l->traced += l->thread->is_traced;
    l->stopped_ns += l->thread->stopped_ns;
    write_thread(l, id, stack, code == 0);
}

/* ---- all of them ---- */

static int refuse(const look *l, error *e)
{
    error_set(e, ERROR_PERMISSION,
              "process %d (%s) may not be looked at from outside: the kernel allows no ptrace",
              l->process->process_id, l->process->name);
    return error_advise(e, "run clarinet as root or with CAP_SYS_PTRACE (in a container: "
                           "--cap-add SYS_PTRACE); where kernel.yama.ptrace_scope is 1 or more, "
                           "the same user is not enough");
}

static int look_at_all(look *l, error *e)
{
    char path[48];
    const struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/task", l->process->process_id);
    folder = opendir(path);
    if (folder == NULL)
        return error_set(e, ERROR_GONE, "process %d has ended", l->process->process_id);
    recording_rows_begin(&l->table, &l->rows, 0, TABLE_THREADS, &TABLES[0]);
    while ((entry = readdir(folder)) != NULL)
        if (atoi(entry->d_name) > 0)
            look_at(l, atoi(entry->d_name));
    closedir(folder);
    recording_rows_end(&l->table);
    if (l->seen == 0 && l->refused != 0)
        return refuse(l, e);
    if (l->seen == 0 || attach_has_ended(l->process))
        return error_set(e, ERROR_GONE, "process %d ended while clarinet looked at it",
                         l->process->process_id);
    return 0;
}

/* ---- the recording ---- */

static void put_info(const look *l, const char *reason, buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, 0);
    char text[32];

    snprintf(text, sizeof text, "%d", l->process->process_id);
    recording_put_info(out, "pid", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)os_realtime_ns());
    recording_put_info(out, "origin_unix_ns", text);
    recording_put_info(out, "name", l->process->name);
    recording_put_info(out, "command_line", l->process->command_line);
    recording_put_info(out, "runtime_version", l->process->runtime_version);
    recording_put_info(out, "architecture", l->process->architecture);
    recording_put_info(out, "look_from", "outside");
    recording_put_info(out, "look_reason", reason);
    if (l->traced != 0)
        recording_put_info(out, "look_traced", "yes");
    recording_end_chunk(out, chunk);
}

static void put_definitions(look *l, symbolizer *names, buffer *out)
{
    const outside_definitions *d = outside_walker_definitions(l->walker);
    const struct {
        recording_kind kind;
        const buffer *payload;
    } parts[] = {{RECORDING_STRING, &d->strings}, {RECORDING_MODULE, &d->modules},
                 {RECORDING_METHOD, &d->methods}, {RECORDING_FRAME, &d->frames},
                 {RECORDING_STACK, &d->stacks},   {RECORDING_THREAD, &l->threads}};

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

static void put_rows(look *l, buffer *out)
{
    uint64_t cells[LOOK_COLUMNS] = {0, 1, l->stopped_ns, l->seen};
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, TABLE_THREADS, &TABLES[0]);
    recording_put_table(out, TABLE_LOOKS, &TABLES[1]);
    recording_end_chunk(out, chunk);
    buffer_append(out, l->rows.data, l->rows.length);
    recording_rows_begin(&rows, out, 0, TABLE_LOOKS, &TABLES[1]);
    recording_rows_put_row(&rows, cells);
    recording_rows_end(&rows);
}

static int write_file(look *l, const char *reason, const char *root, const char *file, error *e)
{
    symbolizer *names = symbolize_open(root);
    recording_writer *writer = NULL;
    buffer out = BUFFER_EMPTY;
    int code = 0;

    if (names == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for names");
    put_info(l, reason, &out);
    put_definitions(l, names, &out);
    put_rows(l, &out);
    symbolize_close(names);
    if (buffer_failed(&out))
        code = error_set(e, ERROR_MEMORY, "no memory for the look at process %d",
                         l->process->process_id);
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

int outside_look(const diagnostics_process *process, const char *reason, const char *file, error *e)
{
    look l = {.process = process};
    char root[32];
    int code;

    if (process->process_id == 0)
        return error_set(e, ERROR_UNSUPPORTED,
                         "the process is in another PID namespace and cannot be seen from here");
    snprintf(root, sizeof root, "/proc/%d/root", process->process_id);
    l.walker = outside_walker_open(process->process_id, root, e);
    if (l.walker == NULL)
        return e->code == ERROR_PERMISSION ? refuse(&l, e) : e->code;
    l.thread = memory_allocate(sizeof *l.thread);
    code = l.thread == NULL ? error_set(e, ERROR_MEMORY, "no memory to copy stacks")
                            : look_at_all(&l, e);
    if (code == 0)
        code = write_file(&l, reason, root, file, e);
    memory_free(l.thread);
    buffer_free(&l.threads);
    buffer_free(&l.rows);
    outside_walker_close(l.walker);
    return code;
}
