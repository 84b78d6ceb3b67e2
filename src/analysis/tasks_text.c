/* tasks_text: the words for what tasks are and wait for. */
#include <string.h>

#include "analysis/tasks.h"

/* What the library's own promises stand for. */
static bool append_combinator(const char *type, buffer *out)
{
    static const struct {
        const char *part, *text;
    } NAMES[] = {{"WhenAll", "Task.WhenAll"},
                 {"WhenAny", "Task.WhenAny"},
                 {"CompleteOnInvokePromise", "Task.WhenAny"},
                 {"UnwrapPromise", "Task.Unwrap"},
                 {"CancellationPromise", "Task.WaitAsync"},
                 {"Continuation", "Task.ContinueWith"}};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strstr(type, NAMES[i].part) != NULL) {
            buffer_append_text(out, NAMES[i].text);
            return true;
        }
    }
    return false;
}

void tasks_step_text(const tasks_view *view, const tasks_step *step, buffer *out)
{
    const model_process *p = view->h->p;
    const char *type = model_text(view->h->m, step->type);

    if (step->frame != 0)
        buffer_append_text(
            out, model_text(view->h->m, p->functions[p->frames[step->frame].function].name));
    else if (!append_combinator(type, out))
        buffer_append_text(out, type);
}

const char *tasks_wait_word(tasks_wait wait)
{
    static const char *const WORDS[] = {
#define X(identifier, word, text) word,
        TASKS_WAIT_LIST(X)
#undef X
    };

    return WORDS[wait];
}

const char *tasks_wait_text(tasks_wait wait)
{
    static const char *const TEXTS[] = {
#define X(identifier, word, text) text,
        TASKS_WAIT_LIST(X)
#undef X
    };

    return TEXTS[wait];
}
