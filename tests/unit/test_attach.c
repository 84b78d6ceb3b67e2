/* Unit tests of finding the agent that is in a process already. This program is its own target: it
 * has the folder and the socket of an agent that takes no notice of who calls, as one does that
 * waits for a runtime which cannot be suspended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "diagnostics/procfs.h"
#include "session/attach.h"

typedef struct {
    char temporary[32];
    char folder[96];
    char token[128];
    struct sockaddr_un socket;
    int listener;
    diagnostics_process process;
} silent_agent;

static void open_agent(silent_agent *a)
{
    uint8_t token[CONTROL_TOKEN_SIZE] = {1};
    char text[2 * CONTROL_TOKEN_SIZE + 1];
    procfs_stat stat;
    int file;

    memset(a, 0, sizeof *a);
    assert_true(procfs_read_stat(getpid(), &stat));
    snprintf(a->temporary, sizeof a->temporary, "/tmp/attach-XXXXXX");
    assert_non_null(mkdtemp(a->temporary));
    snprintf(a->folder, sizeof a->folder, "%s/clarinet-%u-%d-%llu", a->temporary,
             (unsigned)geteuid(), getpid(), (unsigned long long)stat.start_ticks);
    assert_int_equal(mkdir(a->folder, 0700), 0);
    snprintf(a->token, sizeof a->token, "%s/%s", a->folder, CONTROL_TOKEN_NAME);
    file = open(a->token, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    control_format_token(token, text);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    a->socket.sun_family = AF_UNIX;
    assert_true(snprintf(a->socket.sun_path, sizeof a->socket.sun_path, "%s/%s", a->folder,
                         CONTROL_SOCKET_NAME) < (int)sizeof a->socket.sun_path);
    a->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(a->listener, (struct sockaddr *)&a->socket, sizeof a->socket), 0);
    assert_int_equal(listen(a->listener, 0), 0);
    a->process.process_id = a->process.inner_pid = getpid();
    a->process.user_id = geteuid();
    a->process.start_ticks = stat.start_ticks;
    a->process.temporary_folder = a->temporary;
}

static void close_agent(silent_agent *a)
{
    close(a->listener);
    unlink(a->socket.sun_path);
    unlink(a->token);
    rmdir(a->folder);
    assert_int_equal(rmdir(a->temporary), 0);
}

/* As many wait to be accepted as may: the next one is turned away by the kernel. */
static int fill(const silent_agent *a, int *waiting, int most)
{
    for (int i = 0; i < most; i++) {
        waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(waiting[i], (const struct sockaddr *)&a->socket, sizeof a->socket) != 0) {
            close(waiting[i]);
            return i;
        }
    }
    return most;
}

static void an_agent_that_takes_no_notice_is_not_loaded_again(void **state)
{
    enum { MOST = 8 };
    int waiting[MOST];
    int count;
    silent_agent a;
    session_link l;
    control_welcome welcome;
    bool unloadable = false;
    error e;

    (void)state;
    open_agent(&a);
    count = fill(&a, waiting, MOST);
    assert_in_range(count, 1, MOST - 1);
    error_clear(&e);
    /* there is no such library: loading it would say so */
    assert_int_equal(attach_open(&a.process, "/none/such.so", false, &l, &welcome, &unloadable, &e),
                     ERROR_BUSY);
    assert_non_null(strstr(e.message, "does not answer: it still waits for the runtime"));
    assert_true(unloadable);
    for (int i = 0; i < count; i++)
        close(waiting[i]);
    close_agent(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_that_takes_no_notice_is_not_loaded_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
