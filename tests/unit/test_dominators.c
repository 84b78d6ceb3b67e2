/* Dominators, retained sizes and shortest ways, on random graphs against slow simple algorithms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/dominators.h"

enum { MOST_NODES = 40, MOST_EDGES = 200 };

typedef struct {
    uint32_t nodes;
    uint64_t first[MOST_NODES + 1];
    uint32_t targets[MOST_EDGES];
} small_graph;

static uint64_t seed = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed % limit);
}

static void make_random(small_graph *g)
{
    uint64_t edges = 0;

    g->nodes = 1 + random_below(MOST_NODES);
    for (uint32_t i = 0; i < g->nodes; i++) {
        uint32_t out = random_below(5);

        g->first[i] = edges;
        while (out-- > 0 && edges < MOST_EDGES)
            g->targets[edges++] = random_below(g->nodes);
    }
    g->first[g->nodes] = edges;
}

/* What node 0 reaches when `without` is taken away. */
static void mark(const small_graph *g, uint32_t without, uint8_t *seen)
{
    uint32_t stack[MOST_NODES];
    uint32_t depth = 0;

    memset(seen, 0, MOST_NODES);
    if (without == 0)
        return;
    seen[0] = 1;
    stack[depth++] = 0;
    while (depth > 0) {
        uint32_t node = stack[--depth];

        for (uint64_t k = g->first[node]; k < g->first[node + 1]; k++) {
            uint32_t t = g->targets[k];

            if (t != without && !seen[t]) {
                seen[t] = 1;
                stack[depth++] = t;
            }
        }
    }
}

static void random_graphs_agree_with_the_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        small_graph g;
        dominators d;
        uint8_t all[MOST_NODES];
        uint64_t own[MOST_NODES];
        uint64_t retained[MOST_NODES];

        make_random(&g);
        dominators_graph view = {g.nodes, g.first, g.targets};
        assert_int_equal(dominators_compute(&view, &d, NULL), 0);
        mark(&g, DOMINATORS_NONE, all);
        for (uint32_t i = 0; i < g.nodes; i++)
            own[i] = 1 + random_below(1000);
        dominators_retained(&d, own, retained);
        for (uint32_t a = 0; a < g.nodes; a++) {
            uint8_t rest[MOST_NODES];
            uint64_t lost = 0;

            assert_int_equal(d.dominator[a] != DOMINATORS_NONE, all[a] && a != 0);
            mark(&g, a, rest);
            for (uint32_t b = 0; b < g.nodes; b++) {
                uint32_t up = b;

                if (all[b] && !rest[b])
                    lost += own[b];
                if (!all[b] || !all[a])
                    continue;
                while (up != a && up != DOMINATORS_NONE)
                    up = d.dominator[up];
                assert_int_equal(up == a, !rest[b]); /* a dominates b: b is lost without a */
            }
            assert_true(retained[a] == (all[a] ? lost : 0));
        }
        dominators_free(&d);
    }
}

static void reach(const small_graph *g, uint32_t from, bool *reached)
{
    if (reached[from])
        return;
    reached[from] = true;
    for (uint64_t k = g->first[from]; k < g->first[from + 1]; k++)
        reach(g, g->targets[k], reached);
}

/* A way begins with one of the first references of node 0 where any of them leads there. */
static void preferred_roots_come_first(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        small_graph g;
        uint32_t towards[MOST_NODES];
        bool early[MOST_NODES] = {true};
        uint64_t preferred;

        make_random(&g);
        dominators_graph view = {g.nodes, g.first, g.targets};
        preferred = g.first[1] / 2;
        for (uint64_t k = 0; k < preferred; k++)
            reach(&g, g.targets[k], early);
        assert_int_equal(dominators_shortest(&view, preferred, towards, NULL), 0);
        for (uint32_t i = 1; i < g.nodes; i++) {
            bool is_preferred = false;
            uint32_t at = i;

            if (towards[i] == DOMINATORS_NONE)
                continue;
            while (towards[at] != 0)
                at = towards[at];
            for (uint64_t k = 0; k < preferred; k++)
                is_preferred = is_preferred || g.targets[k] == at;
            assert_int_equal(is_preferred, early[i]);
        }
    }
}

static void shortest_ways_have_the_right_length(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        small_graph g;
        uint32_t towards[MOST_NODES];
        uint32_t distance[MOST_NODES];

        make_random(&g);
        dominators_graph view = {g.nodes, g.first, g.targets};
        assert_int_equal(dominators_shortest(&view, g.first[1], towards, NULL), 0);
        for (uint32_t i = 0; i < g.nodes; i++)
            distance[i] = i == 0 ? 0 : 1000;
        for (uint32_t sweep = 0; sweep < g.nodes; sweep++) {
            for (uint32_t i = 0; i < g.nodes; i++) {
                for (uint64_t k = g.first[i]; k < g.first[i + 1]; k++) {
                    if (distance[i] + 1 < distance[g.targets[k]])
                        distance[g.targets[k]] = distance[i] + 1;
                }
            }
        }
        for (uint32_t i = 1; i < g.nodes; i++) {
            uint32_t steps = 0;

            if (distance[i] >= 1000) {
                assert_true(towards[i] == DOMINATORS_NONE);
                continue;
            }
            for (uint32_t at = i; at != 0; at = towards[at])
                steps++;
            assert_int_equal(steps, distance[i]);
        }
    }
}

static void a_chain_of_a_million_needs_no_deep_stack(void **state)
{
    enum { LONG = 1000000 };
    uint64_t *first = malloc((LONG + 1) * sizeof *first);
    uint32_t *targets = malloc(LONG * sizeof *targets);
    dominators_graph g = {LONG, first, targets};
    dominators d;

    (void)state;
    for (uint32_t i = 0; i < LONG; i++) {
        first[i] = i;
        targets[i] = i + 1 < LONG ? i + 1 : 5; /* closes a cycle */
    }
    first[LONG] = LONG;
    assert_int_equal(dominators_compute(&g, &d, NULL), 0);
    for (uint32_t i = 1; i < LONG; i++)
        assert_true(d.dominator[i] == i - 1);
    dominators_free(&d);
    free(first);
    free(targets);
}

static void a_reference_outside_is_refused(void **state)
{
    static const uint64_t FIRST[] = {0, 1};
    static const uint32_t TARGETS[] = {7};
    dominators_graph g = {1, FIRST, TARGETS};
    dominators d;
    error e;

    (void)state;
    assert_int_equal(dominators_compute(&g, &d, &e), ERROR_CORRUPT);
    assert_non_null(strstr(e.message, "object 7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_agree_with_the_definition),
        cmocka_unit_test(shortest_ways_have_the_right_length),
        cmocka_unit_test(preferred_roots_come_first),
        cmocka_unit_test(a_chain_of_a_million_needs_no_deep_stack),
        cmocka_unit_test(a_reference_outside_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
