/*
 * program: runs somebody's program as our child and stays out of its way: its streams are ours,
 * signals sent to us reach it, and its end (exit code or signal) becomes ours.
 */
#ifndef CLARINET_CLI_PROGRAM_H
#define CLARINET_CLI_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

typedef struct {
    pid_t process_id;
    bool ended;
    int status; /* as waitpid gives it, once ended */
} program;

/* Where a command is found on PATH; false when it is not there. */
bool program_resolve(const char *command, char *path, size_t room);

/* Starts argv (closed by NULL) with `variables` ("NAME=value", closed by NULL) added to our
 * environment, and those named in `removed` (closed by NULL, or NULL) taken out. */
int program_start(program *p, char *const *argv, const char *const *variables,
                  const char *const *removed, error *e);
/* Waits at most timeout_ms (-1: until the end). True when the program has ended. */
bool program_wait(program *p, int timeout_ms);
/* What our own exit must be: the exit code, or the same signal, which ends us here. */
int program_finish(const program *p);

#endif
