/*
 * rewrite: counts the calls of one method by changing its code before it is first compiled. Only
 * that method pays for it: tiering, inlining and precompiled code stay as they are.
 *
 *     cc -shared -fPIC -O2 rewrite.c -o librewrite.so $(pkg-config --cflags --libs clarinet-sdk)
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{C1A21E70-0005-4C4C-8A11-6E6574434C52}' \
 *         CORECLR_PROFILER_PATH=$PWD/librewrite.so CLARINET_METHOD=Shop.Orders::Place dotnet
 * app.dll
 *
 * CLARINET_METHOD is Namespace.Type::Method; overloads are counted each for itself. The report goes
 * to stderr, or to the file that CLARINET_OUTPUT names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clarinet/clarinet.h>

enum { MOST = 64 };

/* One method that counts. Its new code holds the address, so a place is never given up. */
typedef struct {
    long calls;
    char text[512]; /* its name, or why it was left alone */
    int counted;
} method;

typedef struct {
    const clr_info *info;
    char type[256];
    const char *name;
    method methods[MOST];
    unsigned used;
} rewriter;

/* What one module is searched with. */
typedef struct {
    rewriter *r;
    ModuleID module;
    IMetaDataImport2 *import;
    clr_cil *cil;
} search;

static rewriter state;

/* Called by the new code, on any thread, in the middle of managed code: short, and no runtime. */
static void on_call(int64_t argument)
{
    __atomic_add_fetch(&((method *)(uintptr_t)argument)->calls, 1, __ATOMIC_RELAXED);
}

/* Puts the probe in front of the first instruction. Branches back to it do not count again. */
static HRESULT rewrite(search *s, mdMethodDef token, method *m, clr_text *why)
{
    clr_emitter *emitter = NULL;
    mdToken signature;
    HRESULT hr = clr_cil_read_method(s->cil, s->r->info, s->module, token, why);

    if (hr == S_OK)
        hr = clr_emitter_open(s->r->info, s->module, &emitter);
    if (hr != S_OK)
        return hr;
    signature = clr_cil_probe_signature(emitter, 1);
    hr = signature == 0 ? clr_emitter_result(emitter) : S_OK;
    clr_emitter_free(emitter);
    if (hr != S_OK)
        return hr;
    clr_cil_insert_probe(s->cil, clr_cil_first(s->cil), (int64_t)(uintptr_t)m, on_call, signature);
    return clr_cil_write_method(s->cil, s->r->info, s->module, token, why);
}

static int on_method(void *context, mdToken token)
{
    search *s = context;
    clr_text *name = clr_text_create();
    clr_text *why = clr_text_create();
    unsigned index;
    char code[CLR_HRESULT_TEXT];
    HRESULT hr;

    if (name != NULL && why != NULL && clr_get_method(s->import, token, name, NULL) == S_OK &&
        strcmp(clr_text_value(name), s->r->name) == 0 &&
        (index = __atomic_fetch_add(&s->r->used, 1, __ATOMIC_RELAXED)) < MOST) {
        method *m = &s->r->methods[index];

        clr_text_clear(name);
        clr_append_method_token(s->import, token, name, name);
        hr = rewrite(s, token, m, why);
        m->counted = hr == S_OK;
        snprintf(m->text, sizeof m->text, "%s%s%s", clr_text_value(name), m->counted ? "" : ": ",
                 m->counted                 ? ""
                 : clr_text_length(why) > 0 ? clr_text_value(why)
                                            : clr_hresult_name(hr, code));
    }
    clr_text_free(name);
    clr_text_free(why);
    return 1;
}

/* Before any code of the module runs. */
static void on_module(void *context, ModuleID module, HRESULT status)
{
    search s = {.r = context, .module = module};
    mdTypeDef type = 0;

    if (status != S_OK || clr_open_import(s.r->info, module, &s.import) != S_OK)
        return;
    s.cil = clr_cil_create();
    if (s.cil != NULL && clr_find_type(s.import, s.r->type, 0, &type) == S_OK)
        clr_each_method(s.import, type, on_method, &s);
    clr_cil_free(s.cil);
    clr_release(s.import);
}

static HRESULT on_start(void *context, const clr_info *info)
{
    rewriter *r = context;
    const char *wanted = getenv("CLARINET_METHOD");
    const char *colons = wanted != NULL ? strstr(wanted, "::") : NULL;

    if (colons == NULL || (size_t)(colons - wanted) >= sizeof r->type)
        return E_INVALIDARG;
    memcpy(r->type, wanted, (size_t)(colons - wanted));
    r->name = colons + 2;
    r->info = info;
    return clr_info_set_event_mask(info, COR_PRF_MONITOR_MODULE_LOADS);
}

static void on_end(void *context)
{
    rewriter *r = context;
    const char *file = getenv("CLARINET_OUTPUT");
    FILE *out = file != NULL ? fopen(file, "w") : stderr;

    for (unsigned i = 0; out != NULL && i < r->used && i < MOST; i++)
        if (r->methods[i].counted)
            fprintf(out, "%12ld %s\n", r->methods[i].calls, r->methods[i].text);
        else
            fprintf(out, "left alone: %s\n", r->methods[i].text);
    if (out != NULL && out != stderr)
        fclose(out);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start, .module_load_finished = on_module, .shutdown = on_end};

CLR_PROFILER("{C1A21E70-0005-4C4C-8A11-6E6574434C52}", callbacks, &state)
