/* import_private: shared by the files of the import of event files; see import.h. */
#ifndef CLARINET_DIAGNOSTICS_IMPORT_PRIVATE_H
#define CLARINET_DIAGNOSTICS_IMPORT_PRIVATE_H

#include "base/reader.h"
#include "base/table.h"
#include "diagnostics/class_memory.h"
#include "diagnostics/heap_texts.h"
#include "diagnostics/heap_writer.h"
#include "diagnostics/import.h"
#include "diagnostics/nettrace.h"
#include "recording/encode.h"

/* Tables that are made; their ids in the recording are one more. */
typedef enum {
    IMPORT_CPU,
    IMPORT_WALL,
    IMPORT_EXCEPTIONS,
    IMPORT_WAITS,
    IMPORT_ALLOCATIONS,
    IMPORT_COMPILATIONS,
    IMPORT_COLLECTIONS,
    IMPORT_PAUSES,
    IMPORT_REQUESTS,
    IMPORT_COUNTERS,
    IMPORT_METERS,
    IMPORT_TABLES
} import_table;

/* Chunks of one kind, one after the other. */
typedef struct {
    buffer out;
    size_t chunk;
    bool is_open;
} import_chunks;

typedef struct {
    recording_rows rows;
    buffer out;
    uint64_t count;
    bool is_open;
} import_rows;

typedef struct {
    uint64_t start;
    uint64_t size;
    uint32_t method;
    uint32_t map_count; /* places of this code whose IL is known */
    size_t map;         /* in maps: their IL offsets, then their places in the code */
} import_code;

/* Strings, methods, code and stacks; see import_names.c. */
typedef struct {
    table_text string_ids;
    const char **string_texts; /* of id - 1; they are the table's */
    size_t string_capacity;
    import_chunks strings;
    table_u64 module_ids;   /* the runtime's id → ours */
    table_u64 module_names; /* the runtime's id → string */
    import_chunks modules;
    uint32_t module_count;
    table_u64 method_ids;
    import_chunks methods;
    uint32_t method_count;
    import_code *code;
    size_t code_count, code_capacity;
    buffer maps;
    uint64_t map_method; /* whose map was told last; its code comes next */
    size_t map;
    uint32_t map_count;
    table_u64 address_ids; /* address → frame */
    uint64_t *addresses;   /* of frame index + 1 */
    size_t address_count, address_capacity;
    table_u64 stack_ids; /* parent << 32 | frame → stack */
    import_chunks stacks;
    uint32_t stack_count;
    buffer nodes;          /* of stack - 1: u32 parent, u32 frame */
    table_u64 dispatching; /* methods of the runtime that bring exceptions to their catchers */
    buffer text;           /* scratch, as the next two */
    buffer method;
    buffer spelled;
    bool failed; /* no memory */
} import_names;

/* What is known of a thread. */
typedef struct {
    uint64_t sampled;    /* when last; 0 = never */
    uint64_t wait_begin; /* of samples outside of managed code that are one row */
    uint64_t wait_weight;
    uint32_t wait_stack;
    bool has_wait;
    bool is_contended;
    uint64_t contention_begin;
    uint32_t contention_stack;
    uint64_t contention_owner;
} import_thread;

/* A method whose compilation has begun. */
typedef struct {
    uint64_t thread;
    uint64_t method;
    uint64_t time;
    uint64_t inside; /* of other compilations */
    uint32_t il_size;
} import_compiling;

enum { IMPORT_COMPILING = 256 };

/* An event that is kept until all are there: threads are mixed in the stream. */
typedef struct {
    uint64_t time;
    uint64_t thread;
    uint64_t activity; /* of a request's: 0 = none */
    uint64_t related;
    size_t offset; /* of its bytes; also the order among equal times */
    uint32_t length;
    uint32_t id;
    uint32_t stack;
} import_kept;

typedef struct {
    import_kept *events;
    size_t count, capacity;
    buffer bytes;
    bool failed; /* no memory */
} import_list;

/* A node of the heap dump that waits for its references. */
typedef struct {
    uint64_t address, size, type, edges;
} import_node;

/* Where objects of a type keep what, from the process's memory; see import_layout.c. */
typedef struct {
    class_memory_shape shape;
    bool is_read;
    bool is_wanted;  /* a person wants to see the values of its fields */
    bool is_counted; /* it is a collection that counts its elements */
    bool has_places; /* one of its objects was told with the places of its references */
    bool has_values; /* … and with values */
} import_layout;

/* The name of a place; see import_fields.c. */
typedef struct {
    uint32_t type, place, name;
    uint32_t kind; /* CorElementType of a value's, 0 = of a reference */
} import_field;

/* Where a static field of a generic class is, or one of threads; see import_places.c. */
typedef struct {
    uint64_t slot; /* 0 = of threads */
    uint32_t name;
    uint32_t index, thread_index;
} import_place;

/* What is needed to name a type of the heap dump. */
typedef struct {
    uint64_t module, element; /* the runtime's ids; element: of an array, else 0 */
    uint32_t definition;      /* token */
    uint32_t token;           /* the same of one that may be nested, else 0 */
    uint32_t text;            /* string, as the runtime spelled it; only of such a one */
    bool is_whole;            /* its outer classes were put before it */
    heap_texts_kind kind;
    uint8_t shape;         /* CorElementType of its instances; 0 = the type was not told */
    uint8_t rank;          /* of an array with bounds, else 0 */
    uint32_t flags;        /* RECORDING_TYPE_…, as far as the events tell them */
    bool has_unread_state; /* of one of its objects it is not known whether it was disposed */
    import_layout layout;
    size_t parameters; /* index of its type arguments */
    uint32_t parameter_count;
} import_type;

enum { IMPORT_VALUES = 256, IMPORT_VALUES_IN_ALL = 1 << 20 }; /* words */

/* A static field that holds an object; see import_statics.c. */
typedef struct {
    uint64_t slot, object;
    uint64_t type; /* the runtime's id, of the object */
    uint32_t name; /* string: the bare one */
} import_static;

/* The heap dump; see import_heap.c. */
typedef struct {
    heap_writer writer;
    table_u64 type_numbers; /* the runtime's id → number of the writer's types */
    import_type *types;     /* by that number */
    size_t type_capacity;
    import_namer namer;
    heap_texts texts;
    uint64_t *places; /* of the object in hand */
    size_t place_capacity;
    uint32_t words[IMPORT_VALUES]; /* its values */
    uint32_t values_left;          /* words */
    const char *values;            /* names of types, by commas; NULL = none */
    bool has_short_rows;           /* the runtime is one before 9.0 */
    import_field *fields;
    size_t field_count, field_capacity;
    table_u64 static_names; /* slot → string: of fields that the events tell too */
    import_place *static_places;
    size_t static_place_count, static_place_capacity;
    uint64_t *parameters; /* of all types: the runtime's ids */
    size_t parameter_count, parameter_capacity;
    table_u64 functions; /* that have a root on their stack */
    import_node *nodes;
    size_t node_next, node_count, node_capacity;
    uint64_t *edges; /* targets */
    size_t edge_next, edge_count, edge_capacity;
    import_static *statics; /* in the order in which they were told */
    size_t static_count, static_capacity;
    uint32_t next_nodes, next_edges; /* numbers of the events */
    uint64_t gaps;                   /* in them */
    uint64_t begin, end;             /* times */
    bool has_nodes;
    bool tells_end; /* begins and ends of collections are in the stream */
    bool is_over;   /* the collection of the walk has ended */
    bool failed;    /* no memory */
} import_heap;

struct event_import {
    nettrace *parser;
    nettrace_trace trace;
    bool has_trace;
    bool failed; /* no memory */
    bool without_messages;
    bool is_asked_for; /* the stream; else a file */
    import_names names;
    import_rows tables[IMPORT_TABLES];
    table_u64 stack_cache; /* the stream's stack id → ours, up to the next sequence point */
    table_u64 thread_index;
    import_thread *threads;
    uint64_t *thread_ids;
    size_t thread_count, thread_capacity;
    import_compiling compiling[IMPORT_COMPILING];
    size_t compiling_count;
    bool saw_compiling;
    size_t shown_strings; /* bytes of each that import_append_new_counters gave */
    size_t shown_rows[IMPORT_TABLES];
    bool has_shown;
    import_heap heap;
    import_list collecting; /* events of the collector */
    import_list requests;   /* events about requests */
    buffer thrown;          /* rows of exceptions, until their stacks can be read */
    uint64_t meter_interval;
    buffer meter_trouble;
    buffer meter_note; /* of what is left out, the first time */
    uint64_t meters_noted;
    bool saw_sampled;      /* allocations that were chosen at random: better than ticks */
    uint64_t began_before; /* waits for locks that were seen to end only */
    uint64_t not_understood;
    uint64_t last_time;
    uint64_t dropped;
    char *command_line;
    char *operating_system;
    char *architecture;
    char runtime_version[32];
};

/* The columns of all tables. */
extern const recording_table IMPORT_TABLE[IMPORT_TABLES];

void import_put_row(event_import *i, import_table table, const uint64_t *cells);

/* Text of an event, UTF-16 up to its zero, as UTF-8 into *out, which is emptied first. */
void import_read_text(reader *r, buffer *out);
uint32_t import_string(import_names *n, const char *text, size_t length);
/* Its text again; "" when there is none. */
const char *import_string_text(const import_names *n, uint32_t string);
/* Ends the last chunk: what follows begins another. */
void import_end_chunk(import_chunks *c);
/* Room for one more record in chunks of this kind; all of them into *out at the end. */
size_t import_begin_record(import_chunks *c, recording_kind kind);
void import_write_chunks(import_names *n, import_chunks *c, buffer *out);
/* Payloads of ModuleLoad and MethodLoadVerbose, and what the runtime tells of them at its end. */
void import_take_module(import_names *n, reader payload);
/* The second answers with our id of the method. */
uint32_t import_take_method(import_names *n, reader payload);
/* Payload of an event that tells which IL is where in code; the code's own event comes next. */
void import_take_map(import_names *n, reader payload);
/* `count` addresses, innermost first. */
uint32_t import_stack(import_names *n, const uint8_t *stack, size_t count, size_t pointer_size);
/* Our id of the runtime's method, 0 = it was not told. */
uint32_t import_method(const import_names *n, uint64_t key);
/* The string with the name of the runtime's module, 0 = it was not told. */
uint32_t import_module_name(const import_names *n, uint64_t key);
/* When everything is read: the stack without the runtime's own frames at its end, which since 9.0
 * are where an exception seems to be thrown. */
void import_sort_code(import_names *n);
uint64_t import_trim_stack(const import_names *n, uint64_t stack);
/* Strings, modules, methods, frames and stacks into the recording. */
void import_write_names(import_names *n, buffer *out);
void import_free_names(import_names *n);

/* Exceptions with their stacks. */
void import_write_exceptions(event_import *i);
/* Rows of looks that were to be put together with later ones. */
void import_end_waits(event_import *i);
/* Of waits for locks that are not over: what they have lasted by then. */
void import_end_locks(event_import *i, uint64_t end);

/* Copies at most `most` bytes. */
void import_keep(import_list *list, import_kept event, const uint8_t *bytes, size_t most);
/* Puts what was kept in order; false when there was no memory to keep all. */
bool import_sort(import_list *list);
reader import_bytes_of(const import_list *list, const import_kept *event);
void import_list_free(import_list *list);

/* Keeps an event of the collector. */
void import_take_gc(event_import *i, const import_kept *event, const uint8_t *bytes);
/* All of them in order: rows of collections and of pauses. */
void import_write_gc(event_import *i);

void import_heap_init(import_heap *h);
void import_heap_free(import_heap *h);
/* An event of the runtime; true: it was one of the heap dump's only. */
bool import_take_heap(event_import *i, uint32_t id, uint64_t time, reader payload);
/* Before the strings are written: names of assemblies. */
void import_name_heap(event_import *i);
/* Static fields of a walk: kept as they come, put with their classes at its end. */
void import_take_statics(event_import *i, reader *r);
void import_put_statics(event_import *i);
/* Whether objects of a type with this CorElementType are boxes. */
bool import_is_value(uint8_t shape);
/* For the first object of a type. */
void import_read_layout(import_heap *h, uint64_t class_id, uint32_t type);
/* Puts to an object where its references are and values of it, where that can be had. */
void import_lay_out(import_heap *h, const import_node *node, heap_writer_object *out);
/* Once all types were told, before the strings are written. */
void import_name_fields(event_import *i);
/* The same for static fields that the events do not tell. */
void import_find_places(event_import *i);
void import_add_place(import_heap *h, import_place place);
/* All of these; takes three ids of tables. */
void import_write_fields(event_import *i, uint64_t table, buffer *out);
/* The snapshot, if there is one; takes five ids of tables from `table` on. */
void import_write_heap(event_import *i, uint64_t table, buffer *out);
/* An event of a managed source: counters become rows, those about requests are kept. */
void import_take_library_event(event_import *i, const nettrace_event *event, uint64_t time);
/* Requests that have begun, in order: rows, those that have not ended too. */
void import_write_requests(event_import *i);

#endif
