/*
 * rule_zombies: zombie-threads: threads that leak, wait for a lock whose owner has ended, or are
 * very many and do nothing. Deadlocks are told by their own rule.
 */
#include "analysis/findings_rule.h"
#include "analysis/zombies.h"

enum { FEWEST_LOOKS = 5 };

static void tell_leak(findings_context *c, const zombies_group *g, double seconds)
{
    char title[FINDINGS_NAME];
    finding *f = findings_add(
        c, FINDINGS_WARNING,
        "%zu threads begun in %s, %zu more than %.1f s before, and none of them ended", g->count,
        findings_frame_title(c, g->start, title), g->count - g->before, seconds);

    findings_show(c, f, "one of them is %s:", threads_state_name(g->state));
    findings_show_stack(c, f, g->stack);
    findings_set_place(c, f, findings_frame_name(c, g->start));
    findings_advise(c, f,
                    "Let these threads end, or use the thread pool instead of a thread for each "
                    "piece of work. `clarinet threads -d 5s --heap` shows what they wait for.");
}

static void tell_stuck(findings_context *c, const zombies_group *g)
{
    char title[FINDINGS_NAME];
    finding *f =
        findings_add(c, FINDINGS_WARNING,
                     "%zu thread%s begun in %s wait%s for a lock of %s whose owner has "
                     "ended without giving it back",
                     g->count, g->count == 1 ? "" : "s", findings_frame_title(c, g->start, title),
                     g->count == 1 ? "s" : "", model_text(c->m, g->type));

    findings_show_stack(c, f, g->stack);
    findings_set_place(c, f, findings_frame_name(c, g->start));
    findings_advise(c, f,
                    "Release locks in a finally block, or use the lock statement. The program has "
                    "to be restarted to get out of it.");
}

static void tell_idle(findings_context *c, const zombies_group *g, double seconds)
{
    char title[FINDINGS_NAME];
    finding *f = findings_add(
        c, FINDINGS_INFO, "%zu threads begun in %s did nothing for %.1f s, %s", g->count,
        findings_frame_title(c, g->start, title), seconds, threads_state_name(g->state));

    findings_show_stack(c, f, g->stack);
    findings_set_place(c, f, findings_frame_name(c, g->start));
    findings_advise(c, f,
                    "Each thread costs memory for its stack. Use the thread pool, async methods or "
                    "fewer threads that share a queue.");
}

void findings_rule_zombies(findings_context *c)
{
    threads_view view;
    zombies found = {0};
    error e;

    error_clear(&e);
    if (threads_last_look(c->m, c->process) < FEWEST_LOOKS)
        return;
    if (threads_make(c->m, c->process, &view, &e) != 0) {
        c->list->failed = c->list->failed || e.code == ERROR_MEMORY;
        return;
    }
    if (zombies_find(&view, NULL, &found, &e) != 0)
        c->list->failed = true;
    for (size_t i = 0; i < found.count; i++) {
        const zombies_group *g = &found.groups[i];

        if (g->kind == ZOMBIES_LEAKING)
            tell_leak(c, g, (double)found.observed_ns / 1e9);
        else if (g->kind == ZOMBIES_STUCK && g->cause == ZOMBIES_OWNER_ENDED)
            tell_stuck(c, g);
        else if (g->kind == ZOMBIES_IDLE &&
                 (double)g->count >= findings_limit(c, THRESHOLD_ZOMBIE_IDLE))
            tell_idle(c, g, (double)found.observed_ns / 1e9);
    }
    zombies_free(&found);
    threads_free(&view);
}
