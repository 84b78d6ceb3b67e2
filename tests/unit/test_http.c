/* Unit tests of the server's parsers: HTTP heads, session requests, and the zip it writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "server/http.h"
#include "server/request.h"

static http_request r;

static int parse(const char *text)
{
    return http_parse_head(&r, text, strlen(text));
}

static void a_request_is_taken_apart(void **state)
{
    static const char TEXT[] = "POST /api/a%20b/c?x=1&y=a+b%26&flag HTTP/1.1\r\nHost: a:1\r\n"
                               "Content-LENGTH:  12 \r\nCookie: a=1; tok=abc; b=2\r\n"
                               "Expect: 100-continue\r\n\r\nbody";
    char value[16];

    (void)state;
    assert_int_equal(parse(TEXT), (int)(sizeof TEXT - 1 - 4));
    assert_string_equal(r.method, "POST");
    assert_string_equal(r.path, "/api/a b/c");
    assert_string_equal(http_query(&r, "x"), "1");
    assert_string_equal(http_query(&r, "y"), "a b&");
    assert_string_equal(http_query(&r, "flag"), "");
    assert_null(http_query(&r, "z"));
    assert_string_equal(http_header(&r, "content-length"), "12");
    assert_int_equal(r.content_length, 12);
    assert_true(r.keeps_alive);
    assert_true(r.expects_continue);
    assert_true(http_cookie(&r, "tok", value, sizeof value));
    assert_string_equal(value, "abc");
    assert_false(http_cookie(&r, "to", value, sizeof value));
    assert_false(http_cookie(&r, "tok", value, 3));
}

static void every_beginning_needs_more(void **state)
{
    static const char TEXT[] = "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";

    (void)state;
    for (size_t i = 0; i < sizeof TEXT - 1; i++)
        assert_int_equal(http_parse_head(&r, TEXT, i), 0);
    assert_int_equal(parse(TEXT), (int)sizeof TEXT - 1);
}

static void what_is_wrong_gets_its_status(void **state)
{
    static const struct {
        const char *text;
        int status;
    } WRONG[] = {
        {"GET\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"GET / SPDY/1\r\nHost: x\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /?a=%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"POST / HTTP/1.1\r\nHost: x\r\nExpect: magic\r\n\r\n", 417},
    };
    static const char ZERO[] = "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n";
    static char large[HTTP_MAX_HEAD + 1];

    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        assert_int_equal(parse(WRONG[i].text), -WRONG[i].status);
    assert_int_equal(http_parse_head(&r, ZERO, sizeof ZERO - 1), -400);
    memset(large, 'a', sizeof large);
    assert_int_equal(http_parse_head(&r, large, sizeof large), -431);
}

static void connections_stay_or_not(void **state)
{
    (void)state;
    assert_true(parse("GET / HTTP/1.0\r\n\r\n") > 0);
    assert_false(r.keeps_alive);
    assert_true(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n") > 0);
    assert_true(r.keeps_alive);
    assert_true(parse("GET / HTTP/1.1\nHost: x\nConnection: close\n\n") > 0);
    assert_false(r.keeps_alive);
}

static void hosts_lose_their_port(void **state)
{
    char host[32];

    (void)state;
    assert_true(http_host("LocalHost:80", host, sizeof host));
    assert_string_equal(host, "localhost");
    assert_true(http_host("[::1]:8473", host, sizeof host));
    assert_string_equal(host, "[::1]");
    assert_true(http_host("127.0.0.1", host, sizeof host));
    assert_false(http_host("", host, sizeof host));
    assert_false(http_host("[::1", host, sizeof host));
    assert_false(http_host("a:b", host, sizeof host));
    assert_false(http_host("a-name-that-is-longer-than-the-room.example", host, sizeof host));
}

/* The error's code, 0 when it was taken. */
static int ask(const char *text, session_request *request)
{
    error e;

    error_clear(&e);
    return request_parse(text, strlen(text), request, &e);
}

static void sessions_are_asked_for_in_two_forms(void **state)
{
    session_request q;

    (void)state;
    assert_int_equal(ask("{\"processId\": 7, \"profilers\": [{\"name\": \"cpu\", \"parameters\": "
                         "{\"interval\": \"20ms\"}}, \"gc\"], \"duration\": 2.5, \"tags\": "
                         "[\"a\"]}",
                         &q),
                     0);
    assert_int_equal(q.process_id, 7);
    assert_int_equal(q.duration_ns, 2500000000);
    assert_int_equal(q.selection->count, 2);
    assert_int_equal(catalogue_number(&q.selection->items[0], "interval"), 20000000);
    assert_int_equal(json_array_size(q.tags), 1);
    request_free(&q);

    {
        char text[256];

        snprintf(text, sizeof text,
                 "{\"profilerGuid\": \"%s\", \"processId\": \"7\", \"parameters\": [{\"key\": "
                 "\"interval\", \"value\": \"20ms\"}, {\"key\": \"duration\", \"value\": \"3s\"}]}",
                 catalogue_find("cpu")->guid);
        assert_int_equal(ask(text, &q), 0);
        assert_string_equal(q.selection->items[0].profiler->name, "cpu");
        assert_int_equal(q.duration_ns, 3000000000);
        request_free(&q);
    }

    assert_int_equal(ask("{\"processId\": 7}", &q), 0); /* a checkup */
    assert_true(q.selection->count > 3);
    request_free(&q);
}

static void wrong_wishes_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        int code;
    } WRONG[] = {
        {"", ERROR_USAGE},
        {"[]", ERROR_USAGE},
        {"{", ERROR_USAGE},
        {"{\"processId\": 0}", ERROR_USAGE},
        {"{\"processId\": -1}", ERROR_USAGE},
        {"{\"processId\": 99999999999}", ERROR_USAGE},
        {"{\"processId\": \"x\"}", ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": 1}", ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [1]}", ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [{\"name\": \"nope\"}]}", ERROR_NOT_FOUND},
        {"{\"processId\": 7, \"profilers\": [\"cpu\", \"cpu\"]}", ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [{\"name\": \"cpu\", \"parameters\": []}]}",
         ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [{\"name\": \"cpu\", \"parameters\": {\"no\": 1}}]}",
         ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [{\"name\": \"cpu\", \"parameters\": {\"interval\": "
         "\"fast\"}}]}",
         ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [{\"name\": \"cpu\", \"parameters\": {\"interval\": "
         "{}}}]}",
         ERROR_USAGE},
        {"{\"processId\": 7, \"duration\": 0}", ERROR_USAGE},
        {"{\"processId\": 7, \"duration\": \"long\"}", ERROR_USAGE},
        {"{\"processId\": 7, \"duration\": 1e300}", ERROR_USAGE},
        {"{\"processId\": 7, \"duration\": []}", ERROR_USAGE},
        {"{\"processId\": 7, \"tags\": \"a\"}", ERROR_USAGE},
        {"{\"processId\": 7, \"tags\": [\"\"]}", ERROR_USAGE},
        {"{\"processId\": 7, \"profilerGuid\": \"{00000000-0000-0000-0000-000000000000}\"}",
         ERROR_NOT_FOUND},
        {"{\"processId\": 7, \"profilerGuid\": 5}", ERROR_USAGE},
        {"{\"processId\": 7, \"duraton\": \"5s\"}", ERROR_USAGE},
        {"{\"processId\": 7, \"profilers\": [{\"name\": \"cpu\", \"parametres\": {}}]}",
         ERROR_USAGE},
    };
    session_request q;

    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        assert_int_equal(ask(WRONG[i].text, &q), WRONG[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_apart),
        cmocka_unit_test(every_beginning_needs_more),
        cmocka_unit_test(what_is_wrong_gets_its_status),
        cmocka_unit_test(connections_stay_or_not),
        cmocka_unit_test(hosts_lose_their_port),
        cmocka_unit_test(sessions_are_asked_for_in_two_forms),
        cmocka_unit_test(wrong_wishes_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
