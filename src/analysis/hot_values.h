/*
 * hot_values: processor time that goes into boxing values and into copying large structs. Neither
 * has a frame with a name; the code of the methods (table `values`) and the types that were
 * allocated tell of them. Private to the rule of the hot path.
 */
#ifndef CLARINET_ANALYSIS_HOT_VALUES_H
#define CLARINET_ANALYSIS_HOT_VALUES_H

#include "analysis/findings_rule.h"

enum { HOT_VALUES_TEXT = 400 };

/* By stack: 1 where the time of `weights` goes into boxes: runtime code straight below a method
 * nearly all of whose objects are boxes, with a plausible time for each. `what` gets words for it
 * ("" = there is none). The caller frees; NULL: no memory (kept in the list). */
uint8_t *hot_values_mark_boxes(findings_context *c, const uint64_t *weights,
                               char what[HOT_VALUES_TEXT]);
/* Likewise for a statement that copies a struct over the threshold, and what moves memory for it.
 */
uint8_t *hot_values_mark_copies(findings_context *c, const uint64_t *weights,
                                char what[HOT_VALUES_TEXT]);

#endif
