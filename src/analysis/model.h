/*
 * model: a whole recording in memory, every id resolved to an index. This is what all analysis and
 * every report start from.
 *
 * Indexes: 0 means none, everywhere (strings[0] is "", methods[0], frames[0], threads[0] are
 * empty, stacks[0] is the root above the outermost frames). Every index inside a model is in range:
 * a reference to something that was never defined became 0 and was counted. A stack's parent always
 * has a smaller index than the stack.
 *
 * Frames carry two merged forms: a `function` (same name and module) for call trees, and a `place`
 * (same function, file and line) for lines.
 *
 * Thread rules: a loaded model is never changed, so any number of threads may read it.
 */
#ifndef CLARINET_ANALYSIS_MODEL_H
#define CLARINET_ANALYSIS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model_heap.h"
#include "analysis/strings.h"
#include "base/error.h"
#include "base/table.h"
#include "recording/file.h"

/* Frames of one stack; deeper ones lose their leaves. The 4,096 that profilers keep at most, and
 * what stands above and among them: the start method, (truncated), and marks. */
#define MODEL_MAXIMUM_DEPTH 4128u

/* An id space of one process: dense ids in an array, wild ones in a table. */
typedef struct {
    uint32_t *dense;
    size_t dense_count;
    table_u64 sparse;
} model_ids;

typedef struct {
    uint32_t key; /* string */
    uint32_t value;
} model_info;

typedef struct {
    uint32_t kind; /* RECORDING_MODULE_… */
    uint32_t name;
    uint32_t path;
    uint32_t identity; /* string: hex */
    uint64_t base;
    uint64_t size;
} model_module;

typedef struct {
    uint32_t module;
    uint32_t token;
    uint32_t name;
    uint32_t parameters;
    uint64_t flags;
} model_method;

typedef struct {
    uint32_t kind;  /* RECORDING_FRAME_… */
    uint32_t owner; /* method, module or string by kind */
    uint64_t offset;
    uint32_t symbol; /* string: the name the tool found, 0 = none */
    uint32_t file;
    uint32_t line;
    uint32_t function;
    uint32_t place;
} model_frame;

typedef struct {
    uint32_t name;
    uint32_t module;
    uint32_t kind; /* RECORDING_FRAME_… */
    bool nameless; /* native code without symbols, named after its module */
} model_function;

typedef struct {
    uint32_t function;
    uint32_t file;
    uint32_t line;
} model_place;

typedef struct {
    uint64_t os_id;
    uint64_t managed_id;
    uint32_t name;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
} model_thread;

typedef struct {
    uint32_t name;
    uint32_t unit;
    uint8_t type;  /* recording_column_type */
    uint32_t *u32; /* thread, stack, string, method, module, frame: indexes of the model */
    uint64_t *u64; /* the others; f64 as its bits */
} model_column;

typedef struct {
    uint32_t name;
    uint32_t profiler;
    model_column *columns;
    size_t column_count;
    size_t rows;
    size_t capacity;
    /* private: only while loading */
    table_u64 numbered;   /* value of the column `row` to the row + 1 */
    size_t number_column; /* its index + 1; 0 = there is none */
} model_table;

typedef struct {
    uint32_t profiler;
    uint32_t reason;
    uint64_t total;
} model_loss;

typedef struct {
    uint32_t name;
    uint32_t state; /* RECORDING_STARTED, … of its last record */
    uint64_t start; /* 0 = not known */
    uint64_t stop;
    uint32_t note;
    model_info *parameters;
    size_t parameter_count;
} model_profiler;

typedef struct {
    uint32_t index;   /* in the recording */
    uint64_t pid;     /* as who recorded it sees it */
    uint64_t own_pid; /* as it sees itself: in a container another one */
    uint32_t name;
    uint64_t origin_unix_ns;
    uint64_t duration_ns; /* to the last thing recorded */
    uint32_t end_reason;  /* string; 0 = no END was seen */
    model_info *infos;
    size_t info_count, info_capacity;
    model_module *modules;
    size_t module_count, module_capacity;
    model_method *methods;
    size_t method_count, method_capacity;
    model_frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t *stack_parents;
    uint32_t *stack_frames;
    uint16_t *stack_depths;
    size_t stack_count, stack_parent_capacity, stack_frame_capacity, stack_depth_capacity;
    model_thread *threads;
    size_t thread_count, thread_capacity;
    model_table *tables;
    size_t table_count, table_capacity;
    model_loss *losses;
    size_t loss_count, loss_capacity;
    model_profiler *profilers;
    size_t profiler_count, profiler_capacity;
    recording_cost cost;       /* at the end */
    recording_cost cost_begun; /* after the first second, where there are later ones */
    size_t cost_count;         /* accounts, one a second */
    bool has_cost;
    model_heap *heap; /* NULL = no snapshot was recorded */
    model_function *functions;
    size_t function_count, function_capacity;
    model_place *places;
    size_t place_count, place_capacity;
    /* private: only while loading */
    model_ids string_ids, module_ids, method_ids, frame_ids, stack_ids, thread_ids, table_ids;
    table_text known; /* what modules and methods are, to their indexes */
} model_process;

typedef struct {
    strings strings;
    model_info *infos; /* the recording's own */
    size_t info_count, info_capacity;
    model_process *processes;
    size_t process_count, process_capacity;
    uint64_t file_size;
    uint64_t damaged_chunks; /* skipped, or left in the middle */
    uint64_t unknown_chunks; /* of kinds this version does not know */
    uint64_t unknown_references;
    char cut[160]; /* "" or what is missing at the end */
    /* private */
    uint64_t memory_used;
    uint64_t memory_limit;
} model;

/* Reads the whole recording. `memory_limit` bytes bound the model's size (0 = what is left, 8 GiB
 * at most): a small hostile file can unpack to a lot. On failure nothing is left to free. */
int model_load(recording_file *file, uint64_t memory_limit, model *m, error *e);
/* Opens, loads and closes. */
int model_load_path(const char *path, uint64_t memory_limit, model *m, error *e);
/* A model that grows: begun empty, then each chunk as it comes. Its processes have their names and
 * origins; functions and places of frames are not made. What was read may be used in between; who
 * has done with rows may set the table's `rows` to 0. On failure it is to be freed still. */
int model_begin(model *m, uint64_t memory_limit, error *e);
int model_add(model *m, const recording_chunk *chunk, error *e);
void model_free(model *m);
/* Processes of the command that there was no room for. */
uint64_t model_not_recorded(const model *m);

static inline const char *model_text(const model *m, uint32_t string)
{
    return strings_at(&m->strings, string);
}
/* The value of an INFO key, NULL when there is none. process NULL: the recording's own. */
const char *model_info_value(const model *m, const model_process *process, const char *key);
/* By name and profiler; profiler NULL = any. NULL when there is none. */
const model_table *model_find_table(const model *m, const model_process *process, const char *name,
                                    const char *profiler);
const model_column *model_find_column(const model *m, const model_table *table, const char *name);

static inline uint64_t model_cell(const model_column *column, size_t row)
{
    return column->u32 != NULL ? column->u32[row] : column->u64[row];
}
/* A cell of an f64 column. */
double model_cell_f64(const model_column *column, size_t row);

/* A name that a program gave, on one line: control characters as \n, \t or \u001b; cut to `size`.
 */
const char *model_plain(const char *name, char *out, size_t size);
/* "Thread-name (123)", "pool (123)" or "123" into `out`. */
void model_thread_title(const model *m, const model_thread *thread, char *out, size_t size);

#endif
