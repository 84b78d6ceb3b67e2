/* Fuzz target: answers of the diagnostics port. The first byte chooses what they answer. */
#include <stdlib.h>
#include <string.h>

#include "diagnostics/commands.h"
#include "diagnostics/ipc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    diagnostics_process_info info;
    ipc_answer answer = {0};
    buffer text = BUFFER_EMPTY;
    error e;

    if (size == 0)
        return 0;
    if (data[0] == 0) {
        buffer_append(&answer.bytes, data + 1, size - 1);
        if (ipc_parse_answer(&answer, &e) == 0 && !answer.refused) {
            reader r = answer.payload;

            while (!reader_at_end(&r))
                ipc_read_text(&r, &text);
        }
        ipc_answer_free(&answer);
    } else {
        int version = 1 + data[0] % 3;

        if (diagnostics_parse_process_info(version, reader_of(data + 1, size - 1), &info, &e) ==
            0) {
            if (info.command_line == NULL || info.runtime_version == NULL)
                abort();
            diagnostics_process_info_free(&info);
        }
    }
    buffer_free(&text);
    return 0;
}
