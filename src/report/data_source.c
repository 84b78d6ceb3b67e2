/*
 * data_source: source text around the hottest lines, for the report page, where the file can be
 * found on this machine under the path that the PDB gives.
 *
 * The path comes out of the recording, which may be anyone's: only files that look like source
 * code by their name are opened, by the name in the PDB and by the one that links lead to, only
 * regular ones, and only the lines around hot lines are taken.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "report/data.h"
#include "report/view.h"

enum { HOT_LINES = 60, AROUND = 6, MAXIMUM_LINE = 400, MAXIMUM_FILE = 4 << 20 };

static const char *const EXTENSIONS[] = {".cs", ".fs", ".vb",  ".razor", ".cshtml",
                                         ".c",  ".h",  ".cpp", ".cc",    ".hpp"};

static bool is_source_name(const char *path)
{
    for (size_t i = 0; i < sizeof EXTENSIONS / sizeof *EXTENSIONS; i++)
        if (text_ends_with(path, EXTENSIONS[i]))
            return true;
    return false;
}

/* What was found is held by a descriptor that cannot read, so that nothing can take its place
 * between the look and the reading. */
static bool read_source(const char *path, buffer *text)
{
    char held[32], target[PATH_MAX];
    int descriptor = path[0] == '/' && is_source_name(path) ? open(path, O_PATH | O_CLOEXEC) : -1;
    struct stat status;
    ssize_t length;
    bool done = false;

    if (descriptor < 0)
        return false;
    snprintf(held, sizeof held, "/proc/self/fd/%d", descriptor);
    length = readlink(held, target, sizeof target - 1);
    if (length > 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= MAXIMUM_FILE) {
        target[length] = '\0';
        done = is_source_name(target) && os_read_file(held, MAXIMUM_FILE, text, NULL) == 0;
    }
    close(descriptor);
    return done;
}

/* Lines [first, last] (from 1) as JSON texts. */
static void put_lines(json *j, const buffer *text, uint32_t first, uint32_t last)
{
    const char *p = buffer_text(text);
    const char *end = p + text->length;
    buffer line = BUFFER_EMPTY;

    for (uint32_t number = 1; p < end && number <= last; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((stop == NULL ? end : stop) - p);

        if (number >= first) {
            buffer_clear(&line);
            buffer_append(&line, p, length < MAXIMUM_LINE ? length : MAXIMUM_LINE);
            if (line.length != 0 && line.data[line.length - 1] == '\r')
                line.data[--line.length] = '\0';
            json_text(j, buffer_text(&line));
        }
        p = stop == NULL ? end : stop + 1;
    }
    buffer_free(&line);
}

static void put_source(json *j, data_strings *s, uint32_t file, const buffer *text, uint32_t line)
{
    uint32_t first = line > AROUND ? line - AROUND : 1;

    json_begin_object(j);
    json_put_u64(j, "file", data_string(s, file));
    json_put_u64(j, "first", first);
    json_begin_array_at(j, "lines");
    put_lines(j, text, first, line + AROUND);
    json_end_array(j);
    json_end_object(j);
}

/* Places whose text was taken, in all profiles of the process. */
typedef struct {
    const model_place *places[HOT_LINES * 2];
    size_t count;
} taken;

/* Whether a place of this file that was taken is so near that its text covers this one. */
static bool is_covered(const taken *t, const model_place *place)
{
    for (size_t i = 0; i < t->count; i++) {
        const model_place *other = t->places[i];
        uint32_t distance =
            other->line > place->line ? other->line - place->line : place->line - other->line;

        if (other->file == place->file && distance <= AROUND / 2)
            return true;
    }
    return false;
}

static int put_profile(const profile *p, const report_options *options, taken *t, data_strings *s,
                       json *j, error *e)
{
    view v;
    int code = view_open(&v, p, options, 1, e);

    for (size_t i = 0; code == 0 && i < v.line_count && i < HOT_LINES; i++) {
        const model_place *place = &v.process->places[v.lines[i].key];
        const char *path = model_text(p->m, place->file);
        buffer text = BUFFER_EMPTY;

        if (t->count < sizeof t->places / sizeof *t->places && !is_covered(t, place) &&
            read_source(path, &text)) {
            put_source(j, s, place->file, &text, place->line);
            t->places[t->count++] = place;
        }
        buffer_free(&text);
    }
    view_free(&v);
    return code;
}

/* Of cpu and of wall, whose hot lines are others; else of the profile that there is. */
int data_put_sources(const model *m, const model_process *process, const report_options *options,
                     data_strings *s, json *j, error *e)
{
    taken t = {.count = 0};
    profile first, wall;
    int code = 0;

    json_begin_array_at(j, "sources");
    if (!options->no_source && profile_find(m, process, options->profiler, &first)) {
        code = put_profile(&first, options, &t, s, j, e);
        if (code == 0 && options->profiler == NULL && profile_find(m, process, "wall", &wall) &&
            wall.table != first.table)
            code = put_profile(&wall, options, &t, s, j, e);
    }
    json_end_array(j);
    return code;
}
