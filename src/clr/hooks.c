/*
 * hooks: see clarinet/hooks.h.
 *
 * The runtime calls its fast hooks with arguments in registers of its own choice and expects all
 * others kept; the stubs in hooks_x64.S and hooks_arm64.S keep them and call what
 * clr_hook_targets says. That table is the one piece of state, because a hook has no context; it
 * is written before the runtime is told of the stubs and never after. Hooks with info are called
 * through the runtime's own stubs, as ordinary functions.
 */
#include "clarinet/hooks.h"

#include <string.h>

/* The order is known to the stubs. */
struct clr_hook_table {
    clr_hook *enter;
    clr_hook *leave;
    clr_hook *tailcall;
};
extern struct clr_hook_table clr_hook_targets;
struct clr_hook_table clr_hook_targets;

#if defined(__x86_64__) || defined(__aarch64__)
void clr_hook_stub_enter(FunctionIDOrClientID function);
void clr_hook_stub_leave(FunctionIDOrClientID function);
void clr_hook_stub_tailcall(FunctionIDOrClientID function);

static void ignore(uintptr_t function)
{
    (void)function;
}

HRESULT clr_hooks_install(const clr_info *info, const clr_hooks *hooks)
{
    clr_hook_targets.enter = hooks->enter != NULL ? hooks->enter : ignore;
    clr_hook_targets.leave = hooks->leave != NULL ? hooks->leave : ignore;
    clr_hook_targets.tailcall = hooks->tailcall != NULL ? hooks->tailcall : ignore;
    return clr_info_set_enter_leave_function_hooks3(
        info, hooks->enter != NULL ? clr_hook_stub_enter : NULL,
        hooks->leave != NULL ? clr_hook_stub_leave : NULL,
        hooks->tailcall != NULL ? clr_hook_stub_tailcall : NULL);
}
#else
HRESULT clr_hooks_install(const clr_info *info, const clr_hooks *hooks)
{
    (void)info;
    (void)hooks;
    return E_NOTIMPL;
}
#endif

/* A FunctionIDOrClientID is a union of one word: passed as that word by every ABI of the CLR. */
HRESULT clr_hooks_install_with_info(const clr_info *info, const clr_hooks_with_info *hooks)
{
    FunctionEnter3WithInfo *enter;
    FunctionLeave3WithInfo *leave;
    FunctionTailcall3WithInfo *tailcall;

    memcpy(&enter, &hooks->enter, sizeof enter);
    memcpy(&leave, &hooks->leave, sizeof leave);
    memcpy(&tailcall, &hooks->tailcall, sizeof tailcall);
    return clr_info_set_enter_leave_function_hooks3_with_info(info, enter, leave, tailcall);
}

HRESULT clr_hooks_map(const clr_info *info, clr_hook_mapper *mapper, void *context)
{
    return clr_info_set_function_id_mapper2(info, mapper, context);
}

HRESULT clr_hook_get_arguments(const clr_info *info, FunctionID function, COR_PRF_ELT_INFO elt_info,
                               clr_arguments *arguments)
{
    uint32_t size = sizeof arguments->ranges;
    HRESULT hr;

    memset(&arguments->ranges.info, 0, sizeof arguments->ranges.info);
    arguments->total_size = 0;
    hr = clr_info_get_function_enter3_info(info, function, elt_info, &arguments->frame, &size,
                                           &arguments->ranges.info);
    if (hr != S_OK)
        memset(&arguments->ranges.info, 0, sizeof arguments->ranges.info);
    arguments->total_size = arguments->ranges.info.totalArgumentSize;
    return hr;
}

int clr_argument_read(const clr_arguments *arguments, size_t offset, void *value, size_t size)
{
    const COR_PRF_FUNCTION_ARGUMENT_RANGE *ranges = arguments->ranges.info.ranges;
    size_t most = (sizeof arguments->ranges - offsetof(COR_PRF_FUNCTION_ARGUMENT_INFO, ranges)) /
                  sizeof *ranges;
    uint8_t *out = value;

    memset(value, 0, size);
    for (size_t i = 0; i < arguments->ranges.info.numRanges && i < most && size > 0; i++) {
        size_t length = ranges[i].length;
        size_t take;

        if (offset >= length) {
            offset -= length;
            continue;
        }
        take = length - offset < size ? length - offset : size;
        memcpy(out, (const uint8_t *)ranges[i].startAddress + offset, take);
        out += take;
        size -= take;
        offset = 0;
    }
    return size == 0;
}

HRESULT clr_hook_get_result(const clr_info *info, FunctionID function, COR_PRF_ELT_INFO elt_info,
                            clr_result *result)
{
    COR_PRF_FUNCTION_ARGUMENT_RANGE range;
    HRESULT hr;

    memset(result, 0, sizeof *result);
    hr = clr_info_get_function_leave3_info(info, function, elt_info, &result->frame, &range);
    if (hr == S_OK) {
        result->address = (const void *)range.startAddress;
        result->length = range.startAddress == 0 ? 0 : range.length;
    }
    return hr;
}
