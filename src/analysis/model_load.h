/* model_load: what the files that build a model share; see model.h. Private to the analysis. */
#ifndef CLARINET_ANALYSIS_MODEL_LOAD_H
#define CLARINET_ANALYSIS_MODEL_LOAD_H

#include "base/array.h"
#include "analysis/model.h"

/* Room for one more item, counted. */
#define MODEL_GROW(m, items, count, capacity)                                                      \
    (model_charge(m, sizeof *(items)) &&                                                           \
     array_reserve(&(items), &(capacity), (count) + 1, sizeof *(items)))

/* Gives every frame its function and its place, once everything is read; false: no memory. */
bool model_resolve_names(model *m, model_process *p);
/* Waits for a lock that managed code tells of: without the frames that told. After the names. */
void model_trim_waits(model *m, model_process *p);
/* Rows whose stacks look alike get the same stack: code that was compiled again, or stood at two
 * instructions of a line, is one place. After the names; false: no memory. */
bool model_merge_stacks(model *m, model_process *p);

/* Looks at the threads are numbered from 1; once everything is read. */
void model_number_looks(model *m, model_process *p);

/* TABLE and ROWS chunks; 0, ERROR_MEMORY or ERROR_LIMIT. Broken records set r->failed. */
int model_load_tables(model *m, model_process *p, reader *r);
int model_load_rows(model *m, model_process *p, reader *r);

/* Chunks of facts; p NULL: of the recording itself. false: no memory. */
bool model_load_infos(model *m, model_process *p, reader *r);
bool model_load_losses(model *m, model_process *p, reader *r);
bool model_load_profilers(model *m, model_process *p, reader *r);
bool model_load_costs(model_process *p, reader *r);
bool model_load_ends(model *m, model_process *p, reader *r);

/* A HEAP chunk; false: no memory. */
bool model_load_heap(model *m, model_process *p, reader *r);

bool model_add_string(model *m, recording_text text, uint32_t *index);
/* The index behind an id; 0 for id 0 and (counted) for an id that was not defined. */
uint32_t model_ids_get(model *m, const model_ids *ids, uint64_t id);
bool model_ids_put(model *m, model_ids *ids, uint64_t id, uint32_t index);
/* The thread's index, made when the id is new; 0 when there is no memory. */
uint32_t model_thread_index(model *m, model_process *p, uint64_t os_id);
/* Counts memory against the limit; false when it is passed. */
bool model_charge(model *m, uint64_t bytes);

#endif
