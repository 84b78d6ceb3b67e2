/*
 * Unit tests of the diagnostics port's wire and commands, against a server of our own on a real
 * socket, because a real runtime cannot be made to answer wrongly.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/os.h"
#include "clarinet/profiler.h"
#include "diagnostics/commands.h"
#include "diagnostics/ipc.h"
#include "diagnostics/refusal.h"

/* --- a server: a child process that takes one request per answer, and keeps what it was sent ---
 */

typedef struct {
    const void *bytes;
    size_t length;
    bool stay_silent; /* take the request and never answer */
    bool stay_open;   /* answer, then keep the connection open */
} fake_answer;

typedef struct {
    char folder[64];
    ipc_address address;
    pid_t child;
    int requests; /* what the server was sent, each with a u32 length before */
} fake_server;

static void serve(int listener, int out, const fake_answer *answers, size_t count)
{
    int kept[8];

    for (size_t i = 0; i < count; i++) {
        uint8_t request[70000];
        size_t length = 0, size = IPC_HEADER_SIZE;
        int connection = accept(listener, NULL, NULL);
        uint32_t prefix;

        while (length < size) {
            ssize_t n = read(connection, request + length, sizeof request - length);

            if (n <= 0)
                break;
            length += (size_t)n;
            if (length >= 16)
                size = (size_t)(request[14] | request[15] << 8);
        }
        prefix = (uint32_t)length;
        if (write(out, &prefix, 4) != 4 || write(out, request, length) != (ssize_t)length)
            _exit(1);
        if (answers[i].length > 0 &&
            write(connection, answers[i].bytes, answers[i].length) != (ssize_t)answers[i].length)
            _exit(1);
        kept[i] = connection;
        if (!answers[i].stay_silent && !answers[i].stay_open)
            close(connection);
    }
    (void)kept;
    pause();
    _exit(0);
}

static void server_start(fake_server *s, const fake_answer *answers, size_t count)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int listener, pipes[2];

    memset(s, 0, sizeof *s);
    strcpy(s->folder, "/tmp/clarinet-test-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->address.path, sizeof s->address.path, "%s/dotnet-diagnostic-1-2-socket", s->folder);
    strcpy(name.sun_path, s->address.path);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(pipe(pipes), 0);
    s->child = fork();
    if (s->child == 0) {
        listen(listener, 8); /* here, so that the child is the peer */
        if (write(pipes[1], "L", 1) != 1)
            _exit(1);
        serve(listener, pipes[1], answers, count);
    }
    close(listener);
    close(pipes[1]);
    s->requests = pipes[0];
    assert_int_equal(read(s->requests, name.sun_path, 1), 1);
    s->address.process_id = (int)s->child;
    s->address.timeout_ms = 30000;
}

static size_t server_request(fake_server *s, uint8_t *bytes, size_t room)
{
    uint32_t length;
    size_t got = 0;

    assert_int_equal(read(s->requests, &length, 4), 4);
    assert_true(length <= room);
    while (got < length) {
        ssize_t n = read(s->requests, bytes + got, length - got);

        assert_true(n > 0);
        got += (size_t)n;
    }
    return got;
}

static void server_stop(fake_server *s)
{
    kill(s->child, SIGKILL);
    waitpid(s->child, NULL, 0);
    close(s->requests);
    unlink(s->address.path);
    rmdir(s->folder);
}

static void append_answer(buffer *out, uint8_t kind, const buffer *payload)
{
    assert_true(ipc_append_message(out, 0xff, kind, payload->data, payload->length));
}

static void append_refusal(buffer *out, uint32_t hresult)
{
    buffer payload = BUFFER_EMPTY;

    buffer_append_u32(&payload, hresult);
    append_answer(out, 0xff, &payload);
    buffer_free(&payload);
}

static void append_info_payload(buffer *out, int version)
{
    if (version == 3)
        buffer_append_u32(out, 1);
    buffer_append_u64(out, 4711);
    buffer_append(out, "0123456789abcdef", 16);
    ipc_append_text(out, "dotnet shop.dll --größe 3");
    ipc_append_text(out, "linux");
    ipc_append_text(out, "x64");
    if (version >= 2) {
        ipc_append_text(out, "shop");
        ipc_append_text(out, "9.0.22");
    }
    if (version >= 3)
        ipc_append_text(out, "linux-x64");
}

/* --- requests --- */

static void attach_sends_exactly_the_documented_bytes(void **state)
{
    static const uint8_t EXPECTED[] = {
        'D',  'O',  'T',  'N',  'E',  'T',  '_',  'I',  'P',  'C',
        '_',  'V',  '1',  0,    64,   0,    3,    1,    0,    0, /* header */
        0xe8, 3,    0,    0,                                     /* 1000 ms */
        0x67, 0x45, 0x23, 0x01, 0xab, 0x89, 0xef, 0xcd, 0x01, 0x23,
        0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, /* CLSID */
        7,    0,    0,    0,                /* units with the zero */
        '/',  0,    'l',  0,    '.',  0,    's',  0,    'o',  0,
        0xe9, 0,    0,    0,    2,    0,    0,    0,    0xaa, 0xbb, /* client data */
    };
    buffer ok = BUFFER_EMPTY, payload = BUFFER_EMPTY;
    GUID clsid;
    fake_server server;
    uint8_t request[256];
    error e;

    (void)state;
    buffer_append_u32(&payload, 0);
    append_answer(&ok, 0, &payload);
    server_start(&server, &(fake_answer){ok.data, ok.length, false, false}, 1);
    assert_true(clr_guid_parse("{01234567-89ab-cdef-0123-456789abcdef}", &clsid));
    assert_int_equal(
        diagnostics_attach_profiler(&server.address, &clsid, "/l.soé", "\xaa\xbb", 2, 1000, &e), 0);
    assert_int_equal(server_request(&server, request, sizeof request), sizeof EXPECTED);
    assert_memory_equal(request, EXPECTED, sizeof EXPECTED);
    server_stop(&server);
    buffer_free(&ok);
    buffer_free(&payload);
}

static void absent_text_is_a_count_of_zero(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    ipc_append_text(&b, NULL);
    assert_int_equal(b.length, 4);
    ipc_append_text(&b, "");
    assert_int_equal(b.length, 4 + 6);
    assert_int_equal(b.data[4], 1);
    buffer_free(&b);
}

static void too_long_a_request_is_refused_before_connecting(void **state)
{
    static uint8_t data[65500];
    ipc_address nowhere = {.path = "/nonexistent/socket"};
    GUID clsid = {0};
    error e;

    (void)state;
    assert_int_equal(
        diagnostics_attach_profiler(&nowhere, &clsid, "/library.so", data, sizeof data, 10, &e),
        ERROR_LIMIT);
    assert_int_equal(diagnostics_attach_profiler(&nowhere, &clsid, "library.so", data, 0, 10, &e),
                     ERROR_USAGE);
}

/* --- answers --- */

static void process_info_of_every_version_is_parsed(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        buffer payload = BUFFER_EMPTY;
        diagnostics_process_info info;
        error e;

        append_info_payload(&payload, version);
        assert_int_equal(diagnostics_parse_process_info(
                             version, reader_of(payload.data, payload.length), &info, &e),
                         0);
        assert_int_equal(info.process_id, 4711);
        assert_memory_equal(info.cookie, "0123456789abcdef", 16);
        assert_string_equal(info.command_line, "dotnet shop.dll --größe 3");
        assert_string_equal(info.architecture, "x64");
        assert_string_equal(info.entry_assembly, version >= 2 ? "shop" : "");
        assert_string_equal(info.runtime_version, version >= 2 ? "9.0.22" : "");
        assert_string_equal(info.runtime_identifier, version >= 3 ? "linux-x64" : "");
        diagnostics_process_info_free(&info);
        for (size_t cut = 0; cut < payload.length; cut++) {
            assert_int_equal(
                diagnostics_parse_process_info(version, reader_of(payload.data, cut), &info, &e),
                ERROR_CORRUPT);
            assert_null(info.command_line);
        }
        buffer_free(&payload);
    }
}

static void old_runtime_is_asked_again_with_the_older_command(void **state)
{
    buffer unknown = BUFFER_EMPTY, old = BUFFER_EMPTY, payload = BUFFER_EMPTY;
    diagnostics_process_info info;
    fake_server server;
    uint8_t request[64];
    error e;

    (void)state;
    append_refusal(&unknown, 0x80131385);
    append_info_payload(&payload, 1);
    append_answer(&old, 0, &payload);
    server_start(&server,
                 (fake_answer[]){{unknown.data, unknown.length, false, false},
                                 {old.data, old.length, false, false}},
                 2);
    assert_int_equal(diagnostics_get_process_info(&server.address, true, &info, &e), 0);
    assert_int_equal(info.version, 1);
    assert_string_equal(info.runtime_version, "");
    assert_int_equal(server_request(&server, request, sizeof request), IPC_HEADER_SIZE);
    assert_int_equal(request[17], 4);
    assert_int_equal(server_request(&server, request, sizeof request), IPC_HEADER_SIZE);
    assert_int_equal(request[17], 0);
    diagnostics_process_info_free(&info);
    server_stop(&server);
    buffer_free(&unknown);
    buffer_free(&old);
    buffer_free(&payload);
}

static void environment_follows_its_answer(void **state)
{
    buffer message = BUFFER_EMPTY, payload = BUFFER_EMPTY, tail = BUFFER_EMPTY, out = BUFFER_EMPTY;
    fake_server server;
    error e;

    (void)state;
    buffer_append_u32(&tail, 2);
    ipc_append_text(&tail, "A=1");
    ipc_append_text(&tail, "B=zwölf");
    buffer_append_u32(&payload, (uint32_t)tail.length);
    buffer_append_u16(&payload, 0);
    append_answer(&message, 0, &payload);
    buffer_append(&message, tail.data, tail.length);
    server_start(&server,
                 (fake_answer[]){{message.data, message.length, false, false},
                                 {message.data, message.length - 3, false, false}},
                 2);
    assert_int_equal(diagnostics_get_process_environment(&server.address, &out, &e), 0);
    assert_int_equal(out.length, sizeof "A=1\0B=zwölf");
    assert_memory_equal(out.data, "A=1\0B=zwölf", out.length);
    assert_int_equal(diagnostics_get_process_environment(&server.address, &out, &e), ERROR_IO);
    server_stop(&server);
    buffer_free(&message);
    buffer_free(&payload);
    buffer_free(&tail);
    buffer_free(&out);
}

/* Every way an answer can be broken: a code of its own, and no wait beyond the timeout. */
static void broken_answers_are_refused(void **state)
{
    static const struct {
        const char *what;
        const char *bytes;
        size_t length;
        int code;
    } CASES[] = {
        {"closed at once", "", 0, ERROR_IO},
        {"half a header", "DOTNET_IPC", 10, ERROR_IO},
        {"garbage", "HTTP/1.1 400 Bad Request\r\n\r\n", 28, ERROR_CORRUPT},
        {"size below the header's", "DOTNET_IPC_V1\0\x05\0\xff\0\0\0", 20, ERROR_CORRUPT},
        {"not from the server set", "DOTNET_IPC_V1\0\x14\0\x04\0\0\0", 20, ERROR_CORRUPT},
        {"unknown kind of answer", "DOTNET_IPC_V1\0\x14\0\xff\x07\0\0", 20, ERROR_CORRUPT},
        {"error without a code", "DOTNET_IPC_V1\0\x14\0\xff\xff\0\0", 20, ERROR_CORRUPT},
        {"cut payload", "DOTNET_IPC_V1\0\xff\0\xff\0\0\0abc", 23, ERROR_IO},
        {"empty info", "DOTNET_IPC_V1\0\x14\0\xff\0\0\0", 20, ERROR_CORRUPT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        diagnostics_process_info info;
        fake_server server;
        error e;

        server_start(&server, &(fake_answer){CASES[i].bytes, CASES[i].length, false, false}, 1);
        print_message("%s\n", CASES[i].what);
        assert_int_equal(diagnostics_get_process_info(&server.address, false, &info, &e),
                         CASES[i].code);
        assert_true(e.message[0] != '\0');
        server_stop(&server);
    }
}

static void silent_process_times_out(void **state)
{
    diagnostics_process_info info;
    fake_server server;
    error e;

    (void)state;
    server_start(&server, (fake_answer[]){{"", 0, true, false}, {"DOTNET_IPC_V1", 13, true, false}},
                 2);
    server.address.timeout_ms = 100;
    assert_int_equal(diagnostics_get_process_info(&server.address, false, &info, &e),
                     ERROR_TIMEOUT);
    assert_int_equal(diagnostics_get_process_info(&server.address, false, &info, &e),
                     ERROR_TIMEOUT);
    server_stop(&server);
}

static void socket_of_another_process_is_refused(void **state)
{
    diagnostics_process_info info;
    fake_server server;
    error e;

    (void)state;
    server_start(&server, &(fake_answer){"", 0, false, false}, 1);
    server.address.process_id = (int)getpid();
    assert_int_equal(diagnostics_get_process_info(&server.address, false, &info, &e),
                     ERROR_NOT_FOUND);
    assert_non_null(strstr(e.message, "belongs to process"));
    server_stop(&server);
}

static void missing_and_abandoned_sockets_have_their_own_words(void **state)
{
    char gone[600];
    fake_server server;
    error e;

    (void)state;
    server_start(&server, &(fake_answer){"", 0, false, false}, 1);
    kill(server.child, SIGKILL);
    waitpid(server.child, NULL, 0);
    assert_int_equal(diagnostics_resume_runtime(&server.address, &e), ERROR_GONE);
    server.address.process_id = 0;
    assert_int_equal(diagnostics_resume_runtime(&server.address, &e), ERROR_NOT_FOUND);
    assert_non_null(strstr(e.message, "nobody listens"));
    snprintf(gone, sizeof gone, "%s", server.address.path);
    unlink(gone);
    assert_int_equal(diagnostics_resume_runtime(&server.address, &e), ERROR_NOT_FOUND);
    assert_non_null(strstr(e.message, "is not there"));
    assert_int_equal(os_write_file(gone, "x", 1, &e), 0);
    assert_int_equal(diagnostics_resume_runtime(&server.address, &e), ERROR_NOT_FOUND);
    assert_non_null(strstr(e.message, "is not a socket"));
    server_stop(&server);
}

static void long_paths_can_be_connected(void **state)
{
    char folder[300], longer[400];
    fake_server server;
    buffer ok = BUFFER_EMPTY, payload = BUFFER_EMPTY;
    error e;

    (void)state;
    buffer_append_u32(&payload, 0);
    append_answer(&ok, 0, &payload);
    server_start(&server, &(fake_answer){ok.data, ok.length, false, false}, 1);
    snprintf(folder, sizeof folder, "%s/%0120d", server.folder, 7);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(longer, sizeof longer, "%s/dotnet-diagnostic-1-2-socket", folder);
    assert_int_equal(rename(server.address.path, longer), 0);
    strcpy(server.address.path, longer);
    assert_int_equal(diagnostics_resume_runtime(&server.address, &e), 0);
    server_stop(&server);
    rmdir(folder);
    rmdir(server.folder);
    buffer_free(&ok);
    buffer_free(&payload);
}

static void refusals_say_what_to_do(void **state)
{
    static const uint32_t SEEN[] = {0x8013136a, 0x8007007e, 0x8007007f, 0x80131368,
                                    0x80004005, 0x80131375, 0x8013135b, 0x80131385,
                                    0x80131384, 0x80131386, 0x80070057, 0x80131515};
    GUID clsid = {0};
    error e;

    (void)state;
    for (size_t i = 0; i < sizeof SEEN / sizeof *SEEN; i++) {
        buffer answer = BUFFER_EMPTY;
        fake_server server;

        append_refusal(&answer, SEEN[i]);
        server_start(&server, &(fake_answer){answer.data, answer.length, false, false}, 1);
        assert_int_equal(
            diagnostics_attach_profiler(&server.address, &clsid, "/l.so", NULL, 0, 100, &e),
            refusal_find(SEEN[i])->code);
        assert_non_null(strstr(e.message, refusal_find(SEEN[i])->name));
        assert_true(e.advice[0] != '\0');
        server_stop(&server);
        buffer_free(&answer);
    }
    assert_int_equal(refusal_set(&e, 0x81234567, "x"), ERROR_RUNTIME);
    assert_non_null(strstr(e.message, "0x81234567"));
    assert_int_equal(refusal_set(NULL, 0x8013136a, "x"), ERROR_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attach_sends_exactly_the_documented_bytes),
        cmocka_unit_test(absent_text_is_a_count_of_zero),
        cmocka_unit_test(too_long_a_request_is_refused_before_connecting),
        cmocka_unit_test(process_info_of_every_version_is_parsed),
        cmocka_unit_test(old_runtime_is_asked_again_with_the_older_command),
        cmocka_unit_test(environment_follows_its_answer),
        cmocka_unit_test(broken_answers_are_refused),
        cmocka_unit_test(silent_process_times_out),
        cmocka_unit_test(socket_of_another_process_is_refused),
        cmocka_unit_test(missing_and_abandoned_sockets_have_their_own_words),
        cmocka_unit_test(long_paths_can_be_connected),
        cmocka_unit_test(refusals_say_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
