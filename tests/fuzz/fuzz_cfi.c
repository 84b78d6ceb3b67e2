/* Fuzz target: a loaded ELF image of hostile bytes, its unwind table, and shapes of its code. */
#include <stddef.h>
#include <stdint.h>

#include "stackwalk/cfi.h"
#include "stackwalk/image.h"
#include "stackwalk/regions.h"
#include "stackwalk/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    peek_copy copy = {0x10000, data, size};
    peek memory = {peek_copy_read, &copy};
    stackwalk_rule rule;
    regions map;
    image im;
    cfi c;

    if (image_open(&im, &memory, copy.address) && cfi_open(&c, &memory, im.eh_header)) {
        for (uint64_t at = 0; at < size && at < 4096; at++)
            cfi_find_rule(&c, copy.address + at, &rule);
        cfi_close(&c);
    }
    if (cfi_open(&c, &memory, copy.address)) {
        for (uint64_t at = 0; at < size && at < 512; at++)
            cfi_find_rule(&c, copy.address + at, &rule);
        cfi_close(&c);
    }
    if (regions_parse(&map, (const char *)data, size))
        regions_free(&map);
    if (size > 40) {
        shape s = shape_of(data, size);

        shape_rule_in_prologue(data, size, data[0] % size);
        shape_find_return(&s, data, size);
        shape_rule_of_leaf(&s, data, 8, 40, data[1], data[2]);
    }
    return 0;
}
