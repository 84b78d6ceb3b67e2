/*
 * profiler: being a CLR profiler.
 *
 * Write functions for the callbacks you want, put them into a clr_profiler_callbacks, and name that
 * with CLR_PROFILER. The SDK brings the rest: DllGetClassObject, the class factory, reference
 * counts, and QueryInterface for every version of ICorProfilerCallback the runtime may ask for.
 *
 *     static HRESULT on_start(void *context, const clr_info *info)
 *     {
 *         return clr_info_set_event_mask(info, COR_PRF_MONITOR_MODULE_LOADS);
 *     }
 *     static const clr_profiler_callbacks callbacks = {.initialize = on_start};
 *     CLR_PROFILER("{…}", callbacks, NULL)
 *
 * Thread rules: the runtime calls from any thread, several at once, and on the same thread again
 * while a callback is running (jit_inlining inside jit_compilation_started). Hold no lock across a
 * call into the runtime. `info` belongs to the SDK and stays valid until shutdown or
 * profiler_detach_succeeded returns.
 * A profiler without initialize_for_attach gets initialize when it is attached.
 */
#ifndef CLARINET_PROFILER_H
#define CLARINET_PROFILER_H

#include "clarinet/callbacks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One profiler of this library. Static; `live` belongs to the SDK. */
typedef struct {
    const char *clsid; /* "{8-4-4-4-12}", any case; NULL answers every CLSID */
    const clr_profiler_callbacks *callbacks;
    void *context; /* first argument of every callback */
    int32_t live;  /* objects and locks held by the runtime */
} clr_profiler;

/* The body of DllGetClassObject: a class factory for `profiler` when `clsid` is its. */
HRESULT clr_profiler_get_class_object(clr_profiler *profiler, const GUID *clsid, const GUID *iid,
                                      void **out);
/* The body of DllCanUnloadNow: S_OK when nothing of `profiler` is held, else S_FALSE. */
HRESULT clr_profiler_can_unload(const clr_profiler *profiler);

/* Asks `unknown` for its newest ICorProfilerInfo and fills *info; E_NOINTERFACE below version 3.
 * The caller owns a reference: clr_release(info->com). */
HRESULT clr_info_open(clr_unknown *unknown, clr_info *info);

#if defined(_WIN32) && defined(__i386__)
#define CLR_ENTRY __attribute__((__stdcall__))
#else
#define CLR_ENTRY
#endif

#ifdef __cplusplus
#define CLR_ENTRY_LINKAGE extern "C"
#else
#define CLR_ENTRY_LINKAGE extern
#endif

/* Defines the two functions the runtime looks for in a profiler library. In C++ too they have C
 * names. */
#define CLR_PROFILER(clsid_text, callback_table, callback_context)                                 \
    static clr_profiler clr_this_profiler = {clsid_text, &(callback_table), callback_context, 0};  \
    CLR_ENTRY_LINKAGE CLR_EXPORT HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid,            \
                                                                     const GUID *iid, void **out); \
    CLR_ENTRY_LINKAGE CLR_EXPORT HRESULT CLR_ENTRY DllCanUnloadNow(void);                          \
    HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid, const GUID *iid, void **out)            \
    {                                                                                              \
        return clr_profiler_get_class_object(&clr_this_profiler, clsid, iid, out);                 \
    }                                                                                              \
    HRESULT CLR_ENTRY DllCanUnloadNow(void)                                                        \
    {                                                                                              \
        return clr_profiler_can_unload(&clr_this_profiler);                                        \
    }

/* The name of a result code (`CORPROF_E_DATAINCOMPLETE`), or "0x80001234"; may be written into
 * `text` (at least CLR_HRESULT_TEXT bytes). Never NULL. */
#define CLR_HRESULT_TEXT 64
const char *clr_hresult_name(HRESULT hr, char text[CLR_HRESULT_TEXT]);

/* GUIDs as text: "{XXXXXXXX-XXXX-…}"; false when the text is not one. */
#define CLR_GUID_TEXT 40
int clr_guid_parse(const char *text, GUID *guid);
const char *clr_guid_format(const GUID *guid, char text[CLR_GUID_TEXT]);
int clr_guid_equal(const GUID *a, const GUID *b);

#ifdef __cplusplus
}
#endif

#endif
