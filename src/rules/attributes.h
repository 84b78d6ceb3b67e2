/*
 * attributes: methods that ask for instrumentation by an attribute of the API. Pure.
 */
#ifndef CLARINET_RULES_ATTRIBUTES_H
#define CLARINET_RULES_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/points.h"

#define ATTRIBUTE_TRANSACTION "NewRelic.Api.Agent.TransactionAttribute"
#define ATTRIBUTE_TRACE       "NewRelic.Api.Agent.TraceAttribute"

/* May methods of this assembly have them? Frameworks and the agent itself are passed over. */
bool attributes_are_searched(const char *assembly);
/* The tracer bits of a Transaction attribute by its value (ECMA-335 II.23.3): a web transaction
 * when its only named property is Web and true. */
uint32_t attributes_transaction_bits(const uint8_t *value, size_t size);

#endif
