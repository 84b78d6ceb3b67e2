/*
 * reload: what the managed agent may ask of us while the program runs: read the files again, take
 * instrumentation that it brings itself.
 *
 * The exports are called on managed threads, where the runtime refuses ReJIT requests; the work is
 * done on a thread of our own that the caller waits for. One caller at a time: a second one waits
 * for the first, so that no change is lost.
 */
#include "instrumentation/profiler.h"

#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "clarinet/lookup.h"
#include "instrumentation/method.h"
#include "instrumentation/platform.h"

enum { WITH_INLINERS_AND_CALLBACKS = 3 }; /* COR_PRF_REJIT_FLAGS; 1 alone takes probes away */

CLR_EXPORT HRESULT InstrumentationRefresh(void);
CLR_EXPORT HRESULT ReloadConfiguration(void);
CLR_EXPORT HRESULT AddCustomInstrumentation(const char *name, const char *xml);
CLR_EXPORT HRESULT ApplyCustomInstrumentation(void);

/* ---- live files ---- */

static void free_live(home_live_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memory_free(files[i].name);
        memory_free(files[i].xml);
    }
    memory_free(files);
}

/* ---- the work on our own thread ---- */

typedef struct {
    instrumentation *root;
    method_list wanted;
    method_list gone;
} reload;

typedef struct {
    ModuleID module;
    bool is_found;
} body_search;

static void look_for_first_body(void *context, target *t)
{
    body_search *search = context;

    if (t->module == search->module && t->is_first_body)
        search->is_found = true;
}

/* Its methods have the bodies that they were loaded with; the next one that is loaded gets others.
 * To be told when new points name it, and when old ones have that are gone. */
static void keep_collectible(instrumentation *root, ModuleID module)
{
    body_search search = {module, false};
    method_module m;

    bool is_there;

    targets_begin_reading(&root->targets);
    is_there =
        targets_has_module(&root->targets, module) && method_module_open(&root->info, module, &m);
    targets_end_reading(&root->targets);
    if (!is_there)
        return;
    targets_each(&root->targets, look_for_first_body, &search);
    if (search.is_found || points_know_assembly(root->points, buffer_text(&m.assembly_name)))
        journal_write(&root->log, LEVEL_WARN,
                      "[%s] %s can be unloaded: what is loaded of it stays as it is, the new "
                      "points count when it is loaded again",
                      buffer_text(&m.assembly_name), buffer_text(&m.path));
    method_module_close(&m);
}

static int scan_module(void *context, uintptr_t module)
{
    reload *r = context;

    if (targets_is_collectible(&r->root->targets, module))
        keep_collectible(r->root, module);
    else
        matching_scan_module(r->root, module, false, &r->wanted);
    return 1;
}

static void drop_if_old(void *context, target *t)
{
    reload *r = context;

    if (t->active && t->method != TARGET_WHOLE_MODULE && t->generation != r->root->generation &&
        !targets_is_collectible(&r->root->targets, t->module)) {
        t->active = false;
        t->announced = false;
        method_list_add(&r->gone, t->module, t->method);
    }
}

static void revert(reload *r)
{
    HRESULT *status = memory_allocate_array(r->gone.count, sizeof *status);
    HRESULT hr = E_OUTOFMEMORY;

    if (status != NULL)
        hr = clr_info_request_revert(&r->root->info, (uint32_t)r->gone.count, r->gone.modules,
                                     r->gone.methods, status);
    if (!CLR_OK(hr))
        journal_write(&r->root->log, LEVEL_ERROR, "%zu methods can't be reverted (0x%08x)",
                      r->gone.count, (unsigned)hr);
    memory_free(status);
}

static void request(reload *r)
{
    instrumentation *root = r->root;
    HRESULT hr = clr_info_request_rejit_with_inliners(&root->info, WITH_INLINERS_AND_CALLBACKS,
                                                      (uint32_t)r->wanted.count, r->wanted.modules,
                                                      r->wanted.methods);

    if (hr == E_NOINTERFACE)
        hr = clr_info_request_rejit(&root->info, (uint32_t)r->wanted.count, r->wanted.modules,
                                    r->wanted.methods);
    if (!CLR_OK(hr))
        journal_write(&root->log, LEVEL_ERROR, "%zu methods can't be instrumented (0x%08x)",
                      r->wanted.count, (unsigned)hr);
}

static void apply(void *context)
{
    reload *r = context;

    clr_info_initialize_current_thread(&r->root->info);
    clr_each_module(&r->root->info, scan_module, r);
    targets_each(&r->root->targets, drop_if_old, r);
    if (r->gone.count != 0)
        revert(r);
    if (r->wanted.count != 0)
        request(r);
}

/* ---- points ---- */

/* Old sets stay: callbacks of other threads may hold a point of theirs. */
static bool replace_points(instrumentation *root, points *set)
{
    retired *old = memory_allocate(sizeof *old);

    if (old == NULL)
        return false;
    old->set = atomic_exchange(&root->points, set);
    old->next = root->old_points;
    root->old_points = old;
    atomic_fetch_add(&root->generation, 1);
    return true;
}

static HRESULT refresh(instrumentation *root)
{
    points *set = NULL;
    reload r;
    error e;

    error_clear(&e);
    if (home_read_points(&root->folders, &root->environment, &root->settings, root->live,
                         root->live_count, instrumentation_points_log(root), &set, &e) != 0) {
        journal_write(&root->log, LEVEL_ERROR, "%s", e.message);
        return E_FAIL;
    }
    if (points_invalid_files(set) != 0) {
        journal_write(&root->log, LEVEL_ERROR,
                      "%zu invalid extension files: the instrumentation stays as it is",
                      points_invalid_files(set));
        points_free(set);
        return S_FALSE;
    }
    if (!replace_points(root, set)) {
        points_free(set);
        return E_OUTOFMEMORY;
    }
    if (root->agent_path.length == 0 && points_count(set) != 0 && points_need_agent(set))
        journal_write(&root->log, LEVEL_WARN,
                      "There is no managed agent: points without a shim are passed over");
    home_check_shims(&root->folders, buffer_text(&root->agent_path), set,
                     instrumentation_points_log(root));
    memset(&r, 0, sizeof r);
    r.root = root;
    if (!platform_run_on_thread(apply, &r))
        journal_write(&root->log, LEVEL_ERROR, "No thread for the reload");
    journal_write(&root->log, LEVEL_INFO,
                  "%zu instrumentation points, %zu methods instrumented, %zu reverted",
                  points_count(set), r.wanted.count, r.gone.count);
    method_list_free(&r.wanted);
    method_list_free(&r.gone);
    return S_OK;
}

/* With the lines in the log that other tools look for. */
static HRESULT refresh_logged(instrumentation *root)
{
    HRESULT hr;

    journal_write(&root->log, LEVEL_TRACE, "Enter: InstrumentationRefresh");
    hr = refresh(root);
    journal_write(&root->log, LEVEL_TRACE, "Leave: InstrumentationRefresh (0x%08x)", (unsigned)hr);
    return hr;
}

static HRESULT reload_configuration(instrumentation *root)
{
    configuration settings;
    error e;

    error_clear(&e);
    if (home_read_configuration(&root->folders, &root->environment, &settings, &e) != 0) {
        journal_write(&root->log, LEVEL_ERROR, "%s", e.message);
        return E_FAIL;
    }
    configuration_free(&root->settings);
    root->settings = settings;
    journal_configure(&root->log, &settings, &root->environment, root->folders.home);
    journal_write(&root->log, LEVEL_INFO, "<-- New logging level set: %s",
                  journal_level_name(journal_level(&root->log)));
    return refresh_logged(root);
}

static HRESULT collect(instrumentation *root, const char *name, const char *xml)
{
    home_live_file *grown;

    grown = memory_resize(root->collected, (root->collected_count + 1) * sizeof *grown);
    if (grown == NULL)
        return E_OUTOFMEMORY;
    root->collected = grown;
    grown += root->collected_count;
    grown->name = memory_copy_text(name);
    grown->xml = memory_copy_text(xml);
    if (grown->name == NULL || grown->xml == NULL) {
        memory_free(grown->name);
        memory_free(grown->xml);
        return E_OUTOFMEMORY;
    }
    root->collected_count++;
    return S_OK;
}

/* What was collected takes the place of what was in force, also when it is nothing. */
static HRESULT apply_collected(instrumentation *root)
{
    bool is_needed = root->live_count != 0 || root->collected_count != 0;

    free_live(root->live, root->live_count);
    root->live = root->collected;
    root->live_count = root->collected_count;
    root->collected = NULL;
    root->collected_count = 0;
    return is_needed ? refresh_logged(root) : S_OK;
}

/* ---- exports ---- */

/* False before the profiler exists; else no other caller is inside until `leave`. */
static bool enter(instrumentation *root)
{
    if (!root->started) {
        journal_write(&root->log, LEVEL_ERROR, "The profiler has not been started");
        return false;
    }
    while (atomic_flag_test_and_set(&root->reloading))
        os_sleep_ms(1);
    return true;
}

static HRESULT leave(instrumentation *root, HRESULT hr)
{
    atomic_flag_clear(&root->reloading);
    return hr;
}

HRESULT InstrumentationRefresh(void)
{
    instrumentation *root = &instrumentation_root;

    return enter(root) ? leave(root, refresh_logged(root)) : E_FAIL;
}

HRESULT ReloadConfiguration(void)
{
    instrumentation *root = &instrumentation_root;

    return enter(root) ? leave(root, reload_configuration(root)) : E_FAIL;
}

HRESULT AddCustomInstrumentation(const char *name, const char *xml)
{
    instrumentation *root = &instrumentation_root;

    if (name == NULL || xml == NULL)
        return E_POINTER;
    return enter(root) ? leave(root, collect(root, name, xml)) : E_FAIL;
}

HRESULT ApplyCustomInstrumentation(void)
{
    instrumentation *root = &instrumentation_root;

    return enter(root) ? leave(root, apply_collected(root)) : E_FAIL;
}
