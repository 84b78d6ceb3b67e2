/*
 * threads_waited: what a look copied of the objects that threads wait for, and what is made of it;
 * shared by threads_waits, threads_locks and threads_async only.
 *
 * Fields are known by their names, so that a runtime with another layout is read all the same; one
 * whose fields have other names gives no owner, never a wrong one. Fields that are 0 are not in
 * the recording.
 *
 * Thread rules: one thread, that which makes the view.
 */
#ifndef CLARINET_ANALYSIS_THREADS_WAITED_H
#define CLARINET_ANALYSIS_THREADS_WAITED_H

#include "analysis/threads.h"
#include "base/table.h"

/* How a thread and an object belong together. */
enum {
    WAITED_FOR = 0,
    WAITED_SELF = 1,
    WAITED_RUNS = 2,
    WAITED_READS = 3,
    WAITED_CLASS = 4,
    WAITED_REFERS = 5,
    WAITED_ENTERED = 6, /* ReaderWriterLock, the old one */
    WAITED_HAS = 7,     /* an object at hand that has a semaphore or a mutex */
};

typedef struct {
    uint64_t object;
    uint64_t value;
    uint32_t name; /* string; 0 = none */
} waited_field;

typedef struct {
    uint64_t object;
    size_t entry;
    uint64_t role;
    uint32_t type; /* string; of a class */
} waited_link;

typedef struct {
    threads_view *view;
    waited_field *fields; /* by object */
    size_t field_count;
    waited_link *links;
    size_t link_count;
    table_u64 types;   /* of objects: string + 1 */
    table_u64 entries; /* OS id to index + 1 */
    bool failed;       /* no memory */
} waited;

/* False when the recording has no such tables: then there is nothing to free. */
bool waited_read(waited *w, threads_view *v, uint64_t look);
void waited_free(waited *w);

/* The first field of an object, or of the next one. */
const waited_field *waited_fields(const waited *w, uint64_t object);
/* The value of a field; 0 = none. */
uint64_t waited_get(const waited *w, uint64_t object, const char *name);
/* The name of its class; "" = not known. */
const char *waited_type(const waited *w, uint64_t object);
bool waited_is_task(const waited *w, uint64_t object);
bool waited_is_done(const waited *w, uint64_t task);
/* The first object that the thread waits for whose class matches the pattern; 0 = none. */
uint64_t waited_find(const waited *w, size_t entry, const char *type);

/* The index of a thread; SIZE_MAX = none. */
size_t waited_by_os_id(const waited *w, uint64_t os_id);
size_t waited_by_managed_id(const waited *w, uint64_t id);
size_t waited_by_native(const waited *w, uint64_t native);
/* The thread that has this part in an object. */
size_t waited_by_role(const waited *w, uint64_t object, uint64_t role);

/* The thread waits for the other; SIZE_MAX = for nobody, and nothing is kept. */
void waited_add_owner(waited *w, size_t entry, size_t owner, bool inferred);
void waited_set_object(waited *w, size_t entry, uint64_t object);

/* threads_locks.c: what threads before locks wait for, and who has them. */
void waited_explain_lock(waited *w, size_t entry);
void waited_explain_reader_writer(waited *w, size_t entry);
/* Locks that keep no owner. After the others: whether somebody waits for the same is known then. */
void waited_explain_ownerless(waited *w);

/* threads_gates.c: who has taken a semaphore or mutex in a field of an object that it has at hand,
 * by the code of its methods. */
void waited_explain_gates(waited *w);

/* threads_async.c: the task that a thread blocks on, and the chain that it stands for. */
void waited_explain_task(waited *w, size_t entry);
/* What an async method awaits, by its object; 0 = nothing, or nothing that is known. */
uint64_t waited_awaited_by(const waited *w, uint64_t task);
/* threads_posted.c: the tasks from the one that the thread waits for to one that lies in its own
 * queue; at most THREADS_STEPS of them. */
bool waited_find_posted(const waited *w, size_t entry, uint64_t task, uint64_t *steps,
                        size_t *count);
/* The same for the queue that an object leads to. */
bool waited_find_in_queue(const waited *w, uint64_t root, uint64_t task, uint64_t *steps,
                          size_t *count);
/* threads_schedulers.c: `last`, which `task` comes down to, or a step before it, waits in a
 * TaskScheduler of the program's own. */
void waited_explain_scheduler(waited *w, size_t entry, uint64_t task, uint64_t last);
/* Who works on the pool for a thread that waits for it, where only its stack tells; after all
 * others: who has the locks is known then. */
void waited_explain_helpers(waited *w);
/* Chains that need the pool are stuck only when no worker is left. */
void waited_judge_pool(threads_view *v);

#endif
