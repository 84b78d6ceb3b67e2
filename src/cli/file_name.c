/* file_name: see file_name.h. */
#include "cli/file_name.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"

void file_name_make(char *out, size_t size, const char *name, int process_id, const char *extension)
{
    char clean[64];
    char when[32];
    time_t now = time(NULL);
    struct tm parts;
    const char *slash = strrchr(name, '/');
    size_t length = 0;

    for (const char *p = slash == NULL ? name : slash + 1; *p != '\0' && length < sizeof clean - 1;
         p++)
        clean[length++] = (char)((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                                         (*p >= '0' && *p <= '9') || *p == '.' || *p == '_'
                                     ? *p
                                     : '-');
    clean[length] = '\0';
    localtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts);
    snprintf(out, size, "%s-%d-%s%s", clean, process_id, when, extension);
}

int file_name_check_apart(const char *read, const char *written, error *e)
{
    struct stat source;
    struct stat target;

    if (read == NULL || written == NULL || text_equal(written, "-") ||
        stat(written, &target) != 0 || !S_ISREG(target.st_mode) ||
        (text_equal(read, "-") ? fstat(0, &source) : stat(read, &source)) != 0 ||
        source.st_dev != target.st_dev || source.st_ino != target.st_ino)
        return 0;
    error_set(e, ERROR_USAGE, "%s is the file that is read: it would be lost", written);
    return error_advise(e, "choose another name with -o");
}

static bool is_plain(const char *name)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";

    return name[0] != '\0' && name[strspn(name, PLAIN)] == '\0';
}

void file_name_append_quoted(buffer *out, const char *name)
{
    if (is_plain(name)) {
        buffer_format(out, "%s", name);
        return;
    }
    buffer_format(out, "'");
    for (const char *p = name; *p != '\0'; p++)
        if (*p == '\'')
            buffer_format(out, "'\\''");
        else
            buffer_append(out, p, 1);
    buffer_format(out, "'");
}

void file_name_of_snapshot(const char *recording, char *out, size_t room)
{
    size_t length = strlen(recording);

    if (text_ends_with(recording, ".clarinet"))
        length -= strlen(".clarinet");
    snprintf(out, room, "%.*s-heap.clarinet", (int)length, recording);
}
