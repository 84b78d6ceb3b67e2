/* pprof_private: shared by the files of the import of pprof's profiles; see pprof_file.h. */
#ifndef CLARINET_DIAGNOSTICS_PPROF_PRIVATE_H
#define CLARINET_DIAGNOSTICS_PPROF_PRIVATE_H

#include "diagnostics/import_private.h"
#include "diagnostics/pprof_file.h"

enum { PPROF_VALUES = 16, PPROF_NAME = 48 };
enum {
    PROFILE_VALUE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_TEXT = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_DEFAULT = 14,
};
enum { WIRE_NUMBER = 0, WIRE_EIGHT = 1, WIRE_BYTES = 2, WIRE_FOUR = 5 };

/* One field of a message. */
typedef struct {
    uint64_t number;
    unsigned wire;
    uint64_t value; /* of WIRE_NUMBER */
    reader bytes;   /* of WIRE_BYTES */
} pprof_field;

typedef struct {
    uint64_t name, file; /* texts */
} pprof_function;

typedef struct {
    uint32_t module; /* ours; 0 = none */
    bool is_managed;
    uint64_t start;
} pprof_mapping;

typedef struct {
    size_t first, count; /* in frames */
} pprof_location;

/* One of the values that each sample has. */
typedef struct {
    uint64_t type, unit; /* texts */
    char name[PPROF_NAME];
    uint64_t scale; /* to ns or bytes */
    recording_column columns[3];
    recording_table table;
    import_rows rows;
} pprof_value;

typedef struct {
    reader whole;
    reader *texts;
    size_t text_count, text_capacity;
    pprof_function *functions;
    size_t function_count, function_capacity;
    table_u64 function_index; /* id → index + 1; so are the next two */
    pprof_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    table_u64 mapping_index;
    pprof_location *locations;
    size_t location_count, location_capacity;
    table_u64 location_index;
    uint32_t *frames; /* of locations; ids in the recording */
    size_t frame_count, frame_capacity;
    table_u64 methods; /* function << 20 ^ mapping → method */
    uint32_t last_frame;
    import_chunks frame_chunks, symbol_chunks, thread_chunks;
    table_u64 threads; /* that were told */
    pprof_value values[PPROF_VALUES];
    size_t value_count;
    uint64_t time_ns, duration_ns, chosen; /* the last is a text */
    uint32_t *path;                        /* frames of one sample */
    import_names names;
    uint64_t negative, unfit;
    bool failed; /* no memory */
} pprof_file;

/* The next field; false at the end, and when the message is broken: then r failed. */
bool pprof_next_field(reader *r, pprof_field *f);
/* Each message of this number at the top. */
void pprof_take_all(pprof_file *p, uint64_t number, void (*take)(pprof_file *p, reader message));
/* What a table of ids has for the id; 0 = nothing. */
size_t pprof_look_up(const table_u64 *index, uint64_t id);
reader pprof_text_of(const pprof_file *p, uint64_t number);
/* A text as a string of the recording; 0 = "". */
uint32_t pprof_string_of(pprof_file *p, uint64_t number);

/* What samples refer to: texts, functions, what values mean; then modules and locations. */
int pprof_read_names(pprof_file *p, error *e);

#endif
