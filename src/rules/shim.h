/*
 * shim: has a library the method that is told of calls? Found out from its file, because in the
 * program a failure is swallowed: nobody would ever hear of it. Pure; the bytes may be hostile.
 */
#ifndef CLARINET_RULES_SHIM_H
#define CLARINET_RULES_SHIM_H

#include <stddef.h>

#include "base/error.h"

extern const char SHIM_TYPE[];   /* the managed agent's class */
extern const char SHIM_METHOD[]; /* its method */

/* 0 when calls can be told to class `type` (NULL = the managed agent's) of this library; else an
 * error whose message says what is wrong. */
int shim_check(const void *bytes, size_t length, const char *type, error *e);

/* Calls `each` with the name of every assembly that the library refers to and that does not come
 * with the runtime. */
void shim_each_need(const void *bytes, size_t length, void (*each)(void *context, const char *name),
                    void *context);

#endif
