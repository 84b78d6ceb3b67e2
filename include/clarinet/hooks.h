/*
 * hooks: being told of every call and return of managed methods, in plain C functions.
 *
 * Install in `initialize`, with COR_PRF_MONITOR_ENTERLEAVE in the event mask. A hook runs on the
 * thread that calls, in the middle of managed code: it must not block, allocate managed memory or
 * throw, and it should be short, for it runs millions of times. There is one set of hooks per
 * library, and it cannot be taken back.
 *
 * The first argument is the FunctionID, or what the mapper gave for it.
 */
#ifndef CLARINET_HOOKS_H
#define CLARINET_HOOKS_H

#include "clarinet/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void clr_hook(uintptr_t function);
typedef struct {
    clr_hook *enter;
    clr_hook *leave;
    clr_hook *tailcall; /* left by jumping into another method; no leave follows */
} clr_hooks;
/* Hooks without arguments and results: the fast ones. Members may be NULL. E_NOTIMPL where there
 * are no stubs (only x64 and arm64 have them). */
HRESULT clr_hooks_install(const clr_info *info, const clr_hooks *hooks);

typedef void(CLR_CALL clr_hook_with_info)(uintptr_t function, COR_PRF_ELT_INFO elt_info);
typedef struct {
    clr_hook_with_info *enter;
    clr_hook_with_info *leave;
    clr_hook_with_info *tailcall;
} clr_hooks_with_info;
/* Hooks that can ask for more. The event mask must also have COR_PRF_ENABLE_FUNCTION_ARGS,
 * COR_PRF_ENABLE_FUNCTION_RETVAL or COR_PRF_ENABLE_FRAME_INFO, as wanted. */
HRESULT clr_hooks_install_with_info(const clr_info *info, const clr_hooks_with_info *hooks);

/* Which functions get hooks, and what their hooks are told: answers the value (not 0), or sets
 * *hook to 0. Asked once per function, before its first call. */
typedef uintptr_t(CLR_CALL clr_hook_mapper)(FunctionID function, void *context, BOOL *hook);
HRESULT clr_hooks_map(const clr_info *info, clr_hook_mapper *mapper, void *context);

/* The arguments of the call, left to right (`this` first), in memory. Inside an enter hook.
 * There is room for at least 255 of them; a call with more answers
 * CLR_E_INSUFFICIENT_BUFFER. */
enum { CLR_ARGUMENT_ROOM = 4096 };
typedef struct {
    COR_PRF_FRAME_INFO frame; /* for clr_append_function */
    uint32_t total_size;      /* of all arguments */
    union {
        COR_PRF_FUNCTION_ARGUMENT_INFO info;
        uint8_t room[CLR_ARGUMENT_ROOM];
    } ranges;
} clr_arguments;
/* `function` is the true FunctionID, also where a mapper gave another value. */
HRESULT clr_hook_get_arguments(const clr_info *info, FunctionID function, COR_PRF_ELT_INFO elt_info,
                               clr_arguments *arguments);
/* Copies `size` bytes at `offset` of the arguments laid end to end; 0 when they are not there.
 * A small integer fills a whole register-sized place only where the runtime says so: offsets
 * follow the sizes of the parameters' types. */
int clr_argument_read(const clr_arguments *arguments, size_t offset, void *value, size_t size);

/* The result of the call; length 0 for void. Inside a leave hook. */
typedef struct {
    COR_PRF_FRAME_INFO frame;
    const void *address;
    uint32_t length;
} clr_result;
HRESULT clr_hook_get_result(const clr_info *info, FunctionID function, COR_PRF_ELT_INFO elt_info,
                            clr_result *result);

#ifdef __cplusplus
}
#endif

#endif
