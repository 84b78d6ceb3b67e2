/*
 * download: what can be fetched of a session. Reports are made by a child; those of a session that
 * has ended are kept. Private to src/server. Thread rules: any thread.
 */
#ifndef CLARINET_SERVER_DOWNLOAD_H
#define CLARINET_SERVER_DOWNLOAD_H

#include "server/api.h"

/* ?format=html|md|json|… and, as of `clarinet report`, process, profiler, thread, method, from,
 * to, state, top. */
int download_report(const api *a, const char *id, const http_request *r, reply *out, error *e);
int download_findings(const api *a, const char *id, reply *out, error *e);
/* session.json, the recording, the findings and the page, in one .zip. */
int download_zip(const api *a, const char *id, reply *out, error *e);
/* ?before=ID&after=ID&format=html|md|json|collapsed */
int download_compare(const api *a, const http_request *r, reply *out, error *e);

#endif
