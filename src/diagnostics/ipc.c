/* ipc: see ipc.h. Every wait has a deadline, because the process at the other end may be stopped.
 */
#include "diagnostics/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "diagnostics/procfs.h"

static const char IPC_MAGIC[14] = "DOTNET_IPC_V1"; /* with its zero */

enum { IPC_SERVER_SET = 0xff, IPC_ANSWER_OK = 0x00, IPC_ANSWER_ERROR = 0xff };
enum { END_PATIENCE_MS = 1000, END_PAUSE_MS = 10 };

typedef struct {
    const ipc_address *address;
    int descriptor;
    uint64_t deadline_ns;
} ipc_exchange;

static int connect_at(const ipc_address *address, uint64_t deadline_ns, int *descriptor, error *e);
static int send_all(const ipc_exchange *x, const uint8_t *bytes, size_t length, error *e);
static int receive_all(const ipc_exchange *x, uint8_t *bytes, size_t length, error *e);

void ipc_answer_free(ipc_answer *answer)
{
    buffer_free(&answer->bytes);
    memset(answer, 0, sizeof *answer);
}

void ipc_append_text(buffer *payload, const char *text)
{
    size_t start = payload->length;
    size_t units;

    buffer_append_u32(payload, 0);
    if (text == NULL)
        return;
    units = text_append_utf8_as_utf16(payload, text, strlen(text)) + 1;
    buffer_append_u16(payload, 0);
    if (!buffer_failed(payload))
        buffer_patch_u32(payload, start, (uint32_t)units);
}

bool ipc_append_message(buffer *out, uint8_t set, uint8_t command, const void *payload,
                        size_t length)
{
    if (length > IPC_MESSAGE_LIMIT - IPC_HEADER_SIZE)
        return false;
    buffer_append(out, IPC_MAGIC, sizeof IPC_MAGIC);
    buffer_append_u16(out, (uint16_t)(IPC_HEADER_SIZE + length));
    buffer_append_u8(out, set);
    buffer_append_u8(out, command);
    buffer_append_u16(out, 0);
    buffer_append(out, payload, length);
    return !buffer_failed(out);
}

void ipc_read_text(reader *r, buffer *out)
{
    size_t units = reader_u32(r);
    const uint8_t *bytes;

    if (units > IPC_MESSAGE_LIMIT * (size_t)256) { /* more than any answer can hold */
        r->failed = true;
        return;
    }
    bytes = reader_bytes(r, units * 2);
    if (bytes == NULL || units == 0)
        return;
    if (bytes[units * 2 - 1] != 0 || bytes[units * 2 - 2] != 0) { /* the closing zero counts */
        r->failed = true;
        return;
    }
    text_append_utf16_bytes(out, bytes, units - 1);
}

int ipc_parse_header(const void *bytes, size_t length, size_t *size, error *e)
{
    reader r = reader_of(bytes, length);
    const uint8_t *magic = reader_bytes(&r, sizeof IPC_MAGIC);

    *size = reader_u16(&r);
    reader_skip(&r, 4);
    if (reader_failed(&r))
        return error_set(e, ERROR_CORRUPT, "the answer of the diagnostics port is cut off");
    if (memcmp(magic, IPC_MAGIC, sizeof IPC_MAGIC) != 0)
        return error_set(e, ERROR_CORRUPT, "the answer does not come from a diagnostics port");
    if (*size < IPC_HEADER_SIZE)
        return error_set(e, ERROR_CORRUPT, "the answer of the diagnostics port has a wrong size");
    return 0;
}

int ipc_parse_answer(ipc_answer *answer, error *e)
{
    size_t size;
    int code = ipc_parse_header(answer->bytes.data, answer->bytes.length, &size, e);
    uint8_t set, kind;

    if (code != 0)
        return code;
    answer->payload = reader_of(answer->bytes.data, answer->bytes.length);
    reader_skip(&answer->payload, sizeof IPC_MAGIC + 2);
    set = reader_u8(&answer->payload);
    kind = reader_u8(&answer->payload);
    reader_skip(&answer->payload, 2);
    if (size != answer->bytes.length || set != IPC_SERVER_SET ||
        (kind != IPC_ANSWER_OK && kind != IPC_ANSWER_ERROR))
        return error_set(e, ERROR_CORRUPT, "the answer of the diagnostics port is not understood");
    answer->refused = kind == IPC_ANSWER_ERROR;
    if (answer->refused) {
        answer->hresult = reader_u32(&answer->payload);
        if (reader_failed(&answer->payload))
            return error_set(e, ERROR_CORRUPT, "the diagnostics port refused without a reason");
    }
    return 0;
}

int ipc_open_folder(const char *root, const char *path, const char **name)
{
    char folder[sizeof((ipc_address *)0)->path];
    const char *slash = strrchr(path, '/');
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC};
    size_t length;
    long opened;
    int top;

    if (slash == NULL || slash - path >= (long)sizeof folder)
        return -EINVAL;
    *name = slash + 1;
    length = slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, length);
    folder[length] = '\0';
    if (root == NULL || root[0] == '\0') {
        top = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return top < 0 ? -errno : top;
    }
    top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return -errno;
    how.resolve = RESOLVE_IN_ROOT; /* a link in a container must not lead to our files */
    opened = syscall(SYS_openat2, top, folder, &how, sizeof how);
    if (opened < 0)
        opened = -errno;
    close(top);
    return (int)opened;
}

int ipc_connect(const ipc_address *address, int *descriptor, error *e)
{
    unsigned timeout = address->timeout_ms == 0 ? IPC_DEFAULT_TIMEOUT_MS : address->timeout_ms;

    return connect_at(address, os_monotonic_ns() + timeout * UINT64_C(1000000), descriptor, e);
}

int ipc_call(const ipc_address *address, uint8_t set, uint8_t command, const buffer *payload,
             ipc_answer *answer, int *keep, error *e)
{
    unsigned timeout = address->timeout_ms == 0 ? IPC_DEFAULT_TIMEOUT_MS : address->timeout_ms;
    ipc_exchange x = {address, -1, os_monotonic_ns() + timeout * UINT64_C(1000000)};
    buffer request = BUFFER_EMPTY;
    uint8_t header[IPC_HEADER_SIZE];
    size_t size;
    int code;

    memset(answer, 0, sizeof *answer);
    if (keep != NULL)
        *keep = -1;
    if (payload != NULL && buffer_failed(payload)) {
        code = error_set(e, ERROR_MEMORY, "no memory for a request");
        goto out;
    }
    if (!ipc_append_message(&request, set, command, payload == NULL ? NULL : payload->data,
                            payload == NULL ? 0 : payload->length)) {
        code = error_set(e, buffer_failed(&request) ? ERROR_MEMORY : ERROR_LIMIT,
                         "a request to the diagnostics port cannot be longer than 65,535 bytes");
        goto out;
    }
    if ((code = connect_at(address, x.deadline_ns, &x.descriptor, e)) != 0 ||
        (code = send_all(&x, request.data, request.length, e)) != 0 ||
        (code = receive_all(&x, header, sizeof header, e)) != 0 ||
        (code = ipc_parse_header(header, sizeof header, &size, e)) != 0)
        goto out;
    buffer_append(&answer->bytes, header, sizeof header);
    if (!buffer_reserve(&answer->bytes, size - sizeof header)) {
        code = error_set(e, ERROR_MEMORY, "no memory for an answer");
        goto out;
    }
    code = receive_all(&x, answer->bytes.data + sizeof header, size - sizeof header, e);
    if (code != 0)
        goto out;
    answer->bytes.length = size;
    answer->bytes.data[size] = 0;
    code = ipc_parse_answer(answer, e);
    if (code == 0 && keep != NULL && !answer->refused) {
        *keep = x.descriptor;
        x.descriptor = -1;
    }
out:
    if (code != 0)
        ipc_answer_free(answer);
    if (x.descriptor >= 0)
        close(x.descriptor);
    buffer_free(&request);
    return code;
}

int ipc_receive(const ipc_address *address, int descriptor, void *bytes, size_t length, error *e)
{
    unsigned timeout = address->timeout_ms == 0 ? IPC_DEFAULT_TIMEOUT_MS : address->timeout_ms;
    ipc_exchange x = {address, descriptor, os_monotonic_ns() + timeout * UINT64_C(1000000)};

    return receive_all(&x, bytes, length, e);
}

/* --- private --- */

/* Also when nobody has asked for its exit code yet. */
static bool process_is_gone(const ipc_address *address)
{
    procfs_stat stat;

    if (address->process_id == 0)
        return false;
    return !procfs_read_stat(address->process_id, &stat) || stat.state == 'Z' ||
           stat.state == 'X' || stat.ending;
}

static int explain_connect(const ipc_address *address, int number, error *e)
{
    if (process_is_gone(address))
        return error_set(e, ERROR_GONE, "process %d has ended", address->process_id);
    switch (number) {
    case ENOENT:
        error_set(e, ERROR_NOT_FOUND, "the diagnostics socket %s%s is not there", address->root,
                  address->path);
        error_advise(e, "the process may have just ended, or its temporary folder was cleaned; "
                        "restart the process to get a new socket");
        return ERROR_NOT_FOUND;
    case ECONNREFUSED:
        error_set(e, ERROR_NOT_FOUND, "nobody listens on %s%s", address->root, address->path);
        error_advise(e, "the socket was left behind by a process that has ended; it can be "
                        "deleted");
        return ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
        error_set(e, ERROR_PERMISSION, "no permission to connect to %s%s", address->root,
                  address->path);
        error_advise(e, "run clarinet as the user of the process, or as root");
        return ERROR_PERMISSION;
    default:
        return error_set_errno(e, ERROR_IO, number, "cannot connect to %s%s", address->root,
                               address->path);
    }
}

static int explain_timeout(const ipc_address *address, error *e)
{
    error_set(e, ERROR_TIMEOUT, "process %d did not answer on its diagnostics port in time",
              address->process_id);
    error_advise(e, "is it stopped or hung? `kill -CONT %d` continues a stopped process",
                 address->process_id);
    return ERROR_TIMEOUT;
}

/* Waits until the descriptor is ready; 0 or an error. */
static int wait_for(const ipc_exchange *x, short events, error *e)
{
    for (;;) {
        uint64_t now = os_monotonic_ns();
        struct pollfd waiting = {x->descriptor, events, 0};
        int n;

        if (now >= x->deadline_ns)
            return explain_timeout(x->address, e);
        n = poll(&waiting, 1, (int)((x->deadline_ns - now) / 1000000 + 1));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return error_set_errno(e, ERROR_IO, errno, "cannot wait for an answer");
    }
}

/* Whose socket it is: the credentials are those of the process that called listen(). */
static int check_peer(const ipc_address *address, int descriptor, error *e)
{
    struct ucred peer = {0, 0, 0};
    socklen_t length = sizeof peer;

    if (address->process_id == 0 ||
        getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid == 0 ||
        peer.pid == address->process_id)
        return 0;
    error_set(e, ERROR_NOT_FOUND, "the socket %s%s belongs to process %d, not to process %d",
              address->root, address->path, (int)peer.pid, address->process_id);
    error_advise(e, "`clarinet ps` shows the processes there are");
    return ERROR_NOT_FOUND;
}

static int connect_at(const ipc_address *address, uint64_t deadline_ns, int *descriptor, error *e)
{
    struct sockaddr_un target = {.sun_family = AF_UNIX};
    const char *name = NULL;
    int folder = ipc_open_folder(address->root, address->path, &name);
    struct stat status;
    int code = 0;

    *descriptor = -1;
    if (folder < 0)
        return explain_connect(address, -folder, e);
    /* Through the folder's descriptor any path fits the 108 bytes a socket address has. */
    if (snprintf(target.sun_path, sizeof target.sun_path, "/proc/self/fd/%d/%s", folder, name) >=
        (int)sizeof target.sun_path) {
        close(folder);
        return error_set(e, ERROR_LIMIT, "the socket's name is too long: %s", name);
    }
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        code = explain_connect(address, errno, e);
    } else if (!S_ISSOCK(status.st_mode)) {
        code = error_set(e, ERROR_NOT_FOUND, "%s%s is not a socket", address->root, address->path);
    } else if ((*descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0) {
        code = error_set_errno(e, ERROR_IO, errno, "cannot make a socket");
    }
    while (code == 0 &&
           connect(*descriptor, (const struct sockaddr *)&target, sizeof target) != 0) {
        if (errno != EAGAIN && errno != EINTR) {
            code = explain_connect(address, errno, e);
        } else if (os_monotonic_ns() >= deadline_ns) {
            code = explain_timeout(address, e);
        } else {
            os_sleep_ms(5); /* its queue of connections is full */
        }
    }
    if (code == 0)
        code = check_peer(address, *descriptor, e);
    if (code != 0 && *descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
    close(folder);
    return code;
}

/* A runtime that ends closes its connections first; why it did is seen a moment later. */
static int explain_lost(const ipc_exchange *x, error *e)
{
    const ipc_address *address = x->address;
    uint64_t end = os_monotonic_ns() + END_PATIENCE_MS * UINT64_C(1000000);

    while (!process_is_gone(address)) {
        uint64_t now = os_monotonic_ns();

        if (address->process_id == 0 || now >= end || now >= x->deadline_ns)
            break;
        os_sleep_ms(END_PAUSE_MS);
    }
    if (process_is_gone(address))
        return error_set(e, ERROR_GONE, "process %d ended before it answered", address->process_id);
    error_set(e, ERROR_IO, "process %d closed the diagnostics connection without a whole answer",
              address->process_id);
    error_advise(e, "the process may be ending; try again if it is still there");
    return ERROR_IO;
}

static int send_all(const ipc_exchange *x, const uint8_t *bytes, size_t length, error *e)
{
    while (length > 0) {
        ssize_t n = send(x->descriptor, bytes, length, MSG_NOSIGNAL);
        int code;

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            if ((code = wait_for(x, POLLOUT, e)) != 0)
                return code;
        } else if (n < 0 && errno != EINTR) {
            return explain_lost(x, e);
        }
    }
    return 0;
}

static int receive_all(const ipc_exchange *x, uint8_t *bytes, size_t length, error *e)
{
    while (length > 0) {
        ssize_t n = recv(x->descriptor, bytes, length, MSG_DONTWAIT);
        int code;

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            if ((code = wait_for(x, POLLIN, e)) != 0)
                return code;
        } else if (n == 0 || errno != EINTR) {
            return explain_lost(x, e);
        }
    }
    return 0;
}
