/* dotnet_host for the own process, on Linux: what it runs is read from /proc/self. */
#include <fcntl.h>
#include <unistd.h>

#include "base/dotnet_host.h"

static bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Reads /proc/self/cmdline; the last argument is always closed. */
static size_t read_arguments(char *arguments, size_t room)
{
    int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    long n;

    if (descriptor < 0)
        return 0;
    while (length < room - 1 && (n = read(descriptor, arguments + length, room - 1 - length)) > 0)
        length += (size_t)n;
    close(descriptor);
    if (length > 0 && arguments[length - 1] != '\0')
        arguments[length++] = '\0';
    return length;
}

bool dotnet_host_is_sdk_here(void)
{
    char executable[512];
    char arguments[4096];
    long n = readlink("/proc/self/exe", executable, sizeof executable - 1);

    if (n <= 0)
        return false;
    executable[n] = '\0';
    return dotnet_host_is_sdk(executable, arguments, read_arguments(arguments, sizeof arguments),
                              file_exists);
}
