/*
 * error: how a failure travels up to the command line.
 *
 * A function that can fail returns 0 or a negative error_code and fills an `error` that its caller
 * owns: the code, a message with the facts, and what the person should do next. Libraries never
 * print; only src/cli does. Passing NULL for the error is allowed: then only the code is returned.
 */
#ifndef CLARINET_BASE_ERROR_H
#define CLARINET_BASE_ERROR_H

/* One list makes the enum and the names. */
#define ERROR_LIST(X)                                                                              \
    X(ERROR_MEMORY, -1, "out of memory")                                                           \
    X(ERROR_USAGE, -2, "wrong usage")                                                              \
    X(ERROR_NOT_FOUND, -3, "not found")                                                            \
    X(ERROR_PERMISSION, -4, "no permission")                                                       \
    X(ERROR_IO, -5, "input or output failed")                                                      \
    X(ERROR_CORRUPT, -6, "corrupt data")                                                           \
    X(ERROR_UNSUPPORTED, -7, "not supported")                                                      \
    X(ERROR_BUSY, -8, "busy")                                                                      \
    X(ERROR_TIMEOUT, -9, "timed out")                                                              \
    X(ERROR_GONE, -10, "the process has ended")                                                    \
    X(ERROR_RUNTIME, -11, "the .NET runtime refused")                                              \
    X(ERROR_LIMIT, -12, "a limit was reached")                                                     \
    X(ERROR_CANCELLED, -13, "cancelled")                                                           \
    X(ERROR_BUG, -99, "internal error")

typedef enum {
#define X(name, value, text) name = value,
    ERROR_LIST(X)
#undef X
} error_code;

typedef struct {
    int code;          /* 0 or an error_code */
    char message[512]; /* one sentence with the facts, no full stop, UTF-8 */
    char advice[384];  /* what to do next, or empty */
} error;

/* Clears *e; NULL is allowed. */
void error_clear(error *e);

/* Fills *e and returns code, so that `return error_set(e, ERROR_IO, …)` reads naturally. */
int error_set(error *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As error_set, and appends the text of the errno value `number`. */
int error_set_errno(error *e, int code, int number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds what to do next; returns e's code. */
int error_advise(error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "text: " in front of the message; returns e's code. */
int error_prefix(error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failure is never 0; the static analyser does not see that by itself. */
#ifdef __clang_analyzer__
#define error_set(...)       (error_set(__VA_ARGS__) ?: -1)
#define error_set_errno(...) (error_set_errno(__VA_ARGS__) ?: -1)
#define error_advise(...)    (error_advise(__VA_ARGS__) ?: -1)
#define error_prefix(...)    (error_prefix(__VA_ARGS__) ?: -1)
#endif

/* The general text of a code; never NULL. */
const char *error_name(int code);

#endif
