/* heap_report: a heap snapshot as text, markdown and data; used by `heap` and by the reports. */
#ifndef CLARINET_REPORT_HEAP_REPORT_H
#define CLARINET_REPORT_HEAP_REPORT_H

#include "analysis/heap.h"
#include "analysis/heap_groups.h"
#include "analysis/heap_series.h"
#include "report/json.h"
#include "report/sink.h"

typedef struct {
    size_t top; /* types, holders, paths */
    heap_order order;
    heap_group_kind group; /* instead of by type */
    const char *type;      /* only types of this name (* and ? understood); NULL = all */
    bool paths;            /* of these types */
    bool objects;          /* of these types, one by one */
    size_t depth;          /* steps of a path that are shown; 0 = all */
    uint64_t least_objects, least_bytes; /* of a step that is shown */
    size_t texts;                        /* duplicated strings; 0 = none */
    size_t waste;                        /* rows of each rule about waste; 0 = none */
    size_t text_size; /* characters of a string that are shown; 0 = as many as there are */
} heap_report_options;

/* For a terminal: the verdict, types, paths. */
int heap_report_text(const heap *h, const heap_report_options *o, sink *out, error *e);
/* The same for a markdown report, without a heading. */
int heap_report_markdown(const heap *h, const heap_report_options *o, sink *out, error *e);
/* Members of an object that is open. */
int heap_report_json(const heap *h, const heap_report_options *o, json *j, error *e);

/* The shortest ways from roots to the objects of the options' types. */
int heap_report_paths(const heap *h, const heap_report_options *o, sink *out, error *e);
/* "paths": the same. */
int heap_report_paths_json(const heap *h, const heap_report_options *o, json *j, error *e);
/* "heap": {…} for the page, with a bounded number of rows (docs/report-data.md). */
int heap_report_page(const model *m, const model_process *p, json *j, error *e);

/* Strings that say the same. */
int heap_report_strings(const heap *h, const heap_report_options *o, sink *out, error *e);
int heap_report_strings_markdown(const heap *h, const heap_report_options *o, sink *out, error *e);
int heap_report_strings_json(const heap *h, const heap_report_options *o, json *j, error *e);

/* By namespace or assembly. */
int heap_report_groups(const heap *h, const heap_report_options *o, sink *out, error *e);
int heap_report_groups_json(const heap *h, const heap_report_options *o, json *j, error *e);

/* Memory that is kept for little or nothing (analysis/heap_waste.h). */
int heap_report_waste(const heap *h, const heap_report_options *o, sink *out, error *e);
int heap_report_waste_markdown(const heap *h, const heap_report_options *o, sink *out, error *e);
int heap_report_waste_json(const heap *h, const heap_report_options *o, json *j, error *e);

/* "(unknown type)" where a type has none. */
const char *heap_report_name(const heap *h, uint32_t type);
/* A text of the program for one line: control characters as spaces, at most `limit` characters (0 =
 * as many as there are), with a mark where it is less than the whole of `length_utf16` units. */
void heap_report_cut(const char *text, uint64_t length_utf16, size_t limit, buffer *out);
/* A name on a terminal: control characters would move the cursor. */
void heap_report_clean(sink *out, const char *text);

/* The object at an address: what it is, who holds it, what it holds, what keeps it alive. */
int heap_report_object(const heap *h, uint64_t address, size_t top, sink *out, error *e);
int heap_report_object_json(const heap *h, uint64_t address, size_t top, json *j, error *e);

/* For machines: "address" and "type" of it. */
void heap_report_object_name(const heap *h, uint32_t node, json *j);
/* "._items", "[17]", "[3].value": what is kept at a place of an object. */
void heap_report_place(const heap *h, uint32_t node, uint32_t place, buffer *out);
/* The primitive fields of an object, where the snapshot has their values. */
void heap_report_values(const heap *h, uint32_t node, sink *out);
void heap_report_values_json(const heap *h, uint32_t node, json *j);

/* The single objects of the types of the options. */
int heap_report_objects(const heap *h, const heap_report_options *o, sink *out, error *e);
int heap_report_objects_json(const heap *h, const heap_report_options *o, json *j, error *e);
/* Whether a type is one of those that the options name. */
bool heap_report_wants(const heap *h, uint32_t type, const heap_report_options *o);
/* Fails when no type on the heap is, with the names that are near. */
int heap_report_check_type(const heap *h, const heap_report_options *o, error *e);

/* "root", and the threads of a stack root, where they are known. */
void heap_report_root_json(const heap *h, uint32_t root, json *j);
void heap_report_root_threads(const heap *h, uint32_t root, json *j);

/* Growth over several snapshots; `last` is the newest one. With a type in the options: only of
 * these types, and the ways to them in `last`. */
int heap_report_diff(heap_series *s, const heap *last, const heap_report_options *o, sink *out,
                     error *e);
int heap_report_diff_json(heap_series *s, const heap *last, const heap_report_options *o, json *j,
                          error *e);

#endif
