/*
 * assemblies: the bytes of the assemblies that a process has mapped, as its own root shows them.
 * Thread rules: nothing is shared.
 */
#ifndef CLARINET_SESSION_ASSEMBLIES_H
#define CLARINET_SESSION_ASSEMBLIES_H

#include <stdbool.h>
#include <stddef.h>

/* Calls back for each that can be read; `wanted` (NULL: all) chooses by path. */
void assemblies_each(int process_id, bool (*wanted)(const char *path),
                     void (*found)(void *context, const void *bytes, size_t length), void *context);

#endif
