/*
 * platform for Windows: see platform.h. Text is UTF-8 inside and UTF-16 towards the system.
 */
#include "instrumentation/platform.h"

#include <string.h>
#include <windows.h>

#include <tlhelp32.h> /* needs windows.h first */

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

enum { WIDE_PATH = 4096, WIDE_VALUE = 32768 };

const char PLATFORM_SEPARATOR = '\\';
const char PLATFORM_NAME[] = "win-" PLATFORM_PROCESSOR;
const bool PLATFORM_EMPTY_VARIABLE_IS_UNSET = true;

static bool widen(const char *text, wchar_t wide[WIDE_PATH])
{
    return MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, WIDE_PATH) > 0;
}

static void append_wide(buffer *out, const wchar_t *text)
{
    text_append_utf16(out, (const uint16_t *)text, wcslen(text));
}

/* ---- the environment ---- */

/* Values are asked for again and again and are expected to stay: each is kept as it was first. */
typedef struct kept {
    struct kept *next;
    char *name;
    char *value; /* NULL = unset */
} kept;

static SRWLOCK kept_guard = SRWLOCK_INIT;
static kept *kept_variables;

static char *read_variable(const char *name)
{
    wchar_t wide[WIDE_PATH];
    wchar_t *value = memory_allocate_array(WIDE_VALUE, sizeof *value);
    buffer text = BUFFER_EMPTY;
    DWORD length = 0;

    if (value != NULL && widen(name, wide))
        length = GetEnvironmentVariableW(wide, value, WIDE_VALUE);
    if (length > 0 && length < WIDE_VALUE)
        text_append_utf16(&text, (const uint16_t *)value, length);
    memory_free(value);
    return length > 0 ? buffer_take_text(&text) : NULL;
}

const char *platform_variable(void *context, const char *name)
{
    kept *k;

    (void)context;
    AcquireSRWLockExclusive(&kept_guard);
    for (k = kept_variables; k != NULL && strcmp(k->name, name) != 0;)
        k = k->next;
    if (k == NULL) {
        k = memory_allocate_array(1, sizeof *k);
        if (k != NULL && (k->name = memory_copy_text(name)) != NULL) {
            k->value = read_variable(name);
            k->next = kept_variables;
            kept_variables = k;
        } else {
            memory_free(k);
            k = NULL;
        }
    }
    ReleaseSRWLockExclusive(&kept_guard);
    return k != NULL ? k->value : NULL;
}

/* ---- the process ---- */

uint32_t platform_process_id(void)
{
    return GetCurrentProcessId();
}

void platform_process_path(buffer *out)
{
    wchar_t path[WIDE_PATH];
    DWORD length = GetModuleFileNameW(NULL, path, WIDE_PATH);

    if (length == 0 || length >= WIDE_PATH)
        buffer_append_char(out, '.');
    else
        append_wide(out, path);
}

void platform_local_folder(buffer *out)
{
    buffer path = BUFFER_EMPTY;
    const char *last;

    platform_process_path(&path);
    last = strrchr(buffer_text(&path), PLATFORM_SEPARATOR);
    if (last != NULL)
        buffer_append(out, path.data, (size_t)(last - buffer_text(&path)) + 1);
    buffer_free(&path);
}

static DWORD parent_id(void)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    DWORD parent = 0;

    if (snapshot == INVALID_HANDLE_VALUE)
        return 0;
    for (BOOL more = Process32FirstW(snapshot, &entry); more && parent == 0;
         more = Process32NextW(snapshot, &entry)) {
        if (entry.th32ProcessID == GetCurrentProcessId())
            parent = entry.th32ParentProcessID;
    }
    CloseHandle(snapshot);
    return parent;
}

void platform_parent_path(buffer *out)
{
    DWORD id = parent_id();
    HANDLE parent = id == 0 ? NULL : OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, id);
    wchar_t path[WIDE_PATH];
    DWORD length = WIDE_PATH;

    if (parent != NULL && QueryFullProcessImageNameW(parent, 0, path, &length))
        append_wide(out, path);
    else
        buffer_append_char(out, '.');
    if (parent != NULL)
        CloseHandle(parent);
}

void platform_command_line(buffer *out)
{
    append_wide(out, GetCommandLineW());
}

/* ---- files ---- */

static bool file_exists(const char *path)
{
    wchar_t wide[WIDE_PATH];
    DWORD attributes;

    if (!widen(path, wide))
        return false;
    attributes = GetFileAttributesW(wide);
    return attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
}

static int read_file(const char *path, buffer *out, error *e)
{
    return os_read_file(path, (size_t)64 << 20, out, e);
}

static bool list_folder(const char *path, void (*each)(void *context, const char *name),
                        void *context)
{
    buffer text = BUFFER_EMPTY;
    wchar_t wide[WIDE_PATH];
    WIN32_FIND_DATAW entry;
    HANDLE search = INVALID_HANDLE_VALUE;

    buffer_format(&text, "%s\\*", path);
    if (widen(buffer_text(&text), wide))
        search = FindFirstFileW(wide, &entry);
    if (search == INVALID_HANDLE_VALUE) {
        buffer_free(&text);
        return false;
    }
    do {
        buffer_clear(&text);
        append_wide(&text, entry.cFileName);
        if (strcmp(buffer_text(&text), ".") != 0 && strcmp(buffer_text(&text), "..") != 0)
            each(context, buffer_text(&text));
    } while (FindNextFileW(search, &entry));
    FindClose(search);
    buffer_free(&text);
    return true;
}

const home_files PLATFORM_FILES = {file_exists, read_file, list_folder, '\\'};

bool platform_make_folder(const char *path)
{
    wchar_t wide[WIDE_PATH];
    DWORD attributes;

    if (!widen(path, wide))
        return false;
    for (wchar_t *p = wide; *p != 0; p++) {
        wchar_t separator = *p;

        if (separator != L'\\' && separator != L'/')
            continue;
        *p = 0;
        CreateDirectoryW(wide, NULL);
        *p = separator;
    }
    CreateDirectoryW(wide, NULL);
    attributes = GetFileAttributesW(wide);
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

/* ---- lines ---- */

static intptr_t open_log(const char *path, DWORD how)
{
    wchar_t wide[WIDE_PATH];

    if (!widen(path, wide))
        return -1;
    return (intptr_t)CreateFileW(wide, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                                 how, FILE_ATTRIBUTE_NORMAL, NULL);
}

intptr_t platform_open_log(const char *path)
{
    return open_log(path, CREATE_ALWAYS);
}

intptr_t platform_open_new_log(const char *path)
{
    return open_log(path, CREATE_NEW);
}

intptr_t platform_console(void)
{
    return (intptr_t)GetStdHandle(STD_OUTPUT_HANDLE);
}

void platform_write_line(intptr_t file, const char *line, size_t length)
{
    DWORD written;

    WriteFile((HANDLE)file, line, (DWORD)length, &written, NULL);
}

void platform_close_log(intptr_t file)
{
    CloseHandle((HANDLE)file);
}

/* ---- threads ---- */

typedef struct {
    void (*work)(void *context);
    void *context;
} job;

static DWORD WINAPI run(void *argument)
{
    job *j = argument;

    j->work(j->context);
    return 0;
}

bool platform_run_on_thread(void (*work)(void *context), void *context)
{
    job j = {work, context};
    HANDLE thread = CreateThread(NULL, 0, run, &j, 0, NULL);

    if (thread == NULL)
        return false;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    return true;
}
