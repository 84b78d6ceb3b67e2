/*
 * clarinet instrument run|explain|check|compare: the companion of libclarinet_instrument.so. It
 * reads the same files with the same code and says what the agent would do.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/instrument_check.h"
#include "cli/instrument_compare.h"
#include "cli/instrument_run.h"
#include "report/json.h"
#include "rules/home.h"
#include "rules/process.h"

/* ---- files and variables of this machine ---- */

static bool file_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

static int read_file(const char *path, buffer *out, error *e)
{
    return os_read_file(path, 0, out, e);
}

static bool list_folder(const char *path, void (*each)(void *context, const char *name),
                        void *context)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    if (folder == NULL)
        return false;
    while ((entry = readdir(folder)) != NULL)
        each(context, entry->d_name);
    closedir(folder);
    return true;
}

static const home_files FILES = {file_exists, read_file, list_folder, '/'};

static const char *variable_value(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static const variables ENVIRONMENT = {variable_value, NULL, false};

/* ---- explain ---- */

/* The file that a shell would run for this word. */
static void append_program_path(buffer *out, const char *word)
{
    const char *path = getenv("PATH");
    char real[4096];
    buffer candidate = BUFFER_EMPTY;

    if (strchr(word, '/') != NULL || path == NULL) {
        buffer_append_text(out, realpath(word, real) != NULL ? real : word);
        return;
    }
    while (out->length == 0 && *path != '\0') {
        size_t length = strcspn(path, ":");

        buffer_clear(&candidate);
        buffer_append(&candidate, path, length);
        buffer_format(&candidate, "/%s", word);
        if (access(buffer_text(&candidate), X_OK) == 0 &&
            realpath(buffer_text(&candidate), real) != NULL)
            buffer_append_text(out, real);
        path += length + (path[length] == ':');
    }
    if (out->length == 0)
        buffer_append_text(out, word);
    buffer_free(&candidate);
}

static int decide(char **command, int count, const home_folders *folders,
                  const configuration *settings, filter_decision *decision, error *e)
{
    buffer path = BUFFER_EMPTY;
    buffer line = BUFFER_EMPTY;
    process_facts process;
    int code;

    append_program_path(&path, command[0]);
    filter_append_command_line(&line, (const char *const *)command, (size_t)count);
    process = (process_facts){buffer_text(&path), ".", buffer_text(&line)};
    code = process_decide(&process, folders, &ENVIRONMENT, settings, decision, e);
    buffer_free(&path);
    buffer_free(&line);
    return code;
}

static int explain(int argc, char **argv)
{
    static const char EMPTY[] = "<configuration/>";
    const configuration_file NO_FILE = {EMPTY, sizeof EMPTY - 1, "no file"};
    home_folders folders;
    configuration settings;
    filter_decision decision;
    bool as_json = false;
    int first = 1;
    int code;
    error e;

    for (; first < argc && strcmp(argv[first], "--") != 0; first++) {
        if (strcmp(argv[first], "--json") != 0)
            break;
        as_json = true;
    }
    if (first >= argc || strcmp(argv[first], "--") != 0 || first + 1 >= argc) {
        error_set(&e, ERROR_USAGE, "explain needs a command");
        error_advise(&e, "clarinet instrument explain -- dotnet app.dll");
        return cli_fail(&e);
    }
    home_find(&folders, &FILES, &ENVIRONMENT, true);
    /* without a file there are still the lists of the environment */
    code = folders.home != NULL
               ? home_read_configuration(&folders, &ENVIRONMENT, &settings, &e)
               : configuration_read(&settings, NO_FILE, (configuration_file){NULL, 0, NULL},
                                    &ENVIRONMENT, &e);
    if (code != 0 ||
        decide(argv + first + 1, argc - first - 1, &folders, &settings, &decision, &e) != 0) {
        if (code == 0)
            configuration_free(&settings);
        return cli_fail(&e);
    }
    if (as_json) {
        sink out;
        json j;

        sink_init(&out, STDOUT_FILENO);
        json_init(&j, &out);
        json_begin_object(&j);
        json_put_bool(&j, "instrument", decision.instrument);
        json_put_text(&j, "rule", decision.rule);
        json_put_text(&j, "reason", decision.reason);
        json_end_object(&j);
        sink_text(&out, "\n");
        json_free(&j);
        sink_finish(&out, NULL);
        sink_free(&out);
    } else {
        printf("%s: %s (rule %s)\n",
               decision.instrument ? "would be instrumented" : "would not be instrumented",
               decision.reason, decision.rule);
        if (folders.home == NULL)
            printf("no home folder is set: the lists of newrelic.config were not looked at, and "
                   "without one the agent does nothing\n");
    }
    configuration_free(&settings);
    return CLI_DONE;
}

int verb_instrument(int argc, char **argv)
{
    error e;

    if (argc >= 2 && strcmp(argv[1], "explain") == 0)
        return explain(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "check") == 0)
        return instrument_check(argc - 1, argv + 1, &FILES, &ENVIRONMENT);
    if (argc >= 2 && strcmp(argv[1], "compare") == 0)
        return instrument_compare(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "run") == 0)
        return instrument_run(argc - 1, argv + 1, &FILES, &ENVIRONMENT);
    error_set(&e, ERROR_USAGE,
              argc < 2 ? "instrument needs to be told what to do"
                       : "instrument can run, explain, check and compare");
    error_advise(&e, "clarinet instrument --help");
    return cli_fail(&e);
}
