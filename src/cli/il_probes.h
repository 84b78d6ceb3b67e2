/*
 * il_probes: what `clarinet il --probed` shows: a method body with the probes that `clarinet trace`
 * would put into it, made and checked by the same code.
 */
#ifndef CLARINET_CLI_IL_PROBES_H
#define CLARINET_CLI_IL_PROBES_H

#include "cil/body.h"
#include "cil/check.h"
#include "metadata/assembly.h"

/* Changes the decoded body of this method; it is encoded, so that its places are known. Refused
 * with the reason for methods that cannot carry probes. */
int il_probes_insert(const assembly *a, uint32_t method, cil_body *body, cil_checker *checker,
                     error *e);
/* What the call of a probe is called in the listing; NULL for other tokens. */
const char *il_probes_token(uint32_t token);

#endif
