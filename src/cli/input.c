/* input: see input.h. */
#include "cli/input.h"

#include <stdio.h>

#include "base/buffer.h"
#include "diagnostics/import.h"

static int load_events(const char *path, model *m, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    recording_file *file = NULL;
    char cut[sizeof m->cut];
    int code = import_file(path, &bytes, cut, sizeof cut, e);

    if (code == 0)
        code = recording_file_open_bytes(bytes.data, bytes.length, &file, e);
    if (code == 0) {
        code = model_load(file, 0, m, e);
        recording_file_close(file);
    }
    if (code == 0 && cut[0] != '\0')
        snprintf(m->cut, sizeof m->cut, "%s", cut);
    buffer_free(&bytes);
    return code;
}

int input_load(const char *path, model *m, error *e)
{
    if (import_is_event_file(path))
        return load_events(path, m, e);
    return model_load_path(path, 0, m, e);
}
