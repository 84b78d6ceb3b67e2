/* il_bundle: see il_bundle.h. */
#include "cli/il_bundle.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "symbols/bundle.h"

enum { ASSEMBLY_LIMIT = 256 << 20 };

static void open_program(bundle *b, const char *path)
{
    bundle_open(b, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

static void see_any(void *context, const char *name, size_t length, unsigned kind)
{
    (void)name;
    (void)length;
    (void)kind;
    *(bool *)context = true;
}

bool il_bundle_is(const char *path)
{
    bool any = false;
    bundle b;

    open_program(&b, path);
    bundle_each(&b, &any, see_any);
    bundle_close(&b);
    return any;
}

static void print_assembly(void *context, const char *name, size_t length, unsigned kind)
{
    buffer text = BUFFER_EMPTY;

    (void)context;
    if (kind != BUNDLE_ASSEMBLY)
        return;
    text_append_cleaned(&text, name, length);
    puts(buffer_text(&text));
    buffer_free(&text);
}

void il_bundle_list(const char *path)
{
    bundle b;

    open_program(&b, path);
    bundle_each(&b, NULL, print_assembly);
    bundle_close(&b);
}

typedef struct {
    const char *wanted;
    size_t wanted_length;
    buffer *name;
    bool found;
} search;

/* The program's own assembly is called as its settings, X.runtimeconfig.json. */
static void find_own(void *context, const char *name, size_t length, unsigned kind)
{
    search *s = context;
    const size_t tail = strlen(".runtimeconfig.json");

    if (kind != BUNDLE_SETTINGS || length <= tail || s->found)
        return;
    s->found = true;
    buffer_append(s->name, name, length - tail);
    buffer_append_text(s->name, ".dll");
}

static void find_named(void *context, const char *name, size_t length, unsigned kind)
{
    search *s = context;
    size_t bare = length > 4 && memcmp(name + length - 4, ".dll", 4) == 0 ? length - 4 : length;

    if (kind != BUNDLE_ASSEMBLY || s->found ||
        (s->wanted_length != length && s->wanted_length != bare) ||
        memcmp(name, s->wanted, s->wanted_length) != 0)
        return;
    s->found = true;
    buffer_append(s->name, name, length);
}

int il_bundle_read(const char *path, const char *wanted, buffer *out, buffer *name, error *e)
{
    search s = {.wanted = wanted, .name = name};
    bundle b;
    int code;

    open_program(&b, path);
    if (wanted != NULL)
        s.wanted_length = strlen(wanted);
    bundle_each(&b, &s, wanted == NULL ? find_own : find_named);
    code = s.found ? bundle_read(&b, buffer_text(name), ASSEMBLY_LIMIT, out) : ERROR_NOT_FOUND;
    bundle_close(&b);
    if (code == 0)
        return 0;
    if (s.found)
        error_set(e, code, "%s in %s is damaged", buffer_text(name), path);
    else if (wanted == NULL)
        error_set(e, code, "%s does not say which assembly is the program's own", path);
    else
        error_set(e, code, "%s has no assembly '%s'", path, wanted);
    return error_advise(e, "`clarinet il %s --assemblies` lists them, --assembly NAME reads one",
                        path);
}
