/* Fuzz target: extension files (XML and JSON) and configuration files, from bytes to points. */
#include <stddef.h>
#include <stdint.h>

#include "rules/configuration.h"
#include "rules/points.h"

static const char *nothing(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    points *set = points_new((points_log){NULL, NULL});
    variables environment = {nothing, NULL, false};
    configuration_file file = {data, size, "fuzz"};
    configuration c;

    if (set != NULL) {
        points_add_file(set, "fuzz.xml", data, size, NULL, NULL);
        points_add_file(set, "fuzz.json", data, size, NULL, NULL);
        points_finish(set, NULL);
        points_free(set);
    }
    if (configuration_read(&c, file, file, &environment, NULL) == 0)
        configuration_free(&c);
    return 0;
}
