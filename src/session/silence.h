/*
 * silence: a process that is not heard any more while it is recorded: whether it is waited for no
 * longer, and whose fault it is: its own, or that of this process, which did not come to read.
 * Belongs to the recorder and is used on its thread. Private to src/session.
 */
#ifndef CLARINET_SESSION_SILENCE_H
#define CLARINET_SESSION_SILENCE_H

#include "session/recorder.h"

/* Whether the process is waited for no longer, since its time is over or it is stopped; *e says
 * why. */
bool silence_is_too_long(const recorder *r, peer *p, uint64_t now, error *e);
/* This process was to come back at `expected`, 0 = at no time: remembers it when it was late. */
void silence_note_missed(recorder *r, uint64_t expected, uint64_t now);
/* Of a process that goes on without its connection: *e says why. True when the agent has given up
 * on us, who did not read; else the program has closed it. */
bool silence_tell_closed(const recorder *r, const peer *p, error *e);

#endif
