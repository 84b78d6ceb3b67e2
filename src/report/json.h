/*
 * json: writes JSON. Commas come by themselves; a value inside an object follows its key. Any bytes
 * may be given as text: what is not UTF-8 becomes U+FFFD. `<` is always written as \u003c, so the
 * result may stand inside a script element.
 */
#ifndef CLARINET_REPORT_JSON_H
#define CLARINET_REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "report/sink.h"

typedef struct {
    sink *out;
    buffer scratch;
    bool comma;
} json;

void json_init(json *j, sink *out);
void json_free(json *j);
void json_begin_object(json *j);
void json_end_object(json *j);
void json_begin_array(json *j);
void json_end_array(json *j);
void json_key(json *j, const char *key);
void json_text(json *j, const char *text);
void json_u64(json *j, uint64_t value);
void json_i64(json *j, int64_t value);
/* Not a number and infinities are written as null. */
void json_f64(json *j, double value);
/* With all its digits: what is read back is the same. */
void json_f64_exact(json *j, double value);
/* A time as microseconds: whole ones from 100 on, to the nanosecond below. */
void json_microseconds(json *j, uint64_t ns);
void json_bool(json *j, bool value);

/* A key and its value. */
void json_put_text(json *j, const char *key, const char *text);
void json_put_u64(json *j, const char *key, uint64_t value);
void json_put_f64(json *j, const char *key, double value);
void json_put_bool(json *j, const char *key, bool value);
/* Of something that is not known. */
void json_put_null(json *j, const char *key);
void json_begin_object_at(json *j, const char *key);
void json_begin_array_at(json *j, const char *key);

#endif
