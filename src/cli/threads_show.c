/* threads_show: see threads_show.h. */
#include "cli/threads_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/async_name.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/plain.h"
#include "report/json.h"

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

static bool is_nameless(const threads_view *v, uint32_t stack)
{
    return v->process->functions[v->process->frames[v->process->stack_frames[stack]].function]
        .nameless;
}

/* Native frames without a name are one line where they follow each other in one library. */
void threads_show_stack(FILE *out, const threads_view *v, uint32_t stack)
{
    char place[256];

    if (stack == 0)
        fprintf(out, "    (no frames)\n");
    for (; stack != 0; stack = v->process->stack_parents[stack]) {
        const char *method = method_text(v, stack);
        size_t same = 1;

        while (is_nameless(v, stack) && v->process->stack_parents[stack] != 0 &&
               text_equal(method_text(v, v->process->stack_parents[stack]), method)) {
            stack = v->process->stack_parents[stack];
            same++;
        }
        fprintf(out, "    %s%s", method,
                place_text(v, &v->process->frames[v->process->stack_frames[stack]], place,
                           sizeof place));
        fprintf(out, same == 1 ? "\n" : "  (%zu frames)\n", same);
    }
}

static const char *title(const threads_view *v, const threads_entry *t, char *text, size_t size)
{
    char plain[120];
    const char *name = model_plain(model_text(v->model, t->name), plain, sizeof plain);

    snprintf(text, size, name[0] == '\0' ? "thread %llu%s" : "thread %llu \"%s\"",
             (unsigned long long)t->os_id, name);
    return text;
}

/* "a monitor of Shop.Ledger", "the end of a thread". */
static const char *thing_text(const threads_view *v, const threads_entry *t, char *text,
                              size_t size)
{
    const char *type =
        t->object_type == 0 ? "an unknown type" : model_text(v->model, t->object_type);

    if (t->state == THREADS_JOIN)
        snprintf(text, size, "the end of a thread");
    else if (t->state == THREADS_FINALIZERS)
        snprintf(text, size, "the finalizers");
    else if (t->state == THREADS_CLASS)
        snprintf(text, size, "the static constructor of %s", type);
    else if (t->state == THREADS_READER_WRITER || t->state == THREADS_LOCK)
        snprintf(text, size, "a %s", type);
    else if (t->state == THREADS_TASK)
        snprintf(text, size, "a task (%s)", type);
    else
        snprintf(text, size, "a %s of %s", threads_state_kind(t->state), type);
    return text;
}

static const char *verb_text(const threads_entry *t, const threads_entry *owner)
{
    bool is_run =
        t->state == THREADS_TASK || t->state == THREADS_CLASS || t->state == THREADS_FINALIZERS;

    if (t->state == THREADS_READER_WRITER && owner->state == t->state && t->object != 0 &&
        owner->object == t->object)
        return "waits to write under, before it";
    return t->state == THREADS_JOIN      ? "is"
           : is_run && t->owner_inferred ? "seems to run"
           : is_run                      ? "runs"
           : t->owner_inferred           ? "seems to have"
                                         : "owns";
}

static void print_wait(FILE *out, const threads_view *v, const threads_entry *t)
{
    char who[160];
    const threads_entry *owner = threads_by_id(v, t->owner);

    fprintf(out, "%s", threads_state_name(t->state));
    if (t->object != 0 && t->object_type != 0 && t->state != THREADS_JOIN)
        fprintf(out, " of %s", model_text(v->model, t->object_type));
    if (t->owner != 0 && owner != NULL)
        fprintf(out, ", which %s %s", title(v, owner, who, sizeof who), verb_text(t, owner));
    else if (t->owner != 0)
        fprintf(out, ", owned by thread %llu, which is gone", (unsigned long long)t->owner);
    else if (t->owner_ended)
        fprintf(out, ", owned by a thread that is gone");
    if (t->waited_ns >= 1000000000u)
        fprintf(out, ", for %.0f s", (double)t->waited_ns / 1e9);
}

static const char *field_of(const threads_view *v, const threads_show_options *o,
                            const threads_entry *t)
{
    if (o->heap != NULL && o->heap->fields[t - v->entries] != NULL)
        return o->heap->fields[t - v->entries];
    return t->field == 0 ? NULL : model_text(v->model, t->field);
}

/* " (Shop.Bank.ledger)", or nothing: the field that holds what it waits for. */
static const char *field_text(const threads_view *v, const threads_show_options *o,
                              const threads_entry *t, char *text, size_t size)
{
    const char *field = field_of(v, o, t);

    text[0] = '\0';
    if (field != NULL)
        snprintf(text, size, " (%s)", field);
    return text;
}

static void print_cycle(FILE *out, const threads_view *v, const threads_show_options *o,
                        const threads_cycle *c)
{
    char who[160], owner[160], thing[400], field[400];

    for (size_t k = 0; k < c->count; k++) {
        const threads_entry *t = &v->entries[c->members[k]];
        const threads_entry *next = &v->entries[c->members[(k + 1) % c->count]];

        fprintf(out, "  %s waits for %s%s that %s %s\n", title(v, t, who, sizeof who),
                thing_text(v, t, thing, sizeof thing), field_text(v, o, t, field, sizeof field),
                title(v, next, owner, sizeof owner), verb_text(t, next));
        threads_show_stack(out, v, t->stack);
    }
    fprintf(out, "\n");
}

static bool is_same_chain(const threads_view *v, const threads_chain *a, const threads_chain *b)
{
    bool is_same = a->by_pool == b->by_pool && a->count == b->count &&
                   v->entries[a->entry].stack == v->entries[b->entry].stack;

    for (size_t i = 0; is_same && i < a->count; i++)
        is_same =
            a->steps[i].type == b->steps[i].type && a->steps[i].is_done == b->steps[i].is_done;
    return is_same;
}

static void print_chain(FILE *out, const threads_view *v, const threads_chain *c, size_t same)
{
    char who[160];

    title(v, &v->entries[c->entry], who, sizeof who);
    if (same == 1)
        fprintf(out, "ASYNC DEADLOCK: %s blocks on a task whose next step needs %s\n", who,
                c->by_pool ? "a worker of the thread pool, and all of them block"
                           : "this very thread");
    else
        fprintf(out,
                "ASYNC DEADLOCK: %zu threads, %s and others, each block on a task whose next "
                "step needs %s\n",
                same, who,
                c->by_pool ? "a worker of the thread pool, and all of them block"
                           : "the very thread that blocks");
    threads_show_stack(out, v, v->entries[c->entry].stack);
    for (size_t i = 0; i < c->count; i++)
        fprintf(out, "  %s %s%s\n", i == 0 ? "it waits for" : "which awaits",
                c->steps[i].method[0] != '\0' ? c->steps[i].method
                                              : model_text(v->model, c->steps[i].type),
                c->steps[i].is_done ? " (done)" : "");
    fprintf(out, "\n");
}

/* Equal ones of threads with the same stack are one. */
static void print_chains(FILE *out, const threads_view *v, const threads_show_options *o)
{
    bool *done = memory_allocate_array(v->chain_count + 1, sizeof *done);

    for (size_t i = 0; done != NULL && i < v->chain_count; i++) {
        size_t same = 1;

        if (done[i])
            continue;
        for (size_t k = i + 1; k < v->chain_count && !o->flat; k++) {
            if (!done[k] && is_same_chain(v, &v->chains[i], &v->chains[k])) {
                done[k] = true;
                same++;
            }
        }
        print_chain(out, v, &v->chains[i], same);
    }
    memory_free(done);
}

static void print_cycles(FILE *out, const threads_view *v, const threads_show_options *o)
{
    for (size_t i = 0; i < v->cycle_count; i++) {
        if (v->cycles[i].suspected)
            continue;
        if (v->cycles[i].count == 1)
            fprintf(out, "DEADLOCK: a thread waits for itself, for ever\n");
        else
            fprintf(out, "DEADLOCK: %zu threads wait for each other, for ever\n",
                    v->cycles[i].count);
        print_cycle(out, v, o, &v->cycles[i]);
    }
    for (size_t i = 0; i < v->cycle_count; i++) {
        if (!v->cycles[i].suspected)
            continue;
        if (v->cycles[i].count == 1)
            fprintf(out, "SUSPECTED DEADLOCK: a thread seems to wait for itself (%s)\n",
                    v->cycles[i].limited ? "a wait with a time limit, which opens it again"
                                         : "all threads of a scheduler wait for its next task");
        else
            fprintf(out, "SUSPECTED DEADLOCK: %zu threads seem to wait for each other (%s)\n",
                    v->cycles[i].count,
                    v->cycles[i].limited
                        ? "a wait among them has a time limit, which opens it again"
                        : "what they wait for keeps no owner; who has it is inferred");
        print_cycle(out, v, o, &v->cycles[i]);
    }
    print_chains(out, v, o);
}

/* ---- groups of threads that stand at the same place ---- */

static bool is_shown(const threads_view *v, const threads_show_options *o, const threads_entry *t)
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

bool threads_show_has_match(const threads_view *v, const threads_show_options *o)
{
    for (size_t i = 0; i < v->count; i++)
        if (is_shown(v, o, &v->entries[i]))
            return true;
    return false;
}

static bool is_same(const threads_show_options *o, const threads_entry *a, const threads_entry *b)
{
    /* an event or a task is each thread's own: its kind says enough where nobody has it */
    return !o->flat && a->stack == b->stack && a->state == b->state && a->owner == b->owner &&
           (a->object == b->object || (a->owner == 0 && !a->owner_ended && !b->owner_ended &&
                                       a->object_type == b->object_type));
}

static void print_threads(FILE *out, const threads_view *v, const threads_show_options *o)
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
            fprintf(out, "%zu threads, %s and others: ", same, title(v, t, who, sizeof who));
        else
            fprintf(out, "%s: ", title(v, t, who, sizeof who));
        print_wait(out, v, t);
        fprintf(out, "  (%s%s, CPU %.3f s)\n", threads_role(v, t),
                t->background == THREADS_YES ? ", background" : "", (double)t->cpu_ns / 1e9);
        threads_show_stack(out, v, t->stack);
        fprintf(out, "\n");
    }
    memory_free(done);
}

/* ---- for machines ---- */

void threads_show_frames(json *j, const threads_view *v, uint32_t stack)
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

/* 0 is no thread: nobody has it, or who has it is not known. */
static void put_owner(json *j, uint64_t os_id)
{
    if (os_id != 0)
        json_put_u64(j, "owner_os_id", os_id);
    else
        json_put_null(j, "owner_os_id");
}

static void put_thread(json *j, const threads_view *v, const threads_show_options *o,
                       const threads_entry *t)
{
    char address[32];

    json_begin_object(j);
    json_put_u64(j, "os_id", t->os_id);
    json_put_u64(j, "managed_id", t->managed_id);
    json_put_text(j, "name", model_text(v->model, t->name));
    json_put_text(j, "role", threads_role(v, t));
    if (t->background != THREADS_UNKNOWN)
        json_put_bool(j, "background", t->background == THREADS_YES);
    json_put_text(j, "state", threads_state_name(t->state));
    json_put_u64(j, "cpu_ns", t->cpu_ns);
    threads_show_frames(j, v, t->stack);
    if (t->object != 0) {
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)t->object);
        json_begin_object_at(j, "waiting_for");
        json_put_text(j, "kind",
                      threads_state_kind(t->state) == NULL ? "" : threads_state_kind(t->state));
        json_put_text(j, "type", model_text(v->model, t->object_type));
        json_put_text(j, "address", address);
        if (field_of(v, o, t) != NULL)
            json_put_text(j, "field", field_of(v, o, t));
        put_owner(j, t->owner_inferred ? 0 : t->owner);
        if (t->owner_inferred)
            json_put_u64(j, "suspected_owner_os_id", t->owner);
        if (t->waited_ns != 0)
            json_put_u64(j, "waited_ms", t->waited_ns / 1000000u);
        json_end_object(j);
    }
    json_end_object(j);
}

static void put_cycles(json *j, const threads_view *v, const char *key, bool suspected)
{
    json_begin_array_at(j, key);
    for (size_t i = 0; i < v->cycle_count; i++) {
        if (v->cycles[i].suspected != suspected)
            continue;
        json_begin_array(j);
        for (size_t k = 0; k < v->cycles[i].count; k++)
            json_u64(j, v->entries[v->cycles[i].members[k]].os_id);
        json_end_array(j);
    }
    json_end_array(j);
}

static void put_chain(json *j, const threads_view *v, const threads_chain *c)
{
    char address[32];

    json_begin_object(j);
    json_put_u64(j, "os_id", v->entries[c->entry].os_id);
    json_put_text(j, "needs", c->by_pool ? "thread pool" : "blocked thread");
    json_begin_array_at(j, "tasks");
    for (size_t i = 0; i < c->count; i++) {
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)c->steps[i].object);
        json_begin_object(j);
        json_put_text(j, "method", c->steps[i].method);
        json_put_text(j, "type", model_text(v->model, c->steps[i].type));
        json_put_text(j, "address", address);
        json_put_bool(j, "done", c->steps[i].is_done);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

static void put_queues(json *j, const threads_view *v, const char *key, bool abandoned)
{
    threads_queues queues;
    char address[32];

    threads_find_queues(v, &queues);
    json_begin_array_at(j, key);
    for (size_t i = 0; i < queues.count; i++) {
        const threads_queue *q = &queues.items[i];

        if (q->is_abandoned != abandoned)
            continue;
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)q->object);
        json_begin_object(j);
        json_put_text(j, "type", model_text(v->model, q->type));
        json_put_text(j, "address", address);
        put_owner(j, q->owner);
        json_put_u64(j, "waiters", q->waiters);
        json_end_object(j);
    }
    json_end_array(j);
}

void threads_show_pool(json *j, const threads_view *v)
{
    threads_pool pool;
    char waited[320];

    threads_find_pool(v, &pool);
    json_put_u64(j, "workers", pool.workers);
    json_put_u64(j, "idle", pool.idle);
    json_put_u64(j, "blocked", pool.blocked);
    json_put_bool(j, "starved", threads_pool_is_starved(&pool));
    json_begin_array_at(j, "blocking");
    for (size_t i = 0; i < pool.site_count; i++) {
        const threads_site *site = &pool.sites[i];
        const model_frame *frame = &v->process->frames[site->frame];

        json_begin_object(j);
        json_put_u64(j, "workers", site->count);
        json_put_text(j, "state", threads_state_name(site->state));
        json_put_text(j, "method",
                      site->frame == 0
                          ? ""
                          : model_text(v->model, v->process->functions[frame->function].name));
        json_put_text(j, "file", model_text(v->model, frame->file));
        json_put_u64(j, "line", frame->line);
        async_name(model_text(v->model, site->type), waited, sizeof waited);
        json_put_text(j, "waits_for", waited);
        json_end_object(j);
    }
    json_end_array(j);
}

static void print_json(const threads_view *v, const threads_show_options *o)
{
    sink out;
    json j;

    sink_init(&out, STDOUT_FILENO);
    json_init(&j, &out);
    json_begin_object(&j);
    json_begin_array_at(&j, "threads");
    for (size_t i = 0; i < v->count; i++)
        if (is_shown(v, o, &v->entries[i]))
            put_thread(&j, v, o, &v->entries[i]);
    json_end_array(&j);
    json_put_text(&j, "looked_from",
                  v->outside_reason == NULL ? "inside"
                  : v->is_core              ? "core"
                                            : "outside");
    if (v->outside_reason != NULL)
        json_put_text(&j, "outside_reason", v->outside_reason);
    put_cycles(&j, v, "deadlocks", false);
    put_cycles(&j, v, "suspected_deadlocks", true);
    json_begin_array_at(&j, "async_deadlocks");
    for (size_t i = 0; i < v->chain_count; i++)
        put_chain(&j, v, &v->chains[i]);
    json_end_array(&j);
    put_queues(&j, v, "abandoned_locks", true);
    put_queues(&j, v, "lock_convoys", false);
    json_begin_object_at(&j, "thread_pool");
    threads_show_pool(&j, v);
    if (o->zombies != NULL && o->zombies->looks > 1) {
        json_put_u64(&j, "added", o->zombies->workers_added);
        json_put_f64(&j, "added_per_second", zombies_workers_a_second(o->zombies));
    }
    json_end_object(&j);
    if (o->zombies != NULL)
        threads_show_zombies_json(&j, v, o);
    json_put_u64(&j, "suspension_us", v->suspension_ns / 1000u);
    json_end_object(&j);
    sink_text(&out, "\n");
    json_free(&j);
    sink_finish(&out, NULL);
    sink_free(&out);
}

/* ---- pages ---- */

static void put_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            printf(*text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&amp;");
        else
            putchar(*text);
    }
}

/* Between fences that are longer than what could end them. */
static void put_fenced(const char *text)
{
    int fence = 3;

    for (const char *at = text; *at != '\0'; at += at[0] != '\0') {
        int run = (int)strspn(at, "`");

        fence = run >= fence ? run + 1 : fence;
        at += run;
    }
    for (int i = 0; i < fence; i++)
        putchar('`');
    printf("\n%s", text);
    for (int i = 0; i < fence; i++)
        putchar('`');
    printf("\n\n");
}

static void put_section(threads_show_format format, const char *title, const char *text)
{
    if (format == THREADS_SHOW_WORDS) {
        printf("%s", text);
    } else if (text[0] != '\0' && format == THREADS_SHOW_MARKDOWN) {
        printf("## %s\n\n", title);
        put_fenced(text);
    } else if (text[0] != '\0') {
        printf("<h2>%s</h2>\n<pre>", title);
        put_escaped(text);
        printf("</pre>\n");
    }
}

static void print_queues(FILE *out, const threads_view *v)
{
    threads_queues queues;
    char who[160], thing[400];

    threads_find_queues(v, &queues);
    for (size_t i = 0; i < queues.count; i++) {
        const threads_queue *q = &queues.items[i];
        const threads_entry *owner = threads_by_id(v, q->owner);

        thing_text(v, q->first, thing, sizeof thing);
        if (q->owner == 0)
            snprintf(who, sizeof who, "a thread");
        else
            snprintf(who, sizeof who, "thread %llu", (unsigned long long)q->owner);
        if (q->is_abandoned)
            fprintf(out,
                    "ABANDONED LOCK: %zu thread%s wait%s for %s that %s took; it has ended and "
                    "cannot give it back\n",
                    q->waiters, q->waiters == 1 ? "" : "s", q->waiters == 1 ? "s" : "", thing, who);
        else
            fprintf(out, "LOCK CONVOY: %zu threads wait for %s that %s owns\n", q->waiters, thing,
                    title(v, owner, who, sizeof who));
        threads_show_stack(out, v,
                           q->is_abandoned || owner == NULL ? q->first->stack : owner->stack);
        fprintf(out, "\n");
    }
}

/* A handler that was compiled into code made at run time is on no stack: then the async method that
 * is waited for says most. */
const char *threads_show_site(const threads_view *v, const threads_site *site, char *text,
                              size_t size)
{
    char method[320];

    if (site->frame != 0)
        return model_text(v->model,
                          v->process->functions[v->process->frames[site->frame].function].name);
    async_name(model_text(v->model, site->type), method, sizeof method);
    snprintf(text, size, method[0] == '\0' ? "the framework%s" : "the framework, for %s", method);
    return text;
}

/* Where the workers of the pool block, when there are too many. */
static void print_pool(FILE *out, const threads_view *v)
{
    threads_pool pool;
    char place[256], site[256];

    threads_find_pool(v, &pool);
    if (!threads_pool_is_starved(&pool))
        return;
    fprintf(out,
            "THREAD POOL STARVED: %zu of %zu workers block, and what they wait for may need a "
            "worker\n",
            pool.blocked, pool.workers);
    for (size_t i = 0; i < pool.site_count; i++)
        fprintf(out, "  %zu x %s in %s%s\n", pool.sites[i].count,
                threads_state_name(pool.sites[i].state),
                threads_show_site(v, &pool.sites[i], site, sizeof site),
                place_text(v, &v->process->frames[pool.sites[i].frame], place, sizeof place));
    fprintf(out, "  (`clarinet tasks` shows what waits in the pool's queues)\n\n");
}

static void print_summary(FILE *out, const threads_view *view)
{
    size_t certain = threads_cycles(view, false);

    if (view->is_core) {
        fprintf(out, "%zu threads\n", view->count);
        return;
    }
    if (view->outside_reason != NULL) {
        fprintf(out, "%zu threads; they stood still for %.1f ms in all, one after the other\n",
                view->count, (double)view->suspension_ns / 1e6);
        return;
    }
    fprintf(out, "%zu threads, %zu deadlock%s", view->count, certain, certain == 1 ? "" : "s");
    if (view->cycle_count != certain)
        fprintf(out, ", %zu suspected", view->cycle_count - certain);
    if (view->chain_count != 0)
        fprintf(out, ", %zu blocked on async work", view->chain_count);
    fprintf(out, "; the program stood still for %.1f ms\n", (double)view->suspension_ns / 1e6);
}

/* Which way the look was taken, when it says less than one from inside. */
static void print_way(FILE *out, const threads_view *v, const threads_show_options *o)
{
    if (v->outside_reason == NULL)
        return;
    fprintf(out, "%s: %s\n", v->is_core ? "CORE DUMP" : "LOOKED AT FROM OUTSIDE",
            v->outside_reason);
    if (o->wants_more)
        fprintf(out, "  One look only: -d and --heap need the help of the runtime.\n");
    fprintf(out, "  %s\n\n",
            v->is_traced ? "A debugger has it, so stacks end where its registers were needed. No "
                           "owners of locks, no deadlocks."
                         : "Stacks of all threads; no owners of locks, no deadlocks. Methods "
                           "compiled at run time have names on .NET 9 and later.");
}

/* Writes one part into memory, then as a section. */
static void show_part(const threads_view *view, const threads_show_options *o, int part)
{
    static const char *const TITLES[] = {"What is wrong", "Threads", "Summary"};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return;
    if (part == 0) {
        print_way(out, view, o);
        print_cycles(out, view, o);
        print_queues(out, view);
        print_pool(out, view);
        if (o->zombies != NULL)
            threads_show_zombies(out, view, o);
    } else if (part == 1)
        print_threads(out, view, o);
    else
        print_summary(out, view);
    fclose(out);
    plain_clean(text, true);
    put_section(o->format, TITLES[part], text);
    free(text);
}

void threads_show(const threads_view *view, const threads_show_options *options)
{
    char plain[160], name[200];

    if (options->format == THREADS_SHOW_JSON) {
        print_json(view, options);
        return;
    }
    model_plain(model_text(view->model, view->process->name), plain, sizeof plain);
    snprintf(name, sizeof name, "Threads of %s (%llu)", plain,
             (unsigned long long)view->process->pid);
    if (options->format == THREADS_SHOW_MARKDOWN) {
        printf("# %s\n\n", name);
    } else if (options->format == THREADS_SHOW_HTML) {
        printf("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>");
        put_escaped(name);
        printf("</title>\n<style>body{font:14px sans-serif;margin:2em;color-scheme:light dark}"
               "pre{font:13px monospace}</style>\n<h1>");
        put_escaped(name);
        printf("</h1>\n");
    }
    for (int part = 0; part < 3; part++)
        show_part(view, options, part);
    if (options->format == THREADS_SHOW_HTML)
        printf("</html>\n");
}
