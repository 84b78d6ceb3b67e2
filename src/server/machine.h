/*
 * machine: the .NET processes of this machine with what they use, looked up at most twice a second
 * whoever asks. Thread rules: any thread.
 */
#ifndef CLARINET_SERVER_MACHINE_H
#define CLARINET_SERVER_MACHINE_H

#include "base/buffer.h"
#include "base/error.h"

typedef struct machine machine;

machine *machine_open(void); /* NULL when there is no memory */
void machine_close(machine *m);
/* Appends a JSON array: as `clarinet ps --json`, with cpu_percent and memory_bytes. */
int machine_list(machine *m, buffer *out, error *e);

/* What a process has used: ticks of processor time so far, bytes of memory now; 0 = not known. */
uint64_t machine_cpu_ticks(int process_id);
uint64_t machine_memory(int process_id);

#endif
