/*
 * exceptions: every exception thrown, with type, message, stack, inner exceptions, and the method
 * that catches it or that nobody does.
 *
 * On the throwing thread: the exception's class, and an allowance per thread and class. Within the
 * allowance a record with message and stack goes into the ring; beyond it only a counter per class
 * goes up, so that the totals stay exact at any rate. Allowances are refilled by the own thread's
 * tick: no clock is read for an exception that is only counted.
 *
 * What becomes of it is reported by the runtime after the throw, on the same thread
 * (exception_catch.h); rows wait for it on the own thread. First a catcher is searched for; one
 * that is found counts when it is entered: a finally block on the way may throw another exception,
 * which takes the place of the first. An exception that is unwound although no catcher was found
 * was taken by the runtime itself; where the search went through all frames of the thread, it ends
 * the program: its row is sent before the runtime goes on to do so.
 *
 * This file holds the callbacks, on the target's threads; the own thread's half is
 * exceptions_rows.c. Thread rules: engine.h. What callbacks share is atomic.
 */
#include <pthread.h>
#include <string.h>

#include "agent/snapshot.h"
#include "base/os.h"
#include "clarinet/names.h"
#include "profilers/exception_stack.h"
#include "profilers/exceptions_private.h"

enum {
    BLOCK_SLACK = 512, /* bytes; a block inside another one runs further down the stack */
    MESSAGE_UNITS = 512,
    INNER_UNITS = 256,
    CLASS_NAME = 1024,
    MADE_NAMES = 1024,
    HURRY_MS = 2000,  /* a program that dies waits so long for its last row */
    DOUBT_TICKS = 30, /* after so many a doubtful one is taken for replaced */
    MEETINGS = 4,     /* so often a class is met that is forgotten each time */
};

/* How the class of an object is told. */
enum { CLASS_NOT_TRIED, CLASS_BY_WORD, CLASS_BY_ASKING };

static const char LOSSES[] = "ring full\0"
                             "stack not kept: more distinct stacks than allowed\0"
                             "type not kept: too many exception types\0"
                             "stack not available\0";

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

/* A class that was not met yet: its name goes into the ring before anybody can find its place.
 * Small instead of fast: once per class. */
__attribute__((cold, noinline)) static bool meet_class(agent *a, exceptions_state *s,
                                                       ClassID class_id, exception_class *class)
{
    char memory[CLASS_NAME];
    exception_class_name *record;
    buffer name;

    if (!exception_classes_claim(&s->classes, class_id, class))
        return false;
    buffer_fix(&name, memory, sizeof memory);
    if (!CLR_OK(clr_append_class(&a->info, class_id, &name)) || name.length == 0) {
        buffer_clear(&name);
        buffer_append_text(&name, "(unknown)");
    }
    record = agent_reserve(a, EXCEPTIONS_SELF, sizeof *record + name.length);
    if (record == NULL) {
        exception_classes_abandon(&s->classes, class);
        return false;
    }
    record->class = *class;
    record->length = (uint32_t)name.length;
    memcpy(record + 1, name.data, name.length);
    agent_commit(a, EXCEPTIONS_SELF, record, sizeof *record + name.length, EXCEPTIONS_RECORD_CLASS,
                 sizeof *record + name.length);
    exception_classes_publish(&s->classes, class, class_id, is_lasting(&a->info, class_id));
    return true;
}

/* The object's first word is its class as the runtime tells it; this is checked with every class
 * that is met, and given up for good where it does not hold. */
static bool class_of(agent *a, exceptions_state *s, ObjectID object, ClassID *class_id,
                     exception_class *class)
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

/* A class that was forgotten since it was found is met again: its place may be another's by now. */
static void count_only(agent *a, exceptions_state *s, ObjectID object, bool known,
                       exception_class class)
{
    ClassID class_id;

    for (int tries = 0; known && tries < MEETINGS; tries++) {
        if (exception_classes_count(&s->classes, &class))
            return;
        known = class_of(a, s, object, &class_id, &class);
    }
    atomic_fetch_add_explicit(&s->unnamed, 1, memory_order_relaxed);
}

typedef struct {
    exception_text message;
    size_t count; /* of inner exceptions */
    exception_inner_part parts[EXCEPTION_INNER];
    exception_text texts[EXCEPTION_INNER];
    size_t units; /* of all */
} contents;

static void read_contents(agent *a, exceptions_state *s, ClassID class_id, ObjectID object,
                          contents *c)
{
    bool messages = atomic_load_explicit(&s->messages, memory_order_relaxed);

    memset(c, 0, sizeof *c);
    if (!exception_learn(&a->info, &s->layout, class_id))
        return;
    if (messages)
        c->message = exception_message(&s->layout, object, MESSAGE_UNITS);
    c->units = c->message.count;
    while (c->count < EXCEPTION_INNER && (object = exception_inner(&s->layout, object)) != 0) {
        if (!class_of(a, s, object, &class_id, &c->parts[c->count].class))
            return;
        if (messages)
            c->texts[c->count] = exception_message(&s->layout, object, INNER_UNITS);
        c->parts[c->count].units = (uint32_t)c->texts[c->count].count;
        c->units += c->texts[c->count].count;
        c->count++;
    }
}

static void put_contents(exception_thrown *record, const contents *c, WCHAR *units)
{
    record->units = (uint32_t)c->message.count;
    record->message_is_cut = c->message.is_cut;
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

/* Whether the leaf is a call. */
static bool walk(agent *a, exceptions_state *s, uintptr_t thread, uint32_t os_thread,
                 snapshot *stack, exception_made *made)
{
    uintptr_t top = os_thread == (uint32_t)os_process_id()
                        ? atomic_load_explicit(&s->main_stack_top, memory_order_relaxed)
                        : thread;

    snapshot_walk(&a->info, stack);
    return stack->count != 0 && exception_correct_stack(&a->info, stack, top, made);
}

/* The names of the stack's methods that were made at run time: later they may be gone. */
static void name_made(agent *a, const exception_made *made, buffer *text)
{
    for (size_t i = 0; i < made->count; i++) {
        char memory[MADE_NAMES / 4];
        buffer parameters;

        buffer_fix(&parameters, memory, sizeof memory);
        clr_append_function(&a->info, made->functions[i], 0, text, &parameters, NULL);
        buffer_append(text, "", 1);
        buffer_append(text, parameters.data, parameters.length);
        buffer_append(text, "", 1);
    }
}

static void mark_leaving(agent *a, exceptions_state *s, const snapshot *stack, bool leaf_is_call)
{
    uintptr_t callee = 0;

    for (size_t i = 0; i < stack->count; i++) {
        uintptr_t address = stack->addresses[i];

        stack->addresses[i] = exception_leaving_mark(a, &s->leaving, EXCEPTIONS_RECORD_LEAVING,
                                                     address, i != 0 || leaf_is_call, callee);
        callee = address - 1;
    }
}

/* The latest ones of which nothing more is to be heard. */
static void drop_old(agent *a, exceptions_state *s, catch_thread *place)
{
    catch_entry *entry;

    catch_drop_ended(&s->catch, place);
    entry = catch_top(place);
    if (entry != NULL && atomic_load(&entry->doubtful) &&
        atomic_load(&a->tick) - atomic_load(&entry->tick) > DOUBT_TICKS)
        catch_pop(&s->catch, place);
}

/* false = there is no room for it. The last quarter of the ring is for names of classes and for
 * what became of those that are in it: an own thread that gets no time costs stacks, not names. */
static bool record_thrown(agent *a, exceptions_state *s, uintptr_t thread, ClassID class_id,
                          const exception_class *class, ObjectID object)
{
    uintptr_t addresses[EXCEPTIONS_MOST_FRAMES];
    snapshot stack = {.addresses = addresses,
                      .capacity = atomic_load_explicit(&s->depth, memory_order_relaxed)};
    uint32_t os_thread = (uint32_t)os_thread_id();
    catch_thread *place;
    exception_made made = {.count = 0};
    char names_memory[MADE_NAMES];
    buffer made_names;
    size_t length;
    exception_thrown *record;
    bool leaf_is_call;
    WCHAR *units;
    contents c;

    if (ring_fill(&a->events) > AGENT_RING_SIZE / 4 * 3) {
        agent_lose(a, EXCEPTIONS_SELF, EXCEPTIONS_LOSS_RING, 1);
        return false;
    }
    leaf_is_call = walk(a, s, thread, os_thread, &stack, &made);
    read_contents(a, s, class_id, object, &c);
    buffer_fix(&made_names, names_memory, sizeof names_memory);
    name_made(a, &made, &made_names);
    if (buffer_failed(&made_names))
        made.count = made_names.length = 0; /* their texts are not whole */
    mark_leaving(a, s, &stack, leaf_is_call);
    length = sizeof *record + stack.count * sizeof *addresses + c.units * sizeof(WCHAR) +
             made_names.length;
    record = agent_reserve(a, EXCEPTIONS_SELF, length);
    if (record == NULL)
        return false;
    record->number = atomic_fetch_add_explicit(&s->number, 1, memory_order_relaxed) + 1;
    record->time = os_monotonic_ns();
    record->class = *class;
    record->thread = os_thread;
    record->frames = (uint16_t)stack.count;
    record->is_cut = stack.cut;
    record->leaf_is_call = leaf_is_call;
    memcpy(record + 1, addresses, stack.count * sizeof *addresses);
    units = (WCHAR *)((uintptr_t *)(record + 1) + stack.count);
    put_contents(record, &c, units);
    record->made_count = (uint8_t)made.count;
    record->made_length = (uint32_t)made_names.length;
    for (size_t i = 0; i < made.count; i++)
        record->made_frames[i] = (uint16_t)made.frames[i];
    memcpy(units + c.units, made_names.data, made_names.length);
    place = catch_find_or_make(&s->catch, thread, atomic_load(&a->tick));
    if (place != NULL) {
        drop_old(a, s, place);
        catch_push(&s->catch, place, record->number, stack.outermost, atomic_load(&a->tick));
    }
    agent_commit(a, EXCEPTIONS_SELF, record, length, EXCEPTIONS_RECORD_THROWN, length);
    agent_tell_news(a);
    return true;
}

/* This thread's exceptions; NULL when none of them is recorded. */
static catch_thread *own_catches(exceptions_state *s)
{
    catch_thread *place = NULL;

    if (atomic_load_explicit(&s->catch.busy, memory_order_relaxed) != 0)
        place = catch_find(&s->catch, (uintptr_t)pthread_self());
    return place != NULL && atomic_load_explicit(&place->depth, memory_order_relaxed) != 0 ? place
                                                                                           : NULL;
}

void exceptions_on_thrown(agent *a, ObjectID object)
{
    exceptions_state *s = exceptions_state_of(a);
    uintptr_t thread = (uintptr_t)pthread_self();
    exception_class class = {0, 0};
    catch_thread *place;
    ClassID class_id;
    bool known = class_of(a, s, object, &class_id, &class);

    if (known && allowance_take(a, &s->allowed, thread ^ class_id * 31) &&
        record_thrown(a, s, thread, class_id, &class, object))
        return;
    count_only(a, s, object, known, class);
    agent_tell_news(a);
    /* what is caught next on this thread is not a recorded one that lies below */
    place = own_catches(s);
    if (place == NULL)
        return;
    drop_old(a, s, place);
    catch_push(&s->catch, place, 0, 0, atomic_load(&a->tick));
}

/* ---- on the target's threads: what becomes of it ---- */

/* This thread's latest exception whose fate is open, also one that is only counted; NULL when none
 * is recorded, or a filter has just begun. */
static catch_entry *open_exception(exceptions_state *s, catch_thread **place)
{
    *place = own_catches(s);
    if (*place == NULL)
        return NULL;
    catch_drop_ended(&s->catch, *place);
    return catch_top(*place);
}

static void put_end(agent *a, unsigned kind, uint64_t number, FunctionID function)
{
    uintptr_t address = number == 0 || function == 0 ? 0 : snapshot_address_of(&a->info, function);
    exception_end *record;

    if (address != 0)
        address = exception_leaving_mark(a, &exceptions_state_of(a)->leaving,
                                         EXCEPTIONS_RECORD_LEAVING, address, true, 0);
    record = number == 0 ? NULL : agent_reserve(a, EXCEPTIONS_SELF, sizeof *record);
    if (record == NULL)
        return;
    record->number = number;
    record->function = function;
    record->address = address;
    agent_commit(a, EXCEPTIONS_SELF, record, sizeof *record, kind, sizeof *record);
}

void exceptions_on_catcher_found(agent *a, FunctionID function)
{
    catch_thread *place;
    catch_entry *entry = open_exception(exceptions_state_of(a), &place);

    if (entry == NULL)
        return;
    atomic_store(&entry->found, true);
    put_end(a, EXCEPTIONS_RECORD_FOUND, atomic_load(&entry->number), function);
}

void exceptions_on_caught(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);
    catch_thread *place;
    catch_entry *entry = open_exception(s, &place);

    if (entry == NULL)
        return;
    put_end(a, EXCEPTIONS_RECORD_CAUGHT, catch_pop(&s->catch, place), 0);
    agent_tell_news(a);
    entry = catch_top(place);
    if (entry == NULL || !atomic_load(&entry->found) || atomic_exchange(&entry->doubtful, true))
        return;
    put_end(a, EXCEPTIONS_RECORD_DOUBT, atomic_load(&entry->number), 0);
}

/* A place on the stack of the runtime that runs a block: the same at its end, deeper for a block
 * that runs inside it. */
static uintptr_t block_place(void)
{
    return (uintptr_t)__builtin_frame_address(0);
}

void exceptions_on_finally_enter(agent *a)
{
    catch_thread *place;
    catch_entry *entry = open_exception(exceptions_state_of(a), &place);

    if (entry != NULL)
        atomic_store(&entry->block, block_place());
}

void exceptions_on_finally_leave(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);
    catch_thread *place;
    catch_entry *entry = open_exception(s, &place);
    uintptr_t block = entry != NULL ? block_place() - BLOCK_SLACK : 0;

    /* the block of one whose way ended inside this block was left by another exception */
    while (entry != NULL && atomic_load(&entry->doubtful) && atomic_load(&entry->block) != 0 &&
           atomic_load(&entry->block) < block) {
        catch_pop(&s->catch, place);
        entry = catch_top(place);
    }
    if (entry != NULL && atomic_exchange(&entry->doubtful, false))
        put_end(a, EXCEPTIONS_RECORD_GOES_ON, atomic_load(&entry->number), 0);
}

/* The runtime is about to end the program. */
static void end_uncaught(agent *a, catch_entry *entry)
{
    uint64_t number = atomic_load(&entry->number);

    atomic_store(&entry->ended, true);
    atomic_store(&entry->uncaught, true);
    if (number == 0)
        return;
    put_end(a, EXCEPTIONS_RECORD_UNCAUGHT, number, 0);
    agent_hurry(a, HURRY_MS);
}

void exceptions_on_search_enter(agent *a, FunctionID function)
{
    catch_thread *place = own_catches(exceptions_state_of(a));
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
    if (!exception_may_be_caught_in(&a->info, function)) {
        end_uncaught(a, entry);
        return;
    }
    atomic_store(&entry->searched_through, true); /* known when the search leaves it */
    put_end(a, EXCEPTIONS_RECORD_SEARCHED, atomic_load(&entry->number), 0);
}

/* The latest exception, when no catcher was found for it and nothing told yet. */
static catch_entry *without_catcher(agent *a, catch_thread **place)
{
    catch_entry *entry;

    *place = own_catches(exceptions_state_of(a));
    entry = *place == NULL ? NULL : catch_top(*place);
    return entry == NULL || atomic_load(&entry->found) || atomic_load(&entry->ended) ? NULL : entry;
}

/* 8.0 says that the search leaves the last frame when nobody catches. */
void exceptions_on_search_leave(agent *a)
{
    catch_thread *place;
    catch_entry *entry = without_catcher(a, &place);

    if (entry != NULL && atomic_load(&entry->searched_through) && !catch_is_in_filter(place))
        end_uncaught(a, entry);
}

/* The finally blocks on the way of one that nobody catches: what one of them throws takes its
 * place, and the program may go on. */
static void go_on_uncaught(catch_thread *place)
{
    catch_entry *entry = place == NULL ? NULL : catch_top(place);

    if (entry == NULL || !atomic_exchange(&entry->uncaught, false))
        return;
    atomic_store(&entry->found, true);
    atomic_store(&entry->ended, false);
}

/* Later runtimes unwind it, when they have told the program's handlers and printed it. */
void exceptions_on_unwind(agent *a)
{
    catch_thread *place;
    catch_entry *entry = without_catcher(a, &place);

    if (entry == NULL) {
        go_on_uncaught(place);
        return;
    }
    if (atomic_load(&entry->searched_through) && !catch_is_in_filter(place)) {
        end_uncaught(a, entry);
        go_on_uncaught(place);
        return;
    }
    atomic_store(&entry->ended, true);
    put_end(a, EXCEPTIONS_RECORD_RUNTIME, atomic_load(&entry->number), 0);
}

void exceptions_on_filter_enter(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);
    catch_thread *place = own_catches(s);

    if (place != NULL)
        catch_push_mark(&s->catch, place);
}

/* What was thrown in the filter and is still open goes no further: 10.0 does not unwind it when
 * that filter runs inside another one. */
void exceptions_on_filter_leave(agent *a)
{
    exceptions_state *s = exceptions_state_of(a);
    catch_thread *place = own_catches(s);
    catch_entry *entry;

    if (place == NULL || !catch_is_in_filter(place))
        return;
    for (; (entry = catch_top(place)) != NULL; catch_pop(&s->catch, place))
        if (!atomic_load(&entry->ended) && !atomic_load(&entry->doubtful))
            put_end(
                a, atomic_load(&entry->found) ? EXCEPTIONS_RECORD_DOUBT : EXCEPTIONS_RECORD_RUNTIME,
                atomic_load(&entry->number), 0);
    catch_pop_mark(&s->catch, place);
}

static void on_module_loaded(agent *a, ModuleID module)
{
    exception_leaving_loaded(a, &exceptions_state_of(a)->leaving, module);
}

static void on_module_unloading(agent *a)
{
    exception_classes_forget(&exceptions_state_of(a)->classes);
    exception_leaving_forget(&exceptions_state_of(a)->leaving);
}

const engine ENGINE_exceptions = {
    .name = "exceptions",
    .mask_low =
        COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_MODULE_LOADS,
    .mask_high = 0,
    .tables = &EXCEPTIONS_TABLE,
    .table_count = 1,
    .losses = LOSSES,
    .start = exceptions_start,
    .stop = exceptions_stop,
    .configure = exceptions_configure,
    .record = exceptions_take,
    .drain = exceptions_drain,
    .longest_wait_ms = exceptions_longest_wait_ms,
    .destroy = exceptions_destroy,
    .on_module_loaded = on_module_loaded,
    .on_module_unloading = on_module_unloading,
};
