/* admission: see admission.h. */
#include "session/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* For the files that are looked into while processes are recorded. */
enum { SPARE_DESCRIPTORS = 8 };

void admission_reserve(recorder *r)
{
    r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void admission_release(recorder *r)
{
    if (r->spare >= 0)
        close(r->spare);
    r->spare = -1;
}

/* A descriptor has the lowest free number: a high one says that few are left. */
static bool has_room(const recorder *r, int descriptor)
{
    struct rlimit limit;

    return r->peer_count < RECORDER_MAX_LINKS && r->admitted < RECORDING_MAXIMUM_PROCESSES &&
           (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
            (rlim_t)descriptor + SPARE_DESCRIPTORS < limit.rlim_cur);
}

/* The process is told at once, by the end of its connection, and goes on without us. */
static void turn_away(recorder *r, int descriptor, int process_id)
{
    r->result->total.not_recorded++;
    if (process_id != 0)
        admission_remember(r, process_id);
    close(descriptor);
}

/* No descriptor is left even to refuse with: the spare one is. */
static bool turn_away_with_spare(recorder *r)
{
    int descriptor;

    if (r->spare < 0)
        return false;
    admission_release(r);
    descriptor = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0)
        turn_away(r, descriptor, 0);
    admission_reserve(r);
    return descriptor >= 0;
}

/* False when nobody waits. */
static bool accept_peer(recorder *r)
{
    int descriptor = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred who;
    socklen_t length = sizeof who;
    session_link link;
    char word;

    if (descriptor < 0)
        return (errno == EMFILE || errno == ENFILE) && turn_away_with_spare(r);
    /* Who has gone again without a word takes nobody's place. */
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 ||
        (who.uid != geteuid() && geteuid() != 0) ||
        recv(descriptor, &word, sizeof word, MSG_PEEK | MSG_DONTWAIT) == 0) {
        close(descriptor);
    } else if (!has_room(r, descriptor)) {
        turn_away(r, descriptor, (int)who.pid);
    } else {
        link_init(&link, descriptor);
        if (recorder_add(r, link, false, (int)who.pid) == NULL)
            r->result->total.not_recorded++;
    }
    return true;
}

void admission_take_all(recorder *r)
{
    while (accept_peer(r)) {
    }
}

void admission_remember(recorder *r, int process_id)
{
    buffer_append(&r->known, &process_id, sizeof process_id);
}

bool admission_knows(const recorder *r, int process_id)
{
    int one;

    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i]->process_id == process_id)
            return true;
    for (size_t at = 0; at < r->known.length; at += sizeof one) {
        memcpy(&one, r->known.data + at, sizeof one);
        if (one == process_id)
            return true;
    }
    return false;
}
