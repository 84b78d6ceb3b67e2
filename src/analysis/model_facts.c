/*
 * model_facts: what a recording says about itself while a model is loaded: infos, losses, costs,
 * profilers and how it ended. These are few and found by search; a recording that has more than
 * MAXIMUM_SMALL of them is not a true one, and the rest is left out. See model_load.h.
 */
#include "analysis/model_load.h"

#include "base/memory.h"

static const size_t MAXIMUM_SMALL = 1000;

static bool put_info(model *m, model_info **infos, size_t *count, size_t *capacity,
                     const recording_info *record)
{
    uint32_t key;
    uint32_t value;

    if (!model_add_string(m, record->key, &key) || !model_add_string(m, record->value, &value))
        return false;
    for (size_t i = 0; i < *count; i++) {
        if ((*infos)[i].key == key) {
            (*infos)[i].value = value;
            return true;
        }
    }
    if (*count >= MAXIMUM_SMALL)
        return true;
    if (!MODEL_GROW(m, *infos, *count, *capacity))
        return false;
    (*infos)[(*count)++] = (model_info){key, value};
    return true;
}

bool model_load_infos(model *m, model_process *p, reader *r)
{
    recording_info record;

    while (recording_next_info(r, &record)) {
        if (p == NULL ? !put_info(m, &m->infos, &m->info_count, &m->info_capacity, &record)
                      : !put_info(m, &p->infos, &p->info_count, &p->info_capacity, &record))
            return false;
    }
    return true;
}

bool model_load_losses(model *m, model_process *p, reader *r)
{
    recording_loss record;

    while (recording_next_loss(r, &record)) {
        uint32_t profiler;
        uint32_t reason;
        size_t i = 0;

        if (!model_add_string(m, record.profiler, &profiler) ||
            !model_add_string(m, record.reason, &reason))
            return false;
        while (i < p->loss_count &&
               (p->losses[i].profiler != profiler || p->losses[i].reason != reason))
            i++;
        if (i == p->loss_count) {
            if (i >= MAXIMUM_SMALL)
                continue;
            if (!MODEL_GROW(m, p->losses, p->loss_count, p->loss_capacity))
                return false;
            p->loss_count++;
        }
        p->losses[i] = (model_loss){profiler, reason, record.total};
    }
    return true;
}

static bool load_parameters(model *m, model_profiler *profiler, uint64_t count, reader *r)
{
    size_t capacity = 0;
    recording_info record;

    memory_free(profiler->parameters);
    profiler->parameters = NULL;
    profiler->parameter_count = 0;
    for (uint64_t i = 0; i < count && recording_next_parameter(r, &record); i++)
        if (!put_info(m, &profiler->parameters, &profiler->parameter_count, &capacity, &record))
            return false;
    return true;
}

static model_profiler *profiler_of(model *m, model_process *p, uint32_t name)
{
    for (size_t i = 0; i < p->profiler_count; i++)
        if (p->profilers[i].name == name)
            return &p->profilers[i];
    if (!MODEL_GROW(m, p->profilers, p->profiler_count, p->profiler_capacity))
        return NULL;
    p->profilers[p->profiler_count].name = name;
    return &p->profilers[p->profiler_count++];
}

bool model_load_profilers(model *m, model_process *p, reader *r)
{
    recording_profiler record;

    while (recording_next_profiler(r, &record)) {
        model_profiler *profiler;
        uint32_t name;
        uint32_t note;

        if (!model_add_string(m, record.name, &name))
            return false;
        if (p->profiler_count >= MAXIMUM_SMALL) {
            r->failed = true;
            return true;
        }
        profiler = profiler_of(m, p, name);
        if (profiler == NULL || !model_add_string(m, record.note, &note))
            return false;
        if (note != 0)
            profiler->note = note; /* what was said at the start holds after the stop */
        profiler->state = record.state <= RECORDING_FAILED ? (uint32_t)record.state : 0;
        if (record.state == RECORDING_STARTED)
            profiler->start = record.time;
        else
            profiler->stop = record.time;
        if (record.parameter_count != 0 && !load_parameters(m, profiler, record.parameter_count, r))
            return false;
        if (p->duration_ns < record.time && record.time <= INT64_MAX)
            p->duration_ns = record.time;
    }
    return true;
}

bool model_load_costs(model_process *p, reader *r)
{
    recording_cost record;

    while (recording_next_cost(r, &record)) {
        p->cost = record;
        if (++p->cost_count == 2)
            p->cost_begun = record;
        p->has_cost = true;
    }
    return true;
}

/* A program may run on when its recording is over: that time is not the recording's. */
static bool is_recording(const model_process *p)
{
    for (size_t i = 0; i < p->profiler_count; i++)
        if (p->profilers[i].state == RECORDING_STARTED)
            return true;
    return p->profiler_count == 0;
}

bool model_load_ends(model *m, model_process *p, reader *r)
{
    recording_end record;

    while (recording_next_end(r, &record)) {
        if (!model_add_string(m, record.reason, &p->end_reason))
            return false;
        if (is_recording(p) && p->duration_ns < record.time && record.time <= INT64_MAX)
            p->duration_ns = record.time;
    }
    return true;
}
