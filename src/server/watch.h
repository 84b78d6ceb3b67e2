/*
 * watch: looks at certain processes by itself: a session now and then, and at once when a trigger
 * gives reason; what is done is handed on where that is wanted. The sessions are those of the
 * server, with the tag `watch`, or `trigger` and its name; the server's limits remove the oldest.
 *
 * Two threads: one watches, one pushes (a receiver that does not answer must not keep the first).
 * Thread rules: open and close on the server's thread; watch_count on any.
 */
#ifndef CLARINET_SERVER_WATCH_H
#define CLARINET_SERVER_WATCH_H

#include "report/http_post.h"
#include "server/sessions.h"
#include "server/watch_rules.h"

typedef struct {
    const char *name;   /* PID or name, * and ? understood; NULL = nobody is watched */
    uint64_t every_ns;  /* 0 = by triggers only */
    uint64_t length_ns; /* of a session */
    watch_rules rules;
    bool pushes_pprof, pushes_otlp, pushes_profiles;
    http_address pprof, otlp, profiles;
} watch_options;

typedef enum {
    WATCH_REGULAR,
    WATCH_TRIGGERED,
    WATCH_PUSHED,
    WATCH_NOT_PUSHED,
    WATCH_COUNTS
} watch_what;

typedef struct watch watch;

/* The options must stay. */
int watch_open(const watch_options *options, sessions *kept, const char *program, watch **out,
               error *e);
/* How often that happened so far. */
uint64_t watch_count(const watch *w, watch_what what);
void watch_close(watch *w);

#endif
