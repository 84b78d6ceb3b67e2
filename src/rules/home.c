/* home: see home.h. */
#include "rules/home.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "rules/shim.h"

static const char AGENT_FILE[] = "NewRelic.Agent.Core.dll";

void home_find(home_folders *folders, const home_files *files, const variables *environment,
               bool is_core_clr)
{
    folders->files = files;
    folders->is_core_clr = is_core_clr;
    folders->local = "";
    folders->home =
        variables_get(environment, is_core_clr ? VARIABLE_HOME : VARIABLE_HOME_FRAMEWORK);
    folders->install = variables_get(environment, VARIABLE_INSTALL_PATH);
}

static const char *flavour(const home_folders *folders)
{
    return folders->is_core_clr ? "netcore" : "netframework";
}

int home_read_configuration(const home_folders *folders, const variables *environment,
                            configuration *c, error *e)
{
    buffer path = BUFFER_EMPTY;
    buffer global = BUFFER_EMPTY;
    buffer local = BUFFER_EMPTY;
    buffer local_path = BUFFER_EMPTY;
    configuration_file files[2] = {{NULL, 0, NULL}, {NULL, 0, NULL}};
    int code;

    if (folders->home == NULL) {
        error_set(e, ERROR_NOT_FOUND, "the home folder is not set");
        return error_advise(
            e, "set %s to the folder that holds newrelic.config",
            variables_spelling(folders->is_core_clr ? VARIABLE_HOME : VARIABLE_HOME_FRAMEWORK, 0));
    }
    buffer_format(&path, "%s%cnewrelic.config", folders->home, folders->files->separator);
    files[0].path = buffer_text(&path);
    buffer_format(&local_path, "%snewrelic.config", folders->local);
    files[1].path = buffer_text(&local_path);
    code = folders->files->read(files[0].path, &global, e);
    if (code == 0) {
        files[0].bytes = buffer_text(&global);
        files[0].length = global.length;
        if (folders->files->exists(files[1].path) &&
            folders->files->read(files[1].path, &local, NULL) == 0) {
            files[1].bytes = buffer_text(&local);
            files[1].length = local.length;
        }
        code = configuration_read(c, files[0], files[1], environment, e);
    }
    buffer_free(&path);
    buffer_free(&local_path);
    buffer_free(&global);
    buffer_free(&local);
    return code;
}

int home_read_application(const home_folders *folders, const char *process_path, bool *is_set,
                          bool *enabled, error *e)
{
    buffer path = BUFFER_EMPTY;
    buffer bytes = BUFFER_EMPTY;
    configuration_file file = {NULL, 0, NULL};
    int code;

    buffer_format(&path, "%s.config", process_path);
    file.path = buffer_text(&path);
    if (folders->files->read(file.path, &bytes, NULL) == 0) {
        file.bytes = buffer_text(&bytes);
        file.length = bytes.length;
    }
    code = configuration_read_application(file, is_set, enabled, e);
    buffer_free(&path);
    buffer_free(&bytes);
    return code;
}

int home_find_agent(const home_folders *folders, buffer *path, error *e)
{
    const char *bases[2] = {folders->install, folders->home};

    for (int i = 0; i < 2; i++) {
        if (bases[i] == NULL)
            continue;
        for (int nested = 0; nested < 2; nested++) {
            buffer_clear(path);
            buffer_format(path, "%s%c", bases[i], folders->files->separator);
            if (nested)
                buffer_format(path, "%s%c", flavour(folders), folders->files->separator);
            buffer_append_text(path, AGENT_FILE);
            if (folders->files->exists(buffer_text(path)))
                return 0;
        }
    }
    buffer_clear(path);
    error_set(e, ERROR_NOT_FOUND, "%s is neither in the install folder nor in the home folder (%s)",
              AGENT_FILE, folders->home == NULL ? "not set" : folders->home);
    return error_advise(e, "put it there, or into a folder %s inside", flavour(folders));
}

/* ---- extension files ---- */

typedef struct {
    const home_folders *folders;
    const char *folder;
    configuration_list *paths;
    bool failed;
} collector;

static void collect(void *context, const char *name)
{
    collector *c = context;
    configuration_list *list = c->paths;
    buffer path = BUFFER_EMPTY;
    char *text;

    if (!text_ends_with(name, "xml") && !text_ends_with(name, ".json"))
        return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;
        char **items = memory_resize(list->items, capacity * sizeof *items);

        if (items == NULL) {
            c->failed = true;
            return;
        }
        list->items = items;
        list->capacity = capacity;
    }
    buffer_format(&path, "%s%c%s", c->folder, c->folders->files->separator, name);
    text = buffer_take_text(&path);
    if (text == NULL)
        c->failed = true;
    else
        list->items[list->count++] = text;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *base_name(const char *path, char separator)
{
    const char *last = strrchr(path, separator);

    return last == NULL ? path : last + 1;
}

static bool is_replaced(const char *name, const home_live_file *live, size_t live_count)
{
    for (size_t i = 0; i < live_count; i++) {
        if (text_equal(name, live[i].name))
            return true;
    }
    return false;
}

static void say(points_log log, bool is_error, const char *path, const char *what)
{
    char sentence[1200];

    if (log.write == NULL)
        return;
    snprintf(sentence, sizeof sentence, "%s %s", path, what);
    log.write(log.context, is_error, sentence);
}

static int add_files(const home_folders *folders, points *set, const configuration_list *paths,
                     const configuration *ignored, const home_live_file *live, size_t live_count,
                     points_log log, error *e)
{
    int code = 0;

    for (size_t i = 0; i < paths->count && code == 0; i++) {
        buffer bytes = BUFFER_EMPTY;

        if (!is_replaced(base_name(paths->items[i], folders->files->separator), live, live_count)) {
            if (folders->files->read(paths->items[i], &bytes, NULL) != 0)
                say(log, true, paths->items[i], "can't be read");
            else
                code = points_add_file(set, paths->items[i], buffer_text(&bytes), bytes.length,
                                       ignored, e);
        }
        buffer_free(&bytes);
    }
    for (size_t i = 0; i < live_count && code == 0; i++)
        code = points_add_file(set, live[i].name, live[i].xml, strlen(live[i].xml), ignored, e);
    return code;
}

static int add_serverless(points *set, const variables *environment, error *e)
{
    static const char *const NAMES[] = {"NEW_RELIC_LAMBDA_HANDLER", "_HANDLER"};

    for (int i = 0; i < 2; i++) {
        const char *handler = environment->get(environment->context, NAMES[i]);
        int code = handler == NULL ? ERROR_USAGE : points_add_serverless(set, handler, e);

        if (code != ERROR_USAGE)
            return code;
    }
    return 0;
}

void home_warn_of_file_names(const points *set, points_log log)
{
    buffer sentence = BUFFER_EMPTY;

    for (size_t i = 0; i < points_count(set); i++) {
        const point *p = points_at(set, i);
        const point *last = i == 0 ? NULL : points_at(set, i - 1);

        if (!point_names_file(p) ||
            (last != NULL && last->line == p->line && text_equal(last->assembly, p->assembly)))
            continue;
        buffer_clear(&sentence);
        buffer_format(
            &sentence,
            "%s, line %u: %s is the name of a file; the assembly's name is %.*s, and only "
            "that is found",
            p->file, p->line, p->assembly, (int)strlen(p->assembly) - 4, p->assembly);
        if (log.write != NULL)
            log.write(log.context, false, buffer_text(&sentence));
    }
    buffer_free(&sentence);
}

int home_collect_points(const home_folders *folders, const variables *environment,
                        const configuration *ignored, const home_live_file *live, size_t live_count,
                        points_log log, points **set, error *e)
{
    configuration_list paths = {NULL, 0, 0};
    int code = 0;

    *set = points_new(log);
    for (int nested = 0; nested < 2 && folders->home != NULL; nested++) {
        buffer folder = BUFFER_EMPTY;
        collector c = {folders, NULL, &paths, false};

        buffer_format(&folder, "%s%cextensions", folders->home, folders->files->separator);
        if (nested)
            buffer_format(&folder, "%c%s", folders->files->separator, flavour(folders));
        c.folder = buffer_text(&folder);
        if (!folders->files->list(c.folder, collect, &c) && !nested)
            say(log, false, c.folder, "is missing: there is nothing to instrument");
        buffer_free(&folder);
        if (c.failed)
            code = error_set(e, ERROR_MEMORY, "no memory for the list of extension files");
    }
    if (paths.count > 1)
        qsort(paths.items, paths.count, sizeof *paths.items, compare_texts);
    if (*set == NULL)
        code = error_set(e, ERROR_MEMORY, "no memory for instrumentation points");
    if (code == 0)
        code = add_files(folders, *set, &paths, ignored, live, live_count, log, e);
    if (code == 0)
        code = add_serverless(*set, environment, e);
    if (code == 0)
        home_warn_of_file_names(*set, log);
    for (size_t i = 0; i < paths.count; i++)
        memory_free(paths.items[i]);
    memory_free(paths.items);
    if (code != 0) {
        points_free(*set);
        *set = NULL;
    }
    return code;
}

int home_read_points(const home_folders *folders, const variables *environment,
                     const configuration *ignored, const home_live_file *live, size_t live_count,
                     points_log log, points **set, error *e)
{
    int code = home_collect_points(folders, environment, ignored, live, live_count, log, set, e);

    if (code == 0)
        code = points_finish(*set, e);
    if (code != 0) {
        points_free(*set);
        *set = NULL;
    }
    return code;
}

/* ---- who is told ---- */

typedef struct {
    const home_folders *folders;
    const char *path; /* of the shim */
    points_log log;
} need_search;

/* The program may bring it; when it does not, calls that need it fail and nobody hears of them. */
static void check_need(void *context, const char *assembly)
{
    need_search *s = context;
    const char *slash = strrchr(s->path, s->folders->files->separator);
    buffer beside = BUFFER_EMPTY;
    buffer sentence = BUFFER_EMPTY;

    if (slash != NULL)
        buffer_append(&beside, s->path, (size_t)(slash - s->path) + 1);
    buffer_format(&beside, "%s.dll", assembly);
    if (!buffer_failed(&beside) && !s->folders->files->exists(buffer_text(&beside))) {
        buffer_format(&sentence,
                      "needs %s.dll, which is not beside it: unless the program has it, calls are "
                      "lost",
                      assembly);
        say(s->log, false, s->path, buffer_text(&sentence));
    }
    buffer_free(&beside);
    buffer_free(&sentence);
}

static size_t check_shim(const home_folders *folders, const char *path, const char *type,
                         points_log log)
{
    buffer bytes = BUFFER_EMPTY;
    buffer sentence = BUFFER_EMPTY;
    error e;
    int code;

    error_clear(&e);
    if (!folders->files->exists(path)) {
        say(log, true, path, "is missing: nobody hears of the calls that are for it");
        return 1;
    }
    code = folders->files->read(path, &bytes, &e);
    if (code == 0)
        code = shim_check(bytes.data, bytes.length, type, &e);
    if (code != 0) {
        buffer_format(&sentence, "can't be used: %s. Nobody hears of the calls that are for it",
                      e.message);
        say(log, true, path, buffer_text(&sentence));
    } else {
        need_search search = {folders, path, log};

        shim_each_need(bytes.data, bytes.length, check_need, &search);
    }
    buffer_free(&bytes);
    buffer_free(&sentence);
    return code != 0;
}

size_t home_check_shims(const home_folders *folders, const char *agent, const points *set,
                        points_log log)
{
    size_t unusable = 0;

    if (agent != NULL && agent[0] != '\0' && points_need_agent(set))
        unusable += check_shim(folders, agent, NULL, log);
    for (size_t i = 0; i < points_shim_count(set); i++) {
        const points_shim *shim = points_shim_at(set, i);

        unusable += check_shim(folders, shim->path, shim->type, log);
    }
    return unusable;
}
