/* tasks_json: see tasks_json.h. */
#include "report/tasks_json.h"

#include <stdio.h>

enum { PAGE_CHAINS = 200, PAGE_STEPS = 60 };

static void put_step(const tasks_view *v, const tasks_step *step, json *j)
{
    const model_frame *frame = &v->h->p->frames[step->frame];
    const model *m = v->h->m;
    buffer name = BUFFER_EMPTY;

    tasks_step_text(v, step, &name);
    json_begin_object(j);
    json_put_text(j, "method", buffer_text(&name));
    json_put_text(j, "type", model_text(m, step->type));
    json_put_text(j, "file", step->has_line ? model_text(m, frame->file) : "");
    json_put_u64(j, "line", step->has_line ? frame->line : 0);
    if (step->frame != 0 && step->state >= 0)
        json_put_u64(j, "await", (uint64_t)step->state);
    if (step->times > 1)
        json_put_u64(j, "times", step->times);
    json_end_object(j);
    buffer_free(&name);
}

/* At most `steps` of them. */
static void put_group(const tasks_view *v, const tasks_group *g, size_t steps, json *j)
{
    static const char *const ENDS[] = {"nobody", "blocked thread", "callback", "one another"};
    char address[32];

    json_begin_object(j);
    json_put_u64(j, "count", g->chains);
    json_put_u64(j, "tasks", g->tasks);
    json_begin_object_at(j, "waiting_for");
    json_put_text(j, "kind", tasks_wait_word(g->wait));
    json_put_text(j, "type", model_text(v->h->m, g->type));
    if (g->due_ms != 0)
        json_put_u64(j, "due_ms", g->due_ms);
    if (g->least_ms != g->due_ms)
        json_put_u64(j, "due_least_ms", g->least_ms);
    if (g->age_ms != 0)
        json_put_u64(j, "age_ms", g->age_ms);
    json_end_object(j);
    json_put_u64(j, "never_completed", g->lost);
    if (v->was_compared)
        json_put_u64(j, "stuck", g->stuck);
    json_put_text(j, "awaited_by", ENDS[g->end]);
    if (g->ring != 0)
        json_put_u64(j, "ring", g->ring);
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)g->example);
    json_put_text(j, "example", address);
    if (g->count > steps)
        json_put_u64(j, "frames_left_out", g->count - steps);
    json_begin_array_at(j, "frames");
    for (size_t i = 0; i < g->count && i < steps; i++)
        put_step(v, &v->steps[g->first + i], j);
    json_end_array(j);
    json_end_object(j);
}

void tasks_json_group(const tasks_view *view, const tasks_group *group, json *j)
{
    put_group(view, group, group->count, j);
}

static void put_page(const tasks_view *v, json *j)
{
    json_begin_object_at(j, "tasks");
    json_put_bool(j, "quick", heap_is_quick(v->h));
    json_put_u64(j, "incomplete", v->incomplete);
    json_put_u64(j, "rings", v->rings);
    json_put_u64(j, "runtime_async", v->runtime_async);
    json_put_u64(j, "kinds", v->group_count);
    if (v->pool.is_known) {
        json_begin_object_at(j, "pool");
        json_put_u64(j, "existing", v->pool.existing);
        json_put_u64(j, "working", v->pool.working);
        json_put_u64(j, "minimum", v->pool.minimum);
        json_put_u64(j, "queued", v->pool.queued + v->pool.queued_local);
        json_end_object(j);
    }
    json_begin_array_at(j, "chains");
    for (size_t i = 0; i < v->group_count && i < PAGE_CHAINS; i++)
        put_group(v, &v->groups[i], PAGE_STEPS, j);
    json_end_array(j);
    json_end_object(j);
}

int tasks_json_page(const model *m, const model_process *p, json *j, error *e)
{
    tasks_view view;
    error trouble; /* is told with the heap */
    const heap *h;
    int code;

    if (heap_shared(m, p, &h, &trouble) != 0)
        return 0;
    code = tasks_make(h, &view, e);
    if (code == 0 && view.has_values && view.incomplete != 0)
        put_page(&view, j);
    tasks_free(&view);
    return code;
}
