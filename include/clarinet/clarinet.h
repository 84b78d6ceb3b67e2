/* The SDK in one include: writing a CLR profiler in C. Start with profiler.h. */
#ifndef CLARINET_CLARINET_H
#define CLARINET_CLARINET_H

#include "clarinet/eventpipe.h"
#include "clarinet/hooks.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "clarinet/profiler.h"

#endif
