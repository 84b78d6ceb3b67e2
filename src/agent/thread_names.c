/* thread_names: see thread_names.h. */
#include "agent/thread_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/gone.h"
#include "agent/read_self.h"
#include "base/os.h"
#include "base/text.h"

enum {
    MOST_FIELDS = 64,
    MOST_UNITS = 256,     /* of a name */
    KERNEL_KEEPS = 15,    /* bytes of it */
    THREAD_BYTES = 0x800, /* of the native thread, looked through */
    TRIES = 3,
};

typedef struct {
    const clr_info *info;
    uint32_t os_thread;
    ThreadID found;
} search;

/* ---- the runtime's types, once ---- */

static void learn_from(thread_names *t, const clr_info *info, ModuleID module,
                       IMetaDataImport2 *import)
{
    COR_FIELD_OFFSET fields[MOST_FIELDS];
    uint32_t count = 0, size = 0;
    mdTypeDef type = 0;
    mdFieldDef name = 0;
    ClassID class_id = 0;

    if (clr_find_type(import, "System.Threading.Thread", 0, &type) != S_OK ||
        clr_find_field(import, type, "_name", &name) != S_OK ||
        clr_info_get_class_from_token_and_type_args(info, module, type, 0, NULL, &class_id) !=
            S_OK ||
        clr_info_get_class_layout(info, class_id, fields, MOST_FIELDS, &count, &size) != S_OK ||
        clr_info_get_string_layout2(info, &t->string_length, &t->string_start) != S_OK)
        return;
    for (uint32_t i = 0; i < count && i < MOST_FIELDS; i++) {
        if (fields[i].ridOfField == name) {
            t->name_offset = fields[i].ulOffset;
            t->class_id = class_id;
        }
    }
}

static int take_module(void *context, uintptr_t module)
{
    void **both = context;
    thread_names *t = both[0];
    const clr_info *info = both[1];
    clr_text *path = clr_text_create();
    IMetaDataImport2 *import = NULL;

    if (path != NULL && clr_get_module_path(info, module, path, NULL) == S_OK &&
        strstr(clr_text_value(path), "System.Private.CoreLib") != NULL &&
        clr_open_import(info, module, &import) == S_OK) {
        learn_from(t, info, module, import);
        clr_release(import);
    }
    clr_text_free(path);
    return t->class_id == 0;
}

/* ---- one thread ---- */

static int take_thread(void *context, uintptr_t thread)
{
    search *s = context;
    uint32_t os_thread = 0;

    if (clr_info_get_thread_info(s->info, thread, &os_thread) == S_OK && os_thread == s->os_thread)
        s->found = thread;
    return s->found == 0;
}

/* The Thread object that a handle points at; 0 = it points at none. */
static uintptr_t read_object(const thread_names *t, uintptr_t handle)
{
    uintptr_t object = 0, type = 0;

    if ((handle & 7) != 0 || !read_self(handle, &object, sizeof object) || (object & 7) != 0 ||
        !read_self(object, &type, sizeof type) || (type & ~(uintptr_t)7) != t->class_id)
        return 0;
    return object;
}

/* Its name, when it fits. */
static bool read_name(const thread_names *t, uintptr_t handle, const char *short_name, buffer *out)
{
    uint16_t units[MOST_UNITS];
    uintptr_t object = read_object(t, handle), string = 0;
    size_t before = out->length, length = strlen(short_name);
    uint32_t count = 0;

    if (object == 0 || !read_self(object + t->name_offset, &string, sizeof string) || string == 0 ||
        !read_self(string + t->string_length, &count, sizeof count) || count == 0 ||
        !read_self(string + t->string_start, units,
                   (count < MOST_UNITS ? count : MOST_UNITS) * sizeof *units))
        return false;
    text_append_utf16(out, units, count < MOST_UNITS ? count : MOST_UNITS);
    if (count > MOST_UNITS)
        buffer_append(out, "\xe2\x80\xa6", 3); /* an ellipsis */
    if (out->failed || out->length - before < length ||
        memcmp(out->data + before, short_name, length) != 0) {
        out->length = before;
        return false;
    }
    return true;
}

void thread_names_learn(thread_names *t, const clr_info *info, ThreadID thread)
{
    void *both[2] = {t, (void *)(uintptr_t)info};
    uintptr_t words[THREAD_BYTES / sizeof(uintptr_t)];

    if (t->class_id == 0) /* early in a program's life it is not there yet */
        clr_each_module(info, take_module, both);
    if (t->class_id == 0 || t->handle_offset != 0 || !read_self(thread, words, sizeof words))
        return;
    for (uint32_t i = 1; i < THREAD_BYTES / sizeof *words && t->handle_offset == 0; i++) {
        if (read_object(t, words[i]) != 0)
            t->handle_offset = i * (uint32_t)sizeof *words;
    }
}

/* A collection may move the object while it is read. */
bool thread_names_whole(const thread_names *t, ThreadID thread, const char *short_name, buffer *out)
{
    bool found = false;

    for (int i = 0; i < TRIES && t->handle_offset != 0 && !found; i++)
        found = read_name(t, read_self_word(thread + t->handle_offset), short_name, out);
    return found;
}

bool thread_names_find(thread_names *t, const clr_info *info, uint32_t os_thread,
                       const char *short_name, buffer *out)
{
    search s = {info, os_thread, 0};

    gone_each_thread(info, take_thread, &s);
    if (s.found == 0)
        return false;
    thread_names_learn(t, info, s.found);
    return thread_names_whole(t, s.found, short_name, out);
}

size_t thread_names_kernel(uint64_t os_thread, char name[THREAD_NAMES_KERNEL])
{
    char path[64];
    ssize_t length = 0;
    int descriptor;

    snprintf(path, sizeof path, "/proc/self/task/%llu/comm", (unsigned long long)os_thread);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        length = read(descriptor, name, THREAD_NAMES_KERNEL - 1);
        close(descriptor);
    }
    while (length > 0 && name[length - 1] == '\n')
        length--;
    name[length > 0 ? length : 0] = '\0';
    return strlen(name);
}

void thread_names_append(thread_names *t, const clr_info *info, uint64_t os_thread,
                         const char *name, buffer *out)
{
    buffer whole = BUFFER_EMPTY;
    size_t length = strlen(name);

    /* .NET puts Thread.Name there, cut to 15 bytes. The first one is asked for in any case: what is
     * learned then is needed where threads end. */
    if ((length == KERNEL_KEEPS || t->handle_offset == 0) && info != NULL &&
        thread_names_find(t, info, (uint32_t)os_thread, name, &whole))
        text_append_cleaned(out, (const char *)whole.data, whole.length);
    else
        text_append_cleaned(out, name, length);
    buffer_free(&whole);
}

/* ---- threads that have ended ---- */

static thread_names_ended *ended_at(thread_names_ended *ended, uint64_t os_thread)
{
    return &ended[os_thread % THREAD_NAMES_ENDED];
}

void thread_names_keep(const thread_names *t, thread_names_ended *ended, ThreadID thread)
{
    enum { MOST = 800 };
    int self = os_thread_id();
    thread_names_ended *e = ended_at(ended, (uint64_t)self);
    char kernel[KERNEL_KEEPS + 1] = "", whole[MOST];
    const char *name = kernel;
    size_t length;
    buffer text;

    prctl(PR_GET_NAME, kernel, 0, 0, 0);
    buffer_fix(&text, whole, sizeof whole);
    if (kernel[KERNEL_KEEPS - 1] != '\0' && thread_names_whole(t, thread, kernel, &text))
        name = whole;
    length = strnlen(name, sizeof e->name - 1);
    while (length > 0 && ((uint8_t)name[length] & 0xc0) == 0x80) /* not within a character */
        length--;
    atomic_store(&e->thread, 0);
    memcpy(e->name, name, length);
    e->name[length] = '\0';
    atomic_store(&e->thread, self);
}

void thread_names_drop(thread_names_ended *ended, uint32_t os_thread)
{
    int there = (int)os_thread;

    atomic_compare_exchange_strong(&ended_at(ended, os_thread)->thread, &there, 0);
}

void thread_names_kept(thread_names_ended *ended, uint64_t os_thread, char name[THREAD_NAMES_KEPT])
{
    thread_names_ended *e = ended_at(ended, os_thread);
    bool is_it = atomic_load(&e->thread) == (int)os_thread;

    memcpy(name, e->name, sizeof e->name);
    if (!is_it || atomic_load(&e->thread) != (int)os_thread)
        name[0] = '\0';
}
