/* Fuzz target: a file of events as a recording, and that recording as a model. The first byte tells
 * the size of the pieces. */
#include "analysis/model.h"
#include "diagnostics/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    event_import *i = import_create();
    size_t piece = size == 0 ? 1 : 1 + data[0] * (size_t)16;
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    model m;

    for (size_t at = 1; at < size; at += piece)
        if (import_feed(i, data + at, size - at < piece ? size - at : piece, NULL) != 0)
            break;
    if (import_finish(i, &out, NULL) == 0 &&
        recording_file_open_bytes(out.data, out.length, &file, NULL) == 0) {
        if (model_load(file, 256 << 20, &m, NULL) == 0)
            model_free(&m);
        recording_file_close(file);
    }
    buffer_free(&out);
    import_free(i);
    return 0;
}
