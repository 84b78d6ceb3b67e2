/*
 * threads_queues: locks that several threads stand before. A lock whose owner has ended is never
 * given back; a queue before an owner that works is a convoy. Owners that wait in turn are told by
 * the wait graph and not here.
 */
#include <string.h>

#include "analysis/threads.h"

enum { CONVOY = 4 }; /* waiters that make one */

static bool is_of_lock(threads_state state)
{
    return state == THREADS_MONITOR || state == THREADS_LOCK || state == THREADS_READER_WRITER;
}

bool threads_waits_for_ended(const threads_view *v, const threads_entry *t)
{
    return is_of_lock(t->state) && t->object != 0 &&
           (t->owner_ended ||
            (t->owner != 0 && !t->owner_inferred && threads_by_id(v, t->owner) == NULL));
}

static bool is_working(const threads_view *v, const threads_entry *owner)
{
    size_t entry = (size_t)(owner - v->entries);

    for (size_t i = 0; i < v->edge_count; i++)
        if (v->edges[i].from == entry)
            return false;
    return true;
}

static threads_queue *queue_of(threads_queues *q, const threads_entry *t)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->items[i].object == t->object && q->items[i].owner == t->owner)
            return &q->items[i];
    if (q->count == THREADS_QUEUES)
        return NULL;
    q->items[q->count] =
        (threads_queue){.object = t->object, .type = t->object_type, .owner = t->owner, .first = t};
    return &q->items[q->count++];
}

void threads_find_queues(const threads_view *v, threads_queues *q)
{
    size_t kept = 0;

    memset(q, 0, sizeof *q);
    for (size_t i = 0; i < v->count; i++) {
        const threads_entry *t = &v->entries[i];
        threads_queue *queue = NULL;

        if (is_of_lock(t->state) && t->object != 0 &&
            (t->owner_ended || (t->owner != 0 && !t->owner_inferred)))
            queue = queue_of(q, t);
        if (queue != NULL)
            queue->waiters++;
    }
    for (size_t i = 0; i < q->count; i++) {
        const threads_entry *owner = threads_by_id(v, q->items[i].owner);

        q->items[i].is_abandoned = owner == NULL;
        if (owner == NULL || (q->items[i].waiters >= CONVOY && is_working(v, owner)))
            q->items[kept++] = q->items[i];
    }
    q->count = kept;
}
