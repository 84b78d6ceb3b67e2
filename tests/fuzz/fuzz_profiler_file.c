/* Fuzz target: ELF files that are said to be profiler libraries, and the memory maps around them.
 */
#include "diagnostics/maps.h"
#include "diagnostics/procfs.h"
#include "diagnostics/profiler_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buffer text = BUFFER_EMPTY, names = BUFFER_EMPTY;
    profiler_file file;
    maps_findings found;
    procfs_stat stat;
    char version[32];

    profiler_file_parse(data, size, &file);
    maps_version_of_module(data, size, version, sizeof version);
    buffer_append(&text, data, size);
    maps_scan(&text, "/a.so", &found, &names);
    procfs_parse_inner_pid(buffer_text(&text));
    procfs_find_variable(&text, "TMPDIR");
    procfs_parse_stat(buffer_text(&text), text.length, &stat);
    buffer_clear(&names);
    procfs_append_command_line(&names, &text);
    buffer_free(&text);
    buffer_free(&names);
    return 0;
}
