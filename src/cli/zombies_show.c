/*
 * zombies_show: threads that are of no use any more, in words and as JSON. Part of threads_show.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/threads_show.h"

enum { MOST_IDS = 8 };

static const char *method_text(const threads_view *v, uint32_t frame)
{
    return frame == 0 ? ""
                      : model_text(v->model,
                                   v->process->functions[v->process->frames[frame].function].name);
}

/* "begun in Shop.Jobs.Run", "native". */
static void print_start(FILE *out, const threads_view *v, const zombies_group *g)
{
    if (g->start != 0)
        fprintf(out, ", begun in %s", method_text(v, g->start));
}

static void print_ids(FILE *out, const zombies_group *g)
{
    fprintf(out, "  thread%s", g->count == 1 ? "" : "s");
    for (size_t i = 0; i < g->count && i < MOST_IDS; i++)
        fprintf(out, " %llu", (unsigned long long)g->os_ids[i]);
    fprintf(out, g->count > MOST_IDS ? " and %zu more\n" : "\n", g->count - MOST_IDS);
}

static void print_leak(FILE *out, const threads_view *v, const zombies_group *g, double seconds)
{
    fprintf(out, "LEAKING THREADS: %zu threads", g->count);
    print_start(out, v, g);
    fprintf(out, "; %.1f s before there were %zu, and none has ended\n", seconds, g->before);
}

static void print_stuck(FILE *out, const threads_view *v, const zombies_group *g)
{
    fprintf(out, "%sBLOCKED FOR EVER: %zu thread%s",
            g->cause == ZOMBIES_UNREACHABLE ? "SUSPECTED TO BE " : "", g->count,
            g->count == 1 ? "" : "s");
    print_start(out, v, g);
    fprintf(out, ", %s", threads_state_name(g->state));
    if (g->type != 0)
        fprintf(out, " of %s", model_text(v->model, g->type));
    fprintf(out, ": %s\n",
            g->cause == ZOMBIES_OWNER_ENDED ? "who owns it has ended"
            : g->cause == ZOMBIES_DEADLOCK
                ? "it is part of a deadlock, or waits for a thread that is"
                : "as far as the heap tells, nobody else refers to it");
}

static void print_idle(FILE *out, const threads_view *v, const zombies_group *g, double seconds)
{
    fprintf(out, "DID NOTHING for %.1f s: %zu thread%s", seconds, g->count,
            g->count == 1 ? "" : "s");
    print_start(out, v, g);
    fprintf(out, ", %s", threads_state_name(g->state));
    if (g->type != 0)
        fprintf(out, " of %s", model_text(v->model, g->type));
    fprintf(out, "\n");
}

static void print_starters(FILE *out, const threads_view *v, const zombies_group *g)
{
    for (size_t i = 0; i < g->starter_count; i++) {
        const zombies_starter *s = &g->starters[i];

        fprintf(out, "  %zu of them %s started by %s\n", s->count, s->count == 1 ? "was" : "were",
                method_text(v, s->frame));
        threads_show_stack(out, v, s->stack);
    }
}

static void print_objects(FILE *out, const threads_heap *known)
{
    if (known->ended == 0)
        return;
    fprintf(out, "THREAD OBJECTS WITHOUT A THREAD: %llu of %llu, ended or never started",
            (unsigned long long)known->ended, (unsigned long long)known->objects);
    fprintf(out, known->ended_field == NULL ? "\n\n" : "; held by %s\n\n", known->ended_field);
}

void threads_show_zombies(FILE *out, const threads_view *v, const threads_show_options *o)
{
    const zombies *z = o->zombies;
    double seconds = (double)z->observed_ns / 1e9;

    for (size_t i = 0; i < z->count; i++) {
        const zombies_group *g = &z->groups[i];

        /* what one look tells has been told */
        if (g->kind == ZOMBIES_STUCK && z->looks < 2 && g->cause != ZOMBIES_UNREACHABLE)
            continue;
        if (g->kind == ZOMBIES_LEAKING)
            print_leak(out, v, g, seconds);
        else if (g->kind == ZOMBIES_STUCK)
            print_stuck(out, v, g);
        else
            print_idle(out, v, g, seconds);
        print_ids(out, g);
        threads_show_stack(out, v, g->stack);
        print_starters(out, v, g);
        fprintf(out, "\n");
    }
    if (o->heap != NULL)
        print_objects(out, o->heap);
    if (z->looks < 2)
        return;
    if (z->count == 0)
        fprintf(out, "No zombies among %zu threads, seen %zu times in %.1f s\n", v->count, z->looks,
                seconds);
    else
        fprintf(out, "Seen %zu times in %.1f s: %zu leaking, %zu blocked for ever, %zu idle\n",
                z->looks, seconds, zombies_threads(z, ZOMBIES_LEAKING),
                zombies_threads(z, ZOMBIES_STUCK), zombies_threads(z, ZOMBIES_IDLE));
    if (z->workers_added != 0)
        fprintf(out, "The thread pool added %zu worker%s: %.1f a second\n", z->workers_added,
                z->workers_added == 1 ? "" : "s", zombies_workers_a_second(z));
    fprintf(out, "\n");
}

static void put_starters(json *j, const threads_view *v, const zombies_group *g)
{
    json_begin_array_at(j, "started_by");
    for (size_t i = 0; i < g->starter_count; i++) {
        json_begin_object(j);
        json_put_u64(j, "count", g->starters[i].count);
        json_put_text(j, "method", method_text(v, g->starters[i].frame));
        threads_show_frames(j, v, g->starters[i].stack);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_group(json *j, const threads_view *v, const zombies_group *g)
{
    json_begin_object(j);
    json_put_text(j, "kind", zombies_kind_name(g->kind));
    json_put_text(j, "cause", zombies_cause_text(g->cause));
    json_put_bool(j, "suspected", g->cause == ZOMBIES_UNREACHABLE);
    json_put_u64(j, "count", g->count);
    if (g->kind == ZOMBIES_LEAKING)
        json_put_u64(j, "before", g->before);
    json_put_text(j, "start", method_text(v, g->start));
    json_put_text(j, "state", threads_state_name(g->state));
    json_put_text(j, "type", model_text(v->model, g->type));
    json_begin_array_at(j, "os_ids");
    for (size_t i = 0; i < g->count; i++)
        json_u64(j, g->os_ids[i]);
    json_end_array(j);
    threads_show_frames(j, v, g->stack);
    if (g->kind == ZOMBIES_LEAKING)
        put_starters(j, v, g);
    json_end_object(j);
}

static void put_objects(json *j, const threads_heap *known)
{
    json_begin_object(j);
    json_put_text(j, "kind", "object");
    json_put_u64(j, "count", known->ended);
    json_put_text(j, "held_by", known->ended_field == NULL ? "" : known->ended_field);
    json_end_object(j);
}

void threads_show_zombies_json(json *j, const threads_view *v, const threads_show_options *o)
{
    const zombies *z = o->zombies;

    json_begin_array_at(j, "zombies");
    for (size_t i = 0; i < z->count; i++)
        put_group(j, v, &z->groups[i]);
    if (o->heap != NULL && o->heap->ended != 0)
        put_objects(j, o->heap);
    json_end_array(j);
    json_put_u64(j, "looks", z->looks);
    json_put_u64(j, "observed_ms", z->observed_ns / 1000000u);
}
