/* input: see input.h. */
#include "cli/input.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"
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

static int cannot_keep(error *e)
{
    return error_set_errno(e, ERROR_IO, errno, "cannot keep what standard input has");
}

static int copy_all(int from, int to, error *e)
{
    char part[1 << 16];
    ssize_t got;

    while ((got = read(from, part, sizeof part)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(e, ERROR_IO, errno, "cannot read standard input");
        for (ssize_t done = 0; done < got;) {
            ssize_t put = write(to, part + done, (size_t)(got - done));

            if (put < 0)
                return cannot_keep(e);
            done += put;
        }
    }
    return 0;
}

/* Makes standard input a file: its kind is told by its beginning, and it is read again from there.
 */
static int spool_input(error *e)
{
    struct stat status;
    int kept;
    int code;

    if (fstat(STDIN_FILENO, &status) != 0 || S_ISREG(status.st_mode))
        return 0;
    kept = memfd_create("clarinet-input", MFD_CLOEXEC);
    if (kept < 0)
        return cannot_keep(e);
    code = copy_all(STDIN_FILENO, kept, e);
    if (code == 0 && (lseek(kept, 0, SEEK_SET) != 0 || dup2(kept, STDIN_FILENO) < 0))
        code = cannot_keep(e);
    close(kept);
    return code;
}

int input_load(const char *path, model *m, error *e)
{
    bool is_input = text_equal(path, "-");
    const char *from = is_input ? "/proc/self/fd/0" : path;
    int code = is_input ? spool_input(e) : 0;

    if (code != 0)
        return code;
    if (import_is_event_file(from))
        return load_foreign(from, import_file, m, e);
    if (gcdump_is_file(from))
        return load_foreign(from, gcdump_import_file, m, e);
    if (pprof_file_is(from))
        return load_foreign(from, pprof_file_import, m, e);
    return model_load_path(path, 0, m, e);
}
