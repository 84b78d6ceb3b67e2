/*
 * facts: what is known of a process from outside and matters to who judges it: the collector's
 * mode, the limits of its container, its environment. No state; any thread.
 */
#ifndef CLARINET_SESSION_FACTS_H
#define CLARINET_SESSION_FACTS_H

#include "base/buffer.h"

/* Adds INFO records: `host_pid` (as it was given), `start_ticks` (since boot), `gc_mode` (server,
 * workstation), `cpu_limit` (processors), `memory_limit` (bytes), `environment` (NAME=value, one a
 * line; values that may be secret are not there). What is not known is left out. */
void facts_put(buffer *chunk, int process_id);

/* Adds an INFO record `assemblies`: the paths of the .dll files that the process has in its memory
 * now, one a line. An assembly that has no file of its own (in a bundle, made at run time) is not
 * there. */
void facts_put_assemblies(buffer *chunk, int process_id);

/* From the text of a map of memory, each once. */
void facts_append_assemblies(buffer *out, const buffer *maps);
/* Lines of the environment (texts that end with a zero, one after the other), secrets left out. */
void facts_append_environment(buffer *out, const buffer *environment);
/* From the contents of cgroup v2 files: "50000 100000" is 0.5; 0 = no limit. */
double facts_parse_cpu_max(const char *text);

#endif
