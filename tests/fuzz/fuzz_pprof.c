/* Fuzz target: a profile in pprof's format as a recording, that recording as a model. */
#include "analysis/model.h"
#include "diagnostics/pprof_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    char note[160];
    model m;

    if (pprof_file_import_bytes(data, size, "fuzz", &out, note, sizeof note, NULL) == 0 &&
        recording_file_open_bytes(out.data, out.length, &file, NULL) == 0) {
        if (model_load(file, 256 << 20, &m, NULL) == 0)
            model_free(&m);
        recording_file_close(file);
    }
    buffer_free(&out);
    return 0;
}
