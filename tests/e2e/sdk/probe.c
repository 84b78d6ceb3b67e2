/*
 * probe: a profiler that only tests use. PROBE says what it looks at, CLARINET_OUTPUT where it
 * writes: `names` of the compiled methods of Countable, `arguments` and results of Countable.Work,
 * exact generic names from `frames`, `eventpipe` in both directions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clarinet/clarinet.h>

typedef struct {
    const clr_info *info;
    FILE *out;
    EVENTPIPE_SESSION session;
    EVENTPIPE_PROVIDER provider;
    EVENTPIPE_EVENT event;
    int written;
    int exceptions; /* received */
    int own;        /* received and right */
} probe;

static probe state;

static int mode_is(const char *name)
{
    const char *mode = getenv("PROBE");

    return mode != NULL && strcmp(mode, name) == 0;
}

/* names */

static int print_function(void *context, FunctionID function, ReJITID rejit)
{
    probe *p = context;
    clr_text *name = clr_text_create();
    clr_text *parameters = clr_text_create();
    clr_function what;

    (void)rejit;
    if (clr_append_function(p->info, function, 0, name, parameters, &what) == S_OK &&
        (what.dynamic || strncmp(clr_text_value(name), "Countable.", 10) == 0))
        fprintf(p->out, "%s%s%s\n", what.dynamic ? "dynamic " : "", clr_text_value(name),
                clr_text_value(parameters));
    clr_text_free(name);
    clr_text_free(parameters);
    return 1;
}

static int print_type(void *context, mdToken token)
{
    IMetaDataImport2 *import = context;
    clr_text *name = clr_text_create();
    mdTypeDef again = 0;

    if (clr_append_type_token(import, token, name, CLR_NAME_FULL) == S_OK)
        fprintf(state.out, "type %s\n", clr_text_value(name));
    if (strcmp(clr_text_value(name), "Countable.Widget") == 0) {
        mdMethodDef method;
        mdFieldDef field;

        if (clr_find_type(import, "Countable.Widget", 0, &again) == S_OK && again == token &&
            clr_find_method(import, token, ".ctor", &method) == S_OK &&
            clr_find_field(import, token, "Value", &field) == S_OK &&
            clr_find_method(import, token, "Missing", &method) != S_OK && method == 0)
            fprintf(state.out, "found by name\n");
    }
    clr_text_free(name);
    return 1;
}

static int print_types(void *context, uintptr_t module)
{
    probe *p = context;
    clr_text *path = clr_text_create();
    IMetaDataImport2 *import;

    if (clr_get_module_path(p->info, module, path, NULL) == S_OK &&
        strstr(clr_text_value(path), "Countable.dll") != NULL &&
        clr_open_import(p->info, module, &import) == S_OK) {
        clr_each_type_def(import, print_type, import);
        clr_release(import);
    }
    clr_text_free(path);
    return 1;
}

static void on_dynamic(void *context, FunctionID function, HRESULT status, BOOL safe_to_block)
{
    (void)status;
    (void)safe_to_block;
    if (mode_is("names"))
        print_function(context, function, 0);
}

/* arguments */

static void print_string(probe *p, const void *reference)
{
    clr_text *text = clr_text_create();
    ObjectID object;

    memcpy(&object, reference, sizeof object);
    if (clr_get_string_object(p->info, object, text) == S_OK)
        fprintf(p->out, " '%s'", clr_text_value(text));
    clr_text_free(text);
}

static const char *name_of(uintptr_t function, char *buffer, size_t size)
{
    clr_text *name = clr_text_create();

    buffer[0] = '\0';
    if (clr_append_function(state.info, function, 0, name, NULL, NULL) == S_OK)
        snprintf(buffer, size, "%s", clr_text_value(name));
    clr_text_free(name);
    return buffer;
}

static void CLR_CALL on_enter(uintptr_t function, COR_PRF_ELT_INFO elt_info)
{
    static clr_arguments arguments; /* Countable calls Work on one thread */
    char name[256];
    int32_t i;
    int64_t l;
    double d;
    float f;
    uint8_t g[16];
    ObjectID o[2];

    name_of(function, name, sizeof name);
    if (strncmp(name, "Countable.Work.", 15) != 0 ||
        clr_hook_get_arguments(state.info, function, elt_info, &arguments) != S_OK)
        return;
    if (strcmp(name, "Countable.Work.Add") == 0 && clr_argument_read(&arguments, 0, &i, 4) &&
        clr_argument_read(&arguments, arguments.total_size - 8, &l, 8))
        fprintf(state.out, "enter Add %d %lld\n", i, (long long)l);
    if (strcmp(name, "Countable.Work.Scale") == 0 && clr_argument_read(&arguments, 0, &d, 8) &&
        clr_argument_read(&arguments, 8, &f, 4))
        fprintf(state.out, "enter Scale %g %g\n", d, (double)f);
    if (strcmp(name, "Countable.Work.Join") == 0 && clr_argument_read(&arguments, 0, o, 16)) {
        fprintf(state.out, "enter Join");
        print_string(&state, &o[0]);
        print_string(&state, &o[1]);
        fprintf(state.out, "\n");
    }
    if (strcmp(name, "Countable.Work.Big") == 0 && clr_argument_read(&arguments, 0, g, 16) &&
        clr_argument_read(&arguments, arguments.total_size - 8, &d, 8))
        fprintf(state.out, "enter Big %d..%d %g\n", g[0], g[15], d);
    if (clr_argument_read(&arguments, arguments.total_size, &i, 4))
        fprintf(state.out, "read past the end\n");
}

static void CLR_CALL on_leave(uintptr_t function, COR_PRF_ELT_INFO elt_info)
{
    char name[256];
    clr_result result;
    int64_t l;
    double d;

    name_of(function, name, sizeof name);
    if (strncmp(name, "Countable.Work.", 15) != 0 ||
        clr_hook_get_result(state.info, function, elt_info, &result) != S_OK || result.length < 8)
        return;
    memcpy(&l, result.address, sizeof l);
    memcpy(&d, result.address, sizeof d);
    if (strcmp(name, "Countable.Work.Add") == 0)
        fprintf(state.out, "leave Add %lld\n", (long long)l);
    if (strcmp(name, "Countable.Work.Scale") == 0)
        fprintf(state.out, "leave Scale %g\n", d);
    if (strcmp(name, "Countable.Work.Join") == 0) {
        fprintf(state.out, "leave Join");
        print_string(&state, result.address);
        fprintf(state.out, "\n");
    }
}

/* frames: shared generic code, made exact by the frame of the call */

static void CLR_CALL on_enter_frame(uintptr_t function, COR_PRF_ELT_INFO elt_info)
{
    clr_arguments arguments;
    clr_text *name = clr_text_create();
    clr_text *parameters = clr_text_create();
    static char last[512]; /* Countable calls these on one thread */

    if (clr_hook_get_arguments(state.info, function, elt_info, &arguments) == S_OK &&
        clr_append_function(state.info, function, arguments.frame, name, parameters, NULL) ==
            S_OK &&
        (strstr(clr_text_value(name), ".Generic<") != NULL ||
         strstr(clr_text_value(name), ".Mix<") != NULL) &&
        strcmp(last, clr_text_value(name)) != 0) {
        fprintf(state.out, "%s%s\n", clr_text_value(name), clr_text_value(parameters));
        snprintf(last, sizeof last, "%s", clr_text_value(name));
    }
    clr_text_free(name);
    clr_text_free(parameters);
}

/* eventpipe */

static HRESULT start_eventpipe(probe *p)
{
    static const clr_eventpipe_source sources[] = {
        {"Microsoft-Windows-DotNETRuntime", 0x8000, COR_PRF_EVENTPIPE_ERROR, NULL},
        {"Clarinet-Probe", UINT64_MAX, COR_PRF_EVENTPIPE_VERBOSE, NULL},
    };
    static const clr_eventpipe_parameter parameters[] = {
        {"Number", COR_PRF_EVENTPIPE_INT32, 0}, {"Word", COR_PRF_EVENTPIPE_STRING, 0}, {0}};
    static const clr_eventpipe_description description = {
        .name = "Tick", .id = 5, .version = 1, .keywords = 1, .level = 4, .parameters = parameters};
    HRESULT hr = clr_eventpipe_create_provider(p->info, "Clarinet-Probe", &p->provider);

    if (hr == S_OK)
        hr = clr_eventpipe_define(p->info, p->provider, &description, &p->event);
    if (hr == S_OK)
        hr = clr_eventpipe_start(p->info, sources, 2, &p->session);
    return hr;
}

static void on_thrown(void *context, ObjectID object)
{
    probe *p = context;
    WCHAR word[8];
    int32_t number = p->written + 100;
    COR_PRF_EVENT_DATA data[2];

    (void)object;
    if (!mode_is("eventpipe") || p->written == 5 || !clr_utf16("héllo", word, 8))
        return;
    data[0] = clr_event_data(&number, sizeof number);
    data[1] = clr_event_data(word, 6 * sizeof *word);
    if (clr_eventpipe_write(p->info, p->event, data, 2) == S_OK)
        p->written++;
}

static void on_event(void *context, EVENTPIPE_PROVIDER provider, uint32_t event_id,
                     uint32_t version, uint32_t metadata_size, const uint8_t *metadata,
                     uint32_t size, const uint8_t *data, const GUID *activity,
                     const GUID *related_activity, ThreadID thread, uint32_t frame_count,
                     const uintptr_t *frames)
{
    probe *p = context;
    clr_text *name = clr_text_create();
    int32_t number;

    (void)version, (void)metadata_size, (void)metadata, (void)activity, (void)related_activity;
    (void)thread, (void)frame_count, (void)frames;
    if (clr_eventpipe_get_provider_name(p->info, provider, name) == S_OK) {
        if (strcmp(clr_text_value(name), "Microsoft-Windows-DotNETRuntime") == 0 && event_id == 80)
            p->exceptions++;
        if (strcmp(clr_text_value(name), "Clarinet-Probe") == 0 && event_id == 5 && size == 16) {
            memcpy(&number, data, 4);
            p->own += number == 100 + p->own && data[4] == 'h' && data[6] == 0xe9;
        }
    }
    clr_text_free(name);
}

static HRESULT on_start(void *context, const clr_info *info)
{
    static const clr_hooks_with_info hooks = {on_enter, on_leave, NULL};
    const char *file = getenv("CLARINET_OUTPUT");
    probe *p = context;
    HRESULT hr;

    p->info = info;
    p->out = file != NULL ? fopen(file, "w") : NULL;
    if (p->out == NULL)
        return E_FAIL;
    if (mode_is("arguments")) {
        hr = clr_info_set_event_mask(info, COR_PRF_MONITOR_ENTERLEAVE |
                                               COR_PRF_ENABLE_FUNCTION_ARGS |
                                               COR_PRF_ENABLE_FUNCTION_RETVAL);
        return hr == S_OK ? clr_hooks_install_with_info(info, &hooks) : hr;
    }
    if (mode_is("frames")) {
        static const clr_hooks_with_info frame_hooks = {on_enter_frame, NULL, NULL};

        hr = clr_info_set_event_mask(info, COR_PRF_MONITOR_ENTERLEAVE |
                                               COR_PRF_ENABLE_FUNCTION_ARGS |
                                               COR_PRF_ENABLE_FRAME_INFO);
        return hr == S_OK ? clr_hooks_install_with_info(info, &frame_hooks) : hr;
    }
    if (mode_is("eventpipe")) {
        hr = clr_info_set_event_mask2(info, COR_PRF_MONITOR_EXCEPTIONS,
                                      COR_PRF_HIGH_MONITOR_EVENT_PIPE);
        return hr == S_OK ? start_eventpipe(p) : hr;
    }
    return clr_info_set_event_mask(info,
                                   COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_DISABLE_INLINING);
}

static void on_end(void *context)
{
    probe *p = context;
    clr_text *value = clr_text_create();

    if (mode_is("names")) {
        fprintf(p->out, "info version %u\n", p->info->version);
        if (clr_get_environment(p->info, "PROBE", value) == S_OK)
            fprintf(p->out, "environment %s\n", clr_text_value(value));
        clr_each_function(p->info, print_function, p);
        clr_each_module(p->info, print_types, p);
    }
    if (mode_is("eventpipe")) {
        fprintf(p->out, "exceptions %d\nwritten %d\nreceived %d\n", p->exceptions, p->written,
                p->own);
        fprintf(p->out, "stop %d\n", clr_eventpipe_stop(p->info, p->session));
    }
    clr_text_free(value);
    fclose(p->out);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start,
    .exception_thrown = on_thrown,
    .dynamic_method_jit_compilation_finished = on_dynamic,
    .eventpipe_event_delivered = on_event,
    .shutdown = on_end,
};

CLR_PROFILER("{C1A21E70-00FF-4C4C-8A11-6E6574434C52}", callbacks, &state)
