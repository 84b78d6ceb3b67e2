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

/* How many bytes at `text` are one control character (C0, DEL, and C1 in UTF-8); 0 = it is none. */
static size_t control_length(const uint8_t *text)
{
    if (text[0] < 0x20 || text[0] == 0x7f)
        return 1;
    return text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f ? 2 : 0;
}

/* Much of a message is foreign: names of files, of methods, texts out of XML. None of them may end
 * the line and begin one that looks like ours, or speak to a terminal. */
static void append_visible(buffer *line, const char *message, size_t length)
{
    const uint8_t *text = (const uint8_t *)message;

    for (size_t i = 0; i < length; i++) {
        size_t control = control_length(text + i);

        if (control == 0) {
            buffer_append_char(line, message[i]);
            continue;
        }
        i += control - 1;
        if (text[i] == '\n' || text[i] == '\r' || text[i] == '\t')
            buffer_format(line, "\\%c", text[i] == '\n' ? 'n' : text[i] == '\r' ? 'r' : 't');
        else
            buffer_format(line, "\\u%04x", text[i]);
    }
}

void journal_write(journal *j, configuration_level level, const char *format, ...)
{
    char small[1024];
    char small_message[1024];
    char time[20];
    buffer line;
    buffer large = BUFFER_EMPTY;
    const char *message = small_message;
    va_list arguments;
    intptr_t file = j->console ? platform_console() : j->file;
    int length;

    if (level < journal_level(j) || !j->is_open || file < 0 || !j->enabled)
        return;
    platform_time_text(time);
    va_start(arguments, format);
    length = vsnprintf(small_message, sizeof small_message, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length >= sizeof small_message) {
        if (!buffer_reserve(&large, (size_t)length + 1))
            return;
        va_start(arguments, format);
        vsnprintf((char *)large.data, (size_t)length + 1, format, arguments);
        va_end(arguments);
        message = (const char *)large.data;
    }
    /* An escape is at most six times as long as what it stands for. */
    if ((size_t)length * 6 + 40 < sizeof small)
        buffer_fix(&line, small, sizeof small);
    else
        buffer_init(&line);
    buffer_format(&line, "[%s] %s ", journal_level_name(level), time);
    append_visible(&line, message, (size_t)length);
    buffer_append_char(&line, '\n');
    if (!buffer_failed(&line))
        platform_write_line(file, buffer_text(&line), line.length);
    buffer_free(&line);
    buffer_free(&large);
}
