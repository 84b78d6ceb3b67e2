/*
 * profiler_object: the object the runtime holds, shared by profiler.c (written by hand) and
 * callback_table.c (made from the table of interfaces). Private to src/clr.
 */
#ifndef CLARINET_CLR_PROFILER_OBJECT_H
#define CLARINET_CLR_PROFILER_OBJECT_H

#include "clarinet/profiler.h"

typedef struct {
    ICorProfilerCallback11 com; /* first: the runtime's pointer is ours */
    const clr_profiler_callbacks *callbacks;
    void *context;
    clr_info info;
    clr_profiler *profiler;
    int32_t references;
} clr_profiler_object;

extern const struct ICorProfilerCallback11_vtbl clr_callback_table;

HRESULT CLR_CALL clr_profiler_object_query_interface(ICorProfilerCallback11 *self, const GUID *iid,
                                                     void **out);
uint32_t CLR_CALL clr_profiler_object_add_ref(ICorProfilerCallback11 *self);
uint32_t CLR_CALL clr_profiler_object_release(ICorProfilerCallback11 *self);
HRESULT CLR_CALL clr_profiler_object_initialize(ICorProfilerCallback11 *self, clr_unknown *unknown);
HRESULT CLR_CALL clr_profiler_object_initialize_for_attach(ICorProfilerCallback11 *self,
                                                           clr_unknown *unknown, void *client_data,
                                                           uint32_t client_data_size);

#endif
