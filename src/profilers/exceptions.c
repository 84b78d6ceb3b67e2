/*
 * exceptions: every exception thrown, with type, message, stack, inner exceptions, and the method
 * that catches it or that nobody does.
 *
 * On the throwing thread: the exception's class, and an allowance per thread and class. Within the
 * allowance a record with message and stack goes into the ring; beyond it only a counter per class
 * goes up, so that the totals stay exact at any rate. Allowances are refilled by the own thread's
 * tick: no clock is read for an exception that is only counted.
 *
 * Catching is reported by the runtime after the throw, on the same thread (exception_catch.h). Rows
 * wait for it on the own thread. An exception that has searched all frames of its thread ends the
 * program: its row is sent before the runtime goes on to do so.
 *
 * Thread rules: engine.h. What callbacks share is atomic; the rest belongs to the own thread.
 */
#include <pthread.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/snapshot.h"
#include "agent/tally.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "clarinet/names.h"
#include "profilers/exception_catch.h"
#include "profilers/exception_classes.h"
#include "profilers/exception_object.h"
#include "profilers/exception_stack.h"

enum {
    SELF = ENGINE_INDEX_exceptions,
    LOSS_RING = 0,
    LOSS_DISTINCT,
    LOSS_CLASSES,
    LOSS_NO_STACK,
    RECORD_THROWN = 0,
    RECORD_CAUGHT,
    RECORD_UNCAUGHT,
    RECORD_CLASS,
    FLAG_COUNTED = 1,  /* counted only: `count` exceptions without message and stack */
    FLAG_CAUGHT = 2,   /* a managed method catches it */
    FLAG_UNCAUGHT = 4, /* nobody does: it ends the program */
    HELD = 4096,
    MESSAGE_UNITS = 512,
    INNER = 4, /* inner exceptions that are kept */
    INNER_UNITS = 256,
    CLASS_NAME = 1024,
    HOLD_MS = 3000,  /* a row waits so long for its catch */
    HURRY_MS = 2000, /* a program that dies waits so long for its last row */
};

/* How the class of an object is told. */
enum { CLASS_NOT_TRIED, CLASS_BY_WORD, CLASS_BY_ASKING };

enum { TIME, THREAD, TYPE, MESSAGE, STACK, CAUGHT_IN, FLAGS, COUNT, INNER_TEXT, COLUMNS };

static const recording_column EXCEPTION_COLUMNS[COLUMNS] = {
    {RECORDING_TIME, "time", ""},       {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STRING_ID, "type", ""},  {RECORDING_STRING_ID, "message", ""},
    {RECORDING_STACK_ID, "stack", ""},  {RECORDING_METHOD_ID, "caught_in", ""},
    {RECORDING_U64, "flags", ""},       {RECORDING_U64, "count", ""},
    {RECORDING_STRING_ID, "inner", ""},
};
static const recording_table TABLES[] = {{"exceptions", "exceptions", EXCEPTION_COLUMNS, COLUMNS}};
static const char *const LOSSES[] = {
    "ring full",
    "stack not kept: more distinct stacks than allowed",
    "type not kept: too many exception types",
    "stack not available",
};

typedef struct {
    exception_class class;
    uint32_t units;
} inner_part;

/* A record in the ring; `frames` frames and the units of all messages follow, outer first. */
typedef struct {
    uint64_t number;
    uint64_t time;
    exception_class class;
    uint32_t thread;
    uint32_t units;
    uint16_t frames;
    uint16_t inner_count;
    uint16_t cut;
    uint16_t leaf_is_call;
    inner_part inner[INNER];
} thrown;

/* `function` is 0 for one that nobody catches; `address` is one of the catching frame, 0 = none. */
typedef struct {
    uint64_t number;
    FunctionID function;
    uintptr_t address;
} caught;

/* The name of a class, when it is first thrown; `length` bytes follow. */
typedef struct {
    exception_class class;
    uint32_t length;
} class_name;

typedef struct {
    uint64_t number;
    uint64_t cells[COLUMNS];
} held_row;

typedef struct {
    uint32_t generation;
    uint32_t string; /* 0 = not told yet */
} type_name;

typedef struct {
    allowance allowed;
    atomic_uint depth;
    atomic_bool messages;
    atomic_uint class_way;
    exception_layout layout;
    _Atomic uintptr_t main_stack_top;
    atomic_uint_fast64_t number;
    atomic_uint_fast64_t unnamed;  /* counted, but there was no place for its class */
    atomic_int_fast64_t searching; /* recorded ones that look for a catcher */
    exception_catch catch;
    exception_classes classes;
    /* own thread */
    type_name types[EXCEPTION_CLASSES];
    uint64_t distinct;
    table_u64 stacks; /* hash of addresses to stack id */
    uint64_t kept;    /* stacks put there */
    unsigned unloads; /* after how many the table was emptied */
    held_row *held;
    size_t held_count;
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads: classes ---- */

/* Whether the class can never be unloaded: a plain class of a module that stays. */
static bool is_lasting(const clr_info *info, ClassID class_id)
{
    ModuleID module = 0;
    mdTypeDef token = 0;
    uint32_t arguments = 0;
    uint32_t length = 0;
    uint32_t flags = 0;

    return clr_info_get_class_id_info2(info, class_id, &module, &token, NULL, 0, &arguments,
                                       NULL) == S_OK &&
           arguments == 0 &&
           clr_info_get_module_info2(info, module, NULL, 0, &length, NULL, NULL, &flags) == S_OK &&
           (flags & COR_PRF_MODULE_COLLECTIBLE) == 0;
}

/* A class that was not met yet: its name goes into the ring before anybody can find its place. */
static bool meet_class(agent *a, state *s, ClassID class_id, exception_class *class)
{
    char memory[CLASS_NAME];
    class_name *record;
    buffer name;

    if (!exception_classes_claim(&s->classes, class_id, class))
        return false;
    buffer_fix(&name, memory, sizeof memory);
    if (!CLR_OK(clr_append_class(&a->info, class_id, &name)) || name.length == 0) {
        buffer_clear(&name);
        buffer_append_text(&name, "(unknown)");
    }
    record = agent_reserve(a, SELF, sizeof *record + name.length);
    if (record == NULL) {
        exception_classes_abandon(&s->classes, class);
        return false;
    }
    record->class = *class;
    record->length = (uint32_t)name.length;
    memcpy(record + 1, name.data, name.length);
    agent_commit(a, SELF, record, sizeof *record + name.length, RECORD_CLASS,
                 sizeof *record + name.length);
    exception_classes_publish(&s->classes, class, class_id, is_lasting(&a->info, class_id));
    return true;
}

/* The object's first word is its class as the runtime tells it; this is checked with every class
 * that is met, and given up for good where it does not hold. */
static bool class_of(agent *a, state *s, ObjectID object, ClassID *class_id, exception_class *class)
{
    unsigned way = atomic_load_explicit(&s->class_way, memory_order_relaxed);

    *class_id = exception_type_word(object);
    if (way == CLASS_BY_WORD && exception_classes_find(&s->classes, *class_id, class))
        return true;
    if (clr_info_get_class_from_object(&a->info, object, class_id) != S_OK || *class_id == 0)
        return false;
    if (*class_id != exception_type_word(object))
        atomic_store(&s->class_way, CLASS_BY_ASKING);
    else if (way == CLASS_NOT_TRIED)
        atomic_compare_exchange_strong(&s->class_way, &way, CLASS_BY_WORD);
    return exception_classes_find(&s->classes, *class_id, class) ||
           meet_class(a, s, *class_id, class);
}

/* ---- on the target's threads: throwing ---- */

static void count_only(state *s, const exception_class *class)
{
    if (class == NULL || !exception_classes_count(&s->classes, class))
        atomic_fetch_add_explicit(&s->unnamed, 1, memory_order_relaxed);
}

typedef struct {
    exception_text message;
    size_t count; /* of inner exceptions */
    inner_part parts[INNER];
    exception_text texts[INNER];
    size_t units; /* of all */
} contents;

static void read_contents(agent *a, state *s, ClassID class_id, ObjectID object, contents *c)
{
    bool messages = atomic_load_explicit(&s->messages, memory_order_relaxed);

    memset(c, 0, sizeof *c);
    if (!exception_learn(&a->info, &s->layout, class_id))
        return;
    if (messages)
        c->message = exception_message(&s->layout, object, MESSAGE_UNITS);
    c->units = c->message.count;
    while (c->count < INNER && (object = exception_inner(&s->layout, object)) != 0) {
        if (!class_of(a, s, object, &class_id, &c->parts[c->count].class))
            return;
        if (messages)
            c->texts[c->count] = exception_message(&s->layout, object, INNER_UNITS);
        c->parts[c->count].units = (uint32_t)c->texts[c->count].count;
        c->units += c->texts[c->count].count;
        c->count++;
    }
}

static void put_contents(thrown *record, const contents *c, WCHAR *units)
{
    record->units = (uint32_t)c->message.count;
    record->inner_count = (uint16_t)c->count;
    memcpy(record->inner, c->parts, sizeof record->inner);
    if (c->message.count != 0)
        memcpy(units, c->message.units, c->message.count * sizeof *units);
    units += c->message.count;
    for (size_t i = 0; i < c->count; i++) {
        if (c->texts[i].count != 0)
            memcpy(units, c->texts[i].units, c->texts[i].count * sizeof *units);
        units += c->texts[i].count;
    }
}

static void put_stack(agent *a, state *s, uintptr_t thread, thrown *record, snapshot *stack)
{
    uintptr_t top = record->thread == (uint32_t)os_process_id()
                        ? atomic_load_explicit(&s->main_stack_top, memory_order_relaxed)
                        : thread;

    snapshot_walk(&a->info, stack);
    record->frames = (uint16_t)stack->count;
    record->cut = stack->cut;
    record->leaf_is_call = 0;
    if (stack->count != 0) {
        record->leaf_is_call = exception_follows_call(stack->addresses[0]);
        if (exception_correct_leaf(&a->info, stack, top))
            record->leaf_is_call = 1;
    }
}

static void record_thrown(agent *a, state *s, uintptr_t thread, ClassID class_id,
                          const exception_class *class, ObjectID object)
{
    uint32_t depth = atomic_load_explicit(&s->depth, memory_order_relaxed);
    snapshot stack = {.capacity = depth};
    catch_thread *place;
    size_t reserved;
    thrown *record;
    contents c;

    read_contents(a, s, class_id, object, &c);
    reserved = sizeof(thrown) + depth * sizeof(uintptr_t) + c.units * sizeof(WCHAR);
    record = agent_reserve(a, SELF, reserved);
    if (record == NULL) {
        count_only(s, class);
        return;
    }
    record->number = atomic_fetch_add_explicit(&s->number, 1, memory_order_relaxed) + 1;
    record->time = os_monotonic_ns();
    record->class = *class;
    record->thread = (uint32_t)os_thread_id();
    stack.addresses = (uintptr_t *)(record + 1);
    put_stack(a, s, thread, record, &stack);
    put_contents(record, &c, (WCHAR *)(void *)(stack.addresses + stack.count));
    place = catch_find_or_make(&s->catch, thread, atomic_load(&a->tick));
    if (place != NULL) {
        catch_push(place, record->number, stack.outermost);
        atomic_fetch_add_explicit(&s->searching, 1, memory_order_relaxed);
    }
    agent_commit(a, SELF, record, reserved, RECORD_THROWN,
                 sizeof *record + stack.count * sizeof(uintptr_t) + c.units * sizeof(WCHAR));
    agent_wake(a);
}

static void on_thrown(agent *a, ObjectID object)
{
    state *s = state_of(a);
    uintptr_t thread = (uintptr_t)pthread_self();
    exception_class class;
    catch_thread *place;
    ClassID class_id;
    bool known = class_of(a, s, object, &class_id, &class);

    if (known && allowance_take(a, &s->allowed, thread ^ class_id * 31)) {
        record_thrown(a, s, thread, class_id, &class, object);
        return;
    }
    count_only(s, known ? &class : NULL);
    /* what is caught next on this thread is not a recorded one that lies below */
    if (atomic_load_explicit(&s->searching, memory_order_relaxed) == 0)
        return;
    place = catch_find(&s->catch, thread);
    if (place != NULL && atomic_load_explicit(&place->depth, memory_order_relaxed) != 0)
        catch_push(place, 0, 0);
}

/* ---- on the target's threads: catching ---- */

/* This thread's exceptions; NULL when none of them is recorded. */
static catch_thread *own_catches(state *s)
{
    catch_thread *place = NULL;

    if (atomic_load_explicit(&s->searching, memory_order_relaxed) != 0)
        place = catch_find(&s->catch, (uintptr_t)pthread_self());
    return place != NULL && atomic_load_explicit(&place->depth, memory_order_relaxed) != 0 ? place
                                                                                           : NULL;
}

static void put_end(agent *a, unsigned kind, uint64_t number, FunctionID function)
{
    caught *record = agent_reserve(a, SELF, sizeof *record);

    if (record == NULL)
        return;
    record->number = number;
    record->function = function;
    record->address = kind == RECORD_CAUGHT ? snapshot_address_of(&a->info, function) : 0;
    agent_commit(a, SELF, record, sizeof *record, kind, sizeof *record);
}

static void on_catcher_found(agent *a, FunctionID function)
{
    state *s = state_of(a);
    catch_thread *place = own_catches(s);
    uint64_t number = place == NULL ? 0 : catch_pop(place);

    if (number == 0)
        return;
    atomic_fetch_sub_explicit(&s->searching, 1, memory_order_relaxed);
    put_end(a, RECORD_CAUGHT, number, function);
}

/* The runtime is about to end the program. */
static void end_uncaught(agent *a, state *s, catch_thread *place)
{
    uint64_t number = catch_pop(place);

    if (number == 0)
        return;
    atomic_fetch_sub_explicit(&s->searching, 1, memory_order_relaxed);
    put_end(a, RECORD_UNCAUGHT, number, 0);
    agent_hurry(a, HURRY_MS);
}

static void on_search_enter(agent *a, FunctionID function)
{
    catch_thread *place = own_catches(state_of(a));
    catch_entry *entry = place == NULL ? NULL : catch_top(place);
    unsigned left;

    if (entry == NULL || atomic_load(&entry->outermost) != function)
        return;
    left = atomic_load(&entry->frames_to_go);
    if (left == 0)
        left = snapshot_count(&a->info, function);
    if (left == 0)
        return;
    atomic_store(&entry->frames_to_go, left - 1);
    if (left != 1)
        return;
    atomic_store(&entry->outermost, 0); /* once is enough */
    if (exception_may_be_caught_in(&a->info, function))
        atomic_store(&entry->searched_through, true); /* known when the search leaves it */
    else
        end_uncaught(a, state_of(a), place);
}

/* 9.0 and later do not say that the search leaves the last frame when nobody catches. */
static void on_search_leave(agent *a)
{
    catch_thread *place = own_catches(state_of(a));
    catch_entry *entry = place == NULL ? NULL : catch_top(place);

    if (entry != NULL && atomic_load(&entry->searched_through))
        end_uncaught(a, state_of(a), place);
}

static void on_filter_enter(agent *a)
{
    catch_thread *place = own_catches(state_of(a));

    if (place != NULL)
        catch_push_mark(place);
}

static void on_filter_leave(agent *a)
{
    catch_thread *place = own_catches(state_of(a));

    if (place != NULL)
        catch_pop_mark(place);
}

static void on_module_unloading(agent *a)
{
    exception_classes_forget(&state_of(a)->classes);
}

/* ---- on the own thread ---- */

static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL) {
        s = memory_allocate_array(1, sizeof *s);
        if (s == NULL)
            return error_set(e, ERROR_MEMORY, "no memory for the profiler 'exceptions'");
        s->held = memory_allocate_array(HELD, sizeof *s->held);
        if (s->held == NULL) {
            memory_free(s);
            return error_set(e, ERROR_MEMORY, "no memory for the profiler 'exceptions'");
        }
        table_u64_init(&s->stacks);
        atomic_store(&s->main_stack_top, exception_main_stack_top());
        a->engines[SELF].state = s;
    }
    allowance_reset(&s->allowed);
    exception_classes_reset(&s->classes);
    catch_reset(&s->catch);
    memset(s->types, 0, sizeof s->types);
    atomic_store(&s->unnamed, 0);
    atomic_store(&s->searching, 0);
    s->held_count = 0;
    return 0;
}

static void configure(agent *a)
{
    state *s = state_of(a);
    const catalogue_selected *user;
    uint64_t stacks = 1;
    uint64_t depth = 1;
    bool messages = false;
    size_t position = 0;

    s->distinct = 1;
    while ((user = agent_user(a, SELF, &position)) != NULL) {
        uint64_t wanted = catalogue_number(user, "stacks");
        uint64_t frames = catalogue_number(user, "depth");
        uint64_t distinct = catalogue_number(user, "distinct");

        stacks = wanted > stacks ? wanted : stacks;
        depth = frames > depth ? frames : depth;
        s->distinct = distinct > s->distinct ? distinct : s->distinct;
        messages = messages || catalogue_number(user, "messages") != 0;
    }
    allowance_set(&s->allowed, stacks);
    atomic_store(&s->depth, (unsigned)depth);
    atomic_store(&s->messages, messages);
}

static void stop(agent *a)
{
    state *s = state_of(a);

    table_u64_free(&s->stacks); /* ids may start anew with the next session */
    table_u64_init(&s->stacks);
    s->kept = 0;
    s->held_count = 0;
}

static void destroy(agent *a)
{
    state *s = state_of(a);

    table_u64_free(&s->stacks);
    memory_free(s->held);
    memory_free(s);
    a->engines[SELF].state = NULL;
}

/* The string of a class; 0 when its name has not come. */
static uint32_t type_of(const state *s, const exception_class *class)
{
    const type_name *name;

    if (class->place >= EXCEPTION_CLASSES)
        return 0;
    name = &s->types[class->place];
    return name->generation == class->generation ? name->string : 0;
}

static uint32_t stack_of(agent *a, state *s, const thrown *record, const uintptr_t *addresses)
{
    uint64_t hash = table_hash_bytes(addresses, record->frames * sizeof *addresses);
    uint64_t known;
    uint32_t stack;

    if (record->frames == 0) {
        agent_lose(a, SELF, LOSS_NO_STACK, 1);
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
        agent_lose(a, SELF, LOSS_DISTINCT, 1);
        return 0;
    }
    stack = names_stack_of(&a->names, addresses, record->frames, record->leaf_is_call != 0,
                           record->cut != 0);
    table_u64_put(&s->stacks, hash, stack);
    s->kept++;
    return stack;
}

static uint32_t intern(agent *a, const buffer *text)
{
    return text->length == 0 ? 0 : names_intern(&a->names, buffer_text(text), text->length);
}

/* One line for each inner exception, outermost first: "Type: message". */
static uint32_t inner_of(agent *a, const state *s, const thrown *record, const WCHAR *units)
{
    buffer text = BUFFER_EMPTY;
    uint32_t id;

    for (size_t i = 0; i < record->inner_count && i < INNER; i++) {
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

static bool is_decided(const held_row *row)
{
    return (row->cells[FLAGS] & (FLAG_CAUGHT | FLAG_UNCAUGHT)) != 0;
}

/* Writes the rows whose end is known, or that were thrown before `until`; the others wait on. */
static void emit_held(agent *a, state *s, uint64_t until)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->held_count; i++) {
        if (is_decided(&s->held[i]) || s->held[i].cells[TIME] < until)
            agent_row(a, SELF, 0, s->held[i].cells);
        else
            s->held[kept++] = s->held[i];
    }
    s->held_count = kept;
}

static void take_thrown(agent *a, state *s, const thrown *record, size_t length)
{
    const uintptr_t *addresses = (const uintptr_t *)(record + 1);
    const WCHAR *units = (const WCHAR *)(const void *)(addresses + record->frames);
    buffer message = BUFFER_EMPTY;
    held_row *row;

    if (length < sizeof *record)
        return;
    if (s->held_count == HELD)
        emit_held(a, s, s->held[HELD / 2].cells[TIME]);
    if (s->held_count == HELD)
        emit_held(a, s, UINT64_MAX);
    row = &s->held[s->held_count++];
    memset(row, 0, sizeof *row);
    row->number = record->number;
    row->cells[TIME] = record->time;
    row->cells[THREAD] = record->thread;
    row->cells[TYPE] = type_of(s, &record->class);
    row->cells[STACK] = stack_of(a, s, record, addresses);
    row->cells[COUNT] = 1;
    text_append_utf16(&message, units, record->units);
    row->cells[MESSAGE] = intern(a, &message);
    buffer_free(&message);
    row->cells[INNER_TEXT] = inner_of(a, s, record, units + record->units);
}

/* The method that catches, by an address in it: that is safe to ask for, the function's id is not
 * (the method may be gone by now). */
static uint32_t catching_method(agent *a, const caught *record)
{
    uint32_t method = names_known_function(&a->names, record->function);
    const names_frame *frame;

    if (method != 0 || record->address == 0)
        return method;
    frame = names_get_frame(&a->names, names_frame_at(&a->names, record->address, true));
    return frame != NULL && frame->kind == RECORDING_FRAME_MANAGED ? frame->a : 0;
}

static void take_end(agent *a, state *s, const caught *record, uint64_t flag)
{
    for (size_t i = s->held_count; i > 0; i--) {
        held_row *row = &s->held[i - 1];

        if (row->number != record->number)
            continue;
        row->cells[FLAGS] |= flag;
        if (flag == FLAG_CAUGHT)
            row->cells[CAUGHT_IN] = catching_method(a, record);
        return;
    }
}

static void take_class(agent *a, state *s, const class_name *record, size_t length)
{
    if (length < sizeof *record || length - sizeof *record < record->length ||
        record->class.place >= EXCEPTION_CLASSES)
        return;
    s->types[record->class.place] =
        (type_name){record->class.generation,
                    names_intern(&a->names, (const char *)(record + 1), record->length)};
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    state *s = state_of(a);

    if (kind == RECORD_THROWN)
        take_thrown(a, s, payload, length);
    else if (kind == RECORD_CLASS)
        take_class(a, s, payload, length);
    else if (length >= sizeof(caught))
        take_end(a, s, payload, kind == RECORD_CAUGHT ? FLAG_CAUGHT : FLAG_UNCAUGHT);
}

static void put_counted(agent *a, uint32_t type, uint64_t count)
{
    uint64_t cells[COLUMNS] = {0};

    cells[TIME] = os_monotonic_ns();
    cells[TYPE] = type;
    cells[FLAGS] = FLAG_COUNTED;
    cells[COUNT] = count;
    agent_row(a, SELF, 0, cells);
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();
    uint64_t hold = (uint64_t)HOLD_MS * 1000000;
    uint64_t unnamed;

    emit_held(a, s, last ? UINT64_MAX : now < hold ? 0 : now - hold);
    for (uint32_t i = 0; i < EXCEPTION_CLASSES; i++) {
        exception_class class = {i, 0};
        uint64_t count;

        if (exception_classes_take(&s->classes, i, &class.generation, &count)) {
            /* a name that comes behind its first count is in the ring: it is met next time */
            uint32_t type = type_of(s, &class);

            put_counted(a, type != 0 ? type : names_intern_text(&a->names, "(unknown)"), count);
        }
        exception_classes_recycle(&s->classes, i);
    }
    unnamed = atomic_exchange(&s->unnamed, 0);
    if (unnamed != 0) {
        agent_lose(a, SELF, LOSS_CLASSES, unnamed);
        put_counted(a, names_intern_text(&a->names, "(type not kept)"), unnamed);
    }
}

const engine ENGINE_exceptions = {
    .name = "exceptions",
    .mask_low =
        COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_MODULE_LOADS,
    .mask_high = 0,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .loss_count = sizeof LOSSES / sizeof *LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .destroy = destroy,
    .on_exception_thrown = on_thrown,
    .on_exception_catcher_found = on_catcher_found,
    .on_exception_search_enter = on_search_enter,
    .on_exception_search_leave = on_search_leave,
    .on_exception_filter_enter = on_filter_enter,
    .on_exception_filter_leave = on_filter_leave,
    .on_module_unloading = on_module_unloading,
};
