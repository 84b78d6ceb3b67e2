/*
 * metrics: what Prometheus may ask for: processes, sessions, and what the last session of each
 * process that still runs has found. Thread rules: any thread.
 */
#ifndef CLARINET_SERVER_METRICS_H
#define CLARINET_SERVER_METRICS_H

#include "server/api.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Appends the text. */
int metrics_write(const api *a, buffer *out, error *e);

#endif
