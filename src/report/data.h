/* data: the JSON that the report page gets (docs/report-data.md), and its parts. */
#ifndef CLARINET_REPORT_DATA_H
#define CLARINET_REPORT_DATA_H

#include "analysis/calltree.h"
#include "report/json.h"
#include "report/report.h"

/* The texts a process's data uses, numbered as they are met; written last, as "strings". */
typedef struct {
    const model *m;
    uint32_t *numbers; /* by string of the model: number + 1, 0 = not met */
    uint32_t *order;   /* strings of the model by number */
    size_t count;
    bool failed;
} data_strings;

bool data_strings_init(data_strings *s, const model *m);
void data_strings_free(data_strings *s);
uint32_t data_string(data_strings *s, uint32_t string);
/* "strings": […] */
void data_put_strings(data_strings *s, json *j);

/* The whole data of a recording. */
int data_write(const model *m, const report_options *options, json *j, error *e);

/* One entry of "tables". */
int data_put_table(const model *m, const model_process *p, const model_table *table,
                   const calltree *tree, const report_options *options, data_strings *s, json *j,
                   error *e);

/* "words" of a table: name of a column of codes to what each code means. */
void data_put_words(const model *m, const model_table *table, json *j);

/* "waits": the last look at the threads; nothing when there is none. */
int data_put_waits(const model *m, const model_process *p, const calltree *tree, json *j, error *e);

/* "sources": […]: text around the lines where most of cpu and of wall is. */
int data_put_sources(const model *m, const model_process *process, const report_options *options,
                     data_strings *s, json *j, error *e);

/* Parts that a differential page has too. */
void data_put_frames(const model_process *p, data_strings *s, json *j);
void data_put_stacks(const calltree *tree, json *j);

#endif
