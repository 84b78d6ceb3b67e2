/* profiler_file: see profiler_file.h. */
#include "diagnostics/profiler_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os.h"
#include "base/reader.h"
#include "base/text.h"
#include "clarinet/profiler.h"
#include "diagnostics/refusal.h"

enum { FILE_LIMIT = 512 << 20, TRIAL_TIMEOUT_S = 10 };

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#elif defined(__i386__)
enum { OWN_MACHINE = EM_386 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

typedef struct {
    uint32_t type;
    uint64_t offset, size;
    uint32_t link;
} elf_section;

static void parse_segments(const reader *whole, size_t length, profiler_file *file);
static void parse_sections(const reader *whole, profiler_file *file);

/* --- the file's bytes --- */

void profiler_file_parse(const void *bytes, size_t length, profiler_file *file)
{
    reader r = reader_of(bytes, length);
    const uint8_t *ident = reader_bytes(&r, EI_NIDENT);

    memset(file, 0, sizeof *file);
    if (ident == NULL || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return;
    file->is_elf = true;
    file->bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : ident[EI_CLASS] == ELFCLASS32 ? 32 : 0;
    file->big_endian = ident[EI_DATA] == ELFDATA2MSB;
    if (file->big_endian)
        return;
    file->is_library = reader_u16(&r) == ET_DYN;
    file->machine = reader_u16(&r);
    if (reader_failed(&r) || file->bits != 64)
        return;
    parse_segments(&r, length, file);
    parse_sections(&r, file);
}

/* What the loader maps must be there: it does not check, and the program dies of it. */
static void parse_segments(const reader *whole, size_t length, profiler_file *file)
{
    reader r = *whole;
    uint64_t table;
    uint16_t count, size;

    reader_seek(&r, 32);
    table = reader_u64(&r);
    reader_seek(&r, 54);
    size = reader_u16(&r);
    count = reader_u16(&r);
    if (reader_failed(&r) || size != sizeof(Elf64_Phdr) || table > length)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset, bytes;
        uint32_t type;

        if (!reader_seek(&r, (size_t)table + i * sizeof(Elf64_Phdr)))
            return;
        type = reader_u32(&r);
        reader_u32(&r); /* flags */
        offset = reader_u64(&r);
        reader_skip(&r, 16); /* addresses */
        bytes = reader_u64(&r);
        if (reader_failed(&r))
            return;
        if (type == PT_LOAD && (offset > length || bytes > length - offset))
            file->is_cut = true;
    }
}

static bool read_section(const reader *whole, uint64_t table, uint32_t index, elf_section *section)
{
    reader r = *whole;

    if (table > SIZE_MAX - (uint64_t)index * sizeof(Elf64_Shdr) ||
        !reader_seek(&r, (size_t)table + index * sizeof(Elf64_Shdr)))
        return false;
    reader_u32(&r); /* name */
    section->type = reader_u32(&r);
    reader_skip(&r, 16); /* flags, address */
    section->offset = reader_u64(&r);
    section->size = reader_u64(&r);
    section->link = reader_u32(&r);
    return !reader_failed(&r);
}

/* Whether the text at `offset` of a string table is `wanted`, or begins with it. */
static bool text_is(const reader *strings, uint64_t offset, const char *wanted, bool whole)
{
    size_t length = strlen(wanted) + (whole ? 1 : 0);
    reader r = *strings;
    const uint8_t *text;

    if (offset > SIZE_MAX || !reader_seek(&r, (size_t)offset))
        return false;
    text = reader_bytes(&r, length);
    return text != NULL && memcmp(text, wanted, length) == 0;
}

static void parse_symbols(reader symbols, const reader *strings, profiler_file *file)
{
    file->has_symbols = true;
    while (reader_left(&symbols) >= sizeof(Elf64_Sym)) {
        uint32_t name = reader_u32(&symbols);
        uint8_t info = reader_u8(&symbols);
        uint16_t section;

        reader_u8(&symbols);
        section = reader_u16(&symbols);
        reader_skip(&symbols, 16);
        if (section != SHN_UNDEF && ELF64_ST_BIND(info) != STB_LOCAL &&
            text_is(strings, name, "DllGetClassObject", true))
            file->has_entry_point = true;
    }
}

static void parse_dynamic(reader dynamic, const reader *strings, profiler_file *file)
{
    while (reader_left(&dynamic) >= sizeof(Elf64_Dyn)) {
        uint64_t tag = reader_u64(&dynamic);
        uint64_t value = reader_u64(&dynamic);

        if (tag == DT_NEEDED && (text_is(strings, value, "libc.musl-", false) ||
                                 text_is(strings, value, "libc.so", true)))
            file->needs_musl = true;
    }
}

static void parse_sections(const reader *whole, profiler_file *file)
{
    reader r = *whole;
    uint64_t table;
    uint16_t count, size;
    bool dynamic_seen = false; /* a file has one of each; more would only cost time */

    reader_seek(&r, 40);
    table = reader_u64(&r);
    reader_seek(&r, 58);
    size = reader_u16(&r);
    count = reader_u16(&r);
    if (reader_failed(&r) || size != sizeof(Elf64_Shdr))
        return;
    for (uint32_t i = 0; i < count && !(file->has_symbols && dynamic_seen); i++) {
        elf_section section, text;
        reader content, strings;

        if (!read_section(whole, table, i, &section))
            return;
        if ((section.type != SHT_DYNSYM && section.type != SHT_DYNAMIC) ||
            section.offset > SIZE_MAX || section.size > SIZE_MAX || section.link >= count ||
            !read_section(whole, table, section.link, &text) || text.offset > SIZE_MAX ||
            text.size > SIZE_MAX)
            continue;
        content = reader_slice(whole, (size_t)section.offset, (size_t)section.size);
        strings = reader_slice(whole, (size_t)text.offset, (size_t)text.size);
        if (reader_failed(&content) || reader_failed(&strings))
            continue;
        if (section.type == SHT_DYNSYM && !file->has_symbols) {
            parse_symbols(content, &strings, file);
        } else if (section.type == SHT_DYNAMIC && !dynamic_seen) {
            parse_dynamic(content, &strings, file);
            dynamic_seen = true;
        }
    }
}

const char *profiler_file_architecture(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x64";
    case EM_AARCH64:
        return "arm64";
    case EM_386:
        return "x86";
    case EM_ARM:
        return "arm";
    case EM_RISCV:
        return "riscv64";
    case EM_S390:
        return "s390x";
    case EM_PPC64:
        return "ppc64le";
    default:
        return "an unknown processor";
    }
}

uint16_t profiler_file_machine_of(const char *path)
{
    unsigned char head[20] = {0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    long n = descriptor < 0 ? 0 : read(descriptor, head, sizeof head);

    if (descriptor >= 0)
        close(descriptor);
    if (n != sizeof head || memcmp(head, ELFMAG, SELFMAG) != 0)
        return OWN_MACHINE;
    return (uint16_t)(head[18] | head[19] << 8);
}

/* --- the file --- */

static int refuse_contents(const char *path, uint16_t machine, const profiler_file *file, error *e)
{
    int code;

    if (!file->is_elf) {
        code = error_set(e, ERROR_CORRUPT, "%s is not a shared library (no ELF file)", path);
        error_advise(e, "a profiler for Linux is a .so file; a .dll is for Windows");
    } else if (file->machine != machine || file->big_endian) {
        code = error_set(e, ERROR_UNSUPPORTED, "%s is built for %s, but the program runs on %s",
                         path, profiler_file_architecture(file->machine),
                         profiler_file_architecture(machine));
        error_advise(e, "take the library of the right architecture");
    } else if (file->is_cut) {
        code = error_set(e, ERROR_CORRUPT, "%s is cut off: parts of it lie behind its end", path);
        error_advise(e, "copy it again");
    } else if (!file->is_library) {
        code = error_set(e, ERROR_CORRUPT, "%s is a program, not a shared library", path);
        error_advise(e, "build it with -shared -fPIC");
    } else if (file->has_symbols && !file->has_entry_point) {
        code =
            error_set(e, ERROR_CORRUPT, "%s has no DllGetClassObject: it is no CLR profiler", path);
        error_advise(e, "export DllGetClassObject (with default visibility); the SDK's "
                        "CLR_PROFILER does that");
    } else {
        return 0;
    }
    return code;
}

int profiler_file_check(const char *path, uint16_t machine, profiler_file *file, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    struct stat status;
    int code = 0;

    if (stat(path, &status) != 0) {
        code = error_set_errno(e, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_PERMISSION, errno,
                               "the profiler library %s cannot be found", path);
        error_advise(e, "check the path given with --profiler");
        return code;
    }
    if (!S_ISREG(status.st_mode)) {
        error_set(e, ERROR_NOT_FOUND, "the profiler library %s is not a file", path);
        return error_advise(e, "check the path given with --profiler"), ERROR_NOT_FOUND;
    }
    code = os_read_file(path, FILE_LIMIT, &bytes, e);
    if (code == ERROR_PERMISSION)
        error_advise(e, "the program's user must be able to read it: `chmod a+r`");
    if (code == 0) {
        profiler_file_parse(bytes.data, bytes.length, file);
        code = refuse_contents(path, machine, file, e);
    }
    buffer_free(&bytes);
    return code;
}

/* --- the trial --- */

typedef int32_t get_class_object(const void *clsid, const void *iid, void **out);

static const GUID IID_CLASS_FACTORY = {1, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};

/* In the child: the result as text, "L…" loading failed, "E" no entry, "H…" an HRESULT, "K" fine.
 */
static void try_in_child(const char *path, const GUID *clsid, int out)
{
    char text[1024] = "K";
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    void *library, *symbol;

    /* A crash must end this process and not run a handler that was meant for ours. */
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    alarm(TRIAL_TIMEOUT_S);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = library == NULL ? NULL : dlsym(library, "DllGetClassObject");
    if (library == NULL) {
        const char *reason = dlerror();

        snprintf(text, sizeof text, "L%s", reason == NULL ? "no reason given" : reason);
    } else if (symbol == NULL) {
        strcpy(text, "E");
    } else {
        get_class_object *get;
        void *factory = NULL;
        int32_t result;

        memcpy(&get, &symbol, sizeof get);
        result = get(clsid, &IID_CLASS_FACTORY, &factory);
        if (result < 0 || factory == NULL)
            snprintf(text, sizeof text, "H%08x", result < 0 ? (unsigned)result : 0x80004005u);
    }
    if (os_write_all(out, text, strlen(text)) != 0)
        _exit(1);
    _exit(0); /* without the library's destructors */
}

static int explain_trial(const char *path, const GUID *clsid, const char *text, int status,
                         error *e)
{
    char class_text[CLR_GUID_TEXT];
    int code = ERROR_RUNTIME;

    clr_guid_format(clsid, class_text);
    if (text[0] == 'K')
        return 0;
    if (text[0] == 'L') {
        /* The loader's own words name the missing symbol or library. */
        const char *reason = text_starts_with(text + 1, path) ? text + 1 + strlen(path) : text + 1;

        code = error_set(e, ERROR_RUNTIME, "%s cannot be loaded: %s", path,
                         reason + strspn(reason, ": "));
        error_advise(e, strstr(text, "undefined symbol") != NULL
                            ? "link the library that defines the symbol, or build it in"
                            : "`ldd` shows which libraries it needs");
    } else if (text[0] == 'E') {
        code = error_set(e, ERROR_RUNTIME, "%s has no DllGetClassObject", path);
        error_advise(e, "export DllGetClassObject; the SDK's CLR_PROFILER does that");
    } else if (text[0] == 'H') {
        uint32_t result = (uint32_t)strtoul(text + 1, NULL, 16);

        code = refusal_set(e, result, "%s does not offer the class %s", path, class_text);
        error_advise(e, "check the CLSID: it is the one the profiler's author chose");
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        code = error_set(e, ERROR_TIMEOUT, "%s did not come back from loading", path);
        error_advise(e, "its constructors or DllGetClassObject hang");
    } else {
        code =
            error_set(e, ERROR_RUNTIME, "%s crashed while it was loaded (%s)", path,
                      WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended the process");
        error_advise(e, "its constructors or DllGetClassObject crash");
    }
    return code;
}

int profiler_file_try(const char *path, const GUID *clsid, error *e)
{
    char text[1024] = "";
    size_t length = 0;
    int ends[2], status = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot make a pipe");
    child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return error_set_errno(e, ERROR_IO, errno, "cannot start a process");
    }
    if (child == 0)
        try_in_child(path, clsid, ends[1]);
    close(ends[1]);
    while (length < sizeof text - 1) {
        long n = read(ends[0], text + length, sizeof text - 1 - length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    text[length] = '\0';
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return explain_trial(path, clsid, text, status, e);
}
