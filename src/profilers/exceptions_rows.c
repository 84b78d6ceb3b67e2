/*
 * exceptions_rows: the half of the profiler that runs on the own thread: records of the ring become
 * rows, and rows wait here until it is known who catches. See exceptions.c.
 *
 * Thread rules: the agent's own thread only.
 */
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "clarinet/names.h"
#include "profilers/exception_stack.h"
#include "profilers/exceptions_private.h"
#include "recording/tables.h"

enum {
    HELD = 4096,
    HOLD_MS = 60000,   /* a row waits so long for its end */
    DOUBT_MS = 3000,   /* and so long when it may have been replaced */
    FLAG_COUNTED = 1,  /* counted only: `count` exceptions without message and stack */
    FLAG_CAUGHT = 2,   /* a managed method catches it */
    FLAG_UNCAUGHT = 4, /* nobody does: it ends the program */
    FLAG_REPLACED = 8, /* another one was thrown on its way to the catcher */
    FLAG_RUNTIME = 16, /* the runtime itself takes it */
    FLAG_CUT = 32,     /* the message goes on */
    FLAGS_ENDED = FLAG_CAUGHT | FLAG_RUNTIME,
};

#define SENT ((uint64_t)1 << 63)

enum { TABLES_EXCEPTIONS(TABLES_CELL) };

static const recording_column EXCEPTION_COLUMNS[EXCEPTIONS_COLUMNS] = {
    TABLES_EXCEPTIONS(TABLES_COLUMN)};
const recording_table EXCEPTIONS_TABLE = {"exceptions", "exceptions", EXCEPTION_COLUMNS,
                                          EXCEPTIONS_COLUMNS};

int exceptions_start(agent *a, error *e)
{
    exceptions_state *s = exceptions_state_of(a);

    if (s == NULL) {
        s = memory_allocate_array(1, sizeof *s);
        if (s == NULL)
            return engine_no_memory(EXCEPTIONS_SELF, e);
        s->held = memory_allocate_array(HELD, sizeof *s->held);
        if (s->held == NULL) {
            memory_free(s);
            return engine_no_memory(EXCEPTIONS_SELF, e);
        }
        table_u64_init(&s->stacks);
        atomic_store(&s->main_stack_top, exception_main_stack_top());
        a->engines[EXCEPTIONS_SELF].state = s;
    }
    allowance_reset(&s->allowed);
    exception_classes_reset(&s->classes);
    exception_leaving_reset(&s->leaving);
    catch_reset(&s->catch);
    memset(s->types, 0, sizeof s->types);
    atomic_store(&s->unnamed, 0);
    s->held_count = 0;
    s->drained = os_monotonic_ns();
    return 0;
}

void exceptions_configure(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);
    const catalogue_selected *user;
    uint64_t stacks = 1;
    uint64_t depth = 1;
    bool messages = false;
    size_t position = 0;

    s->distinct = 1;
    while ((user = agent_user(a, EXCEPTIONS_SELF, &position)) != NULL) {
        uint64_t wanted = catalogue_number(user, "stacks");
        uint64_t frames = catalogue_number(user, "depth");
        uint64_t distinct = catalogue_number(user, "distinct");

        stacks = wanted > stacks ? wanted : stacks;
        depth = frames > depth ? frames : depth;
        s->distinct = distinct > s->distinct ? distinct : s->distinct;
        messages = messages || catalogue_number(user, "messages") != 0;
    }
    allowance_set(&s->allowed, stacks);
    atomic_store(&s->depth,
                 (unsigned)(depth < EXCEPTIONS_MOST_FRAMES ? depth : EXCEPTIONS_MOST_FRAMES));
    atomic_store(&s->messages, messages);
}

void exceptions_stop(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);

    table_u64_free(&s->stacks); /* ids may start anew with the next session */
    table_u64_init(&s->stacks);
    s->kept = 0;
    s->held_count = 0;
}

void exceptions_destroy(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);

    table_u64_free(&s->stacks);
    table_u64_free(&s->leaving.frames);
    memory_free(s->held);
    memory_free(s);
    a->engines[EXCEPTIONS_SELF].state = NULL;
}

/* The string of a class; 0 when its name has not come. */
static uint32_t type_of(const exceptions_state *s, const exception_class *class)
{
    const exception_type *name;

    if (class->place >= EXCEPTION_CLASSES)
        return 0;
    name = &s->types[class->place];
    return name->generation == class->generation ? name->string : 0;
}

/* The frames of code that may be gone by now, as they were named at the throw: `addresses` lose
 * their marks, and the names know them until they are taken back. */
static void name_leaving(agent *a, const exceptions_state *s, const exception_thrown *record,
                         const uintptr_t *marked, uintptr_t *addresses, bool named)
{
    for (size_t i = 0; i < record->frames; i++) {
        bool caller = i != 0 || record->leaf_is_call;

        addresses[i] = marked[i] & ~EXCEPTION_LEAVING;
        if (addresses[i] != marked[i])
            names_set_frame(&a->names, addresses[i] - caller,
                            named ? exception_leaving_frame(&s->leaving, marked[i], caller) : 0);
    }
}

/* Code that took the place of other code has other frames. */
static uint64_t hash_of(const exceptions_state *s, const exception_thrown *record,
                        const uintptr_t *marked, const char *made)
{
    uint64_t hash = table_hash_bytes(marked, record->frames * sizeof *marked) ^
                    table_hash_bytes(made, record->made_length);

    for (size_t i = 0; i < record->frames; i++)
        if ((marked[i] & EXCEPTION_LEAVING) != 0)
            hash = table_hash_u64(hash ^ exception_leaving_frame(&s->leaving, marked[i],
                                                                 i != 0 || record->leaf_is_call));
    return hash;
}

/* The frames of methods made at run time, as they were named at the throw. `named` = no: they are
 * forgotten again. */
static void name_made(agent *a, const exception_thrown *record, const uintptr_t *addresses,
                      const char *text, bool named)
{
    for (size_t i = 0; i < record->made_count; i++) {
        size_t frame = record->made_frames[i];
        uintptr_t inside = addresses[frame] - (frame != 0 || record->leaf_is_call ? 1 : 0);
        const char *parameters = text + strlen(text) + 1;

        names_set_made(&a->names, inside, named ? text : NULL, parameters);
        text = parameters + strlen(parameters) + 1;
    }
}

static uint32_t stack_of(agent *a, exceptions_state *s, const exception_thrown *record,
                         const uintptr_t *marked, const char *made)
{
    uint64_t hash = hash_of(s, record, marked, made);
    uintptr_t addresses[EXCEPTIONS_MOST_FRAMES];
    size_t before = a->names.stacks.count;
    uint64_t known;
    uint32_t stack;

    if (record->frames == 0) {
        agent_lose(a, EXCEPTIONS_SELF, EXCEPTIONS_LOSS_NO_STACK, 1);
        return 0;
    }
    if (s->unloads != a->unloads_met) {
        /* code has gone, and other code may have its addresses */
        s->unloads = a->unloads_met;
        table_u64_free(&s->stacks);
    }
    if (table_u64_get(&s->stacks, hash, &known))
        return (uint32_t)known;
    if (s->kept >= s->distinct) {
        agent_lose(a, EXCEPTIONS_SELF, EXCEPTIONS_LOSS_DISTINCT, 1);
        return 0;
    }
    name_leaving(a, s, record, marked, addresses, true);
    name_made(a, record, addresses, made, true);
    stack =
        names_stack_of(&a->names, addresses, record->frames, record->leaf_is_call, record->is_cut);
    name_made(a, record, addresses, made, false);
    name_leaving(a, s, record, marked, addresses, false);
    table_u64_put(&s->stacks, hash, stack);
    s->kept += a->names.stacks.count != before; /* not when it was only forgotten */
    return stack;
}

static uint32_t intern(agent *a, const buffer *text)
{
    return text->length == 0 ? 0 : names_intern(&a->names, buffer_text(text), text->length);
}

/* One line for each inner exception, outermost first: "Type: message". */
static uint32_t inner_of(agent *a, const exceptions_state *s, const exception_thrown *record,
                         const WCHAR *units)
{
    buffer text = BUFFER_EMPTY;
    uint32_t id;

    for (size_t i = 0; i < record->inner_count && i < EXCEPTION_INNER; i++) {
        const names_string *type = names_get_string(&a->names, type_of(s, &record->inner[i].class));
        size_t start;

        if (i != 0)
            buffer_append_text(&text, "\n");
        if (type != NULL)
            buffer_append(&text, type->text, type->length);
        if (record->inner[i].units != 0)
            buffer_append_text(&text, ": ");
        start = text.length;
        text_append_utf16(&text, units, record->inner[i].units);
        for (size_t k = start; k < text.length; k++)
            if (text.data[k] == '\n')
                text.data[k] = ' ';
        units += record->inner[i].units;
    }
    id = intern(a, &text);
    buffer_free(&text);
    return id;
}

static void emit(agent *a, exception_row *row)
{
    agent_row(a, EXCEPTIONS_SELF, 0, row->cells);
    if (row->sent != 0)
        agent_count_rows(a, EXCEPTIONS_SELF, -1);
    row->sent = row->cells[FLAGS] | SENT;
}

/* It was replaced, and so were those that the one before it had replaced. */
static void replace(exceptions_state *s, exception_row *row)
{
    for (exception_row *other = s->held; other <= row; other++) {
        if (other != row && (!other->is_found || other->cells[THREAD] != row->cells[THREAD] ||
                             (other->cells[FLAGS] & FLAGS_ENDED) != 0))
            continue;
        other->cells[FLAGS] = (other->cells[FLAGS] & ~(uint64_t)FLAG_UNCAUGHT) | FLAG_REPLACED;
        other->doubted = 0;
    }
}

/* Writes the rows that have come to their end, and each other one once, as it is. Those that were
 * thrown before `until` wait no longer. */
static void emit_held(agent *a, exceptions_state *s, uint64_t until, bool last)
{
    uint64_t now = os_monotonic_ns();
    size_t kept = 0;

    /* one that nobody catches ends the program: there is no later round */
    for (size_t i = 0; i < s->held_count && !last; i++)
        last = (s->held[i].cells[FLAGS] & ~s->held[i].sent & FLAG_UNCAUGHT) != 0;
    for (size_t i = 0; i < s->held_count; i++) {
        exception_row *row = &s->held[i];

        if (row->doubted != 0 && (last || now - row->doubted > (uint64_t)DOUBT_MS * 1000000))
            replace(s, row);
    }
    for (size_t i = 0; i < s->held_count; i++) {
        exception_row *row = &s->held[i];

        if (row->sent != (row->cells[FLAGS] | SENT))
            emit(a, row);
    }
    for (size_t i = 0; i < s->held_count; i++)
        if ((s->held[i].cells[FLAGS] & FLAGS_ENDED) == 0 && s->held[i].cells[TIME] >= until)
            s->held[kept++] = s->held[i];
    s->held_count = kept;
}

static void take_thrown(agent *a, exceptions_state *s, const exception_thrown *record,
                        size_t length)
{
    const uintptr_t *addresses = (const uintptr_t *)(record + 1);
    const WCHAR *units = (const WCHAR *)(const void *)(addresses + record->frames);
    size_t all_units = record->units;
    buffer message = BUFFER_EMPTY;
    exception_row *row;

    if (length < sizeof *record)
        return;
    if (s->held_count == HELD)
        emit_held(a, s, s->held[HELD / 2].cells[TIME], false);
    if (s->held_count == HELD)
        emit_held(a, s, UINT64_MAX, false);
    for (size_t i = 0; i < record->inner_count; i++)
        all_units += record->inner[i].units;
    row = &s->held[s->held_count++];
    memset(row, 0, sizeof *row);
    row->cells[ROW] = record->number;
    row->cells[TIME] = record->time;
    row->cells[THREAD] = record->thread;
    row->cells[TYPE] = type_of(s, &record->class);
    row->cells[STACK] = stack_of(a, s, record, addresses, (const char *)(units + all_units));
    row->cells[COUNT] = 1;
    row->cells[FLAGS] = record->message_is_cut ? FLAG_CUT : 0;
    text_append_utf16(&message, units, record->units);
    row->cells[MESSAGE] = intern(a, &message);
    buffer_free(&message);
    row->cells[INNER] = inner_of(a, s, record, units + record->units);
}

/* The method that catches, by an address in it: that is safe to ask for, the function's id is not
 * (the method may be gone by now). */
static uint32_t catching_method(agent *a, const exceptions_state *s, const exception_end *record)
{
    bool leaving = (record->address & EXCEPTION_LEAVING) != 0;
    uint32_t method = leaving ? 0 : names_known_function(&a->names, record->function);
    const names_frame *frame;

    if (method != 0 || record->address == 0)
        return method;
    frame = names_get_frame(&a->names,
                            leaving ? exception_leaving_frame(&s->leaving, record->address, true)
                                    : names_frame_at(&a->names, record->address, true, 0));
    return frame != NULL && frame->kind == RECORDING_FRAME_MANAGED ? frame->a : 0;
}

/* Those on their way to a catcher, or to the program's end, were replaced by one of their thread
 * that nobody catches. */
static void doubt_others(exceptions_state *s, const exception_row *uncaught)
{
    for (size_t i = 0; i < s->held_count; i++)
        if (&s->held[i] != uncaught &&
            (s->held[i].is_found || (s->held[i].cells[FLAGS] & FLAG_UNCAUGHT) != 0) &&
            s->held[i].cells[THREAD] == uncaught->cells[THREAD] &&
            (s->held[i].cells[FLAGS] & FLAGS_ENDED) == 0)
            s->held[i].doubted = 1;
}

static void take_end(agent *a, exceptions_state *s, unsigned kind, const exception_end *record)
{
    exception_row *row = NULL;

    for (size_t i = s->held_count; i > 0 && row == NULL; i--)
        if (s->held[i - 1].cells[ROW] == record->number)
            row = &s->held[i - 1];
    if (row == NULL)
        return;
    switch (kind) {
    case EXCEPTIONS_RECORD_FOUND:
        row->catcher = catching_method(a, s, record);
        row->is_found = true;
        break;
    case EXCEPTIONS_RECORD_CAUGHT:
        row->cells[FLAGS] = (row->cells[FLAGS] & ~(uint64_t)FLAG_REPLACED) | FLAG_CAUGHT;
        row->cells[CAUGHT_IN] = row->catcher;
        break;
    case EXCEPTIONS_RECORD_UNCAUGHT:
        row->cells[FLAGS] |= FLAG_UNCAUGHT;
        doubt_others(s, row);
        break;
    case EXCEPTIONS_RECORD_RUNTIME:
        row->cells[FLAGS] |= FLAG_RUNTIME;
        break;
    case EXCEPTIONS_RECORD_SEARCHED:
        row->is_searched = true;
        break;
    default:
        row->doubted = kind == EXCEPTIONS_RECORD_DOUBT ? os_monotonic_ns() : 0;
    }
}

static void take_class(agent *a, exceptions_state *s, const exception_class_name *record,
                       size_t length)
{
    if (length < sizeof *record || length - sizeof *record < record->length ||
        record->class.place >= EXCEPTION_CLASSES)
        return;
    s->types[record->class.place] =
        (exception_type){record->class.generation,
                         names_intern(&a->names, (const char *)(record + 1), record->length), true};
}

/* While something comes in, ticks refill the allowances: they come in time. */
static void be_busy(agent *a, exceptions_state *s)
{
    if (s->busy)
        return;
    s->busy = true;
    agent_tick_soon(a);
}

/* Every throw wakes the own thread: nothing has to be looked for. */
unsigned exceptions_longest_wait_ms(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);
    bool quiet = !s->busy && s->held_count == 0;

    s->busy = false;
    return quiet ? AGENT_LONGEST_TICK_MS : AGENT_TICK_MS;
}

void exceptions_take(agent *a, unsigned kind, const void *payload, size_t length)
{
    exceptions_state *s = exceptions_state_of(a);

    be_busy(a, s);
    exception_leaving_look(a, &s->leaving);
    if (kind == EXCEPTIONS_RECORD_LEAVING)
        exception_leaving_take(a, &s->leaving, payload, length);
    else if (kind == EXCEPTIONS_RECORD_THROWN)
        take_thrown(a, s, payload, length);
    else if (kind == EXCEPTIONS_RECORD_CLASS)
        take_class(a, s, payload, length);
    else if (length >= sizeof(exception_end))
        take_end(a, s, kind, payload);
}

/* They were thrown since the last round: in its middle, for all that is known. */
static void put_counted(agent *a, uint32_t type, uint64_t count, uint64_t time)
{
    uint64_t cells[EXCEPTIONS_COLUMNS] = {0};

    cells[TIME] = time;
    cells[TYPE] = type;
    cells[FLAGS] = FLAG_COUNTED;
    cells[COUNT] = count;
    agent_row(a, EXCEPTIONS_SELF, 0, cells);
    agent_count_rows(a, EXCEPTIONS_SELF, (int64_t)count - 1);
}

void exceptions_drain(agent *a, bool last)
{
    exceptions_state *s = exceptions_state_of(a);
    uint64_t now = os_monotonic_ns();
    uint64_t middle = s->drained + (now - s->drained) / 2;
    uint64_t hold = (uint64_t)HOLD_MS * 1000000;
    uint64_t unnamed;

    s->drained = now;
    /* the program's own handler of what nobody catches may end it in order */
    for (size_t i = 0; i < s->held_count && last && atomic_load(&a->phase) == AGENT_ENDING; i++)
        if (s->held[i].is_searched && !s->held[i].is_found &&
            (s->held[i].cells[FLAGS] & (FLAGS_ENDED | FLAG_REPLACED)) == 0)
            s->held[i].cells[FLAGS] |= FLAG_UNCAUGHT;
    emit_held(a, s, now < hold ? 0 : now - hold, last);
    for (uint32_t i = 0; i < EXCEPTION_CLASSES; i++) {
        exception_class class = {i, 0};
        uint64_t count;

        if (exception_classes_take(&s->classes, i, &class.generation, &count)) {
            uint32_t type = type_of(s, &class);

            be_busy(a, s);

            /* a name that comes behind its first count is in the ring: it is met next time */
            if (!s->types[i].told || s->types[i].generation != class.generation)
                exception_classes_return(&s->classes, i, count);
            else
                put_counted(a, type != 0 ? type : names_intern_text(&a->names, "(unknown)"), count,
                            middle);
        }
        exception_classes_recycle(&s->classes, i);
    }
    unnamed = atomic_exchange(&s->unnamed, 0);
    if (unnamed != 0) {
        agent_lose(a, EXCEPTIONS_SELF, EXCEPTIONS_LOSS_CLASSES, unnamed);
        put_counted(a, names_intern_text(&a->names, "(type not kept)"), unnamed, middle);
    }
}
