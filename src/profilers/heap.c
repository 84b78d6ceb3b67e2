/*
 * heap: one snapshot of the heap for the session that asks: every object with its type, size and
 * references, and the roots.
 *
 * A quick one is a walk in one suspension (agent/heap_quick), without roots. Otherwise
 * the runtime's heap-dump events bring objects and roots (one full collection, the program stands
 * still meanwhile); agent/heap_walk turns them into records, agent/heap_stream takes them to the
 * socket. When the program runs again, the types and the methods of stack roots are named, and
 * the record END says how it went.
 *
 * Thread rules: a thread of its own starts and stops the event session (which makes a managed
 * thread of its caller), a second one makes the records; the agent's own thread writes to the
 * socket meanwhile and serves nobody else.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "agent/agent.h"
#include "agent/heap_fields.h"
#include "agent/heap_statics.h"
#include "agent/heap_walk.h"
#include "base/memory.h"
#include "base/os.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_heap,
    LOSS_RING = 0, /* every engine's; this one puts nothing there */
    LOSS_REFERENCES,
    LOSS_ABANDONED,
    LOSS_STATICS,
    TABLE_TYPES = 0,
    TABLE_FUNCTIONS,
    TABLE_STATICS,
    TABLE_FIELDS,
    TABLE_VALUES,
    TABLE_AWAITS,
    QUIET_MS = 5,
    LONGEST_QUIET = 200, /* times QUIET_MS without an event: a walk does not go on */
    EVENT_LEVEL = 4,
    PAGE = 4096,
    LEAST_GIVEN_BACK = 256 << 10,
    MOST_GIVEN_BACK = 64 << 20,
};
/* Heap dump and the collection that brings it. */
#define KEYWORDS UINT64_C(0x900000)

typedef struct {
    heap_walk walk; /* first: the events' */
    agent *agent;
    bool wanted; /* the session waits for its snapshot */
    heap_record_wishes wishes;
    bool quick, may_collect;
    bool collected; /* for a quick one, to be sure */
    uint64_t keywords;
    bool has_threads;
    HRESULT result;
    uint64_t session_ns; /* how long the runtime took to make the session, and the dump in it */
} heap;

static const recording_column TYPE_COLUMNS[] = {TABLES_HEAP_TYPES(TABLES_COLUMN)};
static const recording_column FUNCTION_COLUMNS[] = {TABLES_HEAP_FUNCTIONS(TABLES_COLUMN)};
static const recording_column STATIC_COLUMNS[] = {
    {RECORDING_U64, "slot", ""},         {RECORDING_STRING_ID, "name", ""},
    {RECORDING_U64, "length", ""},       {RECORDING_U64, "index", ""},
    {RECORDING_U64, "class", ""},        {RECORDING_U64, "array", ""},
    {RECORDING_U64, "thread_index", ""}, {RECORDING_U64, "handle", ""},
};
static const recording_column FIELD_COLUMNS[] = {
    {RECORDING_U64, "type", ""},
    {RECORDING_U64, "place", "bytes"},
    {RECORDING_STRING_ID, "name", ""},
};
static const recording_column VALUE_COLUMNS[] = {
    {RECORDING_U64, "type", ""},
    {RECORDING_U64, "place", "bytes"},
    {RECORDING_STRING_ID, "name", ""},
    {RECORDING_U64, "kind", ""},
};
static const recording_column AWAIT_COLUMNS[] = {
    {RECORDING_U64, "type", ""},
    {RECORDING_U64, "number", ""},
    {RECORDING_FRAME_ID, "frame", ""},
};
static const recording_table TABLES[] = {
    {"heap_types", "heap", TYPE_COLUMNS, 8},     {"heap_functions", "heap", FUNCTION_COLUMNS, 2},
    {"heap_statics", "heap", STATIC_COLUMNS, 8}, {"heap_fields", "heap", FIELD_COLUMNS, 3},
    {"heap_values", "heap", VALUE_COLUMNS, 4},   {"heap_awaits", "heap", AWAIT_COLUMNS, 3},
};
static const events_wish WISHES[] = {HEAP_QUICK_WISH};
static const char LOSSES[] = "ring full\0"
                             "references that are none\0"
                             "snapshot abandoned\0"
                             "thread not asked for its statics: the suspension would have been too "
                             "long\0";

/* ---- the thread of the event session ---- */

/* Another walk may still be under way on another thread: let it end. */
static void wait_until_quiet(heap *h)
{
    uint64_t before = 0, count;

    for (int quiet = 0; quiet < LONGEST_QUIET && heap_walk_is_walking(&h->walk, &count); quiet++) {
        if (count != before)
            quiet = 0;
        before = count;
        os_sleep_ms(QUIET_MS);
    }
}

static bool take_object(void *context, uint64_t object, ClassID class_id)
{
    heap *h = context;

    return heap_record_put(&h->walk.record, object, class_id, true);
}

static void run_quick(heap *h)
{
    heap_quick_result result;

    heap_record_begin(&h->walk.record);
    h->result = heap_quick_walk(h->agent, h->may_collect, take_object, h, &result);
    h->walk.has_nodes = h->walk.record.objects != 0;
    h->walk.last_ns = h->session_ns = result.pause_ns;
    h->collected = result.collected;
    heap_stream_finish(&h->walk.record.stream);
}

/* The walk of the runtime copies the references of each object into a block of the libc's, on this
 * thread. The libc keeps what was freed for this thread's heap, and the next snapshot may run on
 * another heap: the program would grow by that block again and again. So the same room is asked for
 * once more, and its pages are given back before it is freed. */
static void give_back_pages(uint64_t references)
{
    size_t bytes = (size_t)references * sizeof(uint64_t);
    uint8_t *block;

    /* larger ones the libc has given back itself */
    if (bytes < LEAST_GIVEN_BACK || bytes > MOST_GIVEN_BACK || (block = malloc(bytes)) == NULL)
        return;
    madvise(block + PAGE - (uintptr_t)block % PAGE, bytes - 2 * PAGE, MADV_DONTNEED);
    free(block);
}

static void *run_session(void *context)
{
    heap *h = context;
    clr_eventpipe_source source = {
        .name = "Microsoft-Windows-DotNETRuntime", .keywords = h->keywords, .level = EVENT_LEVEL};
    EVENTPIPE_SESSION session;
    uint64_t start;

    if (h->quick) {
        run_quick(h);
        return NULL;
    }
    events_let_settle(h->agent);
    start = os_monotonic_ns();
    heap_walk_set_open(&h->walk, true);
    h->result = clr_eventpipe_start(&h->agent->info, &source, 1, &session);
    h->session_ns = os_monotonic_ns() - start;
    heap_walk_set_open(&h->walk, false);
    if (h->result == S_OK) {
        wait_until_quiet(h);
        clr_eventpipe_stop(&h->agent->info, session);
    }
    heap_walk_finish(&h->walk);
    give_back_pages(h->walk.most_references);
    return NULL;
}

static void *run_records(void *context)
{
    heap *h = context;

    heap_walk_run(&h->walk);
    return NULL;
}

/* ---- own thread ---- */

/* Writes all to the socket, as long as it takes something now and then. */
static bool send_all(int descriptor, const uint8_t *bytes, size_t length)
{
    while (length != 0) {
        ssize_t n = send(descriptor, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd polled = {descriptor, POLLOUT, 0};

            if (poll(&polled, 1, HEAP_STREAM_PATIENCE_MS) > 0)
                continue;
        }
        return false;
    }
    return true;
}

/* What was to be sent before the snapshot. */
static bool send_pending(client *c)
{
    bool sent = send_all(c->descriptor, c->out.pending.data + c->out.pending_sent,
                         c->out.pending.length - c->out.pending_sent);

    if (sent) {
        buffer_clear(&c->out.pending);
        c->out.pending_sent = 0;
    }
    return sent;
}

static void pump(heap *h, client *c)
{
    heap_stream *s = &h->walk.record.stream;

    while (!heap_blocks_is_over(&s->blocks)) {
        size_t length;
        const uint8_t *chunk = heap_stream_next(s, &length);

        if (chunk == NULL)
            continue;
        if (atomic_load(&s->abandoned) == 0 && !send_all(c->descriptor, chunk, length)) {
            heap_stream_abandon(s);
            /* half a chunk may be out: nothing sensible can follow it */
            shutdown(c->descriptor, SHUT_RDWR);
        }
        heap_blocks_release(&s->blocks);
    }
}

/* The assembly of a class, or of an array's element. */
static uint32_t assembly_of(agent *a, ClassID class_id)
{
    ClassID element = class_id, parent;
    ModuleID module = 0;
    CorElementType kind;
    mdTypeDef token;
    uint32_t rank, id;

    for (int i = 0; i < 8 && element != 0 &&
                    clr_info_is_array_class(&a->info, class_id, &kind, &element, &rank) == S_OK;
         i++)
        class_id = element;
    if (!CLR_OK(clr_info_get_class_id_info2(&a->info, class_id, &module, &token, &parent, 0, NULL,
                                            NULL)) ||
        module == 0)
        return 0;
    id = names_of_module(&a->names, module);
    return id == 0 ? 0 : names_get_module(&a->names, id)->name;
}

static void name_types(agent *a, heap *h)
{
    const heap_record *r = &h->walk.record;

    for (size_t i = 0; i < r->type_count; i++) {
        const heap_record_type *type = &r->types[i];
        bool may_ask = heap_fields_may_ask(&a->names, type);
        uint64_t cells[8] = {i,
                             type->class_id,
                             type->size,
                             may_ask ? names_of_class(&a->names, type->class_id)
                                     : names_intern_text(&a->names, "(unknown)"),
                             may_ask ? assembly_of(a, type->class_id) : 0,
                             may_ask ? heap_fields_flags(r, (uint32_t)i) : 0,
                             type->element,
                             type->base >= 8 ? type->base - 8 : 0};

        agent_row(a, SELF, TABLE_TYPES, cells);
    }
    a->names.is_lasting = false;
    for (size_t i = 0; i < h->walk.functions.capacity; i++) {
        const table_u64_slot *slot = &h->walk.functions.slots[i];
        uint64_t cells[2];

        if (!slot->used)
            continue;
        cells[0] = slot->key;
        cells[1] = names_of_function(&a->names, (FunctionID)slot->key);
        agent_row(a, SELF, TABLE_FUNCTIONS, cells);
    }
}

static void put_static(void *context, const heap_static *found)
{
    uint64_t cells[8] = {found->slot,     found->name,  found->length,       found->index,
                         found->class_id, found->array, found->thread_index, found->handle};

    agent_row(context, SELF, TABLE_STATICS, cells);
}

static void put_field(void *context, uint32_t type, uint32_t place, uint32_t name)
{
    uint64_t cells[3] = {type, place, name};

    agent_row(context, SELF, TABLE_FIELDS, cells);
}

static void put_value(void *context, uint32_t type, uint32_t place, uint32_t name, uint32_t kind)
{
    uint64_t cells[4] = {type, place, name, kind};

    agent_row(context, SELF, TABLE_VALUES, cells);
}

static void put_await(void *context, uint32_t type, uint32_t number, uint32_t frame)
{
    uint64_t cells[3] = {type, number, frame};

    agent_row(context, SELF, TABLE_AWAITS, cells);
}

static void put_end(client *c, const heap *h, const char *trouble)
{
    buffer *out = &c->out.pending;
    size_t chunk = recording_begin_chunk(out, RECORDING_HEAP, 0);

    buffer_append_varint(out, RECORDING_HEAP_END);
    buffer_append_varint(out, h->walk.record.attempt);
    buffer_append_varint(out, trouble[0] == '\0' ? 0 : 1);
    buffer_append_varint(out, h->walk.record.objects);
    buffer_append_varint(out, h->walk.record.references);
    buffer_append_varint(out, h->walk.roots);
    buffer_append_varint(out, h->walk.last_ns - h->walk.first_ns);
    buffer_append_varint(out, h->session_ns);
    buffer_append_blob(out, trouble, strlen(trouble));
    buffer_append_varint(out, (h->wishes.strings ? RECORDING_HEAP_STRINGS : 0u) |
                                  (h->quick ? RECORDING_HEAP_QUICK : 0u) |
                                  (h->collected ? RECORDING_HEAP_COLLECTED : 0u));
    buffer_append_varint(out, h->walk.record.strings.forgotten);
    recording_end_chunk(out, chunk);
}

static void name_all(agent *a, heap *h)
{
    a->names.is_lasting = true; /* other types are left out where they are met */
    name_types(a, h);
    a->names.is_lasting = true;
    heap_fields_name(&a->names, &h->walk.record, put_field, a);
    if (!h->quick)
        agent_lose(a, SELF, LOSS_STATICS, heap_statics_name(&a->names, &h->walk, put_static, a));
    heap_fields_name_values(&a->names, &h->walk.record, put_value, a);
    if (h->wishes.values)
        heap_fields_name_awaits(&a->names, &h->walk.record, put_await, a);
    a->names.is_lasting = false;
}

static const char *trouble_of(heap *h, char *text)
{
    if (!h->has_threads)
        return "the process can start no thread";
    if (h->quick && h->result == E_NOINTERFACE)
        return "a quick one needs .NET 9 or later";
    if (h->quick && h->result == HEAP_QUICK_NO_REST)
        return "no moment was known to be without a collection in the background";
    if (h->result != S_OK)
        return clr_hresult_name(h->result, text);
    if (h->walk.record.failed)
        return "the agent has no memory left";
    if (atomic_load(&h->walk.record.stream.abandoned) != 0)
        return "the records could not be sent fast enough";
    if (h->walk.record.attempt == 0 || !h->walk.has_nodes)
        return "the runtime sent no objects";
    return "";
}

static bool run_aside(heap *h, void *(*work)(void *), pthread_t *thread)
{
    sigset_t all, before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(thread, NULL, work, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* The end of a walk is told with the events of collections. Where another engine listens to them,
 * they come to all of us; asked for here too they would come to it twice. */
static uint64_t choose_keywords(const agent *a)
{
    bool is_told = a->pipe.is_running && a->pipe.levels[EVENTS_RUNTIME] >= EVENT_LEVEL &&
                   (a->pipe.keywords[EVENTS_RUNTIME] & EVENTS_KEYWORD_GC) != 0;

    return KEYWORDS | (is_told ? 0 : EVENTS_KEYWORD_GC);
}

/* Until the snapshot is out, or given up. */
static void run(heap *h, client *c)
{
    pthread_t session, records = 0;

    if (!h->quick && !run_aside(h, run_records, &records))
        return;
    h->has_threads = run_aside(h, run_session, &session);
    if (h->has_threads) {
        pump(h, c);
        pthread_join(session, NULL);
    } else {
        heap_walk_finish(&h->walk);
    }
    if (!h->quick)
        pthread_join(records, NULL);
}

static void take_snapshot(agent *a, heap *h, client *c)
{
    char text[CLR_HRESULT_TEXT];
    const char *trouble;

    h->agent = a;
    h->result = E_FAIL;
    h->session_ns = 0;
    h->collected = h->has_threads = false;
    h->keywords = choose_keywords(a);
    if (!heap_walk_open(&h->walk, &a->info, &h->wishes)) {
        put_end(c, h, "the agent has no memory left");
        heap_walk_close(&h->walk);
        return;
    }
    run(h, c);
    trouble = trouble_of(h, text);
    agent_lose(a, SELF, LOSS_REFERENCES, h->walk.record.bad_references);
    if (trouble[0] != '\0')
        agent_lose(a, SELF, LOSS_ABANDONED, 1);
    else
        name_all(a, h);
    output_gather(&c->out);
    put_end(c, h, trouble);
    heap_walk_close(&h->walk);
}

/* One session at a time: what it asked for. */
static void configure(agent *a)
{
    heap *h = a->engines[SELF].state;
    size_t position = 0;
    const catalogue_selected *user = agent_user(a, SELF, &position);

    h->wishes.strings = user == NULL || catalogue_number(user, "strings") != 0;
    h->wishes.values = user != NULL && catalogue_number(user, "values") != 0;
    snprintf(h->wishes.fields, sizeof h->wishes.fields, "%s",
             user == NULL ? "" : catalogue_text(user, "fields"));
    h->quick = user != NULL && catalogue_number(user, "quick") != 0;
    h->wishes.counts = !h->quick;
    h->may_collect = user == NULL || catalogue_number(user, "collect") != 0;
}

/* A quick walk must hear of collections. */
static size_t count_wishes(agent *a)
{
    const heap *h = a->engines[SELF].state;

    return h->quick && a->info.version >= 15 ? 1 : 0;
}

static void drain(agent *a, bool last)
{
    heap *h = a->engines[SELF].state;

    if (!h->wanted || last || atomic_load(&a->phase) != AGENT_RUNNING || !agent_enter_runtime(a))
        return;
    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        client *c = &a->clients[i];

        if ((c->engines & 1ull << SELF) == 0 || c->state != CLIENT_RECORDING)
            continue;
        h->wanted = false;
        if (send_pending(c))
            take_snapshot(a, h, c);
    }
}

static int start(agent *a, error *e)
{
    heap *h = a->engines[SELF].state;

    if (atomic_load(&a->mask_deferred))
        return error_set(e, ERROR_UNSUPPORTED,
                         "a heap snapshot is taken of a running program, not from its start");
    if (h == NULL) {
        h = memory_allocate_array(1, sizeof *h);
        if (h == NULL)
            return error_set(e, ERROR_MEMORY, "the agent has no memory left");
        a->engines[SELF].state = h;
    }
    h->wanted = true;
    return 0;
}

static void stop(agent *a)
{
    heap *h = a->engines[SELF].state;

    h->wanted = false;
}

const engine ENGINE_heap = {
    .name = "heap",
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = 1,
    .count_wishes = count_wishes,
    .tables = TABLES,
    .table_count = 6,
    .losses = LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .drain = drain,
    .on_raw_event = heap_walk_on_event,
};
