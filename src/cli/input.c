/* input: see input.h. */
#include "cli/input.h"

#include <stdio.h>

#include "base/buffer.h"
#include "diagnostics/gcdump.h"
#include "diagnostics/import.h"
#include "diagnostics/pprof_file.h"

typedef int importer(const char *path, buffer *out, char *note, size_t note_size, error *e);

static int load_foreign(const char *path, importer *import, model *m, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    recording_file *file = NULL;
    char note[sizeof m->cut];
    int code = import(path, &bytes, note, sizeof note, e);

    if (code == 0)
        code = recording_file_open_bytes(bytes.data, bytes.length, &file, e);
    if (code == 0) {
        code = model_load(file, 0, m, e);
        recording_file_close(file);
    }
    if (code == 0 && note[0] != '\0')
        snprintf(m->cut, sizeof m->cut, "%s", note);
    buffer_free(&bytes);
    return code;
}

int input_load(const char *path, model *m, error *e)
{
    if (import_is_event_file(path))
        return load_foreign(path, import_file, m, e);
    if (gcdump_is_file(path))
        return load_foreign(path, gcdump_import_file, m, e);
    if (pprof_file_is(path))
        return load_foreign(path, pprof_file_import, m, e);
    return model_load_path(path, 0, m, e);
}
