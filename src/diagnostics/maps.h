/*
 * maps: what a process's memory map tells: whether a CLR is in it, of which version, and which
 * profiler libraries are loaded. The text comes from /proc and holds paths somebody else chose.
 */
#ifndef CLARINET_DIAGNOSTICS_MAPS_H
#define CLARINET_DIAGNOSTICS_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

typedef struct {
    bool has_coreclr;
    char coreclr_path[512]; /* as the process sees it, "" when none or too long */
    char version[32];       /* from the path; "" when it does not say (self-contained programs) */
    char agent[64];         /* file name of our own agent; it may be mapped and have gone idle */
} maps_findings;

/* Looks through the text of a maps file. Appends the file names of other profiler libraries to
 * *profilers, separated by ", " (NULL: not wanted); `configured` is the path of a profiler that the
 * environment names, or NULL. */
void maps_scan(const buffer *maps, const char *configured, maps_findings *findings,
               buffer *profilers);

/* Calls back for each .dll file that is mapped, once. The path has no zero at its end. */
void maps_each_assembly(const buffer *maps,
                        void (*found)(void *context, const char *path, size_t length),
                        void *context);

/* The version in …/Microsoft.NETCore.App/9.0.22/libcoreclr.so; false when there is none. */
bool maps_version_of_path(const char *path, char *version, size_t room);
/* The version in the text "@(#)Version 8.0.3326.52219 " that every libcoreclr.so holds: 8.0.33. */
bool maps_version_of_module(const void *bytes, size_t length, char *version, size_t room);

#endif
