/* Which losses of a recording are spans that are missing, and of what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/flow.h"

static void a_loss_is_told_as_what_it_counts(void **state)
{
    static const struct {
        const char *reason;
        flow_loss expected;
    } CASES[] = {
        {"ring full", FLOW_LOSS_CALLS},
        {"call not counted: no memory for its thread", FLOW_LOSS_CALLS},
        {"method not traced: more than 262,144, or no memory", FLOW_LOSS_METHODS},
        {"assembly left alone: it can be unloaded", FLOW_LOSS_ASSEMBLIES},
        {"method not listed: not called, and memory is short", FLOW_LOSS_NOTHING},
        {"method left alone: it has no CIL", FLOW_LOSS_NOTHING},
        {"", FLOW_LOSS_CALLS},
    };

    (void)state;
    for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++)
        assert_int_equal(flow_loss_of(CASES[n].reason), CASES[n].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_is_told_as_what_it_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
