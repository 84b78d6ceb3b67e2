/*
 * The table of profilers. A row here plus one file in src/profilers, one sample, one test and one
 * page make a profiler. Only what works is listed.
 */
#include "catalogue/catalogue.h"

#define END_OF_PARAMETERS                                                                          \
    {                                                                                              \
        NULL, CATALOGUE_NUMBER, NULL, 0, 0, NULL, NULL                                             \
    }

static const catalogue_parameter EXCEPTIONS[] = {
    {"stacks", CATALOGUE_NUMBER, "100", 1, 100000, NULL,
     "stacks per second and thread for each exception type; the rest is counted without a stack"},
    {"depth", CATALOGUE_NUMBER, "64", 1, 512, NULL, "frames kept of each stack, from the throw up"},
    {"distinct", CATALOGUE_NUMBER, "10000", 1, 1000000, NULL,
     "different stacks kept; later ones are recorded without a stack"},
    {"messages", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     "record the message text (switch off when messages hold personal data)"},
    END_OF_PARAMETERS,
};

const catalogue_profiler CATALOGUE[] = {
    {"exceptions", "3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a01",
     "exceptions thrown: type, message, stack, where caught, rate over time",
     "nothing while none are thrown; 0.1 to 2 us per exception",
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, EXCEPTIONS},
    {NULL, NULL, NULL, NULL, 0, false, NULL},
};
