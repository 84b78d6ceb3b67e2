/* Fuzz target: every message of the control connection, as either side would read it. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static catalogue_selection selection;
    control_hello hello;
    control_welcome welcome;
    control_state state;
    error e;
    reader payload;

    if (size == 0)
        return 0;
    payload = reader_of(data + 1, size - 1);
    switch (data[0] % 5) {
    case 0:
        if (control_get_hello(payload, &hello, &e) == 0 && strlen(hello.version) >= 32)
            __builtin_trap();
        break;
    case 1:
        control_get_welcome(payload, &welcome, &e);
        break;
    case 2:
        if (control_get_start(payload, &selection, &e) == 0 &&
            selection.count > CATALOGUE_MAX_SELECTED)
            __builtin_trap();
        break;
    case 3:
        control_get_state(payload, &state, &e);
        break;
    default:
        if (control_get_refused(payload, &e) >= 0)
            __builtin_trap();
        break;
    }
    return 0;
}
