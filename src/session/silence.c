/* silence: see silence.h. */
#include "session/silence.h"

#include "diagnostics/procfs.h"

enum { STOPPED_MS = 2000 }; /* of a process that is stopped and is to answer */
/* So long the agent waits for nobody who does not read (5 s, less what was under way); and so soon
 * after it we find the connection closed. */
#define MISSED_NS        UINT64_C(4000000000)
#define MISSED_LATELY_NS UINT64_C(10000000000)

/* Whether the process is to answer and has been stopped, at every look, for too long: it will not
 * answer before somebody lets it go on. */
static bool stands_still(peer *p, uint64_t now)
{
    procfs_stat stat;

    if (p->process_id == 0 || p->phase < PEER_GREETING || p->phase == PEER_RECORDING ||
        p->phase > PEER_STOPPING || !procfs_read_stat(p->process_id, &stat) ||
        (stat.state != 'T' && stat.state != 't')) {
        p->stopped_ns = 0;
        return false;
    }
    if (p->stopped_ns == 0)
        p->stopped_ns = now;
    return now - p->stopped_ns >= (uint64_t)STOPPED_MS * 1000000;
}

bool silence_is_too_long(const recorder *r, peer *p, uint64_t now, error *e)
{
    if (stands_still(p, now)) {
        error_set(e, ERROR_TIMEOUT, "process %d is stopped", p->process_id);
        error_advise(e, "`kill -CONT %d` continues it%s", p->process_id,
                     p->phase == PEER_STOPPING ? "; what came until then is recorded" : "");
        return true;
    }
    if ((p->phase == PEER_RECORDING && r->options->enough == NULL) || p->phase == PEER_DONE ||
        now < p->deadline_ns)
        return false;
    error_set(e, ERROR_TIMEOUT,
              "the agent in process %d does not answer: it waits for the runtime to stand still, "
              "or the process is stopped",
              p->process_id);
    error_advise(e, "is it stopped or hung? `kill -CONT %d` continues a stopped process",
                 p->process_id);
    return true;
}

void silence_note_missed(recorder *r, uint64_t expected, uint64_t now)
{
    if (expected == 0 || now < expected + MISSED_NS)
        return;
    r->missed_ns = now - expected;
    r->missed_until_ns = now;
}

bool silence_tell_closed(const recorder *r, const peer *p, error *e)
{
    bool gave_up = r->missed_ns != 0 && p->gone_ns < r->missed_until_ns + MISSED_LATELY_NS;
    const char *kept = r->options->short_lived ? "" : "what came until then is recorded; ";

    if (gave_up) {
        error_set(e, ERROR_GONE,
                  "this command stood still for %.0f s, and the agent in process %d did not wait "
                  "for it any longer",
                  (double)r->missed_ns / 1e9, p->process_id);
        error_advise(e, "%sthe program goes on: try again, and leave the command running", kept);
    } else {
        error_set(e, ERROR_GONE, "process %d has closed the connection of the agent in it",
                  p->process_id);
        error_advise(e,
                     "%sif the program closes descriptors that it did not open, record it after "
                     "that, by its PID",
                     kept);
    }
    return gave_up;
}
