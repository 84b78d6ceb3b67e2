/*
 * il_select: which methods of an assembly file a person means, in the patterns of `clarinet trace`
 * (cil/pattern.h). The subject comes from the file's metadata instead of a running CLR; parameters
 * are spelled by the same code.
 */
#ifndef CLARINET_CLI_IL_SELECT_H
#define CLARINET_CLI_IL_SELECT_H

#include "cil/pattern.h"
#include "metadata/assembly.h"

typedef struct {
    const assembly *a;
    cil_patterns patterns;
    bool all; /* no pattern was given */
    /* while one method is looked at */
    uint32_t token;
    buffer type, parameters;
} il_select;

/* A name alone means a type or a method; only exclusions mean all but those. */
int il_select_parse(il_select *s, const assembly *a, char *const *patterns, size_t count, error *e);
void il_select_free(il_select *s);
bool il_select_matches(il_select *s, uint32_t method_token);

#endif
