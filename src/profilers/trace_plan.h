/*
 * trace_plan: which values of a method's calls are taken, and where they lie.
 *
 * A path is a parameter (its name, argN, this or result) and fields after dots: customer.Name.
 * Fields are found by trace_shape, base classes included; a property stands for the field behind
 * it. Their places are asked of the runtime once, when the method gets its probes or when a probe
 * meets an object of a new class, so that a probe only adds offsets.
 *
 * A plan is made on a thread of the target, inside of GetReJITParameters. It is never freed: code
 * that was compiled with its captures' addresses may run at any later time. The same plan made
 * again is the one that is there.
 */
#ifndef CLARINET_PROFILERS_TRACE_PLAN_H
#define CLARINET_PROFILERS_TRACE_PLAN_H

#include "base/buffer.h"
#include "cil/signature.h"
#include "clarinet/calls.h"
#include "profilers/trace_shape.h"

enum {
    TRACE_PATHS = 32,                   /* of a session */
    TRACE_ARGUMENTS = 64,               /* of a method that are shown */
    TRACE_FIRST_PATH = TRACE_ARGUMENTS, /* the number of a session's first path */
    TRACE_PATH_RESULT = -1,             /* captures' variables */
    TRACE_NO_RESULT = 0xFFFF,
    TRACE_CAPTURES = TRACE_PATHS + TRACE_ARGUMENTS + 1,
};

typedef struct trace_capture {
    uint8_t number; /* as in the values: parameter, TRACE_FIRST_PATH + path, or TRACE_RESULT */
    bool secret;
    bool by_ref;      /* the variable holds the value's address */
    int32_t variable; /* argument number, `this` included; TRACE_PATH_RESULT */
    cil_type type;    /* of a type parameter: which one */
    trace_shape shape;
    char label[64]; /* as the person wrote it, or the parameter's name */
} trace_capture;

typedef struct trace_plan {
    struct trace_plan *before; /* of the same method */
    uint32_t count;
    trace_capture captures[];
} trace_plan;

/* What a session wants of every method. */
typedef struct {
    bool arguments; /* all of them, and the result */
    const char *paths[TRACE_PATHS];
    bool shown[TRACE_PATHS]; /* else only for the condition or the log line */
    uint32_t path_count;
    const char *redact; /* more words that make a name secret, apart by commas; "" = none */
} trace_wish;

/* The plan of a method; NULL without memory. `result` is the node of its result in the signature
 * (that of an async method is what its task will have), TRACE_NO_RESULT when it has none; `plans`
 * is the method's list. */
const trace_plan *trace_plan_make(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                                  mdMethodDef method, const cil_signature *signature,
                                  uint32_t result, const trace_wish *wish, trace_plan **plans);

/* The number of a path of the session, put in when it is new; -1 when there is no room. */
int trace_wish_path(trace_wish *wish, const char *path, size_t length, bool shown);

#endif
