/* file_name: see file_name.h. */
#include "cli/file_name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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
