/* root: see root.h. */
#include "symbols/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* The kernel's struct open_how; its header is missing on older systems. */
typedef struct {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
} open_how;

enum { RESOLVE_INSIDE_ROOT = 0x10 };

void root_open(root *r, const char *path)
{
    r->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void root_close(root *r)
{
    if (r->folder >= 0)
        close(r->folder);
    r->folder = -1;
}

static int open_inside(const root *r, const char *path)
{
    open_how how = {O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_INSIDE_ROOT};
    int descriptor = (int)syscall(SYS_openat2, r->folder, path, &how, sizeof how);

    if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM))
        return descriptor;
    /* A kernel before 5.6: links that start with "/" would lead into our own root. */
    while (*path == '/')
        path++;
    return openat(r->folder, path, (int)how.flags | O_NOFOLLOW);
}

int root_read(const root *r, const char *path, size_t limit, buffer *out)
{
    struct stat status;
    int descriptor, code = 0;

    if (r->folder < 0)
        return ERROR_NOT_FOUND;
    descriptor = open_inside(r, path);
    if (descriptor < 0)
        return ERROR_NOT_FOUND;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        code = ERROR_UNSUPPORTED;
    } else if (status.st_size < 0 || (uint64_t)status.st_size > limit) {
        code = ERROR_LIMIT;
    } else if (!buffer_reserve(out, (size_t)status.st_size + 1)) {
        code = ERROR_MEMORY;
    } else {
        size_t wanted = (size_t)status.st_size, start = out->length;

        while (out->length - start < wanted) {
            ssize_t n = read(descriptor, out->data + out->length, wanted - (out->length - start));

            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                code = ERROR_IO;
            if (n <= 0)
                break;
            out->length += (size_t)n;
        }
        out->data[out->length] = 0;
    }
    close(descriptor);
    return code;
}
