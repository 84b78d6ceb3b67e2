/*
 * threads_locks: who can end the wait of a thread before a Lock, a ReaderWriterLockSlim, a
 * semaphore or a Mutex.
 *
 * Only the first two keep their owner. Of the others it is inferred, and so are the cycles through
 * them.
 */
#include "analysis/threads_waited.h"
#include "base/text.h"

enum {
    NO_OWNER = 0xffffffff,   /* of a reader-writer lock */
    MOST_READER_COUNTS = 64, /* of one thread */
    OLD_WRITER = 0x1000,     /* of the state of an old one: somebody writes */
    FINALIZERS_ID = 2,
};

/* The first one that it has at hand and does not hold: its own would be given to it again. */
static uint64_t find_lock(const waited *w, size_t entry)
{
    for (size_t i = 0; i < w->link_count; i++) {
        uint64_t object = w->links[i].object;

        if (w->links[i].entry == entry && w->links[i].role == WAITED_FOR &&
            text_equal(waited_type(w, object), "System.Threading.Lock") &&
            waited_get(w, object, "_owningThreadId") != w->view->entries[entry].os_id)
            return object;
    }
    return 0;
}

void waited_explain_lock(waited *w, size_t entry)
{
    threads_entry *t = &w->view->entries[entry];
    uint64_t lock = find_lock(w, entry);
    uint64_t owner = waited_get(w, lock, "_owningThreadId");

    if (lock == 0)
        return;
    waited_set_object(w, entry, lock);
    if ((waited_get(w, lock, "_state") & 1) == 0 || owner == 0)
        return;
    waited_add_owner(w, entry, waited_by_os_id(w, owner), false);
    t->owner = owner; /* also one that is gone */
}

/* Its own reading, under the upgradeable lock, holds nobody up. */
static void wait_for_readers(waited *w, size_t entry, uint64_t lock, bool is_old)
{
    uint64_t id = waited_get(w, lock, "_lockID");

    for (size_t i = 0; i < w->link_count; i++) {
        uint64_t count = w->links[i].object;

        if (w->links[i].role != (is_old ? WAITED_ENTERED : WAITED_READS))
            continue;
        for (int k = 0; k < MOST_READER_COUNTS && count != 0;
             k++, count = waited_get(w, count, is_old ? "_next" : "next"))
            if (waited_get(w, count, is_old ? "_lockID" : "lockID") == id &&
                waited_get(w, count, is_old ? "_readerLevel" : "readercount") != 0)
                waited_add_owner(w, entry, w->links[i].entry, false);
    }
}

/* No managed thread has this number, as each of them has told its own. The finalizer's does not on
 * 8.0: it is the second thread of every runtime. The runtime's own take no such locks. */
static bool is_id_of_nobody(const threads_view *v, uint64_t id)
{
    for (size_t i = 0; i < v->count; i++) {
        const threads_entry *t = &v->entries[i];
        const char *role = threads_role(v, t);

        if (t->managed_id == id)
            return false;
        if (t->native != 0 && t->managed_id == 0 && !text_equal(role, "runtime") &&
            (!text_equal(role, "finalizer") || id == FINALIZERS_ID))
            return false;
    }
    return true;
}

static bool is_writer(const threads_view *v, const threads_entry *t)
{
    return threads_stack_has(v, t->stack, "*ReaderWriterLockSlim.TryEnterWriteLock*") ||
           threads_stack_has(v, t->stack, "System.Threading.ReaderWriterLock.AcquireWriterLock*");
}

/* The old one, which keeps who writes, and whose readers have it in a list of their own. */
static void explain_old(waited *w, size_t entry)
{
    uint64_t lock = waited_find(w, entry, "System.Threading.ReaderWriterLock");
    uint64_t writer = waited_get(w, lock, "_writerID");

    if (lock == 0)
        return;
    waited_set_object(w, entry, lock);
    if ((waited_get(w, lock, "_state") & OLD_WRITER) != 0) {
        if (writer == 0 || writer == NO_OWNER)
            return; /* it is just coming or going */
        waited_add_owner(w, entry, waited_by_managed_id(w, writer), false);
        w->view->entries[entry].owner_ended = is_id_of_nobody(w->view, writer);
    } else if (is_writer(w->view, &w->view->entries[entry])) {
        wait_for_readers(w, entry, lock, true);
    }
}

void waited_explain_reader_writer(waited *w, size_t entry)
{
    const threads_entry *t = &w->view->entries[entry];
    uint64_t lock = waited_find(w, entry, "System.Threading.ReaderWriterLockSlim");
    uint64_t writer = waited_get(w, lock, "_writeLockOwnerId");
    uint64_t upgrader = waited_get(w, lock, "_upgradeLockOwnerId");
    bool writes = is_writer(w->view, t);
    bool upgrades =
        threads_stack_has(w->view, t->stack, "*ReaderWriterLockSlim.TryEnterUpgradeable*");

    if (lock == 0) {
        explain_old(w, entry);
        return;
    }
    waited_set_object(w, entry, lock);
    if (writer != NO_OWNER && writer != 0) {
        waited_add_owner(w, entry, waited_by_managed_id(w, writer), false);
        w->view->entries[entry].owner_ended = is_id_of_nobody(w->view, writer);
    }
    if ((writes || upgrades) && upgrader != NO_OWNER)
        waited_add_owner(w, entry, waited_by_managed_id(w, upgrader), false);
    if (writes)
        wait_for_readers(w, entry, lock, false);
}

/* No owner is kept: whoever has it at hand, is blocked elsewhere, and does not wait for it. */
static void wait_for_ownerless(waited *w, size_t entry, uint64_t object)
{
    for (size_t i = 0; i < w->link_count; i++) {
        size_t other = w->links[i].entry;

        if (w->links[i].object == object && w->links[i].role == WAITED_REFERS && other != entry &&
            w->view->entries[other].object != object)
            waited_add_owner(w, entry, other, true);
    }
}

/* A reader before a lock that nobody writes under is held up by those who wait to write. They do
 * not own it. */
static void wait_for_writers(waited *w, size_t entry)
{
    const threads_view *v = w->view;
    uint64_t lock = v->entries[entry].object;

    for (size_t i = 0; i < v->count; i++)
        if (v->entries[i].state == THREADS_READER_WRITER && v->entries[i].object == lock &&
            is_writer(v, &v->entries[i]) && i != entry)
            w->failed = !threads_add_edge(w->view, entry, i, false) || w->failed;
}

void waited_explain_ownerless(waited *w)
{
    for (size_t i = 0; i < w->view->count; i++) {
        const threads_entry *t = &w->view->entries[i];

        if ((t->state == THREADS_SEMAPHORE || t->state == THREADS_MUTEX) && t->object != 0)
            wait_for_ownerless(w, i, t->object);
        else if (t->state == THREADS_READER_WRITER && t->object != 0 && t->owner == 0 &&
                 !t->owner_ended && !is_writer(w->view, t))
            wait_for_writers(w, i);
    }
}
