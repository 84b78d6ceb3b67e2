/* place: see place.h. */
#include "session/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/table.h"
#include "base/text.h"
#include "control/control.h"
#include "diagnostics/ipc.h"
#include "diagnostics/procfs.h"

#define OWN_PREFIX     "clarinet-run-" /* all prefixes: see FOLDERS */
#define LIBRARY_PREFIX "libclarinet-"

enum {
    PLACES = 3,
    LIBRARY_LIMIT = 64 << 20,
    SWEEP_LIMIT = 256,
    SETTLED_SECONDS = 600, /* older than this: whoever works with it has locked it */
};

/* What commands make for themselves, and remove when they end. */
static const char *const FOLDERS[] = {OWN_PREFIX, "clarinet-launch-", "clarinet-spans-"};
static const char *const FILES[] = {
    CONTROL_SOCKET_NAME, CONTROL_TOKEN_NAME, "report", "points", "spans.json", "room"};

/* The folders to try, in turn; "" = skip. */
static void candidates(const diagnostics_process *process, const char *folders[PLACES])
{
    const char *own = process->temporary_folder;

    folders[0] = own != NULL && own[0] == '/' ? own : "/tmp";
    folders[1] = text_equal(folders[0], "/tmp") || text_equal(folders[0], "/tmp/") ? "" : "/tmp";
    folders[2] = "/dev/shm";
}

static uint32_t group_of(int process_id)
{
    buffer status = BUFFER_EMPTY;
    unsigned real = 0;
    unsigned effective = getegid();
    const char *line;

    if (procfs_read(process_id, "status", 65536, &status) == 0) {
        line = strstr(buffer_text(&status), "\nGid:");
        if (line != NULL && sscanf(line, "\nGid: %u %u", &real, &effective) != 2)
            effective = getegid();
    }
    buffer_free(&status);
    return effective;
}

/* The number that a user of ours has in the process's user namespace: the agent, which makes its
 * folder itself when it stays, knows only that one. */
static uint32_t inner_user(int process_id, uint32_t user_id)
{
    enum { NO_NUMBER = 65534 };
    buffer map = BUFFER_EMPTY;
    const char *line;
    uint32_t inner = user_id;

    if (procfs_read(process_id, "uid_map", 65536, &map) == 0) {
        inner = NO_NUMBER;
        for (line = buffer_text(&map); line != NULL && *line != '\0';) {
            unsigned inside, outside, count;

            if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && user_id >= outside &&
                user_id - outside < count) {
                inner = inside + (user_id - outside);
                break;
            }
            line = strchr(line, '\n');
            if (line != NULL)
                line++;
        }
    }
    buffer_free(&map);
    return inner;
}

static void name_place(const diagnostics_process *process, const char *folder, place *p)
{
    size_t length = strlen(folder);

    memset(p, 0, sizeof *p);
    p->descriptor = -1;
    p->user_id = process->user_id;
    p->group_id = group_of(process->process_id);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    p->inner_user_id = inner_user(process->process_id, process->user_id);
    snprintf(p->name, sizeof p->name, "clarinet-%u-%d-%llu", p->inner_user_id, process->inner_pid,
             (unsigned long long)process->start_ticks);
    if (snprintf(p->path, sizeof p->path, "%.*s/%s", (int)length, folder, p->name) >=
        (int)sizeof p->path)
        p->path[0] = '\0';
}

/* Opens the folder if it is what it must be: a real folder, of the right user, closed to others. */
static int open_checked(int parent, place *p)
{
    struct stat status;

    p->descriptor = openat(parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p->descriptor < 0)
        return -errno;
    if (fstat(p->descriptor, &status) != 0 || status.st_uid != p->user_id ||
        (status.st_mode & 077) != 0) {
        place_close(p);
        return -EPERM;
    }
    return 0;
}

void place_close(place *p)
{
    if (p->descriptor >= 0)
        close(p->descriptor);
    p->descriptor = -1;
}

int place_find(const diagnostics_process *process, place *p, error *e)
{
    const char *folders[PLACES];
    const char *name;

    candidates(process, folders);
    for (size_t i = 0; i < PLACES; i++) {
        int parent;
        int code;

        if (folders[i][0] == '\0')
            continue;
        name_place(process, folders[i], p);
        parent = ipc_open_folder(process->root, p->path, &name);
        if (p->path[0] == '\0' || parent < 0)
            continue;
        code = open_checked(parent, p);
        close(parent);
        if (code == 0 && faccessat(p->descriptor, CONTROL_SOCKET_NAME, F_OK, 0) == 0)
            return 0;
        place_close(p);
    }
    return error_set(e, ERROR_NOT_FOUND, "no agent is loaded in process %d", process->process_id);
}

/* Removes copies that a killed tool left half-done: old enough that their tool would have its lock,
 * and not locked. */
static void sweep_copies(const place *p)
{
    int folder = openat(p->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = folder < 0 ? NULL : fdopendir(folder);
    struct dirent *entry;

    if (listing == NULL && folder >= 0)
        close(folder);
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        struct stat status;
        int descriptor;

        if (!text_starts_with(entry->d_name, LIBRARY_PREFIX) ||
            strstr(entry->d_name, ".so.") == NULL)
            continue;
        descriptor = openat(p->descriptor, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0)
            continue;
        if (fstat(descriptor, &status) == 0 && status.st_mtime + SETTLED_SECONDS < time(NULL) &&
            flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            unlinkat(p->descriptor, entry->d_name, 0);
        close(descriptor);
    }
    if (listing != NULL)
        closedir(listing);
}

/* Writes the library into the folder, unless the same is there already. */
static int copy_library(const char *library, place *p, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    char temporary[80];
    struct stat status;
    int descriptor = -1;
    int failed = 0;
    int code = os_read_file(library, LIBRARY_LIMIT, &bytes, e);

    if (code != 0)
        goto out;
    sweep_copies(p);
    snprintf(p->library, sizeof p->library, LIBRARY_PREFIX "%016llx.so",
             (unsigned long long)table_hash_bytes(bytes.data, bytes.length));
    if (fstatat(p->descriptor, p->library, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == p->user_id &&
        status.st_size == (off_t)bytes.length)
        goto out;
    snprintf(temporary, sizeof temporary, "%s.%d", p->library, os_process_id());
    descriptor = openat(p->descriptor, temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
    if (descriptor < 0)
        failed = errno;
    else
        flock(descriptor, LOCK_EX | LOCK_NB); /* see sweep_copies */
    if (failed == 0)
        failed = -os_write_all(descriptor, bytes.data, bytes.length);
    if (failed == 0 && geteuid() != p->user_id && fchown(descriptor, p->user_id, p->group_id) != 0)
        failed = errno;
    if (failed == 0 && fchmod(descriptor, 0500) != 0)
        failed = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && failed == 0)
        failed = errno;
    /* a new file under the name: one that is in use keeps its own */
    if (failed == 0 && renameat(p->descriptor, temporary, p->descriptor, p->library) != 0)
        failed = errno;
    if (failed != 0) {
        unlinkat(p->descriptor, temporary, 0);
        code = error_set_errno(e, ERROR_IO, failed, "cannot copy the agent into %s", p->path);
    }
out:
    buffer_free(&bytes);
    return code;
}

static int make_in(const diagnostics_process *process, const char *folder, const char *library,
                   place *p, char *why, size_t room)
{
    struct statvfs file_system;
    const char *name;
    char root_path[64];
    error e;
    int parent;
    int code = 0;

    name_place(process, folder, p);
    if (p->path[0] == '\0') {
        snprintf(why, room, "%s: path too long", folder);
        return ERROR_LIMIT;
    }
    parent = ipc_open_folder(process->root, p->path, &name);
    if (parent < 0) {
        snprintf(why, room, "%s: %s", folder, strerror(-parent));
        return ERROR_IO;
    }
    snprintf(root_path, sizeof root_path, "/proc/self/fd/%d", parent);
    if (statvfs(root_path, &file_system) == 0 && (file_system.f_flag & ST_NOEXEC) != 0) {
        snprintf(why, room, "%s: mounted noexec", folder);
        code = ERROR_UNSUPPORTED;
    } else if (mkdirat(parent, p->name, 0700) != 0 && errno != EEXIST) {
        snprintf(why, room, "%s: %s", folder, strerror(errno));
        code = ERROR_PERMISSION;
    } else {
        int fresh = openat(parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fresh >= 0 && geteuid() == 0 && p->user_id != 0)
            (void)!fchown(fresh, p->user_id, p->group_id);
        if (fresh >= 0)
            close(fresh);
        code = open_checked(parent, p);
        if (code != 0) {
            snprintf(why, room, "%s: %s is not a private folder of user %u", folder, p->name,
                     p->user_id);
            code = ERROR_PERMISSION;
        } else if (copy_library(library, p, &e) != 0) {
            snprintf(why, room, "%s: %.150s", folder, e.message);
            place_close(p);
            code = ERROR_IO;
        }
        if (code != 0)
            unlinkat(parent, p->name, AT_REMOVEDIR); /* only if it is empty */
    }
    close(parent);
    return code;
}

int place_make(const diagnostics_process *process, const char *library, place *p, error *e)
{
    const char *folders[PLACES];
    char why[PLACES][200] = {"", "", ""};
    buffer reasons = BUFFER_EMPTY;
    int code = 0;

    candidates(process, folders);
    for (size_t i = 0; i < PLACES; i++) {
        if (folders[i][0] == '\0')
            continue;
        code = make_in(process, folders[i], library, p, why[i], sizeof why[i]);
        if (code == 0)
            return 0;
        buffer_format(&reasons, "%s%s", reasons.length == 0 ? "" : "; ", why[i]);
    }
    error_set(e, code, "no folder for the agent in process %d: %s", process->process_id,
              buffer_text(&reasons));
    error_advise(e, "give the process a TMPDIR that its user can write to and that is not mounted "
                    "noexec, or start it with `clarinet record -- CMD`; `clarinet record` and "
                    "`checkup` also work through the diagnostics port, without the agent");
    buffer_free(&reasons);
    return code;
}

/* Empties and removes one left-behind folder, if it holds nothing but our own things. */
static void remove_left_behind(int parent, const char *name, uint32_t user_id)
{
    place p = {.descriptor = -1, .user_id = user_id};
    struct dirent *entry;
    DIR *listing;

    if (strlen(name) >= sizeof p.name)
        return;
    strcpy(p.name, name);
    if (open_checked(parent, &p) != 0)
        return;
    listing = fdopendir(p.descriptor);
    if (listing == NULL) {
        place_close(&p);
        return;
    }
    while ((entry = readdir(listing)) != NULL) {
        bool ours = text_starts_with(entry->d_name, LIBRARY_PREFIX);

        for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
            ours = ours || text_equal(entry->d_name, FILES[i]);
        if (ours)
            unlinkat(dirfd(listing), entry->d_name, 0);
    }
    closedir(listing);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static bool is_of_a_command(const char *name)
{
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++)
        if (text_starts_with(name, FOLDERS[i]))
            return true;
    return false;
}

/* Removes what commands left in the folder of this name whose tool was killed: nobody holds their
 * lock. */
static void sweep_own(const char *path, size_t length)
{
    char folder[PLACE_PATH];
    struct dirent *entry;
    DIR *listing;
    int seen = 0;

    snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    listing = opendir(folder);

    while (listing != NULL && (entry = readdir(listing)) != NULL && seen < SWEEP_LIMIT) {
        struct stat status;
        int descriptor;

        if (!is_of_a_command(entry->d_name))
            continue;
        seen++;
        descriptor =
            openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0)
            continue;
        /* a new one may not be locked yet */
        if (fstat(descriptor, &status) == 0 && status.st_uid == geteuid() &&
            status.st_mtime + SETTLED_SECONDS < time(NULL) &&
            flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            remove_left_behind(dirfd(listing), entry->d_name, geteuid());
        close(descriptor);
    }
    if (listing != NULL)
        closedir(listing);
}

/* 0, or the errno that says why the folder does not take so many bytes: a file system that is full
 * lets a folder be made, and no more. */
static int try_to_fill(const char *path, size_t bytes)
{
    char file[PLACE_PATH];
    const char zeros[4096] = {0};
    int descriptor;
    int failed = 0;

    if (snprintf(file, sizeof file, "%s/room", path) >= (int)sizeof file)
        return ENAMETOOLONG;
    descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return errno;
    for (size_t done = 0; done < bytes && failed == 0; done += sizeof zeros)
        failed = -os_write_all(descriptor, zeros, sizeof zeros);
    if (close(descriptor) != 0 && failed == 0)
        failed = errno;
    unlink(file);
    return failed;
}

int place_make_folder(const char *prefix, bool for_code, size_t bytes, char *path, size_t room,
                      error *e)
{
    const char *folders[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    buffer reasons = BUFFER_EMPTY;

    for (size_t i = 0; i < PLACES; i++) {
        struct statvfs file_system;
        int failed;

        /* the path of a socket in it must fit an address, for every child that connects by it */
        if (folders[i] == NULL || folders[i][0] != '/' || strlen(folders[i]) > 64 ||
            strlen(folders[i]) + strlen(prefix) + 8 > room ||
            (i == 1 && folders[0] != NULL && text_equal(folders[0], folders[1])))
            continue;
        if (for_code && statvfs(folders[i], &file_system) == 0 &&
            (file_system.f_flag & ST_NOEXEC) != 0) {
            buffer_format(&reasons, "%s %s is mounted noexec", reasons.length == 0 ? ":" : ";",
                          folders[i]);
            continue;
        }
        snprintf(path, room, "%s/%sXXXXXX", folders[i], prefix);
        failed = mkdtemp(path) == NULL ? errno : 0;
        if (failed == 0 && (failed = try_to_fill(path, bytes)) != 0)
            rmdir(path);
        if (failed == 0) {
            buffer_free(&reasons);
            return 0;
        }
        buffer_format(&reasons, "%s %s: %s", reasons.length == 0 ? ":" : ";", folders[i],
                      strerror(failed));
    }
    path[0] = '\0';
    error_set(e, ERROR_IO, "no temporary folder%s", buffer_text(&reasons));
    buffer_free(&reasons);
    return error_advise(e,
                        "set TMPDIR to a folder with room that can be written to%s: "
                        "`mkdir -m 700 ~/tmp; export TMPDIR=~/tmp`",
                        for_code ? " and is not mounted noexec" : "");
}

int place_hold_folder(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (descriptor >= 0)
        flock(descriptor, LOCK_EX | LOCK_NB); /* see sweep_own */
    sweep_own(path, (size_t)(strrchr(path, '/') - path));
    return descriptor;
}

int place_make_own(const char *library, place *p, error *e)
{
    struct stat status;
    int code;

    memset(p, 0, sizeof *p);
    p->descriptor = -1;
    p->user_id = geteuid();
    p->group_id = getegid();
    if (stat(library, &status) != 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot read %s", library);
    code = place_make_folder(OWN_PREFIX, true, (size_t)status.st_size, p->path, sizeof p->path, e);
    if (code != 0)
        return code;
    p->descriptor = place_hold_folder(p->path);
    if (p->descriptor < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot open %s", p->path);
    code = copy_library(library, p, e);
    if (code != 0)
        place_remove_own(p);
    return code;
}

void place_remove_own(place *p)
{
    if (p->descriptor < 0)
        return;
    unlinkat(p->descriptor, CONTROL_SOCKET_NAME, 0);
    unlinkat(p->descriptor, p->library, 0);
    place_close(p);
    rmdir(p->path);
}

void place_sweep(const diagnostics_process *process, const place *p)
{
    const char *name;
    struct dirent *entry;
    DIR *listing;
    int parent;
    int seen = 0;

    /* inside a container the process ids are not ours: who is gone cannot be told from here */
    if (process->root[0] != '\0' || process->container)
        return;
    parent = ipc_open_folder("", p->path, &name);
    if (parent < 0)
        return;
    listing = fdopendir(openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (listing != NULL && (entry = readdir(listing)) != NULL && seen < SWEEP_LIMIT) {
        unsigned user;
        int process_id;
        unsigned long long start;
        char rest;
        procfs_stat stat;

        if (sscanf(entry->d_name, "clarinet-%u-%d-%llu%c", &user, &process_id, &start, &rest) !=
                3 ||
            user != p->inner_user_id)
            continue;
        seen++;
        if (!procfs_read_stat(process_id, &stat) || stat.start_ticks != start)
            remove_left_behind(parent, entry->d_name, p->user_id);
    }
    if (listing != NULL)
        closedir(listing);
    close(parent);
}

int place_read_token(const place *p, uint8_t *token, error *e)
{
    char text[2 * CONTROL_TOKEN_SIZE + 1] = {0};
    int descriptor =
        openat(p->descriptor, CONTROL_TOKEN_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length;

    if (descriptor < 0)
        return error_set_errno(e, ERROR_PERMISSION, errno, "cannot read the agent's token");
    length = read(descriptor, text, 2 * CONTROL_TOKEN_SIZE);
    close(descriptor);
    if (length != 2 * CONTROL_TOKEN_SIZE || !control_parse_token(text, token))
        return error_set(e, ERROR_CORRUPT, "the agent's token is broken");
    return 0;
}

int place_connect(const place *p, int process_id, int *descriptor, error *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t length = sizeof peer;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *descriptor = -1;
    if (made < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot make a socket");
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", p->descriptor,
             CONTROL_SOCKET_NAME);
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0) {
        int number = errno;

        close(made);
        return error_set_errno(e, number == EAGAIN ? ERROR_BUSY : ERROR_NOT_FOUND, number,
                               "cannot connect to the agent in %s", p->path);
    }
    if (getsockopt(made, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != p->user_id ||
        (process_id != 0 && peer.pid != process_id)) {
        close(made);
        return error_set(e, ERROR_PERMISSION,
                         "the socket in %s is not that of process %d but of process %d (user %u)",
                         p->path, process_id, (int)peer.pid, (unsigned)peer.uid);
    }
    *descriptor = made;
    return 0;
}
