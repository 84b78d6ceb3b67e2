/*
 * profiler: start-up and callbacks of the instrumentation agent. See profiler.h.
 *
 * Start-up follows one order, each step of which can end activation: then the runtime gets
 * CORPROF_E_PROFILER_CANCEL_ACTIVATION and the application runs as if we had never been there.
 */
#include "instrumentation/profiler.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "clarinet/flags.h"
#include "clarinet/lookup.h"
#include "instrumentation/method.h"
#include "instrumentation/platform.h"
#include "rules/process.h"

static const char CORE_CLSID[] = "{36032161-FFC0-4B61-B559-F6C5D41BAE5A}";
static const char FRAMEWORK_CLSID[] = "{71DA0A04-7777-4EC6-9643-7D28B46A8A41}";

enum {
    REFERENCE_MASK = COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_MODULE_LOADS |
                     COR_PRF_MONITOR_THREADS | COR_PRF_ENABLE_REJIT | COR_PRF_ENABLE_STACK_SNAPSHOT,
    LIGHT_MASK = COR_PRF_MONITOR_MODULE_LOADS | COR_PRF_ENABLE_REJIT | COR_PRF_ENABLE_STACK_SNAPSHOT
};
/* These two do not fit an int. */
static const uint32_t REFERENCE_MASK_HIGH_BITS =
    (uint32_t)COR_PRF_USE_PROFILE_IMAGES | (uint32_t)COR_PRF_DISABLE_ALL_NGEN_IMAGES;

enum { LONGEST_DELAY = 600 }; /* seconds */

instrumentation instrumentation_root;

/* ---- start-up ---- */

static void write_about_points(void *context, bool is_error, const char *sentence)
{
    instrumentation *root = context;

    journal_write(&root->log, is_error ? LEVEL_ERROR : LEVEL_WARN, "%s", sentence);
}

points_log instrumentation_points_log(instrumentation *root)
{
    return (points_log){write_about_points, root};
}

static void open_journal(instrumentation *root)
{
    journal_open(&root->log, &root->settings, &root->environment, root->folders.home);
}

static bool read_settings(instrumentation *root)
{
    error e;
    int code;

    error_clear(&e);
    code = home_read_configuration(&root->folders, &root->environment, &root->settings, &e);
    if (code != 0) { /* the log opens with the defaults, so that the reason is found there */
        memset(&root->settings, 0, sizeof root->settings);
        root->settings.level = LEVEL_INFO;
        root->settings.log_enabled = true;
        open_journal(root);
        journal_write(&root->log, LEVEL_ERROR, "%s. %s", e.message, e.advice);
        return false;
    }
    open_journal(root);
    journal_write(&root->log, LEVEL_INFO, "Logger initialized.");
    journal_write(&root->log, LEVEL_TRACE, "%s",
                  root->is_core_clr ? "New Relic .NET CoreCLR Agent" : "New Relic .NET Agent");
    if (journal_is_clamped(&root->log))
        journal_write(&root->log, LEVEL_WARN,
                      "The log level is raised to Info: console logging or an Azure function");
    if (variables_bool(&root->environment, VARIABLE_DISABLE_DOMAIN_CACHING) == BOOL_TRUE)
        journal_write(&root->log, LEVEL_INFO,
                      "The use of AppDomain for method information caching is disabled");
    for (size_t i = 0; i < root->settings.warnings.count; i++)
        journal_write(&root->log, LEVEL_WARN, "%s", root->settings.warnings.items[i]);
    return true;
}

static bool is_supported(instrumentation *root)
{
    unsigned least = root->is_core_clr ? 11 : 7;

    if (root->info.version >= least)
        return true;
    journal_write(&root->log, LEVEL_ERROR, "This runtime is too old: %s or later is needed",
                  root->is_core_clr ? ".NET Core 3.1" : ".NET Framework 4.6.1");
    return false;
}

static bool read_points(instrumentation *root)
{
    points *set = NULL;
    error missing;
    error e;
    bool has_agent;

    error_clear(&missing);
    error_clear(&e);
    has_agent = home_find_agent(&root->folders, &root->agent_path, &missing) == 0;
    if (home_collect_points(&root->folders, &root->environment, &root->settings, NULL, 0,
                            instrumentation_points_log(root), &set, &e) != 0) {
        journal_write(&root->log, LEVEL_ERROR, "%s. %s", e.message, e.advice);
        return false;
    }
    if (!has_agent && points_need_agent(set)) {
        journal_write(&root->log, LEVEL_ERROR, "%s. %s", missing.message, missing.advice);
        points_free(set);
        return false;
    }
    root->points = set;
    if (points_invalid_files(set) != 0)
        journal_write(&root->log, LEVEL_WARN,
                      "%zu invalid extension files: reloading will not work until they are fixed",
                      points_invalid_files(set));
    journal_write(&root->log, LEVEL_INFO, "%zu instrumentation points", points_count(set));
    return true;
}

/* The tables for look-ups: nobody sees when they are made, and an excluded process needs none. */
static bool finish_points(instrumentation *root)
{
    error e;

    error_clear(&e);
    if (points_finish(root->points, &e) == 0)
        return true;
    journal_write(&root->log, LEVEL_ERROR, "%s", e.message);
    return false;
}

static bool passes_filter(instrumentation *root)
{
    buffer path = BUFFER_EMPTY;
    buffer parent = BUFFER_EMPTY;
    buffer command = BUFFER_EMPTY;
    process_facts process;
    filter_decision decision;
    error e;
    bool passes = false;

    platform_process_path(&path);
    platform_parent_path(&parent);
    platform_command_line(&command);
    process = (process_facts){buffer_text(&path), buffer_text(&parent), buffer_text(&command)};
    error_clear(&e);
    if (process_decide(&process, &root->folders, &root->environment, &root->settings, &decision,
                       &e) != 0) {
        journal_write(&root->log, LEVEL_ERROR, "%s", e.message);
    } else {
        passes = decision.instrument;
        journal_write(&root->log, LEVEL_INFO, "This process is %sinstrumented: %s (%s)",
                      passes ? "" : "not ", decision.reason, decision.rule);
        if (!passes)
            journal_write(&root->log, LEVEL_INFO, "The profiler unloads");
    }
    buffer_free(&path);
    buffer_free(&parent);
    buffer_free(&command);
    return passes;
}

/* Time for a debugger to attach before anything is done; in seconds. */
static long wait_for_debugger(const variables *environment)
{
    const char *text = variables_get(environment, VARIABLE_DELAY);
    long seconds = text == NULL ? 0 : strtol(text, NULL, 10);

    if (seconds > LONGEST_DELAY)
        seconds = LONGEST_DELAY;
    if (seconds <= 0)
        return 0;
    os_sleep_ms((unsigned)seconds * 1000);
    return seconds;
}

static bool set_mask(instrumentation *root)
{
    uint32_t low = (uint32_t)REFERENCE_MASK | REFERENCE_MASK_HIGH_BITS;
    uint32_t high = COR_PRF_HIGH_DISABLE_TIERED_COMPILATION;
    HRESULT hr;

    if (root->light_mask) {
        low = LIGHT_MASK;
        high = 0;
    }
    if (root->is_core_clr && root->info.version >= 5)
        hr = clr_info_set_event_mask2(&root->info, low, high);
    else
        hr = clr_info_set_event_mask(&root->info, low);
    if (!CLR_OK(hr))
        journal_write(&root->log, LEVEL_ERROR, "The event mask is refused (0x%08x)", (unsigned)hr);
    return CLR_OK(hr);
}

static bool equals(const char *value, const char *wanted)
{
    return value != NULL && text_equal_ignoring_case(value, wanted);
}

/* What is asked for when two profilers are compared: events and bodies. */
static void open_validation(instrumentation *root)
{
    const char *dump = variables_get(&root->environment, VARIABLE_DUMP_IL);
    buffer path = BUFFER_EMPTY;

    if (!events_open(&root->events, &root->info, &root->environment, &path))
        journal_write(&root->log, LEVEL_WARN, "The event log %s can't be written",
                      buffer_text(&path));
    else if (path.length != 0)
        journal_write(&root->log, LEVEL_INFO, "The event log is %s", buffer_text(&path));
    if (equals(dump, "1")) {
        root->dump_folder = events_folder(&root->environment);
        platform_make_folder(root->dump_folder);
    }
    buffer_free(&path);
}

static HRESULT on_initialize(void *context, const clr_info *info)
{
    instrumentation *root = context;
    clr_runtime runtime;
    long waited;

    root->info = *info;
    root->environment = (variables){platform_variable, NULL, PLATFORM_EMPTY_VARIABLE_IS_UNSET};
    waited = wait_for_debugger(&root->environment);
    root->log.file = -1;
    root->events.file = -1;
    if (info->version < 4 || !CLR_OK(clr_get_runtime(info, &runtime)) ||
        (runtime.type != COR_PRF_DESKTOP_CLR && runtime.type != COR_PRF_CORE_CLR))
        return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    root->is_core_clr = runtime.type == COR_PRF_CORE_CLR;
    root->reference_form =
        equals(variables_get(&root->environment, VARIABLE_TEMPLATE), "reference");
    root->light_mask = equals(variables_get(&root->environment, VARIABLE_MASK), "light");
    home_find(&root->folders, &PLATFORM_FILES, &root->environment, root->is_core_clr);
    platform_local_folder(&root->local_folder);
    root->folders.local = buffer_text(&root->local_folder);
    if (!read_settings(root) || !is_supported(root) || !read_points(root) || !passes_filter(root) ||
        !finish_points(root) || !set_mask(root)) {
        points_free(atomic_exchange(&root->points, NULL));
        journal_close(&root->log);
        return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    }
    home_check_shims(&root->folders, buffer_text(&root->agent_path), root->points,
                     instrumentation_points_log(root));
    open_validation(root);
    root->started = true;
    if (waited != 0)
        journal_write(&root->log, LEVEL_INFO, "Waited %ld s for a debugger", waited);
    journal_write(&root->log, LEVEL_INFO, "Profiler initialized");
    return S_OK;
}

/* The agent comes with the program or not at all: methods that ran already would be missed. */
static HRESULT on_attach(void *context, const clr_info *info, void *data, uint32_t size)
{
    instrumentation *root = context;

    (void)info;
    (void)data;
    (void)size;
    root->log.file = -1;
    root->events.file = -1;
    return S_OK;
}

static void on_shutdown(void *context)
{
    instrumentation *root = context;

    journal_write(&root->log, LEVEL_INFO, "Shutdown begins");
    root->started = false;
    journal_write(&root->log, LEVEL_INFO, "Shutdown ends");
}

/* ---- callbacks ---- */

static int add_inliner(void *context, ModuleID module, mdMethodDef method)
{
    method_list_add(context, module, method);
    return 1;
}

static void request(instrumentation *root, method_list *list)
{
    HRESULT hr;

    if (list->count == 0)
        return;
    hr = clr_info_request_rejit(&root->info, (uint32_t)list->count, list->modules, list->methods);
    if (!CLR_OK(hr))
        journal_write(&root->log, LEVEL_ERROR, "%zu methods can't be instrumented (0x%08x)",
                      list->count, (unsigned)hr);
}

static void rewrite_at_once(instrumentation *root, const method_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        target *t = targets_find(&root->targets, list->modules[i], list->methods[i]);

        if (t != NULL)
            rewrite_first_body(root, t);
    }
}

static void on_module_load_finished(void *context, ModuleID module, HRESULT status)
{
    instrumentation *root = context;
    method_list found;
    target *whole;
    bool is_collectible;

    events_module(&root->events, "ModuleLoadFinished", module, "status",
                  CLR_OK(status) ? "ok" : "failed");
    if (!root->started || !CLR_OK(status))
        return;
    is_collectible = clr_is_module_collectible(&root->info, module);
    /* Before the points are read: a reload finds the module here, or we its new points. */
    whole = targets_add(&root->targets, module, TARGET_WHOLE_MODULE);
    if (whole != NULL) {
        whole->is_collectible = is_collectible;
        whole->active = true;
    }
    if (!root->is_core_clr) /* its methods are met one by one, when they are compiled */
        return;
    memset(&found, 0, sizeof found);
    matching_scan_module(root, module, true, &found);
    if (is_collectible) {
        rewrite_at_once(root, &found);
        method_list_free(&found);
        return;
    }
    if (root->light_mask) { /* precompiled callers that have the method inlined come along */
        size_t count = found.count;

        for (size_t i = 0; i < count; i++)
            clr_each_inliner(&root->info, module, found.modules[i], found.methods[i], add_inliner,
                             &found);
    }
    request(root, &found);
    method_list_free(&found);
}

static void on_module_unload_started(void *context, ModuleID module)
{
    instrumentation *root = context;

    events_module(&root->events, "ModuleUnloadStarted", module, NULL, NULL);
    targets_forget_module(&root->targets, module);
}

static void on_jit_compilation_started(void *context, FunctionID function, BOOL is_safe_to_block)
{
    instrumentation *root = context;
    ModuleID module = 0;
    mdToken method = 0;
    method_list list;

    events_function(&root->events, "JITCompilationStarted", function, "is_safe_to_block",
                    is_safe_to_block ? "true" : "false");
    /* All methods of a module were looked at when it was loaded (not on the .NET Framework); only
     * what came another way is not known yet. */
    if (!root->started ||
        !CLR_OK(clr_info_get_function_info(&root->info, function, NULL, &module, &method)) ||
        (root->is_core_clr && targets_find(&root->targets, module, TARGET_WHOLE_MODULE) != NULL) ||
        targets_find(&root->targets, module, method) != NULL ||
        !matching_scan_method(root, module, method))
        return;
    memset(&list, 0, sizeof list);
    method_list_add(&list, module, method);
    request(root, &list);
    method_list_free(&list);
}

static void on_jit_inlining(void *context, FunctionID caller, FunctionID callee, BOOL *inline_it)
{
    instrumentation *root = context;
    ModuleID module = 0;
    mdToken method = 0;
    target *t;

    (void)caller;
    *inline_it = 1;
    if (!root->started || !root->has_targets ||
        !CLR_OK(clr_info_get_function_info(&root->info, callee, NULL, &module, &method)))
        return;
    t = targets_find(&root->targets, module, method);
    if (t != NULL && t->active)
        *inline_it = 0;
}

static HRESULT on_get_rejit_parameters(void *context, ModuleID module, mdMethodDef method,
                                       ICorProfilerFunctionControl *control)
{
    instrumentation *root = context;
    target *t = targets_find(&root->targets, module, method);

    events_method(&root->events, "GetReJITParameters", module, method, NULL, NULL);
    if (root->started && t != NULL && t->active)
        rewrite_method(root, t, control);
    return S_OK;
}

static void on_rejit_error(void *context, ModuleID module, mdMethodDef method, FunctionID function,
                           HRESULT status)
{
    instrumentation *root = context;

    (void)function;
    events_method(&root->events, "ReJITError", module, method, NULL, NULL);
    journal_write(&root->log, LEVEL_ERROR, "Method 0x%08x of module 0x%zx: ReJIT failed (0x%08x)",
                  method, (size_t)module, (unsigned)status);
}

static const clr_profiler_callbacks CALLBACKS = {
    .initialize = on_initialize,
    .initialize_for_attach = on_attach,
    .shutdown = on_shutdown,
    .module_load_finished = on_module_load_finished,
    .module_unload_started = on_module_unload_started,
    .jit_compilation_started = on_jit_compilation_started,
    .jit_inlining = on_jit_inlining,
    .get_rejit_parameters = on_get_rejit_parameters,
    .rejit_error = on_rejit_error,
};

/* ---- entry points: either class id works on either runtime ---- */

static clr_profiler PROFILERS[2] = {{CORE_CLSID, &CALLBACKS, &instrumentation_root, 0},
                                    {FRAMEWORK_CLSID, &CALLBACKS, &instrumentation_root, 0}};

CLR_EXPORT HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid, const GUID *iid, void **out);
CLR_EXPORT HRESULT CLR_ENTRY DllCanUnloadNow(void);
CLR_EXPORT const char *GetProfilerVersion(void);
CLR_EXPORT const char *GetProfilerPlatform(void);

HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid, const GUID *iid, void **out)
{
    HRESULT hr = clr_profiler_get_class_object(&PROFILERS[0], clsid, iid, out);

    return CLR_OK(hr) ? hr : clr_profiler_get_class_object(&PROFILERS[1], clsid, iid, out);
}

HRESULT CLR_ENTRY DllCanUnloadNow(void)
{
    return S_OK;
}

const char *GetProfilerVersion(void)
{
    return CLARINET_VERSION;
}

const char *GetProfilerPlatform(void)
{
    return PLATFORM_NAME;
}
