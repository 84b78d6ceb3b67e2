/*
 * rule_heap: duplicated-strings, collection-waste and stuck-tasks, from a heap snapshot. A
 * snapshot that is not whole, or that there is no room for, says nothing.
 */
#include <string.h>

#include "analysis/findings_rule.h"
#include "analysis/heap_strings.h"
#include "analysis/heap_waste.h"
#include "analysis/tasks.h"
#include "base/memory.h"
#include "base/screen.h"

enum { ROWS = 5, SHOWN_CHARACTERS = 40, STEPS = 12 };
#define MB 1e6

/* NULL: there is no snapshot that could be read. */
static const heap *snapshot(findings_context *c)
{
    const heap *h = NULL;

    if (c->process->heap == NULL || c->heap_failed)
        return NULL;
    c->heap_failed = heap_shared(c->m, c->process, &h, NULL) != 0; /* its section says why */
    return h;
}

/* Both in bytes and in percent of the heap. */
static bool is_much(const findings_context *c, const heap *h, uint64_t bytes, int least_mb,
                    int least_percent)
{
    return bytes != 0 && (double)bytes >= findings_limit(c, least_mb) * MB &&
           100.0 * (double)bytes >= findings_limit(c, least_percent) * (double)h->bytes;
}

/* ---- strings ---- */

/* The beginning of a text, whole characters, no control characters. */
static void append_text(const char *text, buffer *out)
{
    size_t characters = 0;

    for (; *text != '\0'; text++) {
        bool is_first = ((unsigned char)*text & 0xc0) != 0x80;
        size_t control;

        if (is_first && characters++ == SHOWN_CHARACTERS) {
            buffer_append_text(out, "…");
            return;
        }
        control = screen_control_length(text);
        buffer_append_char(out, control != 0 ? ' ' : *text);
        text += control == 0 ? 0 : control - 1;
    }
}

static void show_duplicate(findings_context *c, finding *f, const heap *h,
                           const heap_duplicates *all, const heap_duplicate *d)
{
    buffer line = BUFFER_EMPTY;

    buffer_format(&line, "%llu x \"", (unsigned long long)d->count);
    append_text(model_text(h->m, d->text), &line);
    buffer_format(&line, "\", %.1f MB", (double)d->wasted / MB);
    if (d->holders[0].count != 0) {
        buffer_append_text(&line, ", held by ");
        heap_string_holder_text(h, &all->owners, &d->holders[0], &line);
    }
    findings_show(c, f, "%s", buffer_text(&line));
    buffer_free(&line);
}

void findings_rule_strings(findings_context *c)
{
    const heap *h = snapshot(c);
    heap_duplicates all;
    buffer place = BUFFER_EMPTY;
    char texts[32];
    finding *f;
    error e;

    error_clear(&e);
    if (h == NULL || (h->snapshot->flags & RECORDING_HEAP_STRINGS) == 0)
        return;
    if (heap_find_duplicates(h, ROWS, &all, &e) != 0) {
        c->list->failed = true;
        return;
    }
    if (all.count != 0 &&
        is_much(c, h, all.wasted, THRESHOLD_STRINGS_MB, THRESHOLD_STRINGS_PERCENT)) {
        f = findings_add(c, FINDINGS_WARNING,
                         "%.1f MB, %.0f %% of the heap, are strings that say the same as another "
                         "one; texts that are stored more than once: %s",
                         (double)all.wasted / MB, 100.0 * (double)all.wasted / (double)h->bytes,
                         findings_number((double)all.texts, texts));
        for (size_t i = 0; i < all.count && all.items[i].wasted >= all.wasted / 100; i++)
            show_duplicate(c, f, h, &all, &all.items[i]);
        if (all.items[0].holders[0].count != 0)
            heap_string_holder_text(h, &all.owners, &all.items[0].holders[0], &place);
        findings_set_place(c, f, buffer_text(&place));
        findings_advise(c, f,
                        "Keep one string of each text where they are read or parsed: a dictionary "
                        "of known texts, or string.Intern for a small set that stays; an enum or a "
                        "number where the set is fixed.");
    }
    buffer_free(&place);
    heap_duplicates_free(&all);
}

/* ---- collections ---- */

static bool is_room(const heap_waste_row *row)
{
    return row->kind == HEAP_WASTE_COLLECTIONS || row->kind == HEAP_WASTE_ARRAYS;
}

static void show_waste(findings_context *c, finding *f, const heap *h, const heap_waste_row *row)
{
    buffer line = BUFFER_EMPTY;
    buffer holder = BUFFER_EMPTY;

    buffer_format(&line, "%llu x %s, %.1f MB, %llu of %llu elements used",
                  (unsigned long long)row->count, heap_type_name(h, row->type),
                  (double)row->bytes / MB, (unsigned long long)row->used,
                  (unsigned long long)row->room);
    heap_waste_holder(h, row, &holder);
    if (holder.length != 0)
        buffer_format(&line, ", held by %s", buffer_text(&holder));
    findings_show(c, f, "%s", buffer_text(&line));
    buffer_free(&holder);
    buffer_free(&line);
}

static void tell_waste(findings_context *c, const heap *h, const heap_waste *all, uint64_t bytes,
                       uint64_t used, uint64_t room)
{
    const heap_waste_row *worst = NULL;
    size_t shown = 0;
    finding *f = findings_add(
        c, FINDINGS_WARNING,
        "%.1f MB, %.0f %% of the heap, are empty room in collections and arrays: %.1f %% of "
        "their elements are used",
        (double)bytes / MB, 100.0 * (double)bytes / (double)h->bytes,
        room == 0 ? 0 : 100.0 * (double)used / (double)room);

    for (size_t i = 0; i < all->count; i++) {
        const heap_waste_row *row = &all->rows[i];

        if (!is_room(row) || row->type == UINT32_MAX)
            continue;
        if (worst == NULL || row->bytes > worst->bytes)
            worst = row;
        if (shown++ < ROWS)
            show_waste(c, f, h, row);
    }
    findings_set_place(c, f, worst == NULL ? "" : heap_type_name(h, worst->type));
    findings_advise(c, f,
                    "Make collections when there is something to put into them, with the capacity "
                    "they need; call TrimExcess when they are filled; drop those that stay empty.");
}

void findings_rule_collections(findings_context *c)
{
    const heap *h = snapshot(c);
    uint64_t bytes = 0, used = 0, room = 0;
    heap_waste all;
    error e;

    error_clear(&e);
    if (h == NULL || heap_is_quick(h)) /* dead ones are no waste */
        return;
    if (heap_find_waste(h, &all, &e) != 0) {
        c->list->failed = true;
        return;
    }
    for (size_t i = 0; i < all.count; i++)
        if (is_room(&all.rows[i])) {
            bytes += all.rows[i].bytes;
            used += all.rows[i].used;
            room += all.rows[i].room;
        }
    if (is_much(c, h, bytes, THRESHOLD_ROOM_MB, THRESHOLD_ROOM_PERCENT))
        tell_waste(c, h, &all, bytes, used, room);
    heap_waste_free(&all);
}

/* ---- tasks ---- */

static void show_chain(findings_context *c, finding *f, const tasks_view *view,
                       const tasks_group *g)
{
    buffer name = BUFFER_EMPTY;

    for (size_t i = 0; i < g->count && i < STEPS; i++) {
        const tasks_step *step = &view->steps[g->first + i];
        const model_frame *frame = &c->process->frames[step->frame];
        const char *file = model_text(c->m, frame->file);
        const char *slash = strrchr(file, '/');

        buffer_clear(&name);
        tasks_step_text(view, step, &name);
        if (i == 0)
            findings_set_place(c, f, buffer_text(&name));
        if (step->has_line && frame->line != 0)
            buffer_format(&name, " (%s:%u)", slash == NULL ? file : slash + 1,
                          (unsigned)frame->line);
        findings_show(c, f, "%s", buffer_text(&name));
    }
    buffer_free(&name);
}

void findings_rule_stuck_tasks(findings_context *c)
{
    const heap *h = snapshot(c);
    const tasks_group *worst = NULL;
    uint64_t lost = 0;
    tasks_view view;
    finding *f;
    error e;

    error_clear(&e);
    if (h == NULL || heap_is_quick(h))
        return;
    if (tasks_make(h, &view, &e) != 0) {
        c->list->failed = true;
        return;
    }
    for (size_t i = 0; i < view.group_count; i++) {
        lost += view.groups[i].lost;
        if (view.groups[i].lost != 0 && (worst == NULL || view.groups[i].lost > worst->lost))
            worst = &view.groups[i];
    }
    if (worst != NULL && (double)lost >= findings_limit(c, THRESHOLD_STUCK_TASKS)) {
        f = findings_add(c, FINDINGS_WARNING,
                         "%llu async waits can never end: each awaits a TaskCompletionSource that "
                         "nothing but the waiters refers to; %llu of them are here",
                         (unsigned long long)lost, (unsigned long long)worst->lost);
        show_chain(c, f, &view, worst);
        findings_advise(c, f,
                        "Whoever is to complete the source must keep it and complete it on every "
                        "way out: result, exception, cancellation. Await with a time limit "
                        "(Task.WaitAsync). `clarinet tasks` shows all of them.");
    }
    tasks_free(&view);
}
