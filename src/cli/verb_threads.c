/*
 * clarinet threads PID: what every thread does now, and who waits for whom. Takes one look with the
 * profiler `threads` into a recording of its own, which is kept only with -o.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/threads.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "diagnostics/processes.h"
#include "report/json.h"
#include "session/session.h"

static const uint64_t LOOK_NS = 250000000; /* the look comes within the first tenth of a second */

typedef struct {
    const char *target;
    const char *file; /* -o; NULL = a temporary one */
    const char *filter;
    uint64_t thread; /* --thread; 0 = all */
    bool as_json;
    bool flat;
} options;

/* ---- words ---- */

static const char *place_text(const threads_view *v, const model_frame *frame, char *text,
                              size_t size)
{
    const char *file = model_text(v->model, frame->file);
    const char *slash = strrchr(file, '/');

    text[0] = '\0';
    if (frame->line != 0)
        snprintf(text, size, "  %s:%u", slash == NULL ? file : slash + 1, (unsigned)frame->line);
    return text;
}

static const char *method_text(const threads_view *v, uint32_t stack)
{
    const model_frame *frame = &v->process->frames[v->process->stack_frames[stack]];

    return model_text(v->model, v->process->functions[frame->function].name);
}

static void print_stack(const threads_view *v, uint32_t stack)
{
    char place[256];

    if (stack == 0)
        printf("    (no managed frames)\n");
    for (; stack != 0; stack = v->process->stack_parents[stack])
        printf("    %s%s\n", method_text(v, stack),
               place_text(v, &v->process->frames[v->process->stack_frames[stack]], place,
                          sizeof place));
}

static const char *title(const threads_view *v, const threads_entry *t, char *text, size_t size)
{
    const char *name = model_text(v->model, t->name);

    snprintf(text, size, name[0] == '\0' ? "thread %llu%s" : "thread %llu \"%s\"",
             (unsigned long long)t->os_id, name);
    return text;
}

static void print_wait(const threads_view *v, const threads_entry *t)
{
    char who[160];
    const threads_entry *owner = threads_by_id(v, t->owner);

    printf("%s", threads_state_name(t->state));
    if (t->object != 0 && t->object_type != 0)
        printf(" of %s", model_text(v->model, t->object_type));
    if (t->owner != 0 && owner != NULL)
        printf(", owned by %s", title(v, owner, who, sizeof who));
    else if (t->owner != 0)
        printf(", owned by thread %llu, which is gone", (unsigned long long)t->owner);
    if (t->waited_ns >= 1000000000u)
        printf(", for %.0f s", (double)t->waited_ns / 1e9);
}

static void print_cycles(const threads_view *v)
{
    char who[160];
    char owner[160];

    for (size_t i = 0; i < v->cycle_count; i++) {
        const threads_cycle *c = &v->cycles[i];

        printf("DEADLOCK: %zu threads wait for each other, for ever\n", c->count);
        for (size_t k = 0; k < c->count; k++) {
            const threads_entry *t = &v->entries[c->members[k]];
            const threads_entry *next = &v->entries[c->members[(k + 1) % c->count]];

            printf("  %s waits for a monitor of %s that %s owns\n", title(v, t, who, sizeof who),
                   t->object_type == 0 ? "an unknown type" : model_text(v->model, t->object_type),
                   title(v, next, owner, sizeof owner));
            print_stack(v, t->stack);
        }
        printf("\n");
    }
}

/* ---- groups of threads that stand at the same place ---- */

static bool is_shown(const threads_view *v, const options *o, const threads_entry *t)
{
    if (o->thread != 0 && t->os_id != o->thread)
        return false;
    if (o->filter == NULL || text_matches(model_text(v->model, t->name), o->filter))
        return true;
    for (uint32_t stack = t->stack; stack != 0; stack = v->process->stack_parents[stack])
        if (text_matches(method_text(v, stack), o->filter))
            return true;
    return false;
}

static bool is_same(const options *o, const threads_entry *a, const threads_entry *b)
{
    return !o->flat && a->stack == b->stack && a->state == b->state && a->owner == b->owner &&
           a->object == b->object;
}

static void print_threads(const threads_view *v, const options *o)
{
    bool *done = memory_allocate_array(v->count, sizeof *done);
    char who[160];

    for (size_t i = 0; done != NULL && i < v->count; i++) {
        const threads_entry *t = &v->entries[i];
        size_t same = 1;

        if (done[i] || !is_shown(v, o, t))
            continue;
        for (size_t k = i + 1; k < v->count; k++) {
            if (!done[k] && is_shown(v, o, &v->entries[k]) && is_same(o, t, &v->entries[k])) {
                done[k] = true;
                same++;
            }
        }
        if (same > 1)
            printf("%zu threads, %s and others: ", same, title(v, t, who, sizeof who));
        else
            printf("%s: ", title(v, t, who, sizeof who));
        print_wait(v, t);
        printf("  (CPU %.3f s)\n", (double)t->cpu_ns / 1e9);
        print_stack(v, t->stack);
        printf("\n");
    }
    memory_free(done);
}

/* ---- for machines ---- */

static void put_frames(json *j, const threads_view *v, uint32_t stack)
{
    json_begin_array_at(j, "frames");
    for (; stack != 0; stack = v->process->stack_parents[stack]) {
        const model_frame *frame = &v->process->frames[v->process->stack_frames[stack]];
        const model_function *function = &v->process->functions[frame->function];

        json_begin_object(j);
        json_put_text(j, "method", model_text(v->model, function->name));
        json_put_text(j, "module",
                      model_text(v->model, v->process->modules[function->module].name));
        json_put_text(j, "file", model_text(v->model, frame->file));
        json_put_u64(j, "line", frame->line);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_thread(json *j, const threads_view *v, const threads_entry *t)
{
    char address[32];

    json_begin_object(j);
    json_put_u64(j, "os_id", t->os_id);
    json_put_u64(j, "managed_id", t->managed_id);
    json_put_text(j, "name", model_text(v->model, t->name));
    json_put_text(j, "state", threads_state_name(t->state));
    json_put_u64(j, "cpu_ns", t->cpu_ns);
    put_frames(j, v, t->stack);
    if (t->object != 0) {
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)t->object);
        json_begin_object_at(j, "waiting_for");
        json_put_text(j, "kind", "monitor");
        json_put_text(j, "type", model_text(v->model, t->object_type));
        json_put_text(j, "address", address);
        json_put_u64(j, "owner_os_id", t->owner);
        json_put_u64(j, "waited_ms", t->waited_ns / 1000000u);
        json_end_object(j);
    }
    json_end_object(j);
}

static void print_json(const threads_view *v, const options *o)
{
    sink out;
    json j;

    sink_init(&out, STDOUT_FILENO);
    json_init(&j, &out);
    json_begin_object(&j);
    json_begin_array_at(&j, "threads");
    for (size_t i = 0; i < v->count; i++)
        if (is_shown(v, o, &v->entries[i]))
            put_thread(&j, v, &v->entries[i]);
    json_end_array(&j);
    json_begin_array_at(&j, "deadlocks");
    for (size_t i = 0; i < v->cycle_count; i++) {
        json_begin_array(&j);
        for (size_t k = 0; k < v->cycles[i].count; k++)
            json_u64(&j, v->entries[v->cycles[i].members[k]].os_id);
        json_end_array(&j);
    }
    json_end_array(&j);
    json_put_u64(&j, "suspension_us", v->suspension_ns / 1000u);
    json_end_object(&j);
    sink_text(&out, "\n");
    json_free(&j);
    sink_finish(&out, NULL);
    sink_free(&out);
}

/* ---- the look ---- */

static int take_look(const options *o, const char *file, error *e)
{
    static catalogue_selection selection;
    diagnostics_process process;
    session_options session;
    session_result result;
    buffer library = BUFFER_EMPTY;
    int code = diagnostics_find_process(o->target, &process, e);

    if (code != 0)
        return code;
    memset(&session, 0, sizeof session);
    code = catalogue_add(&selection, "threads", e);
    if (code == 0)
        code = library_find(LIBRARY_AGENT, &library, e);
    if (code == 0) {
        session.selection = &selection;
        session.library = buffer_text(&library);
        session.file = file;
        session.command = "clarinet threads";
        session.duration_ns = LOOK_NS;
        session.stop = -1;
        code = session_record_process(&session, &process, &result, e);
        if (code == 0 && result.trouble.code != 0) {
            *e = result.trouble;
            code = e->code;
        }
    }
    diagnostics_process_free(&process);
    buffer_free(&library);
    return code;
}

static int show(const options *o, const char *file, error *e)
{
    threads_view view;
    model m;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return code;
    code = m.process_count == 0 ? error_set(e, ERROR_NOT_FOUND, "the recording holds no process")
                                : threads_make(&m, &m.processes[0], &view, e);
    if (code == 0) {
        if (o->as_json) {
            print_json(&view, o);
        } else {
            print_cycles(&view);
            print_threads(&view, o);
            printf("%zu threads, %zu deadlock%s; the program stood still for %.1f ms\n", view.count,
                   view.cycle_count, view.cycle_count == 1 ? "" : "s",
                   (double)view.suspension_ns / 1e6);
        }
        threads_free(&view);
    }
    model_free(&m);
    return code;
}

static int parse(int argc, char **argv, options *o, error *e)
{
    static const struct option OPTIONS[] = {
        {"json", no_argument, NULL, 'j'},         {"flat", no_argument, NULL, 'l'},
        {"filter", required_argument, NULL, 'F'}, {"thread", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
    int option;

    memset(o, 0, sizeof *o);
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "o:", OPTIONS, NULL)) != -1) {
        if (option == 'j')
            o->as_json = true;
        else if (option == 'l')
            o->flat = true;
        else if (option == 'F')
            o->filter = optarg;
        else if (option == 'o')
            o->file = optarg;
        else if (option != 't' || !text_to_u64(optarg, &o->thread)) {
            error_set(e, ERROR_USAGE, "threads does not understand %s", argv[optind - 1]);
            return error_advise(e, "`clarinet threads --help` lists the options");
        }
    }
    if (optind + 1 != argc) {
        error_set(e, ERROR_USAGE, "threads needs one process");
        return error_advise(e, "name a PID or a process: clarinet ps");
    }
    o->target = argv[optind];
    return 0;
}

int verb_threads(int argc, char **argv)
{
    char temporary[] = "/tmp/clarinet-threads-XXXXXX";
    const char *file;
    options o;
    error e;
    int descriptor;
    int code;

    error_clear(&e);
    if (parse(argc, argv, &o, &e) != 0)
        return cli_fail(&e);
    file = o.file;
    if (file == NULL) {
        descriptor = mkstemp(temporary);
        if (descriptor < 0) {
            error_set(&e, ERROR_IO, "no temporary file can be made in /tmp");
            error_advise(&e, "name a file with -o");
            return cli_fail(&e);
        }
        close(descriptor);
        file = temporary;
    }
    code = take_look(&o, file, &e);
    if (code == 0)
        code = show(&o, file, &e);
    if (o.file == NULL)
        unlink(temporary);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
