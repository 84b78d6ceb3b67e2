/* outside: see outside.h. */
#include "session/outside.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "diagnostics/procfs.h"
#include "session/attach.h"
#include "session/outside_sheet.h"
#include "session/outside_stop.h"

typedef struct {
    const diagnostics_process *process;
    outside_thread *thread; /* the one that is looked at */
    outside_sheet sheet;
    size_t refused;
} look;

/* ---- one thread ---- */

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
    outside_row row = {.id = id, .stack = stack, .call = is_seen ? l->thread->call : -1};
    buffer name = BUFFER_EMPTY, text = BUFFER_EMPTY;

    row.name = read_text(l->process->process_id, id, "comm", &name);
    row.cpu_ns = strtoull(read_text(l->process->process_id, id, "schedstat", &text), NULL, 10);
    outside_sheet_add(&l->sheet, &row);
    buffer_free(&name);
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
        stack = outside_walk(l->sheet.walker, l->thread);
    l->sheet.is_traced = l->sheet.is_traced || l->thread->is_traced;
    l->sheet.stopped_ns += l->thread->stopped_ns;
    write_thread(l, id, stack, code == 0);
}

/* ---- all of them ---- */

/* A process that is about to end refuses like one that is not ours: the kernel has let go of its
 * memory, but still lists it. */
static bool ends(const look *l)
{
    enum { TRIES = 30, PAUSE_MS = 10 };

    for (int i = 0; i < TRIES; i++) {
        if (attach_has_ended(l->process))
            return true;
        os_sleep_ms(PAUSE_MS);
    }
    return false;
}

static int refuse(const look *l, error *e)
{
    if (ends(l))
        return error_set(e, ERROR_GONE, "process %d ended while clarinet looked at it",
                         l->process->process_id);
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
    while ((entry = readdir(folder)) != NULL)
        if (atoi(entry->d_name) > 0)
            look_at(l, atoi(entry->d_name));
    closedir(folder);
    if (l->sheet.seen == 0 && l->refused != 0)
        return refuse(l, e);
    if (l->sheet.seen == 0 || attach_has_ended(l->process))
        return error_set(e, ERROR_GONE, "process %d ended while clarinet looked at it",
                         l->process->process_id);
    return 0;
}

int outside_look(const diagnostics_process *process, const char *reason, const char *file, error *e)
{
    look l = {.process = process};
    outside_about about = {.process_id = process->process_id,
                           .name = process->name,
                           .command_line = process->command_line,
                           .runtime_version = process->runtime_version,
                           .architecture = process->architecture,
                           .from = "outside",
                           .reason = reason};
    char root[32];
    int code;

    if (process->process_id == 0)
        return error_set(e, ERROR_UNSUPPORTED,
                         "the process is in another PID namespace and cannot be seen from here");
    snprintf(root, sizeof root, "/proc/%d/root", process->process_id);
    l.thread = memory_allocate(sizeof *l.thread);
    code = l.thread == NULL ? error_set(e, ERROR_MEMORY, "no memory to copy stacks")
                            : outside_sheet_open(&l.sheet, process->process_id, root, e);
    if (code == 0) {
        code = look_at_all(&l, e);
        if (code == 0)
            code = outside_sheet_write(&l.sheet, &about, root, file, e);
        outside_sheet_close(&l.sheet);
    } else if (code == ERROR_PERMISSION) {
        code = refuse(&l, e);
    }
    memory_free(l.thread);
    return code;
}
