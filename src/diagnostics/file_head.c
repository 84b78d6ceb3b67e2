/* file_head: see file_head.h. */
#include "diagnostics/file_head.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 64 };

bool file_head_is(const char *path, const char *bytes, size_t length)
{
    char head[LONGEST];
    ssize_t got;
    int descriptor;

    if (length > sizeof head)
        return false;
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    got = pread(descriptor, head, length, 0);
    close(descriptor);
    return got == (ssize_t)length && memcmp(head, bytes, length) == 0;
}
