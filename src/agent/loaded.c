/* loaded: see loaded.h. */
#include "agent/loaded.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/read_self.h"
#include "base/buffer.h"
#include "base/text.h"

enum {
    MODULE_WORDS = 256, /* of a module that are looked at */
    NONE = 1,           /* no such word; 0 = not looked for */
};

/* Loaded before any code runs. The last stands for all references in instances of generic types
 * that share their code and their layout. */
static const char LOADED[] = "System.Object\0System.String\0System.Exception\0"
                             "System.Threading.Thread\0System.__Canon\0";

typedef struct {
    const clr_info *info;
    size_t word;
    ClassID canon;
} search;

static void leave_those_that_lead_to(const uint64_t *words, bool *is_out, mdTypeDef token,
                                     ClassID class_id)
{
    for (size_t i = 0; i < MODULE_WORDS; i++)
        is_out[i] |= (words[i] & 7) != 0 ||
                     (read_self_word(words[i] + 8ull * (token & 0xffffff)) & ~7ull) != class_id;
}

/* Of the module that has these types: which word leads to all of them. */
static int look_at(void *context, uintptr_t module)
{
    search *s = context;
    IMetaDataImport2 *import = NULL;
    bool is_out[MODULE_WORDS] = {false};
    uint64_t words[MODULE_WORDS];
    mdTypeDef token;

    if (clr_open_import(s->info, module, &import) != S_OK)
        return 1;
    for (const char *name = LOADED; *name != '\0'; name += strlen(name) + 1) {
        if (clr_find_type(import, name, 0, &token) != S_OK ||
            clr_info_get_class_from_token_and_type_args(s->info, module, token, 0, NULL,
                                                        &s->canon) != S_OK ||
            !read_self(module, words, sizeof words)) {
            clr_release(import);
            return 1;
        }
        leave_those_that_lead_to(words, is_out, token, s->canon);
    }
    clr_release(import);
    for (size_t i = NONE + 1; i < MODULE_WORDS; i++)
        if (!is_out[i])
            s->word = s->word == 0 ? i : NONE;
    return 0;
}

/* Once; the class that stands for references is known when the word is. */
static size_t look(const clr_info *info, ClassID *canon)
{
    static _Atomic size_t known;
    static _Atomic ClassID known_canon;
    search s = {.info = info, .word = atomic_load(&known)};

    if (s.word == 0) {
        clr_each_module(info, look_at, &s);
        atomic_store(&known_canon, s.canon);
        atomic_store(&known, s.word == 0 ? NONE : s.word);
    }
    *canon = atomic_load(&known_canon);
    return s.word == NONE ? 0 : s.word;
}

uint64_t loaded_entry(const clr_info *info, ModuleID module, uint32_t row)
{
    ClassID canon;
    size_t word = look(info, &canon);
    struct {
        uint64_t next, table, count; /* in the low half */
    } part;

    /* maps of modules that are made at run time grow by further parts */
    for (uint64_t at = word == 0 ? 0 : module + 8 * (word - 1);
         read_self(at, &part, sizeof part) && (uint32_t)part.count != 0; at = part.next) {
        if (row < (uint32_t)part.count)
            return part.table + 8ull * row;
        row -= (uint32_t)part.count;
    }
    return 0;
}

ClassID loaded_class(const clr_info *info, ModuleID module, mdTypeDef token)
{
    uint32_t arguments = 0;
    ModuleID its_module = 0;
    mdTypeDef its_token = 0;
    ClassID class_id, parent;

    class_id = read_self_word(loaded_entry(info, module, token & 0xffffff)) & ~(ClassID)7;
    return class_id != 0 &&
                   CLR_OK(clr_info_get_class_id_info2(info, class_id, &its_module, &its_token,
                                                      &parent, 0, &arguments, NULL)) &&
                   its_module == module && its_token == token && arguments == 0
               ? class_id
               : 0;
}

/* An enumeration inside a generic class. */
static bool is_enumeration(const clr_info *info, ModuleID module, mdTypeDef token)
{
    IMetaDataImport2 *import = NULL;
    char memory[64];
    mdToken parent = 0;
    buffer name;

    buffer_fix(&name, memory, sizeof memory);
    if (clr_open_import(info, module, &import) != S_OK)
        return true;
    clr_import_get_type_def_props(import, token, NULL, 0, NULL, NULL, &parent);
    clr_append_type_path(import, parent, &name);
    clr_release(import);
    return text_equal(buffer_text(&name), "System.Enum");
}

/* What stands for an argument in the instance that shares its layout with others. */
static ClassID share(const clr_info *info, ClassID class_id, ClassID canon)
{
    ClassID arguments[LOADED_MOST_ARGUMENTS], parent;
    uint32_t count = 0, offset;
    ModuleID module;
    mdTypeDef token;

    if (clr_info_get_box_class_layout(info, class_id, &offset) != S_OK)
        return canon;
    if (!CLR_OK(clr_info_get_class_id_info2(info, class_id, &module, &token, &parent,
                                            LOADED_MOST_ARGUMENTS, &count, arguments)) ||
        count == 0)
        return class_id;
    return loaded_class_with(info, module, token, arguments, count);
}

ClassID loaded_class_with(const clr_info *info, ModuleID module, mdTypeDef token,
                          const ClassID *arguments, uint32_t count)
{
    ClassID class_id = count == 0 ? loaded_class(info, module, token) : 0;
    ClassID shared[LOADED_MOST_ARGUMENTS], canon;
    ThreadID thread;

    if (class_id != 0 || count > LOADED_MOST_ARGUMENTS)
        return class_id;
    if (clr_info_get_current_thread_id(info, &thread) != S_OK) {
        if (count == 0 || look(info, &canon) == 0 || is_enumeration(info, module, token))
            return 0;
        for (uint32_t i = 0; i < count; i++)
            if ((shared[i] = share(info, arguments[i], canon)) == 0)
                return 0;
        arguments = shared;
    }
    return CLR_OK(clr_info_get_class_from_token_and_type_args(info, module, token, count, arguments,
                                                              &class_id))
               ? class_id
               : 0;
}
