/*
 * Fuzz target: any bytes as a recording, loaded and reported in every format.
 *
 * A changed byte would nearly always be caught by a chunk's check and nothing behind it would be
 * tried, so the checks are made right again first, unless the input has an odd length.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/heap.h"
#include "analysis/heap_growth.h"
#include "report/diff.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void repair_checks(uint8_t *bytes, size_t length)
{
    size_t at = RECORDING_HEADER_SIZE;

    while (length - at >= RECORDING_CHUNK_HEADER_SIZE && at <= length) {
        uint32_t payload = (uint32_t)bytes[at + 8] | (uint32_t)bytes[at + 9] << 8 |
                           (uint32_t)bytes[at + 10] << 16 | (uint32_t)bytes[at + 11] << 24;
        uint32_t check;

        if (payload > length - at - RECORDING_CHUNK_HEADER_SIZE)
            return;
        check = recording_crc32(recording_crc32(0, bytes + at, 12), bytes + at + 16, payload);
        for (size_t i = 0; i < 4; i++)
            bytes[at + 12 + i] = (uint8_t)(check >> 8 * i);
        at += RECORDING_CHUNK_HEADER_SIZE + payload;
    }
}

static void report_all(const model *m, int nowhere)
{
    report_options options = {.no_source = true};

    for (const report_format *format = REPORT_FORMATS; format->name != NULL; format++) {
        error e = {0};
        sink out;

        options.threads = !options.threads;
        sink_init(&out, nowhere);
        report_write(m, format, &options, &out, &e);
        sink_free(&out);
    }
}

static void compare_with_itself(const model *m, int nowhere)
{
    report_options options = {0};
    difference d;
    error e = {0};

    if (diff_build(m, "a", m, "b", &options, true, &d, &e) == 0) {
        for (const diff_format *format = DIFF_FORMATS; format->name != NULL; format++) {
            sink out;

            sink_init(&out, nowhere);
            format->write(&d, &options, &out, &e);
            sink_free(&out);
        }
    }
    difference_free(&d);
}

/* A snapshot that is the earlier and the later one. */
static void find_growth(const model *m)
{
    heap_growth growth = {0};
    buffer way = BUFFER_EMPTY;
    error e = {0};
    heap h;

    if (heap_find(m) == NULL || heap_build(m, heap_find(m), &h, &e) != 0)
        return;
    if (heap_growth_keep(&growth, &h, &e) == 0)
        for (uint32_t i = 0; i < h.type_count && i < 8; i++)
            heap_growth_way(&growth, &h, heap_type_name(&h, i), &way, &e);
    heap_growth_free(&growth);
    buffer_free(&way);
    heap_free(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static int nowhere = -1;
    recording_file *file = NULL;
    uint8_t *copy = malloc(length + 1);
    error e = {0};
    model m;

    if (nowhere < 0)
        nowhere = open("/dev/null", O_WRONLY);
    memcpy(copy, bytes, length);
    if (length >= RECORDING_HEADER_SIZE && length % 2 == 0)
        repair_checks(copy, length);
    if (recording_file_open_bytes(copy, length, &file, &e) == 0 &&
        model_load(file, 16 << 20, &m, &e) == 0) {
        report_all(&m, nowhere);
        compare_with_itself(&m, nowhere);
        find_growth(&m);
        model_free(&m);
    }
    recording_file_close(file);
    free(copy);
    return 0;
}
