/*
 * admission: the recorder's door, where the processes of a command come. Who has room is added; who
 * has none is turned away at once, so that it goes on without us, and is counted. Belongs to the
 * recorder and is used on its thread. Private to src/session.
 */
#ifndef CLARINET_SESSION_ADMISSION_H
#define CLARINET_SESSION_ADMISSION_H

#include "session/recorder.h"

/* Keeps a descriptor for the time when there is no other to turn somebody away with. */
void admission_reserve(recorder *r);
void admission_release(recorder *r);
/* Takes or turns away everybody who waits at r->listener. */
void admission_take_all(recorder *r);
/* The process has ended, and is no peer any more. */
void admission_remember(recorder *r, int process_id);
/* Whether the process has connected, whatever became of it. */
bool admission_knows(const recorder *r, int process_id);

#endif
