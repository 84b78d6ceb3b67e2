/* journal: see journal.h. */
#include "instrumentation/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "instrumentation/platform.h"

bool journal_append_path(buffer *path, const variables *environment, const char *home,
                         uint32_t process_id, char separator)
{
    const char *folder = variables_get(environment, VARIABLE_PROFILER_LOG_DIRECTORY);
    const char *expanded = variables_get(environment, VARIABLE_HOME_EXPANDED);
    const char *user_home = variables_get(environment, VARIABLE_USER_HOME);

    if (folder == NULL)
        folder = variables_get(environment, VARIABLE_LOG_DIRECTORY);
    if (folder != NULL)
        buffer_append_text(path, folder);
    else if (expanded != NULL && strstr(expanded, ":\\DWASFiles\\Sites") != NULL &&
             user_home != NULL)
        buffer_format(path, "%s\\LogFiles\\NewRelic", user_home);
    else if (home != NULL)
        buffer_format(path, "%s%c%s", home, separator, separator == '\\' ? "Logs" : "logs");
    else
        return false;
    buffer_format(path, "%cNewRelic.Profiler.%u.log", separator, process_id);
    return !buffer_failed(path);
}

static void open_file(journal *j, const variables *environment, const char *home)
{
    buffer path = BUFFER_EMPTY;
    char *last;

    if (journal_append_path(&path, environment, home, platform_process_id(), PLATFORM_SEPARATOR)) {
        last = strrchr((char *)path.data, PLATFORM_SEPARATOR);
        *last = '\0';
        if (platform_make_folder(buffer_text(&path))) {
            *last = PLATFORM_SEPARATOR;
            j->file = platform_open_log(buffer_text(&path));
        }
    }
    buffer_free(&path);
}

void journal_open(journal *j, const configuration *c, const variables *environment,
                  const char *home)
{
    const char *worker = variables_get(environment, VARIABLE_FUNCTIONS_WORKER_RUNTIME);

    j->file = -1;
    j->is_function = worker != NULL && worker[0] != '\0' &&
                     variables_bool(environment, VARIABLE_AZURE_LEVEL_OVERRIDE) != BOOL_TRUE;
    journal_configure(j, c, environment, home);
    j->is_open = true;
}

void journal_configure(journal *j, const configuration *c, const variables *environment,
                       const char *home)
{
    if (c->log_enabled && !c->console && j->file < 0)
        open_file(j, environment, home);
    j->level = (int)c->level;
    j->console = c->console;
    j->enabled = c->log_enabled;
}

void journal_close(journal *j)
{
    intptr_t file = atomic_exchange(&j->file, -1);

    j->is_open = false;
    if (file >= 0)
        platform_close_log(file);
}

bool journal_is_clamped(const journal *j)
{
    return (j->console || j->is_function) && j->level < LEVEL_INFO;
}

configuration_level journal_level(const journal *j)
{
    return journal_is_clamped(j) ? LEVEL_INFO : (configuration_level)j->level;
}

const char *journal_level_name(configuration_level level)
{
    static const char *const NAMES[] = {"Trace", "Debug", "Info ", "Warn ", "Error"};

    return NAMES[level];
}

void journal_write(journal *j, configuration_level level, const char *format, ...)
{
    char small[1024];
    char time[20];
    buffer line;
    va_list arguments;
    intptr_t file = j->console ? platform_console() : j->file;
    int length;

    if (level < journal_level(j) || !j->is_open || file < 0 || !j->enabled)
        return;
    platform_time_text(time);
    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length + 40 < sizeof small)
        buffer_fix(&line, small, sizeof small);
    else
        buffer_init(&line);
    buffer_format(&line, "[%s] %s ", journal_level_name(level), time);
    if (buffer_reserve(&line, (size_t)length + 1)) {
        va_start(arguments, format);
        vsnprintf((char *)line.data + line.length, (size_t)length + 1, format, arguments);
        va_end(arguments);
        line.length += (size_t)length;
        buffer_append_char(&line, '\n');
        platform_write_line(file, buffer_text(&line), line.length);
    }
    buffer_free(&line);
}
