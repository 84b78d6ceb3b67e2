/* refusal: see refusal.h. Constant data; safe from any thread. */
#include "diagnostics/refusal.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "clarinet/profiler.h"

static const refusal REFUSALS[] = {
    {0x8013136a, "CORPROF_E_PROFILER_ALREADY_ACTIVE",
     "another profiler already has the main place in this process",
     "a notification-only profiler can still be attached beside it; otherwise restart the process "
     "without CORECLR_ENABLE_PROFILING, or detach the other profiler",
     ERROR_BUSY},
    {0x8007007e, "ERROR_MOD_NOT_FOUND",
     "the process could not load the library: the file is missing where the process looks, is not "
     "readable for its user, is for another architecture, or needs a symbol that is not there",
     "check with `clarinet launch --profiler LIB --clsid ID -- true`; in a container the path must "
     "be one inside the container, and it must be absolute",
     ERROR_RUNTIME},
    {0x8007007f, "ERROR_PROC_NOT_FOUND", "the library has no DllGetClassObject",
     "is it a CLR profiler? It must export DllGetClassObject", ERROR_RUNTIME},
    {0x80131368, "CORPROF_E_PROFILER_NOT_ATTACHABLE",
     "this profiler cannot be attached (it has no ICorProfilerCallback3)",
     "it can only be loaded at the start: `clarinet launch --profiler LIB --clsid ID -- CMD`",
     ERROR_UNSUPPORTED},
    {0x8013136e, "CORPROF_E_CALLBACK3_REQUIRED",
     "this profiler cannot be attached (it has no ICorProfilerCallback3)",
     "it can only be loaded at the start: `clarinet launch --profiler LIB --clsid ID -- CMD`",
     ERROR_UNSUPPORTED},
    {0x8013135b, "CORPROF_E_NOT_YET_AVAILABLE", "the runtime has not started yet",
     "it is held at its start (DOTNET_DefaultDiagnosticPortSuspend=1 or a diagnostic port that "
     "suspends); resume it, or use a startup profiler",
     ERROR_BUSY},
    {0x80131371, "CORPROF_E_RUNTIME_UNINITIALIZED", "the runtime has not started yet",
     "try again in a moment", ERROR_BUSY},
    {0x80131367, "CORPROF_E_PROFILER_DETACHING", "a profiler is just being detached",
     "try again in a few seconds", ERROR_BUSY},
    {0x80131375, "CORPROF_E_PROFILER_CANCEL_ACTIVATION", "the profiler itself declined to start",
     "its own log may say why; another attach is possible", ERROR_RUNTIME},
    {0x80131376, "CORPROF_E_CONCURRENT_GC_NOT_PROFILABLE",
     "the profiler wants what the concurrent garbage collector does not allow",
     "start the process with DOTNET_gcConcurrent=0 for that profiler", ERROR_RUNTIME},
    {0x80131379, "CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC",
     "a running background garbage collection did not end in time", "try again", ERROR_BUSY},
    {0x80131378, "CORPROF_E_DEBUGGING_DISABLED", "diagnostics are disabled in this process",
     "restart it without DOTNET_EnableDiagnostics=0", ERROR_UNSUPPORTED},
    {0x8013136f, "CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER",
     "the profiler asked for something that only a profiler loaded at the start may have",
     "load it at the start: `clarinet launch --profiler LIB --clsid ID -- CMD`", ERROR_UNSUPPORTED},
    {0x80131384, "CORDIAGIPC_E_BAD_ENCODING", "the runtime could not read the request",
     "this is an error of clarinet: please report it with the runtime's version", ERROR_BUG},
    {0x80131385, "CORDIAGIPC_E_UNKNOWN_COMMAND", "this runtime does not know the command",
     "it is too old for this; `clarinet ps` shows the runtime's version", ERROR_UNSUPPORTED},
    {0x80131515, "COR_E_NOTSUPPORTED",
     "this runtime loads no profilers: the program is compiled by Native AOT, or runs on Mono",
     "build it without PublishAot to examine it", ERROR_UNSUPPORTED},
    {0x80131386, "CORDIAGIPC_E_UNKNOWN_MAGIC", "the runtime speaks another protocol version",
     "is it a .NET runtime newer than this clarinet?", ERROR_UNSUPPORTED},
    {0x80131387, "CORDIAGIPC_E_UNKNOWN_ERROR", "the runtime failed without a reason", "try again",
     ERROR_RUNTIME},
    {0x80131388, "CORPROF_E_SUSPENSION_IN_PROGRESS", "the runtime is just being suspended",
     "try again", ERROR_BUSY},
    {0x80004002, "E_NOINTERFACE",
     "the library does not offer the profiler class that was asked for", "check the CLSID",
     ERROR_RUNTIME},
    {0x80040111, "CLASS_E_CLASSNOTAVAILABLE", "the library knows no profiler with this CLSID",
     "check the CLSID", ERROR_RUNTIME},
    {0x80040154, "REGDB_E_CLASSNOTREG", "the library knows no profiler with this CLSID",
     "check the CLSID", ERROR_RUNTIME},
    {0x80004005, "E_FAIL", "the profiler failed to start, or the runtime failed without a reason",
     "the profiler's own log may say why; another attach is possible", ERROR_RUNTIME},
    {0x80070057, "E_INVALIDARG", "a value in the request was refused",
     "check the path and the values given", ERROR_RUNTIME},
    {0x8007000e, "E_OUTOFMEMORY", "the process has no memory left for it", "", ERROR_RUNTIME},
    {0x80070005, "E_ACCESSDENIED", "the process itself was denied access",
     "the library must be readable for the user of the process", ERROR_PERMISSION},
    {0x80004001, "E_NOTIMPL", "this runtime does not offer it", "", ERROR_UNSUPPORTED},
};

const refusal *refusal_find(uint32_t hresult)
{
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++) {
        if (REFUSALS[i].hresult == hresult)
            return &REFUSALS[i];
    }
    return NULL;
}

int refusal_set(error *e, uint32_t hresult, const char *format, ...)
{
    const refusal *row = refusal_find(hresult);
    char what[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (row == NULL) {
        char number[CLR_HRESULT_TEXT];

        error_set(e, ERROR_RUNTIME, "%s: the runtime refused with %s (0x%08x)", what,
                  clr_hresult_name((HRESULT)hresult, number), hresult);
        error_advise(e, "if a profiler was to be loaded, the code may be its own");
        return ERROR_RUNTIME;
    }
    error_set(e, row->code, "%s: %s (%s 0x%08x)", what, row->meaning, row->name, hresult);
    error_advise(e, "%s", row->advice);
    return row->code;
}
