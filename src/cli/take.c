/* take: see take.h. */
#include "cli/take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"
#include "cli/library.h"
#include "cli/way.h"

static const char OWN_DESCRIPTORS[] = "/proc/self/fd/";

int take_temporary(char *file, size_t room, error *e)
{
    const char *folder = getenv("TMPDIR");
    char name[512];
    int descriptor;

    if (folder == NULL || folder[0] != '/')
        folder = "/tmp";
    descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0 &&
        snprintf(name, sizeof name, "%s/clarinet-XXXXXX", folder) < (int)sizeof name) {
        /* not every file system has files without a name */
        descriptor = mkostemp(name, O_CLOEXEC);
        if (descriptor >= 0)
            unlink(name);
    }
    if (descriptor < 0) {
        error_set_errno(e, ERROR_IO, errno, "no temporary file can be made in %s", folder);
        return error_advise(e, "name a file in another folder with -o FILE, or set TMPDIR");
    }
    snprintf(file, room, "%s%d", OWN_DESCRIPTORS, descriptor);
    return 0;
}

void take_forget(char *file)
{
    if (text_starts_with(file, OWN_DESCRIPTORS))
        close((int)strtol(file + sizeof OWN_DESCRIPTORS - 1, NULL, 10));
    file[0] = '\0';
}

int take_select_heap(catalogue_selection *selection, const char *profilers, error *e)
{
    int code;

    memset(selection, 0, sizeof *selection);
    code = catalogue_add_list(selection, profilers, e);
    if (code == 0)
        code = catalogue_set(selection, "heap", "strings", "off", e);
    if (code == 0)
        code = catalogue_set(selection, "heap", "values", "on", e);
    return code;
}

int take_look(session_options *session, const diagnostics_process *process, error *e)
{
    session_result result;
    buffer library = BUFFER_EMPTY;
    int code = library_find(LIBRARY_AGENT, &library, e);

    if (code == 0) {
        session->library = buffer_text(&library);
        code = session_record_process(session, process, &result, e);
        session->library = NULL;
    }
    if (code == 0 && !session->tells_way)
        way_tell(&result);
    else if (code == 0)
        way_tell_stream(&result);
    if (code == 0)
        way_tell_left_out(&result);
    if (code == 0 && result.trouble.code != 0) {
        *e = result.trouble;
        code = e->code;
    }
    buffer_free(&library);
    return code;
}

int take_look_at(session_options *session, const char *target, error *e)
{
    diagnostics_process process;
    int code = diagnostics_find_process(target, &process, e);

    if (code != 0)
        return code;
    code = take_look(session, &process, e);
    diagnostics_process_free(&process);
    return code;
}

bool take_whole_snapshot(void *context, const recording_chunk *chunk)
{
    (void)context;
    return chunk->kind == RECORDING_HEAP && chunk->length > 0 &&
           chunk->payload[0] == RECORDING_HEAP_END;
}
