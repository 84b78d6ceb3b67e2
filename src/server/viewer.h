/*
 * viewer: speedscope, the second viewer, out of the program itself: a page of its own with a policy
 * of its own, which may ask this server only. Thread rules: any thread.
 */
#ifndef CLARINET_SERVER_VIEWER_H
#define CLARINET_SERVER_VIEWER_H

#include "server/wire.h"

/* Whether this build has it. */
bool viewer_is_here(void);
/* `name`: a file below /speedscope/; "" is the page. A 404 when there is none. */
void viewer_answer(const char *name, reply *out);

#endif
