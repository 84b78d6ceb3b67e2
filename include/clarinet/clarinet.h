/* The SDK in one include: writing a CLR profiler in C. Start with profiler.h. */
#ifndef CLARINET_CLARINET_H
#define CLARINET_CLARINET_H

#include "clarinet/cil.h"
#include "clarinet/eventpipe.h"
#include "clarinet/hooks.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "clarinet/profiler.h"
#include "clarinet/signatures.h"

#endif
