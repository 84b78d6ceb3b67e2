/* What a collector answers: taken apart, whole or in pieces, and what it says about the spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"

#include "report/http_post.h"
#include "report/otlp_answer.h"

static http_answer answer_of(const char *text)
{
    http_answer a;

    http_read_answer(text, strlen(text), &a);
    return a;
}

static void an_answer_is_taken_apart(void **state)
{
    http_answer a =
        answer_of("HTTP/1.1 503 Busy now\r\nretry-after:  7\r\nContent-Length: 2\r\n\r\n{}");

    (void)state;
    assert_int_equal(a.status, 503);
    assert_int_equal(a.retry_after, 7);
    assert_true(a.is_whole);
    assert_int_equal(a.reason_length, (int)strlen("503 Busy now"));
    assert_memory_equal(a.reason, "503 Busy now", strlen("503 Busy now"));
    assert_int_equal(a.body_length, 2);
    a = answer_of("HTTP/1.0 429 x\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n");
    assert_int_equal(a.status, 429);
    assert_int_equal(a.retry_after, -1);
    assert_false(a.is_whole); /* until the connection is closed */
    assert_true(answer_of("HTTP/1.1 204 No Content\r\n\r\n").is_whole);
}

static void an_answer_in_pieces_is_not_whole(void **state)
{
    static const char TEXT[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";
    static const char CHUNKS[] =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    char part[128];

    (void)state;
    for (size_t length = 0; length < sizeof TEXT; length++) {
        http_answer a;

        memcpy(part, TEXT, length);
        part[length] = '\0';
        http_read_answer(part, length, &a);
        assert_int_equal(a.is_whole, length + 1 == sizeof TEXT);
    }
    assert_true(answer_of(CHUNKS).is_whole);
    assert_int_equal(answer_of("SSH-2.0-x\r\n").status, 0);
    assert_int_equal(answer_of("").status, 0);
    assert_int_equal(answer_of("HTTP/1.1 x").status, 0);
}

static void rejected_spans_are_counted(void **state)
{
    static const struct {
        const char *body;
        uint64_t rejected;
        const char *words;
    } CASES[] = {
        {"{}", 0, ""},
        {"", 0, ""},
        {"nonsense", 0, ""},
        {"}{", 0, ""},
        {"{\"partialSuccess\":{}}", 0, ""},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"12\",\"errorMessage\":\"too old\"}}", 12,
         "too old"},
        {"{\"partialSuccess\":{\"rejectedSpans\":3}}", 3, ""},
        {"{\"partialSuccess\":{\"rejectedSpans\":-3,\"errorMessage\":\"w\"}}", 0, "w"},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"many\"}}", 0, ""},
        {"1b\r\n{\"partialSuccess\":{\"rejectedSpans\":4}}\r\n0\r\n\r\n", 4, ""},
        {"[1]", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        buffer words = BUFFER_EMPTY;

        assert_int_equal(otlp_answer_rejected(CASES[i].body, strlen(CASES[i].body), &words),
                         CASES[i].rejected);
        assert_string_equal(buffer_text(&words), CASES[i].words);
        buffer_free(&words);
    }
}

/* ---- receivers that give a byte now and then ---- */

typedef struct {
    int listening;
    const char *begins; /* what is said at once; a byte follows for as long as somebody listens */
    pthread_t thread;
    http_address address;
} dripper;

static void *drip(void *context)
{
    const dripper *d = context;
    int client = accept(d->listening, NULL, NULL);

    if (send(client, d->begins, strlen(d->begins), MSG_NOSIGNAL) >= 0)
        while (send(client, "x", 1, MSG_NOSIGNAL) == 1)
            os_sleep_ms(20);
    close(client);
    return NULL;
}

static void open_dripper(dripper *d, const char *begins)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;

    *d = (dripper){.begins = begins, .address = {.host = "127.0.0.1", .path = "/v1/metrics"}};
    d->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(d->listening, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(d->listening, 4), 0);
    assert_int_equal(getsockname(d->listening, (struct sockaddr *)&at, &length), 0);
    snprintf(d->address.port, sizeof d->address.port, "%d", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&d->thread, NULL, drip, d), 0);
}

static void close_dripper(dripper *d)
{
    pthread_join(d->thread, NULL); /* it ends once nobody listens */
    close(d->listening);
}

/* With a limit for each read alone neither would come to an end for twenty minutes. */
static void nobody_is_held_by_a_slow_answer(void **state)
{
    enum { PATIENCE_MS = 2000 };
    dripper d;
    error e;

    (void)state;
    error_clear(&e);
    open_dripper(&d, "HTTP/1.1 200 OK\r\nX-Long: ");
    assert_int_equal(http_post(&d.address, "text/plain", "it", "{}", 2, PATIENCE_MS, &e), 0);
    close_dripper(&d);
    open_dripper(&d, "HTTP/1.");
    assert_int_not_equal(http_post(&d.address, "text/plain", "it", "{}", 2, PATIENCE_MS, &e), 0);
    assert_non_null(strstr(e.message, "did not answer within 2 s"));
    close_dripper(&d);
}

/* It takes the connection and never a byte: what is sent does not fit into the buffers. */
static void nobody_is_held_by_one_who_does_not_read(void **state)
{
    enum { LENGTH = 32 << 20 };
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    http_address to = {.host = "127.0.0.1", .path = "/"};
    buffer bytes = BUFFER_EMPTY;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    error e;

    (void)state;
    error_clear(&e);
    assert_int_equal(bind(listening, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listening, 4), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &length), 0);
    snprintf(to.port, sizeof to.port, "%d", ntohs(at.sin_port));
    while (bytes.length < LENGTH)
        buffer_append(&bytes, "0123456789abcdef", 16);
    assert_false(buffer_failed(&bytes));
    assert_int_not_equal(http_post(&to, "text/plain", "it", bytes.data, bytes.length, 200, &e), 0);
    assert_non_null(strstr(e.message, "it cannot be sent to 127.0.0.1"));
    buffer_free(&bytes);
    close(listening);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_taken_apart),
        cmocka_unit_test(an_answer_in_pieces_is_not_whole),
        cmocka_unit_test(rejected_spans_are_counted),
        cmocka_unit_test(nobody_is_held_by_a_slow_answer),
        cmocka_unit_test(nobody_is_held_by_one_who_does_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
