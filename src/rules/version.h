/* version: assembly versions of four 16-bit numbers, and the limits a point may have. */
#ifndef CLARINET_RULES_VERSION_H
#define CLARINET_RULES_VERSION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint16_t part[4];
} version;

/* 1 to 4 numbers with dots; what follows a part's digits is tolerated. false: no version at all
 * (too many parts, negative, too large, no digits). */
bool version_parse(const char *text, version *v);
int version_compare(version a, version b);
bool version_is_zero(version v);

#endif
