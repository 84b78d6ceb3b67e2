/* platform for Linux, against any libc: see platform.h. */
#include "instrumentation/platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "rules/filter.h"

const char PLATFORM_SEPARATOR = '/';
const char PLATFORM_NAME[] = "linux-" PLATFORM_PROCESSOR;
const bool PLATFORM_EMPTY_VARIABLE_IS_UNSET = false;

const char *platform_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

uint32_t platform_process_id(void)
{
    return (uint32_t)getpid();
}

static void append_link(buffer *out, const char *link)
{
    char target[4096];
    ssize_t length = readlink(link, target, sizeof target);

    if (length <= 0)
        buffer_append_char(out, '.');
    else
        buffer_append(out, target, (size_t)length);
}

void platform_process_path(buffer *out)
{
    append_link(out, "/proc/self/exe");
}

void platform_parent_path(buffer *out)
{
    char link[64];

    snprintf(link, sizeof link, "/proc/%d/exe", (int)getppid());
    append_link(out, link);
}

void platform_local_folder(buffer *out)
{
    (void)out;
}

void platform_command_line(buffer *out)
{
    buffer raw = BUFFER_EMPTY;

    if (os_read_file("/proc/self/cmdline", 0, &raw, NULL) == 0) {
        for (size_t at = 0; at < raw.length;) {
            const char *argument = (const char *)raw.data + at;

            filter_append_command_line(out, &argument, 1);
            at += strlen(argument) + 1;
        }
    }
    buffer_free(&raw);
}

static bool file_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

static int read_file(const char *path, buffer *out, error *e)
{
    return os_read_file(path, (size_t)64 << 20, out, e);
}

static bool list_folder(const char *path, void (*each)(void *context, const char *name),
                        void *context)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    if (folder == NULL)
        return false;
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(context, entry->d_name);
    }
    closedir(folder);
    return true;
}

const home_files PLATFORM_FILES = {file_exists, read_file, list_folder, '/'};

bool platform_make_folder(const char *path)
{
    char *copy = memory_copy_text(path);
    struct stat s;

    if (copy == NULL)
        return false;
    for (char *p = copy + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        mkdir(copy, 0775);
        *p = '/';
    }
    mkdir(copy, 0775);
    memory_free(copy);
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

intptr_t platform_open_log(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
}

intptr_t platform_open_new_log(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    struct stat s;

    /* An empty file was made for us, and what is no file (a pipe, a terminal) is for everybody. */
    if (file < 0 && stat(path, &s) == 0 && (!S_ISREG(s.st_mode) || s.st_size == 0))
        file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return file;
}

intptr_t platform_console(void)
{
    return STDOUT_FILENO;
}

void platform_write_line(intptr_t file, const char *line, size_t length)
{
    os_write_all((int)file, line, length);
}

void platform_close_log(intptr_t file)
{
    close((int)file);
}

typedef struct {
    void (*work)(void *context);
    void *context;
} job;

static void *run(void *argument)
{
    job *j = argument;

    j->work(j->context);
    return NULL;
}

bool platform_run_on_thread(void (*work)(void *context), void *context)
{
    job j = {work, context};
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's business */
    started = pthread_create(&thread, NULL, run, &j) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_join(thread, NULL);
    return started;
}
