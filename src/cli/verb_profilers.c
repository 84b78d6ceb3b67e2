/* clarinet profilers: the catalogue, for people and for machines. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue.h"
#include "cli/cli.h"
#include "server/describe.h"

static void print_where(unsigned where)
{
    static const struct {
        unsigned bit;
        const char *text;
    } PLACES[] = {{CATALOGUE_ATTACH, "attach"},
                  {CATALOGUE_START, "start"},
                  {CATALOGUE_BESIDE, "beside another profiler"},
                  {CATALOGUE_MAIN, "needs the main profiler's place"}};
    const char *between = "";

    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        if ((where & PLACES[i].bit) == 0)
            continue;
        printf("%s%s", between, PLACES[i].text);
        between = ", ";
    }
    putchar('\n');
}

/* In the largest unit that divides it; the table has no odd ones. */
static void print_duration(uint64_t nanoseconds)
{
    static const struct {
        uint64_t length;
        const char *name;
    } UNITS[] = {{3600000000000u, "h"}, {60000000000u, "min"}, {1000000000, "s"}, {1000000, "ms"}};

    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (nanoseconds != 0 && nanoseconds % UNITS[i].length == 0) {
            printf("%llu %s", (unsigned long long)(nanoseconds / UNITS[i].length), UNITS[i].name);
            return;
        }
    printf("%llu%s", (unsigned long long)nanoseconds, nanoseconds == 0 ? "" : " ns");
}

static void print_range(const catalogue_parameter *parameter)
{
    switch (parameter->type) {
    case CATALOGUE_NUMBER:
    case CATALOGUE_SIZE:
        printf(", %llu to %llu", (unsigned long long)parameter->minimum,
               (unsigned long long)parameter->maximum);
        break;
    case CATALOGUE_DURATION:
        printf(", ");
        print_duration(parameter->minimum);
        printf(" to ");
        print_duration(parameter->maximum);
        break;
    case CATALOGUE_CHOICE:
        printf(", one of %s", parameter->choices);
        break;
    default:
        break;
    }
}

static void print_all(void)
{
    for (const catalogue_profiler *p = CATALOGUE; p->name != NULL; p++) {
        printf("%s%s\n  %s\n  cost:  %s\n  works: ", p == CATALOGUE ? "" : "\n", p->name,
               p->description, p->cost);
        print_where(p->where);
        for (const catalogue_parameter *q = p->parameters; q != NULL && q->name != NULL; q++) {
            printf("  --set %s.%s=%s\n      %s (%s", p->name, q->name, q->initial, q->description,
                   catalogue_type_name(q->type));
            print_range(q);
            puts(")");
        }
    }
}

/* Whether it could be written is looked at by main, as for every verb. */
static int print_json(void)
{
    json_t *all = describe_profilers();

    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
    return CLI_DONE;
}

int verb_profilers(int argc, char **argv)
{
    error e;

    if (argc == 1) {
        print_all();
        return CLI_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--json") == 0)
        return print_json();
    error_set(&e, ERROR_USAGE, "profilers does not know '%s'", argv[1]);
    error_advise(&e, "it takes --json or nothing");
    return cli_fail(&e);
}
