/*
 * give_way: the tool's own place among all who want a processor, while it records. No state; of the
 * calling thread. Private to src/session.
 */
#ifndef CLARINET_SESSION_GIVE_WAY_H
#define CLARINET_SESSION_GIVE_WAY_H

#include "session/session.h"

/* What the program wants to do comes first, before the names of its code are looked up, which is
 * most of our work. Samples are few and can wait; of other records there may be so many that they
 * would be lost, and while the heap is read the program stands still: then nothing changes, nor
 * when somebody watches. */
void give_way_to_program(const session_options *options);

#endif
