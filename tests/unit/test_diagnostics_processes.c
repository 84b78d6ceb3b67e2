/* Unit tests of process discovery: the texts of /proc, socket names, versions, profiler libraries.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/os.h"
#include "diagnostics/maps.h"
#include "diagnostics/processes.h"
#include "diagnostics/procfs.h"
#include "diagnostics/sockets.h"

static void stat_line_with_any_name_is_parsed(void **state)
{
    static const char TEXT[] =
        "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 3 0 0 0 12 5 0 0 20 0 9 0 "
        "124011 99 1 18446744073709551615 1 1 0\n";
    procfs_stat stat;

    (void)state;
    assert_true(procfs_parse_stat(TEXT, sizeof TEXT - 1, &stat));
    assert_int_equal(stat.process_id, 4711);
    assert_string_equal(stat.name, "a) b (c");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.threads, 9);
    assert_false(stat.ending);
    assert_int_equal(stat.start_ticks, 124011);
    for (size_t cut = 0; cut < (size_t)(strstr(TEXT, " 124011") - TEXT); cut++)
        assert_false(procfs_parse_stat(TEXT, cut, &stat));
}

static void a_task_on_its_way_out_is_ending(void **state)
{
    static const char TEXT[] = "4711 (dotnet) R 1 4711 4711 0 -1 4194564 3 0 0 0 12 5 0 0 20 0 9 0 "
                               "124011 0 0 18446744073709551615\n";
    procfs_stat stat;

    (void)state;
    assert_true(procfs_parse_stat(TEXT, sizeof TEXT - 1, &stat));
    assert_true(stat.ending);
}

static void own_stat_is_read(void **state)
{
    procfs_stat stat;

    (void)state;
    assert_true(procfs_read_stat(os_process_id(), &stat));
    assert_int_equal(stat.process_id, os_process_id());
    assert_int_equal(stat.threads, 1);
    assert_true(procfs_uptime_seconds(&stat) < 3600);
    assert_false(procfs_read_stat(INT32_MAX, &stat));
}

static void innermost_pid_is_taken(void **state)
{
    (void)state;
    assert_int_equal(procfs_parse_inner_pid("Name:\tx\nNSpid:\t4711\t12\t7\nNSpgid:\t1\t2\t3\n"),
                     7);
    assert_int_equal(procfs_parse_inner_pid("Name:\tx\nNSpid:\t4711\n"), 4711);
    assert_int_equal(procfs_parse_inner_pid("Name:\tx\nNSpid:\t\nNSpgid:\t9\n"), 0);
    assert_int_equal(procfs_parse_inner_pid("Name:\tx\n"), 0);
}

static void variables_are_found_whole(void **state)
{
    static const char TEXT[] = "XTMPDIR=/no\0TMPDIR2=/no\0TMPDIR=/yes\0EMPTY=\0LAST=cut";
    buffer b = BUFFER_EMPTY;

    (void)state;
    assert_null(procfs_find_variable(&b, "TMPDIR"));
    buffer_append(&b, TEXT, sizeof TEXT - 1);
    assert_string_equal(procfs_find_variable(&b, "TMPDIR"), "/yes");
    assert_string_equal(procfs_find_variable(&b, "EMPTY"), "");
    assert_string_equal(procfs_find_variable(&b, "LAST"), "cut");
    assert_null(procfs_find_variable(&b, "NONE"));
    buffer_free(&b);
}

static void command_line_is_one_clean_line(void **state)
{
    buffer cmdline = BUFFER_EMPTY, out = BUFFER_EMPTY;

    (void)state;
    buffer_append(&cmdline, "dotnet\0a b.dll\0x\ny\0\xff\0\0", 22);
    procfs_append_command_line(&out, &cmdline);
    assert_string_equal(buffer_text(&out), "dotnet a b.dll x y \xef\xbf\xbd");
    buffer_free(&cmdline);
    buffer_free(&out);
}

static void socket_names_are_recognised(void **state)
{
    static const char *const WRONG[] = {"dotnet-diagnostic-12-34",
                                        "dotnet-diagnostic--34-socket",
                                        "dotnet-diagnostic-12--socket",
                                        "dotnet-diagnostic-12-34-socket2",
                                        "clr-debug-pipe-12-34-in",
                                        "dotnet-diagnostic-0-34-socket",
                                        "dotnet-diagnostic-99999999999-34-socket",
                                        "dotnet-diagnostic-+1-34-socket",
                                        ""};
    uint64_t start;
    int pid;

    (void)state;
    assert_true(sockets_parse_name("dotnet-diagnostic-12-34567890123-socket", &pid, &start));
    assert_int_equal(pid, 12);
    assert_int_equal(start, 34567890123);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        assert_false(sockets_parse_name(WRONG[i], &pid, &start));
}

static void folders_are_listed_once_and_sockets_told_apart(void **state)
{
    char folder[] = "/tmp/clarinet-test-XXXXXX", path[128], slash[64];
    sockets_cache cache = {NULL, 0, false};
    sockets_folder *listed;
    sockets_entry *entry;
    ipc_address address = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int start = 100; start < 102; start++) {
        snprintf(path, sizeof path, "%s/dotnet-diagnostic-7-%d-socket", folder, start);
        assert_int_equal(os_write_file(path, "", 0, NULL), 0);
    }
    listed = sockets_list(&cache, "", folder);
    assert_non_null(listed);
    assert_int_equal(listed->count, 2);
    snprintf(slash, sizeof slash, "%s//", folder);
    assert_ptr_equal(sockets_list(&cache, "", slash), listed);
    assert_int_equal(cache.count, 1);
    assert_null(sockets_list(&cache, "", "/proc/nonexistent"));
    assert_null(sockets_list(&cache, "", "relative"));
    assert_null(sockets_find(listed, 7, 99));
    assert_null(sockets_find(listed, 8, 100));
    entry = sockets_find(listed, 7, 101);
    assert_non_null(entry);
    assert_true(entry->taken);
    sockets_address(listed, entry, &address);
    assert_string_equal(address.path, path);
    for (int start = 100; start < 102; start++) {
        snprintf(path, sizeof path, "%s/dotnet-diagnostic-7-%d-socket", folder, start);
        unlink(path);
    }
    rmdir(folder);
    sockets_free(&cache);
}

/* One that is listened on between those that nobody listens on, one that is taken, and a file. */
static void sockets_nobody_listens_on_are_marked(void **state)
{
    enum { SOCKETS = 6, LISTENING = 102, TAKEN = 104, FILE_ONLY = 106 };
    char folder[] = "/tmp/clarinet-test-XXXXXX", path[128];
    sockets_cache cache = {NULL, 0, false};
    sockets_folder *listed;
    int listener = -1;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int start = 100; start < 100 + SOCKETS; start++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);

        snprintf(name.sun_path, sizeof name.sun_path, "%s/dotnet-diagnostic-7-%d-socket", folder,
                 start);
        assert_int_equal(bind(descriptor, (const struct sockaddr *)&name, sizeof name), 0);
        if (start == LISTENING)
            assert_int_equal(listen(listener = descriptor, 4), 0);
        else
            close(descriptor);
    }
    snprintf(path, sizeof path, "%s/dotnet-diagnostic-7-%d-socket", folder, FILE_ONLY);
    assert_int_equal(os_write_file(path, "", 0, NULL), 0);
    listed = sockets_list(&cache, "", folder);
    assert_non_null(listed);
    assert_int_equal(listed->count, SOCKETS + 1);
    assert_non_null(sockets_find(listed, 7, TAKEN));
    sockets_mark_stale(listed);
    for (size_t i = 0; i < listed->count; i++) {
        uint64_t start = listed->entries[i].start_ticks;

        assert_int_equal(listed->entries[i].stale,
                         start != LISTENING && start != TAKEN && start != FILE_ONLY);
        snprintf(path, sizeof path, "%s/%s", folder, listed->entries[i].name);
        unlink(path);
    }
    close(listener);
    rmdir(folder);
    sockets_mark_stale(listed); /* a folder that is gone */
    sockets_free(&cache);
}

static void links_inside_a_root_do_not_lead_out(void **state)
{
    char folder[] = "/tmp/clarinet-test-XXXXXX", path[128];
    const char *name;
    int descriptor;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/etc", folder);
    assert_int_equal(symlink("/etc", path), 0); /* inside the root: itself */
    snprintf(path, sizeof path, "%s/up", folder);
    assert_int_equal(symlink("../../..", path), 0); /* the root, however often it goes up */
    assert_true(ipc_open_folder(folder, "/etc/passwd", &name) < 0);
    descriptor = ipc_open_folder(folder, "/up/x", &name);
    assert_true(descriptor >= 0);
    assert_string_equal(name, "x");
    assert_int_equal(faccessat(descriptor, "up", F_OK, AT_SYMLINK_NOFOLLOW), 0);
    close(descriptor);
    snprintf(path, sizeof path, "%s/etc", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/up", folder);
    unlink(path);
    rmdir(folder);
}

static void versions_are_read_from_paths_and_modules(void **state)
{
    static const char MODULE[] = "\0\0@(#)Version 10.0.1426.8 @Commit: 0\0";
    char version[32];

    (void)state;
    assert_true(maps_version_of_path("/usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.22/x.so",
                                     version, sizeof version));
    assert_string_equal(version, "9.0.22");
    assert_true(maps_version_of_path("/x/Microsoft.NETCore.App/11.0.0-preview.1.25/libcoreclr.so",
                                     version, sizeof version));
    assert_string_equal(version, "11.0.0-preview.1.25");
    assert_false(maps_version_of_path("/app/libcoreclr.so", version, sizeof version));
    assert_false(maps_version_of_path("/Microsoft.NETCore.App/9.0.22", version, sizeof version));
    assert_true(maps_version_of_module(MODULE, sizeof MODULE, version, sizeof version));
    assert_string_equal(version, "10.0.14");
    for (size_t cut = 0; cut < 16; cut++)
        assert_false(maps_version_of_module(MODULE, cut, version, sizeof version));
}

static void maps_tell_runtime_and_profilers(void **state)
{
    static const char MAPS[] =
        "55d0-55d1 r-xp 00000000 fe:00 12   /usr/bin/dotnet\n"
        "7f00-7f10 r--p 00000000 fe:00 13   /d/shared/Microsoft.NETCore.App/8.0.33/libcoreclr.so\n"
        "7f10-7f20 r-xp 00000000 fe:00 13   /d/shared/Microsoft.NETCore.App/8.0.33/libcoreclr.so\n"
        "7f20-7f30 r-xp 00000000 fe:00 14   /tmp/x/libclarinet-0123.so\n"
        "7f30-7f40 r-xp 00000000 fe:00 14   /tmp/x/libclarinet-0123.so (deleted)\n"
        "7f40-7f50 r-xp 00000000 fe:00 15   /opt/my own/apm.so\n"
        "7f50-7f60 rw-p 00000000 00:00 0    [heap]";
    buffer maps = BUFFER_EMPTY, profilers = BUFFER_EMPTY;
    maps_findings found;

    (void)state;
    buffer_append_text(&maps, MAPS);
    maps_scan(&maps, "/opt/my own/apm.so", &found, &profilers);
    assert_true(found.has_coreclr);
    assert_string_equal(found.version, "8.0.33");
    assert_string_equal(buffer_text(&profilers), "apm.so");
    assert_string_equal(found.agent, "libclarinet-0123.so");
    buffer_clear(&maps);
    buffer_append_text(&maps, "55d0-55d1 r-xp 00000000 fe:00 12   /usr/bin/java\n\n/\nxx");
    maps_scan(&maps, NULL, &found, NULL);
    assert_false(found.has_coreclr);
    assert_string_equal(found.version, "");
    buffer_free(&maps);
    buffer_free(&profilers);
}

static void processes_that_are_none_have_their_own_words(void **state)
{
    diagnostics_process process;
    error e;
    pid_t child;

    (void)state;
    assert_int_equal(diagnostics_find_process("2147483647", &process, &e), ERROR_NOT_FOUND);
    assert_string_equal(e.message, "there is no process 2147483647");
    assert_int_equal(diagnostics_find_process("0", &process, &e), ERROR_USAGE);
    assert_int_equal(diagnostics_find_process("99999999999", &process, &e), ERROR_USAGE);
    assert_int_equal(diagnostics_find_process_id(os_process_id(), &process, &e), ERROR_UNSUPPORTED);
    assert_non_null(strstr(e.message, "is not a .NET process"));
    assert_int_equal(diagnostics_find_process("no such program", &process, &e), ERROR_NOT_FOUND);
    assert_true(e.advice[0] != '\0');
    child = fork();
    if (child == 0)
        _exit(0);
    for (int i = 0; i < 1000 && diagnostics_find_process_id((int)child, &process, &e) != ERROR_GONE;
         i++)
        os_sleep_ms(5);
    assert_int_equal(e.code, ERROR_GONE);
    waitpid(child, NULL, 0);
    assert_int_equal(diagnostics_find_process_id((int)child, &process, &e), ERROR_NOT_FOUND);
}

/* A copy of this program, called as the host of .NET is. */
static void make_host(const char *path)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    char bytes[65536];
    ssize_t n;

    assert_true(from >= 0 && to >= 0);
    while ((n = read(from, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(to, bytes, (size_t)n), n);
    close(from);
    close(to);
}

static void host_without_a_runtime_is_said_to_start(void **state)
{
    char folder[] = "/tmp/clarinet-test-XXXXXX";
    char path[64];
    diagnostics_process process;
    error e = {0};
    pid_t child;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/dotnet", folder);
    make_host(path);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(path, path, "wait", (char *)NULL);
        _exit(1);
    }
    /* until it is what it will be, it is a copy of this process */
    for (int i = 0;
         i < 4000 && diagnostics_find_process_id((int)child, &process, &e) == ERROR_UNSUPPORTED;
         i++)
        os_sleep_ms(5);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(path);
    rmdir(folder);
    assert_int_equal(e.code, ERROR_BUSY);
    assert_non_null(strstr(e.message, "(dotnet) is just starting"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_line_with_any_name_is_parsed),
        cmocka_unit_test(a_task_on_its_way_out_is_ending),
        cmocka_unit_test(own_stat_is_read),
        cmocka_unit_test(innermost_pid_is_taken),
        cmocka_unit_test(variables_are_found_whole),
        cmocka_unit_test(command_line_is_one_clean_line),
        cmocka_unit_test(socket_names_are_recognised),
        cmocka_unit_test(folders_are_listed_once_and_sockets_told_apart),
        cmocka_unit_test(sockets_nobody_listens_on_are_marked),
        cmocka_unit_test(links_inside_a_root_do_not_lead_out),
        cmocka_unit_test(versions_are_read_from_paths_and_modules),
        cmocka_unit_test(maps_tell_runtime_and_profilers),
        cmocka_unit_test(processes_that_are_none_have_their_own_words),
        cmocka_unit_test(host_without_a_runtime_is_said_to_start),
    };

    if (argc == 2 && strcmp(argv[1], "wait") == 0) {
        pause();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
