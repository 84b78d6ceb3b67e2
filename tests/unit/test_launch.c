/* Unit tests behind `clarinet launch`: SDK processes told from programs, and libraries judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <elf.h>

#include "base/buffer.h"
#include "base/dotnet_host.h"
#include "base/os.h"
#include "diagnostics/profiler_file.h"

static bool sdk_is_in_usr_lib(const char *path)
{
    return strcmp(path, "/usr/lib/dotnet/host/fxr") == 0;
}

/* Arguments are separated by '|' here. */
static void sdk_processes_are_told_from_programs(void **state)
{
    static const struct {
        const char *executable, *arguments;
        bool is_sdk;
    } CASES[] = {
        {"/usr/lib/dotnet/dotnet", "dotnet|run|--project|x", true},
        {"/usr/lib/dotnet/dotnet", "dotnet|test", true},
        {"/usr/lib/dotnet/dotnet", "dotnet|build|app.dll", true},
        {"/usr/lib/dotnet/dotnet", "dotnet|-d|run", true},
        {"/usr/lib/dotnet/dotnet", "dotnet|/usr/lib/dotnet/sdk/10.0.401/MSBuild.dll|/nodemode:1",
         true},
        {"/usr/lib/dotnet/dotnet",
         "dotnet|exec|/usr/lib/dotnet/sdk/10.0.401/Roslyn/bincore/VBCSCompiler.dll", true},
        {"/usr/lib/dotnet/sdk/10.0.401/Roslyn/bincore/VBCSCompiler", "VBCSCompiler|-x", true},
        {"/usr/lib/dotnet/dotnet", "dotnet|app.dll|run", false},
        {"/usr/lib/dotnet/dotnet", "dotnet|/srv/bin/app.dll", false},
        {"/usr/lib/dotnet/dotnet", "dotnet|exec|--fx-version|9.0.22|/srv/app.dll", false},
        {"/usr/lib/dotnet/dotnet",
         "dotnet|exec|--runtimeconfig|/x/a.json|--depsfile|/x/a.deps.json|/x/testhost.dll|--port|1",
         false},
        {"/usr/lib/dotnet/dotnet", "dotnet", false},
        {"/usr/lib/dotnet/dotnet", "dotnet|--fx-version", false},
        {"/srv/shop/shop", "shop|run", false},
        {"/home/me/sdk/1/app", "app", false}, /* no host/fxr beside it */
        {"/usr/lib/dotnet/sdk/tools/app", "app", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char arguments[256];
        size_t length = strlen(CASES[i].arguments) + 1;

        memcpy(arguments, CASES[i].arguments, length);
        for (size_t k = 0; k < length; k++)
            arguments[k] = arguments[k] == '|' ? '\0' : arguments[k];
        print_message("%s %s\n", CASES[i].executable, CASES[i].arguments);
        assert_int_equal(
            dotnet_host_is_sdk(CASES[i].executable, arguments, length, sdk_is_in_usr_lib),
            CASES[i].is_sdk);
    }
    assert_false(dotnet_host_is_sdk("dotnet", "", 0, sdk_is_in_usr_lib));
}

static void commands_that_mean_the_sdk(void **state)
{
    static const struct {
        const char *arguments;
        bool means_sdk;
    } CASES[] = {
        {"dotnet|build", true},
        {"dotnet|-d|publish|-c|Release", true},
        {"dotnet|/usr/lib/dotnet/sdk/10.0.401/Roslyn/bincore/csc.dll|a.cs", true},
        {"dotnet|run|--project|x", false},
        {"dotnet|test", false},
        {"dotnet|watch|run", false},
        {"dotnet|ef|migrations", false}, /* a tool */
        {"dotnet|app.dll|build", false},
        {"sh|-c|dotnet build", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char arguments[256];
        size_t length = strlen(CASES[i].arguments) + 1;

        memcpy(arguments, CASES[i].arguments, length);
        for (size_t k = 0; k < length; k++)
            arguments[k] = arguments[k] == '|' ? '\0' : arguments[k];
        print_message("%s\n", CASES[i].arguments);
        assert_int_equal(dotnet_host_means_sdk(arguments, arguments, length, sdk_is_in_usr_lib),
                         CASES[i].means_sdk);
    }
}

static void test_prefixes_of_a_command_are_looked_through(void **state)
{
    static char *const CASES[][12] = {
        {"nice", "dotnet", "build"},
        {"/usr/bin/nice", "-n", "5", "dotnet", "build"},
        {"nice", "-5", "dotnet", "build"},
        {"env", "-u", "HOME", "A=1", "B=2", "dotnet", "build"},
        {"env", "A=1", "nice", "-n", "3", "timeout", "-k", "5", "60", "dotnet", "build"},
        {"timeout", "--signal=KILL", "60", "dotnet", "build"},
        {"stdbuf", "-oL", "dotnet", "build"},
        {"stdbuf", "-o", "L", "setsid", "-w", "nohup", "dotnet", "build"},
        {"time", "-f", "%e", "dotnet", "build"},
        {"sudo", "-u", "somebody", "A=1", "--", "dotnet", "build"},
        {"taskset", "-c", "0", "dotnet", "build"},
        {"dotnet", "build"},
    };
    static char *const NOTHING[] = {"env", "A=1", NULL};
    static char *const NICE_ONLY[] = {"nice", "-n", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        size_t at = dotnet_host_skip_prefixes(CASES[i]);

        print_message("case %zu\n", i);
        assert_string_equal(CASES[i][at], "dotnet");
        assert_string_equal(CASES[i][at + 1], "build");
    }
    assert_int_equal(dotnet_host_skip_prefixes(NOTHING), 2);
    assert_int_equal(dotnet_host_skip_prefixes(NICE_ONLY), 2);
}

/* --- libraries: real ones, made by the compiler --- */

static char folder[] = "/tmp/clarinet-test-XXXXXX";

static void build(char *path, size_t room, const char *name, const char *source, const char *flags)
{
    char command[1024];
    FILE *pipe;

    snprintf(path, room, "%s/%s", folder, name);
    snprintf(command, sizeof command, "cc -w %s -o %s -x c -", flags, path);
    pipe = popen(command, "w");
    assert_non_null(pipe);
    fputs(source, pipe);
    assert_int_equal(pclose(pipe), 0);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const char GOOD[] = "static void *table[3]; static void *object = table;"
                           "int DllGetClassObject(const unsigned *clsid, void *iid, void **out)"
                           "{ *out = &object; return *clsid == 0x11111111 ? 0 : 0x80040111; }";
static const GUID CLSID = {0x11111111, 0, 0, {0}};

static uint16_t own_machine(void)
{
    return profiler_file_machine_of("/proc/self/exe");
}

static void good_library_passes(void **state)
{
    char path[128];
    profiler_file file;
    error e;

    (void)state;
    build(path, sizeof path, "good.so", GOOD, "-shared -fPIC");
    assert_int_equal(profiler_file_check(path, own_machine(), &file, &e), 0);
    assert_true(file.is_elf && file.is_library && file.has_symbols && file.has_entry_point);
    assert_false(file.needs_musl);
    assert_int_equal(profiler_file_try(path, &CLSID, &e), 0);
}

static void each_fault_has_its_own_words(void **state)
{
    static const struct {
        const char *name, *source, *flags, *words;
    } CASES[] = {
        {"entry.so", "int other;", "-shared -fPIC", "has no DllGetClassObject"},
        {"hidden.so",
         "__attribute__((visibility(\"hidden\"))) int DllGetClassObject(void) {return 0;}",
         "-shared -fPIC", "has no DllGetClassObject"},
        {"undefined.so",
         "int missing_one(void); int DllGetClassObject(void) {return missing_one();}",
         "-shared -fPIC", "undefined symbol: missing_one"},
        {"crash.so", "int DllGetClassObject(void) {__builtin_trap();}", "-shared -fPIC", "crashed"},
        {"exit.so", "void _exit(int); int DllGetClassObject(void) {_exit(3);}", "-shared -fPIC",
         "it ended the process"},
        {"null.so", "int DllGetClassObject(void) {return 0;}", "-shared -fPIC",
         "does not offer the class {11111111-"},
        {"program", "int main(void) {return 0;} int DllGetClassObject(void) {return 0;}",
         "-no-pie -rdynamic", "is a program"},
    };
    char path[128];
    error e;

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        profiler_file file;
        int code;

        build(path, sizeof path, CASES[i].name, CASES[i].source, CASES[i].flags);
        code = profiler_file_check(path, own_machine(), &file, &e);
        if (code == 0)
            code = profiler_file_try(path, &CLSID, &e);
        print_message("%s: %s\n", CASES[i].name, e.message);
        assert_true(code < 0);
        assert_int_equal(code, e.code);
        assert_non_null(strstr(e.message, CASES[i].words));
        assert_true(e.advice[0] != '\0');
    }
}

static void wrong_class_is_named(void **state)
{
    static const GUID OTHER = {0x22222222, 0, 0, {0}};
    char path[128];
    error e;

    (void)state;
    build(path, sizeof path, "other.so", GOOD, "-shared -fPIC");
    assert_int_equal(profiler_file_try(path, &OTHER, &e), ERROR_RUNTIME);
    assert_non_null(strstr(e.message, "CLASS_E_CLASSNOTAVAILABLE"));
    assert_non_null(strstr(e.advice, "CLSID"));
}

static void other_architecture_and_other_files_are_named(void **state)
{
    char path[128], text[128];
    profiler_file file;
    error e;

    (void)state;
    build(path, sizeof path, "arm.so", GOOD, "-shared -fPIC");
    assert_int_equal(
        profiler_file_check(path, EM_AARCH64 + (own_machine() == EM_AARCH64), &file, &e),
        ERROR_UNSUPPORTED);
    assert_non_null(strstr(e.message, "is built for"));
    snprintf(text, sizeof text, "%s/text.so", folder);
    assert_int_equal(os_write_file(text, "MZ", 2, NULL), 0);
    assert_int_equal(profiler_file_check(text, own_machine(), &file, &e), ERROR_CORRUPT);
    assert_int_equal(profiler_file_check(folder, own_machine(), &file, &e), ERROR_NOT_FOUND);
    assert_int_equal(profiler_file_check("/nonexistent.so", own_machine(), &file, &e),
                     ERROR_NOT_FOUND);
}

static void damaged_files_never_hurt(void **state)
{
    buffer bytes = BUFFER_EMPTY;
    char path[128];
    profiler_file file;
    unsigned random = 1;

    (void)state;
    build(path, sizeof path, "damaged.so", GOOD, "-shared -fPIC");
    assert_int_equal(os_read_file(path, 0, &bytes, NULL), 0);
    for (size_t cut = 0; cut < bytes.length / 2; cut += cut < 256 ? 1 : 97) {
        profiler_file_parse(bytes.data, cut, &file);
        assert_false(file.has_entry_point);
    }
    for (int round = 0; round < 2000; round++) {
        uint8_t kept[4];
        size_t at[4];

        for (int i = 0; i < 4; i++) {
            random = random * 1103515245 + 12345;
            at[i] = i < 2 ? random / 7 % 64 : random / 7 % bytes.length;
            kept[i] = bytes.data[at[i]];
            bytes.data[at[i]] = (uint8_t)(random >> 24);
        }
        profiler_file_parse(bytes.data, bytes.length, &file);
        for (int i = 4; i-- > 0;)
            bytes.data[at[i]] = kept[i];
    }
    profiler_file_parse(bytes.data, bytes.length, &file);
    assert_true(file.has_entry_point);
    buffer_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes_of_a_command_are_looked_through),
        cmocka_unit_test(sdk_processes_are_told_from_programs),
        cmocka_unit_test(commands_that_mean_the_sdk),
        cmocka_unit_test(good_library_passes),
        cmocka_unit_test(each_fault_has_its_own_words),
        cmocka_unit_test(wrong_class_is_named),
        cmocka_unit_test(other_architecture_and_other_files_are_named),
        cmocka_unit_test(damaged_files_never_hurt),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
