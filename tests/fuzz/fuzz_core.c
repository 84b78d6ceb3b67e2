/* Fuzz target: a core dump of hostile bytes: what was parsed can be read and mapped. */
#include <stddef.h>
#include <stdint.h>

#include "diagnostics/core_file.h"
#include "stackwalk/regions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buffer map = BUFFER_EMPTY;
    uint8_t bytes[64];
    core_file c;
    regions r;
    error e;

    error_clear(&e);
    if (core_file_parse(&c, data, size, &e) != 0)
        return 0;
    for (size_t i = 0; i < c.segment_count && i < 64; i++) {
        const core_segment *s = &c.segments[i];

        core_file_read(&c, s->address, bytes, sizeof bytes);
        core_file_read(&c, s->address + s->size - 8, bytes, sizeof bytes);
        core_file_mapping(&c, s->address);
    }
    core_file_read(&c, UINT64_MAX - 8, bytes, sizeof bytes);
    core_file_append_map(&c, &map);
    if (!buffer_failed(&map) && regions_parse(&r, (const char *)map.data, map.length))
        regions_free(&r);
    buffer_free(&map);
    core_file_free(&c);
    return 0;
}
