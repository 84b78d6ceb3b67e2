/* top_window: see top_window.h. */
#include "cli/top_window.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

void top_window_feed(top_window *w, const recording_chunk *chunk, uint64_t now_ns)
{
    size_t before = w->rows.length;

    if (chunk->kind == RECORDING_LOSS || chunk->kind == RECORDING_COST)
        return;
    if (chunk->kind != RECORDING_ROWS) {
        recording_put_chunk(&w->definitions, chunk->kind, chunk->flags, 0, chunk->payload,
                            chunk->length);
        return;
    }
    if (!array_reserve(&w->parts, &w->part_capacity, w->part_count + 1, sizeof *w->parts))
        return;
    recording_put_chunk(&w->rows, chunk->kind, chunk->flags, 0, chunk->payload, chunk->length);
    w->parts[w->part_count++] = (top_window_part){now_ns, w->rows.length - before};
    if (w->first_ns == 0)
        w->first_ns = now_ns;
}

static void drop_before(top_window *w, uint64_t oldest_ns)
{
    size_t parts = 0;
    size_t bytes = 0;

    while (parts < w->part_count && w->parts[parts].arrived_ns < oldest_ns)
        bytes += w->parts[parts++].length;
    if (parts == 0)
        return;
    w->part_count -= parts;
    memmove(w->parts, w->parts + parts, w->part_count * sizeof *w->parts);
    w->rows.length -= bytes;
    memmove(w->rows.data, w->rows.data + bytes, w->rows.length);
}

int top_window_load(top_window *w, uint64_t now_ns, uint64_t span_ns, model *m, error *e)
{
    buffer whole = BUFFER_EMPTY;
    recording_file *file = NULL;
    int code;

    drop_before(w, now_ns > span_ns ? now_ns - span_ns : 0);
    recording_put_file_header(&whole);
    buffer_append(&whole, w->definitions.data, w->definitions.length);
    buffer_append(&whole, w->rows.data, w->rows.length);
    if (buffer_failed(&whole) || buffer_failed(&w->definitions) || buffer_failed(&w->rows)) {
        buffer_free(&whole);
        return error_set(e, ERROR_MEMORY, "no memory for what the process sent");
    }
    code = recording_file_open_bytes(whole.data, whole.length, &file, e);
    if (code == 0) {
        code = model_load(file, 0, m, e);
        recording_file_close(file);
    }
    buffer_free(&whole);
    return code;
}

void top_window_free(top_window *w)
{
    buffer_free(&w->definitions);
    buffer_free(&w->rows);
    memory_free(w->parts);
    memset(w, 0, sizeof *w);
}
