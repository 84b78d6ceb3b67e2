/*
 * threads_show: a look at the threads in words, as JSON or as a page on standard output: cycles
 * first, then what else is wrong, then the threads, those at the same place as one.
 */
#ifndef CLARINET_CLI_THREADS_SHOW_H
#define CLARINET_CLI_THREADS_SHOW_H

#include <stdio.h>

#include "analysis/threads.h"
#include "analysis/zombies.h"
#include "report/json.h"

typedef enum {
    THREADS_SHOW_WORDS,
    THREADS_SHOW_JSON,
    THREADS_SHOW_MARKDOWN,
    THREADS_SHOW_HTML
} threads_show_format;

typedef struct {
    const char *filter; /* of names and methods; NULL = all */
    uint64_t thread;    /* OS id; 0 = all */
    threads_show_format format;
    bool flat;                /* one entry for each thread */
    bool wants_more;          /* than one look from outside can have: -d or --heap */
    const zombies *zombies;   /* of all looks; NULL = not asked for */
    const threads_heap *heap; /* NULL = no snapshot was taken */
} threads_show_options;

void threads_show(const threads_view *view, const threads_show_options *options);
/* Is there a thread that the options ask for? */
bool threads_show_has_match(const threads_view *view, const threads_show_options *options);
/* The method of the program's own where workers block, or what is known instead. */
const char *threads_show_site(const threads_view *view, const threads_site *site, char *text,
                              size_t size);
/* Members of an object: the workers of the thread pool, and where they block. */
void threads_show_pool(json *j, const threads_view *view);
/* One line a frame, from the leaf up. */
void threads_show_stack(FILE *out, const threads_view *view, uint32_t stack);
/* The array `frames`. */
void threads_show_frames(json *j, const threads_view *view, uint32_t stack);
/* zombies_show.c: in words, and the arrays and numbers of an object. */
void threads_show_zombies(FILE *out, const threads_view *view, const threads_show_options *o);
void threads_show_zombies_json(json *j, const threads_view *view, const threads_show_options *o);

#endif
