/* pauses: see pauses.h. */
#include "analysis/pauses.h"

#include <string.h>

const char *pauses_reason_name(uint64_t reason)
{
    static const char *const REASONS[] = {
        "other",
        "garbage collection",
        "end of an application domain",
        "code pitching",
        "shutdown",
        "other",
        "debugger",
        "preparing a garbage collection",
        "recompilation for a profiler",
        "profiler",
    };

    return reason < sizeof REASONS / sizeof *REASONS ? REASONS[reason] : "other";
}

int pauses_summarise(const model *m, const model_process *process, const model_table *table,
                     pauses *result, error *e)
{
    const model_column *stack = groups_column(m, table, "stack", RECORDING_STACK_ID);
    const model_column *weight = groups_column(m, table, "weight", RECORDING_DURATION);
    const model_column *suspending = groups_column(m, table, "suspending", RECORDING_DURATION);
    const model_column *reason = groups_column(m, table, "reason", RECORDING_U64);
    const model_column *last = groups_column(m, table, "last_thread", RECORDING_THREAD_ID);
    bool done = true;

    memset(result, 0, sizeof *result);
    result->watched_ns = groups_time_watched(m, process, "pauses");
    for (size_t i = 0; i < table->rows && done; i++) {
        uint64_t length = groups_cell(weight, i, 0);
        uint64_t stopping = groups_cell(suspending, i, 0);
        uint32_t thread = (uint32_t)groups_cell(last, i, 0);

        done = groups_spread_add(&result->lengths, length) &&
               groups_spread_add(&result->suspending, stopping) &&
               groups_add(&result->reasons, (uint32_t)groups_cell(reason, i, 0), 0, 0, 1, length);
        if (done && thread != 0)
            done = groups_add(&result->slow, (uint32_t)groups_cell(stack, i, 0), thread, 0, 1,
                              stopping);
    }
    if (!done) {
        pauses_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to count the pauses");
    }
    groups_spread_sort(&result->lengths);
    groups_spread_sort(&result->suspending);
    groups_sort(&result->reasons);
    groups_sort(&result->slow);
    return 0;
}

void pauses_free(pauses *result)
{
    groups_free(&result->reasons);
    groups_free(&result->slow);
    groups_spread_free(&result->lengths);
    groups_spread_free(&result->suspending);
    memset(result, 0, sizeof *result);
}
