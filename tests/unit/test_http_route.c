/* Unit tests of the names of requests: routes put together from paths and values, and the event
 * that has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "clr/http_events.h"
#include "clr/http_route.h"

static void is_route(const char *path, const char *values, const char *expected)
{
    buffer out = BUFFER_EMPTY;

    http_route_append(&out, path, values);
    assert_string_equal(buffer_text(&out), expected);
    buffer_free(&out);
}

static void numbers_are_taken_out_without_a_route(void **state)
{
    (void)state;
    is_route("/", "", "/");
    is_route("/health?x=1", "", "/health");
    is_route("/products/17", "", "/products/{id}");
    is_route("/products/17/", "", "/products/{id}/");
    is_route("/v1/a/8f14e45f-ceea-467a-9575-0d3a/x", "", "/v1/a/{id}/x");
    is_route("/users/bob", "", "/users/bob");
}

static void values_become_their_names(void **state)
{
    (void)state;
    is_route("/users/bob", "[name, bob]", "/users/{name}");
    is_route("/users/bob?q=bob", "[name, bob]", "/users/{name}");
    is_route("/orders/7/lines/7", "[order, 7],[line, 7]", "/orders/{order}/lines/{line}");
    is_route("/v1/orders/1", "[id, 1]", "/v1/orders/{id}");
    is_route("/2/orders/x", "[id, x]", "/{id}/orders/{id}"); /* the first is a number like any */
    is_route("/Home/About/x", "[controller, Home],[action, About],[id, x]", "/Home/About/{id}");
    is_route("/def", "[page, 1]", "/def"); /* a default */
    is_route("/v1/def", "[page, 1]", "/v1/def");
    is_route("/shop/orders/x", "[id, x]", "/shop/orders/{id}");
    is_route("/x/x", "[a, x],[b, x]", "/{a}/{b}");
    is_route("/hello/hello", "[name, hello]", "/hello/{name}");
    is_route("/opt/opt/opt", "[a, opt],[b, opt]", "/opt/{a}/{b}");
    is_route("/conv/Home/Detail/Home", "[controller, Home],[action, Detail],[id, Home]",
             "/conv/Home/Detail/{id}");
}

static void a_value_may_be_a_piece_or_the_rest(void **state)
{
    (void)state;
    is_route("/files/a.txt", "[name, a],[kind, txt]", "/files/{name}.{kind}");
    is_route("/files/b.c.pdf", "[name, b.c],[kind, pdf]", "/files/{name}.{kind}");
    is_route("/pages/a", "[rest, a]", "/pages/{rest}");
    is_route("/pages/a/b/c", "[rest, a/b/c]", "/pages/{rest}");
    is_route("/pages/a/b/", "[rest, a/b/]", "/pages/{rest}");
    is_route("/files/b/a/b", "[id, b],[rest, a/b]", "/files/{id}/{rest}");
}

static void paths_are_escaped_and_values_are_not(void **state)
{
    (void)state;
    is_route("/users/a%20b", "[name, a b]", "/users/{name}");
    is_route("/users/%c3%A4", "[name, \xc3\xa4]", "/users/{name}");
    is_route("/users/a%2Fb", "[name, a%2Fb]", "/users/{name}");
    is_route("/pages/a/b%20c", "[rest, a/b c]", "/pages/{rest}");
    is_route("/users/%zz", "[name, %zz]", "/users/{name}");
    is_route("/users/100%", "[name, 100%]", "/users/{name}");
}

static void what_is_odd_leaves_the_path(void **state)
{
    static const char *const ODD[] = {
        "[",         "[]",      "[a",       "[a,",         "[a, ",    "[a, ]", "[, ]",    "[, x",
        "x, users]", "[a, bob", "]],[[, ,", "[a, ],[b, ]", "[a,bob]", ",",     "[a, ],[",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++)
        is_route("/users/bobby", ODD[i], "/users/bobby");
    is_route("", "[a, x]", "");
    is_route("//", "[a, x]", "//");
}

static void more_than_there_is_room_for(void **state)
{
    buffer path = BUFFER_EMPTY;
    buffer values = BUFFER_EMPTY;
    buffer out = BUFFER_EMPTY;

    (void)state;
    for (int i = 0; i < 200; i++) {
        buffer_format(&path, "/w%c%c", 'a' + i / 26, 'a' + i % 26);
        buffer_format(&values, "%s[v%d, w%c%c]", i == 0 ? "" : ",", i, 'a' + i / 26, 'a' + i % 26);
    }
    http_route_append(&out, buffer_text(&path), buffer_text(&values));
    assert_true(text_starts_with(buffer_text(&out), "/{v0}/{v1}/"));
    assert_true(text_ends_with(buffer_text(&out), "/whr"));
    buffer_free(&path);
    buffer_free(&values);
    buffer_free(&out);
}

static void put_text(buffer *out, const char *text)
{
    text_append_utf8_as_utf16(out, text, strlen(text));
    buffer_append_u16(out, 0);
}

static void the_event_of_an_answer_is_read(void **state)
{
    buffer event = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    http_event_answer answer;

    (void)state;
    put_text(&event, "Microsoft.AspNetCore");
    put_text(&event, "EndRequest");
    buffer_append_u16(&event, 3);
    put_text(&event, "route");
    put_text(&event, "[id, bolt]");
    put_text(&event, "other");
    put_text(&event, "7");
    put_text(&event, "status");
    put_text(&event, "404");
    answer = http_event_read_answer(reader_of(event.data, event.length));
    assert_int_equal(answer.status, 404);
    http_event_read_text(&answer.values, &text);
    assert_string_equal(buffer_text(&text), "[id, bolt]");
    for (size_t cut = 0; cut < event.length; cut++) {
        answer = http_event_read_answer(reader_of(event.data, cut));
        assert_true(answer.status <= 404);
        assert_true(reader_left(&answer.values) <= sizeof "[id, bolt]" * 2);
    }
    buffer_free(&event);
    buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_taken_out_without_a_route),
        cmocka_unit_test(values_become_their_names),
        cmocka_unit_test(a_value_may_be_a_piece_or_the_rest),
        cmocka_unit_test(paths_are_escaped_and_values_are_not),
        cmocka_unit_test(what_is_odd_leaves_the_path),
        cmocka_unit_test(more_than_there_is_room_for),
        cmocka_unit_test(the_event_of_an_answer_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
