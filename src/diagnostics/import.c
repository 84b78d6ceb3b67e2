/*
 * import: the events of a file become rows; see import.h.
 *
 * The sample profiler looks at every managed thread, running or not, and says whether it was in
 * managed code. All its looks are rows of `wall`; those in managed code are rows of `cpu` too. Each
 * stands for the time since the thread was looked at before. Looks at a thread that stays at one
 * place outside of managed code are put together, up to a second.
 */
#include "diagnostics/import.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "clr/allocation_events.h"
#include "diagnostics/import_private.h"
#include "diagnostics/type_text.h"
#include "recording/tables.h"

enum {
    CHUNK = 1 << 20,
    SAMPLE_MANAGED = 2,
    LONGEST_RUN = 2, /* intervals of sampling */
    EVENT_ALLOCATION_TICK = 10,
    EVENT_TRIGGERED = 35,
    EVENT_EXCEPTION = 80,
    EVENT_CONTENTION_START = 81,
    EVENT_CONTENTION_STOP = 91,
    EVENT_METHOD_LOAD = 143,
    EVENT_METHOD_END = 144, /* of the rundown: methods that are there at the end */
    EVENT_COMPILING = 145,
    EVENT_MAP_END = 150, /* of the rundown: which IL is where in a method's code */
    EVENT_MODULE_LOAD = 152,
    EVENT_MODULE_START = 153,
    EVENT_MODULE_END = 154,
    EVENT_RUNTIME = 187,
    EVENT_ALLOCATION_SAMPLED = 303,
    KIND_SAMPLED = 0,
    KIND_TICK = 1,
    KIND_LARGE = 2,
    FLAG_COMPILED = 8,
    TIER_SHIFT = 7,
    TIER_MASK = 7,
};
static const uint64_t MOST_TOGETHER = 1000000000;
static const uint32_t USUAL_SAMPLING = 1000000;

static import_thread *thread_of(event_import *i, uint64_t id)
{
    uint64_t *index = table_u64_at(&i->thread_index, id, 0);
    size_t wish = i->thread_capacity * 2 + 64;

    if (index != NULL && *index != 0)
        return &i->threads[*index - 1];
    if (index != NULL && i->thread_count == i->thread_capacity) {
        import_thread *threads = memory_resize(i->threads, wish * sizeof *threads);
        uint64_t *ids = memory_resize(i->thread_ids, wish * sizeof *ids);

        i->threads = threads != NULL ? threads : i->threads;
        i->thread_ids = ids != NULL ? ids : i->thread_ids;
        if (threads == NULL || ids == NULL)
            index = NULL;
        else
            i->thread_capacity = wish;
    }
    if (index == NULL) {
        i->failed = true;
        return NULL;
    }
    *index = i->thread_count + 1;
    i->thread_ids[i->thread_count] = id;
    i->threads[i->thread_count] = (import_thread){0};
    return &i->threads[i->thread_count++];
}

static uint64_t time_of(const event_import *i, uint64_t ticks)
{
    uint64_t rate = i->trace.ticks_per_second;
    uint64_t passed = ticks > i->trace.start_ticks ? ticks - i->trace.start_ticks : 0;

    if (rate == 1000000000)
        return passed;
    return passed / rate * 1000000000 + passed % rate * 1000000000 / rate;
}

static uint32_t stack_of(event_import *i, const nettrace_event *event)
{
    uint64_t *known;

    if (event->stack_count == 0)
        return 0;
    known = table_u64_at(&i->stack_cache, event->stack_id, 0);
    if (known == NULL) {
        i->failed = true;
        return 0;
    }
    if (*known == 0)
        *known = import_stack(&i->names, event->stack, event->stack_count, i->trace.pointer_size);
    return (uint32_t)*known;
}

/* ---- samples ---- */

static void end_wait(event_import *i, uint64_t id, import_thread *thread)
{
    if (!thread->has_wait)
        return;
    import_put_row(i, IMPORT_WALL,
                   (uint64_t[]){thread->wait_begin, id, thread->wait_stack, thread->wait_weight,
                                RECORDING_STATE_WAIT});
    thread->has_wait = false;
}

static void take_sample(event_import *i, const nettrace_event *event, uint64_t time)
{
    reader r = reader_of(event->payload, event->payload_length);
    bool is_running = reader_u32(&r) == SAMPLE_MANAGED;
    import_thread *thread = thread_of(i, event->thread_id);
    uint32_t stack = stack_of(i, event);
    uint64_t weight;

    if (thread == NULL)
        return;
    weight = i->trace.sampling_ns;
    if (thread->sampled != 0)
        weight = time > thread->sampled ? time - thread->sampled : 0;
    thread->sampled = time;
    if (is_running) {
        uint64_t most = (uint64_t)LONGEST_RUN * i->trace.sampling_ns;
        uint64_t cells[] = {time, event->thread_id, stack, weight, RECORDING_STATE_RUNNING};

        end_wait(i, event->thread_id, thread);
        import_put_row(i, IMPORT_WALL, cells);
        cells[3] = weight < most ? weight : most; /* nobody looked: no proof that it ran */
        import_put_row(i, IMPORT_CPU, cells);
        return;
    }
    if (thread->has_wait && (thread->wait_stack != stack || thread->wait_weight >= MOST_TOGETHER))
        end_wait(i, event->thread_id, thread);
    if (!thread->has_wait) {
        thread->has_wait = true;
        thread->wait_begin = time;
        thread->wait_weight = 0;
        thread->wait_stack = stack;
    }
    thread->wait_weight += weight;
}

/* ---- the runtime's events ---- */

static uint32_t read_string(event_import *i, reader *r)
{
    buffer *text = &i->names.text;

    import_read_text(r, text);
    return reader_failed(r) ? 0 : import_string(&i->names, buffer_text(text), text->length);
}

/* A type's name, as everywhere else: List<int>. */
static uint32_t read_type(event_import *i, reader *r)
{
    buffer *spelled = &i->names.spelled;

    import_read_text(r, &i->names.text);
    if (reader_failed(r))
        return 0;
    buffer_clear(spelled);
    type_text_append(spelled, buffer_text(&i->names.text));
    return import_string(&i->names, buffer_text(spelled), spelled->length);
}

static void take_exception(event_import *i, const nettrace_event *event, uint64_t time, reader *r)
{
    enum { TABLES_EXCEPTIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[TIME] = time, [THREAD] = event->thread_id, [COUNT] = 1};

    cells[TYPE] = read_type(i, r);
    if (!i->without_messages)
        cells[MESSAGE] = read_string(i, r);
    cells[STACK] = stack_of(i, event);
    buffer_append(&i->thrown, cells, sizeof cells);
}

void import_write_exceptions(event_import *i)
{
    enum { TABLES_EXCEPTIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS];

    i->failed = i->failed || buffer_failed(&i->thrown);
    for (size_t at = 0; at + sizeof cells <= i->thrown.length; at += sizeof cells) {
        memcpy(cells, i->thrown.data + at, sizeof cells);
        cells[STACK] = import_trim_stack(&i->names, cells[STACK]);
        import_put_row(i, IMPORT_EXCEPTIONS, cells);
    }
    buffer_clear(&i->thrown); /* they count as rows now */
}

static void take_allocation(event_import *i, const nettrace_event *event, uint64_t time, reader *r)
{
    enum { TABLES_ALLOCATIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[TIME] = time, [THREAD] = event->thread_id, [KIND] = KIND_TICK};

    reader_u32(r); /* amount, in 32 bits */
    if (reader_u32(r) == 1)
        cells[KIND] = KIND_LARGE;
    reader_u16(r);
    cells[BYTES] = reader_u64(r);
    reader_skip(r, i->trace.pointer_size); /* type */
    cells[TYPE] = read_type(i, r);
    reader_u32(r); /* heap */
    reader_skip(r, i->trace.pointer_size);
    cells[SIZE] = reader_u64(r);
    if (reader_failed(r))
        return;
    if (cells[KIND] == KIND_LARGE)
        cells[BYTES] = cells[SIZE];
    cells[STACK] = stack_of(i, event);
    import_put_row(i, IMPORT_ALLOCATIONS, cells);
}

/* Since 10.0: each byte has the same chance to be the one whose object is told of. */
static uint64_t sampled_bytes(uint64_t size)
{
    return size == 0 ? 0
                     : (uint64_t)((double)size /
                                      allocation_chance((double)size / ALLOCATION_MEAN_DISTANCE) +
                                  0.5);
}

static void take_sampled(event_import *i, const nettrace_event *event, uint64_t time, reader *r)
{
    enum { TABLES_ALLOCATIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[TIME] = time, [THREAD] = event->thread_id, [KIND] = KIND_SAMPLED};

    reader_u32(r); /* kind of heap */
    reader_u16(r);
    reader_skip(r, i->trace.pointer_size); /* type */
    cells[TYPE] = read_type(i, r);
    reader_skip(r, i->trace.pointer_size); /* the object's place */
    cells[SIZE] = reader_u64(r);
    if (reader_failed(r))
        return;
    i->saw_sampled = true;
    cells[BYTES] = sampled_bytes(cells[SIZE]);
    cells[STACK] = stack_of(i, event);
    import_put_row(i, IMPORT_ALLOCATIONS, cells);
}

static void take_contention(event_import *i, const nettrace_event *event, uint64_t time, reader *r)
{
    enum { TABLES_WAITS(TABLES_CELL) COLUMNS };
    import_thread *thread = thread_of(i, event->thread_id);
    bool is_native = reader_u8(r) != 0; /* a lock of the runtime's own */

    if (thread == NULL || is_native)
        return;
    if (event->metadata->event_id == EVENT_CONTENTION_START) {
        reader_u16(r);
        reader_skip(r, 2 * (size_t)i->trace.pointer_size); /* lock, object */
        thread->is_contended = true;
        thread->contention_begin = time;
        thread->contention_stack = stack_of(i, event);
        thread->contention_owner = reader_u64(r);
    } else if (thread->is_contended) {
        uint64_t cells[COLUMNS] = {
            [TIME] = thread->contention_begin,  [THREAD] = event->thread_id,
            [STACK] = thread->contention_stack, [WEIGHT] = time - thread->contention_begin,
            [OWNER] = thread->contention_owner, [COUNT] = 1};

        thread->is_contended = false;
        if (time >= thread->contention_begin)
            import_put_row(i, IMPORT_WAITS, cells);
    } else {
        i->began_before++;
    }
}

void import_end_locks(event_import *i, uint64_t end)
{
    enum { TABLES_WAITS(TABLES_CELL) COLUMNS, FLAG_OPEN = 2 };

    if (i->dropped != 0)
        return; /* their ends may be among what was lost */
    for (size_t k = 0; k < i->thread_count; k++) {
        const import_thread *thread = &i->threads[k];
        uint64_t cells[COLUMNS] = {[TIME] = thread->contention_begin,
                                   [THREAD] = i->thread_ids[k],
                                   [STACK] = thread->contention_stack,
                                   [WEIGHT] = end - thread->contention_begin,
                                   [OWNER] = thread->contention_owner,
                                   [FLAGS] = FLAG_OPEN,
                                   [COUNT] = 1};

        if (thread->is_contended && end >= thread->contention_begin)
            import_put_row(i, IMPORT_WAITS, cells);
    }
}

static void take_compiling(event_import *i, const nettrace_event *event, uint64_t time, reader *r)
{
    import_compiling begun = {.thread = event->thread_id, .time = time};

    begun.method = reader_u64(r);
    reader_u64(r); /* module */
    reader_u32(r); /* token */
    begun.il_size = reader_u32(r);
    i->saw_compiling = true;
    if (i->compiling_count == IMPORT_COMPILING) /* it failed, or its end was lost */
        memmove(i->compiling, i->compiling + 1, --i->compiling_count * sizeof *i->compiling);
    i->compiling[i->compiling_count++] = begun;
}

static void take_compiled(event_import *i, const nettrace_event *event, uint64_t time, reader *r)
{
    enum { TABLES_COMPILATIONS(TABLES_CELL) COLUMNS };
    uint64_t cells[COLUMNS] = {[TIME] = time, [THREAD] = event->thread_id};
    uint64_t length = 0;
    uint64_t method;
    uint32_t flags;
    size_t k;

    cells[METHOD] = import_take_method(&i->names, *r);
    method = reader_u64(r);
    reader_skip(r, 2 * 8); /* module, code */
    cells[CODE_SIZE] = reader_u32(r);
    reader_u32(r); /* token */
    flags = reader_u32(r);
    if (reader_failed(r) || (flags & FLAG_COMPILED) == 0)
        return;
    cells[TIER] = flags >> TIER_SHIFT & TIER_MASK;
    for (k = i->compiling_count; k > 0; k--)
        if (i->compiling[k - 1].thread == event->thread_id && i->compiling[k - 1].method == method)
            break;
    if (k > 0) {
        const import_compiling *begun = &i->compiling[k - 1];

        length = time > begun->time ? time - begun->time : 0;
        cells[TIME] = begun->time;
        cells[WEIGHT] = length > begun->inside ? length - begun->inside : 0;
        cells[IL_SIZE] = begun->il_size;
        i->compiling_count--;
        memmove(&i->compiling[k - 1], &i->compiling[k],
                (i->compiling_count - (k - 1)) * sizeof *i->compiling);
        for (k = i->compiling_count; k > 0; k--) {
            if (i->compiling[k - 1].thread == event->thread_id) {
                i->compiling[k - 1].inside += length; /* the one that needed this one */
                break;
            }
        }
    }
    import_put_row(i, IMPORT_COMPILATIONS, cells);
}

static void take_runtime_version(event_import *i, reader *r)
{
    uint32_t major;
    uint32_t minor;
    uint32_t build;

    reader_skip(r, 6 * 2); /* instance, kind, version of the library */
    major = reader_u16(r);
    minor = reader_u16(r);
    build = reader_u16(r);
    if (!reader_failed(r))
        snprintf(i->runtime_version, sizeof i->runtime_version, "%u.%u.%u", major, minor,
                 build >= 100 ? build / 100 : build); /* 8.0.3326: patch 33 of the year 26 */
}

static void take_process(event_import *i, reader *r)
{
    char **places[] = {&i->command_line, &i->operating_system, &i->architecture};

    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        import_read_text(r, &i->names.text);
        if (reader_failed(r) || *places[k] != NULL)
            return;
        *places[k] = memory_copy_text(buffer_text(&i->names.text));
    }
}

static void take_runtime_event(event_import *i, const nettrace_event *event, uint64_t time)
{
    reader r = reader_of(event->payload, event->payload_length);
    uint32_t id = event->metadata->event_id;

    if (import_take_heap(i, id, time, r))
        return;
    switch (id) {
    case EVENT_EXCEPTION:
        take_exception(i, event, time, &r);
        break;
    case EVENT_ALLOCATION_TICK:
        if (!i->saw_sampled)
            take_allocation(i, event, time, &r);
        break;
    case EVENT_ALLOCATION_SAMPLED:
        take_sampled(i, event, time, &r);
        break;
    case EVENT_CONTENTION_START:
    case EVENT_CONTENTION_STOP:
        take_contention(i, event, time, &r);
        break;
    case EVENT_COMPILING:
        take_compiling(i, event, time, &r);
        break;
    case EVENT_METHOD_LOAD:
        take_compiled(i, event, time, &r);
        break;
    case EVENT_MODULE_LOAD:
        import_take_module(&i->names, r);
        break;
    case EVENT_RUNTIME:
        take_runtime_version(i, &r);
        break;
    default:
        import_take_gc(i,
                       &(import_kept){.time = time,
                                      .thread = event->thread_id,
                                      .length = (uint32_t)event->payload_length,
                                      .id = id,
                                      .stack = id == EVENT_TRIGGERED ? stack_of(i, event) : 0},
                       event->payload);
        break;
    }
}

/* What the runtime tells at the end of a session of what is there. */
static void take_rundown(event_import *i, const nettrace_event *event)
{
    reader r = reader_of(event->payload, event->payload_length);

    switch (event->metadata->event_id) {
    case EVENT_METHOD_LOAD:
    case EVENT_METHOD_END:
        import_take_method(&i->names, r);
        break;
    case EVENT_MODULE_START:
    case EVENT_MODULE_END:
        import_take_module(&i->names, r);
        break;
    case EVENT_MAP_END:
        import_take_map(&i->names, r);
        break;
    case EVENT_RUNTIME:
    case EVENT_RUNTIME + 1:
        take_runtime_version(i, &r);
        break;
    default:
        break;
    }
}

/* ---- the parser's calls ---- */

static void on_trace(void *context, const nettrace_trace *trace)
{
    event_import *i = context;

    i->trace = *trace;
    if (i->trace.sampling_ns == 0 || i->trace.sampling_ns > MOST_TOGETHER)
        i->trace.sampling_ns = USUAL_SAMPLING;
    i->has_trace = true;
}

static void on_event(void *context, const nettrace_event *event)
{
    event_import *i = context;
    const char *provider = event->metadata->provider;
    uint64_t time = time_of(i, event->ticks);

    if (text_equal(provider, "Microsoft-DotNETCore-SampleProfiler")) {
        take_sample(i, event, time);
    } else if (text_equal(provider, "Microsoft-Windows-DotNETRuntime")) {
        take_runtime_event(i, event, time);
    } else if (text_equal(provider, "Microsoft-Windows-DotNETRuntimeRundown")) {
        take_rundown(i, event);
        return; /* after the time that was looked at */
    } else if (text_equal(provider, "Microsoft-DotNETCore-EventPipe")) {
        reader r = reader_of(event->payload, event->payload_length);

        take_process(i, &r);
    } else {
        import_take_library_event(i, event, time);
    }
    if (time > i->last_time)
        i->last_time = time;
}

static void on_dropped(void *context, uint64_t thread_id, uint64_t count)
{
    (void)thread_id;
    ((event_import *)context)->dropped += count;
}

static void on_sequence_point(void *context, uint64_t ticks)
{
    event_import *i = context;

    (void)ticks;
    table_u64_free(&i->stack_cache);
    table_u64_init(&i->stack_cache);
}

event_import *import_create(void)
{
    event_import *i = memory_allocate_array(1, sizeof *i);
    nettrace_sink sink = {on_trace, on_event, on_dropped, on_sequence_point, i};

    if (i == NULL)
        return NULL;
    import_heap_init(&i->heap);
    i->parser = nettrace_create(&sink);
    if (i->parser == NULL) {
        memory_free(i);
        return NULL;
    }
    return i;
}

void import_set_namer(event_import *i, const import_namer *namer)
{
    i->heap.namer = *namer;
}

void import_set_memory(event_import *i, const class_memory *memory, bool texts, const char *values)
{
    i->heap.texts.memory = *memory;
    i->heap.texts.is_comparing = texts;
    i->heap.values = values[0] == '\0' ? NULL : values;
}

void import_forget_heap(event_import *i)
{
    i->heap.has_nodes = false;
}

void import_leave_out_messages(event_import *i)
{
    i->without_messages = true;
}

void import_set_meter_interval(event_import *i, uint64_t ns)
{
    i->meter_interval = ns;
}

const char *import_meter_note(const event_import *i)
{
    return buffer_text(&i->meter_note);
}

const char *import_meter_trouble(const event_import *i)
{
    return buffer_text(&i->meter_trouble);
}

int import_feed(event_import *i, const void *bytes, size_t length, error *e)
{
    int code = nettrace_feed(i->parser, bytes, length, e);

    if (i->failed || i->names.failed || i->heap.failed || i->heap.writer.failed)
        return error_set(e, ERROR_MEMORY, "no memory for the events of the file");
    return code;
}

bool import_has_heap(const event_import *i)
{
    return i->heap.has_nodes && i->heap.is_over;
}

bool import_has_begun(const event_import *i)
{
    return i->has_trace;
}

void import_count(const event_import *i, uint64_t *rows, uint64_t *lost)
{
    *rows = 0;
    for (size_t k = 0; k < IMPORT_TABLES; k++)
        *rows += i->tables[k].count;
    *rows += i->thrown.length / sizeof(uint64_t[TABLES_EXCEPTIONS(TABLES_ONE) 0]);
    *lost = i->dropped;
}

bool import_is_whole(const event_import *i)
{
    return nettrace_at_end(i->parser);
}

void import_put_row(event_import *i, import_table table, const uint64_t *cells)
{
    import_rows *t = &i->tables[table];

    if (t->is_open && recording_chunk_length(&t->out, t->rows.chunk) > CHUNK) {
        recording_rows_end(&t->rows);
        t->is_open = false;
    }
    if (!t->is_open)
        recording_rows_begin(&t->rows, &t->out, 0, (uint64_t)table + 1, &IMPORT_TABLE[table]);
    t->is_open = true;
    recording_rows_put_row(&t->rows, cells);
    t->count++;
}

void import_free(event_import *i)
{
    if (i == NULL)
        return;
    nettrace_free(i->parser);
    import_free_names(&i->names);
    import_heap_free(&i->heap);
    for (size_t k = 0; k < IMPORT_TABLES; k++)
        buffer_free(&i->tables[k].out);
    table_u64_free(&i->stack_cache);
    table_u64_free(&i->thread_index);
    memory_free(i->threads);
    memory_free(i->thread_ids);
    buffer_free(&i->thrown);
    buffer_free(&i->meter_trouble);
    buffer_free(&i->meter_note);
    import_list_free(&i->collecting);
    import_list_free(&i->requests);
    memory_free(i->command_line);
    memory_free(i->operating_system);
    memory_free(i->architecture);
    memory_free(i);
}

/* Looks that are not yet rows. */
void import_end_waits(event_import *i)
{
    for (size_t k = 0; k < i->thread_count; k++)
        end_wait(i, i->thread_ids[k], &i->threads[k]);
}
