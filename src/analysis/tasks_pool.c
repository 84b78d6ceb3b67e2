/*
 * tasks_pool: the thread pool of a snapshot: workers as the pool counts them, and what waits in its
 * queues. A queue is a list of segments, each a ring with its own head and tail.
 */
#include "analysis/tasks_private.h"
#include "base/text.h"

enum { MOST_SEGMENTS = 100000 };

/* Items of the segments from this one on. */
static uint64_t items_of(const heap *h, uint32_t segment)
{
    uint64_t items = 0;

    for (int i = 0; segment != 0 && i < MOST_SEGMENTS; i++) {
        uint32_t head = 0, tail = 0, mask = 0;

        if (tasks_value(h, segment, "_headAndTail.Head", &head) &&
            tasks_value(h, segment, "_headAndTail.Tail", &tail) &&
            tasks_value(h, segment, "_slotsMask", &mask)) {
            int32_t count = (int32_t)(tail - head);

            /* a frozen segment's tail is put forward by twice its length */
            if (count > (int32_t)(mask + 1))
                count -= 2 * (int32_t)(mask + 1);
            items += count > 0 ? (uint64_t)count : 0;
        }
        segment = tasks_target(h, segment, "_nextSegment");
    }
    return items;
}

static uint64_t items_of_queue(const heap *h, uint32_t owner, const char *field)
{
    uint32_t queue = tasks_target(h, owner, field);

    return queue == 0 ? 0 : items_of(h, tasks_target(h, queue, "_head"));
}

static void read_workers(const heap *h, uint32_t node, tasks_pool *pool)
{
    uint32_t low = 0, value = 0;

    if (tasks_value(h, node, "_minThreads", &value))
        pool->minimum = value & 0xffff;
    if (tasks_value(h, node, "_maxThreads", &value))
        pool->maximum = value & 0xffff;
    if (!tasks_value(h, node, "counts._data", &low))
        return;
    pool->working = low & 0xffff;
    pool->existing = low >> 16;
    pool->is_known = true;
}

void tasks_read_pool(const heap *h, tasks_pool *pool)
{
    const model_heap *s = h->snapshot;

    for (size_t i = 0; i < s->valued_count; i++) {
        uint32_t node = s->valued[i].object + 1, head = 0, tail = 0;
        const char *type = tasks_name_of(h, node);

        if (text_equal(type, "System.Threading.PortableThreadPool"))
            read_workers(h, node, pool);
        else if (text_equal(type, "System.Threading.ThreadPoolWorkQueue.WorkStealingQueue") &&
                 tasks_value(h, node, "m_headIndex", &head) &&
                 tasks_value(h, node, "m_tailIndex", &tail) && (int32_t)(tail - head) > 0)
            pool->queued_local += tail - head;
    }
    for (uint32_t node = 1; node < h->nodes; node++) {
        if (!text_equal(tasks_name_of(h, node), "System.Threading.ThreadPoolWorkQueue"))
            continue;
        pool->queued += items_of_queue(h, node, "workItems");
        pool->queued += items_of_queue(h, node, "highPriorityWorkItems");
        break;
    }
}
