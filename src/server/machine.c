/* machine: see machine.h. */
#include "server/machine.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "diagnostics/processes.h"
#include "server/describe.h"

enum { FRESH_MS = 500, REMEMBERED = 256 };

/* What a process had used when it was last looked at. */
typedef struct {
    int process_id;
    uint64_t start_ticks;
    uint64_t cpu_ticks;
    uint64_t at_ns;
} used;

struct machine {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool looking;     /* somebody does it for all */
    uint64_t seen_ns; /* when `text` was made; 0 = never */
    buffer text;
    used before[REMEMBERED];
    size_t count;
};

machine *machine_open(void)
{
    machine *m = memory_allocate_array(1, sizeof *m);

    if (m != NULL) {
        pthread_mutex_init(&m->lock, NULL);
        pthread_cond_init(&m->done, NULL);
    }
    return m;
}

void machine_close(machine *m)
{
    pthread_cond_destroy(&m->done);
    pthread_mutex_destroy(&m->lock);
    buffer_free(&m->text);
    memory_free(m);
}

/* User and system time, in ticks; 0 when it cannot be read. */
uint64_t machine_cpu_ticks(int process_id)
{
    char path[40];
    buffer text = BUFFER_EMPTY;
    const char *at;
    uint64_t ticks = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", process_id);
    if (os_read_file(path, 4096, &text, NULL) == 0 &&
        (at = strrchr(buffer_text(&text), ')')) != NULL) {
        unsigned long long user = 0;
        unsigned long long kernel = 0;

        if (sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user,
                   &kernel) == 2)
            ticks = user + kernel;
    }
    buffer_free(&text);
    return ticks;
}

uint64_t machine_memory(int process_id)
{
    char path[40];
    buffer text = BUFFER_EMPTY;
    unsigned long long pages = 0;

    snprintf(path, sizeof path, "/proc/%d/statm", process_id);
    if (os_read_file(path, 4096, &text, NULL) != 0 ||
        sscanf(buffer_text(&text), "%*s %llu", &pages) != 1)
        pages = 0;
    buffer_free(&text);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Adds what the process uses: of one processor since the last look, null at the first. */
static void add_usage(machine *m, const diagnostics_process *process, json_t *object, used *now)
{
    double per_second = (double)sysconf(_SC_CLK_TCK);

    *now = (used){process->process_id, process->start_ticks, machine_cpu_ticks(process->process_id),
                  os_monotonic_ns()};
    json_object_set_new(object, "memory_bytes",
                        json_integer((json_int_t)machine_memory(process->process_id)));
    for (size_t i = 0; i < m->count; i++) {
        const used *before = &m->before[i];

        if (before->process_id == now->process_id && before->start_ticks == now->start_ticks &&
            now->cpu_ticks >= before->cpu_ticks && now->at_ns > before->at_ns) {
            double seconds = (double)(now->at_ns - before->at_ns) / 1e9;
            double share = (double)(now->cpu_ticks - before->cpu_ticks) / per_second / seconds;

            json_object_set_new(object, "cpu_percent",
                                json_real((double)(long)(share * 1000) / 10));
            return;
        }
    }
    json_object_set_new(object, "cpu_percent", json_null());
}

/* Makes the list anew; only one thread at a time. */
static int look(machine *m, buffer *out, error *e)
{
    diagnostics_process_list list;
    used now[REMEMBERED];
    size_t count = 0;
    json_t *array;
    char *text;
    int code = diagnostics_list_processes(0, &list, e);

    if (code != 0)
        return code;
    array = json_array();
    for (size_t i = 0; i < list.count; i++) {
        json_t *object = describe_process(&list.items[i]);

        if (count < REMEMBERED && list.items[i].process_id != 0)
            add_usage(m, &list.items[i], object, &now[count++]);
        json_array_append_new(array, object);
    }
    diagnostics_process_list_free(&list);
    memcpy(m->before, now, count * sizeof *now);
    m->count = count;
    text = json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(array);
    if (text == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the list of processes");
    buffer_append_text(out, text);
    free(text);
    return buffer_failed(out) ? error_set(e, ERROR_MEMORY, "no memory for the list") : 0;
}

int machine_list(machine *m, buffer *out, error *e)
{
    buffer fresh = BUFFER_EMPTY;
    int code = 0;

    pthread_mutex_lock(&m->lock);
    /* while one looks, the others take what there is */
    while (m->looking && m->seen_ns == 0)
        pthread_cond_wait(&m->done, &m->lock);
    if (!m->looking &&
        (m->seen_ns == 0 || os_monotonic_ns() - m->seen_ns > FRESH_MS * UINT64_C(1000000))) {
        m->looking = true;
        pthread_mutex_unlock(&m->lock);
        code = look(m, &fresh, e);
        pthread_mutex_lock(&m->lock);
        m->looking = false;
        if (code == 0) {
            buffer_free(&m->text);
            m->text = fresh;
            m->seen_ns = os_monotonic_ns();
        } else {
            buffer_free(&fresh);
        }
        pthread_cond_broadcast(&m->done);
    }
    if (code == 0)
        buffer_append(out, m->text.data, m->text.length);
    pthread_mutex_unlock(&m->lock);
    return code;
}
