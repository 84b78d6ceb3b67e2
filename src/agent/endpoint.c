/*
 * endpoint: where the agent can be reached: a Unix socket in a folder of mode 0700 that belongs to
 * the target's user. The tool made the folder before it attached; in start mode the agent makes it
 * itself, so that a second session finds it. Own thread, or the thread that loads the agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/os.h"

/* fstat by its system call: older C libraries do not export it under this name. */
static int describe(int descriptor, struct stat *status)
{
    return (int)syscall(SYS_fstat, descriptor, status);
}

/* A folder that only our user can enter, opened without following a link; or -1. */
static int open_private_folder(const char *path)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (descriptor < 0)
        return -1;
    if (describe(descriptor, &status) != 0 || status.st_uid != geteuid() ||
        (status.st_mode & 077) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

static void address_of(const endpoint *p, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    /* by descriptor, because the folder's own path may be longer than an address can be */
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s",
             p->folder_descriptor, CONTROL_SOCKET_NAME);
}

int endpoint_listen(agent *a, error *e)
{
    endpoint *p = &a->endpoint;
    struct sockaddr_un address;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (listener < 0)
        return error_set_errno(e, ERROR_IO, errno, "no socket");
    address_of(p, &address);
    unlinkat(p->folder_descriptor, CONTROL_SOCKET_NAME, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, AGENT_CLIENTS) != 0) {
        int number = errno;

        close(listener);
        return error_set_errno(e, ERROR_IO, number, "cannot listen in %s", p->folder);
    }
    p->listener = listener;
    return 0;
}

static int write_token(endpoint *p)
{
    char text[2 * CONTROL_TOKEN_SIZE + 1];
    int descriptor;
    int code;

    control_format_token(p->token, text);
    unlinkat(p->folder_descriptor, CONTROL_TOKEN_NAME, 0);
    descriptor = openat(p->folder_descriptor, CONTROL_TOKEN_NAME,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return -errno;
    code = os_write_all(descriptor, text, 2 * CONTROL_TOKEN_SIZE);
    close(descriptor);
    return code;
}

int endpoint_open(agent *a, const char *folder, const uint8_t *token, error *e)
{
    endpoint *p = &a->endpoint;
    int code;

    if (strlen(folder) >= sizeof p->folder)
        return error_set(e, ERROR_USAGE, "the folder's path is too long");
    p->folder_descriptor = open_private_folder(folder);
    if (p->folder_descriptor < 0)
        return error_set(e, ERROR_PERMISSION, "%s is not a private folder", folder);
    strcpy(p->folder, folder);
    if (p->token != token)
        memcpy(p->token, token, sizeof p->token);
    code = write_token(p);
    if (code != 0)
        return error_set_errno(e, ERROR_IO, -code, "cannot write into %s", folder);
    return endpoint_listen(a, e);
}

int endpoint_open_own(agent *a, error *e)
{
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    uint64_t ticks = os_process_start_ticks();
    char path[256];

    if (ticks == 0)
        return error_set(e, ERROR_IO, "cannot read /proc/self/stat");
    for (size_t i = 0; i < 3; i++) {
        if (places[i] == NULL || places[i][0] != '/' ||
            snprintf(path, sizeof path, "%s/clarinet-%u-%d-%llu", places[i], (unsigned)geteuid(),
                     os_process_id(), (unsigned long long)ticks) >= (int)sizeof path)
            continue;
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            continue;
        if (endpoint_open(a, path, a->endpoint.token, e) == 0)
            return 0;
        endpoint_close(a);
    }
    return error_set(e, ERROR_IO, "no folder for the agent's socket");
}

/* Whether everybody has a number in this process's user namespace, as in the machine's own. */
static bool numbers_everybody(void)
{
    buffer map = BUFFER_EMPTY;
    const char *text;
    char *end = NULL;
    bool all = true;

    if (os_read_file("/proc/self/uid_map", 4096, &map, NULL) == 0 && map.length != 0) {
        text = buffer_text(&map); /* first inside, first outside, count */
        all = strtoul(text, &end, 10) == 0 && strtoul(end, &end, 10) == 0 &&
              strtoul(end, &end, 10) == UINT32_MAX;
    }
    buffer_free(&map);
    return all;
}

/* Our own user, or root. In a user namespace of our own the machine's root has no number and looks
 * like nobody; the folder's mode keeps everybody else away, and the token is asked for in any
 * case. */
bool endpoint_admits(uint32_t user_id)
{
    enum { NO_NUMBER = 65534 };

    return user_id == geteuid() || user_id == 0 || (user_id == NO_NUMBER && !numbers_everybody());
}

/* A new connection whose peer is our own user or root; -1 when there is none. */
int endpoint_accept(agent *a)
{
    int descriptor = accept4(a->endpoint.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t length = sizeof peer;

    if (descriptor < 0)
        return -1;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        !endpoint_admits(peer.uid)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void endpoint_close(agent *a)
{
    endpoint *p = &a->endpoint;

    if (p->listener >= 0)
        close(p->listener);
    p->listener = -1;
    if (p->folder_descriptor >= 0) {
        unlinkat(p->folder_descriptor, CONTROL_SOCKET_NAME, 0);
        unlinkat(p->folder_descriptor, CONTROL_TOKEN_NAME, 0);
        /* a mapped file may lose its name: its pages stay until it is unmapped */
        if (p->library[0] != '\0')
            unlinkat(p->folder_descriptor, p->library, 0);
        close(p->folder_descriptor);
        rmdir(p->folder);
    }
    p->folder_descriptor = -1;
    p->folder[0] = '\0';
}
