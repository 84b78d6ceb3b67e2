/* import_write: an imported event file as the bytes of a recording, and the file itself; see
 * import.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "diagnostics/file_head.h"
#include "diagnostics/import_private.h"
#include "diagnostics/secrets.h"
#include "recording/tables.h"

enum { PIECE = 1 << 20 };
static const char MAGIC[] = "Nettrace";

static const recording_column SAMPLES[] = {TABLES_SAMPLES(TABLES_COLUMN)};
static const recording_column EXCEPTIONS[] = {TABLES_EXCEPTIONS(TABLES_COLUMN)};
static const recording_column WAITS[] = {TABLES_WAITS(TABLES_COLUMN)};
static const recording_column ALLOCATIONS[] = {TABLES_ALLOCATIONS(TABLES_COLUMN)};
static const recording_column COMPILATIONS[] = {TABLES_COMPILATIONS(TABLES_COLUMN)};
static const recording_column COLLECTIONS[] = {TABLES_COLLECTIONS(TABLES_COLUMN)};
static const recording_column PAUSES[] = {TABLES_PAUSES(TABLES_COLUMN)};
static const recording_column REQUESTS[] = {TABLES_REQUESTS(TABLES_COLUMN)};
static const recording_column COUNTERS[] = {TABLES_COUNTERS(TABLES_COLUMN)};
static const recording_column METERS[] = {TABLES_METERS(TABLES_COLUMN)};

#define TABLE(name, profiler, columns)                                                             \
    {                                                                                              \
        name, profiler, columns, sizeof columns / sizeof *columns                                  \
    }
const recording_table IMPORT_TABLE[IMPORT_TABLES] = {
    [IMPORT_CPU] = TABLE("samples", "cpu", SAMPLES),
    [IMPORT_WALL] = TABLE("samples", "wall", SAMPLES),
    [IMPORT_EXCEPTIONS] = TABLE("exceptions", "exceptions", EXCEPTIONS),
    [IMPORT_WAITS] = TABLE("waits", "contention", WAITS),
    [IMPORT_ALLOCATIONS] = TABLE("allocations", "allocations", ALLOCATIONS),
    [IMPORT_COMPILATIONS] = TABLE("compilations", "jit", COMPILATIONS),
    [IMPORT_COLLECTIONS] = TABLE("collections", "gc", COLLECTIONS),
    [IMPORT_PAUSES] = TABLE("pauses", "pauses", PAUSES),
    [IMPORT_REQUESTS] = TABLE("requests", "http", REQUESTS),
    [IMPORT_COUNTERS] = TABLE("counters", "counters", COUNTERS),
    [IMPORT_METERS] = TABLE("meters", "counters", METERS),
};

/* Days since 1970 of a day of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t shifted = year - (month <= 2);
    int64_t era = shifted / 400;
    int64_t of_era = shifted - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static uint64_t unix_ns_of(const uint16_t time[8])
{
    int64_t seconds =
        days_of(time[0], time[1], time[3]) * 86400 + time[4] * 3600 + time[5] * 60 + time[6];

    if (time[0] < 1970 || time[0] > 2500 || time[1] == 0 || time[1] > 12)
        return 0;
    return (uint64_t)seconds * 1000000000 + (uint64_t)time[7] * 1000000;
}

/* The program's own file: what follows `dotnet` and its options, else the program itself. */
static void put_name(buffer *out, const char *command_line)
{
    char word[256];
    char name[256] = "";
    const char *at = command_line;

    while (*at != '\0') {
        size_t length;
        const char *slash;

        at += strspn(at, " ");
        length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < 255 ? length : 255), at);
        at += length;
        slash = strrchr(word, '/');
        if (name[0] == '\0' || text_ends_with(word, ".dll"))
            snprintf(name, sizeof name, "%s", slash == NULL ? word : slash + 1);
        if (text_ends_with(word, ".dll")) {
            name[strlen(name) - 4] = '\0';
            break;
        }
    }
    if (name[0] != '\0')
        recording_put_info(out, "name", name);
}

static void put_infos(const event_import *i, buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, 0);
    buffer line = BUFFER_EMPTY;
    char number[32];

    snprintf(number, sizeof number, "%u", i->trace.process_id);
    recording_put_info(out, "pid", number);
    snprintf(number, sizeof number, "%u", i->trace.processors);
    recording_put_info(out, "cpus", number);
    snprintf(number, sizeof number, "%llu", (unsigned long long)unix_ns_of(i->trace.start_time));
    recording_put_info(out, "origin_unix_ns", number);
    if (i->trace.ticks_per_second == 1000000000) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)i->trace.start_ticks);
        recording_put_info(out, "origin_monotonic_ns", number);
    }
    if (!i->is_asked_for)
        recording_put_info(out, "attach", "attach");
    if (i->runtime_version[0] != '\0' && !i->is_asked_for)
        recording_put_info(out, "runtime_version", i->runtime_version);
    if (i->architecture != NULL)
        recording_put_info(out, "architecture", i->architecture);
    if (i->operating_system != NULL)
        recording_put_info(out, "os", i->operating_system);
    if (i->command_line != NULL) {
        secrets_append_command(&line, i->command_line, strlen(i->command_line), ' ');
        recording_put_info(out, "command_line", buffer_text(&line));
        buffer_free(&line);
        put_name(out, i->command_line);
    }
    recording_end_chunk(out, chunk);
}

/* Whether rows of this table are to be written, and so its profiler named, even with none. */
static bool is_asked_for(const event_import *i, import_table table, const import_wishes *wishes)
{
    if (table == IMPORT_METERS && i->tables[table].count == 0)
        return false;
    if (wishes != NULL) {
        for (size_t k = 0; k < wishes->count; k++)
            if (text_equal(IMPORT_TABLE[table].profiler, wishes->profilers[k]))
                return true;
        return false;
    }
    /* without their begins no compilation has a length, and a report of them would mislead */
    return i->tables[table].count != 0 && (table != IMPORT_COMPILATIONS || i->saw_compiling);
}

static void end_rows(import_rows *t)
{
    if (t->is_open)
        recording_rows_end(&t->rows);
    t->is_open = false;
}

void import_append_new_counters(event_import *i, bool forget, buffer *out)
{
    static const import_table SHOWN[] = {IMPORT_COUNTERS, IMPORT_METERS};
    const buffer *strings = &i->names.strings.out;
    size_t chunk;

    if (!i->has_shown) {
        chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
        for (size_t k = 0; k < sizeof SHOWN / sizeof *SHOWN; k++)
            recording_put_table(out, (uint64_t)SHOWN[k] + 1, &IMPORT_TABLE[SHOWN[k]]);
        recording_end_chunk(out, chunk);
        i->has_shown = true;
    }
    import_end_chunk(&i->names.strings);
    buffer_append(out, strings->data + i->shown_strings, strings->length - i->shown_strings);
    i->shown_strings = strings->length;
    for (size_t k = 0; k < sizeof SHOWN / sizeof *SHOWN; k++) {
        import_rows *t = &i->tables[SHOWN[k]];
        size_t *shown = &i->shown_rows[SHOWN[k]];

        end_rows(t);
        buffer_append(out, t->out.data + *shown, t->out.length - *shown);
        if (forget)
            buffer_clear(&t->out);
        *shown = t->out.length;
    }
}

static void put_table(event_import *i, import_table table, const import_wishes *wishes,
                      uint64_t end, buffer *out)
{
    import_rows *t = &i->tables[table];
    const char *profiler = IMPORT_TABLE[table].profiler;
    size_t chunk;

    end_rows(t);
    i->failed = i->failed || buffer_failed(&t->out);
    if (!is_asked_for(i, table, wishes))
        return;
    chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_put_table(out, (uint64_t)table + 1, &IMPORT_TABLE[table]);
    recording_end_chunk(out, chunk);
    buffer_append(out, t->out.data, t->out.length);
    buffer_free(&t->out);
    if (table == IMPORT_METERS && is_asked_for(i, IMPORT_COUNTERS, wishes))
        return; /* its profiler is named already */
    chunk = recording_begin_chunk(out, RECORDING_PROFILER, 0);
    recording_put_profiler(out, profiler, RECORDING_STARTED, 0, "", NULL, 0);
    recording_put_profiler(out, profiler, RECORDING_STOPPED, end, "", NULL, 0);
    recording_end_chunk(out, chunk);
}

static void put_loss(buffer *out, const char *profiler, const char *reason, uint64_t count)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_LOSS, 0);

    if (count != 0)
        recording_put_loss(out, profiler, reason, count);
    recording_end_chunk(out, chunk);
}

int import_write(event_import *i, const import_wishes *wishes, buffer *out, error *e)
{
    uint64_t end = wishes != NULL && wishes->end_ns > i->last_time ? wishes->end_ns : i->last_time;
    size_t chunk;

    if (!i->has_trace)
        return error_set(e, ERROR_CORRUPT, "the file of events breaks off before its first event");
    i->is_asked_for = wishes != NULL;
    import_end_waits(i);
    if (wishes !=
        NULL) /* in a file of others a begin may be there without its end for more reasons */
        import_end_locks(i, wishes->end_ns);
    import_sort_code(&i->names);
    import_write_exceptions(i);
    import_write_gc(i);
    import_write_requests(i);
    put_infos(i, out);
    import_name_heap(i);
    import_write_names(&i->names, out);
    for (int table = 0; table < IMPORT_TABLES; table++)
        put_table(i, (import_table)table, wishes, end, out);
    import_write_heap(i, IMPORT_TABLES + 1, out);
    put_loss(out, "events", "the program's room for events was full", i->dropped);
    if (wishes != NULL && is_asked_for(i, IMPORT_WAITS, wishes))
        put_loss(out, "contention", "wait not counted: it began before the recording",
                 i->began_before);
    put_loss(out, "counters", "value not understood", i->not_understood);
    put_loss(out, "counters", buffer_text(&i->meter_note), i->meters_noted);
    chunk = recording_begin_chunk(out, RECORDING_END, 0);
    recording_put_end(out, wishes == NULL ? "stopped" : wishes->reason, end);
    recording_end_chunk(out, chunk);
    if (i->failed || i->names.failed || buffer_failed(out))
        return error_set(e, ERROR_MEMORY, "no memory for the events of the file");
    return 0;
}

int import_finish(event_import *i, buffer *out, error *e)
{
    recording_put_file_header(out);
    return import_write(i, NULL, out, e);
}

bool import_is_event_file(const char *path)
{
    return file_head_is(path, MAGIC, sizeof MAGIC - 1);
}

/* Reads to the end or to where the stream is broken: *broken then says how. */
static int feed_all(event_import *i, int descriptor, const char *path, uint64_t *position,
                    error *broken, error *e)
{
    uint8_t *piece = memory_allocate(PIECE);
    int code = 0;

    if (piece == NULL)
        return error_set(e, ERROR_MEMORY, "no memory to read %s", path);
    while (code == 0) {
        ssize_t got = read(descriptor, piece, PIECE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            code = error_set_errno(e, ERROR_IO, errno, "cannot read %s", path);
        if (got <= 0)
            break;
        *position += (uint64_t)got;
        if (import_feed(i, piece, (size_t)got, broken) != 0)
            break;
    }
    memory_free(piece);
    if (code == 0 && broken->code == ERROR_MEMORY)
        *e = *broken;
    return code == 0 && broken->code == ERROR_MEMORY ? ERROR_MEMORY : code;
}

int import_file(const char *path, buffer *out, char *cut, size_t cut_size, error *e)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    event_import *i = import_create();
    error broken = {0};
    uint64_t position = 0;
    int code;

    cut[0] = '\0';
    if (descriptor < 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot read %s", path);
    else if (i == NULL)
        code = error_set(e, ERROR_MEMORY, "no memory to read %s", path);
    else
        code = feed_all(i, descriptor, path, &position, &broken, e);
    if (descriptor >= 0)
        close(descriptor);
    if (code == 0 && broken.code != 0 && !i->has_trace) {
        *e = broken;
        code = broken.code;
    }
    if (code == 0 && !import_is_whole(i))
        snprintf(cut, cut_size, "the file of events breaks off%s%.80s; it is used up to there",
                 broken.code == 0 ? "" : ": ", broken.code == 0 ? "" : broken.message);
    if (code == 0)
        code = import_finish(i, out, e);
    import_free(i);
    return code;
}
