/* Fuzz target: the event stream of a runtime, in pieces whose size the first byte tells. */
#include "diagnostics/nettrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_event(void *context, const nettrace_event *event)
{
    uint64_t *sum = context;

    /* Touch everything, so that the sanitizers see it. */
    for (size_t i = 0; i < event->payload_length; i++)
        *sum += event->payload[i];
    for (size_t i = 0; i < event->stack_count * 4; i++)
        *sum += event->stack[i];
    for (size_t i = 0; i < 16; i++)
        *sum += event->activity[i] + event->related_activity[i];
    for (size_t i = 0; i < event->metadata->field_count; i++)
        *sum += (uint64_t)event->metadata->fields[i].name[0];
    *sum += (uint64_t)event->metadata->provider[0] + (uint64_t)event->metadata->name[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t sum = 0;
    nettrace_sink sink = {.event = on_event, .context = &sum};
    nettrace *parser = nettrace_create(&sink);
    size_t piece = size == 0 ? 1 : 1 + data[0] * (size_t)16;

    for (size_t at = 1; at < size; at += piece) {
        if (nettrace_feed(parser, data + at, size - at < piece ? size - at : piece, NULL) != 0)
            break;
    }
    nettrace_free(parser);
    return 0;
}
