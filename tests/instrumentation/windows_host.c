/*
 * Runs a .NET program on Windows by the runtime's own hosting functions, so that one folder of
 * runtime files and one assembly are all it takes: windows_host.exe RUNTIME_FOLDER APP.dll [ARG…]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef int(__stdcall *initialize_function)(const char *exe, const char *name, int count,
                                            const char **keys, const char **values, void **host,
                                            unsigned *domain);
typedef int(__stdcall *execute_function)(void *host, unsigned domain, int argc, const char **argv,
                                         const char *assembly, unsigned *exit_code);
typedef int(__stdcall *shutdown_function)(void *host, unsigned domain, int *exit_code);

enum { LIST = 1 << 20 };

static char assemblies[LIST];

/* Every assembly of a folder that is not native, by its full path. */
static void add_assemblies(const char *folder)
{
    char pattern[MAX_PATH];
    WIN32_FIND_DATAA entry;
    HANDLE search;

    snprintf(pattern, sizeof pattern, "%s\\*.dll", folder);
    search = FindFirstFileA(pattern, &entry);
    if (search == INVALID_HANDLE_VALUE)
        return;
    do {
        size_t used = strlen(assemblies);

        snprintf(assemblies + used, LIST - used, "%s\\%s;", folder, entry.cFileName);
    } while (FindNextFileA(search, &entry));
    FindClose(search);
}

/* Wine keeps a list of handlers on the stack. The runtime leaves frames without telling it, and
 * Wine (8.0) then calls into the remains at the next exception, for ever: cut off what is dead. */
static LONG CALLBACK drop_dead_handlers(EXCEPTION_POINTERS *exception)
{
    NT_TIB *block = (NT_TIB *)NtCurrentTeb();

    if ((ULONG64)block->ExceptionList < exception->ContextRecord->Rsp)
        block->ExceptionList = (void *)~(ULONG64)0;
    return EXCEPTION_CONTINUE_SEARCH;
}

int main(int argc, char **argv)
{
    const char *keys[] = {"TRUSTED_PLATFORM_ASSEMBLIES", "APP_PATHS",
                          "NATIVE_DLL_SEARCH_DIRECTORIES", "System.Globalization.Invariant"};
    const char *values[] = {assemblies, NULL, NULL, "true"};
    char library[MAX_PATH];
    char folder[MAX_PATH];
    HMODULE runtime;
    initialize_function initialize;
    execute_function execute;
    shutdown_function shut_down;
    void *host = NULL;
    unsigned domain = 0;
    unsigned code = 0;
    int last = 0;
    int status;

    if (argc < 3)
        return 2;
    AddVectoredExceptionHandler(1, drop_dead_handlers);
    snprintf(folder, sizeof folder, "%s", argv[2]);
    *strrchr(folder, '\\') = '\0';
    add_assemblies(argv[1]);
    add_assemblies(folder);
    values[1] = folder;
    values[2] = argv[1];
    snprintf(library, sizeof library, "%s\\coreclr.dll", argv[1]);
    runtime = LoadLibraryExA(library, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (runtime == NULL)
        return fprintf(stderr, "cannot load %s: %lu\n", library, GetLastError()), 125;
    initialize = (initialize_function)(void *)GetProcAddress(runtime, "coreclr_initialize");
    execute = (execute_function)(void *)GetProcAddress(runtime, "coreclr_execute_assembly");
    shut_down = (shutdown_function)(void *)GetProcAddress(runtime, "coreclr_shutdown_2");
    status = initialize(argv[0], "host", 4, keys, values, &host, &domain);
    if (status < 0)
        return fprintf(stderr, "coreclr_initialize: 0x%08x\n", (unsigned)status), 125;
    status = execute(host, domain, argc - 3, (const char **)argv + 3, argv[2], &code);
    if (status < 0)
        return fprintf(stderr, "coreclr_execute_assembly: 0x%08x\n", (unsigned)status), 125;
    shut_down(host, domain, &last);
    return (int)code;
}
