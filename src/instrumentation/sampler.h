/*
 * sampler: what the exports of sampler.c keep between two calls. The layouts of a stack and of a
 * name are read by the managed agent.
 */
#ifndef CLARINET_INSTRUMENTATION_SAMPLER_H
#define CLARINET_INSTRUMENTATION_SAMPLER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "clarinet/types.h"

typedef struct {
    ThreadID thread;
    HRESULT result; /* of the walk; 1 = deeper than we keep */
    int32_t count;
    uintptr_t *functions; /* the leaf first */
} sampler_stack;

typedef struct {
    FunctionID function;
    WCHAR *type;
    WCHAR *method;
} sampler_name;

typedef struct {
    ModuleID id;
    uint32_t unloads; /* of modules that had the id before: ids are used again */
} sampler_module;

typedef struct {
    atomic_flag busy; /* one caller at a time */
    sampler_stack *stacks;
    size_t count;
    size_t capacity;
    uintptr_t *frames;       /* of all stacks, a fixed number each */
    sampler_module *modules; /* of the frames */
    table_u64 seen;          /* functions that were ever handed out, and their modules */
    table_u64 seen_unloads;  /* and how many modules of that id had gone before */
    sampler_name *names;
    size_t name_count;
} sampler;

#endif
