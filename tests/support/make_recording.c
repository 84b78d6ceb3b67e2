/*
 * make_recording: writes a test recording.
 *
 *     make_recording FILE small|worse
 *     make_recording FILE SAMPLES STACKS THREADS [plain]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "support/recordings.h"

int main(int argc, char **argv)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};
    int code;

    if (argc == 3) {
        recordings_small(&b, strcmp(argv[2], "worse") == 0);
        code = os_write_file(argv[1], b.data, b.length, &e);
        buffer_free(&b);
    } else if (argc >= 5) {
        recordings_size size = {strtoull(argv[2], NULL, 10), (uint32_t)atoi(argv[3]),
                                (uint32_t)atoi(argv[4]), 30, argc == 5};

        code = recordings_write_large(argv[1], &size, &e);
    } else {
        fprintf(stderr,
                "usage: make_recording FILE small|worse | SAMPLES STACKS THREADS [plain]\n");
        return 2;
    }
    if (code != 0)
        fprintf(stderr, "make_recording: %s\n", e.message);
    return code == 0 ? 0 : 1;
}
