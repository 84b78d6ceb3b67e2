/*
 * journal: the instrumentation agent's log, one file per process or the console.
 *
 * Thread rules: any thread may write at any time; a line is one write, so no lock is needed.
 * Calls before journal_open and after journal_close do nothing; a failed write is dropped.
 */
#ifndef CLARINET_INSTRUMENTATION_JOURNAL_H
#define CLARINET_INSTRUMENTATION_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "rules/configuration.h"
#include "rules/variables.h"

typedef struct {
    _Atomic(bool) is_open;
    _Atomic(intptr_t) file; /* negative = there is none (yet) */
    _Atomic(int) level;     /* as configured */
    _Atomic(bool) console;
    _Atomic(bool) enabled;
    bool is_function; /* an Azure function without the override variable: never below Info */
} journal;

/* Where the log file of this process goes; false when there is no place for one. */
bool journal_append_path(buffer *path, const variables *environment, const char *home,
                         uint32_t process_id, char separator);

/* Opens the file or the console as configured. A folder that can't be made or a file that can't be
 * opened switches logging off, silently. */
void journal_open(journal *j, const configuration *c, const variables *environment,
                  const char *home);
/* Takes over level, console and enabled, also after a reload: a file that is wanted now and was not
 * before is opened. */
void journal_configure(journal *j, const configuration *c, const variables *environment,
                       const char *home);
void journal_close(journal *j);

/* The level after the clamps; journal_is_clamped tells whether one is at work. */
configuration_level journal_level(const journal *j);
bool journal_is_clamped(const journal *j);
/* "Trace", "Debug", "Info ", "Warn ", "Error". */
const char *journal_level_name(configuration_level level);

void journal_write(journal *j, configuration_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
