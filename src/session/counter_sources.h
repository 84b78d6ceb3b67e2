/*
 * counter_sources: which event sources of a program have counters. Read from the assemblies that a
 * process has mapped, or that lie beside what a command starts, and put behind the names in the
 * profiler's parameter `sources`. Private to src/session. No state; any thread.
 */
#ifndef CLARINET_SESSION_COUNTER_SOURCES_H
#define CLARINET_SESSION_COUNTER_SOURCES_H

#include "catalogue/catalogue.h"

/* *with: a selection of the caller's own (memory_free) with what was found, or NULL when nothing
 * is to be added. An error: too many names, or one too long. */
int counter_sources_of_process(const catalogue_selection *s, int process_id,
                               catalogue_selection **with, error *e);
int counter_sources_of_command(const catalogue_selection *s, char *const *command,
                               catalogue_selection **with, error *e);

#endif
