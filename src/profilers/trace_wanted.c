/* trace_wanted: see trace_wanted.h. */
#include "profilers/trace_wanted.h"

#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "profilers/trace_counters.h"

/* Words of {…} that are no values. */
static bool is_about_the_call(const char *word, size_t length, bool *at_exit)
{
    static const struct {
        char word[10]; /* no pointer, which would need a relocation */
        bool at_exit;
    } words[] = {{"thread", false}, {"method", false}, {"duration", true}, {"exception", true}};

    for (size_t n = 0; n < 4; n++) {
        if (strlen(words[n].word) != length || memcmp(words[n].word, word, length) != 0)
            continue;
        *at_exit |= words[n].at_exit;
        return true;
    }
    return false;
}

const char *trace_log_text(const char *log)
{
    int depth = 0;

    for (; *log != '\0'; log++) {
        depth += *log == '(' ? 1 : *log == ')' ? -1 : 0;
        if (*log == ' ' && depth <= 0)
            return log + 1;
    }
    return NULL;
}

static void take_paths(trace_wanted *w, const char *list)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ", ");

        if (length == 1 && *list == '*')
            w->wish.arguments = true;
        else if (length != 0)
            trace_wish_path(&w->wish, list, length, true);
        list += length;
        list += *list != '\0';
    }
}

static void take_moments(trace_wanted *w, const char *list)
{
    static const struct {
        char word[10];
        unsigned moment;
    } words[] = {{"entry", TRACE_WISH_ENTRY},
                 {"exit", TRACE_WISH_EXIT},
                 {"exception", TRACE_WISH_EXCEPTION}};

    for (size_t n = 0; n < 3; n++)
        if (strstr(list, words[n].word) != NULL)
            w->moments |= words[n].moment;
}

static bool take_condition(trace_wanted *w, const char *text)
{
    if (text[0] == '\0')
        return true;
    if (condition_parse(&w->condition, text, NULL) != 0)
        return false;
    w->has_condition = true;
    for (size_t n = 0; n < w->condition.count; n++) {
        const char *path = w->condition.terms[n].path;
        int number = trace_wish_path(&w->wish, path, strlen(path), false);

        if (number < 0)
            return false;
        w->numbers[n] = (uint8_t)(TRACE_FIRST_PATH + number);
    }
    return true;
}

static bool take_log(trace_wanted *w, const char *log, bool at_exit)
{
    const char *text = trace_log_text(log);
    char *methods;
    int code;

    if (log[0] == '\0')
        return true;
    if (text == NULL)
        return false;
    methods = memory_copy_text_n(log, (size_t)(text - log));
    w->log_text = memory_copy_text(text);
    code = methods == NULL ? -1 : cil_patterns_parse(&w->log_methods, methods, NULL);
    memory_free(methods);
    if (code != 0 || w->log_text == NULL)
        return false;
    for (const char *at = strchr(text, '{'); at != NULL; at = strchr(at + 1, '{')) {
        size_t length = condition_path_length(at + 1);

        if (length == 0 || at[1 + length] != '}' || is_about_the_call(at + 1, length, &at_exit))
            continue;
        if (strncmp(at + 1, "result", 6) == 0)
            at_exit = true;
        trace_wish_path(&w->wish, at + 1, length, false);
    }
    w->has_log = true;
    w->log_moment = at_exit ? TRACE_WISH_LOG_EXIT : TRACE_WISH_LOG_ENTRY;
    return true;
}

static void discard(trace_wanted *w)
{
    for (uint32_t n = 0; n < w->wish.path_count; n++)
        memory_free((void *)(uintptr_t)w->wish.paths[n]);
    if (w->patterns.items != NULL)
        cil_patterns_free(&w->patterns);
    if (w->log_methods.items != NULL)
        cil_patterns_free(&w->log_methods);
    memory_free(w->log_text);
    memory_free((void *)(uintptr_t)w->wish.redact);
    memory_free(w);
}

/* The patterns of the parameter and of the file. */
static int take_patterns(const catalogue_selected *parameters, cil_patterns *out)
{
    enum { MOST = 8 << 20 };
    const char *file = catalogue_text(parameters, "methods_file");
    buffer text = BUFFER_EMPTY;
    int code;

    buffer_append_text(&text, catalogue_text(parameters, "methods"));
    if (file[0] != '\0') {
        buffer_append_char(&text, ' ');
        os_read_file(file, MOST, &text, NULL);
    }
    code = cil_patterns_parse(out, buffer_text(&text), NULL);
    buffer_free(&text);
    return code;
}

trace_wanted *trace_wanted_read(const catalogue_selected *parameters)
{
    trace_wanted *w = memory_allocate_array(1, sizeof *w);
    bool slow_only = catalogue_number(parameters, "slower_than") != 0;

    if (w == NULL)
        return NULL;
    w->dry_run = catalogue_number(parameters, "dry_run") != 0;
    w->tree = catalogue_number(parameters, "tree") != 0;
    w->spans = catalogue_number(parameters, "spans") != 0;
    w->rate = (int)catalogue_number(parameters, "rate");
    w->wish.arguments = catalogue_number(parameters, "values") != 0;
    w->wish.redact = memory_copy_text(catalogue_text(parameters, "redact"));
    take_paths(w, catalogue_text(parameters, "show"));
    if (w->wish.arguments || w->wish.path_count != 0)
        take_moments(w, catalogue_text(parameters, "on"));
    if (w->wish.redact == NULL || take_patterns(parameters, &w->patterns) != 0 ||
        !take_condition(w, catalogue_text(parameters, "when")) ||
        !take_log(w, catalogue_text(parameters, "log"), slow_only)) {
        discard(w);
        return NULL;
    }
    w->single = w->moments != 0 || w->has_log;
    return w;
}
