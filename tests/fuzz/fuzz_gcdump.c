/* Fuzz target: a .gcdump file as a recording, that recording as a model, and its graph. */
#include "analysis/heap.h"
#include "diagnostics/gcdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    char note[160];
    model m;
    heap h;

    if (gcdump_import(data, size, "fuzz", 0, &out, note, sizeof note, NULL) == 0 &&
        recording_file_open_bytes(out.data, out.length, &file, NULL) == 0) {
        if (model_load(file, 256 << 20, &m, NULL) == 0) {
            if (heap_find(&m) != NULL && heap_build(&m, heap_find(&m), &h, NULL) == 0)
                heap_free(&h);
            model_free(&m);
        }
        recording_file_close(file);
    }
    buffer_free(&out);
    return 0;
}
