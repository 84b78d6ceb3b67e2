/* give_way: see give_way.h. */
#include "session/give_way.h"

#include <sys/resource.h>

#include "base/os.h"
#include "base/text.h"

enum { LATER_NICE = 5 }; /* more: on a full machine the agent would wait for us in vain */

void give_way_to_program(const session_options *options)
{
    const catalogue_selection *selection = options->selection;
    id_t self = (id_t)os_thread_id();

    if (options->enough != NULL)
        return; /* somebody watches */
    for (size_t i = 0; i < selection->count; i++)
        if (!text_equal(selection->items[i].profiler->name, "cpu") &&
            !text_equal(selection->items[i].profiler->name, "wall"))
            return;
    setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + LATER_NICE);
}
